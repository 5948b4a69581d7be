//! A paper's claims about its schemes, and whether a result supports them.
//!
//! Most claims are about the ratio of a scheme's figure to a baseline's, over the same flows. Such a claim accepts a set of
//! ratios: a stated change give or take a tolerance, a range, or everything below or above 1. A claim about one scheme accepts
//! a set of values of the figure itself. A claim about several schemes accepts an order, or values that are close. A measured
//! value has a 95 % interval over seeds:
//!
//! | interval | verdict |
//! | --- | --- |
//! | inside the set | agrees |
//! | outside of it altogether | disagrees |
//! | across its edge | not resolved |
//!
//! With fewer seeds than the first look has, it is not judged.
//!
//! None of them counts if the claim names what its mechanism does and some run did nothing of it: the claim is not tested.
//!
//! If the paper's workload was not available and another stands in for it, only the side of 1 is judged, and whether a third of
//! the claimed size is reached: same direction, weaker, other direction, or not resolved.
//!
//! For a change or a value over several loads, the mean at these loads is taken in each seed. A range, an order and closeness
//! have to hold at each load. An "up to" is judged at the load with the most extreme ratio.

use flowsieve_results::measured::Quantity;
use flowsieve_results::{
    Axis, CoflowClass, Estimate, Experiment, Figure, Further, Metric, Ratio, ResultError, Statistic,
};
use serde::{Deserialize, Serialize};

/// The figures that a page shows of each point, for all flows.
pub(crate) const TABLE: [Figure; 3] = [
    Figure::Flows(Statistic::Mean, Metric::Fct),
    Figure::Flows(Statistic::P99, Metric::Fct),
    Figure::Flows(Statistic::Mean, Metric::Slowdown),
];

/// The share of a claimed size that a stand-in has to show, as logarithms of ratios.
pub(crate) const LEAST_SHARE: f64 = 1.0 / 3.0;

/// The table of an experiment file, and of a manifest.
pub(crate) const CLAIMS: &str = "claims";

/// The table of a manifest for those that are not measured.
const UNMEASURED: &str = "unmeasured";

/// A paper's claims about the points of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// Those with which measured values are compared.
    pub measured: Vec<Claim>,
    /// Those that no simulation measures.
    pub unmeasured: Vec<Unmeasured>,
}

impl Claims {
    /// Those of an experiment, as its manifest has them.
    ///
    /// # Errors
    /// If another version of the program wrote what this one cannot read.
    pub fn of(experiment: &Experiment) -> Result<Claims, ResultError> {
        let measured = experiment.further.rows(CLAIMS).map_err(ResultError::invalid)?;
        Ok(Claims { measured, unmeasured: experiment.further.rows(UNMEASURED).map_err(ResultError::invalid)? })
    }

    /// As the manifest has them.
    pub fn further(&self) -> Further {
        Further::default().with(CLAIMS, &self.measured).with(UNMEASURED, &self.unmeasured)
    }

    /// Every quantity that they need, and those that a page shows of each point; each once.
    pub fn needed(&self) -> Vec<Quantity> {
        let claimed = self.measured.iter().flat_map(Claim::quantities);
        let mut needed: Vec<Quantity> = Vec::new();
        for quantity in TABLE.map(Quantity::of_all_flows).into_iter().chain(claimed) {
            if !needed.contains(&quantity) {
                needed.push(quantity);
            }
        }
        needed
    }
}

