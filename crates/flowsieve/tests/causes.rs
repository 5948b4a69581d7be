//! What looks wrong is named by its cause: where packets were lost, what flows waited for, which flow waited longest, and what a
//! paper's figure says.

use crate::command::{Output, SMALL, flowsieve, folder, small_result};
use serde_json::Value;
use std::path::Path;

fn json(done: &Output) -> Value {
    assert_eq!(done.status, 0, "{}", done.err);
    serde_json::from_str(&done.out).unwrap()
}

/// Runs an experiment of one point; gives what its first run measured.
fn measured(folder: &Path, text: &str) -> Value {
    std::fs::write(folder.join("e.toml"), text).unwrap();
    let done = flowsieve(folder, &["run", "e.toml", "--out", "out", "--fresh", "--replace"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let manifest = std::fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    serde_json::from_str::<Value>(&manifest).unwrap()["runs"][0]["measured"].clone()
}

fn texts<'a>(findings: &'a Value, what: &str) -> Vec<&'a str> {
    findings["findings"].as_array().unwrap().iter().map(|finding| finding[what].as_str().unwrap()).collect()
}

/// Hosts of a switch that send more at once than their own ports take.
const BURSTS: &str = "[topology]\nkind = \"single-switch\"\nhosts = 8\n[workload]\nsizes = \"fixed(300KB)\"\nload = 0.5\nflows = 200\n\
                      [transport]\ninitial_window = 60\n[sweep]\nscheme = [\"dctcp\"]\n\
                      [network]\nbuffer = \"30pkt\"\necn_threshold = \"10pkt\"\n";

#[test]
fn doctor__losses_at_the_senders_own_ports_are_no_matter_of_load() {
    let folder = folder();
    let run = |nic: &str| {
        measured(folder.path(), &format!("{BURSTS}nic = \"{nic}\"\n"));
        json(&flowsieve(folder.path(), &["doctor", "out", "--json"]))
    };
    let own = run("scheme");
    let first = &own["findings"][0];
    assert_eq!(first["is_cause"], true, "{own:#}");
    let text = first["text"].as_str().unwrap();
    assert!(text.contains(" lost: ") && text.contains(" % at the senders' own ports (host-up)"), "{text}");
    assert!(first["remedy"].as_str().unwrap().starts_with("nic = \"backpressure\""), "{own:#}");
    assert!(texts(&own, "text")[1].contains("for retransmission timers"), "{own:#}");
    assert!(texts(&own, "remedy").iter().all(|remedy| !remedy.contains("lower the load")), "{own:#}");
    let pushed_back = run("backpressure");
    assert!(texts(&pushed_back, "text").iter().all(|text| !text.contains("senders' own ports")), "{pushed_back:#}");
}

/// With as many flows as it says, ten lie beyond the percentile.
#[test]
fn doctor__says_how_many_flows_a_percentile_needs() {
    let folder = folder();
    let uncertain = |flows: &str| {
        let text = BURSTS.replace("fixed(300KB)", "fixed(3KB)").replace("flows = 200", &format!("flows = {flows}"));
        measured(folder.path(), &text);
        let found = json(&flowsieve(folder.path(), &["doctor", "out", "--json"]));
        let findings = found["findings"].as_array().unwrap().clone();
        let of = |finding: &Value| {
            let percentile = finding["text"].as_str()?.split_once("lie beyond the ")?.1.split(' ').next()?.to_owned();
            let enough = finding["remedy"].as_str()?.split_once("about flows = ")?.1.split(' ').next()?.to_owned();
            Some((percentile, enough))
        };
        findings.iter().filter_map(of).collect::<Vec<_>>()
    };
    let [p99, p999] = [("p99", "1_000"), ("p99.9", "10_000")].map(|(of, flows)| (of.to_owned(), flows.to_owned()));
    let (enough, enough_for_all) = (p99.1.clone(), p999.1.clone());
    assert_eq!(uncertain("130"), [p99, p999.clone()]);
    assert_eq!(uncertain(&enough), [p999]);
    assert_eq!(uncertain(&enough_for_all), []);
}

