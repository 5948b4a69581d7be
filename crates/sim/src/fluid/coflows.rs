//! The coflows under way, and their order under a rule.

use std::collections::BTreeMap;

use flowsieve_core::coflow::{Coflow, Demand, Snapshot};
use flowsieve_core::units::Time;

use crate::fluid::Order;
use crate::fluid::engine::Flow;
use crate::fluid::network::{Network, span, work};

/// Coflows with flows that have begun and not ended. Each has a slot, which is reused after it.
pub(crate) struct Coflows<'a> {
    network: &'a Network,
    slots: Vec<Active>,
    free: Vec<u32>,
    /// The slot of each coflow under way.
    slot_of: BTreeMap<u32, u32>,
    /// The slots of coflows under way, by when they began.
    by_age: BTreeMap<u64, u32>,
    /// Number of coflows so far.
    known: u64,
}

#[derive(Default)]
struct Active {
    key: u32,
    /// Its rank among all coflows by when they began.
    number: u64,
    since: Time,
    flows: u32,
    unfinished: u32,
    longest: u64,
    bytes: u64,
    /// Ascending: hosts as senders, then hosts as receivers.
    ports: Vec<u32>,
    /// By port in `ports`: work requested of it, and remaining work.
    first: Vec<f64>,
    left: Vec<f64>,
}

impl<'a> Coflows<'a> {
    pub(crate) fn new(network: &'a Network) -> Coflows<'a> {
        let (slots, free, slot_of, by_age) = Default::default();
        Coflows { network, slots, free, slot_of, by_age, known: 0 }
    }

    /// Begins a flow; returns the slot of its coflow.
    pub(crate) fn begin(&mut self, now: Time, flow: &Flow) -> u32 {
        let slot = match self.slot_of.get(&flow.coflow) {
            Some(&slot) => slot,
            None => self.open(now, flow.coflow),
        };
        let active = &mut self.slots[slot as usize];
        active.flows += 1;
        active.unfinished += 1;
        active.longest = active.longest.max(flow.payload);
        active.bytes = active.bytes.saturating_add(flow.payload);
        for port in self.ports(flow.path) {
            let active = &mut self.slots[slot as usize];
            let at = active.ports.binary_search(&port).unwrap_or_else(|at| {
                active.ports.insert(at, port);
                active.first.insert(at, 0.0);
                active.left.insert(at, 0.0);
                at
            });
            active.first[at] += work(flow.wire);
            active.left[at] += work(flow.wire);
        }
        slot
    }

    fn open(&mut self, now: Time, key: u32) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Active::default());
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Active { key, number: self.known, since: now, ..Active::default() };
        self.slot_of.insert(key, slot);
        self.by_age.insert(self.known, slot);
        self.known += 1;
        slot
    }

    /// Ends a flow of a coflow; returns whether it was the last one.
    pub(crate) fn end(&mut self, slot: u32) -> bool {
        let active = &mut self.slots[slot as usize];
        active.unfinished -= 1;
        let (key, number, over) = (active.key, active.number, active.unfinished == 0);
        if over {
            self.slot_of.remove(&key);
            self.by_age.remove(&number);
            self.free.push(slot);
        }
        over
    }

    /// Clears the remaining demands, before they are reported again.
    pub(crate) fn forget_left(&mut self) {
        for &slot in self.by_age.values() {
            self.slots[slot as usize].left.fill(0.0);
        }
    }

    /// Adds work on a path to a coflow's remaining demand; negative work reduces it.
    pub(crate) fn add_left(&mut self, slot: u32, path: u32, work: f64) {
        for port in self.ports(path) {
            let active = &mut self.slots[slot as usize];
            if let Ok(at) = active.ports.binary_search(&port) {
                active.left[at] += work;
            }
        }
    }

    /// Sets a coflow's remaining demands to those of a table by port, and clears what it takes there.
    pub(crate) fn take_left(&mut self, slot: u32, at_ports: &mut [f64]) {
        let active = &mut self.slots[slot as usize];
        for (&port, left) in active.ports.iter().zip(&mut active.left) {
            *left = std::mem::take(&mut at_ports[port as usize]);
        }
    }

    /// Returns a coflow's key.
    pub(crate) fn key(&self, slot: u32) -> u32 {
        self.slots[slot as usize].key
    }

    /// Returns the slots of coflows under way, by when they began.
    pub(crate) fn by_age(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_age.values().copied()
    }

    /// Returns a coflow's rank by when it began, when that was, and the time that its bottleneck needed for it then.
    pub(crate) fn begun(&self, slot: u32) -> (u64, Time, Time) {
        let active = &self.slots[slot as usize];
        let times = active.ports.iter().zip(&active.first).map(|(&port, &work)| self.demand(port, work).time);
        (active.number, active.since, Time(times.max().unwrap_or(0)))
    }

    /// Returns the slots of coflows under way, in the order of service.
    pub(crate) fn ordered(&self, order: &Order) -> Vec<u32> {
        let slots: Vec<u32> = self.by_age().collect();
        let coflows = slots.iter().map(|&slot| self.as_known(&self.slots[slot as usize], order)).collect();
        let snapshot = Snapshot { ports: 2 * self.network.hosts(), coflows };
        order.rule.order(&snapshot).into_iter().map(|index| slots[index]).collect()
    }

    /// Returns the coflow as a coordinator knows it. Bytes sent are left out: no order of
    /// [`flowsieve_core::coflow::OrderRule`] uses them.
    fn as_known(&self, active: &Active, order: &Order) -> Coflow {
        let work = if order.remaining { &active.left } else { &active.first };
        Coflow {
            key: active.key,
            since: active.since,
            flows: active.flows,
            longest: active.longest,
            bytes: active.bytes,
            sent: 0,
            weight: order.weights.get(&active.key).copied().unwrap_or(1.0),
            demands: active.ports.iter().zip(work).map(|(&port, &work)| self.demand(port, work)).collect(),
        }
    }

    fn demand(&self, port: u32, work: f64) -> Demand {
        let hosts = self.network.hosts();
        let link = match (port as usize).checked_sub(hosts) {
            None => self.network.up[port as usize],
            Some(receiver) => self.network.down[receiver],
        };
        Demand { port, time: span(work, self.network.rates[link as usize]).0 }
    }

    /// Returns the ports of a path: its sender's and its receiver's.
    pub(crate) fn ports(&self, path: u32) -> [u32; 2] {
        let path = &self.network.paths[path as usize];
        [path.from, path.to + self.network.hosts() as u32]
    }
}
