//! Priority flow control (IEEE 802.1Qbb): a switch pauses the sender behind a port while too much that came by the port
//! waits in it.
//!
//! Bytes count by ingress and by the packet's priority, which is the sender's queue that is held. Bytes above the threshold, and
//! all that come until those have left, take the ingress's headroom ([`Headroom`]). While a priority has any there, its sender is
//! paused. What finds the headroom full is lost, and counted.
//!
//! Not modelled: the time that a device takes to react to a pause, quanta that run out, cells of memory, a pool of headroom that
//! ports share, a watchdog.

use crate::hop::{Hears, Hop, HopSpec, OnHop, Signal, Trail};
use crate::meta::Meta;
use crate::readings::Reading;
use crate::site::SitePort;
use crate::units::Time;

/// The most priorities of a pause frame.
pub const PRIORITIES: usize = 8;

/// Rules of every ingress and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// When pauses begin and end.
    pub threshold: Threshold,
    /// Bytes for what arrives after that.
    pub headroom: Headroom,
    /// Priorities that are lossless, a bit for each. Others are never paused, and only a port's own limits hold for them.
    pub lossless: u8,
}

/// How many bytes of an ingress and priority may wait before its sender is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The same, whatever else waits.
    Bytes {
        /// A pause is sent when more bytes than this wait.
        xoff: u64,
        /// It ends when no more bytes than this wait; at most `xoff`.
        xon: u64,
    },
    /// A share of the memory that is free (dynamic thresholds). What lies in headroom takes nothing of it.
    Share {
        /// Bytes of the switch's memory, with the headroom of all its ports and lossless priorities.
        memory: u64,
        /// The share, in 1/256.
        alpha_256: u32,
        /// A pause ends when this much less than the threshold waits, or nothing.
        below: u64,
    },
}

/// The headroom of an ingress and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// This many bytes at each.
    Bytes(u64),
    /// By the port's line, for full packets of this many bytes, with what they take on the line beside their length: the packet that
    /// passes the threshold, that on the line back, before which no pause can go, the pause, the line both ways, and the packet
    /// that the sender has begun. Less can lose a packet.
    Exact {
        /// Bytes on the line.
        packet: u32,
    },
    /// As the switches' operating system SONiC computes it for chips of one vendor (`buffer_headroom_mellanox.lua` of sonic-swss):
    /// it adds the time that IEEE 802.3 (§31B.3.7) gives a device to react, and cells that small packets fill badly.
    Sonic {
        /// Bytes of a full packet on the line.
        packet: u32,
        /// Bytes of a full packet of the lossless priorities.
        lossless: u32,
        /// Bytes of a cell of the chip's memory.
        cell: u32,
        /// Percent of packets that are small.
        small_percent: u32,
    },
}

/// Bytes of a pause frame on the line, with preamble and gap.
pub const PAUSE_BYTES: u32 = 84;

/// The quanta of 64 bytes that a device of a rate, in Gbit/s, has until it reacts to a pause.
const REACTION_QUANTA: [(u64, u64); 8] =
    [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];

impl Headroom {
    /// Returns the bytes behind a port.
    #[must_use]
    pub fn bytes(self, port: &SitePort) -> u64 {
        let cable = port.rate.bytes_in(Time(port.delay.0.saturating_mul(2)));
        match self {
            Headroom::Bytes(bytes) => bytes,
            Headroom::Exact { packet } => 3 * u64::from(packet) + u64::from(PAUSE_BYTES) + cable,
            Headroom::Sonic { packet, lossless, cell, small_percent } => {
                let gbps = port.rate.bps() / 1_000_000_000;
                let (_, quanta) =
                    REACTION_QUANTA.iter().copied().rfind(|(of, _)| *of <= gbps).unwrap_or(REACTION_QUANTA[0]);
                let (cell, small) = (u64::from(cell.max(1)), u64::from(small_percent.min(100)));
                // Bytes of memory that a hundred bytes on the line can take.
                let (times, over) = if cell > 128 { (cell, 64) } else { (2 * cell, 1 + cell) };
                let taken = (100 - small) * over + small * times;
                let reacts = u64::from(packet) + cable + quanta * 64;
                (u64::from(lossless) + (reacts * taken).div_ceil(100 * over)).next_multiple_of(1_024)
            }
        }
    }
}

impl Pfc {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        HopSpec::pausing(PAUSE_BYTES, self, move |site| PfcSwitch {
            rules: self,
            ports: site.ports.iter().map(|port| Ingress::new(self.headroom.bytes(port))).collect(),
            shared: self.shared(&site.ports),
            sharing: 0,
            pauses: 0,
            beyond: 0,
        })
    }

    /// Returns the bytes of headroom of a switch with these ports.
    #[must_use]
    pub fn reserved(&self, ports: &[SitePort]) -> u64 {
        let each: u64 = ports.iter().map(|port| self.headroom.bytes(port)).sum();
        each.saturating_mul(self.lossless.count_ones().into())
    }

    /// Returns the memory that its priorities share.
    fn shared(&self, ports: &[SitePort]) -> u64 {
        match self.threshold {
            Threshold::Bytes { .. } => 0,
            Threshold::Share { memory, .. } => memory.saturating_sub(self.reserved(ports)),
        }
    }
}

/// What came by a port and waits in the switch.
#[derive(Clone, Copy, Debug)]
struct Ingress {
    bytes: [u64; PRIORITIES],
    /// Those of them in the headroom.
    over: [u64; PRIORITIES],
    /// The most that has been there.
    most: [u64; PRIORITIES],
    headroom: u64,
    held: u64,
}

