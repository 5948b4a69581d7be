//! The command `flowsieve`, which runs experiments and shows and reports their results, as a function. A program that
//! passes custom schemes is the complete command with these schemes in it (docs/extend).

mod commands;
mod interruption;
pub mod options;
mod output;
pub mod papers;
mod progress;
#[cfg(feature = "papers")]
mod resolve;
mod values;

use clap::FromArgMatches;
pub use commands::export::{export_to, refused};
use commands::tune::as_tune;
pub use commands::tune::{Computed, Making, Place, Step, computed, tuned};
use commands::{Cli, Command, cli};
use flowsieve_engines::Packets;
use flowsieve_experiment::Error;
use flowsieve_lab::calls::free_memory_soon;
use flowsieve_schemes::Entry;
use flowsieve_settings::Key;
use output::{errors_in_colour, in_colour, is_closed_output, print, tell};
use std::ffi::OsString;
use std::process::ExitCode;

/// Asks for huge pages, without which large fabrics spend much of their time translating addresses (docs/reference/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The commit that the program is built from, with a `+` if its sources have changed since; `unknown` without a repository.
pub const COMMIT: &str = env!("FLOWSIEVE_COMMIT");

/// Exit status if the simulation failed, or the report of an existing result, or if a result is not the same again.
const FAILED: u8 = 1;
/// Exit status if something in files, arguments or folders must be changed.
const WRONG: u8 = 2;

/// Commands of earlier versions, and what replaced them.
const REPLACED: [(&str, &str); 3] = [
    (
        "forest",
        "`python -m flowsieve_forest` reports and applies forests, `flowsieve flows STAND-IN` writes a stand-in, and \
         `flowsieve convert flux` reads Flux's traces",
    ),
    (
        "validate",
        "its cases are tests of the engine, and `flowsieve compare --against FOLDER` replays another simulator's runs",
    ),
    ("vectors", "the lab's tests write them, see crates/lab/tests/vectors of the source"),
];

/// Executes the command line, with custom schemes in addition to the built-in ones. It is all that `main` has to call:
/// `flowsieve::main_with(&[scheme::ENTRY], &[])`. `settings`: the settings that these schemes declare.
pub fn main_with(schemes: &'static [Entry], settings: &'static [&'static Key]) -> ExitCode {
    free_memory_soon();
    carry_out(std::env::args_os(), schemes, settings).into()
}

/// Executes the given command line, the program's name first; returns the exit status.
pub fn carry_out(
    arguments: impl IntoIterator<Item = OsString>,
    schemes: &'static [Entry],
    settings: &'static [&'static Key],
) -> u8 {
    interruption::heed_file_limit();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let replaced = |name: &OsString| REPLACED.iter().find(|(command, _)| name == command);
    if let Some((command, instead)) = arguments.get(1).and_then(replaced) {
        tell(format!("error: there is no command `{command}` any more: {instead}"));
        return WRONG;
    }
    let parsed = cli().try_get_matches_from(as_tune(arguments)).and_then(|matches| Cli::from_arg_matches(&matches));
    let command = match parsed {
        Ok(cli) => cli.command,
        Err(said) => {
            let text = said.render();
            if said.use_stderr() {
                tell(if errors_in_colour() { text.ansi().to_string() } else { text.to_string() }.trim_end());
                return WRONG;
            }
            // Help and version are output; it is no error if their reader has gone.
            let _ = print(&if in_colour() { text.ansi().to_string() } else { text.to_string() });
            return 0;
        }
    };
    match Packets::new(schemes, settings).and_then(|packets| do_what_it_says(command, packets)) {
        Ok(()) => 0,
        Err(error) if is_closed_output(&error) => 0,
        Err(error) => {
            tell(error.render(errors_in_colour()));
            if matches!(error, Error::Simulation { .. } | Error::NotValid { .. } | Error::Unreported(_)) {
                FAILED
            } else {
                WRONG
            }
        }
    }
}

fn do_what_it_says(command: Command, packets: Packets) -> Result<(), Error> {
    let packets = if command.is_unguarded() { packets.without_guard() } else { packets };
    command.carry_out(&flowsieve_engines::of(packets)?.of_commit(COMMIT).reading(papers::TABLES))
}
