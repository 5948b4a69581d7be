//! How long the messages of a connection are in the steps of QCLIMB (NSDI 2024 §5.2.1, Fig 16).
//!
//! The oldest byte that is not acknowledged changes only with the cumulative acknowledgement. So the clock is read when
//! that has reached the next step, for which the connection [watches](Span::watch): all the time since the last reading
//! belongs to one step. Connections that are not measured watch for the ends of messages only.

use std::collections::VecDeque;

use flowsieve_core::Time;
use flowsieve_core::steps::{Step, StepTimes, Steps};

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
    steps: Steps,
    /// The step that it is in, and until when time has been added.
    step: Step,
    since: Time,
    times: StepTimes,
}

impl StepClock {
    /// Begins a message, later than any before. The time since it was handed over was its inference. Returns the cumulative
    /// acknowledgement of its next step, in segments of `segment` bytes.
    pub fn begin(&mut self, now: Time, span: &Span, steps: Steps, segment: u16) -> u32 {
        let times = StepTimes { inference: now.since(span.message.start), ..StepTimes::default() };
        let (message, step) = (span.message.id, steps.step(0));
        self.messages.push_back(Measured { message, steps, step, since: now, times });
        next_step(&steps, span, 0, segment)
    }

    /// Notes that everything below `una` is acknowledged, which may bring the oldest message, `span`, to another step.
    /// Returns the acknowledgement of its next step. Nothing changes for a message that waits for others: its oldest byte
    /// is its first.
    pub fn advance(&mut self, now: Time, span: &Span, una: u32, segment: u16) -> u32 {
        let Some(it) = self.messages.front_mut().filter(|it| it.message == span.message.id) else { return span.end };
        if una < span.watch {
            return span.watch;
        }
        it.times.add(it.step, now.since(it.since));
        let before = span.offset(una.min(span.end), segment);
        (it.step, it.since) = (it.steps.step(before), now);
        next_step(&it.steps, span, before, segment)
    }

    /// Takes the times of the oldest message if `message` is its number.
    pub fn end(&mut self, message: u32) -> Option<StepTimes> {
        self.messages.front().filter(|it| it.message == message)?;
        self.messages.pop_front().map(|it| it.times)
    }
}

/// Returns the first segment in a later step than the byte after `before` bytes; the message's end if there is none.
fn next_step(steps: &Steps, span: &Span, before: u64, segment: u16) -> u32 {
    let ends = [steps.lower, steps.slack_end, steps.upper].into_iter().filter(|&end| end > before);
    let segments = ends.min().unwrap_or(u64::MAX).div_ceil(segment.into());
    span.first + segments.min(u64::from(span.end - span.first)) as u32
}
