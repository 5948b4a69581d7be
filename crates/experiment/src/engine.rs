//! The interface between experiments and the engines that carry their flows: the simulator, and the TCP of Linux.

use crate::error::Error;
use crate::further::Tables;
use crate::plan;
use crate::points::{self, Point};
use crate::scheme_files::SchemeText;
use flowsieve_record::PointResult;
use flowsieve_results::timeline::Timeline;
use flowsieve_results::{CallCost, Controls, SchemeInfo};
use flowsieve_settings::units::format_time;
use flowsieve_settings::{Key, Keys, Origin, Settings, SettingsError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::{Add, ControlFlow};
use std::path::Path;

/// How many threads a run gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// This many, as asked for.
    Asked(usize),
    /// This many cores have no other run to do: an engine uses them where it gains by it.
    Spare(usize),
}

/// Carries out points: a simulator of packets, one of rates, real packets.
pub trait Engine: Send + Sync {
    /// Returns every setting that it reads.
    fn keys(&self) -> Vec<&'static Key>;

    /// Returns every scheme that it has.
    fn schemes(&self) -> Vec<SchemeInfo>;

    /// Describes the schemes of the user's files, each of which stands after its base; none if it has no schemes.
    ///
    /// # Errors
    /// Fails if a file is wrong.
    fn users_schemes(&self, _files: &[SchemeText]) -> Result<Vec<SchemeInfo>, Error> {
        Ok(Vec::new())
    }

    /// Returns whether it carries out the point of these settings.
    fn carries(&self, settings: &Settings) -> Result<bool, Error>;

    /// Returns what its model lacks, as the end of "no `queues` …", if that leaves settings of networks and hosts
    /// unread.
    fn without(&self) -> Option<&'static str> {
        None
    }

    /// Reads the settings that a scheme reads with a common workload, for explanations.
    fn read_scheme(&self, scheme: &str, settings: &Settings);

    /// Says what feeds a scheme's tags and what its ports read, with a common workload and default settings; `None` if it
    /// has no packets.
    fn feeds(&self, _scheme: &str, _settings: &Settings) -> Option<TagFeeds> {
        None
    }

    /// Gives the point what its file leaves open and this engine takes otherwise than others do; says what, if anything.
    ///
    /// # Errors
    /// Fails if a value does not fit.
    fn complete(&self, _point: &mut Point) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Reads and checks the point's settings, all that its runs will depend on, and tells what is known before a run.
    /// Differences between seeds are reported for `seed`.
    fn read(&self, point: &Point, seed: u64) -> Result<Reading, Error>;

    /// Carries out the point with one seed. It ends with [`Error::Stopped`] if the callback returns a break. The packet
    /// trace goes into the folder; without a folder there is no trace.
    ///
    /// A run reads the settings of its point once more, and only what it needs of them. Thousands of points wait for
    /// their runs, and their fabrics and flow lists would take more memory than the runs.
    ///
    /// Its result has the same bytes on any number of threads. An engine may use fewer than it gets.
    fn run(
        &self,
        point: &Point,
        seed: u64,
        threads: Threads,
        hear: OnProgress<'_>,
        trace_folder: Option<&Path>,
    ) -> Result<PointResult, Error>;

    /// Completes the description of a point's scheme by what its settings say.
    fn describe(&self, _point: &Point, _info: &mut SchemeInfo) -> Result<(), Error> {
        Ok(())
    }

    /// Returns why a run of the point takes one thread, where it gets this many.
    ///
    /// # Errors
    /// As [`Engine::read`].
    fn one_thread(&self, _point: &Point, _seed: u64, _threads: usize) -> Result<Option<String>, Error> {
        Ok(Some("their engine has no threads".to_owned()))
    }

    /// Returns what calls of the running program's own code have cost so far.
    fn calls(&self) -> Vec<CallCost> {
        Vec::new()
    }

    /// Returns itself if its runs have packets, so that a flow can be followed.
    fn follower(&self) -> Option<&dyn Follower> {
        None
    }
}

/// What feeds the tags of a scheme's packets, and what its ports read: lines for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagFeeds {
    /// What hosts write.
    pub tags: Vec<String>,
    /// What ports read, by place.
    pub ports: Vec<String>,
}

