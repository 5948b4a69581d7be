//! Several workloads in one run: what is sent, when a run ends, what is refused.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Details, Error, ExperimentText, Scale};
use flowsieve_record::PointResult;
use flowsieve_studies::export;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const FABRIC: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n";
const BACKGROUND: &str = "[[workload]]\nname = \"background\"\nsizes = \"fixed(30KB)\"\nload = 0.3\n";
const INCAST: &str = "[[workload]]\nname = \"incast\"\nsizes = \"fixed(20KB)\"\npattern = \"incast\"\nfan_in = 5\nload = 0.1\nflows = 60\n";
const LISTED: &str = "[[workload]]\nname = \"replayed\"\nlist = \"flows.csv\"\n";
const FLOWS: &str = "0,0,1,1000\n2e-5,7,1,30000\n2e-5,3,2,5000\n9e-5,1,0,40000\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flows.csv"), FLOWS).unwrap();
    std::fs::write(folder.path().join("classes.csv"), "start_s,src,dst,bytes,class\n0,0,1,1000,1\n").unwrap();
    std::fs::write(folder.path().join("predicted.csv"), "start_s,src,dst,bytes,predicted\n0,0,1,1000,900\n").unwrap();
    std::fs::write(folder.path().join("coflows.csv"), "0,0,1,1000,,7\n1e-6,2,3,1000,,7\n2e-6,4,5,1000,,\n").unwrap();
    folder
}

fn text(workloads: &str, more: &str, scheme: &str) -> String {
    format!("{FABRIC}{workloads}\n{more}\n[sweep]\nscheme = [{scheme:?}]\n")
}

fn planned_with(text: &str, folder: &Path, sets: &[&str]) -> Result<Plan, Error> {
    let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    plan(&ExperimentText::new("test.toml", text), folder, &changes, &built_in())
}

fn planned(text: &str, folder: &Path) -> Result<Plan, Error> {
    planned_with(text, folder, &[])
}

fn run_text(text: &str, folder: &Path, seed: u64) -> Result<PointResult, Error> {
    let plan = planned(text, folder)?;
    built_in().run(&plan.points[0], seed, &mut go_on, None)
}

/// A flow as it is sent: start in ps, hosts, bytes.
type Sent = (u64, u32, u32, u64);

/// The rows of `flowsieve flows`: start, hosts and bytes as texts, with the class and coflow.
fn rows(workloads: &str, folder: &Path, seed: u64) -> Vec<BTreeMap<String, String>> {
    let mut out = Vec::new();
    export::flows(&planned(&text(workloads, "", "dctcp"), folder).unwrap(), seed, &mut out).unwrap();
    let listed = String::from_utf8(out).unwrap();
    let names: Vec<&str> = listed.lines().next().unwrap().split(',').collect();
    let row = |line: &str| names.iter().zip(line.split(',')).map(|(n, v)| ((*n).to_owned(), v.to_owned())).collect();
    listed.lines().skip(1).map(row).collect()
}

fn of_class(rows: &[BTreeMap<String, String>], class: usize) -> Vec<Vec<String>> {
    let class = class.to_string();
    let is_of = |row: &&BTreeMap<String, String>| row.get("class").map_or("0", String::as_str) == class;
    let sent =
        |row: &BTreeMap<String, String>| ["start_s", "src", "dst", "bytes"].map(|name| row[name].clone()).to_vec();
    rows.iter().filter(is_of).map(sent).collect()
}

fn details(error: &Error) -> Details {
    error.details()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(38), ..ProptestConfig::default() })]
    #[test]
    fn several__are_the_union_of_each_alone_in_the_order_of_starts(
        seed in 1u64..1_000, chosen in prop::sample::subsequence(vec![0usize, 1, 2, 3], 1..=4), flows in 1u32..80
    ) {
        let folder = folder();
        let each = [
            format!("{BACKGROUND}flows = {flows}\n"),
            INCAST.to_owned(),
            LISTED.to_owned(),
            format!("{}deadlines = \"exponential\"\ndeadline_time = \"1ms\"\nduration = \"200us\"\n", BACKGROUND.replace("background", "other")),
        ];
        let together: String = chosen.iter().map(|one| each[*one].as_str()).collect();
        let all = rows(&together, folder.path(), seed);
        let starts: Vec<f64> = all.iter().map(|row| row["start_s"].parse().unwrap()).collect();
        prop_assert!(starts.is_sorted());
        let mut count = 0;
        for (class, one) in chosen.iter().enumerate() {
            let alone = rows(&each[*one], folder.path(), seed);
            prop_assert_eq!(of_class(&alone, 0), of_class(&all, class));
            count += alone.len();
        }
        prop_assert_eq!(all.len(), count);
    }
}

