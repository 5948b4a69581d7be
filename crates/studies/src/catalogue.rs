//! Lists as text for a terminal: schemes, workloads, settings, experiments.

use flowsieve_experiment::Error;
use flowsieve_experiment::document::Document;
use flowsieve_experiment::engine::{Engines, TagFeeds};
use flowsieve_experiment::lookup;
use flowsieve_report::printable;
use flowsieve_results::SchemeInfo;
use flowsieve_settings::{Key, Origin, Place, Section, SettingsError, units};
use flowsieve_sim::topology::{FabricKind, kinds};
use flowsieve_workload::convert::{self as convert, Format, Gives};
use flowsieve_workload::{Builtin, SOURCE_MEAN, StandIn, builtins, stand_ins};
use serde_json::{Value, json};
use std::fmt::Write;
use std::iter::once;
use std::path::{Path, PathBuf};

/// The kinds of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Schedulers that can be compared.
    Schemes,
    /// Distributions of flow sizes.
    Workloads,
    /// Kinds of fabric.
    Topologies,
    /// Experiments in a folder.
    Experiments,
    /// All keys of an experiment file.
    Settings,
    /// Files of other simulators that can be converted.
    Formats,
}

/// Returns a list as text. Experiments are looked for in `folders`. With a word, the list has only entries with the word
/// in their name or description.
///
/// # Errors
/// Fails if no entry has the word.
pub fn text(what: What, word: Option<&str>, engines: &Engines, folders: &[PathBuf]) -> Result<String, Error> {
    let mut groups = match what {
        What::Schemes => schemes(engines),
        What::Workloads => workloads(),
        What::Topologies => topologies()?,
        What::Experiments => experiments(folders, engines),
        What::Settings if word.is_none() => once(most_changed(engines)).chain(settings(engines)).collect(),
        What::Settings => settings(engines),
        What::Formats => formats(),
    };
    if let Some(word) = word {
        let names: Vec<String> = groups.iter().flat_map(|group| &group.items).map(|item| item.name.clone()).collect();
        groups.iter_mut().for_each(|group| group.items.retain(|item| item.has(word)));
        groups.retain(|group| !group.items.is_empty());
        if groups.is_empty() {
            return Err(nothing_with(word, names));
        }
    }
    let items = || groups.iter().flat_map(|group| &group.items);
    let width = items().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if !group.title.is_empty() {
            let _ = writeln!(text, "{}", group.title);
        }
        for item in &group.items {
            item.write(&mut text, width);
        }
    }
    if word.is_none() {
        text.push_str(&note(what));
        if items().next().is_none() {
            let folder = folders.first().map(|folder| folder.display().to_string()).unwrap_or_default();
            text = format!(
                "No experiment in {folder}. Name another folder, or use --folder built-in: for the program's own.\n"
            );
        }
    }
    Ok(text)
}

fn nothing_with(word: &str, names: Vec<String>) -> Error {
    SettingsError::new(
        Origin::CommandLine(format!("list {word}").into()),
        format!("no entry has `{word}` in its name or description"),
    )
    .expected("another word, or none for the whole list")
    .names(word, names)
    .into()
}

/// The entries under one heading.
struct Group {
    title: String,
    items: Vec<Item>,
}

/// A name, and lines about it.
struct Item {
    name: String,
    about: Vec<String>,
    /// A drawing.
    drawn: Option<String>,
}

impl Item {
    fn new(name: &str, about: impl IntoIterator<Item = String>) -> Item {
        Item { name: name.to_owned(), about: about.into_iter().collect(), drawn: None }
    }

    fn has(&self, word: &str) -> bool {
        std::iter::once(&self.name).chain(&self.about).any(|line| has_word(line, word))
    }

