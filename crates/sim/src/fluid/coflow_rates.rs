//! Rates of coflows that are renewed when a coflow comes or ends, and the two ways to give links' rates to flows: equal
//! shares, and one after the other. [`crate::fluid::madd`] and [`crate::fluid::turns`] decide which coflow gets what.
//!
//! Each renewal looks at all flows several times. Most of them have a host with a full link. So a flow knows the links
//! of its hosts, and a path is looked up only if both have capacity left.

use flowsieve_core::units::Time;

use crate::fluid::coflows::Coflows;
use crate::fluid::engine::Flow;
use crate::fluid::network::{Network, after, done, span, work};

/// The flows of all coflows with their rates, and what these leave of links.
pub(crate) struct CoflowRates<'a> {
    pub(crate) network: &'a Network,
    flows: &'a [Flow],
    /// By slot: the flows of a coflow that have not ended, by number.
    pub(crate) coflows: Vec<Vec<Active>>,
    /// The slots of coflows by when they began.
    by_age: Vec<u32>,
    /// When rates were computed.
    since: Time,
    /// When the first coflow ends.
    next: Time,
    /// By link: the rate that it has left.
    pub(crate) left: Vec<f64>,
    pub(crate) wanted: Wanted,
    /// By link: the share of a flow; zero between calls.
    shares: Vec<f64>,
    /// By port, as in [`Coflows`]: the remaining work of a coflow; zero between calls.
    at_ports: Vec<f64>,
    /// The flows that share links, by slot and index; empty between calls.
    sharing: Vec<(u32, u32)>,
}

/// What a set of flows wants of links.
pub(crate) struct Wanted {
    /// By link: work, or a number of flows; zero between calls.
    pub(crate) by_link: Vec<f64>,
    /// The links with an entry in `by_link`.
    pub(crate) touched: Vec<u32>,
}

/// A flow under way.
#[derive(Clone, Copy)]
pub(crate) struct Active {
    flow: u32,
    pub(crate) path: u32,
    /// The links of its sender and its receiver.
    up: u32,
    down: u32,
    /// Remaining work when rates were computed.
    pub(crate) left: f64,
    pub(crate) rate: f64,
    pub(crate) end: Time,
}

impl Wanted {
    /// Adds to what is wanted of the links of a path.
    pub(crate) fn add(&mut self, network: &Network, path: u32, amount: f64) {
        for crossing in &network.paths[path as usize].links {
            let wanted = &mut self.by_link[crossing.link as usize];
            if *wanted == 0.0 {
                self.touched.push(crossing.link);
            }
            *wanted += amount * crossing.share;
        }
    }
}

impl Active {
    /// Returns whether all its links have something left.
    pub(crate) fn is_open(&self, network: &Network, left: &[f64]) -> bool {
        let hosts_are_open = left[self.up as usize] > 0.0 && left[self.down as usize] > 0.0;
        hosts_are_open && network.least_of(self.path, |link| left[link as usize]) > 0.0
    }

    /// Adds to its rate.
    fn speed_up(&mut self, more: f64, now: Time) {
        self.rate += more;
        self.end = after(now, span(self.left, self.rate));
    }
}

