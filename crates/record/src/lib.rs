//! What is measured of a run: the rows of its flows, coflows, links and packets, and what it counts. Engines fill them, and
//! `results` keeps and evaluates them. No file is read or written here, so an engine links no library of tables.

mod coflows;
mod columns;
mod declare;
mod delays;
mod disorder;
mod measures;
mod packets;
mod point;
pub mod quantile_sketch;
mod series;
mod steps;

pub use coflows::CoflowRow;
pub use columns::{Cell, Column, Presence, Sums};
pub use delays::{Delays, FlowDelay, TimedOut};
pub use disorder::Disorder;
pub use measures::{FlowCount, FlowRow};
pub use packets::{Ends, PacketEvent, PacketKind, PacketRow, TraceSink};
pub use point::{Deadlines, Drops, Goodput, LinkClass, Paused, PeriodicPart, PointResult};
pub use quantile_sketch::{QuantileSketch, nearest_rank};
pub use series::Series;
pub use steps::{Breakdown, Step, StepRow};
