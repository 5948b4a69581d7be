//! The flow-level engine: settings become links, paths and flows, and rates decide the rest.

mod paths;
mod result;

use std::path::Path;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::coflow::key;
use flowsieve_record::PointResult;
use flowsieve_results::SchemeInfo;
use flowsieve_schemes::flow_level::{self, FIDELITY, Fidelity, FlowLevel, Rates};
use flowsieve_schemes::parameters;
use flowsieve_schemes::registry::{self, ONLY_AT_FLOW_LEVEL};
use flowsieve_settings::{Key, Scope, Settings, SettingsError};
use flowsieve_sim::FctEnd;
use flowsieve_sim::fluid::{self as fluid, Discipline, Network};
use flowsieve_sim::topology::{Fabric, events};
use flowsieve_workload::Flow;

use crate::coflow_weights;
use crate::foreign;
use crate::memory;
use crate::simulator::refusals::refuse_beyond_time;
use crate::simulator::{FCT_END, MAX_TIME, need_coflows};
use crate::workload::{ARRIVALS, Extent, FLOWS, Hosts, LOAD, MEASURE, QUERIES, Workload, key_of_collectives};
use crate::{users, usual};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::{Engine, OnProgress, Progress, Reading, Threads, go_on};
use flowsieve_experiment::{BASE, Point};

/// The bytes of a flow on the wire: its data with headers and framing. There are no ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Framing {
    /// Payload of a full packet.
    segment: u16,
    header: u64,
    /// Preamble and gap.
    overhead: u64,
}

impl Framing {
    fn read(scope: &Scope<'_>) -> Result<Framing, SettingsError> {
        Ok(Framing {
            segment: parameters::segment(scope)?.get(),
            header: parameters::header(scope)?.into(),
            overhead: parameters::wire_overhead(scope)?.into(),
        })
    }

    /// Returns the bytes that a packet takes in addition to its payload.
    fn beside(&self) -> u32 {
        (self.header + self.overhead) as u32
    }

    /// Returns the bytes of packets.
    fn packets(&self, payload: u64) -> u64 {
        payload + payload.div_ceil(self.segment.into()) * self.header
    }

    /// Returns the bytes on the wire.
    fn wire(&self, payload: u64) -> u64 {
        payload + payload.div_ceil(self.segment.into()) * (self.header + self.overhead)
    }
}

/// The engine that computes rates of flows instead of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRates;

impl Engine for FlowRates {
    fn keys(&self) -> Vec<&'static Key> {
        crate::keys()
    }

    fn schemes(&self) -> Vec<SchemeInfo> {
        ONLY_AT_FLOW_LEVEL.iter().map(crate::info).collect()
    }

    fn carries(&self, settings: &Settings) -> Result<bool, Error> {
        Ok(settings.common().optional(&FIDELITY)? == Some(Fidelity::Flow))
    }

    fn without(&self) -> Option<&'static str> {
        Some("with fidelity = \"flow\", which has rates and no packets")
    }

    fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let _ = usual::read(ONLY_AT_FLOW_LEVEL.iter(), scheme, settings);
    }

    fn read(&self, point: &Point, seed: u64) -> Result<Reading, Error> {
        let (fabric, workload) = set_up(point, seed)?;
        Run::read(point, seed, &fabric, &workload)?;
        let (mut loads, mut warnings) = (Vec::new(), Vec::new());
        for placed in workload.parts().iter().filter_map(|(_, part)| part.placed.as_ref()) {
            placed.say(&mut loads, &mut warnings);
        }
        warnings.extend(workload.sentences());
        warnings.extend(foreign::notes(&fabric, &workload));
        Ok(Reading {
            fabric: fabric.draw(),
            memory_bytes: memory::of_flows(workload.expected_flows()),
            loads,
            warnings,
            ..Reading::default()
        })
    }

    fn run(
        &self,
        point: &Point,
        seed: u64,
        _: Threads,
        hear: OnProgress<'_>,
        _: Option<&Path>,
    ) -> Result<PointResult, Error> {
        let (fabric, workload) = set_up(point, seed)?;
        Run::read(point, seed, &fabric, &workload)?.carry_out(hear)
    }
}

