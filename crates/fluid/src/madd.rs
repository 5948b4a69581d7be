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
//!
//! Rates are renewed when a coflow comes or ends, as in Varys and in CoflowSim: the rate of a flow that ends alone
//! stays unused until then.

use flowsieve_core::units::Time;

use crate::coflows::Coflows;
use crate::engine::{Flow, Sharing};
use crate::network::{NOTHING, Network, after, done, span, work};

pub(crate) struct Madd<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    /// By slot: the flows of a coflow that have not ended, by number.
    coflows: Vec<Vec<Active>>,
    /// The slots of coflows in order, and by when they began.
    order: Vec<u32>,
    by_age: Vec<u32>,
    /// When rates were computed.
    since: Time,
    /// The order was renewed, so rates must be.
    renewed: bool,
    /// When the first coflow ends.
    next: Time,
    /// By link: the rate that it has left.
    left: Vec<f64>,
    /// By link: the work of a coflow there, or the number of flows that share it; zero between calls.
    wanted: Vec<f64>,
    /// The links with an entry in `wanted`.
    touched: Vec<u32>,
    /// By link: the share of a flow; zero between calls.
    shares: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Active {
    flow: u32,
    path: u32,
    /// Remaining work when rates were computed.
    left: f64,
    rate: f64,
    end: Time,
}

impl Active {
    /// Adds to its rate.
    fn speed_up(&mut self, more: f64, now: Time) {
        self.rate += more;
        self.end = after(now, span(self.left, self.rate));
    }
}

impl<'a> Madd<'a> {
    pub(crate) fn new(network: &'a Network, flows: &'a [Flow]) -> Madd<'a> {
        let links = network.rates.len();
        let (coflows, order, by_age, touched) = Default::default();
        Madd {
            network,
            flows,
            coflows,
            order,
            by_age,
            since: Time::ZERO,
            renewed: false,
            next: Time::NEVER,
            left: vec![0.0; links],
            wanted: vec![0.0; links],
            touched,
            shares: vec![0.0; links],
        }
    }

    /// Sets the rates of a coflow whose flows end together; returns whether it was skipped.
    fn together(&mut self, slot: u32, now: Time) -> bool {
        for at in 0..self.coflows[slot as usize].len() {
            let active = self.coflows[slot as usize][at];
            self.want(active.path, active.left);
        }
        let time = |&link: &u32| self.wanted[link as usize] / self.left[link as usize];
        // In ps. If a link has nothing left, it is infinite, and NaN if nothing is wanted there either.
        let bottleneck = self.touched.iter().map(time).fold(0.0, f64::max);
        let skipped = !bottleneck.is_finite();
        for link in self.touched.drain(..) {
            let link = link as usize;
            if !skipped && bottleneck > 0.0 {
                let rest = self.left[link] - self.wanted[link] / bottleneck;
                self.left[link] = if rest > NOTHING * self.network.rates[link] { rest } else { 0.0 };
            }
            self.wanted[link] = 0.0;
        }
        for active in &mut self.coflows[slot as usize] {
            // A flow without remaining work ends now, at any rate.
            let alone = active.left <= 0.0;
            active.rate = if skipped || alone { 0.0 } else { active.left / bottleneck };
            active.end = match (alone, skipped) {
                (true, _) => now,
                (false, true) => Time::NEVER,
                (false, false) => after(now, span(bottleneck, 1.0)),
            };
        }
        skipped
    }

    /// Adds to what is wanted of the links of a path.
    fn want(&mut self, path: u32, amount: f64) {
        for crossing in &self.network.paths[path as usize].links {
            let wanted = &mut self.wanted[crossing.link as usize];
            if *wanted == 0.0 {
                self.touched.push(crossing.link);
            }
            *wanted += amount * crossing.share;
        }
    }

    /// Shares what links have left among all flows of these coflows. All shares are known before the first is taken.
    fn share(&mut self, slots: &[u32], now: Time) {
        for &slot in slots {
            for at in 0..self.coflows[slot as usize].len() {
                let path = self.coflows[slot as usize][at].path;
                if self.network.least(path, &self.left) > 0.0 {
                    self.want(path, 1.0);
                }
            }
        }
        for link in self.touched.drain(..) {
            self.shares[link as usize] = self.left[link as usize] / self.wanted[link as usize];
            self.wanted[link as usize] = 0.0;
        }
        for &slot in slots {
            for active in &mut self.coflows[slot as usize] {
                // A link that has nothing left has no share.
                let share = self.network.least_of(active.path, |link| self.shares[link as usize]);
                if share > 0.0 {
                    self.network.take(active.path, share, &mut self.left);
                    active.speed_up(share, now);
                }
            }
        }
        self.shares.fill(0.0);
    }

    /// Gives each flow of a coflow in turn all that is left on its links.
    fn fill(&mut self, slot: u32, now: Time) {
        for active in &mut self.coflows[slot as usize] {
            let more = self.network.least(active.path, &self.left);
            if more > 0.0 {
                self.network.take(active.path, more, &mut self.left);
                active.speed_up(more, now);
            }
        }
    }
}

impl Sharing for Madd<'_> {
    fn advance(&mut self, to: Time, _: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        // Between renewals only coflows' ends are due; flows that end meanwhile are reported then.
        for &slot in &self.by_age {
            self.coflows[slot as usize].retain_mut(|active| {
                let goes_on = active.end > to;
                if goes_on {
                    active.left = (active.left - done(active.rate, to.since(self.since))).max(0.0);
                } else {
                    ended.push((active.flow, active.end));
                }
                goes_on
            });
        }
        self.since = to;
    }

    fn begin(&mut self, _: Time, flow: u32, slot: u32) {
        if self.coflows.len() <= slot as usize {
            self.coflows.resize_with(slot as usize + 1, Vec::new);
        }
        let Flow { path, wire, .. } = self.flows[flow as usize];
        let active = Active { flow, path, left: work(wire), rate: 0.0, end: Time::NEVER };
        self.coflows[slot as usize].push(active);
    }

    fn tell_left(&mut self, _: Time, coflows: &mut Coflows<'_>) {
        coflows.forget_left();
        let slots: Vec<u32> = coflows.by_age().collect();
        for &slot in &slots {
            for active in &self.coflows[slot as usize] {
                coflows.add_left(slot, active.path, active.left);
            }
        }
        self.by_age = slots;
    }

    fn order(&mut self, order: &[u32], _: &Coflows<'_>) {
        self.order.clear();
        self.order.extend(order);
        self.renewed = true;
    }

    fn allocate(&mut self, now: Time, _: &mut Coflows<'_>) {
        if !std::mem::take(&mut self.renewed) {
            return;
        }
        self.since = now;
        self.left.clone_from(&self.network.rates);
        let order = std::mem::take(&mut self.order);
        let mut skipped = Vec::new();
        for &slot in &order {
            if self.together(slot, now) {
                skipped.push(slot);
            }
        }
        let by_age = std::mem::take(&mut self.by_age);
        self.share(&skipped, now);
        for &slot in &by_age {
            self.fill(slot, now);
        }
        let end = |slot: &u32| self.coflows[*slot as usize].iter().map(|active| active.end).max();
        self.next = order.iter().filter_map(end).min().unwrap_or(Time::NEVER);
        (self.order, self.by_age) = (order, by_age);
    }

    fn next(&self) -> Time {
        self.next
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        for active in self.coflows.iter().flatten() {
            let left = active.left - done(active.rate, now.since(self.since));
            visit(active.flow, left.max(0.0));
        }
    }
}
