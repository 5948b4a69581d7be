//! This crate's ports against [`flowsieve_fabric::port::Port`]: the same packets at the same instants.

use std::cell::Cell;
use std::collections::BTreeMap;

use flowsieve_core::admission::Pool;
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, Meta, NONE, Tag, Time, Victims};
use flowsieve_fabric::port::Port;
use flowsieve_fabric::topology::{FABRIC_SETTINGS, Fabric, Link, Node, Sites};
use flowsieve_schemes::{Context, REGISTRY, Scheme, WorkloadFacts};
use flowsieve_settings::{Origin, Raw, Settings, Table};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::build::build;
use crate::event::Key;
use crate::network::Network;
use crate::slab::Body;
use crate::{FctEnd, Flows, Measure, Partitioning, RunSpec};

/// Hosts of the one switch.
const HOSTS: u32 = 3;
const OVERHEAD: u16 = 24;
const SEED: u64 = 5;

/// Sizes uniform to 200 KB, for thresholds.
struct Uniform;

impl WorkloadFacts for Uniform {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        Some(0.8)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Some((p * 200_000.0).round() as u64)
    }
}

/// One switch, one of whose links to hosts loses packets.
fn settings() -> Settings {
    let keys = [flowsieve_schemes::SETTINGS, FABRIC_SETTINGS].concat().concat();
    let mut settings = Settings::of(keys)
        .with(None, "kind", "single-switch")
        .with(None, "hosts", i64::from(HOSTS))
        .with(None, "host_link", "10Gbps")
        .with(None, "host_delay", "0ns")
        .with(None, "ecn_threshold", "9KB");
    let lossy = [("between", ["host0", "switch0"].into_iter().collect()), ("loss", Raw::from(0.1))];
    for (name, value) in lossy {
        let key = settings.find(name).expect("a setting");
        settings.give(Table::Link(0), key, &value, Origin::Default).expect("a value that fits");
    }
    settings
}

/// The outcome for packets: those that arrive at the far ends, as (instant, link, flow, length, priority, mark), and by
/// link the drops, the marks, and the largest backlog.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    arrived: Vec<(u64, u32, u32, u16, u8, Ecn)>,
    counts: BTreeMap<u32, [u64; 5]>,
}

impl Outcome {
    fn arrive(&mut self, at: Time, link: u32, meta: &Meta) {
        self.arrived.push((at.0, link, meta.flow, meta.len, meta.tag.priority(), meta.ecn));
    }

    /// Packets of one instant at several links have no order.
    fn sorted(mut self) -> Outcome {
        self.arrived.sort_by_key(|&(at, link, ..)| (at, link));
        self
    }
}

/// A packet, how long it comes after the one before, and at which link.
type Arrival = (Time, u32, Meta);

fn simulated(run_spec: &RunSpec<'_>, arrivals: &[Arrival]) -> Outcome {
    let mut network: Network<u64> = build(run_spec).expect("a network").partitions.remove(0).network;
    let (mut outcome, mut now) = (Outcome::default(), Time::ZERO);
    let mut run_to = |network: &mut Network<u64>, to: Time| {
        while network.events.first() < u64::NEVER && network.events.first().time() <= to {
            let (at, link) = (network.events.first().time(), network.events.first().source());
            network.now = at;
            let Some((packet, _)) = network.arrive(link) else { continue };
            outcome.arrive(at, link, &network.slab.metas[packet as usize]);
            network.slab.remove(packet);
        }
        network.now = network.now.max(to.min(u64::END));
    };
    for &(gap, link, meta) in arrivals {
        now += gap;
        run_to(&mut network, now);
        let packet = network.slab.insert(meta, Body::default());
        network.enqueue(link, packet);
    }
    run_to(&mut network, Time::NEVER);
    for (link, port) in (0..).zip(&network.ports) {
        let drops = port.drops;
        outcome.counts.insert(link, [drops.buffer, drops.evicted, drops.loss, port.marks, port.most_backlog]);
    }
    outcome.sorted()
}

/// Ports with lines, each with its packets in flight.
struct Ports {
    ports: Vec<Port>,
    in_flight: Vec<Vec<(Time, u32)>>,
    metas: Vec<Meta>,
    /// The memories of the switch and, empty, of the hosts.
    memories: [Pool; 2],
    of_switch: Vec<bool>,
}

impl Ports {
    fn new(fabric: &Fabric, scheme: &Scheme) -> Ports {
        let sites = Sites::new(fabric, SEED);
        let port = |(link, number): (&Link, u32)| {
            let spec = scheme.port(fabric.place_of(link.from));
            let scheduler = spec.build(link.line(OVERHEAD), scheme.header(), || sites.port(number));
            Port::new(scheduler, (link, number), OVERHEAD, spec.shares_memory(), SEED)
        };
        Ports {
            ports: fabric.links.iter().zip(0..).map(port).collect(),
            in_flight: vec![Vec::new(); fabric.links.len()],
            metas: Vec::new(),
            memories: [Pool::new(scheme.shared_buffer), Pool::default()],
            of_switch: fabric.links.iter().map(|link| matches!(link.from, Node::Switch(_))).collect(),
        }
    }

