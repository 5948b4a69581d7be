//! The jobs of a group of hosts, one after another, flow by flow.

use super::StandIn;
use crate::random::{Purpose, Xoshiro256PlusPlus, below, stream, uniform01};
use std::collections::VecDeque;

/// A host's knowledge of a flow when it begins (QCLIMB §4.1), with units.
pub(super) const FEATURES: [&str; 12] = [
    "start_us", "gap_us", "last1", "last2", "last3", "last4", "last5", "src", "dst", "src_port", "dst_port", "protocol",
];

/// Number of its own flows that a host remembers.
const REMEMBERED: usize = 5;
const PS_PER_US: u64 = 1_000_000;
/// Duration of a recorded flow: its bytes at 10 Gbit/s.
const PS_PER_BYTE: u64 = 800;
/// Hosts of a job; groups of this many hosts share no job.
pub(super) const HOSTS: u32 = 4;
/// Kinds of jobs, which recur.
const KINDS: u32 = 6;
/// Stages of a job. Each has an equal part of the distribution of sizes, in rising order.
const STAGES: u32 = 40;
/// Flows that a host sends in a row in a stage.
const REPEATS: u32 = 3;
/// How far a job is from its kind at most, in parts of a stage.
const OF_JOB: f64 = 0.08;
/// The longest pause between two flows of a host, in microseconds; the mean is half.
const PAUSE_US: u64 = 4_000;
const BETWEEN_JOBS_US: u64 = 2_000_000;
const TCP: u64 = 6;
/// The sizes from which flows are medium and large (QCLIMB §2.3), in bytes.
const CLASSES: [u64; 2] = [100_000, 10_000_000];

/// How well a flow's stage determines its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// How far a flow is from its job at most, in parts of a stage.
    pub(super) of_flow: f64,
    /// Share of the flows that are larger than their stage, by any amount.
    pub(super) far_above: f64,
    /// Flows that are smaller than their stage, for stages of small, medium and large flows.
    pub(super) below: [Below; 3],
}

/// Some flows that are smaller than their stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    /// Their share of the flows.
    pub(super) flows: f64,
    /// The smallest of them, as a share of the distribution; from there to their stage they are spread evenly.
    pub(super) from: f64,
}

/// A flow of a trace.
pub(super) struct Recorded {
    pub(super) start_ps: u64,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) bytes: u64,
    pub(super) features: [u64; FEATURES.len()],
}

/// A host's past.
#[derive(Clone, Default)]
struct Past {
    /// End of its last flow.
    end_ps: u64,
    /// Sizes of its last flows, the latest first.
    last: VecDeque<u64>,
}

/// The jobs of one group.
pub(super) struct Jobs<'a> {
    of: &'a StandIn,
    /// The factor of differences and surprises.
    scale: f64,
    seed: u64,
    group: u32,
    /// The job's number in its group.
    job: u32,
    draws: Xoshiro256PlusPlus,
    /// The place of each stage of the job in its part of the distribution, 0 to 1.
    places: Vec<f64>,
    /// Flows of the job so far.
    flows: u32,
    now_ps: u64,
    pasts: Vec<Past>,
}

