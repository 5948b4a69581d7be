//! Where messages begin in a TCP connection, for a host that sees packets and no messages.
//!
//! A host's agent, and whoever checks it, sees the sequence numbers of a connection's packets, what its peer has
//! acknowledged, and how much its peer has sent. A message of a request and its answer ends when all of it is
//! acknowledged and the peer has sent data since: the next request. That is [`MessageEnd::Turn`]. A pause alone says
//! less: connections that are in constant use have none, and a slow reader makes one within a message.
//!
//! In every rule a message ends only once all bytes before the packet are acknowledged. So a retransmission begins no
//! message, and bytes are counted by sequence numbers, so that it counts once. Sequence numbers wrap after 4 GB; only
//! differences of them are taken. No rule tells messages apart that are under way at once on one connection.
//!
//! Two rules by idle time have code of their own, since they mean something else. `message_gap`, of
//! [`crate::taggers::message_gap`], is that of published simulators: what is not acknowledged hinders no beginning, and
//! a retransmission begins a message. The lab sees an ACK as it leaves the receiver, and datagrams, which have none. So
//! it asks for no acknowledgement either.

use crate::units::Time;

/// When a message ends. In every rule all of it is acknowledged by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEnd {
    /// The peer has sent data since the message's last bytes left.
    Turn,
    /// As well as that, no data left for longer than this. It tells a peer's request from what only opens its window, as
    /// in HTTP/2.
    TurnThenIdle(Time),
    /// No data left for longer than this.
    Idle(Time),
}

impl MessageEnd {
    /// Returns whether a message ends that was quiet for `idle`, and whose peer has sent data since or not.
    fn is_due(self, turned: bool, idle: Time) -> bool {
        match self {
            MessageEnd::Turn => turned,
            MessageEnd::TurnThenIdle(gap) => turned && idle > gap,
            MessageEnd::Idle(gap) => idle > gap,
        }
    }
}

/// A packet with data, as its sender's host sees it leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it leaves.
    pub now: Time,
    /// The number of its first byte.
    pub seq: u32,
    /// Bytes of data, above 0.
    pub len: u32,
    /// The first byte that the peer has not acknowledged.
    pub una: u32,
    /// The next byte that is expected from the peer.
    pub received: u32,
}

/// Where a packet lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Bytes of its message before its own.
    pub before: u64,
    /// Whether it begins a message, where another one had ended. The first of a connection does not.
    pub begins: bool,
}

/// What a host keeps of a connection: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFlow {
    /// Bytes of the message so far, without those that were sent again.
    sent: u64,
    /// When data left last.
    last: Time,
    /// The number behind the highest byte that left.
    high: u32,
    /// What was expected from the peer when that byte left.
    received: u32,
}

impl PacketFlow {
    /// Builds the state of a connection before its first packet that is seen. `sent` counts as sent before it: of a
    /// connection that stood before, all its bytes, so that it is in the lowest level that it could be in.
    pub fn new(first: &Segment, sent: u64) -> PacketFlow {
        PacketFlow { sent, last: first.now, high: first.seq, received: first.received }
    }

    /// Notes a packet with data, and returns where it lies.
    pub fn on_segment(&mut self, end: MessageEnd, segment: &Segment) -> Placed {
        let Segment { now, seq, len, una, received } = *segment;
        let stop = seq.wrapping_add(len);
        let idle = now.since(self.last);
        self.last = now;
        if !is_after(stop, self.high) {
            let back = u64::from(self.high.wrapping_sub(seq));
            return Placed { before: self.sent.saturating_sub(back), begins: false };
        }
        let is_new = !is_after(self.high, seq) && una == seq;
        let begins = is_new && end.is_due(received != self.received, idle);
        if begins {
            self.sent = 0;
            self.high = seq;
        }
        self.sent = self.sent.saturating_add(u64::from(stop.wrapping_sub(self.high)));
        self.high = stop;
        self.received = received;
        Placed { before: self.sent.saturating_sub(u64::from(len)), begins }
    }

    /// Returns the bytes of the message so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// Whether a sequence number is behind another one, of the 2³¹ around it.
fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const MSS: u32 = 1_000;

    /// A connection whose numbers count from `start`, with the rule of its messages.
    struct Trace {
        start: u32,
        end: MessageEnd,
        flow: Option<PacketFlow>,
    }

    fn trace(end: MessageEnd) -> Trace {
        Trace { start: 0, end, flow: None }
    }

