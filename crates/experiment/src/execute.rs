//! Carries out a plan: several runs at a time, each kept as soon as it is finished, joined in the order of the points.
//!
//! Results do not depend on which thread makes a run, or when. A run depends only on its settings and seed, and is
//! written as a part under their name. At the end the parts are joined in the plan's order. A stopped execution keeps
//! its finished parts, and the next one finds them. A run that is not valid has no part: the result says so, and has
//! the others.

use crate::engine::{Engines, Progress, Threads};
use crate::error::Error;
use crate::machine::{self, Clock};
use crate::plan::{Plan, PlannedRun};
use flowsieve_results::{COMMIT, Experiment, ResultDir, ResultWriter, RunInfo, refuse_loss};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// An event while a plan is carried out, for a progress display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// This many runs exist already, of about this many packet-hops.
    Found(usize, f64),
    /// The part of a run, by its index in the plan, was damaged: the run is made again.
    Damaged(usize),
    /// A run has begun: its index in the plan.
    Started(usize),
    /// A run makes progress.
    Going(usize, Progress),
    /// A run is done and kept.
    Finished(usize),
}

/// Receives the events, and decides whether to go on: a break ends all current runs with [`Error::Stopped`].
pub type Show<'a> = &'a (dyn Fn(Event) -> ControlFlow<()> + Sync);

fn and_on(answer: ControlFlow<()>) -> Result<(), Error> {
    if answer.is_break() { Err(Error::Stopped) } else { Ok(()) }
}

/// How to carry out a plan.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Runs at a time, at least one.
    pub jobs: usize,
    /// Threads of each run. `None`: where fewer runs are left than `jobs` and free cores, the runs share these.
    pub threads: Option<usize>,
    /// Whether runs are made again even if their results exist.
    pub fresh: bool,
    /// Whether an existing result may be lost: one of another experiment, scale or settings.
    pub replace: bool,
}

/// Carries out a plan into the folder `out`.
pub fn execute(plan: &Plan, engines: &Engines, out: &Path, how: How, show: Show<'_>) -> Result<ResultDir, Error> {
    execute_sharing(plan, engines, out, &out.join("parts"), how, show)
}

/// Carries out a plan into the folder `out`, with its runs in the folder `parts`: runs that another plan has made there
/// are not made again.
pub fn execute_sharing(
    plan: &Plan,
    engines: &Engines,
    out: &Path,
    parts: &Path,
    how: How,
    show: Show<'_>,
) -> Result<ResultDir, Error> {
    let clock = Clock::start();
    if !how.replace {
        refuse_loss(out, &plan.experiment)?;
    }
    let writer = match ResultWriter::create_with_parts(out, parts) {
        Ok(writer) => writer.of(&plan.experiment),
        Err(error) if error.is_read_only() && !how.fresh => return finished(plan, out, show)?.ok_or(error.into()),
        Err(error) => return Err(error.into()),
    };
    let (Made { jobs, threads, run, found }, not_valid) = make(plan, engines, &writer, how, show)?;
    let mut experiment = joined(plan, not_valid)?;
    experiment.versions.extend(engines.commit().map(|commit| (COMMIT.to_owned(), commit.to_owned())));
    let result = writer.join(experiment)?;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    writer.write_run(&RunInfo {
        date: clock.date().to_owned(),
        machine: machine::describe(),
        jobs: count(jobs),
        threads: count(threads),
        wall_seconds: clock.wall_seconds(),
        cpu_seconds: clock.cpu_seconds(),
        parts_run: count(run),
        parts_found: count(found),
        calls: engines.calls(),
    })?;
    Ok(result)
}

/// Returns the result of a folder that cannot be written, if it has all that the plan asks for.
fn finished(plan: &Plan, out: &Path, show: Show<'_>) -> Result<Option<ResultDir>, Error> {
    let found =
        ResultDir::open(out).ok().filter(|found| found.manifest().experiment.without_commit() == plan.experiment);
    if found.is_some() {
        and_on(show(Event::Found(plan.runs.len(), plan.packet_hops())))?;
    }
    Ok(found)
}

/// Returns the experiment without the runs that are not valid.
fn joined(plan: &Plan, not_valid: Vec<NotValid>) -> Result<Experiment, Error> {
    let of = |key: &str| not_valid.iter().any(|(index, _)| plan.runs[*index].key == key);
    if not_valid.is_empty() || plan.runs.iter().all(|run| of(&run.key)) {
        return not_valid.into_iter().next().map_or_else(|| Ok(plan.experiment.clone()), |(_, error)| Err(error));
    }
    let missing_runs = plan.runs.iter().filter(|run| of(&run.key)).count() as u64;
    let why = not_valid.iter().map(|(_, error)| error.to_string()).collect();
    Ok(Experiment { missing_runs, not_valid: why, ..plan.without(of).experiment })
}

/// A run that is not valid, by its index in the plan, and the error that says why.
type NotValid = (usize, Error);

/// What happened to the runs of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Runs at a time.
    pub jobs: usize,
    /// The most threads that a run got.
    pub threads: usize,
    /// Number of runs made now.
    pub run: usize,
    /// Number of runs that existed already.
    pub found: usize,
}

/// Makes the runs of a plan into the parts of the folder `out`, without joining them. Other processes may do the same
/// at once, and make other runs of the same experiment there.
pub fn execute_parts(plan: &Plan, engines: &Engines, out: &Path, how: How, show: Show<'_>) -> Result<Made, Error> {
    let (made, not_valid) = make(plan, engines, &ResultWriter::create(out)?.of(&plan.experiment), how, show)?;
    not_valid.into_iter().next().map_or(Ok(made), |(_, error)| Err(error))
}

