//! The command line of `flowsieve export`.

use crate::options::ExportOptions;
use clap::{Args, ValueHint};
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
    #[command(flatten)]
    pub(crate) options: ExportOptions,
}
