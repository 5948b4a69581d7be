//! A switch program of all that there is to hear.

use std::sync::Arc;

use flowsieve_core::program::{Asked, Counted, Watches};
use flowsieve_core::{BalancerSpec, Meta, Node, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time};
use flowsieve_workload::random::Xoshiro256PlusPlus;
use rand_core::{Rng, SeedableRng};

/// A switch program that makes one number of all that it is shown, so that its choices, and what it tells its neighbours,
/// differ as soon as anything differs by a byte. It has a timer and stops after a while.
pub(crate) struct Gossip {
    site: Site,
    random: Xoshiro256PlusPlus,
    next: Time,
    heard: u32,
}

impl Gossip {
    const EVERY: Time = Time::from_us(6);
    const UNTIL: Time = Time::from_us(200);

    pub(crate) fn spec() -> BalancerSpec {
        let gossip = |site: &Site| Gossip {
            site: site.clone(),
            random: Xoshiro256PlusPlus::seed_from_u64(site.seed),
            next: Gossip::EVERY,
            heard: 0,
        };
        BalancerSpec::custom(gossip)
    }

    fn hear(&mut self, words: &[u32]) {
        self.heard = words.iter().fold(self.heard, |heard, word| heard.wrapping_mul(31).wrapping_add(*word));
    }

    fn hear_port(&mut self, port: u16, ports: &mut dyn SwitchPorts) {
        self.hear(&[ports.backlog_bytes(port) as u32]);
        if self.watches().sent_bytes.counts(self.site.ports[usize::from(port)].behind) {
            self.hear(&[ports.sent_bytes(port) as u32]);
        }
    }

    /// Tells another switch what was heard so far.
    fn tell(&mut self, port: u16, answers: u32, ports: &mut dyn SwitchPorts) {
        let payload = [self.heard, answers, 0, 0, 0, self.heard >> 16];
        ports.send(ProgramPacket { port, len: 64, priority: 0, payload });
        self.hear_port(port, ports);
    }
}

impl SwitchProgram for Gossip {
    fn watches(&self) -> Watches {
        let drawn = self.site.seed;
        Watches {
            packets: match drawn % 4 {
                0 | 1 => Asked::Every,
                2 => Asked::Flowlets(Time::from_us(drawn / 4 % 20)),
                _ => Asked::Choices,
            },
            sent_bytes: [Counted::None, Counted::ToSwitches, Counted::All, Counted::All][(drawn / 128 % 4) as usize],
        }
    }

    fn choose(&mut self, meta: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize {
        self.hear(&[meta.flow, from.into(), group.into(), now.0 as u32]);
        let groups = Arc::clone(&self.site.groups);
        groups[usize::from(group)].iter().for_each(|&port| self.hear_port(port, ports));
        if meta.flow.is_multiple_of(7) && self.next < Gossip::UNTIL {
            self.next = self.next.min(now + Time::from_us(1));
        }
        let drawn = if meta.flow.is_multiple_of(2) { self.random.next_u32() } else { 0 };
        self.heard.wrapping_add(drawn) as usize % groups[usize::from(group)].len()
    }

    fn next_timer(&self) -> Time {
        if self.next < Gossip::UNTIL { self.next } else { Time::NEVER }
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.next = now + Gossip::EVERY;
        (0..self.site.ports.len() as u16).for_each(|port| self.hear_port(port, ports));
        let numbered = (0..).zip(self.site.ports.iter());
        let switches = numbered.filter(|(_, port)| matches!(port.behind, Node::Switch(_))).map(|(number, _)| number);
        let switches: Vec<u16> = switches.collect();
        if !switches.is_empty() {
            self.tell(switches[self.heard as usize % switches.len()], 0, ports);
        }
    }

    fn on_program_packet(&mut self, packet: &ProgramPacket, now: Time, ports: &mut dyn SwitchPorts) {
        let ProgramPacket { port, len, payload, .. } = *packet;
        self.hear(&[port.into(), len.into(), now.0 as u32]);
        self.hear(&payload);
        if payload[1] < 2 {
            self.tell(port, payload[1] + 1, ports);
        }
    }
}
