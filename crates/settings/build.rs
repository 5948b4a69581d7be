//! Compresses every file of the folders `experiments` and `papers`, so that the program carries them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders, at the root of the repository. A file is named by its path in one of them, so no two may have one path.
const FOLDERS: [&str; 2] = ["experiments", "papers"];

/// What experiments consist of. Whatever else lies there, such as an editor's copy, stays out.
const EXTENSIONS: [&str; 5] = ["csv", "json", "md", "toml", "txt"];

fn main() -> io::Result<()> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let mut names: Vec<(String, PathBuf)> = Vec::new();
    // A page of the browser carries no measurements of papers.
    let is_page = std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    for folder in &FOLDERS[..if is_page { 1 } else { FOLDERS.len() }] {
        let root = variable("CARGO_MANIFEST_DIR")?.join("../..").join(folder).canonicalize()?;
        println!("cargo::rerun-if-changed={}", root.display());
        let mut files = Vec::new();
        collect(&root, &mut files)?;
        names.extend(files.into_iter().map(|path| (name(&root, &path), path)));
    }
    names.sort();
    if let Some(twice) = names.windows(2).find(|two| two[0].0 == two[1].0) {
        return Err(io::Error::other(format!("{} and {}", twice[0].1.display(), twice[1].1.display())));
    }
    let out = variable("OUT_DIR")?;
    let (mut text, mut all) = (String::from("&[\n"), Vec::new());
    for (name, path) in names {
        // The folders tell of files that come, these of what a package of sources has to have.
        println!("cargo::rerun-if-changed={}", path.display());
        let begin = all.len();
        all.extend(snap::raw::Encoder::new().compress_vec(&fs::read(path)?)?);
        let _ = writeln!(text, "    ({name:?}, {begin}..{}),", all.len());
    }
    fs::write(out.join("files"), all)?;
    fs::write(out.join("files.rs"), text + "]\n")
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
