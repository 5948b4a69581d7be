//! The packet-level engine: settings become a fabric, a scheme and flows for the simulator.

mod cut;
mod defeats;
mod facts;
pub(crate) mod refusals;

pub use facts::{PortFacts, port_facts};
pub(crate) use refusals::need_coflows;

use crate::drawn::Drawn;
use crate::flow_level;
use crate::follow::{self, Follower, Hop};
use crate::foreign;
use crate::memory;
use crate::setup::Setup;
use crate::times;
use crate::watch::{self, Trace};
use crate::workload::{ARRIVALS, CDF, Extent, Hosts, LOAD, QUERIES, SIZES, Workload, key_of_collectives};
use crate::{users, usual};
use cut::Course;
use defeats::Planned;
use flowsieve_core::{TaggerSpec, Time};
use flowsieve_experiment::document;
use flowsieve_experiment::engine::{self, Engine, Needed, OnProgress, Progress, Reading, TagFeeds, Threads, TraceSize};
use flowsieve_experiment::{Error, Point, SchemeText};
use flowsieve_record::{PointResult, TraceSink};
use flowsieve_results::timeline::Timeline;
use flowsieve_results::{CallCost, SchemeInfo, TraceFiles};
use flowsieve_schemes::feeds::Feeds;
use flowsieve_schemes::flow_level::{FIDELITY, Fidelity};
use flowsieve_schemes::own::{self, Program};
use flowsieve_schemes::scheme::Class;
use flowsieve_schemes::{Entry, Knows, REGISTRY, Scheme, SchemeFile, registry, sets};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Keys, MAX_TIME_PS, Origin, Section, Setting, Settings, SettingsError};
use flowsieve_sim::sample::Sampling;
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{FRUITLESS_TIMEOUTS, FctEnd, Flows, Measure, Partitioning, RunSpec, SimError};
use flowsieve_transport::TransportSpec;
use flowsieve_workload::Flow;
use refusals::{
    overload, refuse_endless_samples, refuse_hasty_timers, refuse_late_events, refuse_overloaded_link, refuse_own_rack,
    refuse_unanswered, unreached,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

declare! {
    pub(crate) static FCT_END: Setting<FctEnd> = Setting::choice(
        Section::Run,
        "fct_end",
        &[("ack", FctEnd::Ack), ("arrival", FctEnd::Arrival)],
        "end of a flow: when its last ACK is back, or when its last byte has arrived",
    );
    pub(crate) static MAX_TIME: Setting<u64> = Setting::time(
        Section::Run, "max_time", 1, MAX_TIME_PS, "simulated time at which a run stops, even if flows are left",
    );
}

/// The packet-level simulator, with custom schemes next to the built-in ones. A part of a result with a custom scheme
/// is identified by its settings and by the program that made it: after a change of the scheme it is made again.
#[derive(Clone, Default)]
pub struct Packets {
    own: Arc<[SchemeFile]>,
    /// The settings that the custom schemes declare.
    settings: &'static [&'static Key],
    unguarded: bool,
    /// The program that has code for taggers and controllers.
    program: Option<Arc<dyn Program>>,
}

