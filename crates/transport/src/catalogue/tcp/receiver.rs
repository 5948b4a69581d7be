//! The receiver: cumulative and selective acknowledgement (RFC 5681 §4.2, RFC 2018, RFC 2883), delayed ACKs that echo marks
//! exactly (RFC 8257 §3.2), and counts for measurement.
//!
//! The first [`AckRule::quick`] segments of a connection are acknowledged one by one. Linux does so for up to 16
//! (`tcp_enter_quickack_mode` in `net/ipv4/tcp_input.c`), and begins anew after a pause or a segment out of order; here it
//! does not begin anew.
//!
//! A segment that is out of order, fills a gap, has arrived before or ends a message is acknowledged at once. The exact
//! echo serves NewReno too, whose sender cuts once per window either way; RFC 3168's latch until CWR is left out. So is a
//! limit of the receiver's memory other than [`AckRule::span`].

use flowsieve_core::Time;
use flowsieve_core::message::Held;

use crate::tcp::header::{AckHeader, GapReport};
use crate::tcp::params::Gaps;
use crate::tcp::priority_gaps::PriorityGaps;
use crate::tcp::ring::Ring;

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// As in [`DataHeader`](crate::tcp::header::DataHeader).
    pub seq: u32,
    /// As in [`DataHeader`](crate::tcp::header::DataHeader).
    pub message: u32,
    /// As in [`DataHeader`](crate::tcp::header::DataHeader).
    pub last: bool,
    /// As in [`DataHeader`](crate::tcp::header::DataHeader).
    pub retransmission: bool,
    /// Whether its ECN field says congestion experienced.
    pub marked: bool,
    /// The priority that it was sent with.
    pub priority: u8,
    /// When it was sent, in the units of the sender's timestamps.
    pub stamp: u32,
}

/// An ACK to send, with the timestamp that it echoes.
pub type Reply = (AckHeader, u32);

/// How acknowledgements are delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRule {
    /// Acknowledge every n-th segment.
    pub every: u32,
    /// Acknowledge each of the first segments of a connection.
    pub quick: u32,
    /// How long an ACK may be held back.
    pub delay: Time,
    /// The number of segments from the cumulative edge on that are accepted; others are dropped.
    pub span: u32,
}

/// The receiving side of a connection.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Everything below has arrived.
    next: u32,
    /// One past the highest that has arrived.
    highest: u32,
    /// The segments that have arrived above `next`.
    arrived: Ring<1>,
    /// (one past its last segment, message) of messages whose last segment has arrived and that have not been reported.
    ends: Vec<(u32, u32)>,
    /// Segments that wait for their ACK, and the timestamp of the oldest of them.
    held: u32,
    held_stamp: u32,
    /// Segments in order that were acknowledged each by itself since the connection is young.
    quick: u32,
    /// Whether the segments held were marked.
    marked: bool,
    deadline: Option<Time>,
    /// First transmissions that arrived after a later one, since the last message was complete.
    out_of_order: u32,
    /// Present if priorities are compared.
    gaps: Option<Box<PriorityGaps>>,
    /// What the priorities say about the first gap.
    gap: GapReport,
    /// The segments held beyond `next`; created with the first of them.
    beyond: Option<Box<Beyond>>,
}

/// Segments beyond the cumulative edge.
#[derive(Clone, Debug, Default)]
struct Beyond {
    segments: u32,
    /// The most at once, and segments times ps, since the last message was complete; up to `counted`.
    most: u32,
    segment_ps: u64,
    counted: Time,
}

impl Beyond {
    /// Counts the segments held until now.
    fn count(&mut self, now: Time) {
        let held = now.since(self.counted).0.saturating_mul(self.segments.into());
        self.segment_ps = self.segment_ps.saturating_add(held);
        self.counted = now;
    }

    fn add(&mut self, now: Time) {
        self.count(now);
        self.segments += 1;
        self.most = self.most.max(self.segments);
    }
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// ACKs to send now, in this order: the first is for segments held before a change of mark.
    pub replies: [Option<Reply>; 2],
    /// Whether [`Receiver::complete`] may have a message.
    pub advanced: bool,
}

impl Receiver {
    /// Builds a receiver whose ACKs report what the priorities around a gap tell
    /// ([`LossDetection::ByPriority`](crate::tcp::params::LossDetection)).
    ///
    /// QCLIMB answers only segments out of order by such ACKs. Here, a segment that fills a gap or a part of it, while
    /// others are still missing, gets one too; the paper does not cover this case. If nothing further arrives, it is the
    /// next hole's only report. Without it, two losses in a row would become a timeout.
    pub fn comparing_priorities(gaps: Gaps) -> Receiver {
        Receiver { gaps: Some(Box::new(PriorityGaps::new(gaps))), ..Receiver::default() }
    }

