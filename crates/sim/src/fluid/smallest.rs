//! Small flows first, one at each host: CoflowSim's per-flow prioritisation (`FlowSimulator.java`), with which Varys
//! compares itself (SIGCOMM 2014, §7.4).
//!
//! Each receiver has a queue of flows. A new flow enters it before the first one that has more work left than the new
//! one's size. Receivers choose by number: each takes the first flow of its queue whose sender no receiver before it
//! has taken. So a receiver whose senders are all taken gets nothing, and each sender serves one flow at a time. Flows
//! are preempted, but the queue is not sorted anew as they shrink.
//!
//! Behind a switch a flow has the whole line. If a link between racks is full, its flows count as if their sender were
//! taken.
//!
//! Receivers before the first one with a new or ended flow keep their choice. So do those behind the last one, as soon
//! as the same senders are taken as before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use flowsieve_core::units::Time;

use crate::fluid::coflows::Coflows;
use crate::fluid::engine::{Flow, Sharing};
use crate::fluid::network::{Network, after, done, span, work};

pub(crate) struct Smallest<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    /// By flow: its place in its receiver's queue. Only comparisons have a meaning.
    places: Vec<u64>,
    /// By flow: the remaining work when it last began to move.
    left: Vec<f64>,
    /// By receiver.
    queues: Vec<Queue>,
    /// By receiver: the flow that it has chosen.
    moving: Vec<Option<Moving>>,
    /// The first and the last receiver with a flow that is new or has ended.
    changed: Option<(usize, usize)>,
    /// By link: what choices so far leave.
    room: Vec<f64>,
    /// By sender: taken by a receiver so far.
    taken: Vec<bool>,
    /// By receiver: the sender that it took last time.
    took: Vec<Option<u32>>,
    /// Flows have no links in common but those of their hosts, so only taken senders hold a receiver back.
    only_hosts: bool,
}

#[derive(Clone, Copy)]
struct Moving {
    flow: u32,
    path: u32,
    sender: u32,
    rate: f64,
    since: Time,
    end: Time,
}

/// The flows to a receiver that have not ended.
#[derive(Default)]
struct Queue {
    /// By place.
    flows: BTreeMap<u64, u32>,
    /// Those that have not moved, by size and place. They are in this order in the queue, too: a new flow enters before
    /// larger ones.
    fresh: BTreeSet<(u64, u64)>,
    /// Those that have moved.
    begun: Vec<u32>,
    /// Ascending by sender.
    lines: Vec<Line>,
}

/// The flows of one sender to a receiver.
struct Line {
    sender: u32,
    /// The place of its first flow.
    first: u64,
    /// The places of the others, ascending.
    more: Vec<u64>,
}

/// The senders that receivers so far took last time and do not take now, or the other way round.
#[derive(Default)]
struct Difference(Vec<u32>);

impl Difference {
    fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    fn replace(&mut self, before: Option<u32>, now: Option<u32>) {
        // A sender is taken once each time. So a second mention says that it is taken both times.
        for sender in [before, now].into_iter().flatten().filter(|_| before != now) {
            match self.0.iter().position(|&other| other == sender) {
                Some(at) => drop(self.0.swap_remove(at)),
                None => self.0.push(sender),
            }
        }
    }
}

/// The gap between two places when all are spread anew.
const GAP: u64 = 1 << 32;

impl Queue {
    /// Returns the place of the first flow with more work left than a flow of this many bytes has.
    fn first_larger(&self, bytes: u64, places: &[u64], left: impl Fn(u32) -> f64) -> Option<u64> {
        let larger = (Bound::Excluded((bytes, u64::MAX)), Bound::Unbounded);
        let fresh = self.fresh.range(larger).next().map(|&(_, place)| place);
        let begun = self.begun.iter().filter(|&&flow| left(flow) > work(bytes)).map(|&flow| places[flow as usize]);
        begun.chain(fresh).min()
    }

    /// Returns a place before another, and behind all that are before it; `None` if there is none left.
    fn place_before(&self, next: Option<u64>) -> Option<u64> {
        let Some(next) = next else {
            return self.flows.last_key_value().map_or(Some(GAP), |(&last, _)| last.checked_add(GAP));
        };
        let last = self.flows.range(..next).next_back().map_or(0, |(&last, _)| last);
        let place = last + (next - last) / 2;
        (place > last).then_some(place)
    }

