//! Finds the commit that the program is built from: its hash, with a `+` if what it is built from has changed since, or
//! `unknown` without git or its repository.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is built from.
const SOURCES: [&str; 7] =
    ["crates/*/src", "crates/*/data", "crates/*/Cargo.toml", "Cargo.toml", "Cargo.lock", "experiments", "papers"];

/// What is built from the same crates, and not the program from it.
const BESIDE: &str = "playground";

/// Digits of the commit that `--version` shows.
const SHORT: usize = 12;

fn main() -> io::Result<()> {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("no package"))?;
    let root = package.join("../..").canonicalize()?;
    let commit = commit(&root).unwrap_or_else(|| "unknown".to_owned());
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let digits = commit.trim_end_matches('+');
    let short = format!("{}{}", &digits[..digits.len().min(SHORT)], &commit[digits.len()..]);
    println!("cargo::rustc-env=FLOWSIEVE_COMMIT={commit}");
    println!("cargo::rustc-env=FLOWSIEVE_VERSION={version} ({short})");
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

fn commit(root: &Path) -> Option<String> {
    // A copy of the sources in another repository is of no commit.
    if !root.join(".git").exists() {
        return None;
    }
    let (folder, head) = (git(root, &["rev-parse", "--absolute-git-dir"])?, git(root, &["rev-parse", "HEAD"])?);
    let reflog = Path::new(&folder).join("logs/HEAD");
    // Only what changes with the commit or with a source makes the command be built again.
    let moves = if reflog.exists() { reflog } else { root.join(".git") };
    let sources = SOURCES.iter().flat_map(|pattern| paths(root, pattern));
    for path in sources.chain([moves, Path::new(&folder).join("HEAD")]) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let globs: Vec<String> = SOURCES
        .iter()
        .map(|path| format!(":(glob){path}{}", if path.contains("Cargo") { "" } else { "/**" }))
        .collect();
    let globs: Vec<String> = globs.into_iter().chain([format!(":(exclude)crates/{BESIDE}")]).collect();
    let mut status = vec!["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    status.extend(globs.iter().map(String::as_str));
    Some(if git(root, &status)?.is_empty() { head } else { head + "+" })
}

/// The paths of a pattern, in which `*` is any package.
fn paths(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some(inner) = pattern.strip_prefix("crates/*/") else { return vec![root.join(pattern)] };
    let packages = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let packages = packages.filter(|package| package.file_name() != BESIDE);
    packages.map(|package| package.path().join(inner)).filter(|path| path.exists()).collect()
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let said =
        Command::new("git").arg("-C").arg(root).args(arguments).output().ok().filter(|said| said.status.success())?;
    String::from_utf8(said.stdout).ok().map(|text| text.trim().to_owned())
}
