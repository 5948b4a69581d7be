//! `flowsieve lab`: experiments with real packets on this machine.

mod own;
mod screen;
mod watch;

use super::run::{Run, run as run_experiment};
use super::{Planned, announce, default_out};
use crate::interruption;
use crate::output::{print, print_json, tell};
use crate::progress::shown;
use clap::{Args, Subcommand, ValueHint};
use flowsieve_engines::linux;
use flowsieve_engines::linux::doctor::{Findings, Measured};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::{Error, machine, plan};
use flowsieve_settings::Origin;
use flowsieve_studies::agreement::Agreement;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const LAB_EXAMPLES: &str = "\
Examples:
  flowsieve lab doctor
      what this machine permits, how many frames a second it carries, and which rates and hosts follow
  flowsieve lab run lab/demonstration
      a built-in experiment on this machine's own TCP, as root
  flowsieve lab run my.toml --set scheme=pias,qc-las --out results/linux
      your own; the same file without `lab` runs in the simulator
  flowsieve lab compare my.toml
      the simulator and two runs on Linux, flow by flow
  flowsieve lab clean
      removes what a lab that was killed has left";

const UP_EXAMPLES: &str = "\
Examples:
  flowsieve lab up fabric.toml
      hosts and the fabric between them, until `lab down`; a [workload] in the file is sent beside your programs
  flowsieve lab exec host0 -- nginx -g 'daemon off;'
      a program of your own in a host
  flowsieve lab exec host1 -- curl http://198.18.0.1/
      another one: host0 has the address 198.18.0.1, host1 198.18.0.2 …
  flowsieve lab watch
      what ports send, mark and drop, and what waits in their queues; q leaves; with --once a table and the end
  flowsieve lab down
      ends the lab and its programs, and shows the result: a flow for each direction of a connection
  flowsieve lab up fabric.toml --set scheme=qc-las --set message_gap=5ms --name second
      another lab beside the first; `--lab second` names it for the other commands";