impl<'a> CoflowRates<'a> {
    pub(crate) fn new(network: &'a Network, flows: &'a [Flow]) -> CoflowRates<'a> {
        let links = network.rates.len();
        let (coflows, by_age, touched, sharing) = Default::default();
        CoflowRates {
            network,
            flows,
            coflows,
            by_age,
            since: Time::ZERO,
            next: Time::NEVER,
            left: vec![0.0; links],
            wanted: Wanted { by_link: vec![0.0; links], touched },
            shares: vec![0.0; links],
            at_ports: vec![0.0; 2 * network.hosts()],
            sharing,
        }
    }

    /// Lets flows continue until `to`. Calls `sent` with the slot and the work of each.
    pub(crate) fn advance(&mut self, to: Time, ended: &mut Vec<(u32, Time)>, mut sent: impl FnMut(u32, f64)) {
        // Between renewals only coflows' ends are due; flows that end meanwhile are reported then.
        for &slot in &self.by_age {
            self.coflows[slot as usize].retain_mut(|active| {
                let goes_on = active.end > to;
                if goes_on {
                    let left = (active.left - done(active.rate, to.since(self.since))).max(0.0);
                    sent(slot, active.left - left);
                    active.left = left;
                } else {
                    sent(slot, active.left);
                    ended.push((active.flow, active.end));
                }
                goes_on
            });
        }
        self.since = to;
    }

    pub(crate) fn begin(&mut self, flow: u32, slot: u32) {
        if self.coflows.len() <= slot as usize {
            self.coflows.resize_with(slot as usize + 1, Vec::new);
        }
        let Flow { path, wire, .. } = self.flows[flow as usize];
        let ends = &self.network.paths[path as usize];
        let (up, down) = (self.network.up[ends.from as usize], self.network.down[ends.to as usize]);
        let active = Active { flow, path, up, down, left: work(wire), rate: 0.0, end: Time::NEVER };
        self.coflows[slot as usize].push(active);
    }

    pub(crate) fn tell_left(&mut self, coflows: &mut Coflows<'_>) {
        for slot in coflows.by_age().collect::<Vec<u32>>() {
            for active in &self.coflows[slot as usize] {
                for port in coflows.ports(active.path) {
                    self.at_ports[port as usize] += active.left;
                }
            }
            coflows.take_left(slot, &mut self.at_ports);
        }
    }

    /// Begins to compute rates: all links have their whole rate left.
    pub(crate) fn renew(&mut self, now: Time, coflows: &Coflows<'_>) {
        self.since = now;
        self.left.clone_from(&self.network.rates);
        self.by_age.clear();
        self.by_age.extend(coflows.by_age());
    }

    /// Takes the rates as they are now.
    pub(crate) fn finish(&mut self) {
        let end = |slot: &u32| self.coflows[*slot as usize].iter().map(|active| active.end).max();
        self.next = self.by_age.iter().filter_map(end).min().unwrap_or(Time::NEVER);
    }

    /// Returns when the first coflow ends.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        for active in self.coflows.iter().flatten() {
            let left = active.left - done(active.rate, now.since(self.since));
            visit(active.flow, left.max(0.0));
        }
    }

    /// Takes the rates of a coflow's flows away. A flow without remaining work ends all the same.
    pub(crate) fn stop(&mut self, slot: u32, now: Time) {
        for active in &mut self.coflows[slot as usize] {
            active.rate = 0.0;
            active.end = if active.left <= 0.0 { now } else { Time::NEVER };
        }
    }

    /// Shares what links have left among all flows of these coflows. All shares are known before the first is taken.
    pub(crate) fn share(&mut self, slots: &[u32], now: Time) {
        for &slot in slots {
            for (active, at) in self.coflows[slot as usize].iter().zip(0..) {
                if active.is_open(self.network, &self.left) {
                    self.wanted.add(self.network, active.path, 1.0);
                    self.sharing.push((slot, at));
                }
            }
        }
        for &link in &self.wanted.touched {
            self.shares[link as usize] = self.left[link as usize] / self.wanted.by_link[link as usize];
            self.wanted.by_link[link as usize] = 0.0;
        }
        for (slot, at) in self.sharing.drain(..) {
            let active = &mut self.coflows[slot as usize][at as usize];
            let share = self.network.least_of(active.path, |link| self.shares[link as usize]);
            self.network.take(active.path, share, &mut self.left);
            active.speed_up(share, now);
        }
        for link in self.wanted.touched.drain(..) {
            self.shares[link as usize] = 0.0;
        }
    }

    /// Gives each flow of a coflow in turn all that is left on its links.
    pub(crate) fn fill(&mut self, slot: u32, now: Time) {
        for active in &mut self.coflows[slot as usize] {
            if active.is_open(self.network, &self.left) {
                let more = self.network.least(active.path, &self.left);
                self.network.take(active.path, more, &mut self.left);
                active.speed_up(more, now);
            }
        }
    }
}
