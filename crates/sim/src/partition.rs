//! A part of the fabric that runs by itself: some switches and hosts, the ports on them, the links into them.
//!
//! Packets from other partitions come by value; everything else (packets, random streams, counters, connections) is the
//! partition's own. However a fabric is cut, the result is the same.
//!
//! The order of events of one instant is part of the model: a port's departures come before what arrives there;
//! arrivals by link; then messages that begin, by number; then timers, by host.

use flowsieve_core::Time;
use flowsieve_core::balancer::{Balancer, ControlPacket};

use crate::event::Key;
use crate::hosts::Hosts;
use crate::network::{Network, SWITCH};

/// A part of the fabric with its hosts.
pub(crate) struct Partition<K> {
    pub(crate) network: Network<K>,
    pub(crate) hosts: Hosts,
    /// The first source of hosts' timers; the arrivals' source is the one before.
    pub(crate) first_timer: u32,
    /// The first source of switches' timers.
    pub(crate) first_program: u32,
    control: Vec<ControlPacket>,
}

impl<K: Key> Partition<K> {
    pub(crate) fn new(network: Network<K>, hosts: Hosts, first_timer: u32, first_program: u32) -> Partition<K> {
        let mut partition = Partition { network, hosts, first_timer, first_program, control: Vec::new() };
        for switch in 0..partition.network.switches.len() as u32 {
            partition.arm_program(switch);
        }
        partition
    }

    /// Handles events before `horizon`, at most `most` of them; says whether that was all.
    pub(crate) fn run(&mut self, horizon: Time, most: u64) -> bool {
        let horizon = K::new(horizon.min(K::END), 0);
        self.network.horizon = horizon;
        self.network.join_all();
        let links = self.first_timer - 1;
        for handled in 0..most {
            let mut key = self.network.events.first();
            if key >= self.network.stop {
                self.network.join_all();
                key = self.network.events.first();
                if key >= horizon {
                    self.network.events_handled += handled;
                    return true;
                }
            }
            debug_assert!(key.time() >= self.network.now, "time goes back");
            self.network.now = key.time();
            let source = key.source();
            if source < links {
                self.on_arrival(source);
            } else {
                self.on_timer(source);
            }
        }
        self.network.events_handled += most;
        false
    }

    #[inline(never)]
    fn on_timer(&mut self, source: u32) {
        self.network.looks += 1;
        if source < self.first_timer {
            self.hosts.begin_messages(&mut self.network, source);
        } else if source < self.first_program {
            self.hosts.on_timer(&mut self.network, source - self.first_timer, source);
        } else {
            self.on_program_timer(source - self.first_program);
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, link: u32) {
        let network = &mut self.network;
        let Some((packet, to)) = network.arrive(link) else { return };
        match to.get() {
            Ok(switch) => {
                if network.slab.metas[packet as usize].dst == SWITCH {
                    self.on_control(switch, link, packet);
                } else {
                    network.forward(switch, packet);
                }
            }
            Err(host) => self.hosts.on_packet(network, host, packet, self.first_timer + host),
        }
    }

    #[inline(never)]
    fn on_control(&mut self, switch: u32, link: u32, packet: u32) {
        self.network.last_arrival = self.network.now;
        let back = self.network.ports[link as usize].back;
        let body = self.network.slab.bodies[packet as usize];
        self.network.slab.remove(packet);
        if let Balancer::Program(program) = &mut self.network.switches[switch as usize].balancer {
            program.on_control(back, body.word(), self.network.now, &mut self.control);
        }
        self.network.send_control(switch, &mut self.control);
        self.arm_program(switch);
    }

    fn on_program_timer(&mut self, switch: u32) {
        let state = &mut self.network.switches[switch as usize];
        if let Balancer::Program(program) = &mut state.balancer {
            state.ticks += 1;
            program.on_timer(self.network.now, &mut self.control);
        }
        self.network.send_control(switch, &mut self.control);
        self.arm_program(switch);
    }

    fn arm_program(&mut self, switch: u32) {
        if let Balancer::Program(program) = &self.network.switches[switch as usize].balancer {
            let at = program.next_timer();
            self.network.schedule(self.first_program + switch, at);
        }
    }
}