/// What to do with the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Run an experiment with the TCP of this machine's Linux between network namespaces, one run at a time
    #[command(after_help = LAB_EXAMPLES)]
    Run(Box<Run>),
    /// Run an experiment in the simulator and twice on Linux, and say how far they agree, flow by flow
    #[command(after_help = LAB_EXAMPLES)]
    Compare(LabCompare),
    /// Build an experiment's fabric for programs of your own, and leave it running
    #[command(after_help = UP_EXAMPLES)]
    Up(LabUp),
    /// Run a program in a host of a lab that runs; its exit status is passed on
    #[command(after_help = UP_EXAMPLES)]
    Exec(LabExec),
    /// Show what the ports of a lab that runs do
    #[command(after_help = UP_EXAMPLES)]
    Watch(LabWatch),
    /// End a lab that runs, with the programs in it, and show its result
    #[command(after_help = UP_EXAMPLES)]
    Down(LabDown),
    /// Say what this machine permits and carries, and the delay of its hosts
    #[command(after_help = LAB_EXAMPLES)]
    Doctor,
    /// Remove the network namespaces and names of labs whose processes are gone
    #[command(after_help = LAB_EXAMPLES)]
    Clean,
}

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct LabCompare {
    #[command(flatten)]
    of: Planned,
    /// Where the three results go, and the times of all flows [default: results/ and the file's name, and -agreement]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Replace results of another experiment, scale or settings in the folder
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which lab to build.
#[derive(Debug, Args)]
pub(crate) struct LabUp {
    /// The experiment, with one scheme: a file, or the name of a built-in one. It needs no [workload]
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Change a setting, by its name or path
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The name by which other commands find it [default: the file's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the result goes [default: results/ and the file's name, with changes, and -lab]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Replace a result in the folder
    #[arg(long)]
    replace: bool,
    /// Stay in the foreground, until Ctrl-C or `lab down`
    #[arg(long)]
    foreground: bool,
    /// Where the messages of the process go that another one has started to hold the lab
    #[arg(long, hide = true, value_name = "FILE")]
    held: Option<PathBuf>,
}

/// Which lab that runs.
#[derive(Debug, Args)]
pub(crate) struct WhichLab {
    /// The lab's name, if several run
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

/// What to run where.
#[derive(Debug, Args)]
pub(crate) struct LabExec {
    #[command(flatten)]
    which: WhichLab,
    /// The host: its name in the fabric, or its number
    host: String,
    /// The program and its arguments
    #[arg(required = true, last = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// How to watch.
#[derive(Debug, Args)]
pub(crate) struct LabWatch {
    #[command(flatten)]
    which: WhichLab,
    /// Print the counts so far, and end
    #[arg(long)]
    once: bool,
    /// Print JSON, and end
    #[arg(long)]
    json: bool,
}

/// What to end.
#[derive(Debug, Args)]
pub(crate) struct LabDown {
    #[command(flatten)]
    which: WhichLab,
    /// Print the result as JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn lab(what: Lab, engines: &Engines) -> Result<(), Error> {
    match what {
        Lab::Run(args) => run(*args, engines),
        Lab::Compare(args) => compare(&args, engines),
        Lab::Up(args) => own::up(&args, engines),
        Lab::Exec(args) => own::exec(&args),
        Lab::Watch(args) => watch::watch(&args),
        Lab::Down(args) => own::down(&args),
        Lab::Doctor => {
            let findings = linux::doctor::examine()?;
            print(&in_words(&findings))?;
            let problem = "no lab runs on this machine; expected what is missing above";
            findings.measured.map(drop).ok_or_else(|| Error::Input(problem.to_owned()))
        }
        Lab::Clean => clean(),
    }
}

/// Runs an experiment on Linux, whatever engine its file names, and one run at a time unless more are asked for.
fn run(mut args: Run, engines: &Engines) -> Result<(), Error> {
    if args.options.make.threads.threads.is_some() {
        return Err(Error::Input(
            "--threads: packets on Linux take the kernel's time; expected no such option".to_owned(),
        ));
    }
    args.of.set.push("engine=linux".to_owned());
    args.options.make.jobs.jobs = args.options.make.jobs.jobs.or(Some(1));
    run_experiment(&args, engines)
}

/// The set of the simulator's sender that acts as the kernel's does.
const SENDER: &str = "parameters=linux";

/// Runs an experiment in the simulator and twice on Linux, each into a folder of its own. The simulator's sender is that of
/// Linux, whatever the file says, unless the command line says otherwise.
fn compare(args: &LabCompare, engines: &Engines) -> Result<(), Error> {
    let default_out = || default_out(&args.of.file, &args.of.changes(), "-agreement");
    let out = args.out.clone().unwrap_or_else(default_out);
    let says = |set: &String| {
        set.split_once('=')
            .is_some_and(|(key, _)| matches!(key.trim(), "parameters" | "run.parameters" | "sweep.parameters"))
    };
    let sender = (!args.of.set.iter().any(says)).then(|| SENDER.to_owned());
    if sender.is_some() {
        tell("the simulator has the sender of Linux: `parameters = \"linux\"`; another one with --set parameters=…");
    }
    let planned = |sets: Vec<String>| {
        let mut changes = args.of.changes();
        changes.sets.extend(sender.iter().cloned().chain(sets));
        plan::read(&args.of.file, &changes, engines)
    };
    let on_linux = planned(vec!["engine=linux".to_owned()])?;
    // What the lab takes where nothing is given is given to the simulator.
    let mut of_simulator = taken(&on_linux);
    of_simulator.push("engine=simulator".to_owned());
    // The simulator alone would take a scheme's times as they are stated.
    if scales_times_by_itself(&on_linux) {
        of_simulator.push("scale_times=true".to_owned());
    }
    let run = |plan: &Plan, folder: &str, jobs: usize| {
        announce(plan, jobs);
        interruption::answer()?;
        let how = How { jobs, threads: None, fresh: false, replace: args.replace };
        shown(plan, |show| execute(plan, engines, &out.join(folder), how, show))
    };
    let simulator = run(&planned(of_simulator)?, "simulator", machine::cores())?;
    let (linux, again) = (run(&on_linux, "linux", 1)?, run(&on_linux, "linux-again", 1)?);
    let agreement = Agreement::of(&simulator, &linux, &again)?;
    let path = out.join("flows.csv");
    write(&path, &agreement.flows_csv())?;
    let mut drawn = String::new();
    for (point, svg) in agreement.drawings() {
        let kept = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
        let path = out.join(format!("agreement-{}.svg", point.chars().map(kept).collect::<String>()));
        write(&path, &svg)?;
        let _ = writeln!(drawn, "Distribution and flows of {point}: {}", path.display());
    }
    if args.json {
        return print_json(&agreement);
    }
    print(&format!("{}\nThe times of all flows: {}\n{drawn}", agreement.in_words(), path.display()))
}

/// Returns what a plan for Linux gives its points, as changes of the command line.
fn taken(plan: &Plan) -> Vec<String> {
    let of_points = plan.points.iter().flat_map(|point| point.settings.all_given());
    let own = of_points.filter(|(.., origin)| matches!(origin, Origin::Default));
    own.map(|((_, name), value, _)| format!("{name}={value}")).collect::<BTreeSet<String>>().into_iter().collect()
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| Error::Input(format!("{}: cannot write it: {error}", path.display())))
}

/// Returns whether a plan for Linux scales times although its file does not say so.
fn scales_times_by_itself(plan: &Plan) -> bool {
    const NAME: &str = "scale_times";
    let given = plan.points.iter().any(|point| point.settings.all_given().any(|((_, name), ..)| *name == NAME));
    let acts = plan.experiment.points.iter().any(|point| point.settings.contains_key(&format!("lab.{NAME}")));
    acts && !given
}

fn clean() -> Result<(), Error> {
    let removed = linux::clean().map_err(in_words_of)?;
    let mut text = String::new();
    for name in linux::named::forget_killed() {
        let _ = writeln!(text, "removed the name {name}");
    }
    for namespace in &removed {
        let _ = writeln!(text, "removed the network namespace {namespace}");
    }
    if text.is_empty() {
        text.push_str("nothing was left by a lab\n");
    }
    print(&text)
}

/// Turns an error of the lab into one of the command.
fn in_words_of(error: flowsieve_engines::linux::LabError) -> Error {
    Error::Input(error.to_string())
}

fn in_words(findings: &Findings) -> String {
    let mut text = String::new();
    for line in findings.removed.iter().chain(&findings.machine) {
        let _ = writeln!(text, "{line}");
    }
    for permission in &findings.permissions {
        let answer = match &permission.problem {
            None => "yes".to_owned(),
            Some(problem) => format!("no: {problem}\n    without it: {}", permission.without),
        };
        let _ = writeln!(text, "{}: {answer}", permission.what);
    }
    text + &findings.measured.as_ref().map_or(String::new(), carried)
}

/// What two hosts carried, and what follows.
fn carried(measured: &Measured) -> String {
    let delay = format_us(measured.host_delay.0);
    let mut text = format!(
        "frames: {:.0} a second of the fabric's thread, ACKs included; {:.3} % left more than 1 ms late\n\
         other systems on this hardware: {:.1} % of the processors' time\n\
         delay of a host: {delay}; give host_delay = \"{delay}\" for the simulator\n\
         at a load of 0.6:",
        measured.frames_per_cpu_second,
        100.0 * measured.late,
        100.0 * measured.stolen,
    );
    for hosts in [2, 4, 8, 16] {
        let _ = write!(text, " {hosts} hosts at {:.0} Mbit/s;", measured.most_mbps(hosts));
    }
    text.pop();
    text + "\n"
}

/// Writes a time in whole microseconds.
fn format_us(ps: u64) -> String {
    format!("{}us", (ps + 500_000) / 1_000_000)
}
