//! Flows that share links max-min fairly, all equal or in classes.
//!
//! Flows of one path and coflow form a group. They have one rate, so they end in the order of their work per flow. A
//! group counts the work done per flow, and each flow ends at a count that is known when it begins. So the cost of a
//! step depends on the number of groups whose rate changes, and on the logarithm of the others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use flowsieve_core::coflow::{LevelRule, Levels};
use flowsieve_core::units::Time;

use crate::fluid::coflows::Coflows;
use crate::fluid::engine::{Flow, Sharing};
use crate::fluid::filling::Filling;
use crate::fluid::network::{Network, after, done, span, work};
use crate::fluid::times::Times;

/// The slot of groups if coflows make no difference.
const ALL_ALIKE: u32 = u32::MAX;

pub(crate) struct Shared<'a> {
    flows: &'a [Flow],
    filling: Filling<'a>,
    /// The classes of an order; `None`: all are equal.
    levels: Option<Levels>,
    /// Each link is divided equally, without what flows cannot use of their parts.
    divides: bool,
    /// By claim of `filling`.
    groups: Vec<Group>,
    /// By claim: when the next flow of the group ends.
    ends: Times,
    /// Memory for the claims that are due.
    due: Vec<u32>,
    /// The claim of each group, by the slot of the coflow and the path.
    claims: BTreeMap<(u32, u32), u32>,
    /// By slot: the class of a coflow.
    classes: Vec<u32>,
    /// The claims of groups that have changed.
    changed: Vec<u32>,
}

#[derive(Default)]
struct Group {
    path: u32,
    slot: u32,
    /// Work done per flow up to `since`, and the rate from then on.
    served: f64,
    since: Time,
    rate: f64,
    /// The count of work at which each flow ends, as the bits of a positive number, which sort like the number.
    flows: BinaryHeap<Reverse<(u64, u32)>>,
    /// The next flow to end has changed since its end was computed.
    changed: bool,
}

impl Group {
    fn serve(&mut self, now: Time) {
        self.served += done(self.rate, now.since(self.since));
        self.since = now;
    }

    /// Returns the count at which the next flow ends.
    fn first(&self) -> Option<f64> {
        self.flows.peek().map(|first| f64::from_bits(first.0.0))
    }
}

impl<'a> Shared<'a> {
    pub(crate) fn max_min(network: &'a Network, flows: &'a [Flow]) -> Shared<'a> {
        Shared::new(network, flows, None, 1)
    }

    /// Divides links equally instead of max-min fairly.
    pub(crate) fn equal(network: &'a Network, flows: &'a [Flow]) -> Shared<'a> {
        Shared { divides: true, filling: Filling::to_divide(network), ..Shared::max_min(network, flows) }
    }

    pub(crate) fn strict(network: &'a Network, flows: &'a [Flow], rule: LevelRule, levels: usize) -> Shared<'a> {
        Shared::new(network, flows, Some(Levels::new(rule, levels)), levels)
    }

    fn new(network: &'a Network, flows: &'a [Flow], levels: Option<Levels>, classes: usize) -> Shared<'a> {
        let filling = Filling::new(network, classes);
        let (groups, due, claims, classes, changed) = Default::default();
        let ends = Times::new();
        Shared { flows, filling, levels, divides: false, groups, ends, due, claims, classes, changed }
    }

    fn group_of(&mut self, now: Time, slot: u32, path: u32) -> u32 {
        let slot = if self.levels.is_some() { slot } else { ALL_ALIKE };
        if let Some(&claim) = self.claims.get(&(slot, path)) {
            return claim;
        }
        let class = self.classes.get(slot as usize).copied().unwrap_or(0);
        let claim = self.filling.claim(path, class);
        if claim as usize == self.groups.len() {
            self.groups.push(Group::default());
        }
        self.groups[claim as usize] = Group { path, slot, since: now, ..Group::default() };
        self.claims.insert((slot, path), claim);
        claim
    }
}

impl Sharing for Shared<'_> {
    fn advance(&mut self, to: Time, _: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        self.ends.up_to(to, &mut self.due);
        for claim in self.due.drain(..) {
            let group = &mut self.groups[claim as usize];
            group.serve(to);
            let first = group.first();
            while group.first() == first
                && let Some(Reverse((_, flow))) = group.flows.pop()
            {
                ended.push((flow, to));
            }
            if !std::mem::replace(&mut group.changed, true) {
                self.changed.push(claim);
            }
            let (left, key) = (group.flows.len(), (group.slot, group.path));
            self.filling.set_flows(claim, left);
            if left == 0 {
                self.filling.release(claim);
                self.claims.remove(&key);
                self.ends.set(claim, Time::NEVER);
            }
        }
    }

    fn begin(&mut self, now: Time, flow: u32, slot: u32) {
        let Flow { path, wire, .. } = self.flows[flow as usize];
        let claim = self.group_of(now, slot, path);
        let group = &mut self.groups[claim as usize];
        group.serve(now);
        group.flows.push(Reverse(((group.served + work(wire)).to_bits(), flow)));
        if !std::mem::replace(&mut group.changed, true) {
            self.changed.push(claim);
        }
        self.filling.set_flows(claim, group.flows.len());
    }

    fn tell_left(&mut self, now: Time, coflows: &mut Coflows<'_>) {
        coflows.forget_left();
        for &claim in self.claims.values() {
            let group = &mut self.groups[claim as usize];
            group.serve(now);
            let left = group.flows.iter().map(|flow| (f64::from_bits(flow.0.0) - group.served).max(0.0)).sum();
            coflows.add_left(group.slot, group.path, left);
        }
    }

    fn order(&mut self, order: &[u32], coflows: &Coflows<'_>) {
        let Some(levels) = &mut self.levels else { return };
        let keys: Vec<u32> = order.iter().map(|&slot| coflows.key(slot)).collect();
        let levels = levels.assign(&keys);
        for &slot in order {
            if self.classes.len() <= slot as usize {
                self.classes.resize(slot as usize + 1, 0);
            }
            self.classes[slot as usize] = levels[&coflows.key(slot)].into();
        }
        for (&(slot, _), &claim) in &self.claims {
            self.filling.set_class(claim, self.classes[slot as usize]);
        }
    }

    fn allocate(&mut self, now: Time, _: &mut Coflows<'_>) {
        if self.divides {
            self.filling.divide();
        } else {
            self.filling.fill();
        }
        for &claim in self.filling.moved().iter().chain(&self.changed) {
            let (group, rate) = (&mut self.groups[claim as usize], self.filling.rate(claim));
            // It is in both lists, or has no flow any more.
            if group.flows.is_empty() || rate == group.rate && !group.changed {
                continue;
            }
            group.serve(now);
            (group.rate, group.changed) = (rate, false);
            let left = group.first().unwrap_or(f64::INFINITY) - group.served;
            self.ends.set(claim, after(now, span(left, rate)));
        }
        self.changed.clear();
    }

    fn next(&self) -> Time {
        self.ends.first()
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        for &claim in self.claims.values() {
            let group = &self.groups[claim as usize];
            let served = group.served + done(group.rate, now.since(group.since));
            // The order inside a heap is arbitrary; sums must be the same on any machine.
            let mut flows: Vec<_> = group.flows.iter().map(|flow| flow.0).collect();
            flows.sort_unstable();
            flows.into_iter().for_each(|(at, flow)| visit(flow, (f64::from_bits(at) - served).max(0.0)));
        }
    }

    fn lifts(&self) -> u64 {
        self.levels.as_ref().map_or(0, Levels::lifts)
    }
}
