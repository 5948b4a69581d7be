//! A first-in first-out list of packets, linked through [`Meta::next`].

use prefetch_index::prefetch_index;

use crate::marker::Waiting;
use crate::meta::{Meta, NONE};

/// The two ends of a list, with its packets and bytes. An empty list's ends are meaningless.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u32,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl Fifo {
    /// Returns the packets held.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the bytes held, by [`Meta::len`].
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns both.
    #[inline]
    pub fn waiting(&self) -> Waiting {
        Waiting { bytes: self.bytes, packets: self.packets }
    }

    /// Returns whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Prefetches the packet that [`Fifo::pop`] would take, if there is one.
    #[inline(always)]
    pub(crate) fn fetch_front(&self, metas: &[Meta]) {
        prefetch_index(metas, self.head as usize);
    }

    /// Returns the packet that [`Fifo::pop`] would take.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        (self.packets != 0).then_some(self.head)
    }

    /// Appends a packet that is in no list.
    #[inline]
    pub fn push(&mut self, metas: &mut [Meta], packet: u32) {
        let meta = &mut metas[packet as usize];
        meta.next = NONE;
        self.bytes += u32::from(meta.len);
        if self.packets == 0 {
            self.head = packet;
        } else {
            metas[self.tail as usize].next = packet;
        }
        self.tail = packet;
        self.packets += 1;
    }

    /// Takes the oldest packet, and prefetches the one behind it, which is the next.
    #[inline]
    pub fn pop(&mut self, metas: &[Meta]) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        let packet = self.head;
        let meta = &metas[packet as usize];
        self.head = meta.next;
        self.fetch_front(metas);
        self.bytes -= u32::from(meta.len);
        self.packets -= 1;
        Some(packet)
    }

    /// Appends another list, which is empty afterwards.
    pub fn append(&mut self, metas: &mut [Meta], other: &mut Fifo) {
        if other.packets == 0 {
            return;
        }
        if self.packets == 0 {
            self.head = other.head;
        } else {
            metas[self.tail as usize].next = other.head;
        }
        self.tail = other.tail;
        self.packets += other.packets;
        self.bytes += other.bytes;
        *other = Fifo::default();
    }

    /// Returns the packets, oldest first.
    pub fn iter<'a>(&self, metas: &'a [Meta]) -> impl Iterator<Item = u32> + 'a {
        let mut next = self.head;
        (0..self.packets).map(move |_| {
            let packet = next;
            next = metas[packet as usize].next;
            packet
        })
    }

    /// Takes the newest packet whose rank is `rank`. Walks the list.
    pub fn take_newest_of_rank(&mut self, metas: &mut [Meta], rank: u32) -> Option<u32> {
        self.take_newest(metas, |meta| meta.tag.rank() == rank)
    }

    /// Takes the newest packet of a kind. Walks the list.
    pub fn take_newest(&mut self, metas: &mut [Meta], is_it: impl Fn(&Meta) -> bool) -> Option<u32> {
        let mut found = None;
        let mut before = NONE;
        for packet in self.iter(metas) {
            if is_it(&metas[packet as usize]) {
                found = Some((before, packet));
            }
            before = packet;
        }
        let (before, packet) = found?;
        let meta = metas[packet as usize];
        match before {
            NONE => self.head = meta.next,
            _ => metas[before as usize].next = meta.next,
        }
        if self.tail == packet {
            self.tail = before;
        }
        self.packets -= 1;
        self.bytes -= u32::from(meta.len);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;

    fn packets(ranks: &[u64]) -> (Vec<Meta>, Fifo) {
        let mut metas: Vec<Meta> =
            ranks.iter().map(|&rank| Meta { tag: Tag::with_rank(rank), len: 100, ..Meta::default() }).collect();
        let mut fifo = Fifo::default();
        for packet in 0..ranks.len() as u32 {
            fifo.push(&mut metas, packet);
        }
        (metas, fifo)
    }

    #[test]
    fn pop__oldest_first_until_empty() {
        let (metas, mut fifo) = packets(&[1, 1, 1]);
        assert_eq!((fifo.pop(&metas), fifo.pop(&metas)), (Some(0), Some(1)));
        assert_eq!(fifo.bytes(), 100);
        assert_eq!((fifo.pop(&metas), fifo.pop(&metas)), (Some(2), None));
    }

    #[test]
    fn append__to_and_of_empty_lists() {
        let (mut metas, mut fifo) = packets(&[1, 1, 1]);
        let mut other = Fifo::default();
        fifo.append(&mut metas, &mut other);
        other.append(&mut metas, &mut fifo);
        assert_eq!((fifo.packets(), other.bytes()), (0, 300));
        let last = other.pop(&metas).unwrap();
        fifo.push(&mut metas, last);
        other.append(&mut metas, &mut fifo);
        assert_eq!(other.iter(&metas).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!((other.packets(), other.bytes(), fifo.is_empty()), (3, 300, true));
    }

    #[test]
    fn take_newest_of_rank__head_middle_tail() {
        let (mut metas, mut fifo) = packets(&[9, 5, 9, 7]);
        assert_eq!(fifo.take_newest_of_rank(&mut metas, 9), Some(2));
        assert_eq!(fifo.take_newest_of_rank(&mut metas, 7), Some(3));
        assert_eq!(fifo.take_newest_of_rank(&mut metas, 9), Some(0));
        assert_eq!(fifo.take_newest_of_rank(&mut metas, 4), None);
        fifo.push(&mut metas, 2);
        assert_eq!(fifo.iter(&metas).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((fifo.packets(), fifo.bytes()), (2, 200));
    }
}
