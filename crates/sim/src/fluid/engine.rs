//! The event loop: flows begin and end, coflows are ordered, and rates are recomputed.

use flowsieve_core::units::Time;
use std::ops::ControlFlow;

use crate::fluid::coflows::Coflows;
use crate::fluid::greedy::Greedy;
use crate::fluid::madd::Madd;
use crate::fluid::network::{Network, work};
use crate::fluid::shared::Shared;
use crate::fluid::smallest::Smallest;
use crate::fluid::turns::Turns;
use crate::fluid::{Discipline, Order};

/// A flow offered to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When it begins.
    pub start: Time,
    /// Its size as orders use it, above zero.
    pub payload: u64,
    /// Its bytes on the links: above zero.
    pub wire: u64,
    /// Its path: an index into [`Network::paths`].
    pub path: u32,
    /// Its coflow's key: see [`flowsieve_core::coflow::key`].
    pub coflow: u32,
}

/// Everything that a run depends on.
pub struct Spec<'a> {
    /// The network that flows cross.
    pub network: &'a Network,
    /// By start.
    pub flows: &'a [Flow],
    /// How they share it.
    pub discipline: &'a Discipline,
    /// The run stops here, even if flows are left.
    pub until: Time,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// By flow: when it ended, if it did.
    pub ends: Vec<Option<Time>>,
    /// By link: the bytes that had crossed it when the last flow began, or when the run ended if that was earlier.
    pub crossed: Vec<f64>,
    /// How often rates were recomputed.
    pub steps: u64,
    /// When the run ended.
    pub now: Time,
    /// How often a coflow was raised into a class above its own. Only [`Discipline::Strict`] has classes.
    pub lifts: u64,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of flows that have ended.
    pub ended: u64,
}

/// Computes rates, and tracks their effect.
///
/// In each step of a run: `advance` to the instant of the next event; `begin` for each flow that begins then; if there
/// is an order and it is renewed, `tell_left`, and `order` with the result; and `allocate`.
pub(crate) trait Sharing {
    /// Lets all flows continue until `to`, at most [`Sharing::next`]. Adds the flows that have ended by then, and when.
    fn advance(&mut self, to: Time, coflows: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>);

    /// Begins a flow, whose coflow has this slot.
    fn begin(&mut self, now: Time, flow: u32, slot: u32);

    /// Reports remaining demands to the coflows.
    fn tell_left(&mut self, now: Time, coflows: &mut Coflows<'_>);

    /// Takes all slots under way, in the order of service.
    fn order(&mut self, order: &[u32], coflows: &Coflows<'_>);

    /// Computes new rates.
    fn allocate(&mut self, now: Time, coflows: &mut Coflows<'_>);

    /// Returns when rates must change, if no flow begins.
    fn next(&self) -> Time;

    /// Visits every flow under way with its remaining work.
    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64));

    /// Returns how often a coflow was raised into a class above its own.
    fn lifts(&self) -> u64 {
        0
    }
}

/// Number of steps between two reports of progress.
const REPORT: u64 = 1 << 12;

/// Runs flows to their ends, or until `show` stops the run; then the outcome is not valid.
///
/// # Panics
/// Panics if flows are not sorted by start, or if paths name unknown links: bugs in the caller.
pub fn run(spec: &Spec<'_>, show: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Outcome {
    assert!(spec.flows.is_sorted_by_key(|flow| flow.start), "flows by start");
    let (network, flows) = (spec.network, spec.flows);
    match spec.discipline {
        Discipline::MaxMin => drive(spec, Shared::max_min(network, flows), show),
        Discipline::Strict { rule, levels, .. } => drive(spec, Shared::strict(network, flows, *rule, *levels), show),
        Discipline::Greedy(_) => drive(spec, Greedy::new(network, flows), show),
        Discipline::Madd(_) => drive(spec, Madd::new(network, flows, false), show),
        Discipline::MaddByDeadline(_) => drive(spec, Madd::new(network, flows, true), show),
        Discipline::Equal => drive(spec, Shared::equal(network, flows), show),
        Discipline::Smallest => drive(spec, Smallest::new(network, flows), show),
        Discipline::Shares(_) => drive(spec, Turns::in_order(network, flows), show),
        Discipline::Attained { first, factor, queues } => {
            drive(spec, Turns::attained(network, flows, *first, *factor, *queues), show)
        }
    }
}

fn drive(spec: &Spec<'_>, mut sharing: impl Sharing, show: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Outcome {
    let Spec { network, flows, discipline, until } = *spec;
    let order: Option<&Order> = discipline.order();
    let mut coflows = Coflows::new(network);
    let (ends, crossed_bytes) = (vec![None; flows.len()], vec![0.0; network.rates.len()]);
    let mut outcome = Outcome { ends, crossed: crossed_bytes, steps: 0, now: Time::ZERO, lifts: 0 };
    // By flow: the slot of its coflow.
    let mut slots: Vec<u32> = vec![0; flows.len()];
    let (mut ended, mut count, mut begun) = (Vec::new(), 0u64, 0);
    loop {
        let starts = flows.get(begun).map_or(Time::NEVER, |flow| flow.start);
        let now = sharing.next().min(starts);
        if now == Time::NEVER {
            break;
        }
        if now > until {
            sharing.advance(until, &mut coflows, &mut ended);
            ended.drain(..).for_each(|(flow, at)| outcome.ends[flow as usize] = Some(at));
            outcome.now = until;
            if begun < flows.len() {
                outcome.crossed = crossed(spec, &sharing, &outcome.ends, until);
            }
            break;
        }
        outcome.now = now;
        sharing.advance(now, &mut coflows, &mut ended);
        let mut renewed = false;
        count += ended.len() as u64;
        for (flow, at) in ended.drain(..) {
            outcome.ends[flow as usize] = Some(at);
            renewed |= coflows.end(slots[flow as usize]);
        }
        while let Some(flow) = flows.get(begun).filter(|flow| flow.start <= now) {
            slots[begun] = coflows.begin(now, flow);
            sharing.begin(now, begun as u32, slots[begun]);
            renewed = true;
            begun += 1;
            if begun == flows.len() {
                outcome.crossed = crossed(spec, &sharing, &outcome.ends, now);
            }
        }
        if let Some(order) = order.filter(|_| renewed) {
            sharing.tell_left(now, &mut coflows);
            sharing.order(&coflows.ordered(order), &coflows);
        }
        sharing.allocate(now, &mut coflows);
        outcome.steps += 1;
        if outcome.steps.is_multiple_of(REPORT) && show(Progress { ended: count }).is_break() {
            break;
        }
    }
    outcome.lifts = sharing.lifts();
    outcome
}

/// Returns the bytes that have crossed each link, when all flows have begun.
fn crossed(spec: &Spec<'_>, sharing: &impl Sharing, ends: &[Option<Time>], now: Time) -> Vec<f64> {
    let mut bytes = vec![0.0; spec.network.rates.len()];
    let mut add = |path: u32, done: f64| {
        for crossing in &spec.network.paths[path as usize].links {
            bytes[crossing.link as usize] += crossing.share * done / work(1);
        }
    };
    for (flow, _) in spec.flows.iter().zip(ends).filter(|(_, end)| end.is_some()) {
        add(flow.path, work(flow.wire));
    }
    sharing.each_left(now, &mut |flow, left| {
        let flow = &spec.flows[flow as usize];
        add(flow.path, (work(flow.wire) - left).max(0.0));
    });
    bytes
}
