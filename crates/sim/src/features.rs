//! Features that few links have: memory that their switch's ports share, an end in another partition, cut-through,
//! losses, a program that counts the bytes that they sent, a host that hears departures, a trace, chosen flows whose
//! arrivals are reported.
//!
//! Only links with [`Features`] call this code; all other [packets](crate::network) bypass it. Shared memory alone costs
//! little: departures wait until they are due for another reason, or until there may be too little memory without them.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use flowsieve_core::{NONE, PortScheduler, Time};
use flowsieve_record::PacketEvent;
use rand_core::Rng;

use crate::event::Key;
use crate::link::{Endpoint, Features, Port};
use crate::network::{Crossing, Departure, Network};
use crate::source::Source;

impl<K: Key> Network<K> {
    /// Moves out every packet that is due on the link.
    #[inline(never)]
    pub(crate) fn depart_with_features(&mut self, link: u32, now: Time) {
        if self.links[link as usize].only_crosses {
            return self.depart_across(link, now);
        }
        while self.links[link as usize].owes(now) {
            let (port, state) = (&mut self.ports[link as usize], &mut self.links[link as usize]);
            let (start, metas) = (state.busy_until, self.slab.metas.as_mut_slice());
            let shares = port.features.shares;
            let pool = if shares { &mut self.pools[port.owner as usize] } else { &mut self.own_pool };
            let Some(packet) = port.dequeue_unheld(metas, start, pool, &mut self.victims) else {
                debug_assert!(port.held != 0, "a port of {} packets has none to send", state.queued);
                port.most_backlog = port.most_backlog.max(port.scheduler.backlog_bytes());
                (port.free_at, state.busy_until) = (start, Time::NEVER);
                break;
            };
            state.queued -= 1;
            if shares {
                pool.give(metas[packet as usize].len);
            }
            self.put_on_line_with_features(link, packet, start, false);
        }
        if self.ports[link as usize].features.eager {
            self.schedule_with_features(link);
        }
    }

    /// Does the same for a link whose only feature is an end in another partition.
    fn depart_across(&mut self, link: u32, now: Time) {
        while self.links[link as usize].owes(now) {
            let (port, state) = (&mut self.ports[link as usize], &mut self.links[link as usize]);
            let (start, metas) = (state.busy_until, self.slab.metas.as_mut_slice());
            let Some(packet) = port.dequeue(metas, start, &mut self.own_pool, &mut self.victims) else {
                debug_assert!(false, "a port of {} packets has none to send", state.queued);
                return;
            };
            state.queued -= 1;
            self.put_on_line_across(link, packet, start, false);
        }
    }

    /// Puts a packet on the line of a link whose only feature is an end in another partition.
    #[inline(always)]
    fn put_on_line_across(&mut self, link: u32, packet: u32, start: Time, bypassed: bool) {
        let (state, meta) = (&mut self.links[link as usize], &self.slab.metas[packet as usize]);
        let on_wire = u32::from(meta.len) + self.overhead;
        self.classes[usize::from(state.class)].count(meta, on_wire, bypassed);
        let at = state.put_on_line(on_wire, start);
        self.cross_over(link, packet, at);
    }

    /// Sends a packet on to the partition at the link's far end.
    #[inline(always)]
    fn cross_over(&mut self, link: u32, packet: u32, at: Time) {
        let beyond = &self.beyond[link as usize];
        let turns = beyond.switch != NONE && {
            let (rack, _) = self.ways_home[usize::from(self.slab.metas[packet as usize].dst)];
            self.turns[beyond.switch as usize * self.racks + rack as usize]
        };
        let to = if turns { beyond.turned } else { beyond.ahead };
        self.crossings.push(Crossing { to, at, packet });
    }

    /// Puts a packet on the line of such a link, which is free at `start`.
    #[inline(never)]
    pub(crate) fn put_on_line_with_features(&mut self, link: u32, packet: u32, start: Time, bypassed: bool) {
        if self.links[link as usize].only_crosses {
            return self.put_on_line_across(link, packet, start, bypassed);
        }
        self.trace_sent(link, packet, start, bypassed);
        self.note_departure(link, packet, start);
        if self.ports[link as usize].features.hears.departures {
            self.at_hop(link, packet, start, |own, meta, hop| own.on_departure(meta, hop));
        }
        let (port, state) = (&mut self.ports[link as usize], &mut self.links[link as usize]);
        let (features, meta) = (port.features, &self.slab.metas[packet as usize]);
        let on_wire = u32::from(meta.len) + self.overhead;
        if features.counts {
            port.sent_bytes += u64::from(on_wire);
        }
        self.classes[usize::from(state.class)].count(meta, on_wire, bypassed);
        let at = match features.forwards_after {
            Some(head) => state.put_on_line_cut_through(on_wire, start, head),
            None => state.put_on_line(on_wire, start),
        };
        if features.crosses { self.cross_over(link, packet, at) } else { self.put_in_flight(link, packet, at) }
    }

    /// Handles a packet that joined the queue of a port that shares memory. If it waits, its departure is looked at when
    /// the memory is scarce.
    #[inline(always)]
    pub(crate) fn occupy_memory(&mut self, link: u32, packet: u32) {
        let (port, state) = (&mut self.ports[link as usize], &self.links[link as usize]);
        self.pools[port.owner as usize].take(self.slab.metas[packet as usize].len);
        if state.busy_until > self.now && !port.holds_memory {
            port.holds_memory = true;
            self.switches[port.owner as usize].due.push(Reverse((state.busy_until, link)));
        }
    }

