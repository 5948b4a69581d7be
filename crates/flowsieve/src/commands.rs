//! The commands: a file each, with its options, its call and its words. Here are their list, and what several of them need.

#[cfg(target_os = "linux")]
mod agent;
mod canary;
mod coflows;
mod compare;
mod completions;
mod convert;
mod doctor;
mod explain;
pub(crate) mod export;
mod flows;
mod init;
mod join;
#[cfg(target_os = "linux")]
mod lab;
mod list;
mod pack;
mod plan;
mod report;
#[cfg(feature = "papers")]
mod reproduce;
mod run;
pub(crate) mod tune;
mod verify;

use crate::options::{ChangeOptions, ReportOptions};
use crate::output::{in_colour, print, print_json, tell};
use crate::papers;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{Changes, Plan};
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_results::ResultDir;
use flowsieve_results::timeline::Timeline;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Simulates data-centre fabrics, and compares schemes that schedule flows with the few priority queues of real
/// switches.
#[derive(Debug, Parser)]
#[command(version = env!("FLOWSIEVE_VERSION"), after_help = examples())]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command that only the feature `papers` has.
const REPRODUCE: &str =
    if cfg!(feature = "papers") { "\n  flowsieve reproduce awafs/fig05-03 --scale quick" } else { "" };

fn examples() -> String {
    format!(
        "\
Examples:
  flowsieve run quickstart
  flowsieve run quickstart --set load=0.9 --set scheme=pias,pfabric --seeds 5
  flowsieve init
  flowsieve list schemes
  flowsieve explain ecn_threshold
  flowsieve report results/quickstart
  flowsieve compare results/quickstart pias dctcp
  flowsieve doctor results/quickstart{REPRODUCE}
  flowsieve tune --model --workload web-search --load 0.8 --queues 8
  flowsieve convert flow.txt -o flows.csv --with topology.txt

Exit status: 0 success; 1 the simulation failed, or `verify` found other bytes; 2 the file, the arguments or the folders need a change."
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment and show how its schemes compare
    Run(run::Run),
    /// Show which runs an experiment has and what they need, without running them
    Plan(plan::Plan),
    /// Join runs that were made elsewhere into a result
    Join(join::Join),
    /// Put an experiment and every file that it names into one file, for other machines
    Pack(pack::Pack),
    /// Make the runs of a bundle or a result again: do they give the same bytes?
    Verify(verify::Verify),
    /// List the available schemes, workloads, settings and more
    List(list::List),
    /// Explain a setting, scheme, workload, kind of fabric or metric
    Explain(explain::Explain),
    /// Write a first experiment, or a crate for a scheme of your own
    Init(init::Init),
    /// Show a result again, and write its report.html
    Report(report::Report),
    /// Compare schemes over the same flows, or another simulator's runs with ours
    Compare(compare::Compare),
    /// Say what looks wrong in a result
    Doctor(doctor::Doctor),
    /// Write a result for a paper or a program: tables and figures as LaTeX, SVG, PDF or CSV
    Export(export::Export),
    /// Run a paper's experiments and compare them with its claims
    #[cfg(feature = "papers")]
    Reproduce(reproduce::Reproduce),
    /// Write the flows of an experiment, or of a stand-in for a trace, as a list for replay
    Flows(flows::Flows),
    /// Write the flows of a coflow trace as a list that can be replayed
    Coflows(coflows::Coflows),
    /// Convert another simulator's file: flows, a topology or a distribution of flow sizes
    Convert(convert::Convert),
    /// Find what would help a fabric's traffic, by simulation or at once by a model
    Tune(Box<tune::Tune>),
    /// Judge a change at some hosts by their latencies next to others', before and after
    Canary(canary::Canary),
    /// Record the sizes of this host's messages, and tag its packets by them
    #[cfg(target_os = "linux")]
    Agent {
        /// What to do
        #[command(subcommand)]
        what: agent::Agent,
    },
    /// Run experiments with real packets, by the TCP of this machine's Linux
    #[cfg(target_os = "linux")]
    Lab {
        /// What to do
        #[command(subcommand)]
        what: lab::Lab,
    },
    /// Print a script that completes commands and names in a shell
    Completions(completions::Completions),
}

/// The commands by what they are for, as `--help` lists them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Run and look", &["init", "list", "explain", "run", "plan", "report", "doctor", "completions"]),
    ("Compare and export", &["compare", "export", "flows", "coflows", "convert"]),
    ("For operators", &["tune", "agent", "canary", "lab", "pack", "join"]),
    ("For papers", &["reproduce", "verify"]),
];

