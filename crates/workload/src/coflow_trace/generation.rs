//! Generates another trace with the structure of a given one, by the rules of `FB-UP` of Sincronia's workload generator
//! (sincronia-coflow, `trace_producer.py`), with which Sincronia and pCoflow were evaluated.
//!
//! Each coflow takes the numbers of senders and receivers of one drawn from the given trace, and each receiver its bytes, in
//! equal parts from all senders; ports are drawn anew. Each *flow* takes an exponential gap of its own, and a coflow arrives
//! when its last gap has passed. So gaps are Erlang, and wide coflows follow long ones.
//!
//! The original needs parts of whole MB; here they are whole bytes. In addition to those rules you can cap flows, as in the
//! traces that Sincronia's authors published, leave wide coflows out, put coflows inside pods, and draw each coflow once before
//! any is drawn again ([`Shapes::EachOnce`]).

use super::{CoflowTrace, TraceError, TracedCoflow, TracedFlow};
use crate::flow_list::MAX_FLOWS;
use crate::random::{Purpose, Xoshiro256PlusPlus, below, stream, uniform01};

/// How the coflows of the given trace are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shapes {
    /// Each from all of them, as in the original. A few large coflows hold most bytes of a trace, so traces of different seeds
    /// differ several times in bytes.
    #[default]
    Drawn,
    /// In a random order in which each occurs once. After the last a new order begins.
    EachOnce,
}

/// Parameters of the new trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation {
    /// Number of coflows.
    pub coflows: u32,
    /// Hosts, which are the ports of the new trace.
    pub hosts: u32,
    /// No flow has more bytes.
    pub flow_cap: Option<u64>,
    /// Coflows with more flows are not drawn.
    pub most_flows: Option<u64>,
    /// The pods in which coflows lie, if any.
    pub pods: Option<PodLocal>,
    /// How coflows are drawn.
    pub shapes: Shapes,
}

/// The traffic that stays inside pods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PodLocal {
    /// Hosts of a pod, neighbours by number.
    pub hosts: u32,
    /// The share of the bytes whose sender and receiver are in one pod, as near as coflows that fit into a pod allow.
    pub share: f64,
}

/// Between flows, before a load scales it.
const MEAN_GAP_PS: f64 = 1e9;

/// A coflow's structure.
pub(super) struct Shape {
    senders: u32,
    /// Bytes of each receiver.
    receivers: Vec<u64>,
}

impl Shape {
    pub(super) fn of(coflow: &TracedCoflow) -> Shape {
        let mut senders: Vec<u32> = coflow.flows.iter().map(|flow| flow.src).collect();
        senders.sort_unstable();
        senders.dedup();
        let mut receivers = std::collections::BTreeMap::new();
        for flow in &coflow.flows {
            *receivers.entry(flow.dst).or_insert(0) += flow.bytes;
        }
        Shape { senders: senders.len() as u32, receivers: receivers.into_values().collect() }
    }

    pub(super) fn flows(&self) -> u64 {
        u64::from(self.senders) * self.receivers.len() as u64
    }
}

/// Draws coflows of the given trace, by index.
struct Drawing {
    shapes: usize,
    /// [`Shapes::EachOnce`]: the random stream of the order, and what is left of it.
    order: Option<(Xoshiro256PlusPlus, Vec<usize>)>,
}

impl Drawing {
    fn new(rule: Shapes, shapes: usize, seed: u64) -> Drawing {
        let order = (rule == Shapes::EachOnce).then(|| (stream(seed, Purpose::CoflowOrder, 0), Vec::new()));
        Drawing { shapes, order }
    }

    /// The next coflow; `draws` is the new coflow's own random stream.
    fn next(&mut self, draws: &mut Xoshiro256PlusPlus) -> usize {
        let Some((of_order, left)) = &mut self.order else { return below(draws, self.shapes as u64) as usize };
        if left.is_empty() {
            left.extend(0..self.shapes);
        }
        left.swap_remove(below(of_order, left.len() as u64) as usize)
    }
}

