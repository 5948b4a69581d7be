//! Experiments: what a person writes, the runs that it asks for, and the results that come of them.
//!
//! In the order of use:
//! 1. [`plan::read`] reads an experiment file with what the command line changes in it, and checks all of it: an
//!    [`Error`] says where and what was expected;
//! 2. the [`plan::Plan`] says how many runs there are and about how many packet-hops they take;
//! 3. [`execute::execute`] carries it out on an [`engine::Engine`], into a result directory.
//!
//! It leaves out how packets are carried (the simulator's business) and what results mean (the results' own).

pub mod bundle;
pub mod catalogue;
mod changes;
mod claims;
mod classes;
mod coflow_weights;
pub mod document;
pub mod engine;
mod error;
pub mod execute;
mod experiment_text;
pub mod explain;
pub mod export;
mod file_error;
mod flow_level;
pub mod follow;
mod foreign;
pub mod forest;
pub mod joining;
pub mod lookup;
pub mod machine;
mod memory;
mod overrides;
pub mod plan;
mod points;
mod predictions;
pub mod reproduce;
pub mod resolve;
mod scale;
pub mod settings;
pub mod shards;
mod shorter;
mod simulator;
pub mod source;
pub mod thresholds;
pub mod tracking;
mod unacted;
pub mod validate;
mod watch;
pub mod workload;

pub use error::{Details, Error, nearest};
pub use experiment_text::ExperimentText;
pub use file_error::FileError;
pub use flowsieve_convert as convert;
pub use flowsieve_files as files;
pub use flowsieve_report as report;
pub use flowsieve_results::claims::Measured;
pub use flowsieve_results::{ResultDir, ResultError};
pub use flowsieve_schemes::Entry;
pub use flowsieve_settings::units;
pub use points::{BASE, Point, Variant};
pub use scale::Scale;
pub use simulator::{OwnSchemes, Simulator};
