//! Claims in experiment files, and what `flow_records` makes of runs and results.

use crate::fields::fields;
use flowsieve_engines::built_in;
use flowsieve_experiment::engine::{Engines, go_on};
use flowsieve_experiment::execute::{How, execute_sharing};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText, Scale};
use flowsieve_papers::reproduce::Take;
use flowsieve_papers::{Beside, Claims, TABLES, reproduce};
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn engines() -> Engines {
    built_in().reading(Some(TABLES))
}

fn layout(result: &ResultDir) -> report::Layout {
    report::Layout::new(&result.manifest().experiment, None).unwrap()
}

fn table(result: &ResultDir) -> String {
    report::table(result, &layout(result), false) + &Beside::of(result).unwrap().text(false)
}

const GOOD: &str = r#"title = "Good"
[topology]
kind = "single-switch"
hosts = 4
[workload]
sizes = "web-search"
flows = 60
[sweep]
load = [0.5, 0.8]
ecn_threshold = ["30pkt", "65pkt"]
scheme = ["dctcp", "fcfs"]
[run]
seeds = 2

[[claims]]
id = "first"
where = "Fig 1"
metric = "mean fct"
class = "0-10KB"
scheme = "fcfs"
baseline = "dctcp"
load = 0.8
at = { "network.ecn_threshold" = "30pkt" }
claimed = ["-20%", "+10.5%"]
note = "made up"

[[claims]]
id = "second"
metric = "timeouts"
scheme = "dctcp"
baseline = "fcfs"
claimed = "up to -5%"
tolerance = "1%"

[[claims]]
id = "third"
metric = "cv fct"
schemes = ["dctcp", "fcfs"]
claimed = "rising"

[[claims]]
id = "fourth"
metric = "series"
series = "finished (bit/s)"
time = "10us"
scheme = "dctcp"
claimed = ["0bps", "400Gbps"]
tolerance = "0%"

[[claims]]
id = "fifth"
where = "Table 4"
claimed = "3.2 Tbit/s"
unmeasured = "needs the switch itself"

[[claims]]
id = "sixth"
metric = "p99 fct"
scheme = "dctcp"
workload = 0
deadline = false
started = ["0s", "1ms"]
senders = [0, 8]
claimed = "81.6us"

[[claims]]
id = "seventh"
metric = "mean cct"
class = "LW"
baseline_class = "SN"
scheme = "dctcp"
claimed = "higher"

[[claims]]
id = "eighth"
metric = "series"
series = "finished (bit/s)"
time = ["10us", "20us"]
scheme = "dctcp"
claimed = ["0bps", "400Gbps"]
why = "nothing arrives so soon"
acts = "queues used"
"#;

/// The sixth claim, whose lines others share.
const SIXTH: &str = "scheme = \"dctcp\"\nworkload = 0";

fn read(text: &str, changes: &Changes) -> Result<Plan, Error> {
    plan(&ExperimentText::new("good.toml", text), Path::new(""), changes, &engines())
}

#[test]
fn claims__come_as_they_are_written() {
    let experiment = read(GOOD, &Changes::default()).unwrap().experiment;
    let Claims { measured, unmeasured } = Claims::of(&experiment).unwrap();
    let data = (measured, unmeasured);
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap());
}

