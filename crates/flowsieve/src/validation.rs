//! `flowsieve validate`: progress, the table, and the exit status.

use crate::args::Validate;
use crate::output::{print, tell};
use crate::progress::{STEPS, bar, in_words};
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_studies::validate::against::{Recorded, recorded};
use flowsieve_studies::validate::{self, Case, Event, Extent, Outcome, Picked};
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

pub(crate) fn validate(args: &Validate) -> Result<(), Error> {
    if let Some(folder) = &args.against {
        return against(folder);
    }
    let all = || Picked::all(if args.quick { Extent::Quick } else { Extent::All });
    if args.list {
        return print(&(all().names().join("\n") + "\n"));
    }
    let picked = if args.case.is_empty() { all() } else { Picked::of(&args.case)? };
    let outcomes = theory(&picked.cases, args.jobs.count())?;
    let mut printed = if outcomes.is_empty() { Ok(()) } else { print(&validate::table(&outcomes)) };
    let steady = picked.flows.iter().map(|&flows| validate::steady(flows)).collect::<Result<Vec<_>, _>>()?;
    if !steady.is_empty() {
        let between = if outcomes.is_empty() { "" } else { "\n" };
        printed = printed.and_then(|()| print(&format!("{between}{}", validate::steady_table(&steady))));
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passes()).count()
        + steady.iter().filter(|outcome| !outcome.passes()).count();
    match failed {
        0 => printed,
        // Fails even if the tables could not be printed.
        failed => Err(Error::Simulation {
            point: "validate".to_owned(),
            problem: format!("{failed} of {} cases fail", outcomes.len() + steady.len()),
        }),
    }
}

/// Replays the runs of other simulators in a folder.
fn against(folder: &Path) -> Result<(), Error> {
    let runs = recorded(folder)?;
    let replay = |run: &Recorded| {
        tell(format!("replaying {}", run.name));
        run.replay(&built_in())
    };
    let agreements = runs.iter().map(replay).collect::<Result<Vec<_>, _>>()?;
    print(&validate::against::table(&agreements))
}

/// Runs the cases of queueing theory, if there are any, and shows progress.
fn theory(cases: &[Case], jobs: usize) -> Result<Vec<Outcome>, Error> {
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let s = if cases.len() == 1 { "" } else { "s" };
    tell(format!("{} case{s} of queueing theory, {} at a time", cases.len(), jobs.min(cases.len())));
    let progress = Progress::new(cases.to_vec());
    let outcomes = validate::validate(cases, jobs, &|event| progress.show(event));
    progress.bar.finish_and_clear();
    outcomes
}

/// A bar on a terminal, a line for each case elsewhere.
struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    cases: Vec<Case>,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    /// By case: number of finished batches, and their total.
    batches: Vec<(usize, usize)>,
    finished: usize,
}

impl Progress {
    fn new(cases: Vec<Case>) -> Progress {
        let (bar, on_terminal) = bar();
        let state = State { batches: vec![(0, Case::BATCHES); cases.len()], finished: 0 };
        Progress { bar, on_terminal, cases, begun: Instant::now(), state: Mutex::new(state) }
    }

    fn show(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Going(case, done, of) => state.batches[case] = (done, of),
            Event::Finished(case) => {
                state.finished += 1;
                if !self.on_terminal {
                    tell(format!("{}/{}: {}", state.finished, self.cases.len(), self.cases[case]));
                }
            }
        }
        let hops = |count: fn(&(usize, usize)) -> usize| -> f64 {
            let of_case = |(case, batches)| Case::batch_packets(case) * count(batches) as f64;
            self.cases.iter().zip(&state.batches).map(of_case).sum()
        };
        let (done, all) = (hops(|batches| batches.0), hops(|batches| batches.1));
        self.bar.set_position((done / all * STEPS as f64) as u64);
        let mut message = format!("{}/{} cases", state.finished, self.cases.len());
        let seconds = self.begun.elapsed().as_secs_f64();
        if seconds > 1.0 && done > 0.0 {
            message += &format!("  at least {} left", in_words((all - done) * seconds / done));
        }
        self.bar.set_message(message);
    }
}
