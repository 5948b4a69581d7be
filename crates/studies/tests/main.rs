//! What tests this crate from outside, as one program: each links all that is under it.

mod against;
mod changes;
mod coflows;
mod common;
mod configure;
mod cut_runs;
mod defeats;
mod effects;
mod fields;
mod flow_level;
mod follow;
mod foreground_background;
mod foreign_files;
mod homa;
mod predictions;
mod properties;
mod queries;
mod queue_theory;
mod sampled;
mod scales;
mod several_workloads;
mod traces;
mod truth;
mod workloads;
mod wrong_files;
