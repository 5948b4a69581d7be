//! HULA: a switch sends each flowlet over the path whose most used link is used least, as measured by probes (Katta, Hira,
//! Kim, Sivaraman and Rexford, SOSR 2016).
//!
//! Each leaf sends a probe through each of its uplinks once per interval. A probe carries the leaf's rack, the utilisation
//! of the most used link so far, and its round. A switch that receives a probe
//! - takes the larger of that utilisation and the utilisation of its own line *towards* the rack: the line of the port
//!   where the probe arrived;
//! - keeps the best port for each rack. It is replaced by a better one, by a newer value of its own, or by any port once it
//!   has been silent for [`HulaParams::age`];
//! - forwards probes that changed its best port, if they are the first of their round or tell of less utilisation than those
//!   that it forwarded in that round. It forwards them down on every port, and up only if the probe came from below.
//!
//! The first packet of a flowlet takes the best port to its rack, or ECMP's port until a best one is known. The switch
//! keeps the path for the flowlet's other packets ([`Asked::Flowlets`]).
//!
//! # Utilisation
//! `U ← bytes + U · (1 − Δt / τ)`, in integers, is updated when a probe passes; `bytes` are what the port has put on its
//! line since the last update. A line that is always busy has U = rate · τ. Ports are compared by their share of that, in
//! millionths. If Δt > τ, U is the mean number of bytes per τ in that time.
//!
//! # Where the text is silent
//! HULA's paper was not at hand: rules and constants are those of the public P4 code of its successor. The following are ours:
//! - The n-th of N racks sends its probes n/N of an interval after the first, so that probes make no bursts.
//! - A probe that arrives at a port on no shortest path to its rack is ignored. So probes never loop, and a best port is
//!   always one of the ports to choose from.
//! - Of equally good ports, the one that was first stays.
//! - A best port that is silent stays until another probe arrives.
//! - A flowlet leaves a path that has been silent for [`HulaParams::age`] as soon as another probe of its rack arrives. The
//!   P4 code keeps it there until a pause, so that a flow without one would lose all that it sends. Probes wait in queues, so
//!   no path is silent before one and a half intervals.
//! - A round has several probes where several paths meet. If only the first probe were
//!   forwarded, switches behind would learn its path, and not the better one.

use std::cmp::Ordering;

use super::by_program::ByProgram;
use super::ecmp::ecmp_way;
use crate::balancer::{BalancerRules, BalancerSite};
use crate::meta::Meta;
use crate::program::{Asked, Counted, ProgramPacket, SwitchPorts, SwitchProgram, Watches};
use crate::site::{Node, Place, Site, SitePort};
use crate::units::{Rate, Time};

/// HULA's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HulaParams {
    /// Time between two probes of a leaf. Above zero.
    pub interval: Time,
    /// How long a flowlet keeps its path without a packet.
    pub flowlet_gap: Time,
    /// After this long without a probe, any other port replaces a best port.
    pub age: Time,
    /// τ, the memory of utilisation. Above zero.
    pub memory: Time,
    /// The priority of probes. A priority beyond a port's last queue maps to that queue.
    pub probe_priority: u8,
}

impl HulaParams {
    /// How long a path is silent before its flowlets leave it: its next probe may wait in a queue.
    pub fn silence(self) -> Time {
        self.age.max(Time(self.interval.0.saturating_add(self.interval.0 / 2)))
    }
}

impl BalancerRules for HulaParams {
    type Balancer = ByProgram;

    fn build(&self, site: &BalancerSite) -> ByProgram {
        ByProgram::new(site)
    }

    fn is_program(&self) -> bool {
        true
    }

    fn program(&self, site: &mut dyn FnMut() -> Site) -> Option<Box<dyn SwitchProgram>> {
        Some(Box::new(Hula::new(&site(), *self)))
    }
}

/// Bytes of a probe, the least Ethernet frame.
pub const PROBE_BYTES: u16 = 64;

/// The utilisation of a line that is always busy, in millionths.
const BUSY: u128 = 1_000_000;

/// The utilisation of a line.
struct Line {
    rate: Rate,
    /// When it was last counted, and the bytes sent up to then.
    counted: (Time, u64),
    /// U, in bytes.
    used: u64,
}

impl Line {
    fn new(rate: Rate) -> Line {
        Line { rate, counted: (Time::ZERO, 0), used: 0 }
    }

    /// Returns its utilisation in millionths; `sent` is all that the line has sent by now.
    fn utilisation(&mut self, sent: u64, now: Time, memory: Time) -> u32 {
        let (memory, span) = (u128::from(memory.0), u128::from(now.since(self.counted.0).0));
        let bytes = u128::from(sent - self.counted.1);
        let used = match memory.checked_sub(span) {
            Some(rest) => bytes + u128::from(self.used) * rest / memory,
            None => bytes * memory / span,
        };
        self.counted = (now, sent);
        self.used = used as u64;
        let full = u128::from(self.rate.bps()) * memory / 8_000_000_000_000;
        u32::try_from(used * BUSY / full.max(1)).unwrap_or(u32::MAX)
    }
}

/// The best path to a rack.
#[derive(Clone, Copy)]
struct Best {
    port: u16,
    /// The utilisation of the most used link on the path, in millionths.
    used: u32,
    /// When its last probe arrived.
    at: Time,
}

/// What a probe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    rack: u32,
    used: u32,
    /// Counts the rack's probes, from 1.
    round: u64,
}

impl Probe {
    fn packed(self) -> [u32; 6] {
        [self.rack, self.used, self.round as u32, (self.round >> 32) as u32, 0, 0]
    }

