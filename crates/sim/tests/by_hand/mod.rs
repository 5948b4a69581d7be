//! Points put together by hand: a small fabric, a scheme of the registry under some settings, a few flows.

use std::ops::ControlFlow;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::coflow::Announcements;
use flowsieve_record::{PacketKind, PacketRow, PointResult, TraceSink};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_settings::{Raw, Settings};
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{FctEnd, Flows, Partitioning, RunSpec, run, run_traced};
use flowsieve_workload::{Flow, Predict};

/// 10 Gbit/s at the hosts and 40 Gbit/s between switches, 200 ns for each link, nothing for hosts: a full packet of
/// 1,500 bytes takes 1.2 us and 0.3 us, an ACK of 40 bytes 32 ns and 8 ns. Hosts have ports like switches'.
pub(crate) fn settings(kind: &str) -> Settings {
    bare::none_given().with(None, "kind", kind).with(None, "host_delay", "0ns").with(None, "nic", "scheme")
}

/// Several hosts on one switch.
pub(crate) fn rack(hosts: i64) -> Settings {
    settings("single-switch").with(None, "hosts", hosts)
}

/// A scheme of the registry.
pub(crate) fn scheme(name: &str, settings: &Settings) -> Scheme {
    bare::scheme(name, settings, &Facts::NONE).expect("settings that go together")
}

/// `packets` full packets from one host to another.
pub(crate) fn flow(start_ps: u64, (src, dst): (u32, u32), packets: u64) -> Flow {
    Flow { id: 0, start_ps, src, dst, bytes: 1_460 * packets, class: 0, deadline_ps: None, coflow: None }
}

/// These flows, those of each host as many picoseconds later as its number is: of packets that would arrive at one instant, those
/// of the first host are first. What is read in nanoseconds stays the same.
pub(crate) fn in_order(flows: &[Flow]) -> Vec<Flow> {
    flows.iter().map(|flow| Flow { start_ps: flow.start_ps + u64::from(flow.src), ..*flow }).collect()
}

/// The FCT of each flow, in ps, to the nearest nanosecond.
pub(crate) fn fcts_in_ns(result: &PointResult) -> Vec<u64> {
    fcts(result).into_iter().map(|fct| (fct + 500) / 1_000 * 1_000).collect()
}

/// What a run depends on in addition to fabric and scheme.
pub(crate) struct Trial {
    pub(crate) fabric: Fabric,
    pub(crate) scheme: Scheme,
    pub(crate) wire_overhead: u16,
    pub(crate) fct_end: FctEnd,
    pub(crate) predictions: Option<Arc<dyn Predict>>,
    pub(crate) announcements: Option<Arc<Announcements>>,
}

impl Trial {
    /// A flow ends when it has arrived.
    pub(crate) fn new(settings: &Settings, scheme: Scheme) -> Trial {
        let fabric = Fabric::from_settings(settings).expect("a fabric");
        Trial { fabric, scheme, wire_overhead: 0, fct_end: FctEnd::Arrival, predictions: None, announcements: None }
    }

    /// A flow ends when its sender knows that it has arrived.
    pub(crate) fn until_ack(self) -> Trial {
        Trial { fct_end: FctEnd::Ack, ..self }
    }

    /// Runs flows until the fabric is empty; they are numbered as they stand. The result must be the same however the
    /// fabric is cut, and within two seconds.
    pub(crate) fn run(&self, flows: &[Flow]) -> PointResult {
        let whole = self.run_as(flows, Partitioning::Whole);
        let stages = self.run_as(flows, Partitioning::Stages { groups: 3, threads: 2, worth: 0 });
        assert_eq!(whole, stages);
        let racks = self.run_as(flows, Partitioning::Racks);
        assert_eq!(PointResult { events: 0, ..whole.clone() }, PointResult { events: 0, ..racks });
        whole
    }

    /// The same for a fabric that is cut in one way.
    pub(crate) fn run_as(&self, flows: &[Flow], partitioning: Partitioning) -> PointResult {
        let numbered = || -> Box<dyn Iterator<Item = Flow>> {
            Box::new((0..).zip(flows).map(|(id, flow)| Flow { id, ..*flow }).collect::<Vec<_>>().into_iter())
        };
        run(&self.run_spec(Flows::Given(&numbered), partitioning), &mut flowsieve_sim::go_on).expect("a run")
    }

    /// Everything that a run depends on.
    pub(crate) fn run_spec<'a>(&'a self, flows: Flows<'a>, partitioning: Partitioning) -> RunSpec<'a> {
        RunSpec {
            wire_overhead: self.wire_overhead,
            predictions: self.predictions.as_ref(),
            announcements: self.announcements.as_ref(),
            fct_end: self.fct_end,
            max_time: Some(Time::from_us(2_000_000)),
            partitioning,
            ..RunSpec::new(&self.fabric, &self.scheme, flows)
        }
    }
}

/// The FCT of each flow, in ps.
pub(crate) fn fcts(result: &PointResult) -> Vec<u64> {
    result.flows.iter().map(|row| row.fct_ps.expect("a finished flow")).collect()
}

/// Sums over all classes of links: packets marked, and packets dropped at full buffers.
pub(crate) fn marks_and_drops(result: &PointResult) -> (u64, u64) {
    let sum = |count: fn(&flowsieve_record::LinkClass) -> u64| result.links.iter().map(count).sum();
    (sum(|link| link.marks), sum(|link| link.drops.buffer))
}

/// Keeps the packets with payload.
#[derive(Default)]
struct Data(Vec<(u32, PacketRow)>);

impl TraceSink for Data {
    fn begin(&mut self) {
        self.0.clear();
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        if let Some((_, PacketKind::Data { flow, .. })) = row.what {
            self.0.push((flow, *row));
        }
        ControlFlow::Continue(())
    }
}

/// Calls `body` with everything that a run of these flows in the whole fabric depends on.
pub(crate) fn with_run_spec<R>(trial: &Trial, flows: &[Flow], body: impl FnOnce(&RunSpec<'_>) -> R) -> R {
    let numbered = || -> Box<dyn Iterator<Item = Flow>> {
        Box::new((0..).zip(flows).map(|(id, flow)| Flow { id, ..*flow }).collect::<Vec<_>>().into_iter())
    };
    body(&trial.run_spec(Flows::Given(&numbered), Partitioning::Whole))
}

/// The packets with payload that a link sends, with their flows.
pub(crate) fn sent(trial: &Trial, flows: &[Flow], link: &str) -> Vec<(u32, PacketRow)> {
    with_run_spec(trial, flows, |run_spec| {
        let links = (0..run_spec.fabric.links.len() as u32).filter(|&n| run_spec.fabric.link_name(n) == link).collect();
        let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most: u64::MAX };
        let mut data = Data::default();
        run_traced(run_spec, None, &tracing, &mut data, &mut flowsieve_sim::go_on).expect("a run");
        data.0
    })
}

/// Sizes as a list setting.
pub(crate) fn sizes(all: &[u64]) -> Raw {
    let texts: Vec<String> = all.iter().map(|bytes| format!("{bytes}B")).collect();
    Raw::from(&texts.iter().map(String::as_str).collect::<Vec<_>>()[..])
}