#[test]
fn claims__errors_have_a_kind_a_place_and_a_key() {
    let cases = [
        ("an unknown key", "where = \"Fig 1\"", "wher = \"Fig 1\""),
        ("an unknown metric", "\"mean fct\"", "\"mean ftc\""),
        ("no metric", "metric = \"mean fct\"\n", ""),
        ("no size class", "\"0-10KB\"", "\"10KB\""),
        ("a class of a count", "metric = \"timeouts\"", "metric = \"timeouts\"\nclass = \"all\""),
        ("an unknown scheme", "scheme = \"fcfs\"\nbaseline", "scheme = \"fcsf\"\nbaseline"),
        ("a scheme beside itself", "baseline = \"dctcp\"", "baseline = \"fcfs\""),
        ("a load outside of the sweep", "load = 0.8\n", "load = 0.7\n"),
        ("a load that is none", "load = 0.8\n", "load = \"high\"\n"),
        ("senders that do not rise", "senders = [0, 8]", "senders = [8, 8]"),
        ("senders that are no numbers", "senders = [0, 8]", "senders = [\"host0\", \"host8\"]"),
        ("a value outside of the sweep", "= \"30pkt\" }", "= \"31pkt\" }"),
        ("an unknown key of the sweep", "\"network.ecn_threshold\" = ", "\"network.ecn_treshold\" = "),
        ("a value of another kind", "= \"30pkt\" }", "= \"30us\" }"),
        ("a change without its unit", "\"up to -5%\"", "\"up to -5\""),
        ("ends that fall", "[\"-20%\", \"+10.5%\"]", "[\"10%\", \"-20%\"]"),
        ("a tolerance below zero", "\"1%\"", "\"-1%\""),
        ("a reading of nothing", "id = \"first\"", "id = \"first\"\nreading = \"as one may\""),
        ("a count that is none", "acts = \"queues used\"", "acts = \"queues usd\""),
        ("a mechanism that is no count", "acts = \"queues used\"", "acts = \"mean fct\""),
        ("a cause without words", "\"nothing arrives so soon\"", "\"\""),
        ("one id twice", "\"second\"", "\"first\""),
        ("a factor below zero", "\"up to -5%\"", "\"-2x\""),
        ("an order of one", "[\"dctcp\", \"fcfs\"]\nclaimed", "[\"dctcp\"]\nclaimed"),
        ("an order of one twice", "[\"dctcp\", \"fcfs\"]\nclaimed", "[\"dctcp\", \"dctcp\"]\nclaimed"),
        ("an order with an unknown scheme", "[\"dctcp\", \"fcfs\"]\nclaimed", "[\"dctcp\", \"fcsf\"]\nclaimed"),
        ("an order beside a scheme", "schemes =", "scheme = \"dctcp\"\nschemes ="),
        ("an order that falls", "\"rising\"", "\"falling\""),
        ("a tolerance of an order", "\"rising\"", "\"rising\"\ntolerance = \"5%\""),
        ("a series without a name", "series = \"finished (bit/s)\"\n", ""),
        ("a series of another metric", "metric = \"p99 fct\"", "metric = \"p99 fct\"\ntime = \"1ms\""),
        ("a value in another unit", "\"400Gbps\"]", "\"400GB\"]"),
        ("a value without a unit", "\"81.6us\"", "81.6"),
        ("a change without a baseline", "\"81.6us\"", "\"-5%\""),
        ("values that fall", "[\"0bps\", \"400Gbps\"]", "[\"400Gbps\", \"0bps\"]"),
        ("three ends", "[\"0bps\", \"400Gbps\"]", "[\"0bps\", \"1bps\", \"400Gbps\"]"),
        ("a metric of what is not measured", "unmeasured =", "metric = \"mean fct\"\nunmeasured ="),
        ("no reason", "\"needs the switch itself\"", "\"\""),
        ("a workload that is none", SIXTH, "scheme = \"dctcp\"\nworkload = 256"),
        ("a deadline that is none", "deadline = false", "deadline = \"1ms\""),
        ("a time that ends before it begins", "[\"0s\", \"1ms\"]", "[\"2ms\", \"1ms\"]"),
        ("a time that is none", "[\"0s\", \"1ms\"]", "[0, 1]"),
        ("a stretch of a series that falls", "time = \"10us\"", "time = [\"10us\", \"10us\"]"),
        ("a time of a series that is none", "time = \"10us\"", "time = 10"),
        (
            "a class of coflows of flows",
            "metric = \"mean cct\"\nclass = \"LW\"",
            "metric = \"mean fct\"\nclass = \"LW\"",
        ),
        ("a class of coflows beside itself", "baseline_class = \"SN\"", "baseline_class = \"LW\""),
        ("a class of coflows beside another one", "baseline_class = \"SN\"", "baseline_class = \"10KB\""),
        ("a class of coflows beside sizes", "class = \"LW\"\n", "class = \"0-10KB\"\n"),
        ("some of the flows of a count", "metric = \"timeouts\"", "metric = \"timeouts\"\ndeadline = true"),
        ("no tables", "[[claims]]\nid = \"first\"", "[claims]\nid = \"first\""),
    ];
    let mut all = String::new();
    for (name, from, to) in cases {
        assert!(GOOD.contains(from), "{name}");
        let mut text = GOOD.replacen(from, to, 1);
        if name == "no tables" {
            text.truncate(text.find("[[claims]]").unwrap());
        }
        let details = read(&text, &Changes::default()).unwrap_err().details();
        assert!(details.line.is_some() && details.expected.is_some(), "{name}: {details:?}");
        let _ = writeln!(all, "{name}: {}", fields(&details, Path::new("")));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn claims__a_narrowed_sweep_leaves_them_unresolved() {
    let changes = Changes { sets: vec!["scheme=dctcp".into()], ..Changes::default() };
    let folder = tempfile::tempdir().unwrap();
    let (out, parts) = (folder.path().join("out"), folder.path().join("parts"));
    let how = How { jobs: 1, threads: None, fresh: false, replace: false };
    let narrowed = read(GOOD, &changes).unwrap();
    let result = execute_sharing(&narrowed, &engines(), &out, &parts, how, &go_on).unwrap();
    // Each claim in one line, however it is broken for a terminal.
    let table = table(&result).replace("\n    ", " ");
    assert_eq!(table.matches("not judged: 2 seeds of 5; not run").count(), 3, "{table}");
    // Those of `dctcp` alone are there.
    let lines = |id: &str| table.lines().filter(|line| line.starts_with(id)).map(String::from).collect::<Vec<_>>();
    assert!(
        lines("fourth")[0].contains("finished (bit/s) at 10.0 µs, dctcp") && table.contains("Gbit/s to 1.79 Gbit/s"),
        "{table}"
    );
    assert!(lines("eighth")[0].contains("mean finished (bit/s) from 10.0 µs to 20.0 µs, dctcp"), "{table}");
    assert!(
        lines("sixth")[0].contains("p99 FCT of all flows of workload 0 without deadlines started from 0 ns to")
            && lines("sixth")[0].contains("sent by hosts 0 to 7"),
        "{table}"
    );
    assert!(lines("fifth")[0].ends_with("not measured: needs the switch itself"), "{table}");
}

#[test]
fn flow_records__name_other_parts_and_cut_sketches_where_classes_end() {
    let keys = |text: &str| -> Vec<String> {
        read(text, &Changes::default()).unwrap().runs.into_iter().map(|run| run.key).collect()
    };
    let with = |record: &str| GOOD.replace("seeds = 2", &format!("seeds = 2\nflow_records = \"{record}\""));
    assert_eq!(keys(GOOD), keys(&with("full")));
    let none = keys(&with("none"));
    assert!(none != keys(GOOD) && none != keys(&with("sample")));
    assert_ne!(none, keys(&with("none").replace("0-10KB", "0-20KB")));
    assert_eq!(keys(GOOD), keys(&GOOD.replace("0-10KB", "0-20KB")));
    let swept = GOOD.replace("load = [0.5, 0.8]", "load = [0.5, 0.8]\nflow_records = [\"full\", \"none\"]");
    let refused = read(&swept, &Changes::default()).unwrap_err().details();
    assert_eq!((refused.key.as_deref(), refused.line.is_some()), (Some("flow_records"), true), "{refused:?}");
}

#[test]
fn flow_records__without_flows_the_report_is_still_whole() {
    let text = GOOD.replace("seeds = 2", "seeds = 2\nflow_records = \"none\"");
    let folder = tempfile::tempdir().unwrap();
    let how = How { jobs: 2, threads: None, fresh: false, replace: false };
    let plan = read(&text, &Changes::default()).unwrap();
    let (out, parts) = (folder.path().join("out"), folder.path().join("parts"));
    let result = execute_sharing(&plan, &engines(), &out, &parts, how, &go_on).unwrap();
    let section = Beside::of(&result).unwrap().section();
    let page = std::fs::read_to_string(report::write(&result, &layout(&result), &section, &[]).unwrap()).unwrap();
    assert!(page.contains("<h2>Claims</h2>") && page.contains("Fig 1"));
    let again = ResultDir::open(&out).unwrap();
    assert_eq!(table(&again), table(&result));
    assert!(report::doctor(&again).contains("percentiles come from sketches"));
    let plots = std::fs::read_to_string(out.join("plots.csv")).unwrap();
    let header = plots.lines().next().unwrap();
    let expected = "plot,case,at,class,series,kind,x_name,x_unit,x,from_bytes,to_bytes,y_name,y_unit,y,low,high";
    assert_eq!(header, expected);
    // The figure of the claims, too.
    assert!(plots.lines().any(|line| line.contains(",claimed,")), "{plots}");
    assert!(plots.lines().any(|line| line.starts_with("\"Mean FCT, flows of 0-100KB\",")), "{plots}");
}

#[test]
fn reproduce__figures_share_their_points() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    std::fs::create_dir(&paper).unwrap();
    std::fs::write(paper.join("fig-1.toml"), GOOD).unwrap();
    // The same points at one load.
    let one_load = GOOD.replace("load = [0.5, 0.8]", "load = 0.8").replace("title = \"Good\"", "title = \"One load\"");
    std::fs::write(paper.join("fig-2.toml"), one_load).unwrap();

    std::fs::write(paper.join("summary.md"), "\nFour of six hold.\n").unwrap();
    std::fs::write(paper.join("checks.md"), "- `first`: at twice the load the same.\n").unwrap();
    let mut all = reproduce::read(folder.path(), "paper", &Changes::default(), Take::OfAny, &engines()).unwrap();
    let parts = folder.path().join("out/parts");
    let before = all.estimate(&parts);
    // The textbook's FCFS reads no threshold of ECN, so that its points are the same for both.
    assert_eq!((before.points, before.runs, before.left), (12, 24, 12));
    assert!(before.packet_hops > 0.0 && before.seconds(2) < before.seconds(1));
    make(&mut all, &folder.path().join("out"));
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), 12);
    assert_eq!(all.estimate(&parts).left, 0);
    let page = all.page(&|name| format!("{name}.svg"));
    assert!(
        page.starts_with("# paper\n\nFour of six hold.\n\n16 claims:\n\n- agrees: ")
            && page.contains("\n- not measured: 2\n\nClaims that neither agree nor have the claimed direction: 14. ")
            && page.contains("\n## fig-2: One load\n")
            && page.ends_with("\n## What was checked\n\n- `first`: at twice the load the same.\n"),
        "{page}"
    );
    assert_eq!(
        page.matches("| first | Fig 1 | mean FCT of flows of 0-10KB, fcfs / dctcp, load 0.8").count(),
        2,
        "{page}"
    );
    let drawings = all.drawings(&|name| format!("{name}.svg"));
    let names: Vec<&str> = drawings.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(names, ["fig-1.svg", "fig-2.svg", "sizes.svg"]);
    assert!(
        drawings[2].1.contains("web-search")
            && drawings[2].1.contains("100 KB")
            && page.contains("\n![Sizes of flows](sizes.svg)\n"),
        "{page}"
    );
    assert!(page.contains("\n![One load](fig-2.svg)\n") && page.contains("[first](#fig-1-good)"), "{page}");
    let one = reproduce::read(folder.path(), "paper/fig-2", &Changes::default(), Take::OfAny, &engines()).unwrap();
    assert_eq!(one.figures.len(), 1);
}

