//! The crate knows engines by their trait alone.

use std::fs;
use std::path::{Path, PathBuf};

/// What stands above it, or next to it under an engine.
const ENGINES: [&str; 5] = ["core", "transport", "schemes", "sim", "engines"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The engines that a text names as crates, as Cargo and as Rust write them.
fn named(text: &str) -> Vec<&'static str> {
    let is_named = |engine: &&str| {
        let names = [format!("flowsieve-{engine}"), format!("flowsieve_{engine}")];
        let ends =
            |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-');
        names.iter().any(|name| text.match_indices(name).any(|(at, _)| ends(&text[at + name.len()..])))
    };
    ENGINES.into_iter().filter(is_named).collect()
}

#[test]
fn experiment__names_no_engine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(named("flowsieve-sim.workspace = true\nuse flowsieve_schemes::Entry;"), ["schemes", "sim"]);
    assert!(named("flowsieve-simple, flowsieve_core_of").is_empty());
    for file in files(&root.join("src")).into_iter().chain([root.join("Cargo.toml")]) {
        let found = named(&fs::read_to_string(&file).unwrap());
        assert!(found.is_empty(), "{} names {found:?}", file.display());
    }
}
