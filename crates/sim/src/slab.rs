//! The packets of a partition. What schedulers see and what only the ends see lie in two arrays, so that a hop in the
//! middle of the network touches half a cache line.

use flowsieve_core::{Meta, NONE};
use flowsieve_transport::Header;

/// What the ends of a connection say and how they find it, without search: the receiver's index travels with the data,
/// the sender's comes back with the ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(crate) header: Header,
    /// The sender's connection, in its partition.
    pub(crate) sender: u32,
    /// The receiver's connection, in its partition.
    pub(crate) receiver: u32,
    /// When the data packet was sent, in wrapping nanoseconds; an ACK echoes it.
    pub(crate) stamp: u32,
    /// The host that sent the packet.
    pub(crate) src: u16,
    /// Class of flow.
    pub(crate) class: u8,
}

/// Packets by index, reused.
pub(crate) struct Slab {
    pub(crate) metas: Vec<Meta>,
    pub(crate) bodies: Vec<Body>,
    /// Head of the list of free places, linked through [`Meta::next`], or [`NONE`].
    free: u32,
}

impl Default for Slab {
    fn default() -> Slab {
        Slab { metas: Vec::new(), bodies: Vec::new(), free: NONE }
    }
}

impl Slab {
    /// Takes a place for a packet.
    #[inline(always)]
    pub(crate) fn insert(&mut self, meta: Meta, body: Body) -> u32 {
        if self.free == NONE {
            return self.push(meta, body);
        }
        let packet = self.free;
        let place = &mut self.metas[packet as usize];
        self.free = place.next;
        *place = meta;
        self.bodies[packet as usize] = body;
        packet
    }

    #[inline(never)]
    fn push(&mut self, meta: Meta, body: Body) -> u32 {
        self.metas.push(meta);
        self.bodies.push(body);
        self.metas.len() as u32 - 1
    }

    /// Gives a packet's place back.
    #[inline]
    pub(crate) fn remove(&mut self, packet: u32) {
        self.metas[packet as usize].next = self.free;
        self.free = packet;
    }

    /// Packets that exist. Walks the free places.
    pub(crate) fn live(&self) -> usize {
        let next = |&packet: &u32| self.metas.get(packet as usize).map(|meta| meta.next);
        let free = std::iter::successors(Some(self.free), next).take_while(|&packet| packet != NONE);
        self.metas.len() - free.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body__is_half_a_cache_line() {
        assert_eq!(size_of::<Body>(), 32);
    }

    #[test]
    fn insert__reuses_places() {
        let body = Body { header: Header::Probe, sender: 0, receiver: 0, stamp: 0, src: 0, class: 0 };
        let mut slab = Slab::default();
        let packets: Vec<u32> = (0..3).map(|_| slab.insert(Meta::default(), body)).collect();
        slab.remove(packets[0]);
        slab.remove(packets[2]);
        assert_eq!(slab.live(), 1);
        assert_eq!(slab.insert(Meta::default(), body), packets[2]);
        assert_eq!(slab.insert(Meta::default(), body), packets[0]);
        assert_eq!(slab.insert(Meta::default(), body), 3);
    }
}
