//! Sincronia's rates: flow by flow in the order of their coflows, each gets what is left at all its links (SIGCOMM
//! 2018, §4.2).
//!
//! Each rate but the last ones fills a link, so that few flows move: over a switch of equal links at most one per port.
//! They are found without looking at the other flows. Bits mark the senders and receivers with open links, and those
//! that a coflow, or one of its senders, still needs.
//!
//! Flows ahead of one that ends keep their rates, so the walk continues from there. Most flows that it then meets get
//! the rate that they had, and continue unchanged.

use std::iter;

use flowsieve_core::units::Time;

use crate::fluid::bits::{Dense, Sparse};
use crate::fluid::coflows::Coflows;
use crate::fluid::engine::{Flow, Sharing};
use crate::fluid::network::{Network, after, done, span, work};

pub(crate) struct Greedy<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    /// By flow: the remaining work when it last began to move.
    left: Vec<f64>,
    /// By slot: the remaining flows of a coflow.
    wants: Vec<Wants>,
    /// The slots of coflows, in the order of service.
    order: Vec<u32>,
    room: Room<'a>,
    /// The moving flows, in the order of the walk.
    moving: Vec<Moving>,
    /// Flows behind them that stopped and may move again, in the same order. Their links are open.
    stopped: Vec<Moving>,
    /// Where the walk continues.
    from: Spot,
}

#[derive(Clone, Copy)]
struct Moving {
    spot: Spot,
    slot: u32,
    path: u32,
    rate: f64,
    since: Time,
    end: Time,
}

/// A flow in the order of the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    /// The place of its coflow.
    place: u32,
    sender: u32,
    receiver: u32,
    flow: u32,
}

/// The remaining rates of links.
struct Room<'a> {
    network: &'a Network,
    /// By link.
    left: Vec<f64>,
    /// Hosts with capacity left on their outgoing link, and hosts with capacity left on their incoming link.
    senders: Dense,
    receivers: Dense,
}

impl Room<'_> {
    fn all(network: &Network) -> Room<'_> {
        let hosts = network.hosts();
        let (senders, receivers) = (Dense::new(hosts), Dense::new(hosts));
        let mut room = Room { network, left: network.rates.clone(), senders, receivers };
        (0..hosts as u32).for_each(|host| {
            room.senders.set(host, true);
            room.receivers.set(host, true);
        });
        room
    }

    /// Returns the rate of a flow that gets all that is left on its path; `None` if a link is full.
    fn take(&mut self, path: u32) -> Option<f64> {
        let rate = self.network.least(path, &self.left);
        if rate <= 0.0 {
            return None;
        }
        self.network.take(path, rate, &mut self.left);
        let path = &self.network.paths[path as usize];
        let is_open = |link: u32| self.left[link as usize] > 0.0;
        self.senders.set(path.from, is_open(self.network.up[path.from as usize]));
        self.receivers.set(path.to, is_open(self.network.down[path.to as usize]));
        Some(rate)
    }

    fn give_back(&mut self, path: u32, rate: f64) {
        self.network.give_back(path, rate, &mut self.left);
        let path = &self.network.paths[path as usize];
        self.senders.set(path.from, true);
        self.receivers.set(path.to, true);
    }
}

/// The flows of a coflow that have not ended.
#[derive(Default)]
struct Wants {
    senders: Sparse,
    receivers: Sparse,
    /// By rank of the receiver: how many flows.
    to: Vec<u32>,
    /// By rank of the sender.
    rows: Vec<Row>,
}

/// The flows of one sender.
struct Row {
    sender: u32,
    receivers: Sparse,
    /// By rank of the receiver: the first flow to it.
    first: Vec<Wanted>,
    /// Other flows to the same receivers, ascending.
    more: Vec<(u32, Wanted)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    flow: u32,
    path: u32,
}

impl Row {
    /// Returns the further flows to a receiver.
    fn more_to(&self, receiver: u32) -> impl Iterator<Item = Wanted> {
        let from = self.more.partition_point(|other| other.0 < receiver);
        self.more[from..].iter().take_while(move |other| other.0 == receiver).map(|other| other.1)
    }