fn set_up(point: &Point, seed: u64) -> Result<(Fabric, Workload), Error> {
    let problem = "links do not fail at flow level, where flows keep the rates of their paths";
    events::refuse(&point.settings, problem, "no [[event]], or fidelity = \"packet\" in [run]")?;
    let fabric = foreign::fabric(&point.settings, point.folder.path())?;
    let workload = Workload::read(&point.settings, &Hosts::of(&fabric), &point.folder, seed)?;
    refuse_beyond_time(&point.settings, &workload)?;
    Ok((fabric, workload))
}

/// Returns the mean CCT at flow level of the coflows of a packet run, by rates alone; `None` if that has no meaning.
pub(crate) fn mean_cct_ps(point: &Point, seed: u64, fabric: &Fabric, workload: &Workload) -> Option<u64> {
    if !fabric.events.is_empty() {
        return None;
    }
    let mut result = Run::read(point, seed, fabric, workload).ok()?.carry_out(&mut go_on).ok()?;
    result.flows.iter_mut().for_each(|row| row.fct_ps = row.rates_only_ps);
    result.mean_cct_ps()
}

fn discipline(point: &Point, scope: &Scope<'_>, level: FlowLevel) -> Result<Discipline, Error> {
    if let Some(queues) = level.queues {
        return Ok(Discipline::Attained { first: queues.first, factor: queues.factor, queues: queues.count });
    }
    let Some(of_scheme) = level.order else {
        return Ok(match level.rates {
            Rates::Equal => Discipline::Equal,
            Rates::Smallest => Discipline::Smallest,
            _ => Discipline::MaxMin,
        });
    };
    let weights = match of_scheme.rule.heeds_weights() {
        true => coflow_weights::read(point, scope)?,
        false => Arc::default(),
    };
    let order = fluid::Order { rule: of_scheme.rule, remaining: of_scheme.remaining, weights };
    Ok(match (level.rates, of_scheme.levels) {
        (Rates::Strict, Some((rule, levels))) => Discipline::Strict { order, rule, levels },
        (Rates::Greedy, _) => Discipline::Greedy(order),
        (Rates::Madd, _) => Discipline::Madd(order),
        (Rates::MaddByDeadline, _) => Discipline::MaddByDeadline(order),
        (Rates::Shares, _) => Discipline::Shares(order),
        _ => Discipline::MaxMin,
    })
}

/// Refuses links that lose packets.
fn refuse_loss(settings: &Settings, fabric: &Fabric) -> Result<(), SettingsError> {
    if fabric.links.iter().all(|link| link.loss == 0.0) {
        return Ok(());
    }
    let problem = "`loss` of a link has no effect at flow level, which has no packets";
    Err(settings.common().error(&FIDELITY, problem).expected("no `loss`, or fidelity = \"packet\""))
}

/// Refuses workloads with flows that are not known before the run.
fn refuse_unknown_starts(settings: &Settings, workload: &Workload, seed: u64) -> Result<(), SettingsError> {
    let scope = settings.common();
    let refuse = |key: &Key, what: &str| {
        let problem = format!("{what} at flow level, where all flows must be known before the run");
        Err(scope.error(key, problem).expected("fidelity = \"packet\", or flows that all count and wait for no other"))
    };
    if workload.queries(seed).is_some() {
        return refuse(&QUERIES, "queries");
    }
    if workload.closed_loop(seed).is_some() {
        return refuse(&ARRIVALS, "a closed loop");
    }
    match workload.extent {
        Extent::Collectives => refuse(key_of_collectives(), "a collective"),
        Extent::Window(..) => refuse(&MEASURE, "a measuring window"),
        Extent::Entries { endless: true } => {
            refuse(&FLOWS, "a workload that continues until the flows of the others have finished")
        }
        _ => Ok(()),
    }
}

