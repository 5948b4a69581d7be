//! The settings that the engines declare, as experiment files and `--set` take them.

use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::document::{parse, sweepable};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_settings::{Kind, Origin, Section, Table};
use std::collections::BTreeSet;
use std::path::Path;

const HINT: &str = "lists go into [sweep]";
const SMALL: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[workload]\nsizes = \"fixed(20KB)\"\nload = 0.4\nflows = 6\n";

fn planned(text: &str, sets: &[String], engines: &Engines) -> Result<Plan, Error> {
    let changes = Changes { sets: sets.to_vec(), ..Changes::default() };
    plan(&ExperimentText::new("t.toml", text), Path::new(""), &changes, engines)
}

#[test]
fn keys__are_unique_and_helped() {
    let engines = built_in();
    let names: BTreeSet<&str> = engines.keys().iter().map(|key| key.name).collect();
    assert_eq!(names.len(), engines.keys().iter().count());
    for key in engines.keys().iter() {
        assert!(!key.help.is_empty() && !key.help.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn parse__a_list_for_one_value_is_told_where_lists_go() {
    let engines = built_in();
    let keys = engines.keys();
    let expected_of = |text: &str| {
        let input = ExperimentText::new("test.toml", text);
        parse(&input, keys).map(|_| ()).unwrap_err().details().expected.unwrap_or_default()
    };
    assert!(expected_of("[workload]\nload = [0.5, 0.7]\n").ends_with(HINT));
    for key in keys.iter() {
        let table = if key.section == Section::Scheme { "schemes.mine" } else { key.section.path() };
        let list = if key.kind.is_list() { "[[1], [2]]" } else { "[1, 2]" };
        let text = match key.section {
            Section::Link => format!("[[{table}]]\n{} = {list}\n", key.name),
            _ => format!("[{table}]\n{} = {list}\n", key.name),
        };
        let can_be_swept = sweepable(keys, key.name, &Origin::Default).is_ok();
        assert_eq!(expected_of(&text).ends_with(HINT), can_be_swept, "{text}");
    }
    assert!(expected_of("[network.leaf]\nqueues = [2, 4]\n").ends_with(HINT));
}

#[test]
fn set__a_list_for_one_value_is_told_where_lists_go() {
    let engines = built_in();
    let keys = engines.keys();
    let mut tried = 0;
    for key in keys.iter().filter(|key| Table::Scheme(String::new()).takes(key)) {
        let Kind::Count(low, _) = key.kind else { continue };
        if sweepable(keys, key.name, &Origin::Default).is_err() {
            continue;
        }
        let set = format!("schemes.mine.{}={low},{}", key.name, low + 1);
        let error = planned(SMALL, std::slice::from_ref(&set), &engines).unwrap_err();
        assert!(error.details().expected.unwrap_or_default().ends_with(HINT), "{set}");
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

/// By this name the plan knows points whose parts have a revision of their own.
#[test]
fn effective_settings__name_the_pattern() {
    let text = format!("{SMALL}pattern = \"incast\"\nfan_in = 3\n[sweep]\nscheme = [\"dctcp\"]\n");
    let planned = planned(&text, &[], &built_in()).unwrap();
    assert_eq!(planned.experiment.points[0].settings["workload.pattern"], "incast");
}
