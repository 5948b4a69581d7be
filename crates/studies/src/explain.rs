//! Explains a name: a setting, a scheme, a workload, a kind of fabric, a metric, a value, or a word that is not
//! modelled.
//!
//! Defaults and metrics are read from the documentation, which tests compare with what runs use. To find the readers of
//! a setting, every scheme is built.

mod own;
mod words;

pub use words::absent_names;

use crate::catalogue::{about_stand_in, about_workload, needs};
use flowsieve_engines::USUAL_WORKLOAD;
use flowsieve_experiment::Error;
use flowsieve_experiment::document::{self, SCHEME};
use flowsieve_experiment::engine::{Engines, TagFeeds};
use flowsieve_experiment::overrides::{self, Target};
use flowsieve_results::{Count, Figure, SchemeInfo};
use flowsieve_schemes::registry;
use flowsieve_settings::{Key, Keys, Origin, Section, SettingsError, Table};
use flowsieve_sim::topology::kinds;
use flowsieve_workload::{Builtin, builtin, builtins, stand_ins};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page of docs/reference: its name and text.
macro_rules! page {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../docs/reference/", $name)))
    };
}

/// The pages with tables of settings and their defaults.
const SETTINGS_PAGES: [(&str, &str); 8] = [
    page!("settings-topology.md"),
    page!("settings-workload.md"),
    page!("settings-network.md"),
    page!("settings-transport.md"),
    page!("settings-schemes.md"),
    page!("settings-lossless.md"),
    page!("coflows.md"),
    page!("sieve.md"),
];
/// The page with the table of metrics.
const METRICS_PAGE: (&str, &str) = page!("metrics.md");

/// The most schemes that a short answer lists.
const MOST_LISTED: usize = 6;

/// One meaning of a name.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// Its name.
    pub name: String,
    /// The kind of thing.
    pub kind: Cow<'static, str>,
    /// Facts about it, each with a heading.
    #[serde(serialize_with = "as_map")]
    pub facts: Vec<(&'static str, String)>,
}

fn as_map<S: Serializer>(facts: &[(&'static str, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(facts.iter().map(|(heading, fact)| (heading, fact)))
}

impl Explained {
    /// Formats it as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name, self.kind);
        let width = self.facts.iter().map(|(heading, _)| heading.len()).max().unwrap_or(0);
        for (heading, fact) in &self.facts {
            for (index, line) in fact.lines().enumerate() {
                let heading = if index == 0 { heading } else { "" };
                let _ = writeln!(text, "{}", format!("  {heading:width$}  {line}").trim_end());
            }
        }
        text
    }
}

/// How much is said of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Long lists are counted.
    Short,
    /// Everything.
    All,
}

/// Returns all meanings of a name, or of the path of a setting, in any case.
///
/// # Errors
/// Fails if it has no meaning.
pub fn explain(name: &str, detail: Detail, engines: &Engines) -> Result<Vec<Explained>, Error> {
    let lower = name.to_lowercase();
    let mut found = meanings(name, detail, engines);
    if found.is_empty() {
        found = meanings(&lower, detail, engines);
    }
    if found.is_empty() {
        found.extend(words::word(&lower, engines));
    }
    if found.is_empty() { Err(unknown(name, engines)) } else { Ok(found) }
}

/// The meanings of a name as it is spelt.
fn meanings(name: &str, detail: Detail, engines: &Engines) -> Vec<Explained> {
    let mut found = Vec::new();
    found.extend(key_of(name, engines.keys()).map(|key| setting(key, detail, engines)));
    found.extend(engines.schemes().iter().find(|info| info.name == name).map(|info| scheme(info, engines)));
    found.extend(builtin(name).map(workload));
    found.extend(stand_ins().iter().find(|of| of.name == name).map(|of| Explained {
        name: of.name.to_owned(),
        kind: "a stand-in for a trace, for `recorded`".into(),
        facts: is_and_source(about_stand_in(of), of.provenance),
    }));
    found.extend(kinds().find(|kind| kind.name() == name).map(|kind| {
        let facts = vec![
            ("is", kind.summary().to_owned()),
            ("keys", kind.keys().join(", ")),
            ("source", "docs/reference/settings-topology.md".to_owned()),
        ];
        Explained { name: name.to_owned(), kind: "a kind of fabric, for `kind`".into(), facts }
    }));
    found.extend(Figure::all().find(|figure| figure.name() == name).map(|figure| metric(figure, engines)));
    found
}

