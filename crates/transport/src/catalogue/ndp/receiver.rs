//! Incoming messages: what is answered to each packet (§3.2).

use std::collections::{BTreeMap, BTreeSet};

use super::header::Piece;
use crate::catalogue::homa::arrived::Arrived;

/// An incoming message.
#[derive(Clone, Debug)]
struct Incoming {
    peer: u16,
    packets: u32,
    arrived: Arrived,
    /// PULLs sent.
    pulled: u32,
    /// PULLs that wait.
    waiting: u32,
}

/// How a piece came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// With its payload.
    Whole,
    /// Without it: a switch has cut it off.
    Cut,
    /// As a question: its sender waits for a PULL.
    Asked,
}

/// What is to be done about a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// It is acknowledged: it has arrived, now or before. Else a NACK is sent.
    pub(super) has: bool,
    /// Its sender is to be pulled.
    pub(super) pulls: bool,
    /// Its payload had come before.
    pub(super) unneeded: bool,
    /// The message is complete with this packet: how many of its packets came after a later one.
    pub(super) whole: Option<u32>,
}

/// The incoming messages of a host.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    messages: BTreeMap<u32, Incoming>,
    /// Messages that are complete. Pieces of them may come as long as their senders have not heard of it.
    over: BTreeSet<u32>,
}

impl Receivers {
    /// Takes a piece of a message. `None`: there is nothing to say to it.
    pub(super) fn takes(&mut self, (peer, message): (u16, u32), piece: &Piece, came: Came) -> Option<Answer> {
        if self.over.contains(&message) {
            return Some(Answer { has: true, unneeded: came == Came::Whole, ..Answer::default() });
        }
        let fresh = || Incoming { peer, packets: piece.packets, arrived: Arrived::default(), pulled: 0, waiting: 0 };
        let incoming = self.messages.entry(message).or_insert_with(fresh);
        if incoming.peer != peer || piece.packet >= incoming.packets {
            return None;
        }
        let mut answer = Answer { pulls: true, ..Answer::default() };
        match came {
            Came::Whole => {
                answer.has = true;
                answer.unneeded = !incoming.arrived.insert(piece.packet);
                if incoming.arrived.count() == incoming.packets {
                    answer.pulls = false;
                    answer.whole = Some(incoming.arrived.out_of_order());
                    self.messages.remove(&message);
                    self.over.insert(message);
                    return Some(answer);
                }
            }
            Came::Cut => answer.has = incoming.arrived.contains(piece.packet),
            Came::Asked => {
                answer.has = incoming.arrived.contains(piece.packet);
                answer.pulls = incoming.waiting == 0;
                if !answer.has && !answer.pulls {
                    return None; // the PULL that waits is the answer
                }
            }
        }
        incoming.waiting += u32::from(answer.pulls);
        Some(answer)
    }

    /// Counts a PULL of a message that leaves. Returns its sender, and its number.
    pub(super) fn pulled(&mut self, message: u32) -> Option<(u16, u32)> {
        let incoming = self.messages.get_mut(&message)?;
        incoming.waiting = incoming.waiting.saturating_sub(1);
        incoming.pulled += 1;
        Some((incoming.peer, incoming.pulled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes__each_piece_once() {
        let mut receivers = Receivers::default();
        let mut takes = |packet, came| {
            let piece = Piece { packet, packets: 3, again: false };
            receivers.takes((7, 1), &piece, came).map(|it| (it.has, it.pulls, it.unneeded, it.whole))
        };
        assert_eq!(takes(1, Came::Whole), Some((true, true, false, None)));
        assert_eq!(takes(1, Came::Whole), Some((true, true, true, None)));
        assert_eq!(takes(1, Came::Cut), Some((true, true, false, None)));
        assert_eq!(takes(0, Came::Cut), Some((false, true, false, None)));
        assert_eq!(takes(0, Came::Asked), None, "PULLs wait");
        assert_eq!(takes(3, Came::Whole), None);
        assert_eq!(takes(0, Came::Whole), Some((true, true, false, None)));
        assert_eq!(takes(2, Came::Whole), Some((true, false, false, Some(1))));
        assert_eq!(takes(2, Came::Whole), Some((true, false, true, None)));
        assert_eq!(takes(0, Came::Asked), Some((true, false, false, None)));
        assert_eq!(receivers.pulled(1), None);
    }
}
