//! Messages on a connection, and the segments of its sequence space that each one has.

use std::collections::VecDeque;

use flowsieve_core::Message;
use flowsieve_core::message::Effort;

use super::board::Board;

/// A message on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The message.
    pub message: Message,
    /// Its first segment.
    pub first: u32,
    /// One past its last segment.
    pub end: u32,
    /// The cumulative acknowledgement at which the connection has to act: the message's end, or earlier that of a
    /// [step](crate::tcp::steps).
    pub watch: u32,
    /// The effort of its delivery: retransmitted segments, timeouts while it was the oldest on its connection, segments
    /// taken for lost before the timer, and duplicate ACKs. Timeouts of the SYN and of probes count, too.
    pub effort: Effort,
}

impl Span {
    /// Returns the payload bytes before a segment.
    pub fn offset(&self, seq: u32, segment: u16) -> u64 {
        u64::from(seq - self.first) * u64::from(segment)
    }

    /// Returns the payload bytes of a segment: full, except for the last one.
    pub fn payload(&self, seq: u32, segment: u16) -> u16 {
        let left = self.message.bytes - self.offset(seq, segment);
        left.min(u64::from(segment)) as u16
    }
}

/// The unfinished messages of a connection, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// The oldest is stored separately: most connections have one message, and then nothing is allocated.
    oldest: Option<Span>,
    waiting: VecDeque<Span>,
    end: u32,
}

impl Messages {
    /// Appends a message in segments of `segment` bytes.
    ///
    /// # Panics
    ///
    /// If the connection would have more than 2^32 - 1 segments: 6 TB at 1460 bytes each. The readers of flows refuse such lists.
    pub fn push(&mut self, message: Message, segment: u16) {
        let segments = message.bytes.div_ceil(u64::from(segment)).max(1);
        let end = u32::try_from(segments).ok().and_then(|segments| self.end.checked_add(segments));
        let end = end.expect("a connection carries fewer than 2^32 segments");
        let span = Span { message, first: self.end, end, watch: end, effort: Effort::default() };
        self.end = span.end;
        match self.oldest {
            None => self.oldest = Some(span),
            Some(_) => self.waiting.push_back(span),
        }
    }

    /// Returns one past the last segment of the last message.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Returns whether every message is finished.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    /// Returns the oldest message.
    pub fn oldest_mut(&mut self) -> Option<&mut Span> {
        self.oldest.as_mut()
    }

    /// Returns the message of an unfinished segment.
    #[inline(always)]
    pub fn of(&self, seq: u32) -> Option<&Span> {
        match &self.oldest {
            Some(span) if seq < span.end => Some(span),
            _ => self.waiting.get(self.waiting.partition_point(|span| span.end <= seq)),
        }
    }

    /// Returns the same, mutable.
    #[inline]
    pub fn of_mut(&mut self, seq: u32) -> Option<&mut Span> {
        match &mut self.oldest {
            Some(span) if seq < span.end => Some(span),
            _ => {
                let at = self.waiting.partition_point(|span| span.end <= seq);
                self.waiting.get_mut(at)
            }
        }
    }

    /// Counts those of these segments that are lost: they were found before the timer.
    #[cold]
    pub(crate) fn count_found_lost(&mut self, board: &Board, segments: impl IntoIterator<Item = u32>) {
        for seq in segments.into_iter().filter(|&seq| board.is_lost(seq)) {
            if let Some(span) = self.of_mut(seq) {
                span.effort.found_lost += 1;
            }
        }
    }

    /// Counts an ACK that asks once more for the oldest outstanding segment.
    #[cold]
    pub(crate) fn count_duplicate_ack(&mut self, oldest: u32) {
        if let Some(span) = self.of_mut(oldest) {
            span.effort.duplicate_acks += 1;
        }
    }

    /// Returns whether the oldest message may have finished, or reached another step.
    #[inline(always)]
    pub fn is_due(&self, cumulative: u32) -> bool {
        self.oldest.as_ref().is_some_and(|span| span.watch <= cumulative)
    }

    /// Takes the oldest message if all of it is below `cumulative`.
    #[inline]
    pub fn finish(&mut self, cumulative: u32) -> Option<Span> {
        let done = self.oldest.take_if(|span| span.end <= cumulative)?;
        self.oldest = self.waiting.pop_front();
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans__follow_one_another() {
        let mut messages = Messages::default();
        for (id, bytes) in [(7, 3_000), (8, 1_460), (9, 1)] {
            messages.push(Message { id, bytes, ..Message::default() }, 1_460);
        }
        assert_eq!(messages.end(), 5);
        let ids: Vec<u32> = (0..5).map(|seq| messages.of(seq).unwrap().message.id).collect();
        assert_eq!(ids, [7, 7, 7, 8, 9]);
        let first = *messages.of(2).unwrap();
        assert_eq!((first.offset(2, 1_460), first.payload(2, 1_460)), (2_920, 80));
        assert_eq!(messages.finish(2), None);
        assert_eq!(messages.finish(4).unwrap().message.id, 7);
        assert_eq!(messages.finish(4).unwrap().message.id, 8);
        assert_eq!(messages.finish(4), None);
        assert_eq!(messages.of(4).unwrap().message.id, 9);
    }
}