#[test]
fn several__flows_are_those_of_the_run_with_their_class_and_ideal() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}flows = 80\n{INCAST}{LISTED}");
    for scheme in ["dctcp", "pfabric"] {
        let result = run_text(&text(&workloads, "", scheme), folder.path(), 3).unwrap();
        let run: Vec<Vec<u64>> =
            result.flows.iter().map(|f| vec![f.src.into(), f.dst.into(), f.bytes, f.class.into()]).collect();
        let listed: Vec<Vec<u64>> = rows(&workloads, folder.path(), 3)
            .iter()
            .map(|row| ["src", "dst", "bytes", "class"].iter().map(|name| row[*name].parse().unwrap()).collect())
            .collect();
        assert_eq!(run, listed);
        assert!(result.flows.iter().map(|flow| flow.flow).eq(0..144));
        assert!(
            result.flows.iter().all(|flow| flow.fct_ps.is_some_and(|fct| fct >= flow.ideal_ps) && flow.ideal_ps > 0)
        );
    }
}

#[test]
fn several__a_class_of_ones_own_goes_to_the_scheme_of_that_class() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}class = 1\nflows = 20\n{INCAST}class = 0\n");
    let by_class = "[network]\nload_balancing = \"ecmp\"\n[schemes.mixed]\nbase = \"pias\"\nclasses = [\"pias\", \"climbing\"]\n\
                    [schemes.climbing]\nbase = \"qclimb\"\nbounds = \"exact\"\n";
    let result = run_text(&text(&workloads, by_class, "mixed"), folder.path(), 1).unwrap();
    let of = |class: u8| result.flows.iter().filter(|flow| flow.class == class).count();
    assert_eq!((of(0), of(1)), (60, 20));
    // A class without a scheme is refused where the class is given.
    let beyond = format!("{BACKGROUND}flows = 20\n{INCAST}class = 2\n");
    let details = planned(&text(&beyond, by_class, "mixed"), folder.path()).map(drop).unwrap_err().details();
    assert_eq!((details.file.as_deref(), details.key.as_deref()), (Some("test.toml"), Some("class")));
    assert!(details.line.is_some() && details.expected.is_some_and(|expected| expected.starts_with("0 to 1")));
}

#[test]
fn endless__background_goes_on_until_the_flows_of_the_others_have_finished() {
    let folder = folder();
    let run = |scheme| run_text(&text(&format!("{BACKGROUND}{INCAST}"), "", scheme), folder.path(), 1).unwrap();
    let result = run("dctcp");
    let of = |class: u8| result.flows.iter().filter(move |flow| flow.class == class);
    let last_end = of(1).map(|flow| flow.start_ps + flow.fct_ps.unwrap()).max().unwrap();
    let last_of_background = of(0).map(|flow| flow.start_ps).max().unwrap();
    // Until the millisecond is over in which the last of them ended; 30 KB at 0.3 of 80 Gbit/s are a flow every 10 us.
    let end = last_end.div_ceil(1_000_000_000) * 1_000_000_000;
    assert!(last_of_background < end && last_of_background > end - 200_000_000, "{last_of_background} {end}");
    assert_eq!(of(1).count(), 60);
    assert!(result.flows.iter().all(|flow| flow.fct_ps.is_some()));
    // The flows that both runs have are the same.
    let sent = |result: &PointResult| -> Vec<Sent> {
        result.flows.iter().map(|flow| (flow.start_ps, flow.src, flow.dst, flow.bytes)).collect()
    };
    let (one, other) = (sent(&result), sent(&run("pfabric")));
    let shorter = one.len().min(other.len());
    assert!(shorter > 60 && one[..shorter] == other[..shorter]);
}