#[test]
fn run__tells_timers_windows_and_queues_apart() {
    let folder = folder();
    let shares = |flows: &[&str], network: &str| {
        let list = format!("start_s,src,dst,bytes\n{}\n", flows.join("\n"));
        std::fs::write(folder.path().join("flows.csv"), list).unwrap();
        let text = format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 9\nrtt = \"200us\"\n[workload]\nlist = \"flows.csv\"\n[network]\nnic = \"backpressure\"\n\
             {network}[transport]\nloss_detection = \"off\"\n[sweep]\nscheme = [\"dctcp\"]\n"
        );
        let delays = measured(folder.path(), &text)["delays"].clone();
        let of = |key: &str| delays[key].as_f64().unwrap();
        let all = of("beyond_ideal_ns");
        let (timers, windows) = (of("timers_ns") / all, of("windows_ns") / all);
        [timers, windows, 1.0 - timers - windows]
    };
    let incast: Vec<String> = (0..8).map(|host| format!("0,{host},8,300000")).collect();
    let incast: Vec<&str> = incast.iter().map(String::as_str).collect();
    // One flow alone that begins slowly; eight that share a line; the same where the line's port holds next to nothing.
    let alone = shares(&["0,0,1,1000000"], "");
    assert!(alone[0] == 0.0 && alone[1] > 0.8, "{alone:?}");
    let shared = shares(&incast, "buffer = \"10MB\"\n");
    assert!(shared[0] == 0.0 && shared[2] > 0.8, "{shared:?}");
    let lost = shares(&incast, "buffer = \"5pkt\"\n");
    assert!(lost[0] > 0.3 && lost[1] < 0.1, "{lost:?}");
}

#[test]
fn run__flows_that_begin_at_once_have_no_load() {
    let folder = folder();
    for (name, starts) in [("alone", &["0"][..]), ("later", &["0.000001", "0.000001"])] {
        let rows = (0..starts.len()).map(|src| format!("{},{src},3,30000000\n", starts[src]));
        std::fs::write(folder.path().join("f.csv"), format!("start_s,src,dst,bytes\n{}", rows.collect::<String>()))
            .unwrap();
        let text = "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\nlist = \"f.csv\"\n[sweep]\nscheme = [\"dctcp\"]\n";
        measured(folder.path(), text);
        let table = flowsieve(folder.path(), &["report", "out"]).out;
        let links = table.split("Runs; links").nth(1).unwrap().lines().nth(2).unwrap();
        let cells: Vec<&str> = links.split_whitespace().collect();
        assert_eq!(cells[..3], ["dctcp", "–", "–"], "{name}: {table}");
        assert!(!table.contains("of their rate"), "{name}: {table}");
        let doctor = json(&flowsieve(folder.path(), &["doctor", "out", "--json"]));
        let (said, advised) = (texts(&doctor, "text"), texts(&doctor, "remedy"));
        assert!(said.iter().any(|text| text.starts_with("all flows began at once")), "{name}: {doctor:#}");
        assert!(
            said.iter().all(|text| !text.contains("queues grew") && !text.contains("links carried")),
            "{name}: {doctor:#}"
        );
        assert!(
            advised.iter().all(|advice| !advice.contains("load") && !advice.contains("send more")),
            "{name}: {doctor:#}"
        );
    }
}