impl<'a> Jobs<'a> {
    pub(super) fn new(of: &'a StandIn, scale: f64, seed: u64, group: u32) -> Jobs<'a> {
        let pasts = vec![Past::default(); HOSTS as usize];
        let draws = stream(seed, Purpose::Jobs, u64::from(group) << 32);
        let mut jobs = Jobs { of, scale, seed, group, job: 0, draws, places: Vec::new(), flows: 0, now_ps: 0, pasts };
        jobs.begin();
        jobs
    }

    /// Starts the job's draws, and its places.
    fn begin(&mut self) {
        self.draws = stream(self.seed, Purpose::Jobs, u64::from(self.group) << 32 | u64::from(self.job));
        // Each kind comes once in `KINDS` jobs, in random order.
        let kind = self.permuted(Purpose::JobOrder, u64::from(self.job / KINDS), self.job % KINDS);
        self.places = (0..STAGES)
            .map(|stage| {
                let nth = self.permuted(Purpose::JobKinds, u64::from(stage), kind);
                let of_kind = (f64::from(nth) + 0.5) / f64::from(KINDS);
                let away = self.scale * OF_JOB * (2.0 * uniform01(&mut self.draws) - 1.0);
                folded(of_kind + away)
            })
            .collect();
    }

    /// The element at `index` of a permutation of the kinds (Fisher and Yates).
    fn permuted(&self, purpose: Purpose, entity: u64, index: u32) -> u32 {
        // All groups have the same kinds, each in its own order.
        let group = if purpose == Purpose::JobOrder { u64::from(self.group) } else { 0 };
        let mut draws = stream(self.seed, purpose, group << 32 | entity);
        let mut order: Vec<u32> = (0..KINDS).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, below(&mut draws, last as u64 + 1) as usize);
        }
        order[index as usize]
    }

    pub(super) fn next_flow(&mut self) -> Recorded {
        let of_stage = HOSTS * REPEATS;
        if self.flows == of_stage * STAGES {
            self.job += 1;
            self.flows = 0;
            self.now_ps += BETWEEN_JOBS_US * PS_PER_US;
            self.begin();
        }
        let stage = self.flows / of_stage;
        let sender = self.flows % HOSTS;
        self.flows += 1;
        let pause = below(&mut self.draws, PAUSE_US * PS_PER_US) / u64::from(HOSTS);
        self.now_ps += pause + 1;
        let bytes = self.bytes(stage);
        // Each host sends to the next one in a stage, to the one after that in the next stage.
        let receiver = (sender + 1 + stage % (HOSTS - 1)) % HOSTS;
        self.recorded(stage, sender, receiver, bytes)
    }

    fn bytes(&mut self, stage: u32) -> u64 {
        let shape = self.of.shape;
        let part = 1.0 / f64::from(STAGES);
        let from = f64::from(stage) * part;
        let away = self.scale * shape.of_flow * (2.0 * uniform01(&mut self.draws) - 1.0);
        let usual = from + part * folded(self.places[stage as usize] + away);
        let below = shape.below[CLASSES.iter().filter(|&&above| self.of.size(from) >= above).count()];
        let (surprise, where_to) = (uniform01(&mut self.draws), uniform01(&mut self.draws));
        let (far_above, far_below) = (self.scale * shape.far_above, self.scale * below.flows);
        let share = if surprise < far_above {
            from + part + (1.0 - from - part) * where_to
        } else if surprise < far_above + far_below {
            below.from.min(from) + (from - below.from).max(0.0) * where_to
        } else {
            usual
        };
        self.of.size(share)
    }

    fn recorded(&mut self, stage: u32, sender: u32, receiver: u32, bytes: u64) -> Recorded {
        let first = self.group * HOSTS;
        let (src, dst, start_ps) = (first + sender, first + receiver, self.now_ps);
        let past = &mut self.pasts[sender as usize];
        let last = |nth: usize| past.last.get(nth).copied().unwrap_or(0);
        let gap = start_ps.saturating_sub(past.end_ps);
        // Ports of clients are given in turn, those of servers belong to the stage.
        let client_port = 32_768 + u64::from(self.job * 131 + self.flows) % 28_232;
        let features = [
            start_ps / PS_PER_US,
            gap / PS_PER_US,
            last(0),
            last(1),
            last(2),
            last(3),
            last(4),
            src.into(),
            dst.into(),
            client_port,
            7_000 + u64::from(stage),
            TCP,
        ];
        past.end_ps = past.end_ps.max(start_ps) + bytes * PS_PER_BYTE;
        past.last.truncate(REMEMBERED - 1);
        past.last.push_front(bytes);
        Recorded { start_ps, src, dst, bytes, features }
    }
}

/// A place reflected at both ends of 0 to 1, so that an even spread stays even.
fn folded(place: f64) -> f64 {
    let turns = libm::fabs(place) % 2.0;
    if turns > 1.0 { 2.0 - turns } else { turns }
}
