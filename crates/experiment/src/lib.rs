//! Experiments: the file that you write, the runs that it asks for, and their results.
//!
//! In the order of use:
//! 1. [`plan::read`] reads an experiment file with the changes from the command line, and checks all of it: an
//!    [`Error`] says where a problem is and what was expected;
//! 2. the [`plan::Plan`] gives the number of runs and an estimate of their packet-hops;
//! 3. [`execute::execute`] carries it out on [`engine::Engines`], into a result directory.
//!
//! An [`engine::Engine`] defines how a point is carried out; the results crate defines what results mean.

#[cfg(test)]
extern crate self as flowsieve_experiment;

pub mod bundle;
mod changes;
pub mod document;
pub mod engine;
mod error;
pub mod execute;
pub mod experiment_text;
mod file_error;
mod folder;
pub mod further;
pub mod joining;
pub mod lookup;
pub mod machine;
pub mod model;
pub mod overrides;
pub mod plan;
mod points;
mod scale;
mod scheme_files;
pub mod shards;
mod shorter;
pub mod source;
pub mod tracking;
pub mod verify;

#[cfg(test)]
#[path = "../tests/toy/mod.rs"]
mod toy;

pub use error::{Details, Error, nearest};
pub use experiment_text::ExperimentText;
pub use file_error::FileError;
pub use folder::Folder;
pub use points::{BASE, Point, Variant};
pub use scale::Scale;
pub use scheme_files::SchemeText;
