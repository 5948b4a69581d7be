//! Runs on threads of their own, while Python's thread looks at signals and shows progress.

use crate::calls::Session;
use crate::errors::{panicked, raised};
use flowsieve_experiment::Error;
use flowsieve_experiment::execute::{Event, Show};
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::tracking::Tracker;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Signals are looked at, and progress is told, so often.
const LOOK: Duration = Duration::from_millis(50);

/// Works on another thread. `progress` is called with finished runs, all runs, the share that is done, packet-hops, packet-hops a second
/// and seconds left (these two may be None). An exception of a signal or of `progress` ends the runs: no thread is left when this returns.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    plan: &Plan,
    progress: Option<Py<PyAny>>,
    session: &Session,
    work: impl FnOnce(Show<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (stop, tracker) = (AtomicBool::new(false), Tracker::new(plan));
    let show = |event: Event| {
        tracker.hear(event);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // Does nothing if the interpreter ends: then no caller waits for the runs.
    let look = || -> Option<PyResult<()>> {
        Python::try_attach(|py| {
            py.check_signals()?;
            let Some(progress) = &progress else { return Ok(()) };
            let now = tracker.now();
            let (rate, left) = now.rate.unzip();
            progress.call1(py, (now.finished, now.runs, now.share, now.packet_hops, rate, left)).map(|_| ())
        })
    };
    let mut raised_here = None;
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (tell, told) = sync_channel(1);
            let show = &show;
            scope.spawn(move || {
                let done = catch_unwind(AssertUnwindSafe(|| work(show)));
                // Those that wait for it are in this scope.
                let _ = tell.send(done);
            });
            loop {
                match told.recv_timeout(LOOK) {
                    Ok(done) => break Some(done),
                    Err(RecvTimeoutError::Disconnected) => break None,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if raised_here.is_none() {
                    let looked = look();
                    stop.store(!matches!(looked, Some(Ok(()))), Ordering::Relaxed);
                    raised_here = looked.and_then(Result::err);
                } else {
                    // The runs end once no callable keeps them. What is raised for one is not worth more than the first.
                    let _ = Python::try_attach(|py| session.interrupt(py));
                }
            }
        })
    });
    if raised_here.is_none() {
        // The last look: everything is done.
        raised_here = look().and_then(Result::err);
    }
    match (done, raised_here) {
        (_, Some(error)) => Err(error),
        (Some(Ok(done)), None) => done.map_err(|error| session.with_cause(py, &error, raised(py, &error))),
        (Some(Err(panic)), None) => Err(panicked(py, &*panic)),
        (None, None) => Err(panicked(py, &"a run ended without an error message")),
    }
}
