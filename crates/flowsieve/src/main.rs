//! `flowsieve`, the command of a researcher: runs experiments, shows and reports their results.

mod args;
mod progress;

use args::{Cli, Command, Flows, List, Report, Run, Thresholds, What};
use clap::{CommandFactory, Parser};
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_experiment::{Error, ResultDir, Simulator, catalogue, export, machine, report, thresholds};
use progress::{Progress, hops_in_words};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run(&args),
        Command::List(args) => list(&args),
        Command::Report(args) => show_report(&args),
        Command::Flows(args) => write_flows(&args),
        Command::Thresholds(args) => show_thresholds(args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "flowsieve", &mut std::io::stdout());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            eprintln!("{}", error.render(colour));
            ExitCode::from(if matches!(error, Error::Simulation { .. }) { 1 } else { 2 })
        }
    }
}

fn run(args: &Run) -> Result<(), Error> {
    let changes = Changes { sets: args.set.clone(), seeds: args.seeds, scale: args.scale.into() };
    let plan = plan::read(&args.file, &changes, &Simulator)?;
    let jobs = args.jobs.map_or_else(machine::cores, |jobs| jobs as usize);
    announce(&plan, jobs);
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.file));
    let progress = Progress::new(&plan);
    let result = execute(&plan, &Simulator, &out, How { jobs, fresh: args.fresh }, &|event| progress.show(event));
    progress.end();
    show(&result?)
}

/// What is about to be run, on the error stream: the results alone go to the output.
fn announce(plan: &Plan, jobs: usize) {
    eprintln!("{}", plan.experiment.title);
    let (points, runs) = (plan.points.len(), plan.runs.len());
    let jobs = jobs.min(runs);
    let hops = hops_in_words(plan.packet_hops());
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let (of_points, of_runs) = (s(points), s(runs));
    eprintln!("{points} point{of_points}, {runs} run{of_runs}, {jobs} at a time; about {hops} packet-hops in all");
    for load in &plan.loads {
        let nominal = load.nominal.map(|load| format!("load {load} ")).unwrap_or_default();
        let classes: Vec<String> = load.classes.iter().map(|(class, load)| format!("{class} {load:.3}")).collect();
        eprintln!("{nominal}on the wire, with ACKs and framing: {}", classes.join(", "));
    }
    for warning in &plan.warnings {
        eprintln!("warning: {warning}");
    }
}

fn default_out(file: &std::path::Path) -> PathBuf {
    PathBuf::from("results").join(file.file_stem().unwrap_or("experiment".as_ref()))
}

/// Prints the table of a result and writes its report.
fn show(result: &ResultDir) -> Result<(), Error> {
    let file = report::write(result)?;
    print(&format!("{}\nReport: {}\n", report::table(result), file.display()));
    Ok(())
}

fn list(args: &List) -> Result<(), Error> {
    print(&match args.what {
        What::Schemes => catalogue::schemes(&Simulator),
        What::Workloads => catalogue::workloads(),
        What::Topologies => catalogue::topologies()?,
        What::Experiments => catalogue::experiments(&args.folder),
        What::Settings => catalogue::settings(),
    });
    Ok(())
}

fn show_report(args: &Report) -> Result<(), Error> {
    show(&ResultDir::open(&args.dir)?)
}

fn write_flows(args: &Flows) -> Result<(), Error> {
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let plan = plan::read(&args.file, &changes, &Simulator)?;
    export::flows(&plan, args.seed, &mut std::io::BufWriter::new(std::io::stdout().lock()))
}

fn show_thresholds(args: Thresholds) -> Result<(), Error> {
    let wanted = thresholds::Wanted {
        workload: args.workload,
        cdf: args.cdf,
        load: args.load,
        queues: args.queues,
        method: args.method.into(),
    };
    print(&thresholds::thresholds(&wanted)?);
    Ok(())
}

/// Writes to the output. Whoever closed it early (`| head`) has seen enough.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
