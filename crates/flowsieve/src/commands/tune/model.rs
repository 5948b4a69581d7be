//! `flowsieve tune --model`: thresholds by a queueing model, at once, or searched for in the simulator.

use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_settings::files::{Existing, check_new};
use flowsieve_studies::configuration::{Configured, Ports};
use flowsieve_studies::configure::System;
use flowsieve_studies::thresholds::{self as studies, Deployment, Network, Search, Trial};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Distribution, ModelOptions, Tune, tell_of};
use crate::output::{print, print_json, tell};
use crate::papers::TABLES;
use crate::progress::{STEPS, bar, in_words};
use crate::values::{Marking, Method, Rate, Span, Time};
/// Defaults of the model: the load, the link, the sets of thresholds of a search, and the flows of its runs.
const LOAD: f64 = 0.8;
const RATE: Rate = Rate { bps: 10_000_000_000 };
const RTT: Time = Time { ps: 80_000_000 };
const EVALUATIONS: u32 = 100;
const FLOWS: u32 = 2_000;

/// Thresholds for each load.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Computed {
    /// By one method.
    By(Vec<studies::Thresholds>),
    /// By all methods, with a recommendation.
    Advice(Vec<studies::Advice>),
    /// Searched for in the simulator.
    Found(Vec<studies::Found>),
}

/// Where the model's thresholds are to be used.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The fabric; `None`: one switch.
    pub fabric: Option<PathBuf>,
    /// Whether a short simulation compares them with one queue there.
    pub check: bool,
    /// The ports to write configuration for.
    pub ports: Option<Ports>,
}

/// Called with a load, the number of its finished runs, and their largest number.
type ShowRuns<'a> = &'a (dyn Fn(f64, usize, usize) + Sync);

/// Computes thresholds by the model as the options say, or searches for them.
///
/// # Errors
/// Fails if the options contradict one another, the sizes cannot be read, or a run fails.
pub fn computed(
    of: &Distribution,
    place: Place,
    options: &ModelOptions,
    show: ShowRuns<'_>,
) -> Result<Computed, Error> {
    let ModelOptions { ask, by } = options;
    let input = |problem: String| Err(Error::Input(problem));
    if of.workload.is_none() && of.cdf.is_none() && of.sizes.is_none() {
        return input("sizes of flows: expected --workload, --cdf or --sizes by the model".to_owned());
    }
    let queues = match ask.queues {
        Some(Span { fewest, most }) if fewest != most => {
            return input(format!("--queues {fewest}..{most}: expected one number by the model, such as {most}"));
        }
        queues => queues.map(|queues| queues.most),
    };
    of.say()?;
    let loads = Some(ask.loads()?).filter(|loads| !loads.is_empty()).unwrap_or_else(|| vec![LOAD]);
    let wanted = |method| of.wanted(loads.clone(), queues, method);
    let (method, jobs) = (by.method.map(Method::computed), ask.jobs.count());
    if method != Some(None) && by.evaluations.is_some() {
        return input("--evaluations: expected --method simulate; no other method searches".to_owned());
    }
    let runs = place.check || method == Some(None);
    let without_runs = [("flows", ask.flows.is_some()), ("jobs", ask.jobs.jobs.is_some())];
    if let (false, Some((name, _))) = (runs, without_runs.into_iter().find(|(_, is_given)| *is_given)) {
        return input(format!(
            "--{name}: expected a short simulation, or --method simulate; otherwise no flows are run"
        ));
    }
    let of_link = [("rate", !by.rate.is_empty()), ("rtt", by.rtt.is_some())];
    let of_link = of_link.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
    if let Some(method) = method {
        let marking = (!ask.marking.is_empty()).then_some("marking");
        let ports = place.ports.is_some().then_some("ports");
        if let Some(name) = of_link.or(marking).or(ports) {
            return input(format!("--{name}: expected no --method; the thresholds of one method are for any link"));
        }
        if place.check || place.fabric.is_some() {
            return input(
                "--method: expected neither a fabric nor a check; they are for the thresholds to take".to_owned(),
            );
        }
        let Some(method) = method else {
            let evaluations = by.evaluations.unwrap_or(EVALUATIONS) as usize;
            let search = Search { evaluations, flows: ask.flows.unwrap_or(FLOWS).into(), jobs };
            return studies::simulate(&wanted(studies::Method::Pias), search, show).map(Computed::Found);
        };
        return studies::thresholds(&wanted(method)).map(Computed::By);
    }
    let marking = match &*ask.marking {
        [] => Marking::Queue,
        [marking] => *marking,
        _ => return input("--marking: expected one of queue and port by the model".to_owned()),
    };
    let network = match (place.fabric, of_link) {
        (Some(_), Some(name)) => {
            return input(format!("--{name}: expected no fabric, which has rates and a round trip of its own"));
        }
        (Some(path), None) => Network::Fabric(path, TABLES),
        (None, _) => {
            let rates = if by.rate.is_empty() { &[RATE][..] } else { &by.rate };
            let rates_bps = rates.iter().map(|rate| rate.bps).collect();
            Network::Switch { rates_bps, rtt_ps: by.rtt.unwrap_or(RTT).ps }
        }
    };
    let trial = place.check.then(|| Trial { flows: ask.flows.map(u64::from), jobs });
    let deployment = Deployment { network, marking: marking.into(), trial, ports: place.ports };
    studies::advice(&wanted(studies::Method::Background), &deployment, show).map(Computed::Advice)
}

pub(super) fn by_model(args: &Tune) -> Result<(), Error> {
    let (ports, existing, out) = (args.ports.ports()?, Existing::replaced(args.ports.replace), args.out());
    if ports.is_some() {
        let files = System::ALL.into_iter().flat_map(|system| [system.file().to_owned(), system.rollback_file()]);
        for path in files.map(|file| out.join(file)) {
            check_new(&path, existing).map_err(failed(&path))?;
        }
    } else if args.out.is_some() || args.ports.replace {
        let problem = "--out and --replace: expected --ports; a model writes configuration alone";
        return Err(Error::Input(problem.to_owned()));
    }
    let at_most = if matches!(args.by.method, Some(Method::Simulate)) { "at most " } else { "" };
    let place = Place { fabric: args.fabric.clone(), check: args.check, ports: ports.clone() };
    let options = ModelOptions { ask: args.ask.clone(), by: args.by.clone() };
    match with_progress(at_most, |show| computed(&args.of, place, &options, show))? {
        Computed::By(found) => print_found(args.json, &found, studies::text),
        Computed::Advice(found) => {
            print_found(args.json, &found, studies::advice_text)?;
            let [advice] = &*found else { return Ok(()) };
            ports.map_or(Ok(()), |ports| write(&out, existing, &advice.configuration(&ports)))
        }
        Computed::Found(found) => print_found(args.json, &found, studies::found_text),
    }
}

/// Writes a file for each system that can state the advice, and says which cannot, and why.
fn write(folder: &Path, existing: Existing, (files, texts): &Configured) -> Result<(), Error> {
    if !texts.is_empty() {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    for (file, text) in texts {
        write_text(&folder.join(file), existing, text)?;
    }
    tell_of(folder, files);
    Ok(())
}

/// Calls `work` with a function that shows the number of finished runs at a load, and their total.
fn with_progress<T>(at_most: &str, work: impl FnOnce(ShowRuns<'_>) -> Result<T, Error>) -> Result<T, Error> {
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
