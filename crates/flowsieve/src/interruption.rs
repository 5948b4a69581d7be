//! Signals: those that end the command say what is kept, and that the same command goes on.

use crate::output::tell;
use flowsieve_experiment::{Error, bundle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, PoisonError};

/// A shell has this and the signal's number as the status of a command that a signal ended.
const BY_SIGNAL: i32 = 128;

/// Finished runs, and all.
static KEPT: Mutex<Option<(usize, usize)>> = Mutex::new(None);

/// So many runs are kept, whatever happens.
pub(crate) fn keeps(runs: usize, of: usize) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some((runs, of));
}

/// From now on Ctrl-C, SIGTERM and the end of the terminal end the process with a sentence. Runs under way are dropped: a part is
/// whole or absent. A signal that whoever started the command wants ignored (`nohup`) stays ignored.
pub(crate) fn answer() -> Result<(), Error> {
    static ANSWERED: Once = Once::new();
    let ignored = ignored_signals();
    let answered: Vec<i32> = match ignored {
        Some(ignored) => {
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0).collect()
        }
        // Where that is not known, the end of the terminal does what it always does.
        None => vec![SIGINT, SIGTERM],
    };
    let mut done = Ok(());
    ANSWERED.call_once(|| {
        done = Signals::new(answered).map(|mut signals| {
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    end(signal);
                }
            });
        });
    });
    done.map_err(|error| Error::Input(format!("cannot listen for Ctrl-C: {error}")))
}

fn end(signal: i32) -> ! {
    let kept = *KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    tell(match kept {
        Some((runs, of)) => {
            format!("\nstopped: {runs} of {of} runs are kept; the same command goes on with the others")
        }
        None => "\nstopped before the first run".to_owned(),
    });
    bundle::remove_unpacked();
    std::process::exit(BY_SIGNAL + signal);
}

/// A file that grows beyond the limit of the process (`ulimit -f`) is an error of whoever writes it, and not the end without a word.
pub(crate) fn heed_file_limit() {
    // Whoever refuses this leaves the limit as it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// The signals that the process ignores, a bit each from signal 1 on, where the system says so (proc(5)).
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(ignored.trim(), 16).ok()
}
