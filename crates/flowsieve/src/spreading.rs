//! A sweep spread over machines: its plan, shards of it, and how they are joined.

use crate::args::{Join, Pack, PlanArgs, Planned, Run};
use crate::options::ReportOptions;
use crate::output::{print, print_json, tell};
use crate::progress::shown;
use crate::{announce, default_out, interruption, show_result};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::execute_parts;
use flowsieve_experiment::joining;
use flowsieve_experiment::plan::{self, Plan};
use flowsieve_experiment::verify::Proof;
use flowsieve_files::Existing;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn planned(of: &Planned, engines: &Engines) -> Result<Plan, Error> {
    plan::read(&of.file, &of.changes(), engines)
}

pub(crate) fn plan(args: &PlanArgs, engines: &Engines) -> Result<(), Error> {
    let listing = planned(&args.of, engines)?.listing();
    for warning in listing.warnings.iter().filter(|_| !args.json) {
        tell(format!("warning: {warning}"));
    }
    if args.json { print_json(&listing) } else { print(&listing.text()) }
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
pub(crate) fn run_some(args: &Run, plan: &Plan, engines: &Engines, out: &Path, jobs: usize) -> Result<bool, Error> {
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

pub(crate) fn join(args: &Join, engines: &Engines) -> Result<(), Error> {
    let plan = planned(&args.of, engines)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.of.file, &args.of.changes(), ""));
    let (missing, how) = (args.options.missing(), args.options.how());
    interruption::answer()?;
    let result = shown(&plan, |show| joining::join(&plan, engines, &out, &args.parts, missing, how, show))?;
    show_result(&result, &ReportOptions::default(), args.json)
}

pub(crate) fn pack(args: &Pack, engines: &Engines) -> Result<(), Error> {
    let plan = planned(&args.of, engines)?;
    let result = args.result.as_ref().map(ResultDir::open).transpose()?;
    let proof = Proof { commit: engines.commit(), result: result.as_ref() };
    let content = bundle::pack_file(&plan, &proof, &args.out, Existing::replaced(args.replace))?;
    let (files, size) = (content.files, report::size(content.bytes));
    let s = if files == 1 { "" } else { "s" };
    let beside = if files == 0 { String::new() } else { format!(" with {files} file{s} ({size})") };
    let proves = if result.is_some() { ", with digests of its result" } else { "" };
    print(&format!("{}: {}{beside}, plan {}{proves}\n", args.out.display(), plan.name, plan.hash()))
}
