//! `flowsieve canary`: did a change at some hosts help them?

use crate::output::{print, print_json};
use crate::values::Budget;
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_studies::canary::{Reading, Request, judge};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve canary before.csv after.csv --control control-before.csv control-after.csv

Rows are `time,value`, in UTC: a quantile for each hour or day, or latencies. What changed is the canary over the control
after the change, over the same before it.")]
pub(crate) struct Canary {
    /// The canary's latencies before the change
    #[arg(value_hint = ValueHint::FilePath)]
    before: PathBuf,
    /// And after it
    #[arg(value_hint = ValueHint::FilePath)]
    after: PathBuf,
    /// Those of hosts that stay as they are, at the same times
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], required = true, value_hint = ValueHint::FilePath)]
    control: Vec<PathBuf>,
    /// The column of values, by its name in the first row [default: the only one besides time]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Rows are latencies, with a quantile for each such time [default: rows at even times are quantiles; of others one an hour]
    #[arg(long, value_name = "TIME")]
    window: Option<Budget>,
    /// The quantile of latencies, in thousandths
    #[arg(long, value_name = "SHARE", default_value_t = 0.99)]
    quantile: f64,
    /// Values of such a time count as one, as hours of one day are alike
    #[arg(long, value_name = "TIME", default_value = "1day")]
    block: Budget,
    /// The harm that you would accept, as a share
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    at_most: f64,
    /// Counters of the canary before and after: `nstat --json` of its hosts, or rows of `name,value` of its switches
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], value_hint = ValueHint::FilePath)]
    counters: Vec<PathBuf>,
    /// Bytes by DSCP and as predicted: the output of `agent status DEVICE --sizes FILE --json`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    status: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn canary(args: &Canary) -> Result<(), Error> {
    let share = |name: &str, of: f64, is_right: bool, expected: &str| match is_right {
        true => Ok(of),
        false => Err(Error::Input(format!("--{name}: {of}: expected {expected}"))),
    };
    let thousandths = (args.quantile * 1_000.0).round();
    let is_inside = (1.0..1_000.0).contains(&thousandths) && (args.quantile * 1_000.0 - thousandths).abs() < 1e-6;
    let seconds = |name: &str, of: &Budget| match (of.0.as_secs(), of.0.subsec_nanos()) {
        (seconds @ 1.., 0) => Ok(seconds),
        _ => Err(Error::Input(format!("--{name}: expected whole seconds"))),
    };
    let two = |files: &[PathBuf]| <[PathBuf; 2]>::try_from(files.to_vec()).ok();
    let control = two(&args.control).ok_or_else(|| Error::Input("--control: expected two files".to_owned()))?;
    let judged = judge(&Request {
        canary: [args.before.clone(), args.after.clone()],
        control,
        reading: Reading {
            column: args.column.clone(),
            window: args.window.as_ref().map(|window| seconds("window", window)).transpose()?,
            per_mille: share("quantile", args.quantile, is_inside, "a share of three decimals at most, such as 0.99")
                .map(|_| thousandths as usize)?,
        },
        block: seconds("block", &args.block)?,
        at_most: share("at-most", args.at_most, (0.0..10.0).contains(&args.at_most), "a share such as 0.05")?,
        counters: two(&args.counters),
        status: args.status.clone(),
    })?;
    if args.json { print_json(&judged) } else { print(&judged.text()) }
}
