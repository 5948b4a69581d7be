//! `flowsieve thresholds`: computes thresholds, or searches for them and shows progress.

use crate::args::Thresholds;
use crate::configuring;
use crate::options::{self, Distribution, ThresholdsOptions};
use crate::output::{print, print_json, tell};
use crate::progress::{STEPS, bar, in_words};
use flowsieve_experiment::Error;
use flowsieve_studies::thresholds::{self, Deployment, Method, Network, Search, Trial};
use serde::Serialize;
use std::time::Instant;

/// Defaults for the number of sets of thresholds, and for the flows of a run.
const EVALUATIONS: u32 = 100;
const FLOWS: u32 = 2_000;

/// Thresholds for each load.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Computed {
    /// By one method.
    By(Vec<thresholds::Thresholds>),
    /// By all methods, with a recommendation.
    Advice(Vec<thresholds::Advice>),
    /// Searched for in the simulator.
    Found(Vec<thresholds::Found>),
}

/// Called with a load, the number of its finished runs, and their largest number.
type Show<'a> = &'a (dyn Fn(f64, usize, usize) + Sync);

/// Computes thresholds as the options say, or searches for them.
///
/// # Errors
/// Fails if the options contradict one another, the sizes cannot be read, or a run fails.
pub fn computed(of: &Distribution, options: &ThresholdsOptions, show: Show<'_>) -> Result<Computed, Error> {
    let wanted = |method| of.wanted(options.load.clone(), options.queues, method);
    let (method, jobs) = (options.method.map(options::Method::computed), options.jobs.count());
    if let Some(None) = method {
        let evaluations = options.evaluations.unwrap_or(EVALUATIONS) as usize;
        let search = Search { evaluations, flows: options.flows.unwrap_or(FLOWS).into(), jobs };
        return thresholds::simulate(&wanted(Method::Pias), search, show).map(Computed::Found);
    }
    if options.evaluations.is_some() {
        return Err(Error::Input("--evaluations: expected --method simulate; no other method searches".to_owned()));
    }
    let runs = method.is_none() && !options.model_only;
    for (name, option) in [("flows", options.flows), ("jobs", options.jobs.jobs)] {
        if option.is_some() && !runs {
            let problem = format!(
                "--{name}: expected --method simulate, or no --method and no --model-only; otherwise no flows are run"
            );
            return Err(Error::Input(problem));
        }
    }
    if let Some(method) = method.flatten() {
        return thresholds::thresholds(&wanted(method)).map(Computed::By);
    }
    let network = match &options.fabric {
        Some(path) => Network::Fabric(path.clone()),
        None => {
            Network::Switch { rates_bps: options.rate.iter().map(|rate| rate.bps).collect(), rtt_ps: options.rtt.ps }
        }
    };
    let trial = runs.then(|| Trial { flows: options.flows.map(u64::from), jobs });
    let deployment = Deployment { network, marking: options.marking.into(), trial };
    thresholds::advice(&wanted(Method::Background), &deployment, show).map(Computed::Advice)
}

pub(crate) fn thresholds(args: &Thresholds) -> Result<(), Error> {
    configuring::check(&args.configuration, &args.options)?;
    let at_most = if matches!(args.options.method, Some(options::Method::Simulate)) { "at most " } else { "" };
    let found = with_progress(at_most, |show| computed(&args.of, &args.options, show))?;
    match found {
        Computed::By(found) => print_found(args.json, &found, thresholds::text),
        Computed::Advice(found) => {
            print_found(args.json, &found, thresholds::advice_text)?;
            configuring::write(&args.configuration, &found)
        }
        Computed::Found(found) => print_found(args.json, &found, thresholds::found_text),
    }
}

/// Calls `work` with a function that shows the number of finished runs at a load, and their total.
fn with_progress<T>(at_most: &str, work: impl FnOnce(Show<'_>) -> Result<T, Error>) -> Result<T, Error> {
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

/// Prints a single result for one load, and a list for several.
fn print_found<T: Serialize>(json: bool, found: &[T], text: impl Fn(&[T]) -> String) -> Result<(), Error> {
    match found {
        [one] if json => print_json(one),
        several if json => print_json(&several),
        found => print(&text(found)),
    }
}