#[test]
fn follow__the_slowest_and_the_p99_of_the_scheme_that_is_asked_about() {
    let folder = small_result();
    let rows = flowsieve(folder.path(), &["export", "results/small", "--what", "flows"]).out;
    let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<&str>>());
    let header = rows.next().unwrap();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let rows: Vec<Vec<&str>> = rows.collect();
    for scheme in ["dctcp", "pias"] {
        let slowdown = |row: &&Vec<&str>| row[at("slowdown")].parse::<f64>().unwrap();
        let mut all: Vec<&Vec<&str>> = rows
            .iter()
            .filter(|row| row[at("scheme")] == scheme && row[at("load")] == "0.8" && row[at("seed")] == "1")
            .collect();
        all.sort_by(|a, b| slowdown(a).total_cmp(&slowdown(b)));
        let small: Vec<&&Vec<&str>> =
            all.iter().filter(|row| row[at("bytes")].parse::<u64>().unwrap() <= 100_000).collect();
        let p99 = small[(99 * small.len()).div_ceil(100) - 1];
        let cases = [("slowest", all[all.len() - 1]), ("p99:0-100KB", *p99)];
        for (which, expected) in cases {
            let set = format!("scheme={scheme}");
            let arguments = ["run", "small.toml", "--set", &set, "--set", "load=0.8", "--follow-flow", which, "--json"];
            let timelines = json(&flowsieve(folder.path(), &arguments));
            let [timeline] = timelines.as_array().unwrap().as_slice() else { panic!("{timelines}") };
            assert_eq!(timeline["flow"].to_string(), expected[at("flow")], "{which} under {scheme}");
            assert!(timeline["run"].as_str().unwrap().starts_with(scheme), "{timeline}");
            assert!(timeline["picked"].as_str().unwrap().contains("by slowdown"), "{timeline}");
        }
    }
    let wrong = flowsieve(folder.path(), &["run", "small.toml", "--follow-flow", "fastest"]);
    assert!(wrong.status == 2 && wrong.err.contains("p99:0-100KB"), "{}", wrong.err);
}

/// The flow list of a built-in experiment lies next to it, wherever the result is.
#[test]
fn follow__and_verify_find_the_files_of_an_experiment_that_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "three-flows", "--set", "scheme=fifo,pias", "--out", "result"];
    assert_eq!(flowsieve(folder.path(), &run).status, 0);
    let verified = flowsieve(folder.path(), &["verify", "result"]);
    assert_eq!(verified.status, 0, "{}", verified.err);
    let drawn = flowsieve(folder.path(), &["report", "result", "--follow-flow", "1"]);
    assert_eq!(drawn.status, 0, "{}", drawn.err);
    let page = std::fs::read_to_string(folder.path().join("result/report.html")).unwrap();
    assert!(page.contains("Flow 1 under fifo") && page.contains("Flow 1 under pias"));
}

#[test]
fn follow__draws_what_it_prints_and_replaces_no_file() {
    let folder = small_result();
    let follow = |more: &[&str]| {
        let arguments = ["run", "small.toml", "--set", "load=0.8", "--follow-flow", "slowest:0-100KB"];
        flowsieve(folder.path(), &[&arguments, more].concat())
    };
    let drawn = follow(&["--svg", "flow.svg"]);
    assert!(drawn.status == 0 && drawn.err.contains("drawn in flow.svg"), "{}", drawn.err);
    assert_eq!(drawn.out, follow(&[]).out);
    let svg = std::fs::read_to_string(folder.path().join("flow.svg")).unwrap();
    // The runs over one another, each with the lines of its text.
    let heads: Vec<usize> =
        ["dctcp", "pias"].map(|scheme| svg.find(&format!("under {scheme}, load 0.8")).unwrap()).into();
    assert!(heads.is_sorted() && svg.contains("<title>Packet "), "{svg}");
    let again = follow(&["--svg", "flow.svg"]);
    assert!(again.status == 2 && again.err.contains("already exists and is not overwritten"), "{}", again.err);
    let json = json(&follow(&["--svg", "flow.svg", "--replace", "--json"]));
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(folder.path().join("flow.svg")).unwrap(), svg);
    assert_eq!(follow(&["--replace"]).status, 2);
    assert_eq!(flowsieve(folder.path(), &["run", "small.toml", "--svg", "other.svg"]).status, 2);
}