/// The content of a claim. Changes are shares: −0.4 is 40 % less. Values are in the figure's own unit: [`Figure::unit`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// A change, over all loads together.
    Change(f64),
    /// A change between two, at each load.
    Between(f64, f64),
    /// A change at the load where it is most extreme, in its own direction.
    UpTo(f64),
    /// Less than the baseline.
    Lower,
    /// More than the baseline.
    Higher,
    /// A value of the scheme itself, over all loads together.
    Value(f64),
    /// A value between two, at each load.
    Within(f64, f64),
    /// Each scheme has less than the next, at each load.
    Rising,
    /// The ratio of any two schemes is about 1, at each load.
    Close,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its name, unique in the experiment.
    pub id: String,
    /// Where the paper says it: "Fig 10".
    pub place: String,
    /// What it is about.
    #[serde(flatten)]
    pub quantity: Quantity,
    /// The class of the coflows to which these are compared, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_class: Option<CoflowClass>,
    /// The scheme; for an order the first.
    pub scheme: String,
    /// The baseline of the comparison: one scheme for a change, none for a value, the other schemes of an order.
    #[serde(rename = "baseline", with = "one_or_more")]
    pub baselines: Vec<String>,
    /// The loads; none: all of the sweep.
    pub loads: Vec<f64>,
    /// Values of other swept keys; none: all of the sweep.
    pub at: Vec<Axis>,
    /// The claimed change, value or order.
    pub expected: Expected,
    /// How much the measured value may differ from the stated one, as a share of the baseline, or of a stated value.
    pub tolerance: f64,
    /// Any further remark.
    pub note: String,
    /// The workload that stands in for the paper's, if that was not available: then only a direction can be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// The claim that this one repeats, under another calibration of its stand-in or in another reading. For stand-ins the
    /// directions are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The reason for this claim's reading of the words, if it is not the literal one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// What has to be counted in each run of the scheme, or of all schemes of an order, before the claim is judged: a count with
    /// an [idle](Figure::idle) value. Else the mechanism that the claim is about did not act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts: Option<Figure>,
    /// The other text of the paper that contradicts it, with the calculation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicts: Option<String>,
    /// The cause, in one sentence, if the claim does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The scheme that does best what it is about: if even that scheme is off the claim, no scheme reaches it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal: Option<String>,
    /// The runs without that cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_test: Option<WhyTest>,
}

/// Runs from which the cause of a claim is taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhyTest {
    /// What they change, each as `path=value`.
    pub set: Vec<String>,
    /// What the claim's figure then is, as stated before they were made.
    pub expect: Expected,
}

/// As data one baseline is a text, any other number of them a list.
mod one_or_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }

    pub(super) fn serialize<S: Serializer>(names: &[String], to: S) -> Result<S::Ok, S::Error> {
        match names {
            [one] => one.serialize(to),
            more => more.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        Ok(match OneOrMore::deserialize(from)? {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        })
    }
}

/// A claim about something that no simulation measures, listed so that none is omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// Its name, unique in the experiment.
    pub id: String,
    /// Where the paper says it.
    pub place: String,
    /// What it says, in words.
    pub claimed: String,
    /// Why it is not measured.
    pub why: String,
    /// Any further remark.
    pub note: String,
}

/// Whether a result supports a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is within the claim.
    Agrees,
    /// None of it is.
    Disagrees,
    /// Neither.
    #[default]
    NotResolved,
    /// With another workload in place of the paper's, the whole interval lies on the claim's side of 1, at a third of the
    /// claimed size or beyond.
    SameDirection,
    /// With such a workload, the whole interval lies on that side, and short of that share.
    Weaker,
    /// With such a workload, the whole interval lies on the other side.
    OtherDirection,
    /// Some of its points have fewer seeds than the first look.
    NotJudged,
    /// The mechanism that it is about did not act in these runs.
    NotTested,
    /// No simulation measures it.
    NotMeasured,
}

impl Verdict {
    /// All, in the order of totals, with the words of tables.
    pub const ALL: [(Verdict, &'static str); 9] = [
        (Verdict::Agrees, "agrees"),
        (Verdict::Disagrees, "disagrees"),
        (Verdict::SameDirection, "same direction"),
        (Verdict::Weaker, "weaker"),
        (Verdict::OtherDirection, "other direction"),
        (Verdict::NotResolved, "not resolved"),
        (Verdict::NotJudged, "not judged"),
        (Verdict::NotTested, "not tested here"),
        (Verdict::NotMeasured, "not measured"),
    ];

    /// The words of tables.
    pub fn in_words(self) -> &'static str {
        Verdict::ALL.iter().find(|(verdict, _)| *verdict == self).map_or("", |(_, words)| words)
    }
}