impl Packets {
    /// Builds the engine with these schemes, and the settings that they declare.
    ///
    /// # Errors
    /// Fails if a name is taken, or cannot be used in an experiment, or if a scheme's file is wrong.
    pub fn new(entries: &[Entry], settings: &'static [&'static Key]) -> Result<Packets, Error> {
        let keys = Keys::joined(&[&crate::keys(), settings]);
        let mut own: Vec<SchemeFile> = Vec::new();
        for entry in entries {
            let name = entry.name;
            check_name(name)?;
            if own.iter().any(|other| other.name == name) {
                let problem = format!("two schemes are called `{name}`");
                return Err(SettingsError::new(Origin::Default, problem).expected(OTHER_NAME).into());
            }
            let find = |name: &str| registry::all().chain(&own).find(|scheme| scheme.name == name).cloned();
            let file = entry.read(&keys, &find)?;
            own.push(file);
        }
        Ok(Packets { own: own.into(), settings, ..Packets::default() })
    }

    /// Lets runs go on, however far they exceed their estimate.
    pub fn without_guard(self) -> Packets {
        Packets { unguarded: true, ..self }
    }

    /// Lets schemes name taggers and controllers of this program.
    pub fn with_program(self, program: Arc<dyn Program>) -> Packets {
        Packets { program: Some(program), ..self }
    }

    /// Carries out a point, and gives the sink each packet at each link: the first `most` of them. Returns the fabric, too.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn traced(
        &self,
        point: &Point,
        seed: u64,
        most: u64,
        sink: &mut dyn TraceSink,
    ) -> Result<(PointResult, Drawn), Error> {
        let run = self.run_of(point, seed)?;
        let fabric = &run.setup.fabric;
        let links = (0..fabric.links.len() as u32).collect();
        let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most };
        let result = run.with_run_spec(&mut engine::go_on, |run_spec, progress| {
            flowsieve_sim::run_traced(run_spec, None, &tracing, sink, progress).map_err(|error| run.failed(&error))
        })?;
        Ok((result, Drawn::of(fabric)))
    }

    pub(crate) fn program(&self) -> Option<&dyn Program> {
        self.program.as_deref()
    }

    /// Returns every scheme that a point may name, including those of the flow level, which say so.
    pub(crate) fn files(&self) -> impl Iterator<Item = &SchemeFile> {
        registry::all().chain(self.own.iter())
    }

    /// Finds a scheme that is not a user's file.
    pub(crate) fn file(&self, name: &str) -> Option<SchemeFile> {
        self.files().find(|scheme| scheme.name == name).cloned()
    }

    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|scheme| scheme.name == name)
    }

    fn run_of(&self, point: &Point, seed: u64) -> Result<Run, Error> {
        let settings = &point.settings;
        let setup = self.set_up(point, seed)?;
        let (fabric, workload) = (&setup.fabric, &setup.workload);
        refuse_hasty_timers(point, &setup)?;
        refuse_unanswered(point, &setup, seed)?;
        let max_time = settings.common().optional(&MAX_TIME)?.map(Time);
        refuse_late_events(settings, fabric, max_time)?;
        refuse_endless_samples(settings, workload)?;
        let (fct_end, needs) = fct_end(settings, workload, &setup.scheme)?;
        Ok(Run {
            fct_end,
            needs,
            max_time,
            sampling: watch::sampling(settings, fabric, workload.extent)?,
            trace: watch::trace(settings, fabric)?,
            label: format!("{}, seed {seed}", point.label()),
            guarded: !self.unguarded,
            partitioning: Partitioning::Whole,
            seed,
            crossings: workload.crossings(fabric, seed),
            setup,
        })
    }
}

/// Checks that a custom scheme may have this name.
///
/// # Errors
/// Fails if a built-in scheme has it, or if it cannot be used in an experiment.
pub fn check_name(name: &str) -> Result<(), Error> {
    document::check_variant_name(name, &Origin::Default)?;
    if registry::names().any(|other| other == name) {
        let problem = format!("there is a built-in scheme `{name}`");
        return Err(SettingsError::new(Origin::Default, problem).expected(OTHER_NAME).into());
    }
    Ok(())
}

/// How to correct a custom scheme's name that is taken.
const OTHER_NAME: &str = "another name for the scheme (see `flowsieve list schemes`)";

