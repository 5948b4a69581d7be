//! Links that fail during a run, and come back.
//!
//! The run stops for them between events, as it does for controllers, so that the result does not depend on how the fabric
//! is cut. Everything before the instant of an event is done, and nothing from then on.
//!
//! *A link fails.* Packets on its line are lost: the far end has not received the whole frame. Packets at its port are lost:
//! Linux deactivates the queueing discipline of a device without carrier, which empties it, and a switch's chip flushes the
//! queues of a port that is down. What comes to the port later is lost as well. Packets whose beginning a switch has
//! forwarded already (cut-through) pass.
//!
//! *A link comes back.* Its line and its port are empty. They take packets at once, but routes lead there only
//! later: switches choose among other ways from [`crate::topology::events`]'s reconvergence on, after either
//! event.

use std::collections::BTreeMap;

use flowsieve_core::{PortScheduler, Time};
use flowsieve_record::PacketEvent;

use crate::build::Built;
use crate::event::Key;
use crate::network::{GROUP, Network};
use crate::prefetch_queue::PrefetchQueue;
use crate::topology::Fabric;
use crate::topology::events::{Event, Reroute};

/// The next hops that switches have in addition after events of links.
struct MoreGroups(BTreeMap<u32, Vec<Vec<u32>>>);

impl MoreGroups {
    /// Collects the groups of several links that no switch has from the start.
    fn new(fabric: &Fabric, reroutes: &[Reroute]) -> MoreGroups {
        let mut groups: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
        for (switch, _, ways) in reroutes.iter().flat_map(|reroute| &reroute.ways) {
            let of_switch = groups.entry(*switch).or_default();
            let is_known = fabric.routes[*switch as usize].groups.contains(ways) || of_switch.contains(ways);
            if ways.len() > 1 && !is_known {
                of_switch.push(ways.clone());
            }
        }
        MoreGroups(groups)
    }

    /// Returns those of a switch, in the order of their numbers after its first ones.
    fn of(&self, switch: u32) -> &[Vec<u32>] {
        self.0.get(&switch).map_or(&[], Vec::as_slice)
    }
}

/// What happens to links, and what follows.
pub(crate) struct Outages {
    /// In the order of their times, the last one first.
    events: Vec<Event>,
    reroutes: Vec<Reroute>,
    more: MoreGroups,
}

impl Outages {
    /// Plans the events of a fabric; `None` if there are none.
    pub(crate) fn new(fabric: &Fabric) -> Option<Outages> {
        let mut reroutes = fabric.reroutes();
        let more = MoreGroups::new(fabric, &reroutes);
        reroutes.reverse();
        let events: Vec<Event> = fabric.events.iter().rev().cloned().collect();
        (!events.is_empty()).then_some(Outages { events, reroutes, more })
    }

    /// Returns the groups that a switch has in addition, in the order of their numbers after its first ones.
    pub(crate) fn more_groups(&self, switch: u32) -> &[Vec<u32>] {
        self.more.of(switch)
    }

    /// Marks the links that fail.
    pub(crate) fn prepare<K: Key>(&self, built: &mut Built<K>) {
        for &link in self.events.iter().flat_map(|event| &event.links) {
            for (partition, index) in [built.placement.from[link as usize], built.placement.to[link as usize]] {
                built.partitions[partition as usize].network.links[index as usize].add_feature();
            }
        }
        for partition in &mut built.partitions {
            partition.network.prefetch_queue = PrefetchQueue::none();
        }
    }

    /// Returns when something is due next; [`Time::NEVER`]: nothing is left.
    pub(crate) fn next(&self) -> Time {
        let event = self.events.last().map_or(Time::NEVER, |event| event.at);
        event.min(self.reroutes.last().map_or(Time::NEVER, |reroute| reroute.at))
    }

    /// Does what is due at `at`.
    pub(crate) fn act<K: Key>(&mut self, built: &mut Built<K>, fabric: &Fabric, at: Time) {
        while let Some(event) = self.events.pop_if(|event| event.at <= at) {
            for link in event.links {
                if event.down { fail(built, link, at) } else { return_to_use(built, link, at) }
            }
        }
        while let Some(reroute) = self.reroutes.pop_if(|reroute| reroute.at <= at) {
            for (switch, leaf, ways) in reroute.ways {
                self.reroute(built, fabric, (switch, leaf), &ways);
            }
        }
    }

