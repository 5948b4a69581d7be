//! DCTCP's steady state against its analysis, with a port that notes its queue. The window follows from the queue by
//! Little's law: while the link is busy, the packets under way are those in the queue and those that fill the pipe. The
//! analysis' alpha is the share of packets that is marked.

use flowsieve_core::admission::Admission;
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::marker::{Marker, Scope};
use flowsieve_core::{Meta, PortScheduler, Surroundings, Time, Verdict};
use flowsieve_experiment::validate::dctcp::{Link, Observed, Sample, compare};
use flowsieve_schemes::scheme::{Places, PortSpec};
use flowsieve_schemes::settings::{Place, Settings};
use flowsieve_schemes::{Context, WorkloadFacts, registry};
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Framing, Measure, Partitioning, Point, run};
use flowsieve_workload::Flow;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

const PACKET: u64 = 1_500;
const THRESHOLD: u64 = 40;
/// An ACK that opens the window lets two packets go.
const BURST: f64 = 2.0;
/// Between two samples.
const STEP_US: u64 = 10;
const WARM_UP_US: u64 = 40_000;
const END_US: u64 = 240_000;

/// What a port noted in one step: least and most of its queue, packets and marked packets that came.
#[derive(Clone, Copy)]
struct Step {
    queue: (u64, u64),
    packets: u64,
    marks: u64,
}

type Notes = Arc<Mutex<Vec<Vec<Step>>>>;

/// A FIFO port that notes its queue.
struct Noting {
    bank: FifoBank,
    /// What was queued before what comes now.
    queue: u64,
    /// Its place in the notes.
    port: usize,
    notes: Notes,
}

impl Noting {
    fn spec(notes: &Notes) -> PortSpec {
        let notes = Arc::clone(notes);
        PortSpec::Custom(Arc::new(move || {
            let above = THRESHOLD * PACKET;
            let marker = Marker::Threshold { above, scope: Scope::Port, counts_arriving: true };
            let bank = FifoBank::new(1, Admission::Unlimited, marker, Discipline::StrictPriority);
            let mut all = notes.lock().unwrap();
            all.push(Vec::new());
            Box::new(Noting { bank, queue: 0, port: all.len() - 1, notes: Arc::clone(&notes) })
        }))
    }

    fn note(&mut self, now: Time, packets: u64, marks: u64) {
        let (before, queue) = (self.queue, self.bank.backlog_bytes());
        self.queue = queue;
        let steps = &mut self.notes.lock().unwrap()[self.port];
        while steps.len() as u64 <= now.0 / (STEP_US * 1_000_000) {
            steps.push(Step { queue: (before, before), packets: 0, marks: 0 });
        }
        if let Some(step) = steps.last_mut() {
            step.queue = (step.queue.0.min(queue), step.queue.1.max(queue));
            step.packets += packets;
            step.marks += marks;
        }
    }
}

impl PortScheduler for Noting {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, around: &mut Surroundings<'_>) -> Verdict {
        let (before, now) = (*around.marks, around.now);
        let verdict = self.bank.enqueue(metas, packet, around);
        self.note(now, 1, *around.marks - before);
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], around: &mut Surroundings<'_>) -> Option<u32> {
        let now = around.now;
        let packet = self.bank.dequeue(metas, around);
        self.note(now, 0, 0);
        packet
    }

    fn backlog_bytes(&self) -> u64 {
        self.bank.backlog_bytes()
    }

    fn queues(&self) -> usize {
        1
    }
}

struct Nothing;

impl WorkloadFacts for Nothing {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        None
    }

    fn quantile_bytes(&self, _: f64) -> Option<u64> {
        None
    }
}

/// `flows` long flows from hosts of their own to one host, and what the port to it showed in steady state.
fn observe(flows: u32) -> (Link, Observed) {
    // Two links there and back with 1.2 us for a packet and 0.032 us for an ACK: 100 us in all.
    let settings = Settings::default()
        .with(None, "kind", "single-switch")
        .with(None, "hosts", i64::from(flows) + 1)
        .with(None, "rtt", "97.536us")
        .with(None, "nic", "backpressure")
        .with(None, "initial_window", 10)
        .with(None, "max_window", 10_000)
        .with(None, "handshake", "none");
    let fabric = Fabric::from_settings(&settings).unwrap();
    let entry = registry::find("dctcp").unwrap();
    let mut scheme = (entry.build)(&Context { scope: settings.scheme("dctcp"), workload: &Nothing }).unwrap();
    let notes = Notes::default();
    let port = |place| {
        Ok::<_, Infallible>(if place == Place::Leaf { Noting::spec(&notes) } else { scheme.ports.at(place).clone() })
    };
    scheme.ports = Places::try_from_fn(port).unwrap_or_else(|never| match never {});
    notes.lock().unwrap().clear();
    let coming = || -> Box<dyn Iterator<Item = Flow>> {
        // A fifth of a round trip apart, so that their first windows do not meet.
        let flow = move |id: u32| Flow {
            id,
            start_ps: u64::from(id) * 20_000_000,
            src: id,
            dst: flows,
            bytes: 1_000_000_000,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        Box::new((0..flows).map(flow))
    };
    let point = Point {
        fabric: &fabric,
        scheme: &scheme,
        framing: Framing { header: 40, overhead: 0 },
        flows: &coming,
        measure: Measure::All,
        fct_end: FctEnd::Ack,
        seed: 1,
        max_time: Some(Time::from_us(END_US)),
        partitioning: Partitioning::Whole,
    };
    run(&point, &mut |_| {}).unwrap();
    let notes = notes.lock().unwrap();
    let steps = notes.iter().max_by_key(|steps| steps.iter().map(|step| step.packets).sum::<u64>()).unwrap();
    let link = Link { flows, packets_per_second: 10e9 / 12_000.0, round_trip: 100e-6, threshold: THRESHOLD as f64 };
    let pipe = link.packets_per_second * link.round_trip;
    let sample = |step: &Step| {
        let queue = (step.queue.0 as f64 / PACKET as f64, step.queue.1 as f64 / PACKET as f64);
        let window = ((queue.0 + queue.1) / 2.0 + pipe) / f64::from(flows);
        Sample { windows: vec![window], alphas: vec![step.marks as f64 / step.packets.max(1) as f64], queue }
    };
    let samples: Vec<Sample> = steps[(WARM_UP_US / STEP_US) as usize..].iter().map(sample).collect();
    let in_period = (link.steady().period * 1e6 / STEP_US as f64).round() as usize;
    (link, Observed::of(&samples, in_period).unwrap())
}

#[test]
fn dctcp__two_flows_as_the_analysis_has_them() {
    let (link, observed) = observe(2);
    let lines = compare(&link, &observed, BURST);
    assert!(lines.iter().all(|line| line.passes), "{lines:#?}");
}

#[test]
fn dctcp__many_flows_stay_below_the_bound() {
    for flows in [10, 40] {
        let (link, observed) = observe(flows);
        let lines = compare(&link, &observed, BURST);
        assert!(lines.iter().all(|line| line.passes), "{flows} flows: {lines:#?}");
    }
}
