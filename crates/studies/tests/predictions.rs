//! Predicted sizes and schemes by class, from an experiment file to a result.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Details, Error, ExperimentText};
use flowsieve_record::PointResult;
use std::path::Path;

/// Eight hosts on two leaves, where a flow keeps to one path.
const FABRIC: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[network]\nload_balancing = \"ecmp\"\n";

/// Web search, under which flows above 1.1 MB are demoted.
const DRAWN: &str = "[workload]\nsizes = \"web-search\"\nload = 0.7\nflows = 150\n";

fn planned(rest: &str, folder: &Path) -> Result<Plan, Error> {
    plan(&ExperimentText::new("test.toml", &format!("{FABRIC}{rest}")), folder, &Changes::default(), &built_in())
}

fn refused(rest: &str) -> Details {
    planned(rest, Path::new(".")).map(|_| ()).unwrap_err().details()
}

/// Which key is at fault, and whether it is not given.
fn fault(details: &Details) -> (&str, Option<&str>) {
    (details.kind, details.key.as_deref())
}

/// What comes of the points of a plan with one seed.
fn results(rest: &str, folder: &Path) -> Vec<PointResult> {
    let plan = planned(rest, folder).unwrap();
    let run = |point| built_in().run(point, 1, &mut go_on, None).unwrap();
    plan.points.iter().map(run).collect()
}

fn drawn(rest: &str) -> Vec<PointResult> {
    results(&format!("{DRAWN}{rest}"), Path::new("."))
}

const UNLIKE: &str = "data_packets_tagged_unlike_pias";

#[test]
fn bounds__have_no_default() {
    for scheme in ["qclimb", "qclimb-pp", "qclimb-fp", "pfabric-predicted"] {
        let error = refused(&format!("{DRAWN}[sweep]\nscheme = [\"{scheme}\"]\n"));
        assert_eq!(fault(&error), ("missing", Some("bounds")), "{error:?}");
    }
    let error = refused(&format!("{DRAWN}[transport]\nbounds = \"list\"\n[sweep]\nscheme = [\"qclimb\"]\n"));
    assert_eq!(fault(&error), ("value", Some("bounds")), "{error:?}");
}

#[test]
fn bounds__of_a_scheme_that_asks_for_none_are_refused() {
    let error = refused(&format!("{DRAWN}[transport]\nbounds = \"exact\"\n[sweep]\nscheme = [\"pias\"]\n"));
    assert_eq!(fault(&error), ("value", Some("bounds")), "{error:?}");
}

#[test]
fn exact_bounds_and_no_slack__are_qclimb_with_precise_sizes() {
    let found = drawn(
        "[sweep]\nscheme = [\"qclimb\", \"qclimb-ps\", \"qclimb-pp\"]\n[schemes.qclimb]\nbounds = \"exact\"\nslack = \"0B\"\n\
         [schemes.qclimb-pp]\nbounds = \"exact\"\n",
    );
    assert_eq!(found[0].flows, found[1].flows);
    assert_eq!(found[2].flows, found[1].flows);
    assert!(found[0].counts[UNLIKE] > 1_000);
    assert_eq!(found[0].warnings.iter().filter(|text| text.contains("acts like PIAS")).count(), 0);
}

#[test]
fn exact_prediction__is_pfabric() {
    let found = drawn(
        "[sweep]\nscheme = [\"pfabric\", \"pfabric-predicted\"]\n[schemes.pfabric-predicted]\nbounds = \"exact\"\n",
    );
    assert_eq!(found[0].flows, found[1].flows);
}

#[test]
fn no_bounds__are_said_to_make_it_pias() {
    let found = drawn("[sweep]\nscheme = [\"qclimb\"]\n[schemes.qclimb]\nbounds = \"none\"\nslack = \"0B\"\n");
    assert!(found[0].warnings.iter().any(|text| text.contains("so the scheme acts like PIAS")));
}

#[test]
fn list__its_own_predictions_are_what_flows_climb_by() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |lower: u64| {
        let text = format!("start_s,src,dst,bytes,lower,upper\n0,0,1,20000,{lower},30000\n0,2,1,20000,,\n");
        std::fs::write(folder.path().join("flows.csv"), text).unwrap();
        let settings = "[workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"qclimb\"]\n[schemes.qclimb]\nslack = \"0B\"\n\
                        thresholds = [\"5KB\"]\nqueues = 2\n";
        results(settings, folder.path())[0].clone()
    };
    // 14 packets each; 5 KB is exceeded from the fifth on. Towards 20,000 bytes the first eleven are in the second queue.
    assert_eq!(rows(20_000).counts[UNLIKE], 4 + 3);
    assert_eq!(rows(0).counts.get(UNLIKE), None);
}

const MIXED: &str = "[schemes.mixed]\nbase = \"pias\"\nclasses = [\"pias\", \"climbing\"]\n\
                     [schemes.climbing]\nbase = \"qclimb\"\nbounds = \"exact\"\n";