impl Engine for Packets {
    fn keys(&self) -> Vec<&'static Key> {
        [crate::keys(), self.settings.to_vec()].concat()
    }

    fn schemes(&self) -> Vec<SchemeInfo> {
        REGISTRY.iter().chain(self.own.iter()).map(crate::info).collect()
    }

    fn users_schemes(&self, files: &[SchemeText]) -> Result<Vec<SchemeInfo>, Error> {
        let keys = Keys::joined(&[&self.keys()]);
        let schemes = users::read(files, &keys, &|name| self.file(name))?;
        for scheme in &schemes {
            users::refuse_unread(scheme, &keys)?;
        }
        Ok(schemes.iter().map(crate::info).collect())
    }

    fn carries(&self, settings: &Settings) -> Result<bool, Error> {
        Ok(settings.common().optional(&FIDELITY)? != Some(Fidelity::Flow))
    }

    fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let _ = usual::read(self.files(), scheme, settings);
    }

    fn feeds(&self, scheme: &str, settings: &Settings) -> Option<TagFeeds> {
        let feeds = Feeds::of(&usual::read(self.files(), scheme, settings)?);
        Some(TagFeeds { tags: feeds.of_tags(), ports: feeds.of_ports() })
    }

    fn read(&self, point: &Point, seed: u64) -> Result<Reading, Error> {
        let run = self.run_of(point, seed)?;
        let Setup { fabric, scheme, workload, wire_overhead, .. } = &run.setup;
        let mut loads = run.wire_loads();
        refuse_overloaded_link(&point.settings, &run.setup, seed)?;
        let mut warnings: Vec<String> = overload(&point.settings, &loads, workload.extent)?.into_iter().collect();
        warnings.extend(workload.sentences());
        if workload.is_screened() && !scheme.controllers.is_empty() {
            warnings.push(format!(
                "screened: what `{}` learns from flows that end, it learns from the sample alone, and later",
                scheme.name
            ));
        }
        warnings.extend(times::in_words(&point.settings, fabric));
        for placed in workload.parts().iter().filter_map(|(_, part)| part.placed.as_ref()) {
            placed.say(&mut loads, &mut warnings);
        }
        let scaled = !sets::of(&point.settings.common())?.scaled.is_empty();
        let (wire_overhead, at_once) = (*wire_overhead, workload.at_once());
        warnings.extend(defeats::defeats(&Planned { scheme, fabric, wire_overhead, scaled, at_once }));
        let (trace, cut) = run.expected_trace().unzip();
        warnings.extend(cut.flatten());
        warnings.extend(foreign::notes(fabric, workload));
        if let Some((code, _)) = own::in_words(&point.settings.scheme(&point.variant.name))? {
            warnings.push(format!("the experiment file alone cannot reproduce this scheme: it calls the {code}"));
        }
        Ok(Reading {
            thresholds_bytes: thresholds(scheme),
            average: workload.average(),
            sizes: workload.law(&point.settings),
            fabric: fabric.draw(),
            packet_hops: run.expected_hops(),
            memory_bytes: run.expected_memory(),
            trace,
            loads,
            round_trips: defeats::round_trips(scheme, fabric, wire_overhead),
            warnings,
            needs: run.needs.clone(),
        })
    }

    fn run(
        &self,
        point: &Point,
        seed: u64,
        threads: Threads,
        hear: OnProgress<'_>,
        trace_folder: Option<&Path>,
    ) -> Result<PointResult, Error> {
        let mut run = self.run_of(point, seed)?;
        // Code outside the simulator may remember one host's calls at another's.
        if !calls_code(point)? {
            let gains = |threads| run.one_thread(threads).is_none();
            run.partitioning = cut::for_threads(threads, &run.setup.fabric, run.expected_hops(), gains);
        }
        // Another seed may load the links otherwise than the plan's.
        overload(&point.settings, &run.wire_loads(), run.setup.workload.extent)?;
        let mut result = run.simulate(hear, trace_folder)?;
        let Setup { fabric, workload, .. } = &run.setup;
        let traced_from = run.trace.as_ref().map(|trace| trace.tracing.span.start);
        result.warnings.extend(unreached(&point.settings, fabric, traced_from, &result));
        if workload.has_coflows() {
            result.flow_level_cct_ps = flow_level::mean_cct_ps(point, seed, fabric, workload);
        }
        Ok(result)
    }

    fn one_thread(&self, point: &Point, seed: u64, threads: usize) -> Result<Option<String>, Error> {
        if calls_code(point)? {
            return Ok(Some("the scheme calls code of the running program".to_owned()));
        }
        Ok(self.run_of(point, seed)?.one_thread(threads))
    }

    fn follower(&self) -> Option<&dyn engine::Follower> {
        Some(self)
    }

    fn describe(&self, point: &Point, info: &mut SchemeInfo) -> Result<(), Error> {
        let Some((code, knows_sizes)) = own::in_words(&point.settings.scheme(&point.variant.name))? else {
            return Ok(());
        };
        info.summary = format!("{} with code that the experiment file does not hold: {code}", point.variant.base);
        if knows_sizes && info.knows == Knows::Nothing.in_words() {
            Knows::Size.in_words().clone_into(&mut info.knows);
        }
        Ok(())
    }

    fn calls(&self) -> Vec<CallCost> {
        let costs = self.program.iter().flat_map(|program| program.costs());
        costs.map(|own::Cost { name, calls, seconds }| CallCost { name, calls, seconds }).collect()
    }
}

impl engine::Follower for Packets {
    fn follow(&self, point: &Point, seed: u64, flow: u32, hear: OnProgress<'_>) -> Result<Timeline, Error> {
        self.run_of(point, seed)?.follow(flow, hear)
    }
}

