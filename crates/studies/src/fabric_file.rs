//! The file of a fabric, as `tune` takes it: a whole experiment, or a `[topology]` alone.

use flowsieve_engines::built_in;
use flowsieve_experiment::further::Tables;
use flowsieve_experiment::plan::Changes;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_sim::topology::Fabric;
use std::fmt::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item};

/// What an experiment file says of a network and its traffic.
const KEPT: [&str; 7] = ["topology", "network", "transport", "workload", "schemes", "run", "event"];

/// A fabric's file.
pub(crate) struct FabricFile {
    /// Its tables of network and traffic; paths in them are absolute.
    pub(crate) document: DocumentMut,
    pub(crate) fabric: Fabric,
    /// Of its text, wherever it lies: 16 hexadecimal digits.
    pub(crate) digest: String,
    /// The values of its sweep, by key.
    sweep: Vec<(String, Vec<toml_edit::Value>)>,
    name: String,
}

impl FabricFile {
    /// Reads a whole experiment, with these further tables, or a file that has a fabric alone.
    pub(crate) fn read(path: &Path, tables: Option<Tables>) -> Result<FabricFile, Error> {
        let source = Source::open(path)?;
        let name = path.display().to_string();
        let refuse = |problem: &str| Error::File { path: name.clone(), problem: problem.to_owned() };
        let mut document: DocumentMut =
            source.text.text.parse().map_err(|error: toml_edit::TomlError| refuse(error.message()))?;
        // Tables behind the text keep the lines of its errors, and so does what is set beside it.
        let (mut text, mut sets) = (source.text.text.to_string(), Vec::new());
        let has = |key: &str| {
            let of = |table: &str| document.get(table).and_then(|table| table.get(key)).is_some();
            of("workload") || of("sweep")
        };
        let sizes = ["sizes", "cdf", "list", "coflows", "recorded", "collectives"].into_iter().any(has);
        let is_listed = has("list") || has("coflows");
        let usual = [
            (!sizes, "sizes", "\"web-search\""),
            (!has("load") && !is_listed, "load", "0.5"),
            (!has("flows") && !has("duration") && !is_listed, "flows", "100"),
        ];
        if !document.contains_key("workload") {
            let lines =
                usual.map(|(lacks, key, value)| if lacks { format!("{key} = {value}\n") } else { String::new() });
            let _ = write!(text, "\n[workload]\n{}", lines.concat());
        } else if document["workload"].is_table_like() {
            let lacking = usual.into_iter().filter(|(lacks, ..)| *lacks);
            sets.extend(lacking.map(|(_, key, value)| format!("{key}={}", value.trim_matches('"'))));
        }
        if !document.contains_key("sweep") {
            let name =
                if document.get("schemes").is_some_and(|all| all.get("today").is_some()) { "today" } else { "dctcp" };
            let _ = write!(text, "\n[sweep]\nscheme = [\"{name}\"]\n");
        }
        let whole = Source { text: ExperimentText::new(&source.text.name, &text), ..source.clone() };
        let plan = whole.with(&Changes { sets, ..Changes::default() }).plan(&built_in().reading(tables))?;
        let Some(point) = plan.points.first() else { return Err(refuse("has no point")) };
        let fabric = Fabric::from_settings_in(&point.settings, point.folder.path())?;
        let sweep = document.get("sweep").and_then(Item::as_table_like).map_or_else(Vec::new, |sweep| {
            let values = |item: &Item| match item.as_array() {
                Some(list) => list.iter().cloned().collect(),
                None => item.as_value().cloned().into_iter().collect(),
            };
            sweep.iter().map(|(key, item)| (key.to_owned(), values(item))).collect()
        });
        document.retain(|name, _| KEPT.contains(&name));
        let folder = std::path::absolute(Path::new(".").join(source.folder.path()))
            .map_err(|error| refuse(&error.to_string()))?;
        for (table, key) in [
            ("topology", "file"),
            ("workload", "cdf"),
            ("workload", "sizes"),
            ("workload", "mix_sizes"),
            ("workload", "change_sizes"),
            ("workload", "query_sizes"),
            ("workload", "arrival_trace"),
        ] {
            let given = document.get(table).and_then(|table| table.get(key)).and_then(Item::as_str);
            if let Some(file) = given.map(|given| folder.join(given)).filter(|file| file.is_file()) {
                document[table][key] = toml_edit::value(file.to_string_lossy().as_ref());
            }
        }
        let digest = blake3::hash(source.text.text.as_bytes()).to_hex()[..16].to_owned();
        Ok(FabricFile { document, fabric, digest, sweep, name })
    }

    /// Refuses: it says this, and what was expected.
    pub(crate) fn refuse(&self, problem: String) -> Error {
        Error::File { path: self.name.clone(), problem }
    }

    /// Returns what a key of the workload is, in its table or as the only value of the sweep.
    pub(crate) fn of_workload(&self, key: &str) -> Option<toml_edit::Value> {
        let swept = self.sweep.iter().find(|(name, _)| name == key || name.strip_prefix("workload.") == Some(key));
        match swept {
            Some((_, values)) => values.first().filter(|_| values.len() == 1).cloned(),
            None => self.document.get("workload")?.get(key)?.as_value().cloned(),
        }
    }

    /// Returns the schemes of the sweep.
    pub(crate) fn schemes(&self) -> Vec<String> {
        let of = self.sweep.iter().find(|(name, _)| name == "scheme");
        of.map_or_else(Vec::new, |(_, names)| names.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect())
    }

    /// Refuses a sweep of anything but the scheme and these keys of the workload: one network is today's.
    pub(crate) fn refuse_sweeps(&self, but: &[&str]) -> Result<(), Error> {
        let is_known = |name: &str| name == "scheme" || but.contains(&name.strip_prefix("workload.").unwrap_or(name));
        match self.sweep.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, values)) => Err(self.refuse(format!(
                "[sweep] `{name}` has {} values; expected one, in its own table: today's network has one",
                values.len()
            ))),
        }
    }
}
