//! A part of the fabric that runs by itself: some switches and hosts, their ports, and the links into them.
//!
//! Packets from other partitions arrive by value. Everything else belongs to the partition: packets, random streams,
//! counters, connections. The result is the same for any partitioning of the fabric.
//!
//! The order of events of one instant is part of the model: a port's departures come before what arrives there;
//! arrivals by link; then messages that begin, by number; then departures that hosts hear, and timers, by host.

use flowsieve_core::Time;

use crate::event::Key;
use crate::hosts::Hosts;
use crate::network::Network;
use crate::programs::Programs;
use crate::source::Source;

/// A part of the fabric with its hosts.
pub(crate) struct Partition<K> {
    pub(crate) network: Network<K>,
    pub(crate) hosts: Hosts,
    pub(crate) programs: Programs,
}

impl<K: Key> Partition<K> {
    pub(crate) fn new(mut network: Network<K>, hosts: Hosts, mut programs: Programs) -> Partition<K> {
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
            assert!(key.time() >= self.network.now, "time goes back");
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
            Source::Messages => self.hosts.begin_messages(&mut self.network),
            Source::Departure(host) => self.hosts.on_departures(&mut self.network, host),
            Source::Host(host) => self.hosts.on_timer(&mut self.network, host),
            Source::Program(switch) => self.programs.on_timer(&mut self.network, switch),
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, link: u32) {
        let network = &mut self.network;
        let Some((packet, to)) = network.arrive(link) else { return };
        match to.get() {
            Ok(switch) => network.forward(&mut self.programs, switch, link, packet),
            Err(host) => self.hosts.on_packet(network, host, packet),
        }
    }
}