/// Returns every name that can be explained.
pub fn names(engines: &Engines) -> Vec<String> {
    let mut names: Vec<String> = engines.keys().iter().map(|key| key.name.to_owned()).collect();
    names.extend(engines.schemes().into_iter().map(|info| info.name));
    names.extend(workloads());
    names.extend(stand_ins().iter().map(|of| of.name.to_owned()));
    names.extend(kinds().map(|kind| kind.name().to_owned()));
    names.extend(Figure::all().map(Figure::name));
    names.extend(absent_names().flatten().map(|&name| name.to_owned()));
    names
}

/// Returns the names of all built-in distributions.
pub fn workloads() -> Vec<String> {
    builtins().iter().flat_map(|of| [&[of.name], of.aliases].concat()).map(str::to_owned).collect()
}

fn unknown(name: &str, engines: &Engines) -> Error {
    let problem = format!("`{name}` is not a setting, scheme, workload, kind of fabric or metric");
    SettingsError::new(Origin::CommandLine(format!("explain {name}").into()), problem)
        .expected(format!("a name that `flowsieve list` shows, the path of a setting, or {}", a_metric(engines)))
        .names(name, names(engines))
        .into()
}

/// Finds the setting of a name, or of a path as in `--set`.
fn key_of(name: &str, keys: &Keys) -> Option<&'static Key> {
    for (path, table) in [("topology.link.", Table::Link(0)), ("event.", Table::Event(0))] {
        if let Some(name) = name.strip_prefix(path) {
            return keys.find(name).filter(|key| table.takes(key));
        }
    }
    match overrides::target(keys, name, &Origin::Default) {
        Ok(Target::Key(_, key) | Target::Sweep(Some(key))) => Some(key),
        Ok(Target::Sweep(None)) => None,
        Err(_) => keys.find(name),
    }
}

fn setting(key: &'static Key, detail: Detail, engines: &Engines) -> Explained {
    let mut facts = vec![("is", key.help.to_owned()), ("takes", key.kind.expects())];
    let documented = SETTINGS_PAGES.iter().find_map(|&(page, text)| {
        let row = rows(text).find(|row| row[0] == format!("`{}`", key.name))?;
        Some((page, row[2]))
    });
    if let Some(words) = key.computed {
        facts.push(("default", plain(words)));
    } else if let Some((_, default)) = documented {
        facts.push(("default", if default == "–" { "none".to_owned() } else { plain(default) }));
    }
    facts.extend(own::of_setting(key, detail));
    let stands_in = match key.section {
        Section::Network => "[network], [network.<place>], [schemes.<name>], [schemes.<name>.<place>]".to_owned(),
        Section::Transport => "[transport], [schemes.<name>]".to_owned(),
        _ => document::home(key),
    };
    facts.push(("stands in", stands_in));
    facts.push(("read by", readers(key, detail, engines)));
    let page = documented.map_or("experiment-file.md", |(page, _)| page);
    facts.push(("source", format!("docs/reference/{page}, {}", document::home(key))));
    Explained { name: key.name.to_owned(), kind: "a setting".into(), facts }
}

fn readers(key: &'static Key, detail: Detail, engines: &Engines) -> String {
    match key.section {
        Section::Topology => {
            let of_kinds: Vec<&str> =
                kinds().filter(|kind| kind.keys().contains(&key.name)).map(|kind| kind.name()).collect();
            if of_kinds.is_empty() { "every kind of fabric".to_owned() } else { of_kinds.join(", ") }
        }
        Section::Link => "links that differ from their class".to_owned(),
        Section::Event => "runs in which links fail".to_owned(),
        Section::Workload => "the workload".to_owned(),
        Section::Run => "runs".to_owned(),
        Section::Lab => "runs with engine = \"linux\"".to_owned(),
        Section::Report => "reports".to_owned(),
        Section::Network | Section::Transport | Section::Scheme => {
            let all = engines.schemes();
            let reads = |info: &&SchemeInfo| read_by(&info.name, engines).contains_key(key.name);
            let reading: Vec<&str> = all.iter().filter(reads).map(|info| info.name.as_str()).collect();
            match reading.len() {
                0 => "schemes whose other settings need it".to_owned(),
                some if some == all.len() => "every scheme".to_owned(),
                some if some > MOST_LISTED && detail == Detail::Short => {
                    format!("{some} of {} schemes (--all lists them); others if their settings need it", all.len())
                }
                _ => format!("{}; others if their other settings need it", reading.join(", ")),
            }
        }
    }
}

