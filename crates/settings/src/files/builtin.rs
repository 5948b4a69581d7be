//! The built-in experiments, and functions that read them and files alike.
//!
//! A path with the part [`ROOT`] names a built-in file: `built-in:/nos2/fig06.toml`. Such paths are joined and shown like any
//! other, so that an experiment finds the files next to it, and any experiment those that are built in.

use std::fs;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use crate::files::MOST_BYTES;

/// The folder of all built-in files.
pub const ROOT: &str = "built-in:";

/// Files by name, sorted: the path after [`ROOT`], and where in [`COMPRESSED`] the file is.
static FILES: &[(&str, Range<usize>)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// All files, each compressed by Snappy.
static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/files"));

/// Returns whether the path is a built-in one, whether or not it exists.
pub fn is_builtin(path: &Path) -> bool {
    path.components().any(|part| part == Component::Normal(ROOT.as_ref()))
}

/// Returns the name of a built-in file, if the path is such: what comes after its last [`ROOT`]. Nothing is above that.
fn name(path: &Path) -> Option<String> {
    if !is_builtin(path) {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(root) if root == ROOT => parts.clear(),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => _ = parts.pop(),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// Finds a built-in file.
fn find(path: &Path) -> Option<&'static [u8]> {
    let name = name(path)?;
    let at = FILES.binary_search_by(|(other, _)| (*other).cmp(&name)).ok()?;
    Some(&COMPRESSED[FILES[at].1.clone()])
}

/// Returns the contents of a built-in file.
pub fn contents(path: &Path) -> Option<Vec<u8>> {
    snap::raw::Decoder::new().decompress_vec(find(path)?).ok()
}

/// Returns the folder of the built-in file that is this text.
pub fn folder_of_text(text: &str) -> Option<PathBuf> {
    let mut paths = FILES.iter().map(|(name, _)| Path::new(ROOT).join(name));
    let path = paths.find(|path| contents(path).is_some_and(|bytes| bytes == text.as_bytes()))?;
    path.parent().map(Path::to_owned)
}

/// Opens a regular file of at most [`MOST_BYTES`], or a built-in file.
///
/// # Errors
/// Fails as [`crate::files::open`] does; an unknown built-in file is not found.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if let Some(contents) = contents(path) {
        return Ok(Box::new(Cursor::new(contents)));
    }
    if is_builtin(path) {
        let problem = "is not built in; give your own file by its absolute path";
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    Ok(Box::new(crate::files::open_text(path, MOST_BYTES)?))
}

/// Returns whether it is a file.
pub fn is_file(path: &Path) -> bool {
    if is_builtin(path) { find(path).is_some() } else { path.is_file() }
}

/// Returns whether it is a folder.
pub fn is_dir(path: &Path) -> bool {
    if is_builtin(path) { !is_file(path) && !entries(path).is_empty() } else { path.is_dir() }
}

/// Returns the paths of a folder's entries, sorted; empty if the folder cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = match name(folder) {
        None => fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect(),
        Some(name) => {
            let within = if name.is_empty() { name } else { name + "/" };
            let inner = FILES.iter().filter_map(|(file, _)| file.strip_prefix(within.as_str()));
            inner.filter_map(|inner| inner.split('/').next()).map(|first| folder.join(first)).collect()
        }
    };
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        Path::new(ROOT).join(name)
    }

    /// Collects the files of the repository's folder, as built-in paths.
    fn of_repository(folder: &Path, at: &Path, found: &mut Vec<(PathBuf, PathBuf)>) {
        for entry in entries(folder) {
            let inner = at.join(entry.file_name().unwrap());
            if entry.is_dir() { of_repository(&entry, &inner, found) } else { found.push((inner, entry)) }
        }
    }

    #[test]
    fn contents__are_those_of_the_repository() {
        let mut found = Vec::new();
        for folder in ["experiments", "papers"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
            of_repository(&folder, Path::new(ROOT), &mut found);
        }
        assert!(found.len() > 200);
        for (inner, file) in &found {
            assert!(contents(inner) == Some(fs::read(file).unwrap()), "{}", inner.display());
            let mut bytes = Vec::new();
            open(inner).unwrap().read_to_end(&mut bytes).unwrap();
            assert!(bytes == fs::read(file).unwrap(), "{}", inner.display());
        }
        assert_eq!(FILES.len(), found.len());
    }

    #[test]
    fn contents__are_found_by_ways_around() {
        let there = contents(&path("pcoflow/model.txt"));
        assert!(there.is_some());
        assert_eq!(contents(&path("coflows/../pcoflow/./model.txt")), there);
        assert_eq!(contents(&path("../../pcoflow/model.txt")), there);
        // Named by an experiment in a folder, and by one that is built in.
        assert_eq!(contents(&Path::new("mine").join(path("pcoflow/model.txt"))), there);
        assert_eq!(contents(&path("nos2").join(path("pcoflow/model.txt"))), there);
        for none in ["pcoflow", "pcoflow/model", "pcoflow/model.txt/x", ""] {
            assert_eq!(contents(&path(none)), None, "{none}");
        }
        assert_eq!(contents(Path::new("quickstart.toml")), None);
        let text = |name: &str| String::from_utf8(contents(&path(name)).unwrap()).unwrap();
        assert_eq!(folder_of_text(&text("nos2/fig01.toml")), Some(path("nos2")));
        assert_eq!(folder_of_text(&text("three-flows.toml")), Some(PathBuf::from(ROOT)));
        assert_eq!(folder_of_text("title = 5"), None);
    }

    #[test]
    fn entries__are_one_level_of_either() {
        let names = |path: &Path| -> Vec<String> {
            entries(path).iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        let top = names(Path::new(ROOT));
        assert!(top.contains(&"nos2".to_owned()) && top.contains(&"quickstart.toml".to_owned()), "{top:?}");
        assert_eq!(top.iter().filter(|name| *name == "nos2").count(), 1);
        assert!(names(&path("nos2")).contains(&"fig01.csv".to_owned()));
        assert_eq!(names(&path("none")), [""; 0]);
        assert!(is_dir(&path("nos2")) && !is_dir(&path("nos2/fig01.csv")) && !is_dir(&path("no")));
        assert!(is_file(&path("nos2/fig01.csv")) && !is_file(&path("nos2")));

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
        assert!(is_dir(&folder.path().join("a")) && is_file(&folder.path().join("b")));
        assert_eq!(names(&folder.path().join("none")), [""; 0]);
    }

    #[test]
    fn open__of_what_is_not_there_is_not_found() {
        let kind = |path: &Path| open(path).err().map(|error| error.kind());
        assert_eq!(kind(&path("none.toml")), Some(io::ErrorKind::NotFound));
        assert_eq!(kind(Path::new("none/none.toml")), Some(io::ErrorKind::NotFound));
    }
}
