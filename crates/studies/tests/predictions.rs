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

/// A folder with two lists of a flow each 100 us: one that predicts and has features, and one that does neither, next to a
/// file with the predictions of its flows from `from` on.
fn recorded(from: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let header = "start_s,src,dst,bytes";
    let (mut predicted, mut plain) = (format!("{header},lower,upper,predicted,feature:port\n"), format!("{header}\n"));
    let mut predictions = "bytes,lower,upper,predicted\n".to_owned();
    for nth in 0..RECORDED {
        let bytes = 1_000 + nth * 40_000;
        let of_flow = format!("{nth}e-4,{},{},{bytes}", nth % 8, (nth + 1) % 8);
        let of_size = format!("{},{},{}", bytes / 2, bytes + nth * 9_000, bytes / 2 + nth * 700 + 1);
        predicted += &format!("{of_flow},{of_size},80\n");
        plain += &format!("{of_flow}\n");
        if nth >= from {
            predictions += &format!("{bytes},{of_size}\n");
        }
    }
    for (name, text) in [("predicted.csv", predicted), ("plain.csv", plain), ("p.csv", predictions)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const RECORDED: usize = 120;

fn qclimb_of(workload: &str, transport: &str) -> String {
    format!("[workload]\n{workload}\n[sweep]\nscheme = [\"qclimb\", \"qclimb-pp\"]\n[transport]\n{transport}\n")
}

#[test]
fn predictions__of_a_file_are_those_of_the_lists_own_columns() {
    let folder = recorded(0);
    let own = results(&qclimb_of("list = \"predicted.csv\"", ""), folder.path());
    let file = results(&qclimb_of("list = \"plain.csv\"", "predictions = \"p.csv\""), folder.path());
    assert_eq!((&file[0].flows, &file[1].flows), (&own[0].flows, &own[1].flows));
    assert_eq!(file[0].counts, own[0].counts);
    assert!(file[0].counts[UNLIKE] > 100);
    // A flow list with further columns is such a file, too, and comes before the list's own columns.
    let list = results(&qclimb_of("list = \"plain.csv\"", "predictions = \"predicted.csv\""), folder.path());
    assert_eq!(list[0].flows, own[0].flows);
}

#[test]
fn predictions__of_recorded_flows_are_of_the_part_that_is_sent() {
    let folder = recorded(36);
    let workload = |list: &str| format!("recorded = \"{list}\"\nload = 0.7\nrecorded_part = [0.3, 0.9]\nflows = 100");
    let own = results(&qclimb_of(&workload("predicted.csv"), ""), folder.path());
    let text = std::fs::read_to_string(folder.path().join("p.csv")).unwrap();
    let part: String = text.lines().take(1 + 72).map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.path().join("part.csv"), part).unwrap();
    let file = results(&qclimb_of(&workload("plain.csv"), "predictions = \"part.csv\""), folder.path());
    assert_eq!((&file[0].flows, &file[1].flows), (&own[0].flows, &own[1].flows));
    // Schemes may take different ones.
    let other = "predictions = \"part.csv\"\n[schemes.qclimb]\nbounds = \"exact\"\n";
    let mixed = results(&qclimb_of(&workload("plain.csv"), other), folder.path());
    assert!(mixed[0].flows != own[0].flows && mixed[1].flows == own[1].flows);
}

#[test]
fn predictions__that_do_not_fit_are_refused() {
    let folder = recorded(0);
    std::fs::write(folder.path().join("sizes.csv"), "bytes\n1000\n").unwrap();
    std::fs::write(folder.path().join("x.fsf"), b"FSFOREST\x01\0\0\0\xff").unwrap();
    let refused = |workload: &str, transport: &str| {
        planned(&qclimb_of(workload, transport), folder.path()).map(|_| ()).unwrap_err()
    };
    let list = "list = \"plain.csv\"";
    for (workload, file, expected) in [
        (list, "none.csv", "none.csv: No such file"),
        (list, "sizes.csv", "sizes.csv: it predicts nothing"),
        ("sizes = \"web-search\"\nload = 0.5\nflows = 10", "p.csv", "has no `list` and no `recorded` flows"),
        (
            "recorded = \"plain.csv\"\nload = 0.5\nrecorded_part = [0.5, 1]",
            "p.csv",
            "it has 120 rows, and there are 60 flows",
        ),
    ] {
        let error = refused(workload, &format!("predictions = \"{file}\""));
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(fault(&error.details()), ("value", Some("predictions")), "{error}");
    }
    let text = std::fs::read_to_string(folder.path().join("p.csv")).unwrap();
    std::fs::write(folder.path().join("p.csv"), text.replace("\n81000,", "\n81001,")).unwrap();
    let error = refused(list, "predictions = \"p.csv\"").to_string();
    assert!(error.contains("row 3 is of a flow of 81001 bytes, and the flow has 81000"), "{error}");
    for key in ["predictions", "list"] {
        let (workload, transport) =
            if key == "list" { ("list = \"x.fsf\"", "") } else { (list, "predictions = \"x.fsf\"") };
        let error = refused(workload, transport).to_string();
        assert!(error.contains("this is a forest; `python -m flowsieve_forest apply FOREST.fsf"), "{error}");
    }
    // Nothing reads predictions with other bounds.
    let error = refused(list, "predictions = \"p.csv\"\nbounds = \"exact\"");
    assert_eq!(fault(&error.details()), ("value", Some("predictions")), "{error}");
}

#[test]
fn forests__of_earlier_versions_are_python_s() {
    for (setting, columns) in [("bounds = \"forest\"", 10), ("forest = \"x.fsf\"", 1)] {
        let error =
            planned(&format!("{DRAWN}[sweep]\nscheme = [\"qclimb\"]\n[transport]\n{setting}\n"), Path::new("."))
                .map(|_| ())
                .unwrap_err();
        let details = error.details();
        assert_eq!((details.line, details.column, details.nearest), (Some(14), Some(columns), None), "{error}");
        assert!(error.to_string().contains("`python -m flowsieve_forest apply FOREST.fsf LIST.csv --out"), "{error}");
    }
}

#[test]
fn recorded__sizes_are_sent_in_their_order_at_the_load() {
    let folder = recorded(0);
    let at = |load: f64, part: &str| {
        let workload = format!("recorded = \"predicted.csv\"\nload = {load}\n{part}");
        results(&qclimb_of(&workload, ""), folder.path()).remove(0)
    };
    let all = at(0.5, "");
    let sizes: Vec<u64> = all.flows.iter().map(|flow| flow.bytes).collect();
    let sent: Vec<u64> = (0..RECORDED as u64).map(|nth| 1_000 + nth * 40_000).collect();
    assert_eq!(sizes, sent);
    // The last half, twice as fast.
    let half = at(1.0, "recorded_part = [0.5, 1]\n");
    assert_eq!(half.flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), sent[RECORDED / 2..]);
    let beyond = at(0.5, "recorded_part = [0.5, 1]\nflows = 100\n");
    assert_eq!(beyond.flows[RECORDED / 2].bytes, sent[RECORDED / 2]);
    let refused = planned(
        &qclimb_of("recorded = \"predicted.csv\"\nload = 0.5\nrecorded_part = [0.7, 0.2]", "bounds = \"none\""),
        folder.path(),
    );
    assert_eq!(fault(&refused.map(|_| ()).unwrap_err().details()), ("value", Some("recorded_part")));
}