    /// Handles a data packet.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, data: &Arrival, rule: AckRule) -> Reaction {
        let mut reaction = Reaction::default();
        if self.held > 0 && self.marked != data.marked {
            reaction.replies[0] = Some(self.acknowledge((0, 0), self.marked, false, self.held_stamp));
        }
        if data.seq == self.next {
            self.note(data);
            if let Some(gaps) = &mut self.gaps {
                gaps.on_next(data);
            }
            let fills_gap = self.highest > self.next + 1;
            self.move_edge(now);
            reaction.advanced = true;
            if self.held == 0 {
                self.held_stamp = data.stamp;
            }
            self.held += 1;
            self.marked = data.marked;
            let young = self.quick < rule.quick;
            self.quick += u32::from(young);
            if fills_gap || data.last || young || self.held >= rule.every {
                reaction.replies[1] = Some(self.acknowledge((0, 0), data.marked, false, self.held_stamp));
            } else if self.deadline.is_none() {
                self.deadline = Some(Time(now.0.saturating_add(rule.delay.0)));
            }
        } else {
            reaction.replies[1] = Some(self.on_disordered(now, data, rule));
        }
        reaction
    }

    /// Handles a data packet that is not the next one.
    #[inline(never)]
    fn on_disordered(&mut self, now: Time, data: &Arrival, rule: AckRule) -> Reply {
        let (block, known) = if data.seq < self.next {
            ((data.seq, data.seq), true)
        } else if data.seq - self.next >= rule.span || data.seq == u32::MAX {
            ((0, 0), false)
        } else {
            let known = data.seq < self.highest && self.arrived.get(0, data.seq);
            if !known {
                self.note(data);
                self.arrived.ensure(self.next, self.highest);
                self.arrived.set(0, data.seq);
                self.beyond.get_or_insert_default().add(now);
            }
            if self.gaps.is_some() {
                return self.compare(data, known);
            }
            (self.run_around(data.seq), known)
        };
        self.acknowledge(block, data.marked, known, data.stamp)
    }

    /// Handles a segment beyond the edge if priorities are compared.
    #[cold]
    fn compare(&mut self, data: &Arrival, known: bool) -> Reply {
        let block = self.run_around(data.seq);
        let mut with_block = GapReport::None;
        if let Some(gaps) = &mut self.gaps {
            if !known {
                self.gap = gaps.on_beyond(data);
            }
            with_block = gaps.with_block(block.0);
        }
        let (ack, stamp) = self.acknowledge(block, data.marked, known, data.stamp);
        (AckHeader { gap: with_block, ..ack }, stamp)
    }

    /// Notes a segment that arrives for the first time.
    #[inline(always)]
    fn note(&mut self, data: &Arrival) {
        self.out_of_order += u32::from(data.seq < self.highest && !data.retransmission);
        self.highest = self.highest.max(data.seq + 1);
        if data.last {
            self.ends.push((data.seq + 1, data.message));
        }
    }

    /// Moves the edge past `next`, which has arrived, and past everything contiguous with it.
    #[inline(always)]
    fn move_edge(&mut self, now: Time) {
        if self.highest == self.next + 1 {
            self.next += 1;
            return;
        }
        self.move_edge_far(now);
    }

    #[inline(never)]
    fn move_edge_far(&mut self, now: Time) {
        let from = self.next + 1;
        let to = self.arrived.run_end(0, from);
        self.arrived.for_each_word(from, to, |word, mask| word[0] &= !mask);
        self.next = to;
        if let Some(beyond) = &mut self.beyond {
            beyond.count(now);
            beyond.segments -= to - from;
        }
        if let Some(gaps) = &mut self.gaps {
            self.gap = gaps.on_edge(to);
        }
    }

    /// Returns the run of segments above `next` that contains `seq`.
    #[inline]
    fn run_around(&self, seq: u32) -> (u32, u32) {
        (self.arrived.run_start(0, seq, self.next), self.arrived.run_end(0, seq))
    }

    fn acknowledge(&mut self, block: (u32, u32), marked: bool, duplicate: bool, stamp: u32) -> Reply {
        self.held = 0;
        self.deadline = None;
        (AckHeader { cumulative: self.next, block, marked, duplicate, gap: self.gap }, stamp)
    }

    /// Answers a probe with what has arrived so far.
    pub fn on_probe(&mut self, stamp: u32) -> Reply {
        let marked = self.held > 0 && self.marked;
        self.acknowledge((0, 0), marked, false, stamp)
    }

    /// Returns when [`Receiver::on_timer`] wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Returns the ACK that was held back, when the clock has reached [`Receiver::deadline`].
    pub fn on_timer(&mut self, now: Time) -> Option<Reply> {
        self.deadline.filter(|&at| at <= now)?;
        Some(self.acknowledge((0, 0), self.marked, false, self.held_stamp))
    }

    /// Returns whether the last segment of a message has arrived that is not reported yet.
    #[inline(always)]
    pub fn has_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Returns the next complete message, with the first transmissions that arrived out of order since the previous one.
    pub fn complete(&mut self) -> Option<(u32, u32)> {
        let at = self.ends.iter().position(|&(end, _)| end <= self.next)?;
        let (_, message) = self.ends.remove(at);
        Some((message, std::mem::take(&mut self.out_of_order)))
    }

    /// Returns what was held since the last call, in segments of `segment` bytes; `None`: nothing.
    pub fn take_held(&mut self, now: Time, segment: u16) -> Option<Held> {
        let beyond = self.beyond.as_mut()?;
        beyond.count(now);
        let most = std::mem::replace(&mut beyond.most, beyond.segments);
        let byte_ns = std::mem::take(&mut beyond.segment_ps).saturating_mul(segment.into()) / 1_000;
        (most > 0).then(|| Held { most_bytes: u64::from(most) * u64::from(segment), byte_ns })
    }
}