#[test]
fn reproduce__claims_that_more_seeds_would_resolve_are_listed_with_their_price() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("paper")).unwrap();
    std::fs::write(folder.path().join("paper/fig-1.toml"), GOOD).unwrap();
    let changes = Changes { resolve: true, ..Changes::default() };
    let mut all = reproduce::read(folder.path(), "paper", &changes, Take::OfAny, &engines()).unwrap();
    make(&mut all, &folder.path().join("out"));
    let (page, left_out) = (all.page(&str::to_owned), all.left_out());
    assert!(page.contains("\nEach point has 5 seeds. A claim is looked at after 5, 7, 10, "), "{page}");
    assert_eq!(page.contains("| claim | seeds | packet-hops | minutes of two cores |"), !left_out.is_empty(), "{page}");
    for claim in &left_out {
        let seeds = claim.seeds.unwrap();
        assert!(seeds == 7 || seeds == 10, "{claim}");
        assert!(page.contains(&format!("\n| {} | {} | ", claim.claim, seeds)), "{page}");
        assert!(page.contains(&format!("not resolved (after 5 seeds; about {} would be enough)", seeds)), "{page}");
    }
}

/// Makes the runs that are left.
pub(crate) fn make(reproduction: &mut reproduce::Reproduction, out: &Path) {
    for figure in &mut reproduction.figures {
        for (name, plan) in figure.left(&out.join("parts")) {
            let (folder, how) = (out.join(name), How { jobs: 2, threads: None, fresh: false, replace: false });
            let result = execute_sharing(&plan, &engines(), &folder, &out.join("parts"), how, &go_on).unwrap();
            figure.take(&result, &plan).unwrap();
        }
    }
}

