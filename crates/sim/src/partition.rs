//! A part of the fabric that runs by itself: some switches and hosts, their ports, and the links into them.
//!
//! Packets from other partitions arrive by value. Everything else belongs to the partition: packets, random streams,
//! counters, connections. The result is the same for any partitioning of the fabric.
//!
//! The order of events of one instant is part of the model: a port's departures come before what arrives there;
//! arrivals in an order drawn for the instant ([`Network::order_now`]); then messages that begin, by number; then
//! departures that hosts hear, and timers, by host.

use flowsieve_core::Time;

use crate::event::Key;
use crate::hosts::Hosts;
use crate::link::Endpoint;
use crate::network::Network;
use crate::programs::Programs;
use crate::source::Source;

/// What is at the ends of a fabric: what arrives at hosts, and their timers.
pub(crate) trait Ends<K> {
    /// Handles a packet that arrives at a host of the partition.
    fn on_packet(&mut self, network: &mut Network<K>, host: u32, packet: u32);

    /// Handles a timer of theirs.
    fn on_timer(&mut self, network: &mut Network<K>, source: Source);
}

/// A part of the fabric with its hosts.
pub(crate) struct Partition<K, E = Hosts> {
    pub(crate) network: Network<K>,
    pub(crate) hosts: E,
    pub(crate) programs: Programs,
}

impl<K: Key, E: Ends<K>> Partition<K, E> {
    pub(crate) fn new(mut network: Network<K>, hosts: E, mut programs: Programs) -> Partition<K, E> {
        programs.arm(&mut network);
        Partition { network, hosts, programs }
    }

    /// Handles at most `most` events before `horizon`; returns whether none of them is left.
    pub(crate) fn run(&mut self, horizon: Time, most: u64) -> bool {
        let horizon = K::new(horizon.min(K::END), 0);
        self.network.horizon = horizon;
        self.network.drain_prefetch_queue();
        // Counted in memory: registers are scarce in this loop.
        let end = self.network.events_handled.saturating_add(most);
        while self.network.events_handled < end {
            let mut key = self.network.events.first();
            if key >= self.network.stop {
                self.network.drain_prefetch_queue();
                key = self.network.events.first();
                if key >= horizon {
                    return true;
                }
            }
            debug_assert!(key.time() >= self.network.now, "time goes back");
            self.network.now = key.time();
            self.network.events_handled += 1;
            let number = key.source();
            if self.network.sources.is_link(number) {
                self.on_arrival(number);
            } else {
                self.on_timer(number);
            }
        }
        false
    }

    #[inline(never)]
    fn on_timer(&mut self, number: u32) {
        self.network.events_without_arrival += 1;
        match self.network.sources.source(number) {
            Source::Program(switch) => self.programs.on_timer(&mut self.network, switch),
            source => self.hosts.on_timer(&mut self.network, source),
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, link: u32) {
        let network = &mut self.network;
        let Some((packet, to)) = network.arrive(link) else { return };
        match to.get() {
            // Other packets arrive now, too. Only at switches they may compete.
            Ok(_) if network.events.first().time() == network.now => self.on_tied(link, packet, to),
            Ok(switch) => network.forward(&mut self.programs, switch, link, packet),
            Err(host) => self.hosts.on_packet(network, host, packet),
        }
    }

    /// Handles a packet together with all others that arrive at this instant.
    #[inline(never)]
    fn on_tied(&mut self, link: u32, packet: u32, to: Endpoint) {
        let network = &mut self.network;
        let mut tied = std::mem::take(&mut network.tied);
        tied.push((network.order_now(link), link, packet, to));
        loop {
            let key = network.events.first();
            let link = key.source();
            if key.time() != network.now || !network.sources.is_link(link) {
                break;
            }
            network.events_handled += 1;
            if let Some((packet, to)) = network.arrive(link) {
                tied.push((network.order_now(link), link, packet, to));
            }
        }
        tied.sort_unstable_by_key(|&(order, link, ..)| (order, link));
        for (_, link, packet, to) in tied.drain(..) {
            self.deliver(link, packet, to);
        }
        self.network.tied = tied;
    }

    /// Hands a packet to what is at the end of its link. Apart from the loop of events, where this stands in line.
    #[inline(never)]
    fn deliver(&mut self, link: u32, packet: u32, to: Endpoint) {
        match to.get() {
            Ok(switch) => self.network.forward(&mut self.programs, switch, link, packet),
            Err(host) => self.hosts.on_packet(&mut self.network, host, packet),
        }
    }
}