    /// Puts on lines all that is due up to `now`, in the order of time.
    fn depart(&mut self, now: Time) {
        let due = |(link, port): (usize, &Port)| Some((port.departs_at()?, link));
        while let Some((at, link)) = self.ports.iter().enumerate().filter_map(due).min().filter(|due| due.0 <= now) {
            let memory = &mut self.memories[usize::from(!self.of_switch[link])];
            let left = self.ports[link].depart(now, &mut self.metas, memory).expect("one is due");
            assert_eq!(left.start, at);
            assert!(left.end <= left.arrival && left.end > left.start);
            self.in_flight[link].push((left.arrival, left.packet));
        }
    }
}

fn by_ports(fabric: &Fabric, scheme: &Scheme, arrivals: &[Arrival]) -> Outcome {
    let mut all = Ports::new(fabric, scheme);
    let mut outcome = Outcome::default();
    let (mut now, mut evicted) = (Time::ZERO, Victims::default());
    for &(gap, link, meta) in arrivals {
        now += gap;
        all.depart(now);
        let packet = all.metas.len() as u32;
        all.metas.push(meta);
        let memory = &mut all.memories[usize::from(!all.of_switch[link as usize])];
        let verdict = all.ports[link as usize].enqueue(now, &mut all.metas, packet, memory, &mut evicted);
        let counts = outcome.counts.entry(link).or_default();
        counts[0] += u64::from(!verdict.is_accepted());
        counts[1] += evicted.drain(..).count() as u64;
        all.depart(now);
    }
    all.depart(Time::NEVER);
    assert_eq!(all.memories[0].used(), 0, "all memory is free again");
    for (link, mut port) in (0..).zip(all.ports) {
        let counts = outcome.counts.entry(link).or_default();
        (counts[3], counts[4]) = (port.marks(), port.most_backlog_bytes());
        let mut lost = 0;
        for &(at, packet) in &all.in_flight[link as usize] {
            match port.loses() {
                true => lost += 1,
                false => outcome.arrive(at, link, &all.metas[packet as usize]),
            }
        }
        outcome.counts.entry(link).or_default()[2] = lost;
    }
    outcome.sorted()
}

fn arrival(links: u32) -> impl Strategy<Value = Arrival> {
    // At 10 Gbit/s a packet of 1,500 bytes takes 1.2 us.
    let gap = prop_oneof![20 => Just(0), 10 => 0u64..3_000_000, 1 => 0u64..400_000_000];
    let rank = prop_oneof![0u32..20_000, any::<u32>()];
    let tag = (0u8..9, rank).prop_map(|(priority, rank)| Tag::new(priority, rank));
    let kind = prop_oneof![8 => Just(Kind::Data), 1 => Just(Kind::Ack), 1 => Just(Kind::Control)];
    let ecn = select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Capable]);
    let coflow = prop_oneof![Just(NONE), 0u32..3];
    let len = prop_oneof![select(vec![40, 1_500, 9_000]), 1u16..9_000];
    // Most packets meet at one port of the switch.
    let link = prop_oneof![2 => Just(links - 1), 1 => 0..links];
    (gap, link, 0u32..6, coflow, tag, kind, ecn, len).prop_map(|(gap, link, flow, coflow, tag, kind, ecn, len)| {
        (Time(gap), link, Meta { flow, coflow, tag, kind, ecn, len, ..Meta::default() })
    })
}

/// Every scheme, with buffers that packets fill, alone and shared, and with hosts' ports like switches' or unlimited.
#[test]
fn port__is_equal_to_the_simulators() {
    let fabric = Fabric::from_settings(&settings()).expect("a fabric");
    let mut played = 0;
    // Packets dropped, evicted, lost and marked.
    let seen = Cell::new([0; 4]);
    let others: [&[(&str, &str)]; 3] = [
        &[("buffer", "30KB"), ("nic", "scheme")],
        &[("buffer", "30KB"), ("nic", "backpressure")],
        &[("admission", "shared"), ("shared_buffer", "60KB"), ("nic", "scheme")],
    ];
    for other in others {
        let settings = other.iter().fold(settings(), |settings, (name, value)| settings.with(None, name, *value));
        for entry in REGISTRY.iter() {
            let context = Context { scope: settings.scheme(entry.name.as_str()), workload: &Uniform };
            // Some schemes have no such port.
            let Ok(scheme) = entry.scheme(&context) else { continue };
            let run_spec = RunSpec {
                fabric: &fabric,
                scheme: &scheme,
                wire_overhead: OVERHEAD,
                flows: Flows::Given(&|| Box::new(std::iter::empty())),
                predictions: None,
                announcements: None,
                measure: Measure::All,
                fct_end: FctEnd::Arrival,
                seed: SEED,
                max_time: None,
                partitioning: Partitioning::Whole,
                most_packet_hops: None,
                fruitless_timeouts: None,
                most_under_way: None,
            };
            let arrivals = prop::collection::vec(arrival(fabric.links.len() as u32), 1..200);
            let mut runner = TestRunner::new(Config { cases: 8, failure_persistence: None, ..Config::default() });
            let outcome = runner.run(&arrivals, |arrivals| {
                let simulated = simulated(&run_spec, &arrivals);
                prop_assert_eq!(&simulated, &by_ports(&fabric, &scheme, &arrivals));
                for counts in simulated.counts.values() {
                    seen.set(std::array::from_fn(|index| seen.get()[index] + counts[index]));
                }
                Ok(())
            });
            outcome.unwrap_or_else(|failure| panic!("{} with {other:?}: {failure}", entry.name.as_str()));
            played += 1;
        }
    }
    assert!(played > 2 * REGISTRY.len(), "{played} of {} schemes", REGISTRY.len());
    assert!(seen.get().iter().all(|&packets| packets > 0), "{:?}", seen.get());
}