/// A paper of one figure; three of its five seeds are kept.
fn kept_in_part(folder: &Path, text: &str) {
    let paper = folder.join("paper");
    std::fs::create_dir_all(&paper).unwrap();
    std::fs::write(paper.join("fig-1.toml"), text).unwrap();
    let three = Changes { seeds: Some(3), ..Changes::default() };
    let mut some = reproduce::read(folder, "paper", &three, Take::OfAny, &engines()).unwrap();
    make(&mut some, &folder.join("elsewhere"));
    some.figures[0].keep().unwrap();
}

#[test]
fn reproduce__goes_on_with_what_another_machine_has_kept() {
    let folder = tempfile::tempdir().unwrap();
    kept_in_part(folder.path(), GOOD);
    let resolve = Changes { resolve: true, ..Changes::default() };
    let read = |take| reproduce::read(folder.path(), "paper", &resolve, take, &engines()).unwrap();
    let (mut all, mut anew) = (read(Take::OfThisModel), read(Take::None));
    let out = folder.path().join("out");
    let (estimate, whole) = (all.estimate(&out), anew.estimate(&out));
    assert_eq!((estimate.kept, whole.kept), (24, 0));
    // Two of five seeds, of six points: FCFS is the same at either threshold of ECN.
    assert_eq!((estimate.left, whole.left), (12, 30));
    make(&mut all, &out);
    make(&mut anew, &folder.path().join("anew"));
    let without_times =
        |page: String| page.lines().filter(|line| !line.starts_with("Runs made: ")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_times(all.page(&str::to_owned)), without_times(anew.page(&str::to_owned)));
    all.figures[0].keep().unwrap();
    let done = read(Take::OfThisModel);
    assert!(done.figures[0].left(&out).is_empty());
    assert_eq!(without_times(done.page(&str::to_owned)), without_times(anew.page(&str::to_owned)));
}

