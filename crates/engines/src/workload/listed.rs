//! A flow list as a workload: at its own pace or at a load, all of it or the flows that start in a window.

use super::extent::window;
use super::files::{Files, List};
use super::traffic::{LOAD, load_counts};
use super::{Extent, Hosts, MEASURE, WINDOW};
use flowsieve_experiment::Error;
use flowsieve_settings::{Scope, SettingsError, units};
use flowsieve_workload::{Framing, LoadCounts, Pace, PaceError};
use std::sync::Arc;

/// Returns the list at the load in the settings, if there is one, and says what that changed.
pub(super) fn at_load(
    scope: &Scope<'_>,
    list: Arc<List>,
    files: &Files,
    (hosts, framing): (&Hosts, &Framing),
) -> Result<(Arc<List>, Option<String>), Error> {
    let Some(load) = scope.optional(&LOAD)? else { return Ok((list, None)) };
    let (counts, framing) = load_counts(scope, framing)?;
    let count = hosts.racks.len() as u32;
    let pace = Pace::of(list.flows(), (load, counts), &framing, (count, hosts.bps)).map_err(|error| {
        let expected = match error {
            PaceError::AtOnce => "no `load`, or flows that start one after the other",
            PaceError::TooLong => "a higher load, or smaller flows",
            PaceError::Digits(_) => "a load of fewer digits",
            PaceError::Load(_) => "a load above 0 of links that have a rate",
        };
        scope.error(&LOAD, format!("{}: {error}", list.name())).expected(expected)
    })?;
    let factor = format!("{:.6}", pace.factor());
    scope.note("workload.list.gaps_times", &factor);
    let [was, now] = [pace.was_ps, pace.now_ps].map(units::format_time);
    let sentence = format!(
        "{}: the gaps between its flows are multiplied by {factor} for a load of {load}, so they start within {now} instead of {was}",
        list.name()
    );
    Ok((files.paced(&list, &pace)?, Some(sentence)))
}

/// Reads which flows of a list count: all, or with `measure = "window"` those that start in it.
pub(super) fn extent(scope: &Scope<'_>, list: &List) -> Result<Extent, SettingsError> {
    let all = Extent::Flows(list.flows().len() as u64);
    // With several workloads, this is set for all of them.
    if scope.workload().is_some() || !scope.is_given(&MEASURE) || !scope.read(&MEASURE)? {
        return Ok(all);
    }
    let (from, to) = window(scope)?;
    let starts = |end: u64| list.flows().partition_point(|flow| flow.start_ps < end);
    if starts(from) == starts(to) {
        let ends = list.flows().first().zip(list.flows().last());
        let (first, last) = ends.map_or((0, 0), |(first, last)| (first.start_ps, last.start_ps));
        let [first, last] = [first, last].map(units::format_time);
        let problem = format!("no flow of {} starts in the window", list.name());
        return Err(scope
            .error(&WINDOW, problem)
            .expected(format!("a window between {first} and {last}, where its flows start")));
    }
    Ok(Extent::Window(from, to))
}

/// Returns the bit/s of a list's data and ACKs from its first start to its last, over all hosts; `None` if all start at
/// once.
pub(super) fn mean_bps(list: &List, framing: &Framing) -> Option<f64> {
    let (first, last) = list.flows().first().zip(list.flows().last())?;
    let span_ps = last.start_ps - first.start_ps;
    let (bytes, _) = framing.counted_of(LoadCounts::WireAcks, list.flows());
    (span_ps > 0).then(|| bytes as f64 * 8e12 / span_ps as f64)
}