/// A claim with the measured values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Checked {
    /// The ratio of a change: over all loads together, or at the most extreme one for an "up to".
    pub ratio: Option<Ratio>,
    /// For a mean FCT, the least ratio that any scheme could have: with the FCTs that the scheme's flows would have had alone
    /// in the network. Over all loads together, or for an "up to" at the load where it is least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Ratio>,
    /// The load at which an "up to" was judged.
    pub load: Option<f64>,
    /// Ratios by load. Also by case, if there are several, and by pair of schemes, for an order.
    pub by_load: Vec<(Option<f64>, Ratio)>,
    /// The figure itself by scheme, over all loads together: for a claim about a value or an order.
    pub values: Vec<(String, Estimate)>,
    /// The figure itself by scheme and load: for a claim about a value.
    pub values_by_load: Vec<(Option<f64>, Estimate)>,
    /// After how many seeds it was judged; none if there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// Whether the measured value supports the claim.
    pub verdict: Verdict,
    /// Why it is not resolved or judged, if the reason is more than the width of the interval, or why an order fails; else empty.
    pub why: String,
}

impl Claim {
    /// Its counterpart at the points of the baseline.
    pub(crate) fn quantity_of_baseline(&self) -> Quantity {
        let coflow_class = self.baseline_class.or(self.quantity.coflow_class);
        Quantity { coflow_class, ..self.quantity.clone() }
    }

    /// The quantities with which it is compared.
    pub fn quantities(&self) -> Vec<Quantity> {
        let ideal = self.quantity.ideal();
        let acts = self.acts.map(Quantity::of_all_flows);
        [Some(self.quantity.clone()), Some(self.quantity_of_baseline()), ideal, acts].into_iter().flatten().collect()
    }

    /// Whether no scheme could reach the claimed value in this network: flows that are alone in it take longer. A stand-in shows
    /// no value.
    pub fn is_beyond(&self, bound: &Ratio) -> bool {
        self.stand_in.is_none() && bound.interval.is_some_and(|(low, _)| self.expected.accepted(self.tolerance).1 < low)
    }
}

impl Checked {
    /// Whether more seeds could decide it: it is not resolved, and there is an interval.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::NotResolved
            && (self.ratio.is_some() || !self.by_load.is_empty() || !self.values_by_load.is_empty())
    }
}

impl Expected {
    /// The ratios or values that it accepts.
    pub(crate) fn accepted(self, tolerance: f64) -> (f64, f64) {
        match self {
            Expected::Change(change) | Expected::UpTo(change) => (1.0 + change - tolerance, 1.0 + change + tolerance),
            Expected::Between(low, high) => (1.0 + low - tolerance, 1.0 + high + tolerance),
            Expected::Lower | Expected::Rising => (f64::NEG_INFINITY, 1.0),
            Expected::Higher => (1.0, f64::INFINITY),
            Expected::Close => (1.0 - tolerance, 1.0 + tolerance),
            Expected::Value(value) => (value - tolerance * value.abs(), value + tolerance * value.abs()),
            Expected::Within(low, high) => (low - tolerance * low.abs(), high + tolerance * high.abs()),
        }
    }

    /// What a workload that stands in for the paper's can show: that a ratio lies on the same side of 1, and reaches a share of
    /// the claimed size, as logarithms; a claim without a size needs none. It is an expectation with its tolerance. `None`: it
    /// has no side.
    pub(crate) fn direction(self, share: f64) -> Option<(Expected, f64)> {
        const FAR: f64 = 1e9;
        let reached = |change: f64| libm::pow(1.0 + change, share);
        let around = |change: f64| match reached(change) {
            below if change < 0.0 => (0.5 * below - 1.0, 0.5 * below),
            above => (above - 1.0 + FAR, FAR),
        };
        let with = |of: fn(f64) -> Expected, (change, tolerance)| (of(change), tolerance);
        Some(match self {
            Expected::Change(change) if change != 0.0 => with(Expected::Change, around(change)),
            Expected::UpTo(change) if change != 0.0 => with(Expected::UpTo, around(change)),
            Expected::Between(_, high) if high <= 0.0 => (Expected::Between(-1.0, reached(high) - 1.0), 0.0),
            Expected::Between(low, _) if low >= 0.0 => (Expected::Between(reached(low) - 1.0, FAR), 0.0),
            Expected::Lower | Expected::Higher | Expected::Rising => (self, 0.0),
            _ => return None,
        })
    }
}