    fn flows(&self) -> impl Iterator<Item = u32> {
        self.first.iter().chain(self.more.iter().map(|(_, wanted)| wanted)).map(|wanted| wanted.flow)
    }

    /// Adds a flow. Flows come by number.
    fn add(&mut self, receiver: u32, wanted: Wanted) {
        match self.receivers.rank(receiver) {
            Ok(_) => {
                let at = self.more.partition_point(|other| *other < (receiver, wanted));
                self.more.insert(at, (receiver, wanted));
            }
            Err(rank) => {
                self.first.insert(rank, wanted);
                self.receivers.insert(receiver);
            }
        }
    }

    fn remove(&mut self, receiver: u32, flow: u32) {
        let Ok(rank) = self.receivers.rank(receiver) else { return };
        let from = self.more.partition_point(|other| other.0 < receiver);
        if self.first[rank].flow != flow {
            if let Some(at) = self.more[from..].iter().position(|other| other.1.flow == flow) {
                self.more.remove(from + at);
            }
        } else if self.more.get(from).is_some_and(|next| next.0 == receiver) {
            self.first[rank] = self.more.remove(from).1;
        } else {
            self.first.remove(rank);
            self.receivers.remove(receiver);
        }
    }
}

impl Wants {
    fn add(&mut self, (sender, receiver): (u32, u32), wanted: Wanted) {
        match self.receivers.rank(receiver) {
            Ok(rank) => self.to[rank] += 1,
            Err(rank) => {
                self.to.insert(rank, 1);
                self.receivers.insert(receiver);
            }
        }
        let rank = self.senders.rank(sender).unwrap_or_else(|rank| {
            let row = Row { sender, receivers: Sparse::default(), first: Vec::new(), more: Vec::new() };
            self.rows.insert(rank, row);
            self.senders.insert(sender);
            rank
        });
        self.rows[rank].add(receiver, wanted);
    }

    fn remove(&mut self, sender: u32, receiver: u32, flow: u32) {
        if let Ok(rank) = self.receivers.rank(receiver) {
            self.to[rank] -= 1;
            if self.to[rank] == 0 {
                self.to.remove(rank);
                self.receivers.remove(receiver);
            }
        }
        let Ok(rank) = self.senders.rank(sender) else { return };
        self.rows[rank].remove(receiver, flow);
        if self.rows[rank].first.is_empty() {
            self.rows.remove(rank);
            self.senders.remove(sender);
        }
    }

    /// Assigns rates to flows from a spot on, from what is left of their links, and reports each that moves.
    fn walk(&self, from: Spot, room: &mut Room<'_>, mut moves: impl FnMut(Spot, u32, f64)) {
        if !self.receivers.meets(&room.receivers) {
            return;
        }
        for word in 0..self.senders.words() {
            // A row closes no other sender, so the senders of a word do not change.
            for (rank, sender) in self.senders.common(word, &room.senders).filter(|open| open.1 >= from.sender) {
                let from = if sender == from.sender { from } else { Spot { place: from.place, ..Spot::default() } };
                self.rows[rank].walk(from, room, &mut moves);
            }
        }
    }
}

impl Row {
    fn walk(&self, from: Spot, room: &mut Room<'_>, moves: &mut impl FnMut(Spot, u32, f64)) {
        for word in 0..self.receivers.words() {
            for (rank, receiver) in self.receivers.common(word, &room.receivers).filter(|open| open.1 >= from.receiver)
            {
                let least = if receiver == from.receiver { from.flow } else { 0 };
                let flows = iter::once(self.first[rank]).chain(self.more_to(receiver));
                for Wanted { flow, path } in flows.filter(|wanted| wanted.flow >= least) {
                    if let Some(rate) = room.take(path) {
                        moves(Spot { place: from.place, sender: self.sender, receiver, flow }, path, rate);
                    }
                    if !room.senders.has(self.sender) {
                        return;
                    }
                    if !room.receivers.has(receiver) {
                        break;
                    }
                }
            }
        }
    }
}

