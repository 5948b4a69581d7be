mod drawings;
mod edge_lists;
mod events;
mod links;
mod shapes;
mod sites;
mod ways;

use flowsieve_settings::{Origin, Raw, Table};

use super::*;

/// Returns settings of a kind with these counts.
fn shape(kind: &str, counts: &[(&str, i64)]) -> Settings {
    let start =
        Settings::of([&[flowsieve_settings::SETTINGS], FABRIC_SETTINGS].concat().concat()).with(None, "kind", kind);
    counts.iter().fold(start, |settings, (key, count)| settings.with(None, key, *count))
}

fn fabric(kind: &str, counts: &[(&str, i64)]) -> Fabric {
    Fabric::from_settings(&shape(kind, counts)).unwrap()
}

fn refused(settings: &Settings) -> String {
    Fabric::from_settings(settings).unwrap_err().to_string()
}

/// Adds the n-th `[[topology.link]]`, as if it stood in line n + 1 of a file.
fn with_link(mut settings: Settings, ends: [&str; 2], keys: &[(&str, Raw)]) -> Settings {
    let index = settings.links().len();
    let line = index as u32 + 1;
    let origin = Origin::File { file: "x.toml".into(), line, column: 1, span: 0..1 };
    let ends = ends.map(|end| (Raw::from(end), origin.clone())).to_vec();
    for (key, raw) in [("between", Raw::List(ends))].iter().chain(keys) {
        let key = settings.find(key).unwrap();
        settings.give(Table::Link(index), key, raw, origin.clone()).unwrap();
    }
    settings
}

/// Counts the links of each class.
fn by_class(fabric: &Fabric) -> Vec<(&'static str, u32)> {
    fabric.classes.iter().copied().zip(fabric.class_shares().iter().map(|share| share.links)).collect()
}

/// Finds the link from one node to another.
fn link<'a>(fabric: &'a Fabric, from: &str, to: &str) -> Option<&'a Link> {
    fabric.links.iter().find(|link| fabric.name(link.from) == from && fabric.name(link.to) == to)
}
