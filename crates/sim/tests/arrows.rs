//! The crate fills the rows of a result, and links neither what keeps results nor a library of tables.

use std::fs;
use std::path::Path;

/// The crates that a manifest names as dependencies.
fn dependencies(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines().filter(|line| line.contains(".workspace = true") || line.contains(" = {"));
    lines.filter_map(|line| line.split(['.', ' ']).next()).collect()
}

#[test]
fn sim__links_no_tables() {
    // What it depends on of this workspace, from one crate to the next.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut to_read = vec!["flowsieve-sim".to_owned()];
    let mut all: Vec<String> = Vec::new();
    while let Some(name) = to_read.pop() {
        let folder = name.strip_prefix("flowsieve-").unwrap();
        let manifest = fs::read_to_string(crates.join(folder).join("Cargo.toml")).unwrap();
        let linked = manifest.split("[dev-dependencies]").next().unwrap();
        for dependency in dependencies(linked) {
            if !all.iter().any(|known| known == dependency) {
                all.push(dependency.to_owned());
                to_read.extend(dependency.starts_with("flowsieve-").then(|| dependency.to_owned()));
            }
        }
    }
    assert!(
        ["flowsieve-record", "flowsieve-core", "serde"].iter().all(|name| all.iter().any(|of| of == name)),
        "{all:?}"
    );
    for table in ["flowsieve-results", "arrow-array", "arrow-schema", "parquet", "csv"] {
        assert!(!all.iter().any(|of| of == table), "{table} is linked: {all:?}");
    }
}
