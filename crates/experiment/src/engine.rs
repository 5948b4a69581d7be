//! What the experiment needs of whatever carries its flows: the simulator now, real packets later.

use crate::error::Error;
use crate::plan;
use crate::points::{self, Point};
use flowsieve_results::timeline::Timeline;
use flowsieve_results::{Controls, PointResult, SchemeInfo};
use flowsieve_settings::units::format_time;
use flowsieve_settings::{Key, Keys, Origin, Settings, SettingsError};
use serde::Serialize;
use std::ops::{Add, ControlFlow};
use std::path::Path;

/// Carries out points: a simulator of packets, one of rates, real packets.
pub trait Engine: Send + Sync {
    /// Every setting that it reads.
    fn keys(&self) -> Vec<&'static Key>;

    /// Every scheme that it has.
    fn schemes(&self) -> Vec<SchemeInfo>;

    /// Whether the point of these settings is for it to carry out.
    fn carries(&self, settings: &Settings) -> Result<bool, Error>;

    /// What its model has none of, as the end of "no `queues` …", where that leaves settings of networks and hosts unread.
    fn without(&self) -> Option<&'static str> {
        None
    }

    /// Reads from the settings what a scheme reads where the workload is a usual one, for explanations.
    fn read_scheme(&self, scheme: &str, settings: &Settings);

    /// Reads the point's settings, all that the run will depend on, and checks them; the expensive part is left to
    /// [`Prepared::run`]. Paths in the settings are relative to `folder`.
    fn prepare(&self, point: &Point, seed: u64, folder: &Path) -> Result<Prepared, Error>;
}

/// The engines that an experiment may be carried out on. The first that takes a point gets it.
pub struct Engines {
    list: Vec<Box<dyn Engine>>,
    keys: Keys,
}

impl Engines {
    /// These, the most special ones first.
    ///
    /// # Errors
    /// Where two settings have one name.
    pub fn new(list: Vec<Box<dyn Engine>>) -> Result<Engines, Error> {
        let mut keys: Vec<&'static Key> = [points::SETTINGS, plan::SETTINGS].concat();
        for key in list.iter().flat_map(|engine| engine.keys()) {
            match keys.iter().find(|known| known.name == key.name) {
                None => keys.push(key),
                Some(known) if std::ptr::eq(*known, key) => {}
                Some(_) => {
                    let problem = format!("two settings are called `{}`", key.name);
                    return Err(SettingsError::new(Origin::Default, problem).expected("another name for one").into());
                }
            }
        }
        Ok(Engines { list, keys: Keys::joined(&[&keys]) })
    }

    /// Every setting that an experiment may give.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Every scheme of every engine, each name once.
    pub fn schemes(&self) -> Vec<SchemeInfo> {
        let mut schemes: Vec<SchemeInfo> = Vec::new();
        for scheme in self.list.iter().flat_map(|engine| engine.schemes()) {
            if !schemes.iter().any(|known| known.name == scheme.name) {
                schemes.push(scheme);
            }
        }
        schemes
    }

    /// Reads from the settings what a scheme reads where the workload is a usual one.
    pub fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let has = |engine: &dyn Engine| engine.schemes().iter().any(|known| known.name == scheme);
        if let Some(engine) = self.list.iter().find(|engine| has(engine.as_ref())) {
            engine.read_scheme(scheme, settings);
        }
    }

    /// As [`Engine::prepare`], by the engine whose point it is.
    pub fn prepare(&self, point: &Point, seed: u64, folder: &Path) -> Result<Prepared, Error> {
        self.of(&point.settings)?.prepare(point, seed, folder)
    }

    /// The engine whose point it is.
    fn of(&self, settings: &Settings) -> Result<&dyn Engine, Error> {
        for engine in &self.list {
            if engine.carries(settings)? {
                return Ok(engine.as_ref());
            }
        }
        Err(Error::Input("no engine carries out a point of these settings".to_owned()))
    }

    /// What no engine of these points has, if one lacks something and carries out all of them.
    pub(crate) fn without(&self, points: &[Point]) -> Option<&'static str> {
        let of_point = |point: &Point| self.of(&point.settings).ok()?.without();
        let (first, others) = points.split_first()?;
        of_point(first).filter(|without| others.iter().all(|point| of_point(point) == Some(without)))
    }
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

impl Prepared {
    /// A run on this fabric, of which nothing else is known.
    pub fn new(fabric: &str, run: Run) -> Prepared {
        Prepared {
            fabric: fabric.to_owned(),
            packet_hops: 0.0,
            memory_bytes: 0,
            trace: None,
            loads: Vec::new(),
            round_trips: Vec::new(),
            thresholds_bytes: Vec::new(),
            average: None,
            warnings: Vec::new(),
            run,
            follow: None,
        }
    }
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
