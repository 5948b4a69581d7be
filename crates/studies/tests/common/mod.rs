//! What tests of results share.

use std::collections::BTreeMap;
use std::path::Path;

/// The bytes of every file of a result but `run.json`, by path.
pub(crate) fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(bytes(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else if name != "run.json" {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}
