//! The packets of a partition. What schedulers see and what only the ends see lie in two arrays, so that a hop in the
//! middle of the network touches half a cache line.

use flowsieve_core::{Meta, NONE};
pub(crate) use flowsieve_transport::Body;

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
            self.grow();
        }
        let packet = self.free;
        let place = &mut self.metas[packet as usize];
        self.free = place.next;
        *place = meta;
        self.bodies[packet as usize] = body;
        packet
    }

    /// Makes a place. It takes nothing of the packet, which can so be put together where it will lie.
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.metas.len() as u32;
        self.metas.push(Meta { next: NONE, ..Meta::default() });
        self.bodies.push(Body::own(0, 0, 0, [0; 6]));
    }

    /// Gives a packet's place back.
    #[inline]
    pub(crate) fn remove(&mut self, packet: u32) {
        self.metas[packet as usize].next = self.free;
        self.free = packet;
    }

    /// Takes a packet out.
    #[inline(always)]
    pub(crate) fn take(&mut self, packet: u32) -> (Meta, Body) {
        let taken = (self.metas[packet as usize], self.bodies[packet as usize]);
        self.remove(packet);
        taken
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
    fn insert__reuses_places() {
        let body = Body::own(0, 0, 0, [0; 6]);
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