impl Generation {
    /// The coflows of a trace from which new ones can be made: those that fit, among the hosts and below the most flows.
    fn fitting(&self, trace: &CoflowTrace) -> Vec<Shape> {
        let fits = |shape: &Shape| {
            let ports = u64::from(shape.senders).max(shape.receivers.len() as u64);
            ports <= self.hosts.into() && self.most_flows.is_none_or(|most| shape.flows() <= most)
        };
        trace.coflows.iter().map(Shape::of).filter(fits).collect()
    }

    /// The number of coflows that [`Shapes::EachOnce`] draws before any is drawn again.
    pub fn once(&self, trace: &CoflowTrace) -> usize {
        self.fitting(trace).len()
    }

    /// The new trace. Gaps between flows are 1 ms on average, for a load to scale.
    ///
    /// # Errors
    /// [`TraceError::NoneFits`] if no coflow of `trace` fits, among the hosts and below the most flows; other errors if the new
    /// trace has too many flows or bytes.
    pub fn generate(&self, trace: &CoflowTrace, seed: u64) -> Result<CoflowTrace, TraceError> {
        let shapes = self.fitting(trace);
        if shapes.is_empty() {
            return Err(TraceError::NoneFits);
        }
        let mut drawing = Drawing::new(self.shapes, shapes.len(), seed);
        let mut gaps = stream(seed, Purpose::CoflowArrivals, 0);
        let mut made = CoflowTrace { ports: self.hosts, coflows: Vec::new() };
        let (mut now_ps, mut inside, mut all) = (0.0, 0u64, 0u64);
        let mut room = MAX_FLOWS as u64;
        for id in 0..self.coflows {
            let mut draws = stream(seed, Purpose::CoflowShapes, id.into());
            let shape = &shapes[drawing.next(&mut draws)];
            room = room.checked_sub(shape.flows()).ok_or(TraceError::TooManyFlows)?;
            let bytes: u64 = shape.receivers.iter().sum();
            let pod = self.pods.filter(|pods| {
                let fits = shape.senders.max(shape.receivers.len() as u32) <= pods.hosts;
                // Inside if that brings the share nearer than leaving it out.
                fits && (inside as f64) < pods.share * (all as f64 + bytes as f64) - bytes as f64 / 2.0
            });
            let flows = self.place(shape, pod, &mut draws);
            let sent = flows.iter().map(|flow| flow.bytes).sum();
            all = all.checked_add(sent).ok_or(TraceError::TooManyBytes)?;
            if let Some(pods) = self.pods {
                let within = flows.iter().filter(|flow| flow.src / pods.hosts == flow.dst / pods.hosts);
                inside += within.map(|flow| flow.bytes).sum::<u64>();
            }
            for _ in &flows {
                now_ps -= MEAN_GAP_PS * libm::log1p(-uniform01(&mut gaps));
            }
            made.coflows.push(TracedCoflow { id, arrival_ps: now_ps as u64, flows });
        }
        Ok(made)
    }

    /// The flows of a coflow of this shape, inside a pod that is drawn or anywhere.
    fn place(&self, shape: &Shape, pod: Option<PodLocal>, draws: &mut Xoshiro256PlusPlus) -> Vec<TracedFlow> {
        let (first, hosts) = match pod {
            Some(pods) => (below(draws, u64::from(self.hosts / pods.hosts)) as u32 * pods.hosts, pods.hosts),
            None => (0, self.hosts),
        };
        let senders = distinct(draws, shape.senders, hosts);
        let receivers = distinct(draws, shape.receivers.len() as u32, hosts);
        let mut flows = Vec::new();
        for (&dst, &bytes) in receivers.iter().zip(&shape.receivers) {
            let parts = u64::from(shape.senders);
            for (nth, &src) in (0..).zip(&senders) {
                let part = bytes / parts + u64::from(nth < bytes % parts);
                let bytes = part.min(self.flow_cap.unwrap_or(u64::MAX));
                if bytes > 0 {
                    flows.push(TracedFlow { src: first + src, dst: first + dst, bytes });
                }
            }
        }
        flows
    }
}

/// `count` distinct numbers of `0..of`, in the order of their draws.
fn distinct(draws: &mut Xoshiro256PlusPlus, count: u32, of: u32) -> Vec<u32> {
    let mut left: Vec<u32> = (0..of).collect();
    (0..count).map(|_| left.swap_remove(below(draws, left.len() as u64) as usize)).collect()
}
