//! What the twin's switches do at their ports beyond queueing.

use arrayvec::ArrayVec;
use flowsieve_core::hop::{Fate, Hop, OnHop, Signal, Trail};
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Kind, Meta, PortScheduler, Tag};
use flowsieve_sim::RunSpec;
use flowsieve_sim::topology::{Fabric, Node, Sites};

use crate::twin::engine::{Body, Event, Twin};

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
        let mut meta = self.meta(packet);
        let port = &mut self.ports[link];
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
            random: &mut port.random,
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

    /// Whether a packet that was turned away lives on: cut, in place of another, or back to where it is from.
    pub(crate) fn lives_on(&mut self, link: usize, packet: u32) -> bool {
        let Node::Switch(switch) = self.run_spec.fabric.links[link].from else { return false };
        let mut fate = Fate::Gone;
        self.at_hop(link, packet, |part, meta, hop| {
            if fate == Fate::Gone {
                fate = part.on_turned_away(meta, hop);
            }
        });
        match fate {
            Fate::Gone => return false,
            Fate::Trim { len, priority } => return self.cut(link, packet, len, priority),
            Fate::TrimNewest { len, priority } => {
                let queue = self.meta(packet).queue;
                let Some(newest) = self.ports[link].scheduler.take_newest(&mut self.metas, queue.into(), len) else {
                    return self.cut(link, packet, len, priority);
                };
                self.leave_memory(link, newest);
                self.at_hop(link, newest, |part, meta, hop| part.on_lost(meta, hop));
                self.enqueue(link, packet);
                self.cut(link, newest, len, priority);
            }
            // A program could not be told by which port it came.
            Fate::Return if self.programs.iter().any(Option::is_some) => return false,
            Fate::Return => self.send_back(switch, packet),
        }
        true
    }

    /// Cuts a packet, if it is longer, and it comes to the port once more.
    fn cut(&mut self, link: usize, packet: u32, len: u16, priority: u8) -> bool {
        let meta = self.meta(packet);
        if meta.len <= len {
            return false;
        }
        self.set_meta(packet, Meta { len, tag: Tag::new(priority, meta.tag.rank()), ..meta });
        let last = matches!(self.run_spec.fabric.links[link].to, Node::Host(_));
        self.beyond.trails[packet as usize].trimmed = Some(last);
        self.enqueue(link, packet);
        true
    }

    fn send_back(&mut self, switch: u32, packet: u32) {
        let (meta, body) = (&mut self.metas[packet as usize], &mut self.bodies[packet as usize]);
        let Body::OfHost { src, .. } = body else { panic!("of a switch") };
        (*src, meta.dst) = (usize::from(meta.dst), *src as u16);
        (meta.kind, meta.tag) = (Kind::Control, Tag::new(0, meta.tag.rank()));
        self.beyond.trails[packet as usize].returned = true;
        self.forward(switch as usize, Node::Switch(switch), packet);
    }
}