fn mixed(share: f64, scheme: &str) -> PointResult {
    let workload = format!("{DRAWN}class_share = {share}\n");
    let rest = if scheme == "mixed" { MIXED } else { "[schemes.climbing]\nbase = \"qclimb\"\nbounds = \"exact\"\n" };
    results(&format!("{workload}[sweep]\nscheme = [\"{scheme}\"]\n{rest}"), Path::new("."))[0].clone()
}

#[test]
fn classes__none_or_all_of_the_flows_are_the_schemes_themselves() {
    let pias = results(&format!("{DRAWN}class_share = 0\n[sweep]\nscheme = [\"pias\"]\n"), Path::new("."));
    assert_eq!(mixed(0.0, "mixed").flows, pias[0].flows);
    assert_eq!(mixed(1.0, "mixed").flows, mixed(1.0, "climbing").flows);
    let half = mixed(0.5, "mixed");
    let of_class_1 = half.flows.iter().filter(|flow| flow.class == 1).count();
    assert!((50..100).contains(&of_class_1), "{of_class_1}");
    assert!(half.counts[UNLIKE] > 0 && half.counts[UNLIKE] < mixed(1.0, "mixed").counts[UNLIKE]);
}

#[test]
fn classes__of_one_scheme_are_told_apart_in_the_configuration() {
    let plan =
        planned(&format!("{DRAWN}class_share = 0.5\n[sweep]\nscheme = [\"mixed\"]\n{MIXED}"), Path::new(".")).unwrap();
    let effective = plan.points[0].settings.effective();
    assert_eq!(effective["scheme.class1.bounds"], "exact");
    assert_eq!(effective["scheme.class1.slack"], "100KB");
    assert_eq!(effective.get("scheme.class0.slack"), None);
}

#[test]
fn classes__that_cannot_share_the_ports_are_refused() {
    let with = |classes: &str, more: &str| {
        refused(&format!(
            "{DRAWN}class_share = 0.5\n[sweep]\nscheme = [\"mixed\"]\n[schemes.mixed]\nbase = \"pias\"\nclasses = [{classes}]\n{more}"
        ))
    };
    let classes = ("value", Some("classes"));
    assert_eq!(fault(&with("\"pias\", \"pfabric\"", "")), classes);
    let unknown = with("\"pias\", \"qclmb\"", "");
    assert_eq!((fault(&unknown), unknown.nearest.as_deref()), (("name", Some("classes")), Some("qclimb")));
    let sprayed = with("\"pias\", \"spraying\"", "[schemes.spraying]\nbase = \"pias\"\nload_balancing = \"spray\"\n");
    assert_eq!(fault(&sprayed), classes, "{sprayed:?}");
    let own =
        with("\"pias\", \"pias\"", "thresholds = [\"1KB\", \"2KB\", \"3KB\", \"4KB\", \"5KB\", \"6KB\", \"7KB\"]\n");
    assert_eq!(fault(&own), ("value", Some("thresholds")), "{own:?}");
}

#[test]
fn classes__a_listed_class_above_them_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "start_s,src,dst,bytes,class\n0,0,1,20000,0\n0,2,1,20000,2\n0,2,1,20000,2\n";
    std::fs::write(folder.path().join("flows.csv"), text).unwrap();
    let plan = format!("[workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"mixed\"]\n{MIXED}");
    let error = planned(&plan, folder.path()).map(|_| ()).unwrap_err().details();
    assert!(error.file.is_some_and(|file| file.ends_with("flows.csv")));
    assert_eq!((error.kind, error.line, error.key.as_deref()), ("value", Some(3), Some("class")));
}

/// The features of the golden forests of core, and what the trainer says of each row: lower, upper, predicted.
const FOREST_ROWS: &str = include_str!("../../core/tests/data/forest-rows.csv");
const FOREST: &[u8] = include_bytes!("../../core/tests/data/forest-all.fsf");

/// A folder with the forest, and a list of a flow each 100 us with these further columns. `columns`: of the rows above.
fn forest_folder(columns: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = FOREST_ROWS.lines();
    let names: Vec<&str> = rows.next().unwrap().split(',').collect();
    let given: Vec<(usize, &str)> =
        columns.iter().map(|(name, title)| (names.iter().position(|known| known == name).unwrap(), *title)).collect();
    let titles: String = given.iter().map(|(_, title)| format!(",{title}")).collect();
    let mut text = format!("start_s,src,dst,bytes{titles}\n");
    for (nth, row) in rows.enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        let beside: String = given.iter().map(|(column, _)| format!(",{}", fields[*column])).collect();
        text += &format!("{}e-4,{},{},{}{beside}\n", nth, nth % 8, (nth + 1) % 8, 1_000 + nth * 40_000);
    }
    std::fs::write(folder.path().join("flows.csv"), text).unwrap();
    std::fs::write(folder.path().join("f.fsf"), FOREST).unwrap();
    folder
}

