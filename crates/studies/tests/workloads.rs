//! Workloads from an experiment file to flows: the documentation's examples run, every scheme gets the same flows, and
//! bad lists of any length are one message.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_record::{FlowRow, PointResult};
use flowsieve_studies::export;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const FABRIC: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n";

/// Kinds of workload of which the pages show no experiment.
const MORE: [&str; 4] = [
    "sizes = \"fb-web-server\"\npattern = \"rack-local\"\nrack_local = 0.75\nload = 0.5",
    "sizes = \"homa-w3\"\nmix_sizes = \"data-mining\"\nmix_share = 0.2\nload = 0.6",
    "sizes = \"data-mining\"\nmix_sizes = \"web-search\"\nmix_pairs = \"rising\"\nload = 0.6",
    "sizes = \"qcluster-w4\"\ndeadlines = \"exponential\"\ndeadline_time = \"500us\"\nload = 0.6",
];

/// The experiments in the pages of docs/reference about workloads, and [`MORE`].
fn examples() -> Vec<String> {
    let pages = ["sizes", "arrivals", "flow-lists"];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let text: String =
        pages.iter().map(|page| std::fs::read_to_string(format!("{folder}/{page}.md")).unwrap()).collect();
    let shown = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    shown.chain(MORE.map(|more| format!("[workload]\n{more}\nflows = 200\n"))).collect()
}

fn planned(workload: &str, schemes: &str, folder: &Path) -> Result<Plan, Error> {
    let text = format!("{FABRIC}{workload}\n[sweep]\nscheme = [{schemes}]\n");
    plan(&ExperimentText::new("test.toml", &text), folder, &Changes::default(), &built_in())
}

