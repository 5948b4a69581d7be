//! Ctrl-C: says what is kept, and that the same command goes on.

use crate::output::tell;
use flowsieve_experiment::{Error, bundle};
use std::sync::{Mutex, PoisonError};

/// As a shell has it of a command that SIGINT ended.
const STATUS: i32 = 130;

/// Finished runs, and all.
static KEPT: Mutex<Option<(usize, usize)>> = Mutex::new(None);

/// So many runs are kept, whatever happens.
pub(crate) fn keeps(runs: usize, of: usize) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some((runs, of));
}

/// From now on Ctrl-C ends the process with a sentence. Runs under way are dropped: a part is whole or absent.
pub(crate) fn answer() -> Result<(), Error> {
    let end = || {
        let kept = *KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        tell(match kept {
            Some((runs, of)) => {
                format!("\nstopped: {runs} of {of} runs are kept; the same command goes on with the others")
            }
            None => "\nstopped before the first run".to_owned(),
        });
        bundle::remove_unpacked();
        std::process::exit(STATUS);
    };
    ctrlc::set_handler(end).map_err(|error| Error::Input(format!("cannot listen for Ctrl-C: {error}")))
}
