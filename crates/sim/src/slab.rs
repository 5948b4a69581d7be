//! The packets of a partition. Two arrays hold what ports read and what only the ends of a packet read, so that a hop
//! inside the network touches half a cache line.

use flowsieve_core::hop::Trail;
use flowsieve_core::{Kind, Meta, NONE, ProgramPacket, Tag};
use flowsieve_transport::Packet;

/// Destination and source of packets between switches' programs.
pub(crate) const SWITCH: u16 = u16::MAX;

/// What only the ends of a packet read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    /// As [`Packet::words`] or [`ProgramPacket::payload`].
    words: [u32; 6],
    /// As [`Packet::message`].
    message: u32,
    /// The host that sent it.
    pub(crate) src: u16,
    /// Class of flow.
    pub(crate) class: u8,
    /// As [`Packet::code`].
    code: u8,
}

impl Body {
    /// Returns the packet's message.
    pub(crate) fn message(&self) -> u32 {
        self.message
    }

    /// Returns the message that cannot finish without this packet, if there is one.
    pub(crate) fn doomed(&self) -> Option<u32> {
        (self.code & Packet::UNANSWERED != 0).then_some(self.message)
    }
}

/// Converts a packet that a host's endpoint sends to its form in the slab.
#[inline(always)]
pub(crate) fn pack(packet: &Packet, src: u16, class: u8) -> (Meta, Body) {
    let Packet { peer, len, flow, message, coflow, kind, ecn, tag, code, words } = *packet;
    let meta = Meta { flow, coflow, tag, len, dst: peer, kind, ecn, ..Meta::default() };
    (meta, Body { words, message, src, class, code })
}

/// Restores the packet that arrives at the other end.
#[inline(always)]
pub(crate) fn unpack(meta: &Meta, body: &Body) -> Packet {
    Packet {
        peer: body.src,
        len: meta.len,
        flow: meta.flow,
        message: body.message,
        coflow: meta.coflow,
        kind: meta.kind,
        ecn: meta.ecn,
        tag: meta.tag,
        code: body.code,
        words: body.words,
    }
}

/// Converts a packet that a switch's program sends to its form in the slab.
pub(crate) fn pack_program_packet(packet: &ProgramPacket) -> (Meta, Body) {
    let ProgramPacket { port: _, len, priority, payload } = *packet;
    let tag = Tag::with_priority(priority);
    let meta = Meta { flow: NONE, len, tag, dst: SWITCH, kind: Kind::Control, ..Meta::default() };
    (meta, Body { words: payload, src: SWITCH, ..Body::default() })
}

/// Restores the packet that arrives by a port of the other switch.
pub(crate) fn unpack_program_packet(meta: &Meta, body: &Body, port: u16) -> ProgramPacket {
    ProgramPacket { port, len: meta.len, priority: meta.tag.priority(), payload: body.words }
}

/// Packets by index, reused.
pub(crate) struct Slab {
    pub(crate) metas: Vec<Meta>,
    pub(crate) bodies: Vec<Body>,
    /// By packet, if switches write into packets. That of a free slot is empty.
    pub(crate) trails: Option<Vec<Trail>>,
    /// Head of the list of free slots, linked through [`Meta::next`], or [`NONE`].
    free: u32,
}

impl Default for Slab {
    fn default() -> Slab {
        Slab { metas: Vec::new(), bodies: Vec::new(), trails: None, free: NONE }
    }
}

impl Slab {
    /// Builds an empty one; `trails`: switches write into packets.
    pub(crate) fn with_trails(trails: bool) -> Slab {
        Slab { trails: trails.then(Vec::new), ..Slab::default() }
    }