/// Returns the command line as clap describes it, with its commands in groups: clap has none.
pub(crate) fn cli() -> clap::Command {
    let cli = Cli::command();
    let (header, literal) = (*cli.get_styles().get_header(), *cli.get_styles().get_literal());
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(template, "\n{header}{group}:{header:#}");
        for command in names.iter().filter_map(|name| cli.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {literal}{:<width$}{literal:#}  {about}", command.get_name());
        }
    }
    let _ = write!(template, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    cli.help_template(template)
}

impl Command {
    /// Returns whether its runs are not stopped where they take far more work than expected.
    pub(crate) fn is_unguarded(&self) -> bool {
        matches!(self, Command::Run(args) if args.is_unguarded())
    }

    /// Does what the command line says.
    pub(crate) fn carry_out(self, engines: &Engines) -> Result<(), Error> {
        match self {
            Command::Run(args) => run::run(&args, engines),
            Command::Plan(args) => plan::plan(&args, engines),
            Command::Join(args) => join::join(&args, engines),
            Command::Pack(args) => pack::pack(&args, engines),
            Command::Verify(args) => verify::verify(&args, engines),
            Command::List(args) => list::list(&args, engines),
            Command::Init(args) => init::init(&args),
            Command::Explain(args) => explain::explain(&args, engines),
            Command::Report(args) => report::report(&args, engines),
            Command::Canary(args) => canary::canary(&args),
            Command::Compare(args) => compare::compare(&args, engines),
            Command::Doctor(args) => doctor::doctor(&args),
            Command::Export(args) => export::export(&args),
            #[cfg(feature = "papers")]
            Command::Reproduce(args) => reproduce::reproduce(&args, engines),
            Command::Flows(args) => flows::flows(&args, engines),
            Command::Coflows(args) => coflows::coflows(&args),
            Command::Convert(args) => convert::convert(&args),
            Command::Tune(args) => tune::tune(&args),
            #[cfg(target_os = "linux")]
            Command::Agent { what } => agent::agent(what),
            #[cfg(target_os = "linux")]
            Command::Lab { what } => lab::lab(what, engines),
            Command::Completions(args) => completions::completions(&args, engines),
        }
    }
}

/// An experiment and its changes: the same for all commands that plan it, so that they mean the same plan.
#[derive(Debug, Args)]
pub(crate) struct Planned {
    /// The experiment: a file, a bundle of `flowsieve pack`, or the name of a built-in one
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Change a setting, by its name or path; several values make a sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) change: ChangeOptions,
}

impl Planned {
    /// Returns the changes that it asks for.
    fn changes(&self) -> Changes {
        Changes { sets: self.set.clone(), seeds: self.change.seeds, scale: self.change.scale.into(), resolve: false }
    }
}

fn planned(of: &Planned, engines: &Engines) -> Result<Plan, Error> {
    flowsieve_experiment::plan::read(&of.file, &of.changes(), engines)
}

/// A result, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct OfResult {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
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
        let (packets, size) = (hops_in_words(trace.packets), flowsieve_report::size(trace.bytes.round() as u64));
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
    show_with(result, options, json, &[])
}

/// Does the same with a flow that was followed in the report.
fn show_with(result: &ResultDir, options: &ReportOptions, json: bool, followed: &[Timeline]) -> Result<(), Error> {
    let layout = options.layout(result)?;
    let report = papers::write_with(result, &layout, followed);
    if json {
        print_json(&papers::table_json(result, &layout)?)?;
    } else {
        print(&papers::table(result, &layout, in_colour())?)?;
    }
    // The results are printed; a failure of the report is shown in addition, and in the exit status.
    match report.map_err(Error::Unreported)? {
        file if !json => print(&format!("\nReport: {}\n", file.display())),
        _ => Ok(()),
    }
}