impl Ingress {
    fn new(headroom: u64) -> Ingress {
        Ingress { bytes: [0; PRIORITIES], over: [0; PRIORITIES], most: [0; PRIORITIES], headroom, held: 0 }
    }

    /// Returns the bytes in the headroom with a further packet.
    fn over_with(&self, class: usize, len: u64, xoff: u64) -> u64 {
        match self.over[class] {
            // A threshold that falls leaves what waits where it is.
            0 => (self.bytes[class] + len).saturating_sub(xoff).min(len),
            over => over + len,
        }
    }
}

/// A switch with PFC.
struct PfcSwitch {
    rules: Pfc,
    ports: Vec<Ingress>,
    /// Memory without headroom, and the bytes that wait there.
    shared: u64,
    sharing: u64,
    pauses: u64,
    /// Packets that found the headroom full.
    beyond: u64,
}

impl PfcSwitch {
    /// Returns where a lossless packet counts, and the threshold and what ends a pause; `None`: nowhere.
    fn of(&mut self, packet: &Meta, trail: &Trail) -> Option<(&mut Ingress, usize, [u64; 2])> {
        let class = usize::from(packet.tag.priority()).min(PRIORITIES - 1);
        let thresholds = match self.rules.threshold {
            Threshold::Bytes { xoff, xon } => [xoff, xon],
            Threshold::Share { alpha_256, below, .. } => {
                let free = u128::from(self.shared.saturating_sub(self.sharing));
                let xoff = u64::try_from(free * u128::from(alpha_256) / 256).unwrap_or(u64::MAX);
                [xoff, xoff.saturating_sub(below)]
            }
        };
        let ingress = self.ports.get_mut(usize::from(trail.ingress))?;
        (self.rules.lossless & 1 << class != 0).then_some((ingress, class, thresholds))
    }

    fn gone(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        let (len, port) = (u64::from(packet.len), hop.trail.ingress);
        let Some((ingress, class, _)) = self.of(packet, hop.trail) else { return };
        let from_headroom = ingress.over[class].min(len);
        ingress.over[class] -= from_headroom;
        ingress.bytes[class] -= len;
        self.sharing -= len - from_headroom;
        // What has left is free now.
        let Some((ingress, class, [_, xon])) = self.of(packet, hop.trail) else { return };
        if ingress.held & 1 << class != 0 && ingress.over[class] == 0 && ingress.bytes[class] <= xon {
            ingress.held &= !(1 << class);
            hop.signals.push(Signal { port, held: ingress.held });
        }
    }
}

impl OnHop for PfcSwitch {
    fn hears(&self) -> Hears {
        Hears { turned_away: false, ..Hears::ALL }
    }

    fn admits(&mut self, packet: &Meta, hop: &mut Hop<'_>) -> bool {
        let Some((ingress, class, [xoff, _])) = self.of(packet, hop.trail) else { return true };
        let admits = ingress.over_with(class, packet.len.into(), xoff) <= ingress.headroom;
        self.beyond += u64::from(!admits);
        admits
    }

    fn on_queued(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        let (len, port) = (u64::from(packet.len), hop.trail.ingress);
        let Some((ingress, class, [xoff, _])) = self.of(packet, hop.trail) else { return };
        let (over, before) = (ingress.over_with(class, len, xoff), ingress.over[class]);
        (ingress.bytes[class], ingress.over[class]) = (ingress.bytes[class] + len, over);
        ingress.most[class] = ingress.most[class].max(over);
        let pauses = over > 0 && ingress.held & 1 << class == 0;
        if pauses {
            ingress.held |= 1 << class;
            hop.signals.push(Signal { port, held: ingress.held });
        }
        self.sharing += len - (over - before);
        self.pauses += u64::from(pauses);
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        self.gone(packet, hop);
    }

    fn on_lost(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        self.gone(packet, hop);
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        let classes = u64::from(self.rules.lossless.count_ones());
        let sum = |of: fn(&Ingress) -> u64| self.ports.iter().map(of).sum::<u64>();
        let counts = [
            ("pfc_pauses", self.pauses),
            ("pfc_packets_lost", self.beyond),
            ("pfc_bytes_left", sum(|port| port.bytes.iter().sum())),
            // Reserved, and the sum of the most that was used of each.
            ("pfc_headroom_bytes", classes * sum(|port| port.headroom)),
            ("pfc_headroom_used", sum(|port| port.most.iter().sum())),
        ];
        counts.into_iter().for_each(|(name, count)| see(Reading::Count { name, count }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Node, Place};
    use crate::units::Rate;

    fn port(gbps: u64, delay: Time) -> SitePort {
        let rate = Rate::new(gbps * 1_000_000_000).unwrap();
        SitePort { behind: Node::Host(0), place: Place::Nic, rate, delay }
    }

    /// 100 Gbit/s and 1 us: 25,000 bytes both ways, three packets of 1,500 and a pause.
    #[test]
    fn headroom__by_hand() {
        let near = port(100, Time::from_us(1));
        assert_eq!(Headroom::Exact { packet: 1_500 }.bytes(&near), 25_000 + 4_500 + 84);
        // 394 quanta of 64 bytes, the line and a packet of 9,100; in cells of 144 bytes a packet of 64 takes 2.25 times its bytes.
        let sonic = Headroom::Sonic { packet: 9_100, lossless: 1_024, cell: 144, small_percent: 100 };
        let by_hand = 1_024.0 + (9_100.0 + 25_000.0 + 394.0 * 64.0) * 2.25;
        assert_eq!(sonic.bytes(&near), (by_hand as u64).next_multiple_of(1_024));
    }
}
