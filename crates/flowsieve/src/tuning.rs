//! `flowsieve tune`: what would help a fabric's traffic.

use crate::args::Tune;
use crate::interruption;
use crate::options::{Distribution, Marking, TuneOptions};
use crate::output::{print, print_json, tell};
use crate::progress::shown;
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::execute::{How, Show, execute_sharing};
use flowsieve_experiment::plan::Plan;
use flowsieve_report::{self as report, Layout};
use flowsieve_results::ResultDir;
use flowsieve_studies::thresholds::Method;
use flowsieve_studies::tune::{self, Effort, Request, Tuned, Work};
use std::path::Path;
use std::time::{Duration, Instant};

/// Makes runs, and tells `Show` of their events.
pub type Making<'a> = &'a (dyn Fn(Show<'_>) -> Result<ResultDir, Error> + Sync);

/// Called for each step with its purpose, its plan, and what makes its runs; returns what this returns.
pub type Step<'a> = &'a mut dyn FnMut(&str, &Plan, Making<'_>) -> Result<ResultDir, Error>;

/// Runs on this machine.
struct Here<'a> {
    begun: Instant,
    jobs: usize,
    replace: bool,
    step: Step<'a>,
}

impl Work for Here<'_> {
    fn make(&mut self, what: &str, plan: &Plan, out: &Path, parts: &Path) -> Result<ResultDir, Error> {
        let how = How { jobs: self.jobs, threads: None, fresh: false, replace: self.replace };
        let engines = built_in();
        let result = (self.step)(what, plan, &|show| execute_sharing(plan, &engines, out, parts, how, show))?;
        let layout = Layout::new(&result.manifest().experiment, None)?;
        report::write(&result, &layout).map_err(Error::Unreported)?;
        Ok(result)
    }

    fn spent(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// Finds what would help, as the options say. `step` makes the runs of a step, and shows their events.
///
/// # Errors
/// Fails if the options contradict one another, the sizes or the fabric cannot be read, or a run fails.
pub fn tuned(
    fabric: &Path,
    of: &Distribution,
    options: &TuneOptions,
    out: &Path,
    step: Step<'_>,
) -> Result<Tuned, Error> {
    let ports = options.ports();
    let markings: Vec<Marking> = match (&*options.marking, &ports) {
        ([], None) => vec![Marking::Queue, Marking::Port],
        ([], Some(_)) => vec![Marking::Queue],
        (given, _) => given.to_vec(),
    };
    let jobs = options.jobs.count();
    let request = Request {
        fabric: fabric.to_owned(),
        wanted: of.wanted(vec![options.load], None, Method::Background),
        load: options.load,
        queues: (options.queues.fewest, options.queues.most),
        markings: markings.into_iter().map(Into::into).collect(),
        programmable: options.programmable,
        flows: options.flows.map(u64::from),
        effort: options.seeds.map_or(Effort::Budget(options.budget.0), Effort::Seeds),
        jobs,
        out: out.to_owned(),
        replace: options.replace,
        ports,
    };
    // The folder belongs to the request, so its results are replaced by those of the same request.
    tune::tune(&request, &mut Here { begun: Instant::now(), jobs, replace: true, step })
}

pub(crate) fn tune(args: &Tune) -> Result<(), Error> {
    interruption::answer()?;
    let found = tuned(&args.fabric, &args.of, &args.options, &args.out, &mut |what, plan, work| {
        tell(what);
        shown(plan, work)
    })?;
    if args.json {
        return print_json(&found);
    }
    print(&found.text())?;
    for file in &found.configuration {
        let path = args.out.join(&file.file);
        match &file.refused {
            None => tell(format!("Configuration: {}", path.display())),
            Some(why) => tell(format!("not written: {}: {why}", path.display())),
        }
    }
    let report = args.out.join("proof").join("report.html");
    let (page, report) =
        (args.out.join("README.md"), if report.is_file() { format!(", {}", report.display()) } else { String::new() });
    print(&format!("\nRecommendation: {}{report}\n", page.display()))
}
