//! What the twin's switches do with a packet that a port turned away: it may be cut, or sent back.

use flowsieve_core::hop::{Fate, Hop, OnHop};
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Kind, PortScheduler, Tag};
use flowsieve_sim::RunSpec;
use flowsieve_sim::topology::{Node, Sites};

use crate::twin::engine::{Body, Port, Twin};

/// By switch: its parts.
pub(crate) fn parts(run_spec: &RunSpec<'_>, sites: &Sites<'_>) -> Vec<Vec<Box<dyn OnHop>>> {
    let of = |switch| run_spec.scheme.on_hop.iter().map(|spec| (spec.make)(&sites.program(switch))).collect();
    (0..run_spec.fabric.switches.len() as u32).map(of).collect()
}

impl Twin<'_> {
    /// Whether a packet that a port turned away lives on.
    pub(crate) fn lives_on(&mut self, link: usize, packet: u32) -> bool {
        let about = self.run_spec.fabric.links[link];
        let Node::Switch(switch) = about.from else { return false };
        let meta = self.meta(packet);
        let Port { scheduler, random, sent_bytes, .. } = &mut self.ports[link];
        let mut hop = Hop {
            now: self.now,
            egress: 0,
            line: Line { byte_time: about.rate.byte_time(), overhead: self.run_spec.wire_overhead.into() },
            backlog: scheduler.backlog_bytes(),
            in_queue: None,
            sent_bytes: *sent_bytes,
            trail: &mut self.trails[packet as usize],
            signals: &mut Default::default(),
            random,
        };
        let mut fates = self.parts[switch as usize].iter_mut().map(|part| part.on_turned_away(&meta, &mut hop));
        match fates.find(|fate| *fate != Fate::Gone).unwrap_or(Fate::Gone) {
            Fate::Gone => false,
            Fate::Trim { len, priority } => {
                self.cut(link, packet, len, priority);
                true
            }
            Fate::TrimNewest { len, priority } => {
                match self.ports[link].scheduler.take_newest(&mut self.metas, meta.queue.into(), len) {
                    None => self.cut(link, packet, len, priority),
                    Some(newest) => {
                        self.leave_memory(link, newest);
                        self.enqueue(link, packet);
                        self.cut(link, newest, len, priority);
                    }
                }
                true
            }
            // A program could not be told by which port it came.
            Fate::Return if self.programs.iter().any(Option::is_some) => false,
            Fate::Return => {
                self.send_back(switch as usize, packet);
                true
            }
        }
    }

    fn cut(&mut self, link: usize, packet: u32, len: u16, priority: u8) {
        let meta = &mut self.metas[packet as usize];
        (meta.len, meta.tag) = (len, Tag::new(priority, meta.tag.rank()));
        self.trails[packet as usize].trimmed = true;
        self.enqueue(link, packet);
    }

    fn send_back(&mut self, switch: usize, packet: u32) {
        let (meta, body) = (&mut self.metas[packet as usize], &mut self.bodies[packet as usize]);
        let Body::OfHost { src, .. } = body else { panic!("of a switch") };
        (*src, meta.dst) = (usize::from(meta.dst), *src as u16);
        (meta.kind, meta.tag) = (Kind::Control, Tag::new(0, meta.tag.rank()));
        self.trails[packet as usize].returned = true;
        self.forward(switch, Node::Switch(switch as u32), packet);
    }
}