const FEATURES: [(&str, &str); 6] = [
    ("start_us", "feature:start_us"),
    ("gap_us", "feature:gap_us"),
    ("last_size_1", "feature:last_size_1"),
    ("src", "feature:src"),
    ("port", "feature:port"),
    ("protocol", "feature:protocol"),
];

const PREDICTED: [(&str, &str); 3] = [("lower_all", "lower"), ("upper_all", "upper"), ("predicted_all", "predicted")];

fn qclimb_of(workload: &str, bounds: &str) -> String {
    let forest = if bounds == "forest" { "forest = \"f.fsf\"\n" } else { "" };
    format!(
        "[workload]\n{workload}\n[sweep]\nscheme = [\"qclimb\", \"qclimb-pp\"]\n[transport]\nbounds = \"{bounds}\"\n{forest}"
    )
}

#[test]
fn forest__says_of_recorded_features_what_its_trainer_says() {
    // The columns of the list stand in another order than the forest reads them.
    let reversed: Vec<_> = FEATURES.iter().rev().copied().collect();
    let (by_forest, by_list) = (forest_folder(&reversed), forest_folder(&PREDICTED));
    let forest = results(&qclimb_of("list = \"flows.csv\"", "forest"), by_forest.path());
    let list = results(&qclimb_of("list = \"flows.csv\"", "list"), by_list.path());
    assert_eq!(forest[0].flows, list[0].flows);
    assert_eq!(forest[1].flows, list[1].flows);
    assert_eq!(forest[0].counts, list[0].counts);
    assert!(forest[0].counts[UNLIKE] > 100);
}

#[test]
fn forest__that_does_not_fit_is_refused() {
    let folder = forest_folder(&FEATURES[1..]);
    let refused = |settings: &str| planned(settings, folder.path()).map(|_| ()).unwrap_err().details();
    let forest = qclimb_of("list = \"flows.csv\"", "forest");
    let lacks = refused(&forest);
    assert_eq!(fault(&lacks), ("value", Some("forest")), "{lacks:?}");
    assert_eq!(fault(&refused(&forest.replace("f.fsf", "g.fsf"))), ("value", Some("forest")));
    assert_eq!(fault(&refused(&forest.replace("forest = \"f.fsf\"\n", ""))), ("missing", Some("forest")));
    let drawn = refused(&qclimb_of("sizes = \"web-search\"\nload = 0.5\nflows = 10", "forest"));
    assert_eq!(fault(&drawn), ("value", Some("bounds")), "{drawn:?}");
    std::fs::write(folder.path().join("f.fsf"), &FOREST[..1_000]).unwrap();
    let cut = refused(&forest);
    assert_eq!(fault(&cut), ("value", Some("forest")), "{cut:?}");
}

#[test]
fn recorded__sizes_are_sent_in_their_order_at_the_load() {
    let folder = forest_folder(&FEATURES);
    let at = |load: f64, part: &str| {
        let workload = format!("recorded = \"flows.csv\"\nload = {load}\n{part}");
        results(&qclimb_of(&workload, "forest"), folder.path()).remove(0)
    };
    let all = at(0.5, "");
    let sizes: Vec<u64> = all.flows.iter().map(|flow| flow.bytes).collect();
    let recorded: Vec<u64> = (0..FOREST_ROWS.lines().count() as u64 - 1).map(|nth| 1_000 + nth * 40_000).collect();
    assert_eq!(sizes, recorded);
    // The last half, twice as fast.
    let half = at(1.0, "recorded_part = [0.5, 1]\n");
    assert_eq!(half.flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), recorded[recorded.len() / 2..]);
    let beyond = at(0.5, "recorded_part = [0.5, 1]\nflows = 100\n");
    assert_eq!(beyond.flows[recorded.len() / 2].bytes, recorded[recorded.len() / 2]);
    let refused =
        planned(&qclimb_of("recorded = \"flows.csv\"\nload = 0.5\nrecorded_part = [0.7, 0.2]", "none"), folder.path());
    assert_eq!(fault(&refused.map(|_| ()).unwrap_err().details()), ("value", Some("recorded_part")));
}

#[test]
fn recorded__predictions_follow_their_flows() {
    let (by_forest, by_list) = (forest_folder(&FEATURES), forest_folder(&PREDICTED));
    let workload = "recorded = \"flows.csv\"\nload = 0.7\nrecorded_part = [0.3, 0.9]";
    let forest = results(&qclimb_of(workload, "forest"), by_forest.path());
    let list = results(&qclimb_of(workload, "list"), by_list.path());
    assert_eq!(forest[0].flows, list[0].flows);
    assert_eq!(forest[1].flows, list[1].flows);
}