    impl Trace {
        /// Sends bytes of the connection, at an instant in us, when the peer has acknowledged and sent so many; returns the
        /// bytes before and whether a message begins.
        fn send(&mut self, at_us: u64, bytes: std::ops::Range<u32>, acked: u32, peer: u32) -> (u64, bool) {
            let number = |byte: u32| self.start.wrapping_add(byte);
            let segment = Segment {
                now: Time::from_us(at_us),
                seq: number(bytes.start),
                len: bytes.end - bytes.start,
                una: number(acked),
                received: number(peer),
            };
            let flow = self.flow.get_or_insert_with(|| PacketFlow::new(&segment, 0));
            let Placed { before, begins } = flow.on_segment(self.end, &segment);
            (before, begins)
        }
    }

    #[test]
    fn on_segment__is_small() {
        assert_eq!(size_of::<PacketFlow>(), 24);
    }

    #[test]
    fn on_segment__a_request_ends_the_answer_before_it() {
        let mut tcp = trace(MessageEnd::Turn);
        // An answer to 100 bytes.
        assert_eq!(tcp.send(10, 0..1_000, 0, 100), (0, false));
        assert_eq!(tcp.send(10, 1_000..2_000, 0, 100), (1_000, false));
        assert_eq!(tcp.send(90, 2_000..2_500, 1_000, 100), (2_000, false));
        // The next request comes with the ACK of all, and at once its answer leaves.
        assert_eq!(tcp.send(170, 2_500..3_500, 2_500, 200), (0, true));
        assert_eq!(tcp.send(170, 3_500..4_500, 2_500, 200), (1_000, false));
    }

    #[test]
    fn on_segment__a_request_before_all_is_acknowledged_ends_nothing() {
        let mut tcp = trace(MessageEnd::Turn);
        assert_eq!(tcp.send(10, 0..1_000, 0, 100), (0, false));
        // Pipelined: the second request was there while the first answer was under way.
        assert_eq!(tcp.send(50, 1_000..2_000, 0, 200), (1_000, false));
        // The peer has sent nothing since that packet, however long it takes.
        assert_eq!(tcp.send(9_000_000, 2_000..3_000, 2_000, 200), (2_000, false));
    }

    #[test]
    fn on_segment__a_window_update_ends_a_message_by_turn_alone() {
        let millisecond = Time::from_us(1_000);
        for (end, wanted) in [(MessageEnd::Turn, (0, true)), (MessageEnd::TurnThenIdle(millisecond), (1_000, false))] {
            let mut tcp = trace(end);
            tcp.send(0, 0..1_000, 0, 100);
            // HTTP/2: the sender had run dry, and 13 bytes open its window 200 us later.
            assert_eq!(tcp.send(200, 1_000..2_000, 1_000, 113), wanted, "{end:?}");
            // A request after a pause is one in both.
            assert_eq!(tcp.send(1_201, 2_000..3_000, 2_000, 150), (0, true), "{end:?}");
        }
    }

    #[test]
    fn on_segment__a_pause_of_the_gap_is_none() {
        for (end, peer) in [(MessageEnd::Idle(Time::from_us(50)), 0), (MessageEnd::TurnThenIdle(Time::from_us(50)), 9)]
        {
            let mut tcp = trace(end);
            tcp.send(0, 0..1_000, 0, 0);
            assert_eq!(tcp.send(50, 1_000..2_000, 1_000, peer), (1_000, false), "{end:?}");
            assert_eq!(tcp.send(101, 2_000..3_000, 2_000, 2 * peer), (0, true), "{end:?}");
        }
        // A pause of which the peer says nothing is none in the second rule.
        let mut tcp = trace(MessageEnd::TurnThenIdle(Time::from_us(50)));
        tcp.send(0, 0..1_000, 0, 0);
        assert_eq!(tcp.send(900, 1_000..2_000, 1_000, 0), (1_000, false));
    }

    #[test]
    fn on_segment__a_retransmission_begins_no_message_and_counts_once() {
        for end in [MessageEnd::Turn, MessageEnd::Idle(Time::from_us(50))] {
            let mut tcp = trace(end);
            for packet in 0..4 {
                tcp.send(0, packet * MSS..(packet + 1) * MSS, 0, 100);
            }
            // The second packet was lost. A timeout later it comes again, at the level of its offset; the peer has spoken.
            assert_eq!(tcp.send(900, 1_000..2_000, 1_000, 200), (1_000, false), "{end:?}");
            assert_eq!(tcp.send(901, 4_000..5_000, 1_000, 200), (4_000, false), "{end:?}");
            assert_eq!(tcp.flow.map(|flow| flow.sent()), Some(5_000));
            // It comes again in one piece with bytes that are new: its first byte counts.
            assert_eq!(tcp.send(950, 4_000..5_500, 4_000, 200), (4_000, false), "{end:?}");
        }
    }