/// An engine whose runs have packets that can be followed.
pub trait Follower {
    /// Carries out the point as [`Engine::run`] does, and keeps only the timeline of the flow with this number.
    fn follow(&self, point: &Point, seed: u64, flow: u32, hear: OnProgress<'_>) -> Result<Timeline, Error>;
}

/// Receives the progress of a run, and decides whether it goes on.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The engines on which an experiment may run. The first one that accepts a point gets it.
pub struct Engines {
    list: Vec<Box<dyn Engine>>,
    keys: Keys,
    commit: Option<&'static str>,
    tables: Option<Tables>,
}

impl Engines {
    /// Collects these engines, the most specific ones first.
    ///
    /// # Errors
    /// Fails if two settings have the same name.
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
        Ok(Engines { list, keys: Keys::joined(&[&keys]), commit: None, tables: None })
    }

    /// Sets the commit of the program, which results name. Nothing else depends on it.
    #[must_use]
    pub fn of_commit(self, commit: &'static str) -> Engines {
        Engines { commit: Some(commit), ..self }
    }

    /// Returns the commit of the program, if it is known here.
    pub fn commit(&self) -> Option<&'static str> {
        self.commit
    }

    /// Lets experiment files have these tables.
    #[must_use]
    pub fn reading(self, tables: Option<Tables>) -> Engines {
        Engines { tables, ..self }
    }

    /// Returns the further tables that experiment files may have.
    pub fn tables(&self) -> Option<Tables> {
        self.tables
    }

    /// Returns every setting that an experiment may give.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns every scheme of every engine, each name once.
    pub fn schemes(&self) -> Vec<SchemeInfo> {
        let mut schemes: Vec<SchemeInfo> = Vec::new();
        for scheme in self.list.iter().flat_map(|engine| engine.schemes()) {
            if !schemes.iter().any(|known| known.name == scheme.name) {
                schemes.push(scheme);
            }
        }
        schemes
    }

    /// Describes the schemes of the user's files as [`Engine::users_schemes`] does, each once.
    pub(crate) fn users_schemes(&self, files: &[SchemeText]) -> Result<Vec<SchemeInfo>, Error> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        for engine in &self.list {
            let infos = engine.users_schemes(files)?;
            if !infos.is_empty() {
                return Ok(infos);
            }
        }
        Ok(Vec::new())
    }

    /// Reads the settings that a scheme reads with a common workload.
    pub fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let has = |engine: &dyn Engine| engine.schemes().iter().any(|known| known.name == scheme);
        if let Some(engine) = self.list.iter().find(|engine| has(engine.as_ref())) {
            engine.read_scheme(scheme, settings);
        }
    }

    /// Says what feeds a scheme's tags, as [`Engine::feeds`] does.
    pub fn feeds(&self, scheme: &str) -> Option<TagFeeds> {
        let settings = self.keys.none_given();
        self.list.iter().find_map(|engine| engine.feeds(scheme, &settings))
    }

    /// Completes a point as [`Engine::complete`] does, on the engine that carries it out.
    pub(crate) fn complete(&self, point: &mut Point) -> Result<Option<String>, Error> {
        self.of(&point.settings)?.complete(point)
    }

    /// Reads a point as [`Engine::read`] does, on the engine that carries it out. Returns with it the effective
    /// configuration: all that was read.
    pub fn read(&self, point: &Point, seed: u64) -> Result<(Reading, BTreeMap<String, String>), Error> {
        let reading = self.of(&point.settings)?.read(point, seed)?;
        Ok((reading, point.settings.effective()))
    }

    /// Carries out a point as [`Engine::run`] does, on one thread.
    pub fn run(
        &self,
        point: &Point,
        seed: u64,
        hear: OnProgress<'_>,
        trace_folder: Option<&Path>,
    ) -> Result<PointResult, Error> {
        self.run_on(Threads::Asked(1), point, seed, hear, trace_folder)
    }

    /// Does so on these threads.
    pub(crate) fn run_on(
        &self,
        threads: Threads,
        point: &Point,
        seed: u64,
        hear: OnProgress<'_>,
        trace_folder: Option<&Path>,
    ) -> Result<PointResult, Error> {
        self.of(&point.settings)?.run(point, seed, threads, hear, trace_folder)
    }

    /// Completes the description of a point's scheme as [`Engine::describe`] does.
    pub(crate) fn describe(&self, point: &Point, info: &mut SchemeInfo) -> Result<(), Error> {
        self.of(&point.settings)?.describe(point, info)
    }

    /// Returns why a run of the point takes one thread, whatever is asked for; `None`: it takes what it gets.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn one_thread(&self, point: &Point, seed: u64, threads: usize) -> Result<Option<String>, Error> {
        self.of(&point.settings)?.one_thread(point, seed, threads)
    }

    /// Returns the costs of [`Engine::calls`] of all engines.
    pub(crate) fn calls(&self) -> Vec<CallCost> {
        self.list.iter().flat_map(|engine| engine.calls()).collect()
    }

    /// Returns the engine that carries out the point, if it can follow a flow.
    pub fn follower(&self, point: &Point) -> Result<Option<&dyn Follower>, Error> {
        Ok(self.of(&point.settings)?.follower())
    }

    /// Returns the engine that carries out the point.
    fn of(&self, settings: &Settings) -> Result<&dyn Engine, Error> {
        for engine in &self.list {
            if engine.carries(settings)? {
                return Ok(engine.as_ref());
            }
        }
        Err(Error::Input("no engine can run a point with these settings".to_owned()))
    }

    /// Returns what the engine lacks, if a single engine carries out all points and lacks something.
    pub(crate) fn without(&self, points: &[Point]) -> Option<&'static str> {
        let of_point = |point: &Point| self.of(&point.settings).ok()?.without();
        let (first, others) = points.split_first()?;
        of_point(first).filter(|without| others.iter().all(|point| of_point(point) == Some(without)))
    }
}

