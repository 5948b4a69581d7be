//! Flows that waited for a first answer: their SYN or first window was lost while the round trip was unknown, so their timer
//! ran for the initial timeout, a second in RFC 6298. A few of them can dominate a mean.

use flowsieve_record::FlowRow;
use serde::{Deserialize, Serialize};

use crate::statistics::Statistic;
use crate::{ClassSummary, Metric, PointSummary, SizeClass};

/// Flows are few up to this share of their class.
const FEW: f64 = 0.01;
/// The share of a mean from which on they count as large.
const MUCH: f64 = 0.1;

/// Sums over flows that finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstAnswers {
    /// Flows that waited in a timeout while nothing had been answered on their connection.
    pub flows: u64,
    /// The shortest of these waits, in µs.
    pub least_us: u32,
    /// The longest.
    pub most_us: u32,
    /// The FCTs of these flows, in ps.
    pub fct_ps: f64,
    /// The FCTs of all flows, in ps.
    pub all_fct_ps: f64,
}

impl FirstAnswers {
    /// The sums for one flow.
    pub(crate) fn of(row: &FlowRow) -> FirstAnswers {
        let Some(fct_ps) = row.fct_ps.map(|fct_ps| fct_ps as f64) else { return FirstAnswers::default() };
        let all = FirstAnswers { all_fct_ps: fct_ps, ..FirstAnswers::default() };
        match row.unanswered_us {
            0 => all,
            waited => FirstAnswers { flows: 1, least_us: waited, most_us: waited, fct_ps, ..all },
        }
    }

    /// Adds the sums of other flows.
    pub(crate) fn add(&mut self, other: &FirstAnswers) {
        self.least_us = match (self.flows, other.flows) {
            (0, _) => other.least_us,
            (_, 0) => self.least_us,
            _ => self.least_us.min(other.least_us),
        };
        self.most_us = self.most_us.max(other.most_us);
        self.flows += other.flows;
        self.fct_ps += other.fct_ps;
        self.all_fct_ps += other.all_fct_ps;
    }

    /// Whether no flow waited.
    pub(crate) fn is_none(&self) -> bool {
        self.flows == 0
    }
}

/// The share of a class that flows waiting for a first answer make.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// The class.
    pub class: SizeClass,
    /// Their number, in all seeds.
    pub flows: u64,
    /// Their shortest and longest wait, in µs.
    pub waits_us: (u32, u32),
    /// Their share of the mean FCT.
    pub share: f64,
}

impl Waited {
    /// In a sentence.
    pub fn text(&self) -> String {
        let s = if self.flows == 1 { "" } else { "s" };
        let (least, most) = self.waits_us;
        let waits = if least == most { in_words(least) } else { format!("{} to {}", in_words(least), in_words(most)) };
        let (flows, class) = (self.flows, &self.class.name);
        let make = if self.flows == 1 { "it makes" } else { "they make" };
        format!(
            "{flows} flow{s} waited {waits} for a first answer; {make} up {:.0} % of the mean of {class}",
            100.0 * self.share
        )
    }
}

/// What to do about it.
pub const REMEDY: &str = "compare percentiles; or set `initial_rto` for this network, or connections = \"warm\"";

/// The classes of a point in which waiting flows make a large share of the mean, if they are few or raise it above the 99th
/// percentile.
pub fn waited(point: &PointSummary) -> Vec<Waited> {
    point.classes.iter().filter_map(of_class).collect()
}

fn of_class(class: &ClassSummary) -> Option<Waited> {
    let mut all = FirstAnswers::default();
    class.seeds.iter().for_each(|seed| all.add(&seed.first_answers));
    if all.is_none() {
        return None;
    }
    // Each seed counts alike, as in the mean over seeds.
    let of_seed = |of: fn(&FirstAnswers) -> f64| -> f64 {
        let finished = class.seeds.iter().filter(|seed| seed.flows > seed.unfinished);
        finished.map(|seed| of(&seed.first_answers) / (seed.flows - seed.unfinished) as f64).sum()
    };
    let share = of_seed(|answers| answers.fct_ps) / of_seed(|answers| answers.all_fct_ps);
    let value = |statistic| class.estimate(Metric::Fct, statistic).map(|estimate| estimate.value);
    let is_above = value(Statistic::Mean)? > value(Statistic::P99)?;
    let are_few = all.flows as f64 <= FEW * class.flows() as f64;
    (share >= MUCH && (is_above || are_few)).then(|| Waited {
        class: class.class.clone(),
        flows: all.flows,
        waits_us: (all.least_us, all.most_us),
        share,
    })
}

/// A time in the largest unit in which it is a whole number.
fn in_words(us: u32) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{} s", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("{} ms", us / 1_000),
        us => format!("{us} us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{flow, summary};

    /// Makes flows of 10 us; some waited before.
    fn flows(all: u64, waited: &[(u32, u64)]) -> Vec<FlowRow> {
        let quick = (0..all - waited.len() as u64).map(|_| flow(1_000, Some(10)));
        let slow = waited.iter().map(|&(unanswered_us, fct_us)| FlowRow { unanswered_us, ..flow(1_000, Some(fct_us)) });
        quick.chain(slow).collect()
    }

    #[test]
    fn waited__few_flows_that_make_much_of_a_mean() {
        // 2 of 1,000: 2 · 4,000 us of 9,980 + 8,000 us.
        let point = summary(&[(1, flows(1_000, &[(3_000, 4_000), (1_000_000, 4_000)]))]);
        let found = waited(&point);
        let said = &found[0];
        assert_eq!((said.flows, said.waits_us), (2, (3_000, 1_000_000)));
        assert!((said.share - 8_000.0 / 17_980.0).abs() < 1e-12, "{said:?}");
        assert_eq!(said.class, point.classes[0].class);
        let name = &said.class.name;
        assert_eq!(
            said.text(),
            format!("2 flows waited 3 ms to 1 s for a first answer; they make up 44 % of the mean of {name}")
        );
        // The other class with such flows is all flows.
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn waited__a_mean_above_its_p99() {
        let point = summary(&[(1, flows(100, &[(1_000_000, 1_000_100)]))]);
        assert!(
            waited(&point)[0]
                .text()
                .starts_with("1 flow waited 1 s for a first answer; it makes up 100 % of the mean of ")
        );
    }

    #[test]
    fn waited__nothing_where_they_make_little_or_are_many() {
        assert_eq!(waited(&summary(&[(1, flows(1_000, &[(1, 100)]))])), []);
        let many: Vec<_> = (0..500).map(|_| (1_000, 1_010)).collect();
        assert_eq!(waited(&summary(&[(1, flows(1_000, &many))])), []);
        assert_eq!(waited(&summary(&[(1, flows(100, &[]))])), []);
    }
}
