//! The time that flows spent in each step of QCLIMB's Algorithm 1: its performance breakdown (Li et al., NSDI 2024 §5.2.1, Fig
//! 16).

use serde::{Deserialize, Serialize};

use crate::FlowRow;

/// A step: the range that holds a flow's oldest unacknowledged byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its size is being predicted, and nothing is sent.
    Inference,
    /// Below the lower bound.
    Climb,
    /// Beyond the lower bound by less than the slack.
    Slack,
    /// Beyond the slack, and below the upper bound. A flow without bounds is in no other step.
    Demotion,
    /// Beyond the upper bound.
    Beyond,
}

impl Step {
    /// All, in the order in which a flow comes to them.
    pub const ALL: [Step; 5] = [Step::Inference, Step::Climb, Step::Slack, Step::Demotion, Step::Beyond];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Step::Inference => "inference",
            Step::Climb => "climb",
            Step::Slack => "slack",
            Step::Demotion => "demotion",
            Step::Beyond => "beyond",
        }
    }
}

/// Time that a flow spent in each step, in nanoseconds. Together that is the time, in whole nanoseconds, from its arrival at
/// its sender to the last acknowledgement there: its FCT if that ends with the ACK, and more if it ends with the arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepRow {
    /// [`Step::Inference`].
    pub inference_ns: u64,
    /// [`Step::Climb`].
    pub climb_ns: u64,
    /// [`Step::Slack`].
    pub slack_ns: u64,
    /// [`Step::Demotion`].
    pub demotion_ns: u64,
    /// [`Step::Beyond`].
    pub beyond_ns: u64,
}

impl StepRow {
    /// The time in a step.
    pub fn get(&self, step: Step) -> u64 {
        match step {
            Step::Inference => self.inference_ns,
            Step::Climb => self.climb_ns,
            Step::Slack => self.slack_ns,
            Step::Demotion => self.demotion_ns,
            Step::Beyond => self.beyond_ns,
        }
    }
}

/// The time of several flows in the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// Nanoseconds in each of [`Step::ALL`], of all flows whose steps are known.
    ns: [f64; 5],
}

impl Breakdown {
    /// The times of one flow.
    pub fn of(row: &FlowRow) -> Breakdown {
        let Some(steps) = &row.steps else { return Breakdown::default() };
        Breakdown { ns: Step::ALL.map(|step| steps.get(step) as f64) }
    }

    /// Adds the times of other flows.
    pub fn add(&mut self, other: &Breakdown) {
        self.ns.iter_mut().zip(other.ns).for_each(|(ns, more)| *ns += more);
    }

    /// Whether no flow's steps are known.
    pub fn is_none(&self) -> bool {
        *self == Breakdown::default()
    }

    /// Whether this cannot be valid.
    pub fn is_wrong(&self) -> bool {
        self.ns.iter().any(|ns| !ns.is_finite() || *ns < 0.0)
    }

    /// The share of the flows' time that was spent in a step: the mean time in it over the mean of all. `None` if no flow's
    /// steps are known.
    pub fn share(&self, step: Step) -> Option<f64> {
        let all: f64 = self.ns.iter().sum();
        (all > 0.0).then(|| self.ns[step as usize] / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share__of_the_time_of_all_flows() {
        let row = |climb_ns, demotion_ns| FlowRow {
            steps: Some(StepRow { inference_ns: 10, climb_ns, demotion_ns, ..StepRow::default() }),
            ..FlowRow::default()
        };
        let mut all = Breakdown::default();
        assert!(all.is_none() && all.share(Step::Climb).is_none());
        // 100 ns, nine tenths of them in the climb, and 300 ns without any; one flow that has no steps.
        for row in [row(90, 0), row(0, 290), FlowRow::default()] {
            all.add(&Breakdown::of(&row));
        }
        let shares = Step::ALL.map(|step| all.share(step).unwrap());
        assert_eq!(shares, [0.05, 0.225, 0.0, 0.725, 0.0]);
    }
}