#[test]
fn report__draws_a_flow_of_the_results_own_runs() {
    let folder = folder();
    let list = folder.path().join("flows.csv");
    std::fs::write(&list, "start_s,src,dst,bytes\n0,0,1,50000\n0,2,1,50000\n").unwrap();
    let experiment = "[topology]\nkind = \"single-switch\"\nhosts = 3\n[workload]\nlist = \"flows.csv\"\n\
                      [sweep]\nscheme = [\"dctcp\", \"pias\"]\n";
    std::fs::write(folder.path().join("listed.toml"), experiment).unwrap();
    let made = flowsieve(folder.path(), &["run", "listed.toml", "--out", "out"]);
    assert_eq!(made.status, 0, "{}", made.err);
    let page = || std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let report = || flowsieve(folder.path(), &["report", "out", "--follow-flow", "1"]);
    assert!(!page().contains("Why did this flow take so long?"));
    let shown = report();
    assert_eq!(shown.status, 0, "{}", shown.err);
    let page = page();
    for words in
        ["Why did this flow take so long?", "Flow 1 under pias", "Where the time went until packet", "<title>Packet "]
    {
        assert!(page.contains(words), "{words}");
    }
    // Without its file the experiment is another one.
    std::fs::remove_file(&list).unwrap();
    let gone = report();
    assert!(gone.status == 2 && gone.err.contains("flows.csv"), "{}", gone.err);
}

const CLAIM: &str = "\n[[claims]]\nid = \"small-1\"\nwhere = \"Fig 1\"\nmetric = \"mean fct\"\nscheme = \"pias\"\nbaseline = \"dctcp\"\nclaimed = \"lower\"\n";

#[test]
fn reproduce__runs_a_figure_and_prints_its_claims_or_shows_what_is_kept() {
    let folder = folder();
    let paper = folder.path().join("experiments/paper");
    std::fs::create_dir_all(&paper).unwrap();
    std::fs::write(paper.join("fig-1.toml"), format!("{SMALL}{CLAIM}")).unwrap();
    let reproduce = |rest: &[&str]| flowsieve(folder.path(), &[&["reproduce", "paper/fig-1"], rest].concat());
    let nothing = reproduce(&["--from-measured"]);
    assert!(nothing.status == 2 && nothing.err.contains("no run at paper scale is kept"), "{}", nothing.err);
    assert!(!folder.path().join("results").exists());
    let kept = reproduce(&["--keep", "--out", "kept", "--seeds", "3"]);
    assert_eq!(kept.status, 0, "{}", kept.err);
    // What is kept spares no run unless it is asked for, and the totals say why they may differ.
    let first = reproduce(&[]);
    assert!(first.err.contains("8 runs, 8 of them to make"), "{}", first.err);
    assert!(first.out.contains("\nsmall-1: mean FCT of all flows, pias / dctcp\n"), "{}", first.out);
    assert!(first.out.contains("1 claims: ") && first.out.lines().count() < 12, "{}", first.out);
    assert!(first.out.ends_with("Page: results/paper/reproduction.md\n"), "{}", first.out);
    // It goes on where it was.
    let again = reproduce(&[]);
    assert!(again.err.contains("8 runs, 0 of them to make"), "{}", again.err);
    assert_eq!(again.out, first.out);
    let shown = reproduce(&["--from-measured", "--out", "shown"]);
    assert_eq!(shown.status, 0, "{}", shown.err);
    assert!(shown.err.contains("12 of 20 runs at paper scale were measured before; none is made"), "{}", shown.err);
    assert!(shown.out.contains("\nsmall-1: ") && shown.out.contains("not judged: 3 seeds of 5"), "{}", shown.out);
    assert!(!folder.path().join("shown/fig-1").exists() && folder.path().join("shown/reproduction.md").exists());
    assert_eq!(reproduce(&["--from-measured", "--fresh"]).status, 2);
    // A setting later, what is kept is not shown, which is said.
    std::fs::write(paper.join("fig-1.toml"), format!("{SMALL}[network]\nbuffer = \"90KB\"\n{CLAIM}")).unwrap();
    let others = reproduce(&["--from-measured"]);
    assert!(others.err.contains("; 12 are, for other settings or seeds"), "{}", others.err);
}