    fn write(&self, text: &mut String, width: usize) {
        if let Some(drawn) = &self.drawn {
            let _ = writeln!(text, "{}: {}", self.name, self.about.join("\n  "));
            let _ = writeln!(text);
            for line in drawn.lines() {
                let _ = writeln!(text, "{}", format!("    {line}").trim_end());
            }
            text.push('\n');
            return;
        }
        for (index, about) in self.about.iter().enumerate() {
            let name = if index == 0 { self.name.as_str() } else { "" };
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

/// Returns the note at the end of a complete list.
fn note(what: What) -> String {
    match what {
        What::Schemes => "\nA variant is a table [schemes.<name>] with `base` and other settings.\n".to_owned(),
        What::Workloads => "\nYour own: cdf = \"file.csv\" with rows of size_bytes,cdf; or list = \"file.csv\" with \
            start_s,src,dst,bytes.\n"
            .to_owned(),
        What::Settings => {
            let places: Vec<&str> = Place::ALL.iter().map(|place| place.name()).collect();
            format!(
                "\nKeys of [network] can differ by place, as in [network.leaf] and [schemes.pias.leaf]: {}.\n\
                 [sweep] takes any of these by name, with a list of values. It also takes `scheme`, with a list of schemes.\n",
                places.join(", ")
            )
        }
        What::Formats => {
            "\n`flowsieve convert IN -o OUT` recognises most of them by their contents; --from names one.\n".to_owned()
        }
        What::Topologies | What::Experiments => String::new(),
    }
}

/// Describes what a scheme needs, from a word for what it must know.
pub(crate) fn needs(knows: &str) -> String {
    if knows == "nothing" { "no prior knowledge".to_owned() } else { format!("to know {knows}") }
}

/// Says in a line what feeds the tags of a scheme, and what its ports read.
fn feeds_in_a_line(TagFeeds { tags, ports }: &TagFeeds) -> String {
    format!("tags: {}; ports read, {}", tags.join("; "), ports.join("; "))
}

/// Lists every scheme: its name, what it does, where it was published, what it needs to know, and what feeds its tags.
fn schemes(engines: &Engines) -> Vec<Group> {
    let of = |scheme: SchemeInfo| {
        let needs = needs(&scheme.knows);
        let feeds = engines.feeds(&scheme.name).map(|feeds| feeds_in_a_line(&feeds));
        let about = [scheme.summary, format!("{}; needs {needs}", scheme.paper)];
        Item::new(&scheme.name, about.into_iter().chain(feeds))
    };
    vec![Group { title: String::new(), items: engines.schemes().into_iter().map(of).collect() }]
}

/// Lists every built-in distribution of flow sizes, and every substitute for a trace.
fn workloads() -> Vec<Group> {
    let stand_in = |of: &StandIn| Item::new(of.name, about_stand_in(of));
    let sizes = builtins().iter().map(|builtin| Item::new(builtin.name, about_workload(builtin)));
    let title = "Stand-ins for traces that are not available, for `recorded`:".to_owned();
    vec![
        Group { title: String::new(), items: sizes.collect() },
        Group { title, items: stand_ins().iter().map(stand_in).collect() },
    ]
}

pub(crate) fn about_workload(builtin: &Builtin) -> Vec<String> {
    let mut about = vec![builtin.summary.to_owned()];
    if let Ok(sizes) = builtin.distribution() {
        let of = |bytes: f64| units::format_size(rounded(bytes));
        let read = sizes.reading().map_or_else(String::new, |reading| format!("{reading}, "));
        about.push(format!(
            "mean {}, median {}, 90th percentile {}, 99th {}, largest {}; {read}{}",
            of(sizes.mean_bytes()),
            of(sizes.quantile(0.5) as f64),
            of(sizes.quantile(0.9) as f64),
            of(sizes.quantile(0.99) as f64),
            of(sizes.max_bytes() as f64),
            sizes.rounding(),
        ));
    }
    about.push(builtin.provenance.to_owned());
    if let Some(mean) = builtin.source_mean {
        let of = units::format_size(rounded(mean));
        about.push(format!("{}{SOURCE_MEAN}: the same sizes at the rate of its source's own mean, {of}", builtin.name));
    }
    if !builtin.aliases.is_empty() {
        about.push(format!("also {}", builtin.aliases.join(", ")));
    }
    about
}

pub(crate) fn about_stand_in(of: &StandIn) -> Vec<String> {
    vec![format!("{}, {} flows", of.summary, of.flows), of.provenance.to_owned()]
}

/// Rounds a size to three digits, for reading.
fn rounded(bytes: f64) -> u64 {
    let mut unit = 1.0;
    while bytes / unit >= 1000.0 {
        unit *= 10.0;
    }
    ((bytes / unit).round() * unit) as u64
}

/// Lists every kind of fabric, drawn with its defaults.
fn topologies() -> Result<Vec<Group>, Error> {
    let of = |kind: FabricKind| {
        let about = vec![kind.summary().to_owned(), format!("keys: {}", kind.keys().join(", "))];
        Ok(Item { name: kind.name().to_owned(), about, drawn: Some(kind.example()?) })
    };
    Ok(vec![Group { title: String::new(), items: kinds().map(of).collect::<Result<_, Error>>()? }])
}

/// The settings that people change most, which a complete list begins with.
const MOST_CHANGED: &str = "kind leaves spines hosts_per_leaf host_link fabric_link rtt sizes cdf list load flows \
    buffer ecn_threshold load_balancing rto_min queues thresholds seeds parameters";

/// Lists the settings that people change most, each with its section.
fn most_changed(engines: &Engines) -> Group {
    let item = |name: &str| {
        let key = engines.keys().find(name)?;
        Some(Item::new(name, [format!("[{}]  {}", key.section.path(), key.help)]))
    };
    let title = "Changed most often (`flowsieve explain NAME` has the details):".to_owned();
    Group { title, items: MOST_CHANGED.split(' ').filter_map(item).collect() }
}

/// Lists every setting, by section.
fn settings(engines: &Engines) -> Vec<Group> {
    let of = |section: Section| {
        let title = match section {
            Section::Link | Section::Event => format!("[[{}]]", section.path()),
            Section::Scheme => "[schemes.<name>], in addition to every key of [network] and [transport]".to_owned(),
            section => format!("[{}]", section.path()),
        };
        let keys = engines.keys().iter().filter(|key| key.section == section);
        let item = |key: &Key| Item::new(key.name, [key.help.to_owned(), format!("({})", key.kind.expects())]);
        Group { title, items: keys.map(item).collect() }
    };
    Section::ALL.map(of).into()
}

/// Lists every format that can be converted, by its target.
fn formats() -> Vec<Group> {
    let item = |format: &Format| {
        let options: Vec<String> = format.options.iter().map(|option| format!("--{}", option.name())).collect();
        let options = if options.is_empty() { "no options".to_owned() } else { options.join(", ") };
        Item::new(format.name, [format.summary.to_owned(), format!("not carried over: {}", format.lost), options])
    };
    let of = |gives: Gives| {
        let formats = convert::formats().iter().filter(|format| format.gives == gives);
        Group { title: format!("Into {}:", gives.in_words()), items: formats.map(item).collect() }
    };
    [Gives::Flows, Gives::Topology, Gives::Sizes, Gives::Experiment].map(of).into()
}

/// Lists every experiment in `folders`, with its title.
fn experiments(folders: &[PathBuf], engines: &Engines) -> Vec<Group> {
    let of = |path: PathBuf| Item::new(&lookup::name(&path), [title(&path, engines)]);
    let found = folders.iter().flat_map(|folder| lookup::found(folder));
    vec![Group { title: String::new(), items: found.map(of).collect() }]
}

/// Returns the same lists as data.
///
/// # Errors
/// Fails if no entry has the word.
pub fn json(what: What, word: Option<&str>, engines: &Engines, folders: &[PathBuf]) -> Result<Value, Error> {
    let mut list: Vec<Value> = match what {
        What::Schemes => {
            let of = |scheme: &SchemeInfo| {
                let mut of = json!(scheme);
                if let Some(TagFeeds { tags, ports }) = engines.feeds(&scheme.name) {
                    of["tags"] = json!(tags);
                    of["ports_read"] = json!(ports);
                }
                of
            };
            engines.schemes().iter().map(of).collect()
        }
        What::Workloads => {
            let of = |builtin: &Builtin| {
                let sizes = builtin.distribution().ok();
                json!({
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
            let of = |kind: FabricKind| json!({ "name": kind.name(), "summary": kind.summary(), "keys": kind.keys() });
            kinds().map(of).collect()
        }
        What::Settings => {
            let of = |key: &Key| {
                json!({
                    "section": key.section.path(), "name": key.name, "help": key.help, "expects": key.kind.expects(),
                })
            };
            engines.keys().iter().map(of).collect()
        }
        What::Formats => {
            let of = |format: &Format| {
                let options: Vec<&str> = format.options.iter().map(|option| option.name()).collect();
                json!({
                    "name": format.name, "gives": format.gives.in_words(), "summary": format.summary,
                    "lost": format.lost, "options": options,
                })
            };
            convert::formats().iter().map(of).collect()
        }
        What::Experiments => {
            let of = |path: PathBuf| {
                let name = lookup::name(&path);
                match document(&path, engines) {
                    Ok(document) => json!({ "file": name, "title": document.title, "error": null }),
                    Err(error) => json!({ "file": name, "title": null, "error": error.to_string() }),
                }
            };
            folders.iter().flat_map(|folder| lookup::found(folder)).map(of).collect()
        }
    };
    if let Some(word) = word {
        let has =
            |item: &Value| item.as_object().is_some_and(|fields| fields.values().any(|of| is_text_with(of, word)));
        let name = |item: &Value| item["name"].as_str().or(item["file"].as_str()).unwrap_or_default().to_owned();
        let names = list.iter().map(name).collect();
        list.retain(has);
        if list.is_empty() {
            return Err(nothing_with(word, names));
        }
    }
    Ok(list.into())
}

/// Returns whether it is a text with the word, or a list of texts with one that has it.
fn is_text_with(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => has_word(text, word),
        Value::Array(items) => items.iter().any(|item| is_text_with(item, word)),
        _ => false,
    }
}

fn document(path: &Path, engines: &Engines) -> Result<Document, Error> {
    flowsieve_experiment::experiment_text::read(path)
        .and_then(|text| flowsieve_experiment::document::parse(&text, engines))
}

fn title(path: &Path, engines: &Engines) -> String {
    match document(path, engines) {
        Ok(document) => document.title.map_or("(no title)".to_owned(), |title| printable(&title).into_owned()),
        Err(error) => format!("(not an experiment: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_engines::built_in;

    fn list(what: What) -> String {
        text(what, None, &built_in(), &[]).unwrap()
    }

    #[test]
    fn settings__lists_every_key_after_those_that_are_changed_most() {
        let text = list(What::Settings);
        let (most, _) = text.split_once("\n\n").unwrap();
        assert_eq!(most.lines().count(), 1 + MOST_CHANGED.split(' ').count(), "{most}");
        for key in built_in().keys().iter() {
            assert!(text.contains(&format!("  {} ", key.name)) && text.contains(key.help), "{}", key.name);
        }
    }

    #[test]
    fn workloads__states_the_known_means() {
        let text = list(What::Workloads);
        assert!(text.contains("web-search") && text.contains("mean 1.67MB"), "{text}");
    }

    #[test]
    fn json__of_workloads_has_what_the_text_has() {
        let list = json(What::Workloads, None, &built_in(), &[]).unwrap();
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
        let experiments = |folder: &Path| text(What::Experiments, None, &built_in(), &[folder.to_owned()]).unwrap();
        let text = experiments(folder.path());
        assert!(text.contains("The first") && text.contains("not an experiment"), "{text}");
        assert!(experiments(&folder.path().join("none")).starts_with("No experiment"));
    }

    #[test]
    fn text__and_json_of_a_word_have_what_has_it() {
        let of = |what, word| text(what, Some(word), &built_in(), &[]).unwrap();
        let thresholds = of(What::Settings, "ECN");
        assert!(thresholds.contains("ecn_threshold") && !thresholds.contains("flow_records"), "{thresholds}");
        // Only headings with entries below them, and no general remarks.
        assert!(thresholds.starts_with("[network]") && !thresholds.contains("[report]"), "{thresholds}");
        assert!(!thresholds.contains("[sweep] takes"), "{thresholds}");
        let found = of(What::Schemes, "shortest remaining");
        assert!(
            found.lines().count() < list(What::Schemes).lines().count() / 2 && found.contains("pfabric"),
            "{found}"
        );
        let list = json(What::Settings, Some("ecn"), &built_in(), &[]).unwrap();
        let names: Vec<&str> = list.as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"ecn_threshold") && names.len() < 30, "{names:?}");
        for name in &names {
            assert!(thresholds.contains(&format!("  {name} ")), "{name}: {thresholds}");
        }
    }

    #[test]
    fn text__of_a_word_that_nothing_has_is_refused_with_the_nearest_name() {
        let of = |word| text(What::Settings, Some(word), &built_in(), &[]).unwrap_err().details();
        assert_eq!(of("quues").nearest.as_deref(), Some("queues"));
        let data = json(What::Topologies, Some("ring"), &built_in(), &[]).unwrap_err();
        assert!(data.to_string().contains("no entry has `ring`"), "{data}");
    }
}
