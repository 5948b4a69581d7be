//! The command line of `flowsieve export`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve export results/quickstart
      every statistic of the result as CSV: a row says by itself what it is, with its unit and the ends of its interval
  flowsieve export results/quickstart --format latex --y \"mean fct\" --class 0-100KB
      a table for a paper, with intervals and ratios to the first scheme (booktabs)
  flowsieve export results/first --format latex --y \"p99 fct\" --x ecn_threshold --columns 2
      a table for each class, across both columns of a page, by another swept setting
  flowsieve export results/quickstart --what flows > flows-of-quickstart.csv
      every flow, with scheme, load and what else is swept")]
pub(crate) struct Export {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What of it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) what: What,
    /// As what
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The swept setting of the rows [default: the one with the most values]
    #[arg(long, value_name = "KEY")]
    pub(crate) x: Option<String>,
    /// One measure: mean, p50, p95, p99 or p99.9, and fct or slowdown [default: all]
    #[arg(long, value_name = "MEASURE")]
    pub(crate) y: Option<String>,
    /// One size class, coflows, or a class of coflows [default: all]
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
    /// Columns of the page that a LaTeX table spans
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) columns: u8,
}

/// What is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum What {
    /// Statistics by point and class
    #[default]
    Table,
    /// A row for each flow, as CSV
    Flows,
}

/// As what it is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values
    #[default]
    Csv,
    /// A table of the package booktabs
    Latex,
}