    #[test]
    fn on_segment__a_retransmission_of_the_message_before_has_nothing_before_it() {
        let mut tcp = trace(MessageEnd::Turn);
        tcp.send(0, 0..3_000, 0, 1);
        assert_eq!(tcp.send(9, 3_000..4_000, 3_000, 2), (0, true));
        // The kernel sends no acknowledged byte again; a capture may have it late.
        assert_eq!(tcp.send(10, 0..1_000, 3_000, 2), (0, false));
    }

    #[test]
    fn on_segment__numbers_wrap_and_messages_of_more_than_4_GB_are_counted() {
        let mut tcp = trace(MessageEnd::Turn);
        tcp.start = u32::MAX - 1_499;
        assert_eq!(tcp.send(0, 0..1_000, 0, 0), (0, false));
        assert_eq!(tcp.send(0, 1_000..2_000, 0, 0), (1_000, false), "the wrap is within it");
        assert_eq!(tcp.send(1, 1_000..2_000, 1_000, 0), (1_000, false), "again");
        assert_eq!(tcp.send(2, 2_000..3_000, 2_000, 70), (0, true), "and all before it is acknowledged");
        for gigabyte in 0..5 {
            let begin = 3_000u32.wrapping_add((1u32 << 30).wrapping_mul(gigabyte));
            let end = begin.wrapping_add(1 << 30);
            let segment = Segment {
                now: Time::from_us(3),
                seq: tcp.start.wrapping_add(begin),
                len: end.wrapping_sub(begin),
                una: tcp.start.wrapping_add(begin),
                received: tcp.start.wrapping_add(70),
            };
            let placed = tcp.flow.as_mut().map(|flow| flow.on_segment(MessageEnd::Turn, &segment));
            assert_eq!(placed, Some(Placed { before: 1_000 + (u64::from(gigabyte) << 30), begins: false }));
        }
    }

    #[test]
    fn on_segment__bytes_that_left_elsewhere_count() {
        let mut tcp = trace(MessageEnd::Turn);
        assert_eq!(tcp.send(0, 0..1_000, 0, 0), (0, false));
        // The next 4,000 bytes took another device.
        assert_eq!(tcp.send(1, 5_000..6_000, 1_000, 0), (5_000, false));
        // And these ended there: a message begins with what comes here.
        assert_eq!(tcp.send(2, 9_000..9_500, 9_000, 1), (0, true));
        assert_eq!(tcp.flow.map(|flow| flow.sent()), Some(500));
    }

    #[test]
    fn new__a_connection_that_stood_before_has_sent_all_its_bytes() {
        let first = Segment { now: Time::ZERO, seq: 77, len: 1_000, una: 77, received: 5 };
        let mut flow = PacketFlow::new(&first, 5_000_000);
        assert_eq!(flow.on_segment(MessageEnd::Turn, &first), Placed { before: 5_000_000, begins: false });
        let next = Segment { seq: 1_077, una: 1_077, received: 9, ..first };
        assert_eq!(flow.on_segment(MessageEnd::Turn, &next), Placed { before: 0, begins: true });
    }
    proptest! {
        #[test]
        fn on_segment__as_by_offsets_of_64_bits(
            start: u32,
            rule in 0..3usize,
            packets in vec((1..3_000u32, 0..4u8, 0..300u64, 0..4u32, 0..8u8), 1..200),
        ) {
            let gap = Time::from_us(100);
            let end = [MessageEnd::Turn, MessageEnd::TurnThenIdle(gap), MessageEnd::Idle(gap)][rule];
            let mut tcp = Trace { start, ..trace(end) };
            // Of the stream: what has left, what is acknowledged, and where the message begins.
            let (mut high, mut una, mut begun, mut now, mut last) = (0u32, 0u32, 0u32, 0u64, 0u64);
            let (mut peer, mut heard) = (0u32, 0u32);
            for (len, acked, pause, said, again) in packets {
                now += pause;
                peer += said.saturating_sub(2);
                una += (high - una) / 3 * u32::from(acked);
                // The numbers of a TCP are whole again when all is acknowledged.
                una = if acked == 3 { high } else { una };
                let is_again = again == 0 && una < high;
                let from = if is_again { una } else { high };
                let idle = if high == 0 { 0 } else { now - last };
                let due = [peer != heard, peer != heard && idle > 100, idle > 100][rule];
                let begins = !is_again && high > 0 && una == high && due;
                begun = if begins { high } else { begun };
                let stop = if is_again { high.min(from + len) } else { from + len };
                prop_assert_eq!(tcp.send(now, from..stop, una, peer), (u64::from(from.saturating_sub(begun)), begins));
                last = now;
                (high, heard) = if is_again { (high, heard) } else { (stop, peer) };
            }
        }
    }
}