#[test]
fn reproduce__a_run_that_is_missing_takes_no_other_value_away() {
    // On Linux a run may never be valid. Here it is the third seed of a point.
    let folder = tempfile::tempdir().unwrap();
    kept_in_part(folder.path(), GOOD);
    let kept = folder.path().join("paper/measured/fig-1.paper.json");
    let three = Changes { seeds: Some(3), ..Changes::default() };
    let read = || reproduce::read(folder.path(), "paper", &three, Take::OfAny, &engines()).unwrap();
    let whole = read();
    let lost = &whole.figures[0].plan.runs.iter().find(|run| run.point == 1 && run.seed == 3).unwrap().key;
    let all = std::fs::read_to_string(&kept).unwrap();
    let without: String = all.split_inclusive('\n').filter(|line| !line.contains(lost.as_str())).collect();
    let without = without.replace("\"made\":[", "\"lacked\":\"frames left late\",\n\"made\":[");
    std::fs::write(&kept, without).unwrap();
    let some = read();
    let rows = |of: &reproduce::Reproduction, point: usize| of.figures[0].measured().rows(point).to_vec();
    // Points may share a run.
    for (point, info) in whole.figures[0].plan.experiment.points.iter().enumerate() {
        let left = rows(&whole, point).into_iter().zip(&info.parts).filter(|(_, part)| part.key != *lost);
        assert_eq!(rows(&some, point), left.map(|(row, _)| row).collect::<Vec<_>>(), "{point}");
    }
    assert_eq!(rows(&some, 1).len(), 2);
    // It is said, on the page and in the terminal.
    let said = "runs are there; the values are of these. When they were made: frames left late";
    let text = some.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(some.page(&str::to_owned).contains(said) && text.contains(said), "{text}");
    // A pair has the seeds that both of its points have.
    assert!(text.contains("not judged: 2 seeds of 5") && text.contains("not judged: 3 seeds of 5"), "{text}");
    assert!(
        some.page(&str::to_owned).contains(", 2 of 3 seeds |") && !whole.page(&str::to_owned).contains("of 3 seeds")
    );
    assert!(!whole.page(&str::to_owned).contains("runs are there"));
}

