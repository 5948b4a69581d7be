//! `flowsieve forest`: predictions of flow sizes.

use crate::output::{print, print_json, to_output};
use clap::{Args, Subcommand, ValueHint};
use flowsieve_engines::forest::{Predicted, SizeClasses, text};
use flowsieve_experiment::Error;
use flowsieve_studies::export::{self, Layout};
use std::path::PathBuf;

const FOREST_EXAMPLES: &str = "\
Examples:
  flowsieve forest report trace.fsf trace.csv
      errors, bounds and bounded shares of the last fifth of the trace, by class of size
  flowsieve forest apply trace.fsf trace.csv --from 0 > predicted.csv
      all of the trace with the columns lower, upper and predicted
  flowsieve forest trace kmeans-like > trace.csv
      the flows of a stand-in with their recorded features, for training
  flowsieve forest import ml/KMeans/training/*.csv --drop job --scale cpu=1000 > trace.csv
      the flows of Flux's traces, without one column and with another in thousandths
  flowsieve forest import simulator/KMeans/0.csv --simulator --predicted 2 > trace.csv
      the flows of Flux's simulator, with the second prediction of their sizes";

/// What to do with a forest.
#[derive(Debug, Subcommand)]
pub(crate) enum Forest {
    /// Compare its bounds and predicted sizes with the sizes of a trace
    #[command(after_help = FOREST_EXAMPLES)]
    Report {
        /// The forest and the trace
        #[command(flatten)]
        of: Traced,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write the trace as a flow list with the columns lower, upper and predicted
    #[command(after_help = FOREST_EXAMPLES)]
    Apply {
        /// The forest and the trace
        #[command(flatten)]
        of: Traced,
    },
    /// Write the stand-in for a trace as a flow list
    #[command(after_help = FOREST_EXAMPLES)]
    Trace {
        /// The stand-in, as `flowsieve list workloads` names it
        name: String,
        /// How well its past flows predict its sizes
        #[arg(long, default_value = "calibrated", value_parser = ["calibrated", "tight", "loose"])]
        calibration: String,
        /// The seed of its draw
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Write traces in the layout of Flux as a flow list
    #[command(after_help = FOREST_EXAMPLES)]
    Import(Import),
}

/// Files of Flux's traces.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The files, whose flows follow one another; all have the same header
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Leave a column out
    #[arg(long, value_name = "COLUMN", conflicts_with = "simulator")]
    drop: Vec<String>,
    /// Multiply the numbers of a column, and round them: features are whole numbers
    #[arg(long, value_name = "COLUMN=FACTOR", value_parser = scale, conflicts_with = "simulator")]
    scale: Vec<(String, f64)>,
    /// The files are those of Flux's simulator: column 0 is the size, the others are predictions of it
    #[arg(long)]
    simulator: bool,
    /// The column that becomes the predicted size, from 1 [default: none]
    #[arg(long, value_name = "N", requires = "simulator", value_parser = clap::value_parser!(u16).range(1..=1000))]
    predicted: Option<u16>,
}

impl Import {
    /// Returns how the files are read.
    fn layout(&self) -> Layout {
        if self.simulator {
            Layout::Simulated { predicted: self.predicted.map(usize::from) }
        } else {
            Layout::Recorded { drop: self.drop.clone(), scale: self.scale.clone() }
        }
    }
}

/// Parses a column and a number above 0.
fn scale(text: &str) -> Result<(String, f64), String> {
    let scale = text.rsplit_once('=').and_then(|(column, factor)| Some((column, factor.parse::<f64>().ok()?)));
    let valid = scale.filter(|(column, factor)| !column.is_empty() && factor.is_finite() && *factor > 0.0);
    let named = valid.map(|(column, factor)| (column.to_owned(), factor));
    named.ok_or_else(|| "expected COLUMN=FACTOR with a number above 0, such as cpu=1000".to_owned())
}

/// A forest and a trace.
#[derive(Debug, Args)]
pub(crate) struct Traced {
    /// The forest's file
    #[arg(value_hint = ValueHint::FilePath)]
    forest: PathBuf,
    /// A flow list with the features that the forest reads
    #[arg(value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Share of the trace's first flows to leave out, because the forest was trained on them
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = share)]
    from: f64,
}

/// Parses a number from 0 to below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to below 1".to_owned())
}

pub(crate) fn forest(what: &Forest) -> Result<(), Error> {
    let read = |of: &Traced| Predicted::read(&of.forest, &of.trace, of.from);
    match what {
        Forest::Apply { of } => {
            let predicted = read(of)?;
            to_output(|out| predicted.write(out))
        }
        Forest::Trace { name, calibration, seed } => to_output(|out| export::stand_in(name, calibration, *seed, out)),
        Forest::Import(args) => to_output(|out| export::flux(&args.files, args.layout(), out)),
        Forest::Report { of, json } => {
            let worth = read(of)?.worth(&SizeClasses::default());
            if *json {
                return print_json(&worth);
            }
            print(&text(&worth))
        }
    }
}
