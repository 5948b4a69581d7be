//! Varys' rates: the minimum allocation for the desired duration (MADD; SIGCOMM 2014, §5.3.1 and §5.3.3), and the rest.
//!
//! 1. Coflow by coflow, in order: its bottleneck time is the longest that any link, at its remaining rate, needs for
//!    the coflow's remaining work there. Each flow gets the rate at which it ends just then, so that all end together.
//!    A coflow with a link that has nothing left is skipped.
//! 2. The flows of all skipped coflows share what each link has left equally, and a flow gets the least of its links'
//!    shares.
//! 3. The rest goes to all by their start: flow by flow, each gets all that is left on its links.
//!
//! The paper leaves open how the rest is shared. Steps 2 and 3 are CoflowSim's, by the same author (`CoflowSimulator.java`):
//! if skipped coflows got it flow by flow, some of their flows would be fast, and the coflow would wait for the others.
//! In step 3 CoflowSim goes by deadlines that it draws; see [`Deadlines`].
//!
//! Rates are renewed when a coflow comes or ends, as in Varys and in CoflowSim: the rate of a flow that ends alone
//! stays unused until then.

use flowsieve_core::units::Time;

use crate::fluid::coflow_rates::CoflowRates;
use crate::fluid::coflows::Coflows;
use crate::fluid::engine::{Flow, Sharing};
use crate::fluid::network::{NOTHING, Network, after, span};

pub(crate) struct Madd<'a> {
    rates: CoflowRates<'a>,
    /// The slots of coflows in order.
    order: Vec<u32>,
    /// By which coflows get the rest; `None`: by their start.
    deadlines: Option<Deadlines>,
    /// The order was renewed, so rates must be.
    renewed: bool,
}

impl<'a> Madd<'a> {
    pub(crate) fn new(network: &'a Network, flows: &'a [Flow], by_deadline: bool) -> Madd<'a> {
        let deadlines = by_deadline.then(Deadlines::new);
        Madd { rates: CoflowRates::new(network, flows), order: Vec::new(), deadlines, renewed: false }
    }
}

/// The deadlines of CoflowSim's coflows, which it has even if none are asked for: the start and one to two times the bottleneck
/// time, drawn coflow by coflow. Its clock has 1,024 ticks a second, and its deadlines count 1,000.
struct Deadlines {
    /// The multiples of the first coflows.
    multiples: Vec<f64>,
    /// Of `java.util.Random`.
    state: u64,
}

impl Deadlines {
    fn new() -> Deadlines {
        Deadlines { multiples: Vec::new(), state: 17 ^ 0x5_DEEC_E66D }
    }

    /// Returns the slots of coflows under way by deadline.
    fn order(&mut self, coflows: &Coflows<'_>) -> Vec<u32> {
        let mut slots: Vec<(f64, u32)> = Vec::new();
        for slot in coflows.by_age() {
            let (number, since, bottleneck) = coflows.begun(slot);
            let after = bottleneck.0 as f64 * self.multiple(number as usize) * 1_000.0 / 1_024.0;
            slots.push((since.0 as f64 + after, slot));
        }
        slots.sort_by(|one, other| one.0.total_cmp(&other.0));
        slots.into_iter().map(|(_, slot)| slot).collect()
    }

    fn multiple(&mut self, number: usize) -> f64 {
        while self.multiples.len() <= number {
            let drawn = (self.bits(26) << 27) + self.bits(27);
            self.multiples.push(1.0 + drawn as f64 / (1u64 << 53) as f64);
        }
        self.multiples[number]
    }

    /// The next bits of `java.util.Random`.
    fn bits(&mut self, bits: u32) -> u64 {
        self.state = self.state.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
        self.state >> (48 - bits)
    }
}

/// Sets the rates of a coflow whose flows end together; returns whether it was skipped.
fn together(rates: &mut CoflowRates<'_>, slot: u32, now: Time) -> bool {
    let CoflowRates { network, coflows, left, wanted, .. } = rates;
    let flows = &mut coflows[slot as usize];
    if flows.iter().any(|active| active.left > 0.0 && !active.is_open(network, left)) {
        rates.stop(slot, now);
        return true;
    }
    for active in &*flows {
        wanted.add(network, active.path, active.left);
    }
    // In ps. If a link has nothing left, nothing is wanted there, and this is NaN.
    let time = |&link: &u32| wanted.by_link[link as usize] / left[link as usize];
    let bottleneck = wanted.touched.iter().map(time).fold(0.0, f64::max);
    for link in wanted.touched.drain(..) {
        let link = link as usize;
        if bottleneck > 0.0 {
            let rest = left[link] - wanted.by_link[link] / bottleneck;
            left[link] = if rest > NOTHING * network.rates[link] { rest } else { 0.0 };
        }
        wanted.by_link[link] = 0.0;
    }
    let end = after(now, span(bottleneck, 1.0));
    for active in flows {
        // A flow without remaining work ends now, at any rate.
        let alone = active.left <= 0.0;
        active.rate = if alone { 0.0 } else { active.left / bottleneck };
        active.end = if alone { now } else { end };
    }
    false
}

impl Sharing for Madd<'_> {
    fn advance(&mut self, to: Time, _: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        self.rates.advance(to, ended, |_, _| {});
    }

    fn begin(&mut self, _: Time, flow: u32, slot: u32) {
        self.rates.begin(flow, slot);
    }

    fn tell_left(&mut self, _: Time, coflows: &mut Coflows<'_>) {
        self.rates.tell_left(coflows);
    }

    fn order(&mut self, order: &[u32], _: &Coflows<'_>) {
        self.order.clear();
        self.order.extend(order);
        self.renewed = true;
    }

    fn allocate(&mut self, now: Time, coflows: &mut Coflows<'_>) {
        if !std::mem::take(&mut self.renewed) {
            return;
        }
        let rates = &mut self.rates;
        rates.renew(now, coflows);
        let skipped: Vec<u32> = self.order.iter().copied().filter(|&slot| together(rates, slot, now)).collect();
        rates.share(&skipped, now);
        let by_deadline = self.deadlines.as_mut().map(|deadlines| deadlines.order(coflows));
        for slot in by_deadline.unwrap_or_else(|| coflows.by_age().collect()) {
            rates.fill(slot, now);
        }
        rates.finish();
    }

    fn next(&self) -> Time {
        self.rates.next()
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        self.rates.each_left(now, visit);
    }
}