#[test]
fn endless__one_at_least_must_have_an_end() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}{}", INCAST.replace("flows = 60\n", ""));
    let error = planned(&text(&workloads, "", "dctcp"), folder.path()).map(drop).unwrap_err();
    assert!(details(&error).expected.unwrap().contains("in one of them at least"));
    // With a window it need not.
    let window = "[run]\nmeasure = \"window\"\nwindow = [\"100us\", \"400us\"]\n";
    let result = run_text(&text(&workloads, window, "dctcp"), folder.path(), 1).unwrap();
    assert!([0, 1].iter().all(|class| result.flows.iter().any(|flow| flow.class == *class)));
    assert!(
        result.flows.iter().all(|flow| (100_000_000..400_000_000).contains(&flow.start_ps) && flow.fct_ps.is_some())
    );
}

#[test]
fn endless__overload_is_refused() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}{INCAST}").replace("load = 0.1", "load = 0.8");
    let error = planned(&text(&workloads, "", "dctcp"), folder.path()).map(drop).unwrap_err();
    assert!(details(&error).expected.unwrap().starts_with("less than 1"));
    let finite = format!("{BACKGROUND}flows = 10\n{INCAST}").replace("load = 0.1", "load = 0.8");
    assert_eq!(planned(&text(&finite, "", "dctcp"), folder.path()).unwrap().warnings.len(), 1);
}

#[test]
fn endless__only_a_run_tells_the_flows() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}{INCAST}");
    let plan = planned(&text(&workloads, "", "dctcp"), folder.path()).unwrap();
    let error = export::flows(&plan, 1, &mut Vec::new()).unwrap_err();
    assert_eq!(details(&error).line, Some(7));
    let fluid = text(&workloads, "[run]\nfidelity = \"flow\"\n", "ps");
    let error = planned(&fluid, folder.path()).map(drop).unwrap_err();
    assert!(details(&error).expected.unwrap().contains("fidelity = \"packet\""));
    // With an end the flow level has the same flows.
    let fluid = text(&format!("{BACKGROUND}flows = 30\n{INCAST}"), "[run]\nfidelity = \"flow\"\n", "ps");
    assert_eq!(run_text(&fluid, folder.path(), 1).unwrap().flows.len(), 90);
}

#[test]
fn window__one_of_several_may_end_before() {
    let folder = folder();
    let window = "[run]\nmeasure = \"window\"\nwindow = [\"10us\", \"300us\"]\n";
    let result = run_text(&text(&format!("{BACKGROUND}{LISTED}"), window, "dctcp"), folder.path(), 1).unwrap();
    let listed: Vec<u64> = result.flows.iter().filter(|flow| flow.class == 1).map(|flow| flow.bytes).collect();
    assert_eq!(listed, [30_000, 5_000, 40_000]);
}

#[test]
fn loads__are_the_sum_over_the_workloads() {
    let folder = folder();
    let loads = |workloads: &str| -> Vec<f64> {
        let plan = planned(&text(workloads, "", "dctcp"), folder.path()).unwrap();
        plan.loads[0].classes.iter().map(|(_, load)| *load).collect()
    };
    let background = format!("{BACKGROUND}flows = 80\n");
    let local = INCAST.replace("pattern = \"incast\"\nfan_in = 5\n", "pattern = \"rack-local\"\nrack_local = 1.0\n");
    let (one, other) = (loads(&background), loads(&local));
    let both = loads(&format!("{background}{local}"));
    assert!(one[1] > 0.0 && other[1] == 0.0, "{one:?} {other:?}");
    assert!(
        both.iter().zip(one.iter().zip(&other)).all(|(both, (one, other))| (both - one - other).abs() < 1e-12),
        "{both:?}"
    );
}

