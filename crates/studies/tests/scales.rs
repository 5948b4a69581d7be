//! What `--scale` runs: what the file says for it, or a share of the flows.

use flowsieve_engines::built_in;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{ExperimentText, Scale};
use std::path::Path;

const FILE: &str = r#"
[topology]
kind = "single-switch"
hosts = 4
[workload]
flows = 5_000
[sweep]
sizes = ["web-search", "data-mining"]
load = [0.5, 0.6, 0.7]
scheme = ["dctcp", "pias"]
[run]
seeds = 5
[scale.quick]
load = [0.5, 0.7]
seeds = 2
network.leaf.queues = 4
schemes.pias.nic.queues = 2
flows = { web-search = 400, data-mining = 300 }
[scale.smoke]
sizes = "data-mining"
load = 0.7
"#;

fn planned(scale: Scale, sets: &[&str], seeds: Option<u64>) -> Plan {
    let changes =
        Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), seeds, scale, ..Changes::default() };
    plan(&ExperimentText::new("file.toml", FILE), Path::new(""), &changes, &built_in()).unwrap()
}

/// Of each point its distribution, load and number of flows.
fn points(plan: &Plan) -> Vec<(String, String, String)> {
    let of = |name: &str, plan: &Plan| -> Vec<String> {
        plan.experiment.points.iter().map(|point| point.settings[&format!("workload.{name}")].clone()).collect()
    };
    let (sizes, loads, flows) = (of("sizes", plan), of("load", plan), of("flows", plan));
    sizes.into_iter().zip(loads).zip(flows).map(|((sizes, load), flows)| (sizes, load, flows)).collect()
}

#[test]
fn scale__what_the_file_says_for_it() {
    let plan = planned(Scale::Quick, &[], None);
    let [web, mining] = [("web-search", "400"), ("data-mining", "300")].map(|(sizes, flows)| {
        [("0.5", 2), ("0.7", 2)]
            .map(|(load, schemes)| vec![(sizes.to_owned(), load.to_owned(), flows.to_owned()); schemes])
            .concat()
    });
    assert_eq!(points(&plan), [web, mining].concat());
    assert_eq!(plan.runs.len(), 8 * 2);
    assert_eq!(plan.experiment.changes, ["scale=quick"]);
    let pias = &plan.experiment.points[1].settings;
    assert_eq!((pias["scheme.leaf.queues"].as_str(), pias["scheme.nic.queues"].as_str()), ("4", "2"), "{pias:?}");
}

#[test]
fn scale__a_table_changes_what_it_names_and_nothing_else() {
    let plan = planned(Scale::Smoke, &[], None);
    assert_eq!(points(&plan), vec![("data-mining".to_owned(), "0.7".to_owned(), "5000".to_owned()); 2]);
    assert_eq!(plan.runs.len(), 2 * 5);
    let whole = planned(Scale::Paper, &[], None);
    assert_eq!((whole.experiment.points.len(), whole.runs.len()), (12, 60));
    assert!(whole.experiment.changes.is_empty());
}

#[test]
fn scale__times_shorten_a_run() {
    let file = FILE
        .replace("flows = 5_000", "duration = \"65s\"\nchange_at = \"35s\"\nchange_load = 0.2")
        .replace("flows = { web-search = 400, data-mining = 300 }", "times = 0.25");
    let planned = |scale, set: &[&str]| {
        let sets = set.iter().map(|set| (*set).to_owned()).collect();
        let changes = Changes { sets, scale, ..Changes::default() };
        plan(&ExperimentText::new("file.toml", &file), Path::new(""), &changes, &built_in()).unwrap().experiment
    };
    let times = |scale, set: &[&str]| {
        let experiment = planned(scale, set);
        let of = |name: &str| experiment.points[0].settings[&format!("workload.{name}")].clone();
        (of("duration"), of("change_at"))
    };
    let both = |duration: &str, change: &str| (duration.to_owned(), change.to_owned());
    assert_eq!(times(Scale::Paper, &[]), both("65s", "35s"));
    assert_eq!(times(Scale::Quick, &[]), both("16.25s", "8.75s"));
    assert_eq!(times(Scale::Quick, &["duration=20s"]), both("20s", "8.75s"), "the command line wins");
}

#[test]
fn scale__the_command_line_wins() {
    let plan = planned(Scale::Quick, &["flows=50", "load=0.6", "sizes=web-search"], Some(3));
    assert_eq!(points(&plan), vec![("web-search".to_owned(), "0.6".to_owned(), "50".to_owned()); 2]);
    assert_eq!(plan.runs.len(), 2 * 3);
    let swept = planned(Scale::Quick, &["flows=50,60", "seeds=1"], None);
    assert_eq!(swept.runs.len(), 16);
    // Of a workload that is left out, the number of flows is no mistake.
    assert_eq!(points(&planned(Scale::Quick, &["sizes=web-search"], None))[0].2, "400");
}

#[test]
fn scheme_left_out__its_tables_need_no_reader_but_what_the_change_gives_does() {
    let file = FILE
        .replace("[run]", "[schemes.pias]\nnic.ecn_threshold = \"9pkt\"\n[run]")
        .replace("[scale.smoke]", "[scale.smoke]\nscheme = \"dctcp\"");
    let planned = |set: Option<&str>| {
        let changes =
            Changes { sets: set.into_iter().map(str::to_owned).collect(), scale: Scale::Smoke, ..Changes::default() };
        plan(&ExperimentText::new("file.toml", &file), Path::new(""), &changes, &built_in())
    };
    assert!(planned(None).unwrap().warnings.is_empty());
    let refused = planned(Some("schemes.pias.queues=4")).unwrap_err().to_string();
    assert!(refused.contains("`queues` is for the scheme `pias`, which is not in the sweep"), "{refused}");
}

#[test]
fn set__a_list_of_one_needs_no_brackets_and_a_name_stays_a_name() {
    for (set, given) in [
        ("thresholds=20KB", "[20KB]"),
        ("thresholds=[\"20KB\"]", "[20KB]"),
        ("thresholds=20KB,30KB", "[20KB, 30KB]"),
        ("thresholds=optimal", "optimal"),
    ] {
        let queues = format!("queues={}", if set.contains(',') { 3 } else { 2 });
        let plan = planned(Scale::Smoke, &["scheme=pias", &queues, set], None);
        assert_eq!(plan.experiment.points[0].settings["scheme.thresholds"], given, "{set}");
    }
}