    /// Spreads the places anew. Returns each flow with its new place.
    fn spread(&mut self) -> Vec<(u32, u64)> {
        let old: Vec<(u64, u32)> = std::mem::take(&mut self.flows).into_iter().collect();
        let new: BTreeMap<u64, u64> = old.iter().zip(1..).map(|(&(place, _), rank)| (place, rank * GAP)).collect();
        self.fresh = self.fresh.iter().map(|&(bytes, place)| (bytes, new[&place])).collect();
        for line in &mut self.lines {
            line.first = new[&line.first];
            line.more.iter_mut().for_each(|place| *place = new[place]);
        }
        self.flows = old.iter().map(|&(place, flow)| (new[&place], flow)).collect();
        old.iter().map(|&(place, flow)| (flow, new[&place])).collect()
    }

    fn add(&mut self, flow: u32, sender: u32, bytes: u64, place: u64) {
        self.flows.insert(place, flow);
        self.fresh.insert((bytes, place));
        match self.lines.binary_search_by_key(&sender, |line| line.sender) {
            Ok(at) => {
                let line = &mut self.lines[at];
                let behind = line.first.max(place);
                line.first = line.first.min(place);
                line.more.insert(line.more.partition_point(|&other| other < behind), behind);
            }
            Err(at) => self.lines.insert(at, Line { sender, first: place, more: Vec::new() }),
        }
    }

    fn remove(&mut self, flow: u32, sender: u32, place: u64) {
        self.flows.remove(&place);
        self.begun.retain(|&other| other != flow);
        let Ok(at) = self.lines.binary_search_by_key(&sender, |line| line.sender) else { return };
        let line = &mut self.lines[at];
        if line.first != place {
            line.more.retain(|&other| other != place);
        } else if line.more.is_empty() {
            self.lines.remove(at);
        } else {
            line.first = line.more.remove(0);
        }
    }
}

impl<'a> Smallest<'a> {
    pub(crate) fn new(network: &'a Network, flows: &'a [Flow]) -> Smallest<'a> {
        let hosts = network.hosts();
        Smallest {
            network,
            flows,
            places: vec![0; flows.len()],
            left: flows.iter().map(|flow| work(flow.wire)).collect(),
            queues: (0..hosts).map(|_| Queue::default()).collect(),
            moving: vec![None; hosts],
            changed: None,
            room: Vec::new(),
            taken: Vec::new(),
            took: vec![None; hosts],
            only_hosts: network.paths.iter().all(|path| path.links.len() == 2),
        }
    }

    fn change(&mut self, receiver: usize) {
        let (first, last) = self.changed.unwrap_or((receiver, receiver));
        self.changed = Some((first.min(receiver), last.max(receiver)));
    }

    /// Returns the rate that a flow on a path could have, if no receiver so far has taken its sender.
    fn rate(&self, path: u32) -> Option<f64> {
        let rate = self.network.least(path, &self.room);
        (rate > 0.0 && !self.taken[self.network.paths[path as usize].from as usize]).then_some(rate)
    }

    fn take(&mut self, path: u32, rate: f64) {
        self.network.take(path, rate, &mut self.room);
        self.taken[self.network.paths[path as usize].from as usize] = true;
    }

    /// Returns a receiver's choice: its first flow with a rate.
    fn choice(&self, receiver: usize) -> Option<(u32, f64)> {
        let queue = &self.queues[receiver];
        let mut best: Option<(u64, u32, f64)> = None;
        for line in queue.lines.iter().filter(|line| !self.taken[line.sender as usize]) {
            for &place in [line.first].iter().chain(&line.more) {
                if best.is_some_and(|best| best.0 < place) {
                    break;
                }
                let flow = queue.flows[&place];
                // Flows of one sender may take different paths.
                if let Some(rate) = self.rate(self.flows[flow as usize].path) {
                    best = Some((place, flow, rate));
                    break;
                }
            }
        }
        best.map(|(_, flow, rate)| (flow, rate))
    }

    /// Takes a receiver's flow away from it.
    fn stop(&mut self, receiver: usize, now: Time) {
        if let Some(moving) = self.moving[receiver].take() {
            let left = &mut self.left[moving.flow as usize];
            *left = (*left - done(moving.rate, now.since(moving.since))).max(0.0);
        }
    }

    fn start(&mut self, receiver: usize, flow: u32, rate: f64, now: Time) {
        let Flow { path, wire, .. } = self.flows[flow as usize];
        let (queue, place) = (&mut self.queues[receiver], self.places[flow as usize]);
        if queue.fresh.remove(&(wire, place)) {
            queue.begun.push(flow);
        }
        let sender = self.network.paths[path as usize].from;
        let end = after(now, span(self.left[flow as usize], rate));
        self.moving[receiver] = Some(Moving { flow, path, sender, rate, since: now, end });
    }
}

