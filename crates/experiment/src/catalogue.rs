//! What there is to choose from, as text for a terminal: schemes, workloads, settings, experiments.

use crate::document::Document;
use crate::engine::Engine;
use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::lookup;
use crate::settings::KEYS;
use flowsieve_schemes::settings::{Key, Place, Section, units};
use flowsieve_sim::topology::{FabricKind, kinds};
use flowsieve_workload::{SOURCE_MEAN, builtins, stand_ins};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Every scheme: its name, what it does, where it was published and what it must know.
pub fn schemes(engine: &dyn Engine) -> String {
    let schemes = engine.schemes();
    let width = schemes.iter().map(|scheme| scheme.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for scheme in schemes {
        let about = format!("{}; must know {}", scheme.paper, scheme.knows);
        line(&mut text, &scheme.name, width, &scheme.summary);
        line(&mut text, "", width, &about);
    }
    text + "\nA variant is a table [schemes.<name>] with `base` and what differs.\n"
}

/// Every built-in distribution of flow sizes.
pub fn workloads() -> String {
    let width = builtins().iter().map(|builtin| builtin.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for builtin in builtins() {
        line(&mut text, builtin.name, width, builtin.summary);
        if let Ok(sizes) = builtin.distribution() {
            let of = |bytes: f64| units::format_size(rounded(bytes));
            let read = sizes.reading().map_or_else(String::new, |reading| format!("{reading}, "));
            let figures = format!(
                "mean {}, median {}, 90th percentile {}, 99th {}, largest {}; {read}{}",
                of(sizes.mean_bytes()),
                of(sizes.quantile(0.5) as f64),
                of(sizes.quantile(0.9) as f64),
                of(sizes.quantile(0.99) as f64),
                of(sizes.max_bytes() as f64),
                sizes.rounding(),
            );
            line(&mut text, "", width, &figures);
        }
        line(&mut text, "", width, builtin.provenance);
        if let Some(mean) = builtin.source_mean {
            let of = units::format_size(rounded(mean));
            let variant = format!("{}{SOURCE_MEAN}: the same at the rate of its source's own mean, {of}", builtin.name);
            line(&mut text, "", width, &variant);
        }
        if !builtin.aliases.is_empty() {
            line(&mut text, "", width, &format!("also {}", builtin.aliases.join(", ")));
        }
    }
    text.push_str("\nStand-ins for traces that could not be had, for `recorded`:\n");
    for of in stand_ins() {
        line(&mut text, of.name, width, &format!("{}, {} flows", of.summary, of.flows));
        line(&mut text, "", width, of.provenance);
    }
    text + "\nYour own: cdf = \"file.csv\" with rows of size_bytes,cdf; or list = \"file.csv\" with start_s,src,dst,bytes.\n"
}

/// The same lists as data. `folder` is where experiments are looked for.
pub fn json(what: What, engine: &dyn Engine, folder: &Path) -> Value {
    match what {
        What::Schemes => serde_json::json!(engine.schemes()),
        What::Workloads => {
            let of = |builtin: &flowsieve_workload::Builtin| {
                let sizes = builtin.distribution().ok();
                serde_json::json!({
                    "name": builtin.name, "summary": builtin.summary, "source": builtin.provenance,
                    "reading": sizes.as_ref().and_then(|sizes| sizes.reading()).map(|reading| reading.to_string()),
                    "rounding": sizes.as_ref().map(|sizes| sizes.rounding().to_string()),
                    "mean_bytes": sizes.as_ref().map(|sizes| sizes.mean_bytes()),
                    "source_mean_bytes": builtin.source_mean,
                    "median_bytes": sizes.as_ref().map(|sizes| sizes.quantile(0.5)),
                    "p90_bytes": sizes.as_ref().map(|sizes| sizes.quantile(0.9)),
                    "p99_bytes": sizes.as_ref().map(|sizes| sizes.quantile(0.99)),
                    "largest_bytes": sizes.as_ref().map(|sizes| sizes.max_bytes()),
                })
            };
            builtins().iter().map(of).collect()
        }
        What::Topologies => {
            let of = |kind: FabricKind| serde_json::json!({ "name": kind.name(), "summary": kind.summary(), "keys": kind.keys() });
            kinds().map(of).collect()
        }
        What::Settings => {
            let of = |key: &&Key| {
                serde_json::json!({
                    "section": key.section.path(), "name": key.name, "help": key.help, "expects": key.kind.expects(),
                })
            };
            KEYS.iter().map(of).collect()
        }
        What::Experiments => {
            let of = |path: PathBuf| {
                let name = lookup::name(&path);
                match document(&path) {
                    Ok(document) => serde_json::json!({ "file": name, "title": document.title, "error": null }),
                    Err(error) => serde_json::json!({ "file": name, "title": null, "error": error.to_string() }),
                }
            };
            lookup::found(folder).into_iter().map(of).collect()
        }
    }
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Schedulers that can be compared.
    Schemes,
    /// Distributions of flow sizes.
    Workloads,
    /// Kinds of fabric.
    Topologies,
    /// Experiment files in a folder.
    Experiments,
    /// Every key of an experiment file.
    Settings,
}

/// A size to three digits, for reading.
fn rounded(bytes: f64) -> u64 {
    let mut unit = 1.0;
    while bytes / unit >= 1000.0 {
        unit *= 10.0;
    }
    ((bytes / unit).round() * unit) as u64
}

/// Every kind of fabric, drawn with its defaults.
pub fn topologies() -> Result<String, Error> {
    let mut text = String::new();
    for kind in kinds() {
        let _ = writeln!(text, "{}: {}\n  keys: {}\n", kind.name(), kind.summary(), kind.keys().join(", "));
        for line in kind.example()?.lines() {
            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
        }
        text.push('\n');
    }
    Ok(text)
}

/// Every setting, by section.
pub fn settings() -> String {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for section in Section::ALL {
        let title = match section {
            Section::Link => "[[topology.link]]".to_owned(),
            Section::Scheme => "[schemes.<name>], beside every key of [network] and [transport]".to_owned(),
            section => format!("[{}]", section.path()),
        };
        let _ = writeln!(text, "{title}");
        for key in KEYS.iter().filter(|key| key.section == section) {
            line(&mut text, key.name, width, key.help);
            line(&mut text, "", width, &format!("({})", key.kind.expects()));
        }
        text.push('\n');
    }
    let places: Vec<&str> = Place::ALL.iter().map(|place| place.name()).collect();
    let _ = writeln!(
        text,
        "Keys of [network] can differ by place, as in [network.leaf] and [schemes.pias.leaf]: {}.\n\
         [sweep] takes any of these by name, with a list of values; and `scheme`, with a list of schemes.",
        places.join(", ")
    );
    text
}

/// Every experiment in `folder`, with its title.
pub fn experiments(folder: &Path) -> String {
    let found = lookup::found(folder);
    let names: Vec<String> = found.iter().map(|path| lookup::name(path)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (path, name) in found.iter().zip(&names) {
        line(&mut text, name, width, &title(path));
    }
    if found.is_empty() {
        let _ = writeln!(
            text,
            "No experiment in {}. Name another folder, or see the examples in the README.",
            folder.display()
        );
    }
    text
}

fn document(path: &Path) -> Result<Document, Error> {
    ExperimentText::read(path).and_then(|text| crate::document::parse(&text))
}

fn title(path: &Path) -> String {
    match document(path) {
        Ok(document) => document.title.unwrap_or_else(|| "(no title)".to_owned()),
        Err(error) => format!("(not an experiment: {error})"),
    }
}

fn line(text: &mut String, name: &str, width: usize, about: &str) {
    let _ = writeln!(text, "  {name:width$}  {about}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings__lists_every_key() {
        let text = settings();
        for key in KEYS.iter() {
            assert!(text.contains(&format!("  {} ", key.name)) && text.contains(key.help), "{}", key.name);
        }
    }

    #[test]
    fn workloads__states_the_known_means() {
        let text = workloads();
        assert!(text.contains("web-search") && text.contains("mean 1.67MB"), "{text}");
    }

    #[test]
    fn json__of_workloads_has_what_the_text_has() {
        let list = json(What::Workloads, &crate::Simulator, Path::new(""));
        let entries = list.as_array().unwrap();
        assert_eq!(entries.len(), builtins().len());
        for (entry, builtin) in entries.iter().zip(builtins()) {
            let sizes = builtin.distribution().unwrap();
            assert_eq!(entry["rounding"], sizes.rounding().to_string(), "{}", builtin.name);
            assert_eq!(entry["reading"].as_str(), sizes.reading().map(|reading| reading.to_string()).as_deref());
            assert_eq!(entry["p90_bytes"].as_u64(), Some(sizes.quantile(0.9)));
            assert_eq!(entry["source_mean_bytes"].as_f64(), builtin.source_mean);
        }
        assert!(entries.iter().any(|entry| entry["source_mean_bytes"].is_f64()));
        assert!(entries.iter().any(|entry| entry["reading"].is_string()));
    }

    #[test]
    fn experiments__finds_files_and_says_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("paper")).unwrap();
        std::fs::write(folder.path().join("paper/a.toml"), "title = \"The first\"\n").unwrap();
        std::fs::write(folder.path().join("b.toml"), "colour = 1\n").unwrap();
        let text = experiments(folder.path());
        assert!(text.contains("The first") && text.contains("not an experiment"), "{text}");
        assert!(experiments(&folder.path().join("none")).starts_with("No experiment"));
    }
}
