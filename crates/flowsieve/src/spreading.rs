//! A sweep that is spread over machines: its plan, shards of it, and their join.

use crate::args::{Join, Pack, PlanArgs, Planned, Run};
use crate::output::{print, print_json, tell};
use crate::progress::{Progress, hops_in_words};
use crate::{announce, default_out, interruption, show_result};
use flowsieve_experiment::bundle;
use flowsieve_experiment::execute::{How, execute_parts};
use flowsieve_experiment::joining::{self, Missing};
use flowsieve_experiment::plan::{self, Plan};
use flowsieve_experiment::shards::Listing;
use flowsieve_experiment::{Error, OwnSchemes, lookup, machine, report};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn planned(of: &Planned, engine: &OwnSchemes) -> Result<Plan, Error> {
    plan::read(&lookup::experiment(&of.file)?, &of.changes(), engine)
}

pub(crate) fn plan(args: &PlanArgs, engine: OwnSchemes) -> Result<(), Error> {
    let listing = planned(&args.of, &engine)?.listing();
    for warning in listing.warnings.iter().filter(|_| !args.json) {
        tell(format!("warning: {warning}"));
    }
    if args.json { print_json(&listing) } else { print(&text(&listing)) }
}

/// A line for each point.
fn text(listing: &Listing) -> String {
    let runs = listing.runs.len();
    let most = listing.runs.iter().map(|run| run.memory_bytes).max().unwrap_or(0);
    let versions: Vec<String> = listing.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let of_point = |(index, label): (usize, &String)| {
        let of: Vec<_> = listing.runs.iter().filter(|run| run.point == index).collect();
        let hops = of.first().map_or(0.0, |run| run.packet_hops);
        let memory = of.first().map_or(0, |run| run.memory_bytes);
        [label.clone(), of.len().to_string(), hops_in_words(hops), report::size(memory)]
    };
    let head = ["point", "runs", "packet-hops each", "memory each"].map(str::to_owned);
    let rows: Vec<[String; 4]> = [head].into_iter().chain(listing.points.iter().enumerate().map(of_point)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let [label, runs, hops, memory] = row;
        let [a, b, c, d] = widths;
        format!("{label:a$}  {runs:>b$}  {hops:>c$}  {memory:>d$}\n")
    };
    format!(
        "{}\n{runs} runs of {} points, about {} packet-hops in all; a run takes {} of memory at most\nplan {} ({})\n\n{}",
        listing.title,
        listing.points.len(),
        hops_in_words(listing.packet_hops),
        report::size(most),
        listing.plan,
        versions.join(", "),
        rows.iter().map(line).collect::<String>(),
    )
}

/// What a shard has made.
#[derive(Serialize)]
struct Shared {
    plan: String,
    runs: usize,
    found: usize,
    parts: String,
}

/// Makes the runs that `--shard` or `--keys` names, if either is there; says whether it was.
pub(crate) fn run_some(args: &Run, plan: &Plan, engine: &OwnSchemes, out: &Path, jobs: usize) -> Result<bool, Error> {
    let (keys, which): (BTreeSet<String>, String) = match (args.shard, &args.keys) {
        (Some(shard), _) => (plan.shard(shard), format!("shard {shard}")),
        (None, Some(file)) => (plan.read_keys(file)?, file.display().to_string()),
        (None, None) => return Ok(false),
    };
    let some = plan.only(&keys)?;
    announce(&some, jobs);
    interruption::answer()?;
    let progress = Progress::new(&some);
    let how = How { jobs, fresh: args.fresh, replace: false };
    let made = execute_parts(&some, engine, out, how, &|event| progress.hear(event));
    progress.end();
    let made = made?;
    let parts = out.join("parts").display().to_string();
    if args.json {
        let all = made.run + made.found;
        print_json(&Shared { plan: plan.hash(), runs: all, found: made.found, parts })?;
    } else {
        let all = plan.listing().runs.len();
        let (here, hash) = (made.run + made.found, plan.hash());
        print(&format!(
            "{which}: {here} of {all} runs of plan {hash} are in {parts}\n`flowsieve join` makes the result where all are there\n"
        ))?;
    }
    Ok(true)
}

pub(crate) fn join(args: &Join, engine: OwnSchemes) -> Result<(), Error> {
    let plan = planned(&args.of, &engine)?;
    let missing = match (args.partial, args.run_missing) {
        (true, _) => Missing::LeaveOut,
        (_, true) => Missing::Make,
        _ => Missing::Refuse,
    };
    let jobs = args.jobs.map_or_else(machine::cores, |jobs| jobs as usize);
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.of.file, &args.of.changes()));
    let progress = Progress::new(&plan);
    let how = How { jobs, fresh: false, replace: args.replace };
    interruption::answer()?;
    let result = joining::join(&plan, &engine, &out, &args.parts, missing, how, &|event| progress.hear(event));
    progress.end();
    show_result(&result?, None, args.json)
}

pub(crate) fn pack(args: &Pack, engine: OwnSchemes) -> Result<(), Error> {
    let plan = planned(&args.of, &engine)?;
    let content = bundle::pack_file(&plan, &args.out)?;
    let (files, size) = (content.files, report::size(content.bytes));
    let s = if files == 1 { "" } else { "s" };
    let beside = if files == 0 { String::new() } else { format!(" with {files} file{s} ({size})") };
    print(&format!("{}: {}{beside}, plan {}\n", args.out.display(), plan.name, plan.hash()))
}