/// Returns the settings that a scheme reads if none is given: the name of each, and its values by place.
fn read_by(scheme: &str, engines: &Engines) -> BTreeMap<String, Vec<(Option<String>, String)>> {
    let settings = engines.keys().none_given();
    engines.read_scheme(scheme, &settings);
    let mut read: BTreeMap<String, Vec<(Option<String>, String)>> = BTreeMap::new();
    for (path, value) in settings.effective() {
        let Some(path) = path.strip_prefix("scheme.") else { continue };
        let (place, name) = match path.rsplit_once('.') {
            Some((place, name)) => (Some(place.to_owned()), name),
            None => (None, path),
        };
        read.entry(name.to_owned()).or_default().push((place, value));
    }
    read
}

/// Writes a setting's values: one if all places have the same, or each with its place.
fn values(name: &str, values: &[(Option<String>, String)]) -> Vec<String> {
    if values.iter().all(|(_, value)| *value == values[0].1) {
        return vec![format!("{name} = {}", values[0].1)];
    }
    let of = |(place, value): &(Option<String>, String)| match place {
        Some(place) => format!("{place}.{name} = {value}"),
        None => format!("{name} = {value}"),
    };
    values.iter().map(of).collect()
}

fn scheme(info: &SchemeInfo, engines: &Engines) -> Explained {
    let read = read_by(&info.name, engines);
    let defaults: Vec<String> = read.iter().flat_map(|(name, of)| values(name, of)).collect();
    let mut facts = vec![("is", info.summary.clone()), ("needs", needs(&info.knows)), ("source", info.paper.clone())];
    if let Some(TagFeeds { tags, ports }) = engines.feeds(&info.name) {
        facts.push(("tags", tags.join("\n")));
        facts.push(("ports read", ports.join("\n")));
    }
    if !defaults.is_empty() {
        facts.push((
            "reads",
            format!("with {USUAL_WORKLOAD} at load 0.6 and default settings:\n{}", defaults.join("\n")),
        ));
    }
    if let Some(file) = registry::all().find(|scheme| scheme.name == info.name) {
        facts.push(("is made of", file.text.text.trim_end().to_owned()));
    }
    facts.push(("in a file", format!("{SCHEME} = [\"{0}\"] in [sweep]; [schemes.{0}] changes it", info.name)));
    Explained { name: info.name.clone(), kind: "a scheme".into(), facts }
}

fn workload(of: &'static Builtin) -> Explained {
    let facts = is_and_source(about_workload(of), of.provenance);
    Explained { name: of.name.to_owned(), kind: "a distribution of flow sizes, for `sizes`".into(), facts }
}

/// Separates the source from the other lines of a list.
fn is_and_source(mut about: Vec<String>, source: &str) -> Vec<(&'static str, String)> {
    about.retain(|line| line != source);
    vec![("is", about.join("\n")), ("source", source.to_owned())]
}

/// A metric, by the tables of files that name one.
fn a_metric(engines: &Engines) -> String {
    format!("a metric{}", engines.tables().map_or(String::new(), |tables| format!(" of {}", tables.name)))
}

fn metric(figure: Figure, engines: &Engines) -> Explained {
    let name = figure.name();
    let mut facts = Vec::new();
    if let Figure::Count(Count::OfFlows(count)) = figure {
        facts.extend([("is", format!("sum over a run: {}", count.about())), ("unit", "number".to_owned())]);
    } else if let Some(row) = rows(METRICS_PAGE.1).find(|row| is_of(row[0], &name)) {
        facts.extend([("is", plain(row[1])), ("unit", plain(row[2]))]);
    }
    let of = match figure {
        _ if figure.is_of_coflows() => "coflows, all or a class of them",
        _ if figure.has_classes() => "flows, all or a class of sizes",
        _ => "whole runs",
    };
    facts.push(("of", of.to_owned()));
    if let Some(tables) = engines.tables() {
        facts.push(("read by", format!("`metric` in [[{}]], and --resolve", tables.name)));
    }
    facts.push(("source", format!("docs/reference/{}, docs/reference/definitions.md", METRICS_PAGE.0)));
    Explained { name, kind: a_metric(engines).into(), facts }
}

/// Returns the rows of all tables with three columns, by cell.
fn rows(page: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        <[&str; 3]>::try_from(cells).ok()
    };
    page.lines().filter_map(row)
}

