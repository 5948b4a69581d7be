//! The command `flowsieve`, which runs experiments and shows and reports their results, as a function. A program that
//! passes custom schemes is the complete command with these schemes in it (docs/extend).

mod args;
mod commands;
mod completions;
mod converting;
mod exporting;
mod following;
mod init;
mod interruption;
#[cfg(target_os = "linux")]
mod lab;
pub mod options;
mod output;
mod progress;
mod reproduction;
mod resolving;
mod spreading;
mod values;
mod verifying;

use args::{Cli, Coflows, Command, Compare, Doctor, Explain, Flows, Forest, List, Report, Run, Traced};
use clap::Parser;
use commands::tune::{self, as_tune};
pub use commands::tune::{Computed, Making, Place, Step, computed, tuned};
pub use exporting::{export_to, refused};
use flowsieve_engines::Packets;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_experiment::{Error, lookup};
use flowsieve_linux::free_memory_soon;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use flowsieve_results::claims::Measured;
use flowsieve_schemes::Entry;
use flowsieve_settings::Key;
use flowsieve_studies::explain::{self, Detail, Explained};
use flowsieve_studies::{against, catalogue, export};
use options::ReportOptions;
use output::{errors_in_colour, in_colour, is_closed_output, print, print_json, tell, to_output};
use progress::shown;
use resolving::{Resolvable, Resolving};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Asks for huge pages, without which large fabrics spend much of their time translating addresses (docs/reference/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The commit that the program is built from, with a `+` if its sources have changed since; `unknown` without a repository.
pub const COMMIT: &str = env!("FLOWSIEVE_COMMIT");

/// Exit status if the simulation failed, or the report of an existing result, or if a result is not the same again.
const FAILED: u8 = 1;
/// Exit status if something in files, arguments or folders must be changed.
const WRONG: u8 = 2;

/// Commands of earlier versions, and what replaced them.
const REPLACED: [(&str, &str); 2] = [
    (
        "validate",
        "its cases are tests of the engine, and `flowsieve compare --against FOLDER` replays another simulator's runs",
    ),
    ("vectors", "the lab's tests write them, see crates/lab/tests/vectors of the source"),
];

/// Executes the command line, with custom schemes in addition to the built-in ones. It is all that `main` has to call:
/// `flowsieve::main_with(&[scheme::ENTRY], &[])`. `settings`: the settings that these schemes declare.
pub fn main_with(schemes: &'static [Entry], settings: &'static [&'static Key]) -> ExitCode {
    free_memory_soon();
    carry_out(std::env::args_os(), schemes, settings).into()
}

/// Executes the given command line, the program's name first; returns the exit status.
pub fn carry_out(
    arguments: impl IntoIterator<Item = OsString>,
    schemes: &'static [Entry],
    settings: &'static [&'static Key],
) -> u8 {
    interruption::heed_file_limit();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let replaced = |name: &OsString| REPLACED.iter().find(|(command, _)| name == command);
    if let Some((command, instead)) = arguments.get(1).and_then(replaced) {
        tell(format!("error: there is no command `{command}` any more: {instead}"));
        return WRONG;
    }
    let command = match Cli::try_parse_from(as_tune(arguments)) {
        Ok(cli) => cli.command,
        Err(said) => {
            let text = said.render();
            if said.use_stderr() {
                tell(if errors_in_colour() { text.ansi().to_string() } else { text.to_string() }.trim_end());
                return WRONG;
            }
            // Help and version are output; it is no error if their reader has gone.
            let _ = print(&if in_colour() { text.ansi().to_string() } else { text.to_string() });
            return 0;
        }
    };
    match Packets::new(schemes, settings).and_then(|packets| do_what_it_says(command, packets)) {
        Ok(()) => 0,
        Err(error) if is_closed_output(&error) => 0,
        Err(error) => {
            tell(error.render(errors_in_colour()));
            if matches!(error, Error::Simulation { .. } | Error::NotValid { .. } | Error::Unreported(_)) {
                FAILED
            } else {
                WRONG
            }
        }
    }
}

fn do_what_it_says(command: Command, packets: Packets) -> Result<(), Error> {
    let unguarded = matches!(&command, Command::Run(args) if args.options.make.no_guard);
    let engines = flowsieve_engines::of(if unguarded { packets.without_guard() } else { packets })?;
    let engines = &engines.of_commit(COMMIT);
    match command {
        Command::Run(args) => run(&args, engines),
        Command::Plan(args) => spreading::plan(&args, engines),
        Command::Join(args) => spreading::join(&args, engines),
        Command::Pack(args) => spreading::pack(&args, engines),
        Command::Verify(args) => verifying::verify(&args, engines),
        Command::List(args) => list(&args, engines),
        Command::Init(args) => init::init(&args),
        Command::Explain(args) => explained(&args, engines),
        Command::Report(args) => show(&args),
        Command::Compare(args) => compare(&args, engines),
        Command::Doctor(args) => doctor(&args),
        Command::Export(args) => exporting::write_export(&args),
        Command::Reproduce(args) => reproduction::reproduce(&args, engines),
        Command::Flows(args) => write_flows(&args, engines),
        Command::Coflows(args) => write_coflows(&args),
        Command::Convert(args) => converting::convert(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Forest { what } => forest(&what),
        #[cfg(target_os = "linux")]
        Command::Lab { what } => lab::lab(what, engines),
        Command::Completions { shell, result: None } => print(&completions::script(shell, engines)),
        Command::Completions { result: Some(result), .. } => print(&completions::compared(&ResultDir::open(result)?)),
    }
}

fn run(args: &Run, engines: &Engines) -> Result<(), Error> {
    let resolve = args.resolve.is_some();
    let mut changes = Changes { resolve, ..args.of.changes() };
    changes.sets.extend(args.screen.map(|every| format!("screen={every}")));
    let plan = plan::read(&args.of.file, &changes, engines)?;
    if let Some(which) = &args.follow_flow {
        return following::follow(&plan, engines, which, args.json);
    }
    let jobs = args.options.make.jobs();
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.of.file, &changes, ""));
    let threads = args.options.make.threads.count();
    tell_of_threads(&plan, engines, threads)?;
    if spreading::run_some(args, &plan, engines, &out, jobs)? {
        return Ok(());
    }
    let resolving = args.resolve.as_deref().map(|metric| Resolving {
        metric: Some(metric),
        begun: Instant::now(),
        budget: args.budget.0,
        jobs,
    });
    if let Some(resolving) = &resolving {
        resolving.of_metric(&plan)?;
    }
    announce(&plan, jobs);
    interruption::answer()?;
    let (fresh, replace) = (args.options.make.fresh, args.options.replace);
    let mut resolved = Resolved { plan, engines, result: None, out, jobs, threads, fresh, replace };
    resolved.make()?;
    if let Some(resolving) = resolving {
        resolving.go_on(std::slice::from_mut(&mut resolved))?;
    }
    resolved.result.map_or(Ok(()), |result| show_result(&result, &ReportOptions::default(), args.json))
}

