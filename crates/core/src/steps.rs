//! The steps of QCLIMB's Algorithm 1 (Li et al., NSDI 2024, Appendix C), and the time that a message spends in each: the
//! paper's performance breakdown (§5.2.1, Fig 16).
//!
//! The step of an instant is that of the oldest byte that is not acknowledged. So the time before the first packet is that
//! of byte 0, except for the inference. The same holds while a message waits for others of its connection.

use crate::units::Time;

/// A step of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The message's size is being predicted, and nothing of it is sent.
    Inference,
    /// B < L: up towards the lower bound.
    Climb,
    /// L ≤ B < L + S: the highest priority.
    Slack,
    /// L + S ≤ B < U: down, as in PIAS. A message without bounds has only this step.
    Demotion,
    /// Otherwise: the lowest priority.
    Beyond,
}

/// The ends of a message's steps, in bytes before a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// L: the climb.
    pub lower: u64,
    /// L + S: the slack.
    pub slack_end: u64,
    /// U: the demotion, unless the slack ends later.
    pub upper: u64,
}

impl Steps {
    /// The steps of a message without bounds.
    pub const DEMOTION: Steps = Steps { lower: 0, slack_end: 0, upper: u64::MAX };

    /// Returns the step of a byte with `before` bytes before it.
    #[inline]
    pub fn step(&self, before: u64) -> Step {
        if before < self.lower {
            Step::Climb
        } else if before < self.slack_end {
            Step::Slack
        } else if before < self.upper {
            Step::Demotion
        } else {
            Step::Beyond
        }
    }
}

/// How long a message was in each step. The sum is the time from its start to its last acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// [`Step::Inference`].
    pub inference: Time,
    /// [`Step::Climb`].
    pub climb: Time,
    /// [`Step::Slack`].
    pub slack: Time,
    /// [`Step::Demotion`].
    pub demotion: Time,
    /// [`Step::Beyond`].
    pub beyond: Time,
}

impl StepTimes {
    /// Adds time in a step.
    #[inline]
    pub fn add(&mut self, step: Step, time: Time) {
        let sum = match step {
            Step::Inference => &mut self.inference,
            Step::Climb => &mut self.climb,
            Step::Slack => &mut self.slack,
            Step::Demotion => &mut self.demotion,
            Step::Beyond => &mut self.beyond,
        };
        *sum += time;
    }

    /// Returns the times in the order of the fields, in whole nanoseconds. They add up to the whole nanoseconds of all
    /// steps together: each step is truncated at its end, not by its length.
    pub fn in_ns(&self) -> [u64; 5] {
        let mut end = Time::ZERO;
        [self.inference, self.climb, self.slack, self.demotion, self.beyond].map(|time| {
            let begin = end;
            end += time;
            end.0 / 1_000 - begin.0 / 1_000
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn step__by_the_bytes_before() {
        let steps = Steps { lower: 3, slack_end: 5, upper: 7 };
        let found = [0, 2, 3, 4, 5, 6, 7, 9].map(|before| steps.step(before));
        let expected = {
            use Step::{Beyond, Climb, Demotion, Slack};
            [Climb, Climb, Slack, Slack, Demotion, Demotion, Beyond, Beyond]
        };
        assert_eq!(found, expected);
        // The slack goes beyond the upper bound, so there is no demotion.
        let narrow = Steps { lower: 3, slack_end: 5, upper: 4 };
        assert_eq!([4, 5].map(|before| narrow.step(before)), [Step::Slack, Step::Beyond]);
        assert_eq!([0, 1 << 40].map(|before| Steps::DEMOTION.step(before)), [Step::Demotion; 2]);
    }

    proptest! {
        #[test]
        fn in_ns__no_nanosecond_is_lost_between_steps(all in prop::collection::vec((0usize..5, 0u64..5_000), 0..9)) {
            let steps = [Step::Inference, Step::Climb, Step::Slack, Step::Demotion, Step::Beyond];
            let mut times = StepTimes::default();
            all.iter().for_each(|&(step, ps)| times.add(steps[step], Time(ps)));
            let sum: u64 = all.iter().map(|(_, ps)| ps).sum();
            prop_assert_eq!(times.in_ns().iter().sum::<u64>(), sum / 1_000);
            for (nth, ns) in times.in_ns().into_iter().enumerate() {
                let ps: u64 = all.iter().filter(|(step, _)| *step == nth).map(|(_, ps)| ps).sum();
                prop_assert!((ns * 1_000).abs_diff(ps) < 1_000);
            }
        }
    }
}