    /// Takes a slot for a packet.
    #[inline(always)]
    pub(crate) fn insert(&mut self, meta: Meta, body: Body) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let packet = self.free;
        let slot = &mut self.metas[packet as usize];
        self.free = slot.next;
        // Lists and holders write these fields before anything reads them.
        *slot = Meta { next: slot.next, held: slot.held, ..meta };
        self.bodies[packet as usize] = body;
        packet
    }

    /// Adds this many slots.
    pub(crate) fn reserve(&mut self, slots: usize) {
        for _ in 0..slots {
            let before = self.free;
            self.grow();
            self.metas[self.free as usize].next = before;
        }
    }

    /// Adds a slot. It does not take the packet, which can then be built in place.
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.metas.len() as u32;
        self.metas.push(Meta { next: NONE, ..Meta::default() });
        self.bodies.push(Body::default());
        if let Some(trails) = &mut self.trails {
            trails.push(Trail::default());
        }
    }

    /// Takes a packet's trail, and leaves an empty one.
    pub(crate) fn take_trail(&mut self, packet: u32) -> Option<Trail> {
        self.trails.as_mut().map(|trails| std::mem::take(&mut trails[packet as usize]))
    }

    /// Gives a packet a trail.
    pub(crate) fn give_trail(&mut self, packet: u32, trail: Option<Trail>) {
        if let (Some(trails), Some(trail)) = (&mut self.trails, trail) {
            trails[packet as usize] = trail;
        }
    }

    /// Frees a packet's slot.
    #[inline]
    pub(crate) fn remove(&mut self, packet: u32) {
        self.metas[packet as usize].next = self.free;
        self.free = packet;
    }

    /// Removes a packet and returns it.
    #[inline(always)]
    pub(crate) fn take(&mut self, packet: u32) -> Packet {
        let taken = unpack(&self.metas[packet as usize], &self.bodies[packet as usize]);
        self.remove(packet);
        taken
    }

    /// Removes a packet and returns its parts, for another slab.
    pub(crate) fn take_parts(&mut self, packet: u32) -> (Meta, Body) {
        let parts = (self.metas[packet as usize], self.bodies[packet as usize]);
        self.remove(packet);
        parts
    }

    /// Counts the packets that exist, by walking the free slots.
    pub(crate) fn live(&self) -> usize {
        let next = |&packet: &u32| self.metas.get(packet as usize).map(|meta| meta.next);
        let free = std::iter::successors(Some(self.free), next).take_while(|&packet| packet != NONE);
        self.metas.len() - free.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_core::meta::Ecn;
    use flowsieve_core::{Kind, Tag};

    #[test]
    fn body__is_half_a_cache_line() {
        assert_eq!(size_of::<Body>(), 32);
    }

    #[test]
    fn unpack__what_was_packed() {
        let sent = Packet {
            peer: 7,
            len: 1_500,
            flow: 3,
            message: 4,
            coflow: 8,
            kind: Kind::Ack,
            ecn: Ecn::Capable,
            tag: Tag::new(2, 9),
            code: Packet::UNANSWERED | 9,
            words: [1, 2, 3, 4, 5, 6],
        };
        let (meta, body) = pack(&sent, 1, 5);
        assert_eq!((meta.dst, body.src, body.class, body.doomed()), (7, 1, 5, Some(4)));
        assert_eq!(unpack(&meta, &body), Packet { peer: 1, ..sent });
        let (_, answered) = pack(&Packet { code: 9, ..sent }, 1, 5);
        assert_eq!(answered.doomed(), None);
    }

    #[test]
    fn unpack_control__what_was_packed() {
        let sent = ProgramPacket { port: 3, len: 64, priority: 2, payload: [1, 2, 3, 4, 5, 6] };
        let (meta, body) = pack_program_packet(&sent);
        assert_eq!((meta.dst, body.src, body.doomed()), (SWITCH, SWITCH, None));
        assert_eq!(unpack_program_packet(&meta, &body, 7), ProgramPacket { port: 7, ..sent });
    }

    #[test]
    fn reserve__slots_are_taken_before_it_grows() {
        let mut slab = Slab::default();
        slab.reserve(2);
        let packets = [0, 1].map(|_| slab.insert(Meta::default(), Body::default()));
        assert!(packets[0] != packets[1] && slab.metas.len() == 2 && slab.live() == 2);
        assert_eq!(slab.insert(Meta::default(), Body::default()), 2);
    }

    #[test]
    fn insert__reuses_places() {
        let mut slab = Slab::default();
        let packets: Vec<u32> = (0..3).map(|_| slab.insert(Meta::default(), Body::default())).collect();
        slab.remove(packets[0]);
        slab.remove(packets[2]);
        assert_eq!(slab.live(), 1);
        assert_eq!(slab.insert(Meta::default(), Body::default()), packets[2]);
        assert_eq!(slab.insert(Meta::default(), Body::default()), packets[0]);
        assert_eq!(slab.insert(Meta::default(), Body::default()), 3);
    }
}