/// Whether an interval lies in a set, out of it, or across its edge.
pub(crate) fn verdict(interval: Option<(f64, f64)>, accepted: (f64, f64)) -> Verdict {
    match interval {
        Some((low, high)) if accepted.0 <= low && high <= accepted.1 => Verdict::Agrees,
        Some((low, high)) if high < accepted.0 || accepted.1 < low => Verdict::Disagrees,
        _ => Verdict::NotResolved,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn verdict__table() {
        let judge = |expected: Expected, low: f64, high: f64| verdict(Some((low, high)), expected.accepted(0.05));
        let change = Expected::Change(-0.4);
        let table = [
            (change, (0.56, 0.64), Verdict::Agrees),
            (change, (0.50, 0.64), Verdict::NotResolved),
            (change, (0.40, 0.80), Verdict::NotResolved),
            (change, (0.70, 0.80), Verdict::Disagrees),
            (change, (0.30, 0.54), Verdict::Disagrees),
            (Expected::Between(-0.4, -0.2), (0.56, 0.84), Verdict::Agrees),
            (Expected::Between(-0.4, -0.2), (0.80, 0.90), Verdict::NotResolved),
            (Expected::Between(-0.4, -0.2), (0.86, 0.90), Verdict::Disagrees),
            (Expected::UpTo(-0.4), (0.56, 0.64), Verdict::Agrees),
            (Expected::Lower, (0.90, 0.99), Verdict::Agrees),
            (Expected::Lower, (0.90, 1.01), Verdict::NotResolved),
            (Expected::Lower, (1.01, 1.10), Verdict::Disagrees),
            (Expected::Higher, (1.01, 1.10), Verdict::Agrees),
            (Expected::Higher, (0.90, 0.99), Verdict::Disagrees),
            (Expected::Close, (0.96, 1.04), Verdict::Agrees),
            (Expected::Close, (1.04, 1.06), Verdict::NotResolved),
            (Expected::Close, (0.90, 0.94), Verdict::Disagrees),
            (Expected::Value(200.0), (191.0, 209.0), Verdict::Agrees),
            (Expected::Value(200.0), (189.0, 191.0), Verdict::NotResolved),
            (Expected::Value(-200.0), (-209.0, -191.0), Verdict::Agrees),
            (Expected::Within(100.0, 200.0), (96.0, 209.0), Verdict::Agrees),
            (Expected::Within(100.0, 200.0), (211.0, 220.0), Verdict::Disagrees),
        ];
        for (expected, (low, high), is) in table {
            assert_eq!(judge(expected, low, high), is, "{expected:?} of {low}..{high}");
        }
        assert_eq!(verdict(None, change.accepted(0.05)), Verdict::NotResolved);
    }

    pub(crate) fn claim(baselines: &[&str], expected: Expected) -> Claim {
        Claim {
            id: "c".into(),
            place: String::new(),
            quantity: Quantity::of_all_flows(Figure::Fairness),
            baseline_class: None,
            scheme: "a".into(),
            baselines: baselines.iter().map(|name| name.to_string()).collect(),
            loads: Vec::new(),
            at: Vec::new(),
            expected,
            tolerance: 0.05,
            note: String::new(),
            stand_in: None,
            repeats: None,
            reading: None,
            acts: None,
            contradicts: None,
            why: None,
            ideal: None,
            why_test: None,
        }
    }

    #[test]
    fn data__one_baseline_is_a_text() {
        for (baselines, text) in [(&["b"][..], "\"b\""), (&[], "[]"), (&["b", "c"], "[\"b\",\"c\"]")] {
            let claim = claim(baselines, Expected::Lower);
            let data = serde_json::to_string(&claim).unwrap();
            assert!(data.contains(&format!("\"baseline\":{text},")), "{data}");
            assert_eq!(serde_json::from_str::<Claim>(&data).unwrap(), claim);
        }
    }
}