/// Returns whether the first cell of a metric's row covers a name: exactly, or in the range from the mean to the
/// highest percentile.
fn is_of(cell: &str, name: &str) -> bool {
    let mut listed = cell.split('`').skip(1).step_by(2);
    let range = cell.contains('…').then(|| listed.clone().next().and_then(|first| first.split_once(' '))).flatten();
    listed.any(|one| one == name)
        || range.is_some_and(|(_, what)| name.split_once(' ').is_some_and(|(_, of)| of == what))
}

/// Strips Markdown: links become their texts.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((shown, after)) = link.split_once("](").and_then(|(shown, to)| Some((shown, to.split_once(')')?.1)))
        else {
            plain.push_str(before);
            plain.push('[');
            rest = link;
            continue;
        };
        plain.push_str(before);
        plain.push_str(shown);
        rest = after;
    }
    (plain + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_engines::built_in;

    fn of(name: &str) -> Vec<Explained> {
        explain(name, Detail::All, &built_in()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn fact(explained: &Explained, heading: &str) -> String {
        let found = explained.facts.iter().find(|(of, _)| *of == heading);
        found.unwrap_or_else(|| panic!("{}: no {heading}", explained.name)).1.clone()
    }

    #[test]
    fn explain__every_name_has_what_its_kind_has() {
        for name in names(&built_in()) {
            for explained in of(&name) {
                let headings: &[&str] = match &*explained.kind {
                    "a setting" => &["is", "takes", "default", "stands in", "read by", "source"],
                    "a scheme" => &["is", "needs", "source", "in a file"],
                    "a metric" => &["is", "unit", "of", "source"],
                    "not modelled" => &["is", "nearest", "source"],
                    _ => &["is", "source"],
                };
                for heading in headings {
                    assert!(!fact(&explained, heading).is_empty(), "{name}: {heading}");
                }
                assert!(explained.text().starts_with(&format!("{}: ", explained.name)), "{}", explained.text());
            }
        }
    }

    #[test]
    fn explain__a_setting_by_its_name_and_its_paths() {
        let named = &of("ecn_threshold")[0];
        assert!(fact(named, "default").contains("65 packets"), "{}", named.text());
        let (reads, reads_not) = (fact(named, "read by"), "pfabric,");
        assert!(reads.contains("dctcp, pias") && !reads.contains(reads_not), "{reads}");
        for path in ["network.ecn_threshold", "network.leaf.ecn_threshold", "schemes.pias.ecn_threshold"] {
            assert_eq!(of(path)[0].text(), named.text(), "{path}");
        }
        assert_eq!(fact(&of("topology.link.loss")[0], "default"), "0");
        assert_eq!(fact(&of("list")[0], "default"), "none");
        assert!(fact(&of("k")[0], "read by").contains("fat-tree"));
        assert!(explain("topology.ecn_threshold", Detail::All, &built_in()).is_err());
    }

    #[test]
    fn explain__in_any_case_and_in_short() {
        assert_eq!(of("ECN_Threshold")[0].text(), of("ecn_threshold")[0].text());
        assert_eq!((of("PIAS")[0].name.as_str(), of("P99 FCT")[0].name.as_str()), ("pias", "p99 fct"));
        let short = &explain("ecn_threshold", Detail::Short, &built_in()).unwrap()[0];
        assert!(fact(short, "read by").contains("(--all lists them)"), "{}", short.text());
        let few = |detail| fact(&explain("sketch", detail, &built_in()).unwrap()[0], "read by");
        assert!(few(Detail::Short).contains("of") && few(Detail::All).contains("qc-las"), "{}", few(Detail::Short));
    }

    #[test]
    fn explain__parts_of_metrics_and_what_is_absent() {
        let fct = &of("FCT")[0];
        assert!(
            fact(fct, "metrics").contains("mean fct, ") && fact(fct, "metrics").contains("p99 fct"),
            "{}",
            fct.text()
        );
        assert!(!fact(fct, "metrics").contains("slowdown"), "{}", fct.text());
        assert!(fact(&of("p99")[0], "metrics").contains("p99 slowdown"));
        assert_eq!((&*of("roce")[0].kind, &*of("PowerTCP")[0].kind), ("not modelled", "not modelled"));
        assert!(fact(&of("eqds")[0], "source").contains("limits.md"));
        assert!(fact(&of("timely")[0], "nearest").ends_with("; to write one: docs/extend/transport.md"));
    }

    /// The day on which one of these names comes to be something, its row has to go.
    #[test]
    fn explain__what_is_absent_is_nothing_else() {
        for name in absent_names().flatten() {
            assert_eq!(of(name).iter().map(|one| &*one.kind).collect::<Vec<_>>(), ["not modelled"], "{name}");
        }
    }

    #[test]
    fn explain__a_value_names_its_settings() {
        assert!(fact(&of("cubic")[0], "of").starts_with("`transport`: "), "{}", of("cubic")[0].text());
        assert!(fact(&of("flowlet")[0], "of").starts_with("`load_balancing`: "));
        assert_eq!(of("dctcp").iter().map(|one| &*one.kind).collect::<Vec<_>>(), ["a scheme"]);
        assert!(explain("10ms", Detail::All, &built_in()).is_err(), "an example of a list is no value of it");
    }

    #[test]
    fn explain__a_scheme_with_what_it_reads() {
        let pias = &of("pias")[0];
        assert!(fact(pias, "reads").contains("\nqueues = 8\n"), "{}", pias.text());
        assert_eq!(fact(pias, "tags"), "priority from bytes of the message before the packet");
        assert!(fact(pias, "ports read").ends_with("leaf, spine, core: priority"), "{}", pias.text());
        assert!(fact(&of("pfabric-edf")[0], "tags").contains("deadline"));
        assert!(of("varys")[0].facts.iter().all(|(heading, _)| *heading != "tags"), "rates have no tags");
        assert!(fact(&of("srpt")[0], "needs") == "to know flow sizes");
        assert!(fact(&of("pias")[0], "needs") == "no prior knowledge");
        let nos2 = &of("nos2")[0];
        assert!(fact(nos2, "is made of").contains("[nic]\ndiscipline = \"levels\"\nqueues = 8"), "{}", nos2.text());
        let reads = fact(nos2, "reads");
        assert!(reads.contains("\nleaf.queues = 2\n") && reads.contains("\nnic.queues = 8\n"), "{reads}");
    }

    #[test]
    fn explain__a_setting_with_what_schemes_and_sets_have() {
        let short = |name: &str| explain(name, Detail::Short, &built_in()).unwrap().swap_remove(0);
        let threshold = short("ecn_threshold");
        let lines = fact(&threshold, "in schemes");
        for line in ["65pkt: dctcp, and ", "200pkt: dsred, and ", "2bdp: sieve"] {
            assert!(lines.lines().any(|found| found.starts_with(line)), "{line} in {lines}");
        }
        assert_eq!(fact(&threshold, "in sets"), "by the one rule for K (scaled)");
        assert!(fact(&of("ecn_threshold")[0], "in schemes").contains("65pkt: dctcp, pias, "), "{}", threshold.text());
        assert!(fact(&short("queues"), "in schemes").contains("2, 8 at the nic: nos2"), "{}", short("queues").text());
        assert_eq!(
            fact(&short("initial_window"), "in sets"),
            "70 (ns2), 10 (rfc), by rate and round trip (scaled), 10 (linux)"
        );
    }

    #[test]
    fn explain__metrics_of_ranges_and_of_lists() {
        assert_eq!(fact(&of("p99.9 fct")[0], "unit"), "time");
        assert_eq!(fact(&of("p95 slowdown")[0], "is"), "slowdown of a class of flows: FCT over ideal FCT");
        assert!(fact(&of("p99 coflow slowdown")[0], "is").starts_with("CCT over ideal CCT"));
        assert_eq!(fact(&of("deadline bytes met")[0], "unit"), "share");
        assert!(fact(&of("p50 cct")[0], "is").starts_with("CCT of coflows"));
    }

    #[test]
    fn explain__what_is_nothing_has_the_nearest_name() {
        let refused = |name: &str| explain(name, Detail::All, &built_in()).unwrap_err().details();
        assert_eq!(refused("ecn_treshold").nearest.as_deref(), Some("ecn_threshold"));
        assert_eq!(refused("web-serch").nearest.as_deref(), Some("web-search"));
        assert_eq!(refused("p99 fcts").nearest.as_deref(), Some("p99 fct"));
        assert_eq!((refused("").kind, refused("").nearest), ("name", None));
    }

    #[test]
    fn plain__has_no_marks() {
        assert_eq!(plain("the [CV](x.md#cv) of `fct`, [0, 1] and [x"), "the CV of fct, [0, 1] and [x");
    }
}
