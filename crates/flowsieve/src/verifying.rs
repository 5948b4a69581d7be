//! The command `flowsieve verify`.

use crate::args::Verify;
use crate::output::{print, tell};
use crate::progress::shown;
use crate::{announce, interruption};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::How;
use flowsieve_experiment::verify::Claimed;

pub(crate) fn verify(args: &Verify, engines: &Engines) -> Result<(), Error> {
    let claimed = Claimed::read(&args.what, engines)?;
    let jobs = args.threads.jobs(args.jobs);
    announce(&claimed.plan, jobs);
    claimed.made_by_another(engines).iter().for_each(tell);
    interruption::answer_with(|runs, of| format!("stopped after {runs} of {of} runs: nothing is verified"))?;
    let how = How { jobs, threads: args.threads.count(), fresh: true, replace: false };
    let out = args.out.as_deref();
    let differences = shown(&claimed.plan, |show| claimed.differences(engines, out, how, show))?;
    if differences.is_empty() {
        let (runs, files) = (claimed.plan.runs.len(), claimed.files());
        return print(&format!("same bytes: {runs} runs give the same {files}\n"));
    }
    print(&(differences.join("\n") + "\n"))?;
    let problem = format!("other bytes in {} of its files", differences.len());
    Err(Error::Simulation { point: args.what.display().to_string(), problem })
}