#[test]
fn reproduce__other_settings_are_other_runs() {
    let folder = tempfile::tempdir().unwrap();
    kept_in_part(folder.path(), GOOD);
    let left = |text: &str| {
        std::fs::write(folder.path().join("paper/fig-1.toml"), text).unwrap();
        let read = reproduce::read(folder.path(), "paper", &Changes::default(), Take::OfAny, &engines()).unwrap();
        let left = read.estimate(Path::new("nowhere")).left;
        // What is kept and not shown is said.
        let page = read.page(&str::to_owned);
        assert_eq!(page.contains("None of its 16 runs is there"), left == 12, "{page}");
        left
    };
    assert_eq!(left(GOOD), 0);
    assert_eq!(left(&GOOD.replace("load = [0.5, 0.8]", "load = [0.5, 0.7, 0.8]")), 6, "a load more");
    assert_eq!(left(&GOOD.replace("0-10KB", "0-20KB")), 12, "a claim of other flows");
    let of_others = GOOD.replace("hosts = 4", "hosts = 5");
    assert_eq!(left(&of_others), 12, "a host more");
    // The same of what repeats it on Linux, where a column of the page shows the values.
    let lab = folder.path().join("lab");
    std::fs::create_dir_all(lab.join("measured")).unwrap();
    std::fs::copy(folder.path().join("paper/measured/fig-1.paper.json"), lab.join("measured/fig-2.paper.json"))
        .unwrap();
    std::fs::write(folder.path().join("paper/fig-1.toml"), GOOD).unwrap();
    let page_with = |text: &str| {
        let repeats = "id = \"again\"\nrepeats = \"paper/first\"\nreading = \"on Linux\"";
        std::fs::write(lab.join("fig-2.toml"), text.replacen("id = \"first\"", repeats, 1)).unwrap();
        let read = reproduce::read(folder.path(), "paper", &Changes::default(), Take::OfAny, &engines()).unwrap();
        read.page(&str::to_owned)
    };
    let (shown, not_shown) = (page_with(GOOD), page_with(&of_others));
    assert!(shown.contains("| on Linux |") && !shown.contains("None of its"), "{shown}");
    assert!(!not_shown.contains("| on Linux |"), "{not_shown}");
    assert!(not_shown.contains("\nOn Linux, Good: None of its 16 runs is there"), "{not_shown}");
}

