//! The machine that tests of the lab share.

use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lab uses all of the machine, so the tests run one after the other.
static MACHINE: Mutex<()> = Mutex::new(());

/// Returns whether this process may have a lab and has these programs, and says so if not.
pub(crate) fn machine(test: &str, programs: &[&str]) -> Option<MutexGuard<'static, ()>> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let has = |program: &&str| std::process::Command::new(program).arg("-V").output().is_ok();
    if is_root && programs.iter().all(has) {
        return Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    eprintln!("{test}: skipped: needs root for network namespaces, and {}", programs.join(" and "));
    None
}

pub(crate) fn flowsieve() -> Command {
    Command::new(env!("CARGO_BIN_EXE_flowsieve"))
}
