//! `flowsieve coflows`: the flows of a coflow trace as a list.

use crate::output::{tell, to_output};
use clap::{Args, ValueEnum, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_studies::export::{self, Like};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve coflows trace.txt > flows.csv
      and list = \"flows.csv\" in the [workload] of an experiment sends them. With coflows = \"trace.txt\" an experiment reads the
      trace itself, and can bring it to a load")]
pub(crate) struct Coflows {
    /// The trace, in the format of coflow-benchmark or of Sincronia
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Number of hosts; a port's host is its number modulo this [default: a host for each port]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_535))]
    hosts: Option<u32>,
    /// How sizes and arrivals are read
    #[arg(long, value_enum, default_value_t)]
    like: LikeArg,
}

/// How sizes and arrivals of a coflow trace are read.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum LikeArg {
    /// Unchanged
    #[default]
    Trace,
    /// As CoflowSim reads them, so that results can be compared with its own
    Coflowsim,
}

impl From<LikeArg> for Like {
    fn from(like: LikeArg) -> Like {
        match like {
            LikeArg::Trace => Like::Trace,
            LikeArg::Coflowsim => Like::CoflowSim,
        }
    }
}

pub(crate) fn coflows(args: &Coflows) -> Result<(), Error> {
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