/// Returns whether the point's scheme calls code of the running program.
fn calls_code(point: &Point) -> Result<bool, Error> {
    Ok(own::in_words(&point.settings.scheme(&point.variant.name))?.is_some())
}

/// Returns the thresholds of the first class of flows that is tagged by thresholds.
fn thresholds(scheme: &Scheme) -> Vec<u64> {
    fn of(tagger: &TaggerSpec) -> Option<Vec<u64>> {
        match tagger {
            TaggerSpec::Demotion(pias) => Some(pias.thresholds.clone()),
            TaggerSpec::Climb(params) => Some(params.thresholds.clone()),
            TaggerSpec::Levels(params) => Some(params.network.clone()),
            TaggerSpec::KeptLevels(params) => Some(params.thresholds.clone()),
            TaggerSpec::AgedLevels(params) => Some(params.thresholds.clone()),
            TaggerSpec::Batched(batches) => of(&batches.of),
            _ => None,
        }
    }
    scheme.classes.iter().find_map(|class| of(&class.tagger)).unwrap_or_default()
}

/// Flows, one after the other.
type Flowing = Box<dyn Iterator<Item = Flow>>;

/// Returns the workload of a point, and its flows that count in the order of their starts.
pub fn flows(point: &Point, seed: u64) -> Result<(Workload, Flowing, Vec<String>), Error> {
    refuse_own_rack(&point.settings)?;
    let fabric = foreign::fabric(&point.settings, point.folder.path())?;
    let hosts = Hosts::of(&fabric);
    let workload = Workload::read(&point.settings, &hosts, &point.folder, seed)?;
    let scope = point.settings.common();
    if workload.queries(seed).is_some() {
        let problem = "messages of queries start after others, so their starts are known only during a run";
        return Err(scope.error(&QUERIES, problem).into());
    }
    let key: &Key = match (workload.closed_loop(seed), workload.extent) {
        (Some(_), _) => &ARRIVALS,
        (None, Extent::Collectives) => key_of_collectives(),
        (None, _) => &LOAD,
    };
    if let Extent::Entries { endless: true } = workload.extent {
        let endless = workload.parts().into_iter().find(|(_, part)| part.extent == Extent::Others);
        let name = endless.and_then(|(name, _)| Some(name?.0.to_owned()));
        let problem =
            "a workload continues until the flows of the others have finished, so its end is known only during a run";
        let scope = point.settings.workload(name.as_deref());
        let key: &Key = if scope.is_given(&CDF) { &CDF } else { &SIZES };
        return Err(scope.error(key, problem).expected("`flows` or `duration` in each [[workload]]").into());
    }
    let flows = workload.flows_to_end(seed).map_err(|problem| scope.error(key, problem))?;
    let flows: Flowing = match workload.extent {
        Extent::Window(from, to) => {
            Box::new(flows.take_while(move |flow| flow.start_ps < to).filter(move |flow| flow.start_ps >= from))
        }
        _ => flows,
    };
    Ok((workload, flows, hosts.names.needed_in_lists()))
}

/// Reads when flows end, and says so where it follows from the workload or the scheme: flows of queries must end as queries
/// do, so that the coflow of a query ends with it, and without ACKs no flow ends with one.
fn fct_end(
    settings: &Settings,
    workload: &Workload,
    scheme: &Scheme,
) -> Result<(FctEnd, Option<Needed>), SettingsError> {
    let scope = settings.common();
    // What is sent open loop is known to end with the arrival.
    let never =
        |class: &Class| !class.transport.facts().acknowledges && !matches!(class.transport, TransportSpec::OpenLoop(_));
    let why = match workload.extent {
        Extent::Queries => "a query ends when its last answer has arrived at its client".to_owned(),
        Extent::Collectives => "a collective goes on when a message has arrived".to_owned(),
        _ if scheme.classes.iter().any(never) => format!("`{}` has no ACKs with which flows could end", scheme.name),
        _ => return Ok((scope.read(&FCT_END)?, None)),
    };
    let follows = !scope.is_given(&FCT_END) && scope.usual(&FCT_END)? != Some(FctEnd::Arrival);
    if scope.given_or(&FCT_END, FctEnd::Arrival)? != FctEnd::Arrival {
        let error = scope.error(&FCT_END, why);
        return Err(error.expected("fct_end = \"arrival\" in [run]: a flow ends when its last byte has arrived"));
    }
    let why = format!("every flow ends when its last byte has arrived, as {why}");
    Ok((FctEnd::Arrival, follows.then_some(Needed { key: FCT_END.name, value: "arrival", why })))
}

