//! What the experiment needs of whatever carries its flows: the simulator now, real packets later.

use crate::error::Error;
use crate::follow::Timeline;
use crate::points::Point;
use flowsieve_results::{Controls, PointResult, SchemeInfo};
use flowsieve_settings::units::format_time;
use serde::Serialize;
use std::ops::{Add, ControlFlow};
use std::path::Path;

/// Carries out points.
pub trait Engine: Sync {
    /// Every scheme that it has.
    fn schemes(&self) -> Vec<SchemeInfo>;

    /// Reads the point's settings, all that the run will depend on, and checks them; the expensive part is left to
    /// [`Prepared::run`]. Paths in the settings are relative to `folder`.
    fn prepare(&self, point: &Point, seed: u64, folder: &Path) -> Result<Prepared, Error>;
}

/// The run of a point with one seed, checked and ready.
pub struct Prepared {
    /// The fabric drawn as text.
    pub fabric: String,
    /// About how many packet-hops the run will take.
    pub packet_hops: f64,
    /// About how much memory it takes at most, in bytes.
    pub memory_bytes: u64,
    /// About how large its packet trace will be; `None` where none is asked for.
    pub trace: Option<TraceSize>,
    /// The share of each class of links that the flows ask for, data and ACKs with framing; empty where unknown.
    pub loads: Vec<(String, f64)>,
    /// What a full packet and its answer take alone in the fabric, by kind of path; none where there are no packets.
    pub round_trips: Vec<BaseRoundTrip>,
    /// The demotion thresholds that hosts tag by, in bytes; none without such tags.
    pub thresholds_bytes: Vec<u64>,
    /// What its flows are on average, where that is known.
    pub average: Option<Controls>,
    /// What the person should know before it runs, in sentences.
    pub warnings: Vec<String>,
    /// The run itself.
    pub run: Run,
    /// The run, with a flow followed through it; `None` where there are no packets to follow.
    pub follow: Option<Follow>,
}

/// A run of which nothing is kept but the timeline of the flow with this number.
pub type Follow = Box<dyn FnOnce(u32, &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Timeline, Error> + Send>;

/// A run that reports its progress, and ends with [`Error::Stopped`] where that is answered with a break. Its packet trace goes into the folder; without one it is left out.
pub type Run =
    Box<dyn FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>, Option<&Path>) -> Result<PointResult, Error> + Send>;

/// What is told of events or progress where nobody listens.
pub fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The base round trip of a kind of path, serialisation included: between the two hosts that are farthest from each other over so
/// many links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BaseRoundTrip {
    /// Links from one host to the other.
    pub links: u32,
    /// A full packet there, and its answer back, in ps.
    pub ps: u64,
}

impl BaseRoundTrip {
    /// Those of a fabric, for reading.
    pub fn in_words(all: &[BaseRoundTrip]) -> String {
        /// More kinds of path are not told apart.
        const TOLD: usize = 4;
        let of = |trip: &BaseRoundTrip| {
            let s = if trip.links == 1 { "" } else { "s" };
            format!("{} over {} link{s}", format_time(trip.ps), trip.links)
        };
        let told: Vec<String> = match (all, all.iter().max_by_key(|trip| trip.ps)) {
            ([first, .., _], Some(longest)) if all.len() > TOLD => vec![of(first), format!("{} at most", of(longest))],
            _ => all.iter().map(of).collect(),
        };
        format!("base round trip, a full packet and its answer: {}", told.join(", "))
    }
}

/// The size of packet traces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceSize {
    /// Packets, each counted at each traced link.
    pub packets: f64,
    /// All files.
    pub bytes: f64,
}

impl Add for TraceSize {
    type Output = TraceSize;
    fn add(self, other: TraceSize) -> TraceSize {
        TraceSize { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The share that is done, 0 to 1.
    pub share: f64,
    /// Packet-hops so far.
    pub packet_hops: u64,
}
