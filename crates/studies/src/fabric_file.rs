//! The file of a fabric, as `tune` takes it: a whole experiment, or a `[topology]` alone.

use flowsieve_engines::built_in;
use flowsieve_experiment::further::Tables;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_sim::topology::Fabric;
use std::fmt::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike};

/// What is taken of a fabric file's `[network]`: the memory of its switches. Queues and marks are what is looked for.
const OF_NETWORK: [&str; 4] = ["buffer", "admission", "shared_buffer", "dt_alpha"];

/// Reads a fabric's file: what is kept of it, and the fabric. It may be a whole experiment, with these further tables, or have
/// a fabric alone.
pub(crate) fn read(path: &Path, tables: Option<Tables>) -> Result<(DocumentMut, Fabric), Error> {
    let source = Source::open(path)?;
    let refuse = |problem: &str| Error::File { path: path.display().to_string(), problem: problem.to_owned() };
    let mut document: DocumentMut =
        source.text.text.parse().map_err(|error: toml_edit::TomlError| refuse(error.message()))?;
    // Tables behind the text keep the lines of its errors.
    let mut text = source.text.text.to_string();
    for (table, lines) in
        [("workload", "sizes = \"web-search\"\nload = 0.5\nflows = 100"), ("sweep", "scheme = [\"dctcp\"]")]
    {
        if !document.contains_key(table) {
            let _ = write!(text, "\n[{table}]\n{lines}\n");
        }
    }
    let whole = Source { text: ExperimentText::new(&source.text.name, &text), ..source.clone() };
    let plan = whole.plan(&built_in().reading(tables))?;
    let Some(point) = plan.points.first() else { return Err(refuse("has no point")) };
    let fabric = Fabric::from_settings_in(&point.settings, point.folder.path())?;
    document.retain(|name, _| ["topology", "network", "transport", "run"].contains(&name));
    if let Some(network) = document.get_mut("network").and_then(Item::as_table_like_mut) {
        keep(network, &|name| OF_NETWORK.contains(&name));
        if !network.is_empty() {
            network.insert("nic", toml_edit::value("backpressure"));
        }
    }
    if document.get("network").and_then(Item::as_table_like).is_some_and(|network| network.is_empty()) {
        document.remove("network");
    }
    if let Some(run) = document.get_mut("run").and_then(Item::as_table_like_mut) {
        keep(run, &|name| name == "parameters");
    }
    let file = document.get("topology").and_then(|topology| topology.get("file")).and_then(Item::as_str);
    if let Some(file) = file {
        let absolute =
            std::path::absolute(source.folder.path().join(file)).map_err(|error| refuse(&error.to_string()))?;
        document["topology"]["file"] = toml_edit::value(absolute.to_string_lossy().as_ref());
    }
    Ok((document, fabric))
}

/// Leaves out the other keys of a table and of those in it.
fn keep(table: &mut dyn TableLike, is_kept: &dyn Fn(&str) -> bool) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let empty = match table.get_mut(&name).and_then(Item::as_table_like_mut) {
            Some(inner) => {
                keep(inner, is_kept);
                inner.is_empty()
            }
            None => !is_kept(&name),
        };
        if empty {
            table.remove(&name);
        }
    }
}
