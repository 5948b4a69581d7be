//! The schemes by name. A new scheme is one file in `schemes` and its name here.

use std::sync::LazyLock;

use flowsieve_settings::Keys;

use crate::entry::Build;
use crate::file::SchemeFile;
use crate::{awafs, homa, ndp, nscc, pcoflow, qcluster};

macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../schemes/", $name, ".toml")))),*] };
}

/// The files of the schemes that have packets, each after its base.
const PACKETS: &[(&str, &str)] = files![
    "dctcp",
    "pias",
    "es-8",
    "nos2",
    "pfabric",
    "pfabric-edf",
    "pfabric-predicted",
    "homa",
    "homa-predicted",
    "ndp",
    "nscc",
    "sp-pifo",
    "afq",
    "fair-queueing",
    "nagle",
    "pifo-las",
    "pifo-fifo-las",
    "d2tcp",
    "fcfs",
    "ps",
    "srpt",
    "las",
    "qc-las",
    "qc-srpt",
    "qc-fq",
    "qc-ddl",
    "qc-sjf",
    "qc-ddl-las",
    "qc-ddl-sjf",
    "qc-ddl-fq",
    "qc-coflow",
    "qc-min-rate",
    "qc-tsn",
    "awafs",
    "awafs-auto",
    "qclimb",
    "qclimb-ps",
    "qclimb-pp",
    "qclimb-fp",
    "sieve",
    "dsred",
    "sp-elastic",
    "sincronia",
    "sebf",
    "aalo",
    "pcoflow-ecn",
    "pcoflow-drop",
    "pcoflow-move",
    "pcoflow-sp-pifo",
    "hpcc",
    "swift",
    "dcqcn",
];

/// Those of the schemes that have rates alone.
const RATES: &[(&str, &str)] = files!["varys", "per-flow-fair", "per-flow-priority"];

/// The code of schemes that are more than their parts, by the name that their files use.
pub(crate) const OWN: [(&str, Build); 6] = [
    ("qcluster", qcluster::build),
    ("awafs", awafs::build),
    ("homa", homa::build),
    ("ndp", ndp::build),
    ("nscc", nscc::build),
    ("pcoflow", pcoflow::build),
];

/// Every built-in scheme that has packets.
pub static REGISTRY: LazyLock<Vec<SchemeFile>> = LazyLock::new(|| read(PACKETS, &[]));

/// The schemes that exist only at flow level.
pub static ONLY_AT_FLOW_LEVEL: LazyLock<Vec<SchemeFile>> = LazyLock::new(|| read(RATES, &REGISTRY));

fn read(files: &[(&str, &str)], before: &[SchemeFile]) -> Vec<SchemeFile> {
    let keys = Keys::joined(crate::SETTINGS);
    let mut schemes: Vec<SchemeFile> = Vec::new();
    for (name, text) in files {
        let find = |name: &str| before.iter().chain(&schemes).find(|scheme| scheme.name == name).cloned();
        let scheme = SchemeFile::read(name, text, None, &keys, &find);
        schemes.push(scheme.unwrap_or_else(|error| unreachable!("{error}")));
    }
    schemes
}

/// Returns every built-in scheme.
pub fn all<'a>() -> impl Iterator<Item = &'a SchemeFile> {
    REGISTRY.iter().chain(ONLY_AT_FLOW_LEVEL.iter())
}

/// Returns the name of every built-in scheme, without reading their files.
pub fn names() -> impl Iterator<Item = &'static str> {
    PACKETS.iter().chain(RATES).map(|(name, _)| *name)
}

/// Returns the scheme of this name, if it has packets.
pub fn find(name: &str) -> Option<&'static SchemeFile> {
    REGISTRY.iter().find(|scheme| scheme.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label__spells_the_name_of_its_scheme_and_no_two_are_alike() {
        let folded = |text: &str| text.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "");
        for scheme in all() {
            assert_eq!(folded(&scheme.label), folded(&scheme.name), "{}", scheme.name);
            assert!(scheme.label.starts_with(|letter: char| letter.is_alphabetic()), "{}", scheme.label);
        }
        assert_eq!(find("pfabric").unwrap().label, "pFabric");
    }
}
