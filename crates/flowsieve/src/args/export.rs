//! The command line of `flowsieve export`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve export results/quickstart
      every statistic of the result as CSV: each row names its statistic, its unit and the ends of its interval
  flowsieve export results/quickstart --format latex --y \"mean fct\" --class 0-100KB
      a table for a paper, with intervals and ratios to the first scheme (booktabs)
  flowsieve export results/first --format latex --y \"p99 fct\" --x ecn_threshold --columns 2
      a table for each class, across both columns of a page, by another swept setting
  flowsieve export results/quickstart --what figure --y \"p99 slowdown\" --class 0-100KB > p99.svg
      a figure for a paper, as wide as one column, with intervals
  flowsieve export results/quickstart --what figure --format pdf --class 0-100KB > fct.pdf
      mean FCT as a PDF, for \\includegraphics
  flowsieve export results/quickstart --what figure --format latex --class 0-100KB > fct.tex
      the same for mean FCT, in the paper's own font (pgfplots)
  flowsieve export results/quickstart --what figure --x size --columns 2 > by-size.svg
      slowdown against flow size at each load, across both columns
  flowsieve export results/quickstart --what figure --x size --at load=0.7 --format csv > plot.csv
      the numbers of such a figure at one load, with the sizes in bytes
  flowsieve export results/quickstart --what flows > flows-of-quickstart.csv
      every flow, with scheme, load and other swept settings")]
pub(crate) struct Export {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What to export
    #[arg(long, value_enum, default_value_t)]
    pub(crate) what: What,
    /// The format [default: svg for a figure, else csv]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// The swept setting of the rows or of the x axis; for a figure also `size` of flows, or `time` [default: the one
    /// with the most values]
    #[arg(long, value_name = "KEY")]
    pub(crate) x: Option<String>,
    /// One measure: mean, p50, p95, p99 or p99.9, then fct, cct (of coflows) or slowdown; for a figure also "mean fct
    /// ratio", utilisation or drops; over time the name of a sampled series, such as goodput [default: all; for a
    /// figure mean fct, by size p99 slowdown]
    #[arg(long, value_name = "MEASURE")]
    pub(crate) y: Option<String>,
    /// One size class, coflows, or a class of coflows [default: all]
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
    /// Only where a swept setting has this value, such as load=0.8; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) at: Vec<String>,
    /// Width of a LaTeX table or a figure, in columns of the page [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) columns: Option<u8>,
    /// CSV for a spreadsheet: put an apostrophe before texts that begin with =, +, - or @, so that they are not
    /// formulas
    #[arg(long)]
    pub(crate) safe_csv: bool,
}

/// What is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum What {
    /// Statistics by point and class
    #[default]
    Table,
    /// Plots
    Figure,
    /// A row for each flow, as CSV
    Flows,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values
    Csv,
    /// A table of the package booktabs, or a figure of pgfplots
    Latex,
    /// A drawing with outlined letters that needs no font and no other file
    Svg,
    /// The same drawing, for `\includegraphics`
    Pdf,
}
