//! `flowsieve run`: the runs of an experiment, or a share of them, or one flow's timeline.

use super::export::refused;
use super::{Planned, announce, default_out, show_result};
use crate::interruption;
use crate::options::{ReportOptions, RunOptions};
use crate::output::{print, print_json, tell};
use crate::progress::shown;
#[cfg(feature = "papers")]
use crate::resolve::ResolveOptions;
use clap::{Args, ValueHint};
use flowsieve_engines::follow::{Which, timelines};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{How, execute, execute_parts};
use flowsieve_experiment::plan::{self, Plan};
use flowsieve_experiment::shards::Shard;
use flowsieve_results::timeline::Timeline;
use flowsieve_settings::files::{Existing, check_named};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const RUN_EXAMPLES: &str = "\
Examples:
  flowsieve run quickstart
      a built-in experiment, into results/quickstart; a stopped run continues if you repeat the command
  flowsieve run quickstart --set load=0.5,0.7,0.9
      another sweep of the load
  flowsieve run quickstart --set network.ecn_threshold=30pkt --out results/k30
      a different setting, with its result next to the first
  flowsieve run first
      another experiment: two marking thresholds in one rack
  flowsieve run quickstart --scale smoke
      a hundredth of it, to see whether it works
  flowsieve run quickstart --screen 4
      the flows to every fourth host alone: ranks the points, and names those to run whole
  flowsieve run quickstart --set scheme=pias --set load=0.7 --follow-flow p99:0-100KB
      the timeline of one flow, by its slowdown or its number: where its time went, and which packets it waited for
  flowsieve run quickstart --set load=0.7 --follow-flow slowest:0-100KB --svg flow.svg
      the same for each scheme, drawn over one another: each packet's way, and behind what it waited
  flowsieve run quickstart --set trace=pcap --set 'trace_links=[\"host-up\", \"host-down\"]'
      with captures of the hosts' links for Wireshark; their size is estimated first";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) of: Planned,
    /// Where results go [default: results/ and the file's name, with scale and changes]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    /// Rank the points by the flows to every Kth host
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65_535))]
    pub(crate) screen: Option<u32>,
    #[cfg(feature = "papers")]
    #[command(flatten)]
    resolving: ResolveOptions,
    /// Print a flow's timeline instead, in each point's first seed. Give its number, `slowest` or `p99` by slowdown,
    /// optionally of a size class: `slowest:0-100KB`
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["out", "fresh", "threads"])]
    pub(crate) follow_flow: Option<Which>,
    /// Draw it as time against place
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "follow_flow")]
    pub(crate) svg: Option<PathBuf>,
    /// Make only this share of the runs, by estimated cost, such as 3/40: no result, but parts for `flowsieve join`
    #[arg(long, value_name = "I/N", conflicts_with_all = ["keys", "follow_flow", "replace"])]
    pub(crate) shard: Option<Shard>,
    /// Make only these runs: a file with one key per line, or with runs of `flowsieve plan --json`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["follow_flow", "replace"])]
    pub(crate) keys: Option<PathBuf>,
    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Run {
    /// Returns whether its runs are not stopped where they take far more work than expected.
    pub(crate) fn is_unguarded(&self) -> bool {
        self.options.make.no_guard
    }
}

pub(crate) fn run(args: &Run, engines: &Engines) -> Result<(), Error> {
    let mut changes = args.of.changes();
    #[cfg(feature = "papers")]
    {
        changes.resolve = args.resolving.resolve.is_some();
    }
    changes.sets.extend(args.screen.map(|every| format!("screen={every}")));
    let plan = plan::read(&args.of.file, &changes, engines)?;
    if let Some(which) = &args.follow_flow {
        return follow(&plan, engines, which, args);
    }
    let jobs = args.options.make.jobs();
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.of.file, &changes, ""));
    let threads = args.options.make.threads.count();
    tell_of_threads(&plan, engines, threads)?;
    if run_some(args, &plan, engines, &out, jobs)? {
        return Ok(());
    }
    #[cfg(feature = "papers")]
    let resolving = args.resolving.of(&plan, jobs)?;
    announce(&plan, jobs);
    interruption::answer()?;
    let make = |plan: &Plan, fresh: bool| {
        let how = How { jobs, threads, fresh, replace: args.options.replace };
        shown(plan, |show| execute(plan, engines, &out, how, show))
    };
    let result = make(&plan, args.options.make.fresh)?;
    #[cfg(feature = "papers")]
    let result = match resolving {
        Some(resolving) => resolving.go_on_with(plan, result, &|plan| make(plan, false))?,
        None => result,
    };
    show_result(&result, &ReportOptions::default(), args.json)
}

