//! `flowsieve thresholds`: computed ones, and the search for them with its progress.

use crate::args::{MethodArg, Thresholds};
use crate::output::{print, print_json, tell};
use crate::progress::{STEPS, bar, in_words};
use flowsieve_experiment::thresholds::{self, Column, Link, Method, Search, Wanted};
use flowsieve_experiment::{Error, machine};
use serde::Serialize;
use std::time::Instant;

/// Sets of thresholds, and flows of a run, where the command line says nothing.
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
    for (name, option) in [("evaluations", args.evaluations), ("flows", args.flows), ("jobs", args.jobs)] {
        if option.is_some() {
            return Err(Error::Input(format!("--{name}: expected --method simulate, which alone runs flows")));
        }
    }
    match method.flatten() {
        Some(method) => show(args.json, &thresholds::thresholds(&wanted(method))?, thresholds::text),
        None => {
            let link = Link { rate_bps: args.rate, rtt_ps: args.rtt };
            show(args.json, &thresholds::advice(&wanted(Method::Background), link)?, thresholds::advice_text)
        }
    }
}

fn search(args: &Thresholds, wanted: &Wanted) -> Result<Vec<thresholds::Found>, Error> {
    let search = Search {
        evaluations: args.evaluations.unwrap_or(EVALUATIONS) as usize,
        flows: args.flows.unwrap_or(FLOWS).into(),
        jobs: args.jobs.map_or_else(machine::cores, |jobs| jobs as usize),
    };
    let (bar, on_terminal) = bar();
    let begun = Instant::now();
    let progress = |load: f64, done: usize, of: usize| {
        bar.set_position((done as f64 / of as f64 * STEPS as f64) as u64);
        bar.set_message(format!(
            "load {load}: {done} of at most {of} runs, {}",
            in_words(begun.elapsed().as_secs_f64())
        ));
        if !on_terminal {
            tell(format!("load {load}: {done} of at most {of} runs"));
        }
    };
    let found = thresholds::simulate(wanted, search, &progress);
    bar.finish_and_clear();
    found
}

/// Of one load that alone, of several a list.
fn show<T: Serialize>(json: bool, found: &[T], text: impl Fn(&[T]) -> String) -> Result<(), Error> {
    match found {
        [one] if json => print_json(one),
        several if json => print_json(&several),
        found => print(&text(found)),
    }
}