fn make(
    plan: &Plan,
    engines: &Engines,
    writer: &ResultWriter,
    how: How,
    show: Show<'_>,
) -> Result<(Made, Vec<NotValid>), Error> {
    if how.fresh {
        plan.runs.iter().try_for_each(|run| writer.remove_part(&run.key))?;
    }
    let todo = unfinished(plan, writer, show)?;
    let (run, found) = (todo.len(), plan.runs.len() - todo.len());
    let left: f64 = todo.iter().map(|&index| plan.runs[index].packet_hops).sum();
    and_on(show(Event::Found(found, plan.packet_hops() - left)))?;
    let jobs = how.jobs.clamp(1, run.max(1));
    let (not_valid, threads) = run_all(plan, engines, writer, todo, how, show)?;
    Ok((Made { jobs, threads, run: run - not_valid.len(), found }, not_valid))
}

/// Returns the runs without parts.
pub(crate) fn unfinished(plan: &Plan, writer: &ResultWriter, show: Show<'_>) -> Result<Vec<usize>, Error> {
    let mut todo = Vec::new();
    for (index, run) in plan.distinct() {
        match writer.finished(&run.key) {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) if error.is_damage() => {
                writer.remove_part(&run.key)?;
                and_on(show(Event::Damaged(index)))?;
            }
            Err(error) => return Err(error.into()),
        }
        todo.push(index);
    }
    Ok(todo)
}

fn run_all(
    plan: &Plan,
    engines: &Engines,
    writer: &ResultWriter,
    todo: Vec<usize>,
    how: How,
    show: Show<'_>,
) -> Result<(Vec<NotValid>, usize), Error> {
    let jobs = how.jobs.clamp(1, todo.len().max(1));
    let cores = how.jobs.min(machine::free_cores());
    let not_valid = Mutex::new(Vec::new());
    let queue = Mutex::new(Queue { runs: todo.into_iter(), going: 0, most_threads: 1, failed: None });
    let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let Some((index, threads)) = locked().next(how.threads, cores) else { break };
            let made = || {
                and_on(show(Event::Started(index)))?;
                let mut going = |progress| show(Event::Going(index, progress));
                run_one(plan, &plan.runs[index], threads, engines, writer, &mut going)?;
                and_on(show(Event::Finished(index)))
            };
            let made = made();
            locked().going -= 1;
            match made {
                Ok(()) => {}
                Err(error @ Error::NotValid { .. }) => {
                    not_valid.lock().unwrap_or_else(PoisonError::into_inner).push((index, error));
                }
                Err(error) => {
                    let failed = &mut locked().failed;
                    if failed.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                        *failed = Some((index, error));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    let Queue { failed, most_threads, .. } = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut not_valid = not_valid.into_inner().unwrap_or_else(PoisonError::into_inner);
    not_valid.sort_by_key(|(index, _)| *index);
    failed.map_or(Ok((not_valid, most_threads)), |(_, error)| Err(error))
}

/// The runs that have yet to begin.
struct Queue {
    runs: std::vec::IntoIter<usize>,
    /// Runs that have begun and not ended.
    going: usize,
    most_threads: usize,
    /// The earliest run that failed. No further one begins.
    failed: Option<(usize, Error)>,
}

impl Queue {
    /// Takes the next run with the threads that it gets: those asked for, or its share of the cores.
    fn next(&mut self, asked: Option<usize>, cores: usize) -> Option<(usize, Threads)> {
        if self.failed.is_some() {
            return None;
        }
        let index = self.runs.next()?;
        self.going += 1;
        let share = (cores / (self.runs.len() + self.going)).max(1);
        self.most_threads = self.most_threads.max(asked.unwrap_or(share));
        Some((index, asked.map_or(Threads::Spare(share), Threads::Asked)))
    }
}

fn run_one(
    plan: &Plan,
    run: &PlannedRun,
    threads: Threads,
    engines: &Engines,
    writer: &ResultWriter,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(), Error> {
    let part = writer.begin_part(&run.key)?;
    let trace = run.trace.map(|_| part.trace_folder()).transpose()?;
    let result = engines.run_on(threads, &plan.points[run.point], run.seed, progress, trace.as_deref())?;
    part.finish(run.seed, result)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(runs: usize) -> Queue {
        Queue { runs: (0..runs).collect::<Vec<_>>().into_iter(), going: 0, most_threads: 1, failed: None }
    }

    #[test]
    fn queue__runs_share_the_cores_that_no_other_run_needs() {
        let mut three = queue(3);
        let given: Vec<_> = std::iter::from_fn(|| three.next(None, 8)).collect();
        assert_eq!(given, [(0, Threads::Spare(2)), (1, Threads::Spare(2)), (2, Threads::Spare(2))]);
        assert_eq!(three.most_threads, 2);

        // Two at a time on four cores: with five runs left each gets one core, with two left each gets two.
        let mut five = queue(5);
        let given: Vec<_> = (0..5)
            .map(|_| {
                five.going = five.going.min(1);
                five.next(None, 4).unwrap().1
            })
            .collect();
        assert_eq!(given, [1, 1, 1, 1, 2].map(Threads::Spare));
    }

    #[test]
    fn queue__threads_asked_for_are_given() {
        let mut two = queue(2);
        assert_eq!((two.next(Some(3), 1), two.most_threads), (Some((0, Threads::Asked(3))), 3));
        two.failed = Some((0, Error::Stopped));
        assert_eq!(two.next(Some(3), 1), None);
    }
}
