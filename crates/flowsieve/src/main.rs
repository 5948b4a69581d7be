//! `flowsieve`, the command of a researcher: runs experiments, shows and reports their results.

use std::process::ExitCode;

fn main() -> ExitCode {
    flowsieve::main_with(&[], &[])
}
