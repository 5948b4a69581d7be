//! How long the messages of a connection are in the steps of QCLIMB (NSDI 2024 §5.2.1, Fig 16).
//!
//! The oldest byte that is not acknowledged changes with the cumulative acknowledgement alone. So all the time since it
//! last moved belongs to one step, and is added when it moves again.

use std::collections::VecDeque;

use flowsieve_core::Time;
use flowsieve_core::steps::{StepTimes, Steps};

use crate::tcp::messages::Span;

/// The clock of a connection whose messages are measured.
#[derive(Clone, Debug, Default)]
pub struct StepClock {
    /// Oldest first.
    messages: VecDeque<Measured>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    message: u32,
    /// Its first segment, and one past its last.
    segments: (u32, u32),
    steps: Steps,
    /// Up to when its time is added up.
    since: Time,
    times: StepTimes,
}

impl StepClock {
    /// A message begins, later than any before. What has passed since it was handed over was its inference.
    pub fn begin(&mut self, now: Time, span: &Span, steps: Steps) {
        let times = StepTimes { inference: now.since(span.message.start), ..StepTimes::default() };
        let (message, segments) = (span.message.id, (span.first, span.end));
        self.messages.push_back(Measured { message, segments, steps, since: now, times });
    }

    /// The cumulative acknowledgement moves from one segment to another, of `segment` bytes each. A message whose first
    /// segment waits for others does not notice: its oldest byte stays where it was.
    #[inline(never)]
    pub fn advance(&mut self, now: Time, (from, to): (u32, u32), segment: u16) {
        for it in &mut self.messages {
            let (first, end) = it.segments;
            if to <= first {
                break;
            }
            if from < end {
                let before = u64::from(from.max(first) - first) * u64::from(segment);
                it.times.add(it.steps.step(before), now.since(it.since));
                it.since = now;
            }
        }
    }

    /// Takes the times of the oldest message if it is this one.
    pub fn end(&mut self, message: u32) -> Option<StepTimes> {
        self.messages.front().filter(|it| it.message == message)?;
        self.messages.pop_front().map(|it| it.times)
    }
}
