//! A packet's whole way in one thread, but for I/O: its frame is read, its connection numbered by the keyed hash, and it
//! passes a port.
//!
//!     cargo bench --workspace --bench packets -- [SCHEME ...]
//!
//! prints millions of packets per second of the thread's processor time: the median of seven runs of two million packets, and
//! the least and the most. Frames of 64 bytes come from one of 1,000 or 100,000 connections, drawn at random, a full packet's
//! time on a link of 10 Gbit/s apart. Sixteen packets wait in the port. `frames` is the frame alone, `numbers` the frame with its number.
//!
//! Like a driver's ring, a few hundred frames are written anew again and again, so each is in the cache when it is read.

use std::hint::black_box;

use etherparse::{IpEcn, Ipv4Header, PacketBuilder};
use flowsieve_core::admission::Pool;
use flowsieve_core::meta::Ecn;
use flowsieve_core::scheduler::{Line, PortSite};
use flowsieve_core::{Meta, Place, PortContext, PortScheduler, Rate, Scheduler, Tag, Time, Victims};
use flowsieve_lab::wire::{self, Content, FlowKeys};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_workload::random::{Purpose, below, stream};
use rand_core::Rng;
use rustix::time::{ClockId, clock_gettime};

const PACKETS: usize = 2_000_000;
const RUNS: usize = 7;
const RING: usize = 512;
/// Packets that wait.
const WAITING: u32 = 16;
/// Where the last two bytes of the sender's address, and its port, are in a frame of IPv4 and TCP.
const ADDRESS: usize = 14 + 14;
const PORT: usize = 14 + 20;

/// What is measured: its name, the scheme, and settings of its own.
type Case = (&'static str, Option<&'static str>, &'static [(&'static str, &'static str)]);

const CASES: [Case; 7] = [
    ("frames", None, &[]),
    ("numbers", None, &[]),
    ("sp", Some("pias"), &[]),
    ("qc-las", Some("qc-las"), &[]),
    ("afq", Some("afq"), &[]),
    ("awafs-fin", Some("awafs"), &[("flow_ends", "fin"), ("connections", "per-flow")]),
    ("awafs-idle", Some("awafs"), &[("flow_ends", "idle")]),
];

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Builds a switch's port of a scheme.
fn port(scheme: &str, own: &[(&str, &str)]) -> Scheduler {
    let mut settings = bare::none_given().with(None, "parameters", "rfc").with(None, "buffer", "360KB").with(
        Some("pias"),
        "thresholds",
        ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB", "10MB"].as_slice(),
    );
    if scheme == "awafs" {
        settings = settings.with(Some("awafs"), "flow_table", 1 << 17);
    }
    for (name, value) in own {
        settings = settings.with(Some(scheme), name, *value);
    }
    let scheme = bare::scheme(scheme, &settings, &Facts::NONE).expect("it is built");
    let spec = scheme.ports.at(Place::Leaf);
    let rate = Rate::new(10_000_000_000).expect("a rate");
    let line = Line { byte_time: rate.byte_time(), overhead: 38 };
    let site = PortSite { line, header: 40, admission: spec.admission, marker: spec.marker };
    let mut port = spec.kind.build(&site, || unreachable!("no port of the user's own"));
    port.reserve(WAITING as usize + 1);
    port
}

/// A segment of ten bytes, in the shortest frame.
fn frame() -> Vec<u8> {
    let mut header =
        Ipv4Header::new(30, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 1, 2]).expect("a header");
    header.ecn = IpEcn::Ect0;
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
        .tcp(5_000, 80, 1_000, 64_000)
        .ack(17);
    builder.write(&mut frame, &[7; 10]).expect("a frame");
    frame
}

/// Frames that are written anew as they come.
struct Ring {
    frames: Vec<Vec<u8>>,
    /// The connections of the packets.
    connections: Vec<u32>,
    at: usize,
}

impl Ring {
    fn new(connections: u64) -> Ring {
        let mut random = stream(1, Purpose::OwnPart, connections);
        let connections = (0..1 << 18).map(|_| below(&mut random, connections) as u32).collect();
        Ring { frames: vec![frame(); RING], connections, at: 0 }
    }

    #[inline]
    fn next(&mut self) -> &[u8] {
        let connection = self.connections[self.at % self.connections.len()];
        let frame = &mut self.frames[self.at % RING];
        frame[ADDRESS..ADDRESS + 2].copy_from_slice(&((connection >> 14) as u16).to_be_bytes());
        frame[PORT..PORT + 2].copy_from_slice(&(1_024 + (connection as u16 & 0x3fff)).to_be_bytes());
        self.at += 1;
        frame
    }
}

/// A port, and what it is told beside the packet.
struct Station {
    port: Scheduler,
    metas: Vec<Meta>,
    free: Vec<u32>,
    pool: Pool,
    victims: Victims,
    random: Box<dyn Rng>,
    marks: u64,
}

impl Station {
    fn new(port: Scheduler) -> Station {
        Station {
            port,
            metas: vec![Meta::default(); WAITING as usize + 2],
            free: (0..WAITING + 2).collect(),
            pool: Pool::default(),
            victims: Victims::default(),
            random: Box::new(stream(1, Purpose::Marking, 0)),
            marks: 0,
        }
    }

    #[inline]
    fn pass(&mut self, now: Time, meta: Meta) {
        let Station { port, metas, free, pool, victims, random, marks } = self;
        let packet = free.pop().expect("a place for every packet that fits");
        metas[packet as usize] = meta;
        let mut context = PortContext { now, pool, victims, random, marks };
        if !port.enqueue(metas, packet, &mut context).is_accepted() {
            free.push(packet);
        } else if free.is_empty() {
            free.extend(port.dequeue(metas, &mut context));
        }
    }
}

/// Returns the packets per second of processor time.
fn run(name: &str, ring: &mut Ring, keys: &FlowKeys, station: &mut Option<Station>, now: &mut Time) -> f64 {
    let before = cpu_seconds();
    for _ in 0..PACKETS {
        *now += Time::from_ns(1_230);
        let frame = ring.next();
        let Ok(Content::Tcp(segment)) = wire::read(black_box(frame), 1_500) else { panic!("a segment") };
        if name == "frames" {
            black_box(segment);
            continue;
        }
        let flow = keys.of(&segment.connection);
        let Some(station) = station else {
            black_box(flow);
            continue;
        };
        let tag = Tag::new((flow & 7) as u8, 0);
        let meta = Meta { flow, tag, len: segment.len, kind: segment.kind(), ecn: Ecn::Capable, ..Meta::default() };
        station.pass(*now, meta);
    }
    PACKETS as f64 / (cpu_seconds() - before)
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let keys = FlowKeys::default();
    for (name, scheme, own) in CASES {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        for connections in [1_000, 100_000] {
            let (mut ring, mut now) = (Ring::new(connections), Time::ZERO);
            let mut station = scheme.map(|scheme| Station::new(port(scheme, own)));
            run(name, &mut ring, &keys, &mut station, &mut now);
            let mut rates: Vec<f64> =
                (0..RUNS).map(|_| run(name, &mut ring, &keys, &mut station, &mut now) / 1e6).collect();
            rates.sort_by(f64::total_cmp);
            println!(
                "{name:12} {connections:>7} connections: {:5.1} million packets per CPU-second ({:.1} to {:.1})",
                rates[RUNS / 2],
                rates[0],
                rates[RUNS - 1]
            );
        }
    }
}
