//! Signals: a signal that ends the command prints what is kept, and that the same command continues.

use crate::output::tell;
use flowsieve_experiment::{Error, bundle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Added to the signal's number, it gives the exit status of a command that a signal ended, as in a shell.
const BY_SIGNAL: i32 = 128;

/// Number of finished runs, and of all runs.
static KEPT: Mutex<Option<(usize, usize)>> = Mutex::new(None);

/// What becomes of finished runs, of all, in words.
type Words = fn(usize, usize) -> String;

/// Records that this many runs are kept.
pub(crate) fn keeps(runs: usize, of: usize) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some((runs, of));
}

/// Makes Ctrl-C, SIGTERM and the end of the terminal end the process with a sentence. Runs under way are dropped: a
/// part is complete or absent. A signal that the command's starter wants ignored (`nohup`) stays ignored.
pub(crate) fn answer() -> Result<(), Error> {
    answer_with(|runs, of| format!("stopped: {runs} of {of} runs are kept; repeat the command for the others"))
}

/// Does so for a command that makes something else of its runs.
pub(crate) fn answer_with(words: Words) -> Result<(), Error> {
    static ANSWERED: Once = Once::new();
    let ignored = ignored_signals();
    let answered: Vec<i32> = match ignored {
        Some(ignored) => {
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0).collect()
        }
        // If that is unknown, the end of the terminal keeps its default effect.
        None => vec![SIGINT, SIGTERM],
    };
    let mut done = Ok(());
    ANSWERED.call_once(|| {
        done = Signals::new(answered).map(|mut signals| {
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    end(signal, words);
                }
            });
        });
    });
    done.map_err(|error| Error::Input(format!("cannot listen for Ctrl-C: {error}")))
}

fn end(signal: i32, words: Words) -> ! {
    let kept = *KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    tell(kept.map_or("\nstopped before the first run".to_owned(), |(runs, of)| format!("\n{}", words(runs, of))));
    bundle::remove_unpacked();
    #[cfg(target_os = "linux")]
    flowsieve_engines::linux::remove_own();
    std::process::exit(BY_SIGNAL + signal);
}

/// Turns a file that exceeds the limit of the process (`ulimit -f`) into an error of its writer, instead of a silent
/// end.
pub(crate) fn heed_file_limit() {
    // If this fails, the limit stays as it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Returns the signals that the process ignores, one bit each from signal 1 on, if the system reports them (proc(5)).
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(ignored.trim(), 16).ok()
}