/// An experiment whose claims are to be resolved.
struct Resolved<'a> {
    plan: Plan,
    engines: &'a Engines,
    result: Option<ResultDir>,
    out: PathBuf,
    jobs: usize,
    threads: Option<usize>,
    fresh: bool,
    replace: bool,
}

impl Resolvable for Resolved<'_> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    fn measured(&self) -> Measured {
        self.result.as_ref().map_or_else(Measured::default, ResultDir::measured)
    }

    fn is_made(&self, key: &str) -> bool {
        self.out.join("parts").join(key).exists()
    }

    fn make(&mut self) -> Result<(), Error> {
        let (jobs, threads, fresh) = (self.jobs, self.threads, std::mem::take(&mut self.fresh));
        let how = How { jobs, threads, fresh, replace: self.replace };
        let result = shown(&self.plan, |show| execute(&self.plan, self.engines, &self.out, how, show))?;
        self.result = Some(result);
        Ok(())
    }
}

/// Says which points are run on one thread although more are asked for, and why; each reason once.
fn tell_of_threads(plan: &Plan, engines: &Engines, threads: Option<usize>) -> Result<(), Error> {
    let Some(threads) = threads.filter(|threads| *threads > 1) else { return Ok(()) };
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for (number, point) in plan.points.iter().enumerate() {
        let Some(run) = plan.runs.iter().find(|run| run.point == number) else { continue };
        let Some(reason) = engines.one_thread(point, run.seed, threads)? else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, points)) => *points += 1,
            None => reasons.push((reason, 1)),
        }
    }
    for (reason, points) in reasons {
        let of =
            if points == plan.points.len() { "all".to_owned() } else { format!("{points} of {}", plan.points.len()) };
        tell(format!("one thread for {of} points: {reason}"));
    }
    Ok(())
}

/// Announces the runs on the error stream: only results go to the output.
fn announce(plan: &Plan, jobs: usize) {
    let (points, runs) = (plan.points.len(), plan.runs.len());
    let jobs = jobs.min(runs);
    let hops = hops_in_words(plan.packet_hops());
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let (of_points, of_runs) = (s(points), s(runs));
    let title = &plan.experiment.title;
    tell(format!(
        "{title}: {points} point{of_points}, {runs} run{of_runs}, {jobs} at a time; about {hops} packet-hops"
    ));
    if let Some(trace) = plan.trace() {
        let (packets, size) = (hops_in_words(trace.packets), report::size(trace.bytes.round() as u64));
        tell(format!("packet traces: about {packets} packets, {size}"));
    }
    for warning in &plan.warnings {
        tell(format!("warning: {warning}"));
    }
}