struct Run {
    setup: Setup,
    fct_end: FctEnd,
    /// The end of flows, if it is not given and follows from the others.
    needs: Option<Needed>,
    max_time: Option<Time>,
    sampling: Option<Sampling>,
    trace: Option<Trace>,
    /// By class of links, the mean number of them that a packet crosses.
    crossings: Vec<f64>,
    seed: u64,
    label: String,
    /// Whether the run ends when it exceeds its estimate by far.
    guarded: bool,
    partitioning: Partitioning,
}

/// The factor by which a run may exceed its estimate.
const GUARD: f64 = 10.0;
/// Packet-hops that any run may take, however small its estimate: a second or two.
const GUARD_FROM: f64 = 1e7;
/// Flows of each host that may be under way at once: ten times the mean number at 99 % of a link's rate, where flows share it
/// equally.
const UNDER_WAY_PER_HOST: u64 = 1_000;
/// A fabric with fewer hosts may have as many flows under way as one with this number.
const FEWEST_HOSTS: u32 = 10;

impl Run {
    /// Returns the most packet-hops it may take. The number of flows of closed loops and queries is unknown.
    fn most_packet_hops(&self) -> Option<u64> {
        let open =
            self.setup.workload.closed_loop(self.seed).is_none() && self.setup.workload.queries(self.seed).is_none();
        (self.guarded && open).then(|| (GUARD * self.expected_hops()).max(GUARD_FROM) as u64)
    }

    fn expected_hops(&self) -> f64 {
        let hops: f64 = self.crossings.iter().sum();
        self.setup.workload.expected_flows() * self.setup.workload.packets_per_flow() * hops
    }

    /// Returns why it takes one thread where it gets several, if it does.
    fn one_thread(&self, threads: usize) -> Option<String> {
        match flowsieve_sim::stages(&self.setup.fabric, &self.setup.scheme) {
            Err(why) => Some(why.to_string()),
            Ok(rounds) if !self.course().is_worth(threads, rounds) => {
                Some("so few packets are under way at once that threads would wait longer than they work".to_owned())
            }
            Ok(_) => None,
        }
    }

    /// Returns its course as far as it is known: of flows that begin by themselves, or of as many as are expected.
    fn course(&self) -> Course {
        let Setup { workload, fabric, .. } = &self.setup;
        let links = self.crossings.iter().sum();
        self.setup.with_flows(self.seed, |_, flows, measure| match (flows, measure) {
            (Flows::Given(flows), Measure::All) => Course::of(flows(), fabric, &workload.framing, links),
            _ => Course {
                packet_hops: self.expected_hops(),
                span_ps: workload.following_span_ps().or(workload.arrivals_span_ps()).unwrap_or(0.0),
                alone: 0.0,
            },
        })
    }

    fn expected_memory(&self) -> u64 {
        memory::of_run(
            &self.setup.fabric,
            self.setup.workload.expected_flows(),
            refusals::sketch_bytes(&self.setup.scheme, &self.setup.fabric),
        )
    }

    /// Estimates the size of the packet trace, and warns if the trace ends before the run.
    fn expected_trace(&self) -> Option<(TraceSize, Option<String>)> {
        let trace = self.trace.as_ref()?;
        let (span, most) = (&trace.tracing.span, trace.tracing.most);
        let crossings = trace.share_of_classes.iter().zip(&self.crossings).map(|(share, crossing)| share * crossing);
        let flows = self.setup.workload.expected_flows_within(span.start.0, span.end.0);
        let all = flows * self.setup.workload.packets_per_flow() * crossings.sum::<f64>();
        let packets = all.min(most as f64);
        let size = TraceSize { packets, bytes: packets * trace.formats.bytes_per_packet(&trace.links) };
        let ends =
            || format!("the packet trace would have about {all:.0} packets, but ends after {most} (`trace_packets`)");
        Some((size, (all > most as f64).then(ends)))
    }

    /// Returns the share of each class of links that data and ACKs take, with its name.
    fn wire_loads(&self) -> Vec<(String, f64)> {
        let Some(bps) = self.setup.workload.class_bps(&self.crossings, &self.setup.fabric, self.seed) else {
            return Vec::new();
        };
        let rates = self.setup.fabric.class_shares().iter().map(|share| share.rate_total_bps.max(1) as f64);
        let loads = bps.iter().zip(rates).map(|(bps, rate)| bps / rate);
        self.setup.fabric.classes.iter().map(|name| (*name).to_owned()).zip(loads).collect()
    }

