//! The host's side of an endpoint that chooses itself which of its messages sends next: turns at the line, and events.

use std::collections::VecDeque;

use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::units::Rate;
use flowsieve_core::{Tag, Tagger, Time};

use super::homa::line::Line;
use crate::endpoint::{Effects, Out, Timer, Turn};
use crate::packet::Packet;

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// The packet.
    pub(super) packet: Packet,
    /// What its tagger may know.
    pub(super) facts: FlowFacts,
}

/// The messages of a host, as its line asks for the next packet.
pub(super) trait Ready {
    /// Returns whether a message may send.
    fn any_ready(&self) -> bool;

    /// Returns the next packet to send.
    fn send(&mut self, now: Time) -> Option<Sending>;
}

/// What an endpoint has of its host.
#[derive(Debug)]
pub(super) struct Desk {
    line: Line,
    /// When the NIC has room for a packet; [`Time::NEVER`]: no message waits for that.
    room_at: Time,
    /// Whether a turn is wanted. It stays wanted until a turn finds nothing to send.
    wants_turn: bool,
    events: VecDeque<FlowEvent>,
}

impl Desk {
    /// Builds that of a host whose line takes full packets of these bytes, and how many more each takes; its NIC holds this many.
    pub(super) fn new(rate: Rate, full: (u16, u16), nic_packets: u32) -> Desk {
        let line = Line::new(rate, full, nic_packets);
        Desk { line, room_at: Time::NEVER, wants_turn: false, events: VecDeque::new() }
    }

    #[inline]
    pub(super) fn report(&mut self, now: Time, tagger: &mut Tagger, event: FlowEvent) {
        tagger.on_event(&event, now);
        self.events.push_back(event);
    }

    #[inline]
    pub(super) fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    /// Sends a packet that waits for no turn.
    #[inline]
    pub(super) fn send(&mut self, now: Time, out: &mut dyn Out, packet: Packet) {
        self.line.takes(now, packet.len);
        out.send(packet);
    }

    /// Asks for a turn if a message may send and the NIC may have room.
    #[inline]
    pub(super) fn effects(&mut self, messages: &impl Ready) -> Effects {
        let turns = self.room_at == Time::NEVER && messages.any_ready();
        self.wants_turn |= turns;
        Effects { events: !self.events.is_empty(), turns }
    }

    /// Returns when the NIC has room, if a message waits for that. Among timers of the host it is the last.
    #[inline]
    pub(super) fn room(&self) -> Timer {
        Timer::of_host(self.room_at, 3)
    }

    /// Handles that instant.
    #[inline]
    pub(super) fn has_room(&mut self) {
        self.room_at = Time::NEVER;
    }

    #[inline]
    pub(super) fn turns(&self) -> u32 {
        u32::from(self.wants_turn)
    }

    /// Takes a turn.
    #[inline]
    pub(super) fn poll(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut dyn Out,
        messages: &mut impl Ready,
    ) -> Turn {
        let room_at = self.line.has_room_at();
        if messages.any_ready() && room_at > now {
            (self.room_at, self.wants_turn) = (room_at, false);
            return Turn::Unused;
        }
        let Some(Sending { packet, facts }) = messages.send(now) else {
            self.wants_turn = false;
            return Turn::Unused;
        };
        // The tagger writes the rank. The priority is the protocol's.
        let tag = Tag::new(packet.tag.priority(), tagger.tag(|| facts).rank());
        self.send(now, out, Packet { tag, ..packet });
        self.wants_turn = messages.any_ready();
        Turn::Sent
    }
}
