//! The options that the command and the Python package share, each declared once: its name, type, limits, default and
//! help. The command flattens these groups into its arguments; a call from Python is read by the same parsers, through
//! [`parsed`]. `make generate` writes the package's types and docstrings, and the tables of `docs/reference`, from
//! [`groups`] and [`command`].
//!
//! To add an option, declare it in its group, use it where the group is used, and run `make generate`.

pub use crate::commands::export::{ExportOptions, Format, What};
pub use crate::commands::tune::{
    AskOptions, ByOptions, Distribution, ModelOptions, PortsOptions, SearchOptions, TuneOptions,
};
pub use crate::values::{Budget, Marking, Method, Rate, Span, Time};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ValueEnum};
use flowsieve_experiment::execute::How;
use flowsieve_experiment::joining::Missing;
use flowsieve_experiment::{Error, Scale, machine};
use flowsieve_report::{Compared, Layout, UnknownKey, compared};
use flowsieve_results::ResultDir;
use std::ffi::OsString;
use std::str::FromStr;

/// How many runs to make at a time.
#[derive(Debug, Clone, Copy, Args)]
pub struct Jobs {
    /// Runs at a time [default: the machine's cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

impl Jobs {
    /// Returns the number of runs at a time.
    #[must_use]
    pub fn count(&self) -> usize {
        self.jobs.map_or_else(machine::cores, |jobs| jobs as usize)
    }
}

/// On how many threads a run is made.
#[derive(Debug, Clone, Copy, Args)]
pub struct Threads {
    /// Threads a run, or `all` [default: spare cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<ThreadCount>,
}

/// A number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCount(usize);

impl ThreadCount {
    /// What it takes, in words.
    pub const TAKES: &str = "a whole number from 1 to 1024, or all";
}

impl FromStr for ThreadCount {
    type Err = String;

    fn from_str(text: &str) -> Result<ThreadCount, String> {
        if text == "all" {
            return Ok(ThreadCount(machine::cores().clamp(1, 1024)));
        }
        let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
        count.map(ThreadCount).ok_or_else(|| format!("expected {}", ThreadCount::TAKES))
    }
}

impl Threads {
    /// Returns the number of threads of a run, if it is asked for.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        self.threads.map(|threads| threads.0)
    }

    /// Returns the number of runs at a time: those asked for, or as many as leave each thread a core.
    #[must_use]
    pub fn jobs(&self, jobs: Jobs) -> usize {
        if jobs.jobs.is_some() { jobs.count() } else { (jobs.count() / self.count().unwrap_or(1)).max(1) }
    }
}

/// How runs are made.
#[derive(Debug, Clone, Copy, Args)]
pub struct MakeOptions {
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: Jobs,
    /// Threads of each.
    #[command(flatten)]
    pub threads: Threads,
    /// Do not stop runs that take ten times the expected work, or in which acknowledgements have ceased
    #[arg(long)]
    pub no_guard: bool,
    /// Run every point again, even if its results exist
    #[arg(long)]
    pub fresh: bool,
}

impl MakeOptions {
    /// Returns how to make parts, which replace no result.
    #[must_use]
    pub fn how(&self) -> How {
        How { jobs: self.jobs(), threads: self.threads.count(), fresh: self.fresh, replace: false }
    }

    /// Returns the number of runs at a time.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.threads.jobs(self.jobs)
    }
}

/// How an experiment is run.
#[derive(Debug, Clone, Copy, Args)]
pub struct RunOptions {
    /// How its runs are made.
    #[command(flatten)]
    pub make: MakeOptions,
    /// Replace a result of another experiment, scale or settings in the folder
    #[arg(long)]
    pub replace: bool,
}

impl RunOptions {
    /// Returns how to make the result.
    #[must_use]
    pub fn how(&self) -> How {
        How { replace: self.replace, ..self.make.how() }
    }
}

/// How parts are joined.
#[derive(Debug, Clone, Copy, Args)]
pub struct JoinOptions {
    /// Join without the runs that are missing; the result says so
    #[arg(long, conflicts_with = "run_missing")]
    pub partial: bool,
    /// Make the missing runs here
    #[arg(long)]
    pub run_missing: bool,
    /// Missing runs to make at a time [default: the machine's cores]
    #[arg(long, short, value_name = "N", requires = "run_missing", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Replace a result of another experiment, scale or settings in the folder
    #[arg(long)]
    pub replace: bool,
}

impl JoinOptions {
    /// Returns how to make the result.
    #[must_use]
    pub fn how(&self) -> How {
        How { jobs: Jobs { jobs: self.jobs }.count(), threads: None, fresh: false, replace: self.replace }
    }

    /// Returns what to do with runs that have no part.
    #[must_use]
    pub fn missing(&self) -> Missing {
        match (self.partial, self.run_missing) {
            (true, _) => Missing::LeaveOut,
            (_, true) => Missing::Make,
            _ => Missing::Refuse,
        }
    }
}