    fn simulate(&self, show: OnProgress<'_>, trace: Option<&Path>) -> Result<PointResult, Error> {
        self.with_run_spec(show, |run_spec, progress| {
            let result = match (self.trace.as_ref().zip(trace), &self.sampling) {
                (Some((trace, folder)), sampling) => {
                    let mut files = TraceFiles::new(folder, trace.formats, trace.links.clone());
                    let tracing = &trace.tracing;
                    let result = flowsieve_sim::run_traced(run_spec, sampling.as_ref(), tracing, &mut files, progress);
                    // The error that prevented writing says more than that the run was abandoned.
                    files.finish()?;
                    result
                }
                (None, Some(sampling)) => flowsieve_sim::run_sampled(run_spec, sampling, progress),
                (None, None) => flowsieve_sim::run(run_spec, progress),
            };
            result.map_err(|error| self.failed(&error))
        })
    }

    /// Runs with all links traced, and keeps the timeline of a flow.
    fn follow(&self, flow: u32, show: OnProgress<'_>) -> Result<Timeline, Error> {
        // Packets without numbers are told apart by their places in memory, which threads would change.
        debug_assert_eq!(self.partitioning, Partitioning::Whole, "a flow is followed on one thread");
        let mut follower = Follower::new(flow, Hop::all(&self.setup.fabric, self.setup.wire_overhead));
        let links = (0..self.setup.fabric.links.len() as u32).collect();
        let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most: u64::MAX };
        let result = self.with_run_spec(show, |run_spec, progress| {
            flowsieve_sim::run_traced(run_spec, None, &tracing, &mut follower, progress)
                .map_err(|error| self.failed(&error))
        })?;
        let row = follow::find(&result.flows, flow, &self.label)?;
        if !follower.has_packets() && row.fct_ps.is_some() {
            let problem = format!("{}: no packet says that it belongs to flow {flow}", self.label);
            return Err(Error::Input(format!(
                "{problem}; expected its `message` in each data packet of your transport"
            )));
        }
        Ok(follower.timeline(self.label.clone(), &row, &self.setup.fabric))
    }

    fn failed(&self, error: &SimError) -> Error {
        match error {
            SimError::Stopped => Error::Stopped,
            error => Error::Simulation { point: self.label.clone(), problem: error.to_string() },
        }
    }

    /// Calls `carry_out` with the simulator's specification.
    fn with_run_spec<T>(
        &self,
        show: OnProgress<'_>,
        carry_out: impl FnOnce(&RunSpec<'_>, &mut dyn FnMut(flowsieve_sim::Progress) -> ControlFlow<()>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.setup.with_flows(self.seed, |setup, flows, measure| {
            let run_spec = RunSpec {
                fabric: &setup.fabric,
                scheme: &setup.scheme,
                wire_overhead: setup.wire_overhead,
                flows,
                predictions: setup.predictions.as_ref(),
                announcements: setup.announcements.as_ref(),
                measure,
                fct_end: self.fct_end,
                seed: self.seed,
                max_time: self.max_time,
                partitioning: self.partitioning,
                most_packet_hops: self.most_packet_hops(),
                fruitless_timeouts: self.guarded.then_some(FRUITLESS_TIMEOUTS),
                // Other workloads have an estimate of their packet-hops, or no more flows than they ask for.
                most_under_way: (self.guarded && setup.workload.queries(self.seed).is_some())
                    .then_some(UNDER_WAY_PER_HOST * u64::from(setup.fabric.hosts.max(FEWEST_HOSTS))),
            };
            let expected = self.setup.workload.expected_flows().max(1.0);
            let failure = &self.setup.failure;
            let mut progress = |now: flowsieve_sim::Progress| {
                if failure.problem().is_some() {
                    return ControlFlow::Break(());
                }
                show(Progress { share: (now.finished as f64 / expected).min(1.0), packet_hops: now.packet_hops })
            };
            let result = carry_out(&run_spec, &mut progress);
            match failure.problem() {
                Some(problem) => Err(Error::Simulation { point: self.label.clone(), problem: problem.to_owned() }),
                None => result,
            }
        })
    }
}
