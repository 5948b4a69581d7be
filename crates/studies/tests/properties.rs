//! Whatever a person writes, there is an experiment or an error, and never a panic.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::{ExperimentText, document, lookup};
use flowsieve_settings::units::{Size, format_rate, format_size, format_time, parse_rate, parse_size, parse_time};
use flowsieve_settings::{Key, Section};
use flowsieve_studies::explain::{self, Detail};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

static ENGINES: LazyLock<Engines> = LazyLock::new(built_in);

/// Texts that look like values, more often than not of the wrong kind.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        Just("true".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("{ a = 1 }".to_owned()),
        "[0-9]{1,30}(\\.[0-9]{0,30})?(B|KB|MB|pkt|us|ms|s|Gbps| |)".prop_map(|text| format!("{text:?}")),
        ".{0,12}".prop_map(|text| format!("{text:?}")),
        "[a-z-]{1,12}".prop_map(|text| format!("[{text:?}, 3, \"1KB\"]")),
    ]
}

fn key() -> impl Strategy<Value = (&'static str, &'static str)> {
    let keys: Vec<&'static Key> = ENGINES.keys().iter().collect();
    prop::sample::select(keys).prop_map(|key| {
        let table = match key.section {
            Section::Link => "[topology.link]",
            Section::Scheme => "schemes.some",
            section => section.path(),
        };
        (table, key.name)
    })
}

proptest! {
    #[test]
    fn parse__never_panics(text in any::<String>()) {
        if let Err(error) = document::parse(&ExperimentText::new("x.toml", &text), &ENGINES) {
            prop_assert!(!error.render(false).is_empty());
        }
    }

    #[test]
    fn parse__of_any_value_for_a_key_never_panics(((table, name), value) in (key(), value())) {
        let text = format!("# µ\n[{table}]\n{name} = {value}\n[sweep]\n{name} = [{value}]\n");
        if let Err(error) = document::parse(&ExperimentText::new("x.toml", &text), &ENGINES) {
            prop_assert!(error.render(false).contains("x.toml:"), "{}", error.render(false));
        }
    }

    #[test]
    fn units__never_panic(text in "[0-9._ -]{0,40}[a-zA-Zµ]{0,5}") {
        let _ = (parse_size(&text), parse_time(&text), parse_rate(&text));
    }

    #[test]
    fn units__read_back_what_they_write(number: u64) {
        prop_assert_eq!(parse_size(&format_size(number)), Ok(Size::Bytes(number)));
        prop_assert_eq!(parse_time(&format_time(number)), Ok(number));
        prop_assert_eq!(parse_rate(&format_rate(number)), Ok(number));
    }

    #[test]
    fn units__are_exact(whole in 0u64..1_000_000, thousandths in 0u64..1_000) {
        let text = format!("{whole}.{thousandths:03}us");
        prop_assert_eq!(parse_time(&text), Ok((whole * 1_000 + thousandths) * 1_000));
    }
}

/// Names, paths of settings, and what is neither.
fn name() -> impl Strategy<Value = String> {
    let names = explain::names(&ENGINES);
    let name = proptest::sample::select(names);
    prop_oneof![
        name.clone(),
        ("(network|topology|topology.link|workload|run|sweep|schemes.pias|network.leaf)", name)
            .prop_map(|(table, name)| format!("{table}.{name}")),
        "[a-z.`\\[\\]…-]{0,20}",
        ".{0,20}",
    ]
}

proptest! {
    #[test]
    fn explain__of_any_name_says_what_it_is_or_refuses_it(name in name()) {
        match explain::explain(&name, Detail::Short, &ENGINES) {
            Ok(found) => prop_assert!(!found.is_empty() && found.iter().all(|of| name.ends_with(&of.name) || of.kind.starts_with("a distribution"))),
            Err(error) => prop_assert!(error.to_string().contains(&name), "{error}"),
        }
    }

    #[test]
    fn lookup__of_any_path_is_a_file_or_refused(path in "((built-in:|nos2|\\.\\.|quickstart|fig01|experiments)(\\.toml|/)?){0,4}|.{0,20}") {
        match lookup::experiment(Path::new(&path)) {
            Ok(found) => prop_assert!(flowsieve_experiment::experiment_text::read(&found).is_ok(), "{}", found.display()),
            Err(error) => prop_assert!(error.to_string().contains(&path), "{error}"),
        }
    }
}