#[test]
fn reproduce__what_does_not_fit_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    kept_in_part(folder.path(), GOOD);
    let measured = folder.path().join("paper/measured");
    let kept = measured.join("fig-1.paper.json");
    let text = std::fs::read_to_string(&kept).unwrap();
    let refused = || {
        let read = reproduce::read(folder.path(), "paper", &Changes::default(), Take::OfAny, &engines());
        read.unwrap_err().render(false)
    };
    std::fs::write(&kept, text.replacen("\"values\":[", "\"values\":[1.0,", 1)).unwrap();
    assert!(refused().contains("values, expected"), "{}", refused());
    std::fs::write(&kept, &text[..text.len() / 2]).unwrap();
    assert!(refused().contains("damaged result"), "{}", refused());
    std::fs::rename(&kept, measured.join("fig-9.paper.json")).unwrap();
    assert!(refused().contains("has measurements of `fig-9`, but there is no fig-9.toml"), "{}", refused());
    std::fs::remove_dir_all(&measured).unwrap();
    let reading = GOOD.replacen("id = \"first\"", "id = \"first\"\nrepeats = \"lost\"\nreading = \"as one may\"", 1);
    std::fs::write(folder.path().join("paper/fig-1.toml"), reading).unwrap();
    assert!(refused().contains("the claim \"first\" repeats \"lost\""), "{}", refused());
    std::fs::write(folder.path().join("paper/fig-1.toml"), GOOD).unwrap();
    // A folder of results of another model.
    let out = folder.path().join("elsewhere");
    let manifest = out.join("fig-1/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let whole = || reproduce::read(folder.path(), "paper", &Changes::default(), Take::OfAny, &engines()).unwrap();
    whole().refuse_other_models(&out).unwrap();
    std::fs::write(&manifest, text.replacen("\"model\": \"", "\"model\": \"0", 1)).unwrap();
    let problem = whole().refuse_other_models(&out).unwrap_err().to_string();
    assert!(problem.contains("runs of model 0") && problem.contains("--fresh"), "{problem}");
}

#[test]
fn reproduce__runs_of_another_model_are_shown_and_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    kept_in_part(folder.path(), GOOD);
    let kept = folder.path().join("paper/measured/fig-1.paper.json");
    let own = std::fs::read_to_string(&kept).unwrap();
    let own_model = own.split('"').nth(5).unwrap();
    // The keys of another model are other ones.
    let others: String = own.replacen(&format!("\"model\":\"{own_model}\""), "\"model\":\"7\"", 1);
    let others = others.replace("{\"key\":\"", "{\"key\":\"0f");
    std::fs::write(&kept, &others).unwrap();
    let three = Changes { seeds: Some(3), ..Changes::default() };
    let read = |changes: &Changes, take| reproduce::read(folder.path(), "paper", changes, take, &engines()).unwrap();

    // They are shown as they would be by their own model, with a mark.
    let shown = read(&three, Take::OfAny);
    assert_eq!(shown.estimate(Path::new("nowhere")).left, 0);
    let mark = format!("The runs were made by model 7. This program has model {own_model}, whose results may differ");
    assert!(shown.other_models().is_some_and(|models| models.starts_with(&mark)), "{:?}", shown.other_models());
    let page = shown.page(&str::to_owned);
    let (marked, others_lines): (Vec<&str>, Vec<&str>) = page.lines().partition(|line| line.starts_with(&mark));
    assert_eq!(marked.len(), 1);
    std::fs::write(&kept, &own).unwrap();
    let plain = read(&three, Take::OfAny);
    assert_eq!(plain.other_models(), None);
    let without_blank =
        |lines: Vec<&str>| lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(without_blank(others_lines), without_blank(plain.page(&str::to_owned).lines().collect()));

    // A point that another sweep has in other words is found by the key that it had under its model. Another point of that
    // model, in this one's words, does not join it: it is left out.
    let plan = &shown.figures[0].plan;
    let by_key = plan.runs.iter().fold(others.clone(), |text, run| {
        text.replace(&format!("0f{}", run.key), &plan.key_of_model(run.point, run.seed, "7"))
    });
    let elsewhere = by_key.replace("\"point\":\"", "\"point\":\"elsewhere, ");
    assert!(!by_key.contains("\"0f") && elsewhere.contains("elsewhere, "));
    std::fs::write(&kept, elsewhere).unwrap();
    let found = read(&three, Take::OfAny);
    assert_eq!(found.estimate(Path::new("nowhere")).left, 0);
    // Only words, which do not say all settings, leave a doubt.
    let doubt = "Found by the words of their points alone, and maybe of other settings: ";
    assert!(!found.other_models().unwrap().contains(doubt));
    assert_eq!(
        shown.other_models().unwrap().split_once(doubt).map(|(_, of)| of),
        Some(format!("{} of fig-1.", shown.figures[0].kept.count()).as_str())
    );
    let (key, point, seed) = plan.runs.first().map(|run| (&run.key, run.point, run.seed)).unwrap();
    let without = by_key.replace(&plan.key_of_model(point, seed, "7"), &format!("0f{key}"));
    std::fs::write(&kept, without).unwrap();
    assert_eq!(read(&three, Take::OfAny).estimate(Path::new("nowhere")).left, 1);

    // No new run joins them: all are made anew, and what is kept then is of one model.
    std::fs::write(&kept, &others).unwrap();
    let mut anew = read(&Changes::default(), Take::OfThisModel);
    assert_eq!(anew.estimate(Path::new("nowhere")).kept, 0);
    make(&mut anew, &folder.path().join("anew"));
    anew.figures[0].keep().unwrap();
    let written = std::fs::read_to_string(&kept).unwrap();
    assert!(written.contains(&format!("\"model\":\"{own_model}\"")) && !written.contains("\"0f"), "{written}");
}