fn flows_of(plan: &Plan, seed: u64) -> String {
    let mut out = Vec::new();
    export::flows(plan, seed, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("sizes.csv", "size_bytes,cdf\n1000,0.5\n20000,1\n"),
        ("measured.csv", "when,bytes\n1,1000\n2,50000\n3,1000\n"),
        ("starts.csv", "start_s\n1e-5\n1.5e-5\n4e-5\n"),
        ("flows.csv", "start_s,src,dst,bytes,deadline_s,coflow\n0,0,1,1000,0.01,\n1e-6,7,1,300000,,3\n"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// All flows of a list count, or those that start in a window.
#[test]
fn plan__a_measure_beside_a_list_is_read() {
    let folder = folder_with_files();
    let listed =
        |run: &str| planned(&format!("[workload]\nlist = \"flows.csv\"\n[run]\n{run}"), "\"dctcp\"", folder.path());
    for (run, measure) in
        [("measure = \"all\"", "all"), ("measure = \"window\"\nwindow = [\"0us\", \"9us\"]", "window")]
    {
        assert_eq!(listed(run).unwrap().experiment.points[0].settings["run.measure"], measure);
    }
    let details = listed("window = [\"0us\", \"9us\"]").unwrap_err().details();
    assert_eq!((details.line, details.key.as_deref()), (Some(8), Some("window")));
    // Elsewhere a window alone says what it needs.
    let text = "[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 9\n[run]\nwindow = [\"0us\", \"9us\"]";
    let details = planned(text, "\"dctcp\"", folder.path()).unwrap_err().details();
    assert_eq!(details.expected.as_deref(), Some("`measure` = \"window\""));
}

#[test]
fn reference__has_examples_that_run() {
    let folder = folder_with_files();
    let examples = examples();
    assert!(examples.len() >= 17, "{examples:?}");
    for example in examples {
        let plan = planned(&example, "\"pias\"", folder.path()).unwrap_or_else(|error| panic!("{example}\n{error}"));
        let result = built_in().run(&plan.points[0], 1, &mut go_on, None);
        let result = result.unwrap_or_else(|error| panic!("{example}\n{error}"));
        let listed = match () {
            () if example.contains("closed-loop") => 200,
            // The messages of forty queries, and those next to them.
            () if example.contains("queries =") => {
                40 * 2 * 7 + result.flows.iter().filter(|flow| flow.class == 0).count()
            }
            // Fourteen steps of eight hosts, four times.
            () if example.contains("collectives =") => 4 * 14 * 8,
            () => flows_of(&plan, 1).lines().count() - 1,
        };
        assert_eq!(result.flows.len(), listed, "{example}");
        assert!(result.flows.iter().all(|flow| flow.fct_ps.is_some()), "{example}");
    }
}

#[test]
fn flows__are_the_same_under_every_scheme_and_differ_by_seed() {
    let folder = folder_with_files();
    let is_told_by_a_run =
        |example: &String| ["closed-loop", "queries =", "collectives ="].iter().any(|key| example.contains(key));
    for example in examples().into_iter().filter(|example| !is_told_by_a_run(example)) {
        let schemes = ["dctcp", "pias", "pfabric"];
        let each =
            schemes.map(|scheme| flows_of(&planned(&example, &format!("{scheme:?}"), folder.path()).unwrap(), 2));
        assert!(each.iter().all(|flows| *flows == each[0]), "{example}");
        let again = flows_of(&planned(&example, "\"pias\"", folder.path()).unwrap(), 3);
        assert_eq!(again == each[0], example.contains("list ="), "{example}");
    }
}

fn run(workload: &str, scheme: &str) -> Result<PointResult, Error> {
    let plan = planned(workload, &format!("{scheme:?}"), Path::new(""))?;
    built_in().run(&plan.points[0], 1, &mut go_on, None)
}

#[test]
fn closed_loop__flows_are_the_same_under_every_scheme_but_for_their_starts() {
    let workload = "[workload]\nsizes = \"web-search\"\narrivals = \"closed-loop\"\noutstanding = 3\nflows = 60\n";
    let flows = |scheme| {
        let mut rows = run(workload, scheme).unwrap().flows;
        rows.sort_by_key(|row| row.flow);
        let starts: Vec<u64> = rows.iter().map(|row| row.start_ps).collect();
        (rows.iter().map(|row| (row.flow, row.src, row.dst, row.bytes)).collect::<Vec<_>>(), starts)
    };
    let (first, others) = (flows("dctcp"), ["pias", "pfabric"].map(flows));
    assert_eq!(first.0.len(), 60);
    assert!(others.iter().all(|other| other.0 == first.0 && other.1 != first.1));
}

#[test]
fn closed_loop__ends_with_the_duration_or_the_window() {
    let workload = |extent: &str| {
        format!("[workload]\nsizes = \"fixed(50KB)\"\narrivals = \"closed-loop\"\nthink_time = \"5us\"\n{extent}")
    };
    let until = run(&workload("duration = \"2ms\"\n"), "dctcp").unwrap();
    let (last, finished) = (until.flows.last().unwrap(), until.flows.iter().all(|row| row.fct_ps.is_some()));
    // A flow takes about 60 us, so that the last of the eight hosts' starts lies shortly before the end.
    assert!((1_800_000_000..2_000_000_000).contains(&last.start_ps) && finished, "{last:?}");
    let window = run(&workload("[run]\nmeasure = \"window\"\nwindow = [\"1ms\", \"2ms\"]\n"), "dctcp").unwrap();
    // Flows that start later take room from the last ones of the window, and nothing from those before.
    let starts = |rows: &[FlowRow]| -> Vec<(u32, u64)> { rows.iter().map(|row| (row.flow, row.start_ps)).collect() };
    let inside = &until.flows[until.flows.partition_point(|row| row.start_ps < 1_000_000_000)..];
    assert_eq!(starts(&window.flows), starts(inside));
}

#[test]
fn closed_loop__what_it_cannot_be() {
    let closed = "[workload]\nsizes = \"fixed(50KB)\"\narrivals = \"closed-loop\"\nflows = 50\n";
    // Before the first run, in whatever place of a sweep.
    let no_acks = planned(closed, "\"dctcp\", \"fcfs\"", Path::new("")).unwrap_err().to_string();
    assert!(no_acks.contains("`fcfs` has no ACKs and does not retransmit"), "{no_acks}");
    let ring = "[workload]\nsizes = \"fixed(1MB)\"\npattern = \"all-reduce-ring\"\ncollectives = 1\n[run]\nfct_end = \"arrival\"\n";
    let never = planned(ring, "\"dctcp\", \"ps\"", Path::new("")).unwrap_err().to_string();
    assert!(never.contains("a collective waits") && never.contains("`ps`"), "{never}");
    let plan = planned(closed, "\"dctcp\"", Path::new("")).unwrap();
    let listed = export::flows(&plan, 1, &mut Vec::new()).unwrap_err().to_string();
    assert!(listed.contains("known only during a run"), "{listed}");
}

#[test]
fn flows__of_a_list_come_back_with_deadlines_and_coflows() {
    let folder = folder_with_files();
    let plan = planned("[workload]\nlist = \"flows.csv\"\n", "\"pias\"", folder.path()).unwrap();
    let written = flows_of(&plan, 1);
    assert_eq!(written, "start_s,src,dst,bytes,deadline_s,coflow\n0,0,1,1000,0.01,\n0.000001,7,1,300000,,3\n");
}

#[test]
fn list__changed_after_the_plan_is_not_read_again() {
    let folder = folder_with_files();
    let plan = planned("[workload]\nlist = \"flows.csv\"\n", "\"pias\"", folder.path()).unwrap();
    std::fs::write(folder.path().join("flows.csv"), "no list").unwrap();
    assert_eq!(built_in().run(&plan.points[0], 1, &mut go_on, None).unwrap().flows.len(), 2);
}

#[test]
fn list__of_many_lines_is_refused_at_its_last() {
    let folder = folder_with_files();
    let mut text = String::from("start_s,src,dst,bytes\r\n");
    (0..200_000).for_each(|n| writeln!(text, "{}e-6,{},{},{}\r", n, n % 8, (n + 1) % 8, 1 + n % 9_999).unwrap());
    std::fs::write(folder.path().join("long.csv"), &text).unwrap();
    let workload = "[workload]\nlist = \"long.csv\"\n";
    assert_eq!(planned(workload, "\"pias\"", folder.path()).unwrap().runs.len(), 1);
    text.push_str("0.3,1,2,-5\r\n");
    std::fs::write(folder.path().join("long.csv"), &text).unwrap();
    let error = planned(workload, "\"pias\"", folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("long.csv:200002: bytes is `-5`; expected a whole number from 1 to 1000000000000000"),
        "{error}"
    );
}

#[test]
fn loads__of_links_follow_the_pattern() {
    let folder = folder_with_files();
    let loads = |keys: &str| -> Vec<f64> {
        let workload = format!("[workload]\nsizes = \"web-search\"\nflows = 10\nload = 0.5\n{keys}");
        let plan = planned(&workload, "\"pias\"", folder.path()).unwrap();
        plan.loads[0].classes.iter().map(|(_, load)| *load).collect()
    };
    let everywhere = loads("");
    let local = loads("pattern = \"rack-local\"\nrack_local = 0.5\n");
    // Of the 56 ordered pairs 32 are between the two racks; half of the flows then are.
    for (everywhere, local) in everywhere.iter().zip(&local) {
        let ratio = local / everywhere;
        assert!((ratio - 1.0).abs() < 1e-9 || (ratio - 0.5 / (32.0 / 56.0)).abs() < 1e-9, "{ratio}");
    }
    assert!(everywhere != local);
    assert_eq!(loads("pattern = \"incast\"\nfan_in = 3\n"), everywhere);
}

#[test]
fn incast__a_request_is_done_with_its_last_answer() {
    let workload = "[workload]\nsizes = \"fixed(20KB)\"\npattern = \"incast\"\nfan_in = 3\nincast_share = 0.5\nload = 0.4\nflows = 200\n";
    let result = run(workload, "dctcp").unwrap();
    let mut answers: BTreeMap<u32, Vec<&FlowRow>> = BTreeMap::new();
    for flow in &result.flows {
        if let Some(request) = flow.coflow {
            answers.entry(request).or_default().push(flow);
        }
    }
    let alone = result.flows.iter().filter(|flow| flow.coflow.is_none()).count();
    assert!(alone > 50 && answers.len() > 20, "{alone} flows are all-to-all, {} requests", answers.len());
    // `flows` may have cut the last one short.
    for (request, answers) in answers.iter().take(answers.len() - 1) {
        assert_eq!(answers.len(), 3, "request {request}");
        let same = |of: fn(&FlowRow) -> u64| answers.iter().all(|flow| of(flow) == of(answers[0]));
        assert!(same(|flow| flow.start_ps) && same(|flow| flow.dst.into()), "request {request}");
    }
    // The ideal of a request is at least what its three answers take on the receiver's link.
    let ideals = &result.ideal_ccts_ps;
    assert_eq!(ideals.len(), answers.len());
    let on_the_wire_ps = 3 * 20_000 * 8 * 100;
    assert!(ideals.values().take(ideals.len() - 1).all(|&ideal| ideal > on_the_wire_ps), "{ideals:?}");
}

#[test]
fn incast__a_list_of_its_flows_has_the_requests() {
    let workload = "[workload]\nsizes = \"fixed(20KB)\"\npattern = \"incast\"\nfan_in = 3\nload = 0.4\nflows = 6\n";
    let folder = tempfile::tempdir().unwrap();
    let list = flows_of(&planned(workload, "\"dctcp\"", folder.path()).unwrap(), 1);
    std::fs::write(folder.path().join("incast.csv"), &list).unwrap();
    let requests: Vec<&str> = list.lines().skip(1).map(|line| line.split(',').nth(4).unwrap()).collect();
    assert_eq!(requests, ["0", "0", "0", "1", "1", "1"]);
    let replayed = planned("[workload]\nlist = \"incast.csv\"\n", "\"dctcp\"", folder.path()).unwrap();
    assert_eq!(flows_of(&replayed, 1), list);
}

/// A list's hosts may have the names that the edge list gives them, and are the same as by number.
#[test]
fn list__hosts_by_name_are_those_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("fabric.csv", "web,tor,10Gbps,1us\ndb,tor,10Gbps,1us\nbackup,tor,1Gbps,1us\n");
    write("names.csv", "0,web,db,30000\n1e-6,db,backup,5000\n2e-6,2,web,5000\n");
    write("numbers.csv", "0,0,1,30000\n1e-6,1,2,5000\n2e-6,2,0,5000\n");
    write("wrong.csv", "0,web,db,30000\n1e-6,db,backpu,5000\n");
    let of = |list: &str| {
        let text = format!(
            "[topology]\nkind = \"custom\"\nfile = \"fabric.csv\"\n[workload]\nlist = \"{list}\"\n[sweep]\nscheme = [\"dctcp\"]\n"
        );
        plan(&ExperimentText::new("test.toml", &text), folder.path(), &Changes::default(), &built_in())
    };
    let (names, numbers) = (of("names.csv").unwrap(), of("numbers.csv").unwrap());
    let digest = |plan: &Plan| plan.experiment.points[0].settings["workload.list.digest"].clone();
    assert_eq!(digest(&names), digest(&numbers));
    assert_eq!(flows_of(&names, 1), flows_of(&numbers, 1));
    let wrong = of("wrong.csv").unwrap_err().to_string();
    assert!(wrong.contains("wrong.csv:2: dst is `backpu`") && wrong.ends_with("did you mean `backup`?"), "{wrong}");
    let pair = "[topology]\nkind = \"custom\"\nfile = \"fabric.csv\"\n[workload]\nsizes = \"fixed(9KB)\"\nload = 0.1\nflows = 3\n\
                pattern = \"listed\"\npairs = [\"db to web\"]\n[sweep]\nscheme = [\"dctcp\"]\n";
    let pair = plan(&ExperimentText::new("test.toml", pair), folder.path(), &Changes::default(), &built_in()).unwrap();
    assert!(flows_of(&pair, 1).lines().skip(1).all(|flow| flow.contains(",1,0,9000")), "{}", flows_of(&pair, 1));
}
