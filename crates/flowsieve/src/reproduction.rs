//! `flowsieve reproduce`.

use std::path::PathBuf;

use flowsieve_experiment::execute::{How, execute_sharing};
use flowsieve_experiment::plan::{Changes, Plan};
use flowsieve_experiment::{Error, Simulator, machine, report, reproduce};

use crate::announce;
use crate::args::Reproduce;
use crate::output::{print, tell};
use crate::progress::{Progress, hops_in_words, in_words};
use crate::resolving::Resolving;

pub(crate) fn reproduce(args: &Reproduce) -> Result<(), Error> {
    let changes = Changes { sets: Vec::new(), seeds: args.seeds, scale: args.scale.into(), resolve: args.resolve };
    let mut reproduction = reproduce::read(&args.folder, &args.what, &changes, &Simulator)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&reproduction.paper));
    let (jobs, parts) = (args.jobs.map_or_else(machine::cores, |jobs| jobs as usize), out.join("parts"));
    let estimate = reproduction.estimate(&parts);
    tell(format!(
        "{}: {} experiments, {} points, {} runs, of which {} are to be made: about {} packet-hops, {} with {jobs} at a time",
        reproduction.paper,
        reproduction.figures.len(),
        estimate.points,
        estimate.runs,
        estimate.left,
        hops_in_words(estimate.packet_hops),
        in_words(estimate.seconds(jobs)),
    ));
    if args.dry_run {
        return Ok(());
    }
    let names: Vec<String> = reproduction.figures.iter().map(|figure| figure.name.clone()).collect();
    let run = |figure: usize, plan: &Plan| {
        let progress = Progress::new(plan);
        let how = How { jobs, fresh: false };
        let folder = out.join(&names[figure]);
        let result = execute_sharing(plan, &Simulator, &folder, &parts, how, &|event| progress.show(event));
        progress.end();
        result
    };
    let mut results = Vec::new();
    for (index, figure) in reproduction.figures.iter().enumerate() {
        announce(&figure.plan, jobs);
        results.push(run(index, &figure.plan)?);
    }
    if args.resolve {
        let plans = reproduction.figures.iter_mut().map(|figure| &mut figure.plan);
        let mut figures: Vec<_> = plans.zip(&mut results).collect();
        Resolving { metric: None, budget: args.budget.0, jobs }.go_on(&mut figures, &run)?;
    }
    for result in &results {
        report::write(result)?;
    }
    let page = args.page.clone().unwrap_or_else(|| out.join("reproduction.md"));
    let text = reproduction.page(&results);
    std::fs::write(&page, &text)
        .map_err(|error| Error::File { path: page.display().to_string(), problem: error.to_string() })?;
    print(&format!("{text}\nPage: {}\n", page.display()))
}
