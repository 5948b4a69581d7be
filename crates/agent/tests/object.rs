//! The committed object is what clang makes of its source.

use std::path::Path;
use std::process::Command;

/// The compiler that made the committed object.
const CLANG: &str = "14.0.6";

#[test]
fn object__is_that_of_the_source() {
    let version = Command::new("clang-14").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !version.contains(CLANG) || !Path::new("/usr/include/bpf/bpf_helpers.h").exists() {
        println!("object__is_that_of_the_source: skipped: needs clang-14 {CLANG}, llvm-14 and libbpf-dev of Debian 12");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("agent.bpf.o");
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let done = Command::new(bpf.join("build.sh")).arg(&made).status().expect("a shell");
    assert!(done.success());
    let (made, kept) = (std::fs::read(made).expect("made"), std::fs::read(bpf.join("agent.bpf.o")).expect("kept"));
    assert!(made == kept, "agent.bpf.o is of another source: run crates/agent/bpf/build.sh, and commit what it makes");
}