impl Sharing for Smallest<'_> {
    fn advance(&mut self, to: Time, _: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        for receiver in 0..self.moving.len() {
            let Some(moving) = self.moving[receiver].filter(|moving| moving.end <= to) else { continue };
            self.moving[receiver] = None;
            self.queues[receiver].remove(moving.flow, moving.sender, self.places[moving.flow as usize]);
            ended.push((moving.flow, to));
            self.change(receiver);
        }
    }

    fn begin(&mut self, now: Time, flow: u32, _: u32) {
        let Flow { path, wire, .. } = self.flows[flow as usize];
        let ends = &self.network.paths[path as usize];
        let receiver = ends.to as usize;
        let queue = &mut self.queues[receiver];
        let (moving, left) = (&self.moving[receiver], &self.left);
        let left = |flow: u32| {
            let moves = moving.filter(|moving| moving.flow == flow);
            left[flow as usize] - moves.map_or(0.0, |moving| done(moving.rate, now.since(moving.since)))
        };
        let mut place = queue.place_before(queue.first_larger(wire, &self.places, left));
        if place.is_none() {
            queue.spread().into_iter().for_each(|(flow, place)| self.places[flow as usize] = place);
            place = queue.place_before(queue.first_larger(wire, &self.places, left));
        }
        // After a spread there is a place: gaps are wide.
        let place = place.unwrap_or(u64::MAX);
        self.places[flow as usize] = place;
        queue.add(flow, ends.from, wire, place);
        self.change(receiver);
    }

    fn tell_left(&mut self, _: Time, _: &mut Coflows<'_>) {}

    fn order(&mut self, _: &[u32], _: &Coflows<'_>) {}

    fn allocate(&mut self, now: Time, _: &mut Coflows<'_>) {
        let Some((first, last)) = self.changed.take() else { return };
        self.room.clone_from(&self.network.rates);
        self.taken.clear();
        self.taken.resize(self.network.hosts(), false);
        for receiver in 0..first {
            if let Some(moving) = self.moving[receiver] {
                self.take(moving.path, moving.rate);
            }
        }
        let mut others = Difference::default();
        for receiver in first..self.moving.len() {
            if self.only_hosts && receiver > last && others.is_none() {
                break;
            }
            let choice = self.choice(receiver);
            let before = self.moving[receiver];
            if before.map(|moving| (moving.flow, moving.rate)) != choice {
                self.stop(receiver, now);
                if let Some((flow, rate)) = choice {
                    self.start(receiver, flow, rate, now);
                }
            }
            if let Some((flow, rate)) = choice {
                self.take(self.flows[flow as usize].path, rate);
            }
            let sender = self.moving[receiver].map(|moving| moving.sender);
            let before = std::mem::replace(&mut self.took[receiver], sender);
            others.replace(before, sender);
        }
    }

    fn next(&self) -> Time {
        self.moving.iter().flatten().map(|moving| moving.end).min().unwrap_or(Time::NEVER)
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        for (queue, moving) in self.queues.iter().zip(&self.moving) {
            for &flow in queue.flows.values() {
                let moves = moving.filter(|moving| moving.flow == flow);
                let done = moves.map_or(0.0, |moving| done(moving.rate, now.since(moving.since)));
                visit(flow, (self.left[flow as usize] - done).max(0.0));
            }
        }
    }
}