#[test]
fn coflows__have_numbers_of_their_own() {
    let folder = folder();
    let listed = LISTED.replace("flows.csv", "coflows.csv");
    let numbers = |workloads: &str| -> Vec<String> {
        let mut all: Vec<String> = rows(workloads, folder.path(), 1).iter().map(|row| row["coflow"].clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    // Alone they keep their numbers.
    assert_eq!(numbers(&format!("{BACKGROUND}flows = 3\n{listed}")), ["", "7"]);
    let incast = INCAST.replace("flows = 60", "flows = 10");
    assert_eq!(numbers(&format!("{incast}{listed}")), ["", "0", "15", "2"]);
    // To order coflows, a scheme has to know them all.
    let ordered = |workloads: &str| planned(&text(workloads, "", "sincronia"), folder.path()).map(drop);
    assert!(ordered(&format!("{BACKGROUND}flows = 3\n{listed}")).is_ok());
    assert!(ordered(&format!("{BACKGROUND}{listed}")).unwrap_err().to_string().contains("without an end"));
    assert!(ordered(&format!("{incast}{listed}")).unwrap_err().to_string().contains("requests of incast"));
}

#[test]
fn set__and_sweep_take_the_path_of_a_workloads_key() {
    let folder = folder();
    let text = text(&format!("{BACKGROUND}{INCAST}"), "", "dctcp");
    let of = |plan: &Plan| -> Vec<[String; 2]> {
        let loads = |at: usize| {
            ["background", "incast"]
                .map(|name| plan.experiment.points[at].settings[&format!("workload.{name}.load")].clone())
        };
        (0..plan.points.len()).map(loads).collect()
    };
    let as_texts = |loads: &[[&str; 2]]| loads.iter().map(|pair| pair.map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(of(&planned(&text, folder.path()).unwrap()), as_texts(&[["0.3", "0.1"]]));
    let set = planned_with(&text, folder.path(), &["workload.incast.load=0.2"]).unwrap();
    assert_eq!(of(&set), as_texts(&[["0.3", "0.2"]]));
    let swept = planned_with(&text, folder.path(), &["workload.incast.load=0.05,0.2"]).unwrap();
    assert_eq!(of(&swept), as_texts(&[["0.3", "0.05"], ["0.3", "0.2"]]));
    assert_eq!(swept.experiment.points[1].axes[0].key, "workload.incast.load");
    assert_eq!((swept.experiment.points[1].load, swept.points[1].label()), (None, "dctcp, incast.load 0.2".to_owned()));
    for path in ["\"workload.incast.load\"", "workload.incast.load"] {
        let both =
            text.replace("[sweep]\n", &format!("[sweep]\nworkload.background.load = [0.1, 0.2]\n{path} = [0.05]\n"));
        let plan = planned(&both, folder.path()).unwrap();
        assert_eq!(of(&plan), as_texts(&[["0.1", "0.05"], ["0.2", "0.05"]]));
        // One value of the command line takes the place of the list.
        let one = planned_with(&both, folder.path(), &["workload.background.load=0.4"]).unwrap();
        assert_eq!(of(&one), as_texts(&[["0.4", "0.05"]]));
    }
}

#[test]
fn set__a_name_alone_does_not_say_which_workload() {
    let folder = folder();
    let text = text(&format!("{BACKGROUND}{INCAST}"), "", "dctcp");
    let both = "`workload.background.load` or `workload.incast.load`";
    for set in ["load=0.2", "workload.load=0.2", "sweep.load=0.2", "workload.incats.load=0.2"] {
        let error = planned_with(&text, folder.path(), &[set]).map(drop).unwrap_err();
        assert_eq!(details(&error).expected.as_deref(), Some(both), "{set}");
    }
    let error = planned_with(&text, folder.path(), &["workload.incats.load=0.2"]).map(drop).unwrap_err();
    assert_eq!(details(&error).nearest.as_deref(), Some("incast"));
    let swept = text.replace("[sweep]\n", "[sweep]\nload = [0.1, 0.2]\n");
    let error = planned(&swept, folder.path()).map(drop).unwrap_err();
    assert_eq!((details(&error).line, details(&error).expected.as_deref()), (Some(19), Some(both)));
    let one = "[topology]\n[workload]\nsizes = \"web-search\"\nload = 0.1\nflows = 5\n[sweep]\nscheme = [\"dctcp\"]\n";
    let error = planned_with(one, folder.path(), &["workload.incast.load=0.2"]).map(drop).unwrap_err();
    assert_eq!(details(&error).expected.as_deref(), Some("`workload.load`, since there is one workload"));
}

#[test]
fn scale__changes_each_of_several() {
    let folder = folder();
    let workloads = format!("{BACKGROUND}duration = \"50ms\"\n{}", INCAST.replace("flows = 60", "flows = 5000"));
    let text = text(&workloads, "[scale.smoke]\nworkload.incast.flows = 200\n", "dctcp");
    let of = |scale| {
        let changes = Changes { scale, ..Changes::default() };
        let plan = plan(&ExperimentText::new("test.toml", &text), folder.path(), &changes, &built_in()).unwrap();
        let settings = &plan.experiment.points[0].settings;
        ["workload.background.duration", "workload.incast.flows"].map(|name| settings[name].clone())
    };
    assert_eq!(of(Scale::Paper), ["50ms", "5000"]);
    assert_eq!(of(Scale::Quick), ["5ms", "500"]);
    assert_eq!(of(Scale::Smoke), ["50ms", "200"]);
}

#[test]
fn thresholds__by_equal_split_are_those_of_all_flows() {
    let folder = folder();
    // Half of the flows have 1 KB and half 100 KB.
    let workloads = "[[workload]]\nname = \"a\"\nsizes = \"fixed(1KB)\"\nload = 0.1\nflows = 100\n[[workload]]\nname = \"b\"\n\
                     sizes = \"uniform(100KB, 200KB)\"\nload = 0.1\nflows = 100\n";
    let of = |workloads: &str| {
        let more = "[schemes.pias]\nqueues = 2\nthresholds = \"equal-split\"\n";
        planned(&text(workloads, more, "pias"), folder.path()).unwrap().experiment.points[0].thresholds_bytes.clone()
    };
    let both = of(workloads);
    assert_eq!(both, [1_000]);
    assert!(of(&workloads.replace("fixed(1KB)", "fixed(300KB)")) > vec![100_000]);
}

#[test]
fn several__what_they_cannot_be() {
    let folder = folder();
    let expected_of = |workloads: &str| -> (Option<u32>, String) {
        let error = planned(&text(workloads, "", "dctcp"), folder.path()).map(drop).unwrap_err();
        (details(&error).line, details(&error).expected.unwrap_or_default())
    };
    let beside = |keys: &str| expected_of(&format!("{BACKGROUND}flows = 5\n[[workload]]\nname = \"x\"\n{keys}"));
    let cases = [
        ("sizes = \"fixed(1KB)\"\narrivals = \"closed-loop\"\nflows = 5\n", 13, "[workload] alone"),
        ("sizes = \"fixed(1KB)\"\nload = 0.1\nqueries = 5\nquery_sizes = \"homa-w1\"\n", 14, "[workload] alone"),
        ("sizes = \"fixed(1KB)\"\nload = 0.1\nflows = 5\nclass_share = 0.5\n", 15, "one class for each [[workload]]"),
        (
            "sizes = \"fixed(1KB)\"\nload = 0.1\nflows = 5\nmix_sizes = \"homa-w1\"\n",
            15,
            "one class for each [[workload]]",
        ),
        ("list = \"classes.csv\"\n", 12, "one class for each [[workload]]"),
        ("list = \"predicted.csv\"\n", 12, "a list without these columns"),
        ("sizes = \"fixed(1KB)\"\nload = 0.1\nflows = 5\nduration = \"1ms\"\n", 15, "one of the two"),
        ("sizes = \"fixed(1KB)\"\nload = [0.1, 0.2]\nflows = 5\n", 13, "lists go into [sweep]"),
        ("sizes = \"fixed(1KB)\"\nload = 0.1\nflows = 5\nclass = 256\n", 15, "a whole number, 0 to 255"),
        ("sizes = \"fixed(1KB)\"\nload = 0.1\nflows = 5\nfan_in = 3\n", 15, "no `fan_in` with this workload"),
    ];
    for (keys, line, expected) in cases {
        let (at, found) = beside(keys);
        assert!(at == Some(line) && found.contains(expected), "{keys}: {at:?} {found}");
    }
    let names = [
        ("[[workload]]\nsizes = \"fixed(1KB)\"\n", 6, "a name in each [[workload]]"),
        ("[[workload]]\nname = \"load\"\n", 6, "another name"),
        ("[[workload]]\nname = \"two words\"\n", 6, "letters, digits and `_`"),
        ("[[workload]]\nname = 3\n", 6, "letters, digits and `_`"),
        ("[[workload]]\nname = \"a\"\n[[workload]]\nname = \"a\"\n", 8, "names that differ"),
    ];
    for (workloads, line, expected) in names {
        let (at, found) = expected_of(workloads);
        assert!(at == Some(line) && found.contains(expected), "{workloads}: {at:?} {found}");
    }
    let many: String = (0..65).map(|n| format!("[[workload]]\nname = \"w{n}\"\n")).collect();
    assert_eq!(expected_of(&many).1, "at most 64");
}

#[test]
fn list__at_a_load_has_that_load_and_says_the_factor() {
    let folder = folder();
    let of = |load: &str| {
        let workload = format!("[workload]\nlist = \"flows.csv\"\nload = {load}\nload_counts = \"payload\"\n");
        planned(&text(&workload, "", "dctcp"), folder.path()).unwrap()
    };
    // 76,000 bytes of eight hosts at 10 Gbit/s take 7.6 us at a load of 1. The list has 90 us.
    let plan = of("0.1");
    let mut out = Vec::new();
    export::flows(&plan, 1, &mut out).unwrap();
    let starts: Vec<String> =
        String::from_utf8(out).unwrap().lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect();
    assert_eq!(starts, ["0", "0.000016888889", "0.000016888889", "0.000076"]);
    assert_eq!(plan.experiment.points[0].settings["workload.list.gaps_times"], "0.844444");
    assert_eq!(plan.experiment.points[0].load, Some(0.1));
    assert!(
        plan.warnings.iter().any(|said| said.contains("multiplied by 0.844444 for a load of 0.1")),
        "{:?}",
        plan.warnings
    );
    // Links of hosts carry that and what headers and ACKs add.
    let loads = &plan.loads[0].classes;
    assert!((0.1..0.12).contains(&loads[0].1), "{loads:?}");
    assert_ne!(of("0.1").runs[0].key, of("0.2").runs[0].key);
}

#[test]
fn list__without_gaps_has_no_load() {
    let folder = folder();
    std::fs::write(folder.path().join("at-once.csv"), "5,0,1,1000\n5,2,3,1000\n").unwrap();
    let workload = "[workload]\nlist = \"at-once.csv\"\nload = 0.5\n";
    let error = planned(&text(workload, "", "dctcp"), folder.path()).map(drop).unwrap_err();
    assert_eq!(details(&error).line, Some(7));
    assert!(details(&error).expected.unwrap().contains("one after the other"));
}

#[test]
fn list__with_a_window_has_a_warm_up() {
    let folder = folder();
    let list = "[workload]\nlist = \"flows.csv\"\n";
    let run = |window: &str| {
        let more = format!("[run]\nmeasure = \"window\"\nwindow = {window}\n");
        run_text(&text(list, &more, "dctcp"), folder.path(), 1)
    };
    let numbers = |result: PointResult| result.flows.iter().map(|flow| flow.flow).collect::<Vec<u32>>();
    assert_eq!(numbers(run("[\"10us\", \"200us\"]").unwrap()), [1, 2, 3]);
    assert_eq!(numbers(run("[\"1us\", \"90us\"]").unwrap()), [1, 2]);
    let error = run("[\"1ms\", \"2ms\"]").map(drop).unwrap_err();
    assert_eq!(
        (details(&error).line, details(&error).expected.unwrap().contains("between 0ps and 90us")),
        (Some(10), true)
    );
    // All of it, said or not, is the same.
    let all = run_text(&text(list, "[run]\nmeasure = \"all\"\n", "dctcp"), folder.path(), 1).unwrap();
    assert_eq!(numbers(all), [0, 1, 2, 3]);
    // The window is of starts as they are at a load: within ten times as long as the list.
    let slow = format!("{list}load = 0.00844444\nload_counts = \"payload\"\n");
    let more = "[run]\nmeasure = \"window\"\nwindow = [\"100us\", \"2ms\"]\n";
    assert_eq!(numbers(run_text(&text(&slow, more, "dctcp"), folder.path(), 1).unwrap()), [1, 2, 3]);
}

/// The example, a tenth of it.
#[test]
fn mixed_toml__runs_with_its_three_classes() {
    let path = format!("{}/../../experiments/mixed.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let sets = ["workload.incast.flows=80", "workload.long.duration=1ms"];
    let plan = planned_with(&text, Path::new(""), &sets).unwrap();
    let loads: Vec<&str> = plan.points.iter().map(|point| point.values[0].1.as_str()).collect();
    assert_eq!(loads, ["0.05", "0.05", "0.1", "0.1"]);
    let result = built_in().run(&plan.points[0], 1, &mut go_on, None).unwrap();
    let of = |class: u8| result.flows.iter().filter(|flow| flow.class == class).count();
    assert!(of(0) > 0 && of(1) == 80 && of(2) > 0, "{} {} {}", of(0), of(1), of(2));
}