    fn unpacked([rack, used, low, high, ..]: [u32; 6]) -> Probe {
        Probe { rack, used, round: u64::from(high) << 32 | u64::from(low) }
    }
}

/// The program of one switch.
pub struct Hula {
    site: Site,
    params: HulaParams,
    /// The rack of a leaf.
    rack: Option<u32>,
    /// Ports to switches further from the hosts, and nearer to them.
    up: Vec<u16>,
    down: Vec<u16>,
    next: Time,
    /// The number of its own last probe.
    round: u64,
    /// By port.
    lines: Vec<Line>,
    /// By rack.
    best: Vec<Option<Best>>,
    /// By rack: the last round that was passed on, and the least utilisation of its probes.
    passed: Vec<(u64, u32)>,
    /// By rack, then by port: when its last probe arrived; [`Time::NEVER`]: none, or none since it was found dead.
    heard: Vec<Vec<Time>>,
}

impl Hula {
    /// Builds the program of this switch.
    pub fn new(site: &Site, params: HulaParams) -> Hula {
        let rack = site.rack().filter(|_| site.place == Place::Leaf);
        let racks = site.racks.count();
        let offset = |rack: u32| u128::from(params.interval.0) * u128::from(rack) / racks as u128;
        let to_switches = |order: Ordering| {
            let leads =
                |port: &SitePort| matches!(port.behind, Node::Switch(_)) && port.place.cmp(&site.place) == order;
            (0..).zip(site.ports.iter()).filter(|(_, port)| leads(port)).map(|(number, _)| number).collect()
        };
        Hula {
            params,
            rack,
            up: to_switches(Ordering::Greater),
            down: to_switches(Ordering::Less),
            next: rack.map_or(Time::NEVER, |rack| Time(offset(rack) as u64)),
            round: 0,
            lines: site.ports.iter().map(|port| Line::new(port.rate)).collect(),
            best: vec![None; racks],
            passed: vec![(0, 0); racks],
            heard: vec![vec![Time::NEVER; site.ports.len()]; racks],
            site: site.clone(),
        }
    }

    /// Ends the flowlets on paths to a rack that have been silent for too long. Packets that follow each other without a
    /// pause would stay there for ever.
    fn leave_dead_paths(&mut self, rack: usize, now: Time, ports: &mut dyn SwitchPorts) {
        let silence = self.params.silence();
        for (port, heard) in (0u16..).zip(&mut self.heard[rack]) {
            if *heard == Time::NEVER || now.since(*heard) < silence {
                continue;
            }
            *heard = Time::NEVER;
            for (group, ways) in (0..).zip(self.site.groups.iter()) {
                if self.site.ways_to_rack(rack as u32) == ways.as_slice()
                    && let Ok(way) = ways.binary_search(&port)
                {
                    ports.forget(group, way as u16);
                }
            }
        }
    }

    /// Sends a probe through those of these ports that are on no path to the probe's own rack.
    fn send(&self, probe: Probe, by: &[u16], ports: &mut dyn SwitchPorts) {
        let ways = self.site.ways_to_rack(probe.rack);
        for &port in by.iter().filter(|port| ways.binary_search(port).is_err()) {
            let (priority, payload) = (self.params.probe_priority, probe.packed());
            ports.send(ProgramPacket { port, len: PROBE_BYTES, priority, payload });
        }
    }
}

impl SwitchProgram for Hula {
    fn watches(&self) -> Watches {
        Watches { packets: Asked::Flowlets(self.params.flowlet_gap), sent_bytes: Counted::ToSwitches }
    }

    fn choose(&mut self, packet: &Meta, _: u16, group: u16, _: Time, _: &mut dyn SwitchPorts) -> usize {
        let ways = &self.site.groups[usize::from(group)];
        let best = self.best[self.site.racks.of(packet.dst.into()) as usize];
        let known = best.and_then(|best| ways.binary_search(&best.port).ok());
        known.unwrap_or_else(|| ecmp_way(packet, self.site.seed, ways.len()))
    }

    fn on_program_packet(&mut self, packet: &ProgramPacket, now: Time, ports: &mut dyn SwitchPorts) {
        let (port, probe) = (packet.port, Probe::unpacked(packet.payload));
        if self.site.ways_to_rack(probe.rack).binary_search(&port).is_err() {
            return;
        }
        let own = self.lines[usize::from(port)].utilisation(ports.sent_bytes(port), now, self.params.memory);
        let (rack, used) = (probe.rack as usize, probe.used.max(own));
        self.heard[rack][usize::from(port)] = now;
        self.leave_dead_paths(rack, now, ports);
        let stays = self.best[rack]
            .is_some_and(|best| best.port != port && best.used <= used && now.since(best.at) < self.params.age);
        if stays {
            return;
        }
        self.best[rack] = Some(Best { port, used, at: now });
        let (round, least) = self.passed[rack];
        if probe.round > round || probe.round == round && used < least {
            self.passed[rack] = (probe.round, used);
            let probe = Probe { used, ..probe };
            self.send(probe, &self.down, ports);
            if self.down.binary_search(&port).is_ok() {
                self.send(probe, &self.up, ports);
            }
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        let Some(rack) = self.rack else { return };
        self.next = Time(now.0.saturating_add(self.params.interval.0));
        self.round += 1;
        self.send(Probe { rack, used: 0, round: self.round }, &self.up, ports);
    }
}

#[cfg(test)]
#[path = "hula_tests.rs"]
mod tests;
