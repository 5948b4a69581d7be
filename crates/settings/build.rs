//! Lists every file of the folder `experiments`, so that the program carries them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What experiments consist of. Whatever else lies there, such as an editor's copy, stays out.
const EXTENSIONS: [&str; 5] = ["csv", "json", "md", "toml", "txt"];

fn main() -> io::Result<()> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let root = variable("CARGO_MANIFEST_DIR")?.join("../../experiments").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    let mut text = String::from("&[\n");
    let mut names: Vec<(String, PathBuf)> = files.into_iter().map(|path| (name(&root, &path), path)).collect();
    names.sort();
    for (name, path) in names {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    fs::write(variable("OUT_DIR")?.join("files.rs"), text + "]\n")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if EXTENSIONS.iter().any(|extension| path.extension().is_some_and(|of| of == *extension)) {
            files.push(path);
        }
    }
    Ok(())
}

/// The path from `root` on, with `/` on every system.
fn name(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    inner.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