    /// Handles a packet that joined the queue of a port whose departures matter elsewhere. Such a port must be looked
    /// at without an event of its own.
    #[inline(never)]
    pub(crate) fn queued_with_features(&mut self, link: u32, packet: u32) {
        if self.ports[link as usize].features.hears.queued {
            self.at_hop(link, packet, self.now, |own, meta, hop| own.on_queued(meta, hop));
        }
        if self.ports[link as usize].features.holds {
            self.try_again(link);
        }
        let (port, state) = (&mut self.ports[link as usize], &self.links[link as usize]);
        let Features { crosses, forwards_after, tells_departures, eager, .. } = port.features;
        if state.busy_until <= self.now {
            return; // it is sent at once
        }
        if crosses && !port.due {
            port.due = true;
            self.waiting.push(link);
        }
        if (forwards_after.is_some() || eager) && !crosses {
            self.schedule_with_features(link);
        }
        if tells_departures {
            self.await_departure(link);
        }
    }

    /// Notes that the line begins to send a packet, if its host hears departures. The host hears of it in an event of its own
    /// at the same instant, which does not depend on when the port is looked at.
    fn note_departure(&mut self, nic: u32, packet: u32, at: Time) {
        let Port { owner, features: Features { tells_departures, .. }, .. } = self.ports[nic as usize];
        if tells_departures {
            let (meta, body) = (self.slab.metas[packet as usize], self.slab.bodies[packet as usize]);
            self.departures.push(Departure { nic, meta, body });
            self.schedule(Source::Departure(owner), at);
        }
    }

    /// Schedules the next departure from a host's port, unless the host has yet to hear of another.
    pub(crate) fn await_departure(&mut self, nic: u32) {
        if self.departures.iter().all(|departure| departure.nic != nic) {
            let state = &self.links[nic as usize];
            let next = if state.queued > 0 { state.busy_until } else { Time::NEVER };
            self.schedule(Source::Departure(self.ports[nic as usize].owner), next);
        }
    }

    /// Takes the first departure from a host's port that the host has not heard of.
    pub(crate) fn take_departure(&mut self, nic: u32) -> Option<Departure> {
        let first = self.departures.iter().position(|departure| departure.nic == nic)?;
        Some(self.departures.remove(first))
    }

    /// Performs the departures of the switch's other ports, whose bytes the shared memory must free.
    #[inline(never)]
    pub(crate) fn free_memory(&mut self, switch: u32, now: Time) {
        while let Some(&Reverse((at, link))) = self.switches[switch as usize].due.peek() {
            if at > now {
                return;
            }
            self.advance(link, now);
            let waits = self.links[link as usize].queued > 0;
            let Some(mut first) = self.switches[switch as usize].due.peek_mut() else { return };
            if waits {
                *first = Reverse((self.links[link as usize].busy_until, link));
            } else {
                PeekMut::pop(first);
                self.ports[link as usize].holds_memory = false;
            }
        }
    }

    /// Moves out what waits at ports to other partitions up to `now`, in the order of the ports.
    pub(crate) fn advance_waiting(&mut self, now: Time) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|&link| {
            self.advance(link, now);
            let waits = self.links[link as usize].queued > 0;
            self.ports[link as usize].due = waits;
            waits
        });
        self.waiting.append(&mut waiting);
    }

    /// Returns when the next packet is due that waits at a port to another partition.
    pub(crate) fn next_crossing(&self) -> Time {
        self.waiting.iter().map(|&port| self.links[port as usize].busy_until).min().unwrap_or(Time::NEVER)
    }

    /// Takes the first packet in flight on a link; returns `None` if it is lost, or if none arrives yet (cut-through).
    #[inline(never)]
    pub(crate) fn arrive_with_features(&mut self, link: u32) -> Option<(u32, Endpoint)> {
        let features = self.ports[link as usize].features;
        let (state, metas) = (&mut self.links[link as usize], self.slab.metas.as_slice());
        let early = features.forwards_after.is_some() || features.eager;
        if early && state.next_arrival > self.now {
            self.schedule_with_features(link);
            self.events_without_arrival += 1;
            return None;
        }
        let (packet, to) = (state.pop(metas), state.to);
        if features.holds
            && let (Some(trails), Some(hops)) = (&mut self.slab.trails, &self.hops)
        {
            trails[packet as usize].ingress = hops.ingress[link as usize];
        }
        self.schedule_with_features(link);
        let port = &mut self.ports[link as usize];
        if features.loss > 0 && port.loss_random.next_u32() < features.loss {
            port.drops.loss += 1;
            self.trace(link, packet, self.now, PacketEvent::DroppedLoss, None);
            self.discard(packet);
            return None;
        }
        if features.tells_arrivals && self.told_of.contains(&self.slab.bodies[packet as usize].message()) {
            self.arrivals.push((self.slab.metas[packet as usize], self.slab.bodies[packet as usize]));
        }
        Some((packet, to))
    }

    /// Schedules the link's next event: an arrival, or the next departure if all sent packets have arrived although the
    /// line is still busy (cut-through).
    pub(crate) fn schedule_with_features(&mut self, link: u32) {
        let (state, features) = (&self.links[link as usize], &self.ports[link as usize].features);
        let departs = state.queued > 0 && !features.crosses && (features.eager || state.next_arrival == Time::NEVER);
        let at = if departs { state.next_arrival.min(state.busy_until) } else { state.next_arrival };
        self.events.set(link, if at == Time::NEVER { K::NEVER } else { K::new(at, link) });
    }
}