/// Returns the default folder for an experiment, scale and set of changes; `more` ends its name.
fn default_out(file: &Path, changes: &Changes, more: &str) -> PathBuf {
    let name = file.file_stem().unwrap_or("experiment".as_ref()).to_string_lossy();
    PathBuf::from("results").join(format!("{name}{}{more}", changes.suffix()))
}

/// Prints the table of a result, or JSON, and writes its report.
fn show_result(result: &ResultDir, options: &ReportOptions, json: bool) -> Result<(), Error> {
    let layout = options.layout(result)?;
    let report = report::write(result, &layout);
    if json {
        print_json(&report::table_json(result, &layout))?;
    } else {
        print(&report::table(result, &layout, in_colour()))?;
    }
    // The results are printed; a failure of the report is shown in addition, and in the exit status.
    match report.map_err(Error::Unreported)? {
        file if !json => print(&format!("\nReport: {}\n", file.display())),
        _ => Ok(()),
    }
}

fn show(args: &Report) -> Result<(), Error> {
    show_result(&ResultDir::open(&args.of.dir)?, &args.options, args.of.json)
}

fn list(args: &List, engines: &Engines) -> Result<(), Error> {
    let folder = lookup::catalogue(args.folder.as_deref());
    let (what, word) = (args.what.into(), args.word.as_deref());
    if args.json {
        return print_json(&catalogue::json(what, word, engines, &folder)?);
    }
    print(&catalogue::text(what, word, engines, &folder)?)
}

fn explained(args: &Explain, engines: &Engines) -> Result<(), Error> {
    let detail = if args.all { Detail::All } else { Detail::Short };
    let explained = explain::explain(&args.name, detail, engines)?;
    if args.json {
        return print_json(&explained);
    }
    print(&explained.iter().map(Explained::text).collect::<Vec<_>>().join("\n"))
}

fn compare(args: &Compare, engines: &Engines) -> Result<(), Error> {
    let Some(dir) = &args.dir else {
        return args.against.as_deref().map_or(Ok(()), |folder| against(folder, args.json, engines));
    };
    let result = ResultDir::open(dir)?;
    let compared = args.options.compared(&result, args.value.as_deref().zip(args.baseline.as_deref()))?;
    if args.json {
        return print_json(&compared);
    }
    let text = |compared: &report::Compared| compared.text(in_colour());
    print(&compared.iter().map(text).collect::<Vec<_>>().join("\n"))
}

/// Replays the runs of other simulators in a folder.
fn against(folder: &Path, json: bool, engines: &Engines) -> Result<(), Error> {
    let replay = |run: &against::Recorded| {
        tell(format!("replaying {}", run.name));
        run.replay(engines)
    };
    let agreements = against::recorded(folder)?.iter().map(replay).collect::<Result<Vec<_>, _>>()?;
    if json { print_json(&agreements) } else { print(&against::table(&agreements)) }
}

fn doctor(args: &Doctor) -> Result<(), Error> {
    let result = ResultDir::open(&args.of.dir)?;
    if args.of.json {
        return print_json(&report::doctor_json(&result));
    }
    print(&report::doctor(&result))
}

fn write_flows(args: &Flows, engines: &Engines) -> Result<(), Error> {
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let plan = plan::read(&args.file, &changes, engines)?;
    to_output(|out| export::flows(&plan, args.seed.unwrap_or(plan.first_seed()), out))
}

fn write_coflows(args: &Coflows) -> Result<(), Error> {
    let mut left_out = None;
    to_output(|out| {
        left_out = export::coflows(&args.file, args.hosts, args.like.into(), out)?;
        Ok(())
    })?;
    if let Some(left_out) = left_out {
        tell(left_out);
    }
    Ok(())
}

fn forest(what: &Forest) -> Result<(), Error> {
    let read = |of: &Traced| flowsieve_engines::forest::Predicted::read(&of.forest, &of.trace, of.from);
    match what {
        Forest::Apply { of } => {
            let predicted = read(of)?;
            to_output(|out| predicted.write(out))
        }
        Forest::Trace { name, calibration, seed } => to_output(|out| export::stand_in(name, calibration, *seed, out)),
        Forest::Import(args) => to_output(|out| export::flux(&args.files, args.layout(), out)),
        Forest::Report { of, json } => {
            let worth = read(of)?.worth(&flowsieve_engines::forest::SizeClasses::default());
            if *json {
                return print_json(&worth);
            }
            print(&flowsieve_engines::forest::text(&worth))
        }
    }
}
