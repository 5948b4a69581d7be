//! `flowsieve thresholds`: computes thresholds, or searches for them and shows progress.

use crate::args::{MarkingArg, MethodArg, Thresholds};
use crate::output::{print, print_json, tell};
use crate::progress::{STEPS, bar, in_words};
use flowsieve_experiment::{Error, machine};
use flowsieve_studies::thresholds::{self, Column, Deployment, Marking, Method, Network, Search, Trial, Wanted};
use serde::Serialize;
use std::time::Instant;

/// Defaults for the number of sets of thresholds, and for the flows of a run.
const EVALUATIONS: u32 = 100;
const FLOWS: u32 = 2_000;

pub(crate) fn thresholds(args: &Thresholds) -> Result<(), Error> {
    let wanted = |method| Wanted {
        workload: args.workload.clone(),
        cdf: args.cdf.clone(),
        sizes: args.sizes.clone().map(|path| Column { path, name: args.column.clone() }),
        loads: args.load.clone(),
        queues: args.queues,
        method,
    };
    let method = args.method.map(MethodArg::computed);
    if let Some(None) = method {
        let found = search(args, &wanted(Method::Pias))?;
        return show(args.json, &found, thresholds::found_text);
    }
    if args.evaluations.is_some() {
        return Err(Error::Input("--evaluations: expected --method simulate; no other method searches".to_owned()));
    }
    let runs = method.is_none() && !args.model_only;
    for (name, option) in [("flows", args.flows), ("jobs", args.jobs)] {
        if option.is_some() && !runs {
            let problem = format!(
                "--{name}: expected --method simulate, or no --method and no --model-only; otherwise no flows are run"
            );
            return Err(Error::Input(problem));
        }
    }
    match method.flatten() {
        Some(method) => show(args.json, &thresholds::thresholds(&wanted(method))?, thresholds::text),
        None => {
            let network = match &args.fabric {
                Some(path) => Network::Fabric(path.clone()),
                None => Network::Switch { rates_bps: args.rate.clone(), rtt_ps: args.rtt },
            };
            let jobs = args.jobs.map_or_else(machine::cores, |jobs| jobs as usize);
            let trial = runs.then(|| Trial { flows: args.flows.map(u64::from), jobs });
            let marking = match args.marking {
                MarkingArg::Port => Marking::Port,
                MarkingArg::Queue => Marking::Queue,
            };
            let deployment = Deployment { network, marking, trial };
            let wanted = wanted(Method::Background);
            let found = with_progress("", |progress| thresholds::advice(&wanted, &deployment, progress))?;
            show(args.json, &found, thresholds::advice_text)
        }
    }
}

/// Calls `work` with a function that shows the number of finished runs at a load, and their total.
fn with_progress<T>(
    at_most: &str,
    work: impl FnOnce(&(dyn Fn(f64, usize, usize) + Sync)) -> Result<T, Error>,
) -> Result<T, Error> {
    let (bar, on_terminal) = bar();
    let begun = Instant::now();
    let progress = |load: f64, done: usize, of: usize| {
        bar.set_position((done as f64 / of as f64 * STEPS as f64) as u64);
        let runs = format!("load {load}: {done} of {at_most}{of} runs");
        bar.set_message(format!("{runs}, {}", in_words(begun.elapsed().as_secs_f64())));
        if !on_terminal {
            tell(runs);
        }
    };
    let found = work(&progress);
    bar.finish_and_clear();
    found
}

fn search(args: &Thresholds, wanted: &Wanted) -> Result<Vec<thresholds::Found>, Error> {
    let search = Search {
        evaluations: args.evaluations.unwrap_or(EVALUATIONS) as usize,
        flows: args.flows.unwrap_or(FLOWS).into(),
        jobs: args.jobs.map_or_else(machine::cores, |jobs| jobs as usize),
    };
    with_progress("at most ", |progress| thresholds::simulate(wanted, search, progress))
}

/// Prints a single result for one load, and a list for several.
fn show<T: Serialize>(json: bool, found: &[T], text: impl Fn(&[T]) -> String) -> Result<(), Error> {
    match found {
        [one] if json => print_json(one),
        several if json => print_json(&several),
        found => print(&text(found)),
    }
}
