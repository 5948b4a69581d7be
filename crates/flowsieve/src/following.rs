//! `flowsieve run --follow-flow`: a flow's timeline, point by point.

use crate::output::{print, print_json, tell};
use crate::progress::Progress;
use flowsieve_engines::follow::Which;
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::Event;
use flowsieve_experiment::plan::Plan;
use flowsieve_results::timeline::Timeline;

/// Follows a flow through the first seed of each point; nothing is written. A flow selected by its slowdown is first
/// looked for in each of these runs, which then run twice.
pub(crate) fn follow(plan: &Plan, engines: &Engines, which: &Which, json: bool) -> Result<(), Error> {
    let first = plan.runs.iter().map(|run| run.seed).min();
    let mut timelines = Vec::new();
    let progress = Progress::new(plan);
    for (index, run) in plan.runs.iter().enumerate().filter(|(_, run)| Some(run.seed) == first) {
        let point = &plan.points[run.point];
        let Some(follower) = engines.follower(point)? else {
            let problem = "a run at flow level has no packets to follow; expected fidelity = \"packet\" in [run]";
            return Err(Error::Input(problem.to_owned()));
        };
        progress.show(Event::Started(index));
        let mut go_on = |now| progress.hear(Event::Going(index, now));
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
        progress.show(Event::Finished(index));
        timelines.push(timeline?);
    }
    progress.end();
    if json {
        return print_json(&timelines);
    }
    for (index, timeline) in timelines.iter().enumerate() {
        if index > 0 {
            print("\n")?;
        }
        print(&timeline.text())?;
    }
    if timelines.len() > 1 {
        tell("this prints one timeline per point; choose points by --set scheme=... and --set load=...");
    }
    Ok(())
}