struct Run<'a> {
    fabric: &'a Fabric,
    workload: &'a Workload,
    discipline: Discipline,
    /// Whether flows spread over all of their paths.
    spreads: bool,
    framing: Framing,
    /// Whether a flow ends when the ACK of its last byte is back.
    ends_with_ack: bool,
    max_time: Time,
    seed: u64,
    label: String,
}

impl<'a> Run<'a> {
    fn read(point: &Point, seed: u64, fabric: &'a Fabric, workload: &'a Workload) -> Result<Run<'a>, Error> {
        let settings = &point.settings;
        let scope = settings.scheme(&point.variant.name);
        let base = scope.read_or(&BASE, point.variant.base.clone())?;
        let known = |name: &str| registry::all().find(|scheme| scheme.name == name).cloned();
        let users = users::read(&point.schemes, settings.declared(), &known)?;
        let file = users.into_iter().find(|scheme| scheme.name == base).or_else(|| known(&base));
        let scope = match file {
            Some(file) => {
                scope.note_instead(&BASE, &file.root);
                file.scope(scope)
            }
            None => scope,
        };
        let level = flow_level::read(&base, &scope)?;
        refuse_loss(settings, fabric)?;
        refuse_unknown_starts(settings, workload, seed)?;
        if level.order.is_some() || level.queues.is_some() {
            need_coflows(&scope, workload)?;
        }
        Ok(Run {
            discipline: discipline(point, &scope, level)?,
            spreads: level.spreads,
            framing: Framing::read(&scope)?,
            ends_with_ack: settings.common().read(&FCT_END)? == FctEnd::Ack && level.answers,
            max_time: settings.common().optional(&MAX_TIME)?.map_or(Time::NEVER, Time),
            label: format!("{}, seed {seed}", point.label()),
            fabric,
            workload,
            seed,
        })
    }

    fn carry_out(&self, show: OnProgress<'_>) -> Result<PointResult, Error> {
        let refuse = |problem: &str| Error::Simulation { point: self.label.clone(), problem: problem.to_owned() };
        let flows = self.flows().map_err(|problem| refuse(&problem))?;
        if flows.is_empty() {
            return Err(refuse("no flow starts"));
        }
        let (network, of_flows) = self.network(&flows);
        let expected = flows.len() as f64;
        let mut stopped = false;
        let mut report = |now: fluid::Progress| {
            let goes_on = show(Progress { share: now.ended as f64 / expected, packet_hops: 0 });
            stopped = goes_on.is_break();
            goes_on
        };
        let spec =
            fluid::Spec { network: &network, flows: &of_flows, discipline: &self.discipline, until: self.max_time };
        let outcome = fluid::run(&spec, &mut report);
        if stopped {
            return Err(Error::Stopped);
        }
        Ok(result::result(self, &flows, &spec, &outcome))
    }

    fn flows(&self) -> Result<Vec<Flow>, String> {
        let flows = self.workload.flows(self.seed).map_err(|_| LOAD.name.to_owned())?;
        Ok(match self.workload.extent {
            Extent::Flows(count) => flows.take(usize::try_from(count).unwrap_or(usize::MAX)).collect(),
            Extent::Until(end) => flows.take_while(|flow| flow.start_ps < end).collect(),
            Extent::Entries { endless: false } => flows.collect(),
            // Refused when the run was read.
            _ => Vec::new(),
        })
    }

    /// Returns the links with the paths of the flows, and the flows on them.
    fn network(&self, flows: &[Flow]) -> (Network, Vec<fluid::Flow>) {
        let mut paths = paths::Paths::new(self.fabric, self.spreads, self.seed);
        let of_flow = |flow: &Flow| fluid::Flow {
            start: Time(flow.start_ps),
            payload: flow.bytes,
            wire: self.framing.wire(flow.bytes),
            path: paths.of(flow),
            coflow: key(flow.coflow, flow.id),
        };
        let flows = flows.iter().map(of_flow).collect();
        (paths.into_network(), flows)
    }
}
