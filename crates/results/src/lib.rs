//! What a run leaves behind, and what it says: the records of flows and links, the result directory that holds them,
//! and the statistics over them. The same for a simulation and for real packets.
//!
//! In the order of use:
//! 1. whoever runs a point with one seed fills a [`PointResult`];
//! 2. a [`ResultWriter`] keeps it as a *part*, under a key that names its effective configuration, so that an
//!    interrupted experiment goes on where it stopped ([`ResultWriter::finished`]);
//! 3. [`ResultWriter::join`] makes the result of the experiment out of its parts, described by an [`Experiment`];
//! 4. a [`ResultDir`] reads it, refusing what is cut short, mixed or of another version;
//! 5. a [`Summary`] holds the statistics by point and [`SizeClass`], over seeds, and paired between schemes.
//!
//! The same parts give the same bytes in every file but `run.json`.
//!
//! Times are integer picoseconds until they are printed, sizes are bytes, rates are bit/s. It leaves out time series
//! and coflows, which nothing measures yet, and sketches for results whose flows do not fit in memory: one point's
//! flows have to.

pub mod classes;
mod error;
mod files;
mod flows;
mod manifest;
mod reader;
mod record;
pub mod statistics;
pub mod summary;
mod summary_csv;
mod warnings;
mod writer;

pub use classes::{SizeClass, SizeClasses};
pub use error::ResultError;
pub use manifest::{Axis, Experiment, Manifest, PartId, PointInfo, Run, RunInfo, SCHEMA, SchemeInfo};
pub use reader::ResultDir;
pub use record::{Drops, FlowRow, LinkClass, PeriodicPart, PointResult};
pub use statistics::{Estimate, Figures, Ratio, Statistic};
pub use summary::{ClassSummary, Metric, PointSummary, SeedStats, Summary};
pub use warnings::Warning;
pub use writer::ResultWriter;