/// What is known of a point's runs before they are made. An engine that knows nothing of a field leaves its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The fabric drawn as text.
    pub fabric: String,
    /// Estimated packet-hops of a run.
    pub packet_hops: f64,
    /// Estimated upper bound of its memory, in bytes.
    pub memory_bytes: u64,
    /// Estimated size of its packet trace; `None` if no trace is asked for.
    pub trace: Option<TraceSize>,
    /// The offered load of each class of links as a share of its rate, data and ACKs with framing; empty if unknown.
    pub loads: Vec<(String, f64)>,
    /// The round trips of a full packet and its answer alone in the fabric, by kind of path; none if there are no
    /// packets.
    pub round_trips: Vec<BaseRoundTrip>,
    /// The demotion thresholds by which hosts tag, in bytes; none without such tags.
    pub thresholds_bytes: Vec<u64>,
    /// Averages over its flows, if known.
    pub average: Option<Controls>,
    /// From what the sizes of its flows are drawn, if that is one law.
    pub sizes: Option<SizeLaw>,
    /// What the user should know before it runs, in sentences.
    pub warnings: Vec<String>,
    /// A setting that is not given and that the point has to have; then all points of the experiment have it.
    pub needs: Option<Needed>,
}

/// A law of flow sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeLaw {
    /// As the file has it: a distribution's name or a file's path, with its calibration and what is mixed with it.
    pub name: String,
    /// Rising sizes in bytes, each with the share of flows, 0 to 1, that are not larger.
    pub shares: Vec<(u64, f64)>,
}

/// A setting that follows from a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// The setting.
    pub key: &'static str,
    /// Its value.
    pub value: &'static str,
    /// What it means, and why the point needs it.
    pub why: String,
}

/// Ignores events or progress, and lets the run go on.
pub fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The base round trip of a kind of path, with serialisation: between the two hosts that are farthest apart over this
/// number of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BaseRoundTrip {
    /// Number of links from one host to the other.
    pub links: u32,
    /// The time of a full packet there and its answer back, in ps.
    pub ps: u64,
}

impl BaseRoundTrip {
    /// Writes those of a fabric for reading.
    pub fn in_words(all: &[BaseRoundTrip]) -> String {
        /// The most kinds of path that are listed separately.
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
    /// Number of packets, each counted at each traced link.
    pub packets: f64,
    /// Size of all files, in bytes.
    pub bytes: f64,
}

impl Add for TraceSize {
    type Output = TraceSize;
    fn add(self, other: TraceSize) -> TraceSize {
        TraceSize { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The share completed, 0 to 1.
    pub share: f64,
    /// Packet-hops so far.
    pub packet_hops: u64,
}
