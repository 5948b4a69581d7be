//! The results of a run and their evaluation: the result directory that holds what was measured, and the statistics over it.
//! They are the same for a simulation and for real packets.
//!
//! In the order of use:
//! 1. the engine runs a point with one seed and fills a [`PointResult`](flowsieve_record::PointResult);
//! 2. a [`ResultWriter`] keeps it as a *part*, under a key that names its effective configuration, so that an
//!    interrupted experiment goes on where it stopped ([`ResultWriter::finished`]);
//! 3. [`ResultWriter::join`] makes the result of the experiment out of its parts, described by an [`Experiment`];
//! 4. a [`ResultDir`] reads it, and refuses a result that is cut short, mixed or of another version;
//! 5. a [`Summary`] holds the statistics by point and [`SizeClass`], over seeds, and paired between schemes.
//!
//! The same parts give the same bytes in every file but `run.json`.
//!
//! These evaluate a result without running anything again: [`compare`] pairs two schemes, or two values of another swept key,
//! seed by seed and flow by flow; [`measured`] has what is asked of each run; [`doctor`] says what looks wrong in it.
//!
//! Times are integer picoseconds until they are printed, sizes are bytes, rates are bit/s. The flows of one
//! run have to fit in memory.

mod bounds;
pub mod classes;
mod coflow_class;
mod coflows;
mod columns;
pub mod compare;
pub mod controls;
mod decode;
mod digests;
mod dimension;
pub mod doctor;
mod error;
mod figure;
pub mod files;
pub mod first_answers;
mod flow_sketch;
mod flows;
pub mod further;
mod labels;
mod lock;
pub mod looks;
mod manifest;
pub mod measured;
pub mod paired;
mod reader;
mod replacing;
pub mod screening;
mod series;
pub mod statistics;
mod student;
pub mod summary;
mod summary_csv;
mod table;
pub mod timeline;
pub mod trace;
mod untold;
mod writer;

pub use bounds::Bounds;
pub use classes::{SizeClass, SizeClasses};
pub use coflow_class::{CoflowClass, CoflowClassBounds, CoflowGroup};
pub use coflows::{CoflowStats, GroupedCoflows};
pub use controls::Controls;
pub use digests::{COMMIT, Digests};
pub use dimension::Dimension;
pub use doctor::{Finding, Severity};
pub use error::ResultError;
pub use figure::{Count, Figure, Only, SeriesAt, Unit};
pub use first_answers::FirstAnswers;
pub use flow_sketch::FlowSketch;
pub use further::Further;
pub use lock::Alone;
pub use manifest::{
    Axis, CallCost, EXACT, Experiment, Manifest, PartId, PointInfo, RUN_SCHEMA, Record, Run, RunInfo, SAMPLE, SCHEMA,
    SchemeInfo, without_section,
};
pub use reader::{ResultDir, refuse_other_model};
pub use replacing::refuse_loss;
pub use statistics::{Estimate, Figures, Ratio, Statistic, Sureness};
pub use student::student_t_within;
pub use summary::{ClassSummary, Metric, PointSummary, SeedStats, Summary};
pub use trace::{TraceFiles, TraceFormats, TracedLink};
pub use untold::Untold;
pub use writer::{PartWriter, ResultWriter};