/// How much of an experiment.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum ScaleArg {
    /// As the file says; otherwise a hundredth of the flows and one seed
    Smoke,
    /// As the file says; otherwise a tenth of the flows and at most three seeds
    Quick,
    /// All of it
    #[default]
    Paper,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Scale {
        match scale {
            ScaleArg::Smoke => Scale::Smoke,
            ScaleArg::Quick => Scale::Quick,
            ScaleArg::Paper => Scale::Paper,
        }
    }
}

/// What is changed in an experiment in addition to its settings.
#[derive(Debug, Clone, Copy, Args)]
pub struct ChangeOptions {
    /// Seeds of each point, instead of the file's
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// How much of the experiment
    #[arg(long, value_enum, default_value_t)]
    pub scale: ScaleArg,
}

/// How a result is shown.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportOptions {
    /// The swept setting on the x axis of plots and in the first column of tables [default: the one with the most values]
    #[arg(long, value_name = "KEY")]
    pub x: Option<String>,
}

impl ReportOptions {
    /// Returns the layout of a result's tables and plots.
    ///
    /// # Errors
    /// Fails if the result does not sweep the setting.
    pub fn layout(&self, result: &ResultDir) -> Result<Layout, UnknownKey> {
        Layout::new(&result.manifest().experiment, self.x.as_deref())
    }
}

/// What is compared.
#[derive(Debug, Clone, Args)]
pub struct CompareOptions {
    /// Compare values of this swept setting instead of schemes
    #[arg(long, value_name = "KEY")]
    pub vary: Option<String>,
    /// Compare only these flows: one size class, coflows, or a class of coflows [default: all]
    #[arg(long, value_name = "CLASS")]
    pub class: Option<String>,
}

impl CompareOptions {
    /// Compares two schemes of a result, or two values of the varied setting; without them each with the first.
    ///
    /// # Errors
    /// Fails if the result does not have them.
    pub fn compared(&self, result: &ResultDir, pair: Option<(&str, &str)>) -> Result<Vec<Compared>, Error> {
        let mut compared = compared(result, self.vary.as_deref(), pair)?;
        if let Some(class) = &self.class {
            compared.iter_mut().try_for_each(|compared| compared.keep(class))?;
        }
        Ok(compared)
    }
}

/// Reads the options of a call that is not made from the command line, each as one word: `--jobs=2`.
///
/// # Errors
/// Fails with the message of the command line if a word is wrong.
pub fn parsed<T: Args>(words: impl IntoIterator<Item = OsString>) -> Result<T, Error> {
    let matches = alone::<T>().try_get_matches_from(words);
    matches.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| Error::Input(in_one_line(&error)))
}

/// A command that has these options alone.
fn alone<T: Args>() -> clap::Command {
    T::augment_args(clap::Command::new("options").no_binary_name(true).disable_help_flag(true))
}

/// The message of an error: the option, its value, and what is wrong, as in `--jobs 0: 0 is not in 1..=1024`.
fn in_one_line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) if !texts.is_empty() => Some(format!("expected {}", texts.join(", "))),
        _ => None,
    };
    let wrong_value = matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
    if let (true, Some(option), Some(value)) =
        (wrong_value, context(ContextKind::InvalidArg), context(ContextKind::InvalidValue))
    {
        let option = option.split(' ').next().unwrap_or_default();
        let value = if value.parse::<f64>().is_ok() { value } else { format!("{value:?}") };
        let reason = std::error::Error::source(error).map(ToString::to_string);
        let reason = reason.or_else(|| context(ContextKind::ValidValue)).unwrap_or_default();
        return format!("{option} {value}: {reason}");
    }
    let text = error.render().to_string();
    let said = text.split("\n\nUsage:").next().unwrap_or_default();
    let said: Vec<&str> =
        said.trim_start_matches("error: ").lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    said.join(" ")
}

/// The groups of options that calls from Python take, by their names there.
#[must_use]
pub fn groups() -> Vec<(&'static str, clap::Command)> {
    vec![
        ("MakeOptions", alone::<MakeOptions>()),
        ("RunOptions", alone::<RunOptions>()),
        ("JoinOptions", alone::<JoinOptions>()),
        ("ChangeOptions", alone::<ChangeOptions>()),
        ("ReportOptions", alone::<ReportOptions>()),
        ("CompareOptions", alone::<CompareOptions>()),
        ("ExportOptions", alone::<ExportOptions>()),
        ("ModelOptions", alone::<ModelOptions>()),
        ("TuneOptions", alone::<TuneOptions>()),
    ]
}

/// The whole command line, as clap describes it.
#[must_use]
pub fn command() -> clap::Command {
    crate::commands::cli()
}