    /// Gives a switch other ways to the hosts of a leaf.
    fn reroute<K: Key>(&self, built: &mut Built<K>, fabric: &Fabric, (switch, leaf): (u32, u32), ways: &[u32]) {
        let at = built.placement.switches[switch as usize].up;
        let network = &mut built.partitions[at.0 as usize].network;
        let Some(host) = fabric.host_partition.iter().position(|of| *of == leaf) else { return };
        let rack = network.ways_home[host].0 as usize;
        let route = match ways {
            [only] => built.placement.from[*only as usize].1,
            _ => {
                let first = network.switches[at.1 as usize].first_group;
                let groups = &fabric.routes[switch as usize].groups;
                let known = groups.iter().chain(self.more.of(switch)).position(|group| group == ways);
                debug_assert!(known.is_some(), "a group that was not foreseen");
                GROUP | (first + known.unwrap_or(0) as u32)
            }
        };
        network.routes[at.1 as usize * network.racks + rack] = route;
    }
}

/// Loses what is on a link and at its port, and all that comes there until the link is back.
fn fail<K: Key>(built: &mut Built<K>, link: u32, at: Time) {
    let [from, to] = [built.placement.from[link as usize], built.placement.to[link as usize]];
    // What was due earlier is on the line.
    built.advance(from, at.since(Time(1)));
    built.swap_slab(to.0);
    let network = &mut built.partitions[to.0 as usize].network;
    network.now = at;
    let earlier = network.traced.len();
    let lost = network.lose_line(to.1);
    let traced = network.traced.split_off(earlier);
    built.swap_slab(to.0);
    built.swap_slab(from.0);
    let network = &mut built.partitions[from.0 as usize].network;
    network.now = at;
    // In the order in which one partition alone has them.
    network.traced.extend(traced);
    network.ports[from.1 as usize].drops.line_down += lost;
    network.lose_queue(from.1);
    built.swap_slab(from.0);
}

fn return_to_use<K: Key>(built: &mut Built<K>, link: u32, at: Time) {
    let (partition, index) = built.placement.from[link as usize];
    let network = &mut built.partitions[partition as usize].network;
    network.ports[index as usize].features.down = false;
    network.links[index as usize].set_down(false, at);
}

impl<K: Key> Network<K> {
    /// Loses the packets in flight on a link; returns how many.
    fn lose_line(&mut self, link: u32) -> u64 {
        let mut lost = 0;
        while self.links[link as usize].next_arrival != Time::NEVER {
            let packet = self.links[link as usize].pop(&self.slab.metas);
            self.trace(link, packet, self.now, PacketEvent::DroppedDown, None);
            self.discard(packet);
            lost += 1;
        }
        self.events.set(link, K::NEVER);
        lost
    }

    /// Loses the packets that wait at a link's port, and takes the link out of use.
    fn lose_queue(&mut self, link: u32) {
        let marks = self.ports[link as usize].marks;
        while self.links[link as usize].queued > 0 {
            let port = &mut self.ports[link as usize];
            let shares = port.features.shares;
            let pool = if shares { &mut self.pools[port.owner as usize] } else { &mut self.own_pool };
            let metas = self.slab.metas.as_mut_slice();
            let Some(packet) = port.dequeue(metas, self.now, pool, &mut self.victims) else {
                debug_assert!(false, "a port has none of the packets that wait there");
                break;
            };
            if shares {
                pool.give(self.slab.metas[packet as usize].len);
            }
            self.links[link as usize].queued -= 1;
            let queue = self.slab.metas[packet as usize].queue;
            self.lost_at_hop(link, packet);
            self.lose_at_dead_port(link, packet, Some(queue));
        }
        let port = &mut self.ports[link as usize];
        // None of them was sent with a mark.
        port.marks = marks;
        port.features.down = true;
        port.cut_short += self.links[link as usize].rest(self.now);
        debug_assert_eq!(port.scheduler.backlog_bytes(), 0);
        self.links[link as usize].set_down(true, self.now);
        if port.features.crosses {
            port.due = false;
            self.waiting.retain(|waiting| *waiting != link);
        }
    }

    /// Loses a packet at the port of a link that is down.
    #[cold]
    pub(crate) fn lose_at_dead_port(&mut self, link: u32, packet: u32, queue: Option<u8>) {
        self.ports[link as usize].drops.port_down += 1;
        self.trace(link, packet, self.now, PacketEvent::DroppedDown, queue);
        self.discard(packet);
    }
}
