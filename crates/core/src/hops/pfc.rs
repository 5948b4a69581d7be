//! Priority flow control (IEEE 802.1Qbb): a switch pauses the sender behind a port while too much that came by the port
//! waits in it.
//!
//! Bytes count by ingress and by the packet's priority, which is the sender's queue that is held. A priority is paused when more
//! than [`Pfc::xoff`] waits, and goes on at [`Pfc::xon`]. What arrives until the pause acts takes the ingress's headroom; what
//! finds that full is lost, and counted.

use crate::hop::{Hears, Hop, HopSpec, OnHop, Signal, Trail};
use crate::meta::Meta;
use crate::readings::Reading;

/// The most priorities of a pause frame.
pub const PRIORITIES: usize = 8;

/// Thresholds of every ingress and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// A pause is sent when more bytes than this wait.
    pub xoff: u64,
    /// It ends when no more bytes than this wait; below `xoff`.
    pub xon: u64,
    /// Bytes above `xoff` that may wait.
    pub headroom: u64,
    /// Priorities that are lossless, a bit for each. Others are never paused, and only a port's own limits hold for them.
    pub lossless: u8,
}

/// Bytes of a pause frame on the line, with preamble and gap.
pub const PAUSE_BYTES: u32 = 84;

impl Pfc {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        HopSpec::pausing(PAUSE_BYTES, self, move |site| PfcSwitch {
            rules: self,
            ports: vec![Ingress::default(); site.ports.len()],
            pauses: 0,
            most: 0,
            beyond: 0,
        })
    }
}

/// What came by a port and waits in the switch.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    bytes: [u64; PRIORITIES],
    held: u64,
}

/// A switch with PFC.
struct PfcSwitch {
    rules: Pfc,
    ports: Vec<Ingress>,
    pauses: u64,
    /// The most bytes of an ingress and priority.
    most: u64,
    /// Packets that found the headroom full.
    beyond: u64,
}

impl PfcSwitch {
    /// Returns where a lossless packet counts; `None`: nowhere.
    fn of(&mut self, packet: &Meta, trail: &Trail) -> Option<(&mut Ingress, usize)> {
        let class = usize::from(packet.tag.priority()).min(PRIORITIES - 1);
        let ingress = self.ports.get_mut(usize::from(trail.ingress))?;
        (self.rules.lossless & 1 << class != 0).then_some((ingress, class))
    }

    fn gone(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        let (xon, port) = (self.rules.xon, hop.trail.ingress);
        let Some((ingress, class)) = self.of(packet, hop.trail) else { return };
        ingress.bytes[class] -= u64::from(packet.len);
        if ingress.held & 1 << class != 0 && ingress.bytes[class] <= xon {
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
        let most = self.rules.xoff + self.rules.headroom;
        let Some((ingress, class)) = self.of(packet, hop.trail) else { return true };
        let admits = ingress.bytes[class] + u64::from(packet.len) <= most;
        self.beyond += u64::from(!admits);
        admits
    }

    fn on_queued(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        let (xoff, port) = (self.rules.xoff, hop.trail.ingress);
        let Some((ingress, class)) = self.of(packet, hop.trail) else { return };
        ingress.bytes[class] += u64::from(packet.len);
        let bytes = ingress.bytes[class];
        let pauses = bytes > xoff && ingress.held & 1 << class == 0;
        if pauses {
            ingress.held |= 1 << class;
            hop.signals.push(Signal { port, held: ingress.held });
        }
        self.pauses += u64::from(pauses);
        self.most = self.most.max(bytes);
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        self.gone(packet, hop);
    }

    fn on_lost(&mut self, packet: &Meta, hop: &mut Hop<'_>) {
        self.gone(packet, hop);
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "pauses", count: self.pauses });
        see(Reading::Count { name: "packets lost beyond the headroom", count: self.beyond });
        see(Reading::Count {
            name: "bytes of lossless packets left",
            count: self.ports.iter().flat_map(|port| port.bytes).sum(),
        });
    }
}