impl<'a> Greedy<'a> {
    pub(crate) fn new(network: &'a Network, flows: &'a [Flow]) -> Greedy<'a> {
        let (wants, order, moving, stopped) = Default::default();
        let left = flows.iter().map(|flow| work(flow.wire)).collect();
        let (room, from) = (Room::all(network), Spot::default());
        Greedy { network, flows, left, wants, order, room, moving, stopped, from }
    }

    /// Stops all moving flows from an index on, for now.
    fn stop(&mut self, index: usize) {
        for moving in self.moving.drain(index..) {
            self.room.give_back(moving.path, moving.rate);
            self.stopped.push(moving);
        }
    }
}

/// Subtracts what a flow has sent from its remaining work.
fn settle(moving: &Moving, now: Time, left: &mut [f64], coflows: &mut Coflows<'_>) {
    let left = &mut left[moving.spot.flow as usize];
    let done = if moving.end <= now { *left } else { done(moving.rate, now.since(moving.since)).min(*left) };
    *left -= done;
    coflows.add_left(moving.slot, moving.path, -done);
}

impl Sharing for Greedy<'_> {
    fn advance(&mut self, to: Time, coflows: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        let Some(first) = self.moving.iter().position(|moving| moving.end <= to) else { return };
        self.from = self.moving[first].spot;
        self.stop(first);
        let (left, wants) = (&mut self.left, &mut self.wants);
        self.stopped.retain(|moving| {
            let goes_on = moving.end > to;
            if !goes_on {
                settle(moving, to, left, coflows);
                wants[moving.slot as usize].remove(moving.spot.sender, moving.spot.receiver, moving.spot.flow);
                ended.push((moving.spot.flow, to));
            }
            goes_on
        });
    }

    fn begin(&mut self, _: Time, flow: u32, slot: u32) {
        let Flow { path, .. } = self.flows[flow as usize];
        let ends = &self.network.paths[path as usize];
        if self.wants.len() <= slot as usize {
            self.wants.resize_with(slot as usize + 1, Wants::default);
        }
        self.wants[slot as usize].add((ends.from, ends.to), Wanted { flow, path });
    }

    fn tell_left(&mut self, now: Time, coflows: &mut Coflows<'_>) {
        self.stop(0);
        for moving in self.stopped.drain(..) {
            settle(&moving, now, &mut self.left, coflows);
        }
    }

    fn order(&mut self, order: &[u32], _: &Coflows<'_>) {
        self.order.clear();
        self.order.extend(order);
        self.from = Spot::default();
    }

    fn allocate(&mut self, now: Time, coflows: &mut Coflows<'_>) {
        let (moving, left) = (&mut self.moving, &mut self.left);
        let mut before = self.stopped.iter().peekable();
        for (&slot, place) in self.order.iter().zip(0..).skip(self.from.place as usize) {
            let from = if place == self.from.place { self.from } else { Spot { place, ..Spot::default() } };
            self.wants[slot as usize].walk(from, &mut self.room, |spot, path, rate| {
                while let Some(other) = before.next_if(|other| other.spot < spot) {
                    settle(other, now, left, coflows);
                }
                match before.next_if(|other| other.spot == spot) {
                    Some(same) if same.rate == rate => return moving.push(*same),
                    Some(other) => settle(other, now, left, coflows),
                    None => {}
                }
                let end = after(now, span(left[spot.flow as usize], rate));
                moving.push(Moving { spot, slot, path, rate, since: now, end });
            });
        }
        before.for_each(|other| settle(other, now, left, coflows));
        self.stopped.clear();
        self.from.place = u32::MAX;
    }

    fn next(&self) -> Time {
        self.moving.iter().map(|moving| moving.end).min().unwrap_or(Time::NEVER)
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        let mut moving: Vec<&Moving> = self.moving.iter().chain(&self.stopped).collect();
        moving.sort_unstable_by_key(|moving| moving.spot.flow);
        for flow in self.wants.iter().flat_map(|wants| &wants.rows).flat_map(Row::flows) {
            let moved = moving.binary_search_by_key(&flow, |moving| moving.spot.flow);
            let done = moved.map_or(0.0, |at| done(moving[at].rate, now.since(moving[at].since)));
            visit(flow, (self.left[flow as usize] - done).max(0.0));
        }
    }
}
