//! What the twin's switches do at their ports beyond queueing.

use arrayvec::ArrayVec;
use flowsieve_core::hop::{Fate, Hop, OnHop, Signal, Trail};
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Meta, PortScheduler, Tag};
use flowsieve_sim::RunSpec;
use flowsieve_sim::topology::{Fabric, Node, Sites};

use crate::twin::engine::{Event, Twin};

#[derive(Default)]
pub(crate) struct Hops {
    /// By switch.
    parts: Vec<Vec<Box<dyn OnHop>>>,
    pause_bytes: u32,
    /// Pauses sent.
    sent: u64,
    /// By packet.
    pub(crate) trails: Vec<Trail>,
}

impl Hops {
    pub(crate) fn new(run_spec: &RunSpec<'_>, sites: &Sites<'_>) -> Hops {
        let specs = &run_spec.scheme.on_hop;
        let of = |switch| specs.iter().map(|spec| (spec.make)(&sites.program(switch))).collect();
        Hops {
            parts: (0..run_spec.fabric.switches.len() as u32).map(of).collect(),
            pause_bytes: specs.iter().find_map(|spec| spec.pauses).unwrap_or(0),
            ..Hops::default()
        }
    }

    pub(crate) fn are_any(&self) -> bool {
        self.parts.iter().any(|parts| !parts.is_empty())
    }
}

/// The number of a port at its switch.
fn port_of(fabric: &Fabric, switch: u32, link: usize) -> Option<u16> {
    fabric.ports[switch as usize].iter().position(|&out| out as usize == link).map(|port| port as u16)
}

/// The other direction of a link.
fn back_of(fabric: &Fabric, link: usize) -> Option<usize> {
    let about = &fabric.links[link];
    fabric.links.iter().position(|other| (other.from, other.to, other.nth) == (about.to, about.from, about.nth))
}

impl Twin<'_> {
    /// The parts of a port's switch look at a packet.
    pub(crate) fn at_hop(
        &mut self,
        link: usize,
        packet: u32,
        mut look: impl FnMut(&mut dyn OnHop, &mut Meta, &mut Hop<'_>),
    ) {
        let (fabric, about) = (self.run_spec.fabric, self.run_spec.fabric.links[link]);
        let Node::Switch(switch) = about.from else { return };
        if !self.beyond.are_any() {
            return;
        }
        let mut signals: ArrayVec<Signal, 8> = ArrayVec::new();
        let (port, mut meta) = (&self.ports[link], self.meta(packet));
        let mut trail = std::mem::take(&mut self.beyond.trails[packet as usize]);
        let mut hop = Hop {
            now: self.now,
            egress: port_of(fabric, switch, link).expect("its port"),
            line: Line { byte_time: about.rate.byte_time(), overhead: self.run_spec.wire_overhead.into() },
            backlog: port.scheduler.backlog_bytes(),
            in_queue: port.scheduler.waiting_in(meta.queue.into()).map(|waiting| waiting.bytes),
            sent_bytes: port.sent_bytes,
            trail: &mut trail,
            signals: &mut signals,
        };
        for part in &mut self.beyond.parts[switch as usize] {
            look(&mut **part, &mut meta, &mut hop);
        }
        self.beyond.trails[packet as usize] = trail;
        self.set_meta(packet, meta);
        for Signal { port, held } in signals {
            // It waits for the packet on the line back.
            let out = fabric.ports[switch as usize][usize::from(port)] as usize;
            let Some(into) = back_of(fabric, out) else { continue };
            let free = self.ports[out].busy_until.max(self.now);
            let at = free + fabric.links[out].rate.serialise(self.beyond.pause_bytes) + fabric.links[out].delay;
            self.beyond.sent += 1;
            self.at(at, Event::Pause { nth: self.beyond.sent, link: into, held });
        }
    }

    pub(crate) fn on_pause(&mut self, link: usize, held: u64) {
        self.ports[link].held = held;
        if !self.ports[link].busy {
            self.send_next(link);
        }
        if let Node::Host(host) = self.run_spec.fabric.links[link].from {
            self.settle(host as usize, true);
        }
    }

    /// A packet has come by this line.
    pub(crate) fn note_ingress(&mut self, switch: u32, link: usize, packet: u32) {
        let fabric = self.run_spec.fabric;
        let ingress = back_of(fabric, link).and_then(|back| port_of(fabric, switch, back));
        self.beyond.trails[packet as usize].ingress = ingress.unwrap_or(Trail::FROM_HERE);
    }

    /// Whether a packet that was turned away comes to the port once more, cut.
    pub(crate) fn is_trimmed(&mut self, link: usize, packet: u32) -> bool {
        let mut fate = Fate::Gone;
        self.at_hop(link, packet, |part, meta, hop| {
            if fate == Fate::Gone {
                fate = part.on_turned_away(meta, hop);
            }
        });
        let Fate::Trim { len, priority } = fate else { return false };
        let meta = self.meta(packet);
        if meta.len > len {
            self.set_meta(packet, Meta { len, tag: Tag::new(priority, meta.tag.rank()), ..meta });
        }
        meta.len > len
    }
}
