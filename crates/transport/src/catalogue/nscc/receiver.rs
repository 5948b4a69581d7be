//! Incoming messages: which packets are answered, and how.

use std::collections::{BTreeMap, BTreeSet};

use super::header::Header;
use crate::catalogue::homa::arrived::Arrived;

/// A piece of a message that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// Its number in the message.
    pub(super) packet: u32,
    /// The packets of the message.
    pub(super) packets: u32,
    /// Bytes with headers.
    pub(super) len: u16,
    /// Whether it was sent before.
    pub(super) again: bool,
    /// Whether its sender wants an answer at once.
    pub(super) asks: bool,
    /// Whether it has a mark.
    pub(super) marked: bool,
    /// Whether a switch has cut it, and if so whether that was the one before this host.
    pub(super) cut: Option<bool>,
}

/// An incoming message.
#[derive(Clone, Debug)]
struct Incoming {
    peer: u16,
    packets: u32,
    arrived: Arrived,
    /// Bytes since the last acknowledgement.
    unanswered: u32,
    /// Whether its sender wants an answer as soon as nothing is missing.
    asked: bool,
}

/// What is to be done about a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// This is sent.
    pub(super) header: Option<Header>,
    /// Its payload had come before.
    pub(super) unneeded: bool,
    /// The message is complete with this packet: how many of its packets came after a later one.
    pub(super) whole: Option<u32>,
}

/// The incoming messages of a host.
#[derive(Debug)]
pub(super) struct Receivers {
    ack_bytes: u32,
    messages: BTreeMap<u32, Incoming>,
    /// Messages that are complete. Pieces of them may come as long as their senders have not heard of it.
    over: BTreeSet<u32>,
}

impl Receivers {
    pub(super) fn new(ack_bytes: u32) -> Receivers {
        Receivers { ack_bytes, messages: BTreeMap::new(), over: BTreeSet::new() }
    }

    /// Takes a piece of a message.
    ///
    /// It is acknowledged at once if it is the first, has a mark, had come before, if its sender asks, or if it closes the last gap after
    /// that; else when `ack_bytes` have come.
    pub(super) fn takes(&mut self, (peer, message): (u16, u32), came: &Came) -> Answer {
        let &Came { packet, packets, len, again, asks, marked, cut } = came;
        let ack = |next, bits| {
            let first = packet.saturating_sub(63).max(next);
            Some(Header::Ack { next, more: (first, bits), packet, again, marked })
        };
        if self.over.contains(&message) {
            return Answer { header: ack(packets, 0), unneeded: cut.is_none(), whole: None };
        }
        let incoming = self.messages.entry(message).or_insert_with(|| Incoming {
            peer,
            packets,
            arrived: Arrived::default(),
            unanswered: 0,
            asked: false,
        });
        if incoming.peer != peer || packet >= incoming.packets {
            return Answer::default();
        }
        let arrived = &mut incoming.arrived;
        let unneeded = arrived.contains(packet);
        if let (Some(last_hop), false) = (cut, unneeded) {
            return Answer { header: Some(Header::Nack { packet, last_hop, marked }), ..Answer::default() };
        }
        let mut now = unneeded || asks || marked || arrived.count() == 0;
        let mut whole = None;
        if !unneeded {
            arrived.insert(packet);
            incoming.asked |= asks;
            if incoming.asked && arrived.has_no_gap() {
                (incoming.asked, now) = (false, true);
            }
            whole = (arrived.count() == incoming.packets).then(|| arrived.out_of_order());
        }
        incoming.unanswered += u32::from(len);
        let mut header = None;
        if now || whole.is_some() || incoming.unanswered >= self.ack_bytes {
            incoming.unanswered = 0;
            let first = packet.saturating_sub(63).max(arrived.next());
            header = ack(arrived.next(), arrived.bits(first));
        }
        if whole.is_some() {
            self.messages.remove(&message);
            self.over.insert(message);
        }
        Answer { header, unneeded: unneeded && cut.is_none(), whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(next: u32, more: (u32, u64), packet: u32) -> Answer {
        let header = Some(Header::Ack { next, more, packet, again: false, marked: false });
        Answer { header, ..Answer::default() }
    }

    #[test]
    fn takes__what_is_answered_at_once_and_what_is_not() {
        let mut receivers = Receivers::new(4_500);
        let data =
            |packet| Came { packet, packets: 99, len: 1_500, again: false, asks: false, marked: false, cut: None };
        let mut takes = |came: Came| receivers.takes((7, 1), &came);
        let silent = Answer::default();
        // The first, then one for three packets.
        assert_eq!(takes(data(0)), ack(1, (1, 0), 0));
        assert_eq!([takes(data(1)), takes(data(2)), takes(data(3))], [silent, silent, ack(4, (4, 0), 3)]);
        // One with a mark, behind a gap.
        let marked = takes(Came { marked: true, ..data(5) });
        assert_eq!(marked.header, Some(Header::Ack { next: 4, more: (4, 2), packet: 5, again: false, marked: true }));
        // One that asks, and the one that closes the gap.
        assert_eq!(takes(Came { asks: true, ..data(6) }), ack(4, (4, 6), 6));
        assert_eq!(takes(data(4)), ack(7, (7, 0), 4));
        // One that had come, whole or cut; and one whose payload is missing.
        assert_eq!(takes(data(5)), Answer { unneeded: true, ..ack(7, (7, 0), 5) });
        assert_eq!(takes(Came { cut: Some(true), ..data(6) }), ack(7, (7, 0), 6));
        let nack = Header::Nack { packet: 8, last_hop: false, marked: false };
        assert_eq!(takes(Came { cut: Some(false), ..data(8) }), Answer { header: Some(nack), ..silent });
        // The 64 up to it.
        assert_eq!(takes(Came { asks: true, ..data(90) }), ack(7, (27, 1 << 63), 90));
        assert_eq!(takes(data(99)), silent, "no packet of the message");
    }

    #[test]
    fn takes__the_last_one_and_those_after_it() {
        let mut receivers = Receivers::new(u32::MAX);
        let data =
            |packet| Came { packet, packets: 3, len: 1_500, again: false, asks: false, marked: false, cut: None };
        let mut takes = |came: Came| receivers.takes((7, 1), &came);
        assert_eq!([takes(data(2)), takes(data(0))], [ack(0, (0, 4), 2), Answer::default()]);
        assert_eq!(takes(data(1)), Answer { whole: Some(2), ..ack(3, (3, 0), 1) });
        assert_eq!(takes(data(1)), Answer { unneeded: true, ..ack(3, (3, 0), 1) });
        assert_eq!(takes(Came { cut: Some(true), ..data(0) }), ack(3, (3, 0), 0));
    }
}