/// Says which points are run on one thread although more are asked for, and why; each reason once.
pub(crate) fn tell_of_threads(plan: &Plan, engines: &Engines, threads: Option<usize>) -> Result<(), Error> {
    let Some(threads) = threads.filter(|threads| *threads > 1) else { return Ok(()) };
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for (number, point) in plan.points.iter().enumerate() {
        let Some(run) = plan.runs.iter().find(|run| run.point == number) else { continue };
        let Some(reason) = engines.one_thread(point, run.seed, threads)? else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, points)) => *points += 1,
            None => reasons.push((reason, 1)),
        }
    }
    for (reason, points) in reasons {
        let of =
            if points == plan.points.len() { "all".to_owned() } else { format!("{points} of {}", plan.points.len()) };
        tell(format!("one thread for {of} points: {reason}"));
    }
    Ok(())
}

/// The result of a shard.
#[derive(Serialize)]
struct Shared {
    plan: String,
    runs: usize,
    found: usize,
    parts: String,
}

/// Makes the runs that `--shard` or `--keys` selects, if either is given; returns whether one was.
fn run_some(args: &Run, plan: &Plan, engines: &Engines, out: &Path, jobs: usize) -> Result<bool, Error> {
    let (keys, which): (BTreeSet<String>, String) = match (args.shard, &args.keys) {
        (Some(shard), _) => (plan.shard(shard), format!("shard {shard}")),
        (None, Some(file)) => (plan.read_keys(file)?, file.display().to_string()),
        (None, None) => return Ok(false),
    };
    let some = plan.only(&keys)?;
    announce(&some, jobs);
    interruption::answer()?;
    let made = shown(&some, |show| execute_parts(&some, engines, out, args.options.make.how(), show))?;
    let parts = out.join("parts").display().to_string();
    if args.json {
        let all = made.run + made.found;
        print_json(&Shared { plan: plan.hash(), runs: all, found: made.found, parts })?;
    } else {
        let all = plan.distinct().count();
        let (here, hash) = (made.run + made.found, plan.hash());
        print(&format!(
            "{which}: {here} of {all} runs of plan {hash} are in {parts}\nrun `flowsieve join` where all parts are\n"
        ))?;
    }
    Ok(true)
}

/// Follows a flow, prints its timelines, and draws them if asked.
fn follow(plan: &Plan, engines: &Engines, which: &Which, args: &Run) -> Result<(), Error> {
    match &args.svg {
        // Refused before the runs.
        Some(svg) => check_named(svg, Existing::replaced(args.options.replace)).map_err(failed(svg))?,
        None if args.options.replace => {
            let problem =
                "--follow-flow writes no file that --replace could replace; expected --svg FILE, or no --replace";
            return Err(Error::Input(problem.to_owned()));
        }
        None => {}
    }
    let timelines = shown(plan, |show| timelines(plan, engines, which, show))?;
    if args.json {
        print_json(&timelines)?;
    } else {
        let texts: Vec<String> = timelines.iter().map(Timeline::text).collect();
        print(&texts.join("\n"))?;
    }
    if let Some(svg) = &args.svg {
        let drawn = flowsieve_report::flow_svg(&timelines).map_err(refused)?;
        write_text(svg, Existing::replaced(args.options.replace), &drawn)?;
        tell(format!("drawn in {}", svg.display()));
    }
    if timelines.len() > 1 && !args.json {
        tell("this prints one timeline per point; choose points by --set scheme=... and --set load=...");
    }
    Ok(())
}
