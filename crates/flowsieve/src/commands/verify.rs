//! `flowsieve verify`: whether the runs of a bundle or a result give the same bytes again.

use super::announce;
use crate::interruption;
use crate::options::{Jobs, Threads};
use crate::output::{print, tell};
use crate::progress::shown;
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::How;
use flowsieve_experiment::verify::Verifiable;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve verify quickstart.flowsieve
      makes the runs of a bundle that was packed with --result
  flowsieve verify results/quickstart
      makes those of a result; files that it names are looked for from the current folder on

Exit status: 0 the bytes are the same; 1 they are not, and it says in which columns and rows; 2 it cannot be told, and why.")]
pub(crate) struct Verify {
    /// A bundle of `flowsieve pack --result`, or the folder of a result
    #[arg(value_name = "BUNDLE|DIR", value_hint = ValueHint::AnyPath)]
    what: PathBuf,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    threads: Threads,
    /// Keep the new result in this folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

pub(crate) fn verify(args: &Verify, engines: &Engines) -> Result<(), Error> {
    let whole = Verifiable::read(&args.what, engines)?;
    let jobs = args.threads.jobs(args.jobs);
    announce(&whole.plan, jobs);
    whole.made_by_another(engines).iter().for_each(tell);
    interruption::answer_with(|runs, of| format!("stopped after {runs} of {of} runs: nothing is verified"))?;
    let how = How { jobs, threads: args.threads.count(), fresh: true, replace: false };
    let out = args.out.as_deref();
    let differences = shown(&whole.plan, |show| whole.differences(engines, out, how, show))?;
    if differences.is_empty() {
        let (runs, files) = (whole.plan.runs.len(), whole.files());
        return print(&format!("same bytes: {runs} runs give the same {files}\n"));
    }
    print(&(differences.join("\n") + "\n"))?;
    let problem = format!("other bytes in {} of its files", differences.len());
    Err(Error::Simulation { point: args.what.display().to_string(), problem })
}