#[test]
fn scale__what_it_took_from_runs_is_said() {
    let quick = |table: &str| {
        let text = format!("{GOOD}\n[scale.quick]\n{table}\n");
        let changes = Changes { scale: Scale::Quick, ..Changes::default() };
        let experiment = read(&text, &changes).unwrap().experiment;
        let mut shorter: Vec<String> = experiment.points.into_iter().flat_map(|point| point.shorter).collect();
        shorter.dedup();
        shorter
    };
    assert_eq!(
        quick("load = 0.8\nseeds = 1\nflow_records = \"none\""),
        [""; 0],
        "fewer points and seeds, and less is kept"
    );
    assert_eq!(quick("flows = 50"), ["flows = 50 (60 at paper scale)"]);
    assert_eq!(quick("flows = 70"), [""; 0], "longer");
    assert_eq!(quick("flows = { web-search = 50 }"), ["flows = 50 (60 at paper scale)"]);
    assert_eq!(quick("hosts = 3"), ["hosts = 3 (4 at paper scale)"]);
    assert_eq!(quick("load = [0.7, 0.8]\nrtt = \"50us\""), ["rtt = 50us"], "a load more is no less");
    let tenth = Changes { scale: Scale::Quick, ..Changes::default() };
    let long = GOOD.replace("flows = 60", "flows = 6_000");
    let found = &read(&long, &tenth).unwrap().experiment.points[0].shorter;
    assert_eq!(*found, ["flows = 600 (6000 at paper scale)"]);
    assert!(read(&long, &Changes::default()).unwrap().experiment.points[0].shorter.is_empty());
}

#[test]
fn scale__times_shorten_what_claims_say_of_a_run() {
    let courses = GOOD.replace("flows = 60", "duration = \"1ms\"");
    let text = format!("{courses}\n[scale.quick]\nload = 0.5\ntimes = 0.25\n");
    // A smaller sweep need not have the loads that claims are about.
    let of = |scale| {
        let claims = Claims::of(&read(&text, &Changes { scale, ..Changes::default() }).unwrap().experiment).unwrap();
        let started = claims.measured.iter().find_map(|claim| claim.quantity.only.started_ps).unwrap();
        let series = claims.measured.into_iter().filter_map(|claim| claim.quantity.series);
        (started, series.map(|series| (series.at_ps, series.until_ps)).collect::<Vec<_>>())
    };
    let us = |us: u64| Some(us * 1_000_000);
    assert_eq!(of(Scale::Paper), ((0, 1_000_000_000), vec![(us(10), None), (us(10), us(20))]));
    let quarter = |us: u64| Some(us * 250_000);
    assert_eq!(of(Scale::Quick), ((0, 250_000_000), vec![(quarter(10), None), (quarter(10), quarter(20))]));
}
