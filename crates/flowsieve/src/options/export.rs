//! What is exported of a result, and how.

use clap::{Args, ValueEnum};

/// What is exported of a result, and how.
#[derive(Debug, Clone, Args)]
pub struct ExportOptions {
    /// What to export
    #[arg(long, value_enum, default_value_t)]
    pub what: What,
    /// The format [default: svg for a figure, else csv]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// The swept setting of the rows or of the x axis; for a figure also `size` of flows, or `time` [default: the one
    /// with the most values]
    #[arg(long, value_name = "KEY")]
    pub x: Option<String>,
    /// One measure: mean, p50, p95, p99 or p99.9, then fct, cct (of coflows) or slowdown; for a figure also "mean fct
    /// ratio", utilisation or drops; over time the name of a sampled series, such as goodput [default: all; for a
    /// figure mean fct, by size p99 slowdown]
    #[arg(long, value_name = "MEASURE")]
    pub y: Option<String>,
    /// One size class, coflows, or a class of coflows [default: all]
    #[arg(long, value_name = "CLASS")]
    pub class: Option<String>,
    /// Only where a swept setting has this value, such as load=0.8; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub at: Vec<String>,
    /// Width of a LaTeX table or a figure, in columns of the page [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub columns: Option<u8>,
    /// CSV for a spreadsheet: put an apostrophe before texts that begin with =, +, - or @, so that they are not
    /// formulas
    #[arg(long)]
    pub safe_csv: bool,
}

/// What is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum What {
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
pub enum Format {
    /// Comma-separated values
    Csv,
    /// A table of the package booktabs, or a figure of pgfplots
    Latex,
    /// A drawing with outlined letters that needs no font and no other file
    Svg,
    /// The same drawing, for `\includegraphics`
    Pdf,
}
