//! The time that flows spent in each step of QCLIMB's Algorithm 1: its performance breakdown (Li et al., NSDI 2024 §5.2.1, Fig
//! 16).

use serde::{Deserialize, Serialize};

use crate::FlowRow;

/// Declares [`Step`]: for each its description in code, its name, its column, and the column's description.
macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident, $name:literal, $column:literal, $about:literal;)*) => {
        /// A step: the range that holds a flow's oldest unacknowledged byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Step {
            $($(#[$doc])* $step,)*
        }

        impl Step {
            /// All, in the order in which a flow comes to them.
            pub const ALL: [Step; [$(Step::$step),*].len()] = [$(Step::$step),*];

            /// Its name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Step::$step => $name,)*
                }
            }

            /// The column of the time in it.
            pub fn column(self) -> &'static str {
                match self {
                    $(Step::$step => $column,)*
                }
            }

            /// The description of that column.
            pub fn about(self) -> &'static str {
                match self {
                    $(Step::$step => $about,)*
                }
            }
        }
    };
}

steps! {
    /// Its size is being predicted, and nothing is sent.
    Inference, "inference", "inference_ns", "time in which a forest predicts the size";
    /// Below the lower bound.
    Climb, "climb", "climb_ns", "time in which the flow climbs";
    /// Beyond the lower bound by less than the slack.
    Slack, "slack", "slack_ns", "time between its predicted bounds";
    /// Beyond the slack, and below the upper bound. A flow without bounds is in no other step.
    Demotion, "demotion", "demotion_ns", "time in which it is demoted";
    /// Beyond the upper bound.
    Beyond, "beyond", "beyond_ns", "time beyond its upper bound";
}

/// Time that a flow spent in each step, in nanoseconds. Together that is the time, in whole nanoseconds, from its arrival at
/// its sender to the last acknowledgement there: its FCT if that ends with the ACK, and more if it ends with the arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepRow {
    /// By [`Step::ALL`]. On the heap, so that the rows of flows without steps are short.
    ns: Box<[u64; Step::ALL.len()]>,
}

impl StepRow {
    /// The times in each of [`Step::ALL`].
    pub fn of_ns(ns: [u64; Step::ALL.len()]) -> StepRow {
        StepRow { ns: Box::new(ns) }
    }

    /// The time in a step.
    pub fn get(&self, step: Step) -> u64 {
        self.ns[step as usize]
    }
}

/// The time of several flows in the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// Nanoseconds in each of [`Step::ALL`], of all flows whose steps are known.
    ns: [f64; Step::ALL.len()],
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
            steps: Some(StepRow::of_ns([10, climb_ns, 0, demotion_ns, 0])),
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
