//! Makes the runs in which a flow is followed.

use super::Which;
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{Event, Show};
use flowsieve_experiment::plan::Plan;
use flowsieve_results::timeline::Timeline;

/// Follows a flow through the first seed of each point; nothing is kept. A flow selected by its slowdown is first looked for in
/// each of these runs, which then run twice.
///
/// # Errors
/// Fails if a point has no packets or no such flow, if a run does, or if `show` stops them.
pub fn timelines(plan: &Plan, engines: &Engines, which: &Which, show: Show<'_>) -> Result<Vec<Timeline>, Error> {
    let first = plan.runs.iter().map(|run| run.seed).min();
    let mut timelines = Vec::new();
    for (index, run) in plan.runs.iter().enumerate().filter(|(_, run)| Some(run.seed) == first) {
        let point = &plan.points[run.point];
        let Some(follower) = engines.follower(point)? else {
            let problem = "a run at flow level has no packets to follow; expected fidelity = \"packet\" in [run]";
            return Err(Error::Input(problem.to_owned()));
        };
        if show(Event::Started(index)).is_break() {
            return Err(Error::Stopped);
        }
        let mut go_on = |now| show(Event::Going(index, now));
        let label = format!("{}, seed {}", point.label(), run.seed);
        let flows = if which.needs_flows() {
            engines.run(point, run.seed, &mut go_on, None).map(|result| result.flows)
        } else {
            Ok(Vec::new())
        };
        let picked = flows.and_then(|flows| which.among(&plan.experiment.classes, &flows, &label));
        let timeline = picked.and_then(|(flow, why)| {
            Ok(Timeline { picked: why, ..follower.follow(point, run.seed, flow, &mut go_on)? })
        });
        // The last run is done, whatever is answered.
        let _ = show(Event::Finished(index));
        timelines.push(timeline?);
    }
    Ok(timelines)
}
