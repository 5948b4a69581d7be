//! Tests of causes. A cause is a claim, too: what it names is taken away, and the claim's gap to the measured value has to fall.
//!
//! ```toml
//! why = "connections open cold here"
//! why_test = { set = "handshake=none", expect = "-60.8%" }
//! ```
//!
//! | with the change, the gap is, over all of the 95 % interval | the cause is |
//! | --- | --- |
//! | at most half of the gap without it | shown |
//! | smaller | shown in part |
//! | more than half, somewhere not smaller | refuted |
//! | at most half at one end, not smaller at the other | not resolved by its test |
//!
//! A gap is the distance, as a ratio, from the measured value to the claimed one, at the load where it is largest. A stand-in
//! has no value to compare: there the change has to bring the claimed direction and a third of the size, and the direction
//! alone shows the cause in part, if it comes nearer to the claim. An interval that has neither, and may have that size, resolves
//! nothing. Fewer seeds than a claim needs show nothing. `expect` is stated before the run. A cause without a test is a guess.

use crate::check::worst;
use crate::claim::{Checked, Claim, Claims, Expected, LEAST_SHARE, Verdict, WhyTest, verdict};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_results::{Estimate, Ratio};
use std::collections::BTreeSet;
use std::path::Path;

/// What is known of the cause of a claim that does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// None is stated.
    #[default]
    None,
    /// No run takes it away.
    Guess,
    /// The runs without it are not made.
    NotRun,
    Refuted,
    /// The runs without it may have the effect, or none.
    NotResolved,
    InPart,
    Shown,
    /// The measurement bounds what is reachable, other words of the paper contradict the claim, or a stand-in cannot decide it.
    Computed,
}

impl Cause {
    /// All, in the order of totals, with the words of these.
    pub(crate) const ALL: [(Cause, &str); 8] = [
        (Cause::Shown, "shown by a run"),
        (Cause::Computed, "settled without a run"),
        (Cause::InPart, "shown in part"),
        (Cause::NotResolved, "not resolved by its test"),
        (Cause::Refuted, "refuted"),
        (Cause::NotRun, "not tested yet"),
        (Cause::Guess, "a guess"),
        (Cause::None, "without a cause"),
    ];

    pub(crate) fn in_words(self) -> &'static str {
        Self::ALL.into_iter().find(|(cause, _)| *cause == self).map_or("", |(_, words)| words)
    }
}

/// Plans the runs that test the causes of a file's claims: for each set of changes, the points of its claims.
///
/// # Errors
/// If a change is wrong, leaves no run of its claim or changes none.
pub(crate) fn tests(
    file: &Path,
    main: &Plan,
    claims: &Claims,
    changes: &Changes,
    engines: &Engines,
) -> Result<Vec<Plan>, Error> {
    let keys = |plan: &Plan, claim: &Claim| {
        let points = claim.all_points(&plan.experiment).into_iter();
        points.flat_map(|point| plan.experiment.points[point].parts.iter().map(|part| part.key.clone())).collect()
    };
    let mut tests: Vec<(Plan, BTreeSet<String>)> = Vec::new();
    for claim in &claims.measured {
        let Some(WhyTest { set, .. }) = &claim.why_test else { continue };
        // A scale, or a change of the sweep, may leave out what the claim is about.
        if !claim.has_points(&main.experiment) {
            continue;
        }
        let wrong = |problem: String| Error::File {
            path: file.display().to_string(),
            problem: format!("`why_test` of the claim {:?}: {problem}", claim.id),
        };
        if !tests.iter().any(|(plan, _)| is_of(plan, main, set)) {
            let changes = changes.and(&Changes { sets: set.clone(), ..Changes::default() });
            let plan = plan::read(file, &changes, engines).map_err(|error| wrong(error.to_string()))?;
            tests.push((plan, BTreeSet::new()));
        }
        let Some((plan, needed)) = tests.iter_mut().find(|(plan, _)| is_of(plan, main, set)) else { continue };
        let (its, others): (BTreeSet<String>, BTreeSet<String>) = (keys(plan, claim), keys(main, claim));
        if !claim.has_points(&plan.experiment) {
            return Err(wrong(format!("with `{}` the claim has no runs", set.join("`, `"))));
        }
        if its.is_subset(&others) {
            return Err(wrong(format!("`{}` changes nothing in the runs of the claim", set.join("`, `"))));
        }
        needed.extend(its);
    }
    Ok(tests.into_iter().map(|(plan, needed)| plan.without(|key| !needed.contains(key))).collect())
}

/// Whether a plan is that of a test: what it changes of the main one are these settings, and no others.
pub(crate) fn is_of(plan: &Plan, main: &Plan, set: &[String]) -> bool {
    plan.changes.sets.strip_prefix(main.changes.sets.as_slice()) == Some(set)
}

/// What a test shows of a claim, by its measured values without the change and with it.
pub(crate) fn shown(claim: &Claim, without: &Checked, with: &Checked) -> Cause {
    if [without.verdict, with.verdict].contains(&Verdict::NotJudged) {
        return Cause::NotRun;
    }
    let gap = |value: f64| gap(claim, value);
    let (low, high) = claimed(claim);
    let found = values(claim, without).into_iter().map(|(value, _)| gap(value)).reduce(f64::max);
    // The least and the largest gap that the intervals leave.
    let ends = values(claim, with).into_iter().map(|(_, interval)| {
        let (from, to) = interval?;
        let is_met = from <= high && to >= low;
        Some((if is_met { 0.0 } else { gap(from).min(gap(to)) }, gap(from).max(gap(to))))
    });
    let left = ends.reduce(|one, other| one.zip(other).map(|(one, other)| (one.0.max(other.0), one.1.max(other.1))));
    let nearer = found.zip(left.flatten()).is_some_and(|(found, (_, largest))| largest < found);
    let share = |share| claim.expected.direction(share).map(|(side, tolerance)| side.accepted(tolerance));
    if let Some((side, third)) = share(0.0).zip(share(LEAST_SHARE)).filter(|_| claim.stand_in.is_some()) {
        let with_it = values(claim, with);
        return match with.verdict {
            Verdict::SameDirection => Cause::Shown,
            _ if with_it.is_empty() => Cause::NotRun,
            _ if nearer && of_all(&with_it, side) == Verdict::Agrees => Cause::InPart,
            _ if of_all(&with_it, third) != Verdict::Disagrees => Cause::NotResolved,
            _ => Cause::Refuted,
        };
    }
    match (found, left.flatten()) {
        (Some(found), Some((_, largest))) if nearer && largest <= found / 2.0 => Cause::Shown,
        (Some(_), Some(_)) if nearer => Cause::InPart,
        (Some(found), Some((least, _))) if 0.0 < found && least <= found / 2.0 => Cause::NotResolved,
        // A value that lies within the claim already has no gap that could fall.
        (Some(_), Some(_)) => Cause::Refuted,
        _ => Cause::NotRun,
    }
}

/// Whether what was expected of a test came.
pub(crate) fn came(claim: &Claim, test: &WhyTest, with: &Checked) -> Verdict {
    of_all(&values(claim, with), test.expect.accepted(claim.tolerance))
}

/// Whether all of the intervals lie in a set; one outside decides.
fn of_all(found: &[Found], accepted: (f64, f64)) -> Verdict {
    worst(found.iter().map(|(_, interval)| verdict(*interval, accepted)))
}

/// A value with its interval.
type Found = (f64, Option<(f64, f64)>);

/// The values by which a claim is judged, with their intervals.
fn values(claim: &Claim, checked: &Checked) -> Vec<Found> {
    let of_ratio = |ratio: &Ratio| (ratio.value, ratio.interval);
    let of_value = |value: &Estimate| (value.value, value.interval);
    match claim.expected {
        Expected::Between(..) | Expected::Rising | Expected::Close => {
            checked.by_load.iter().map(|(_, ratio)| of_ratio(ratio)).collect()
        }
        Expected::Value(_) => checked.values.iter().map(|(_, value)| of_value(value)).collect(),
        Expected::Within(..) => checked.values_by_load.iter().map(|(_, value)| of_value(value)).collect(),
        _ => checked.ratio.iter().map(of_ratio).collect(),
    }
}

/// What is claimed. To be close is claimed with its tolerance.
fn claimed(claim: &Claim) -> (f64, f64) {
    claim.expected.accepted(if claim.expected == Expected::Close { claim.tolerance } else { 0.0 })
}

/// The distance of a value to what is claimed, in logarithms.
fn gap(claim: &Claim, value: f64) -> f64 {
    let (low, high) = claimed(claim);
    if value < low { libm::log(low / value) } else { libm::log(value / high).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::tests::claim;

    fn measured(value: f64, interval: (f64, f64)) -> Checked {
        let ratio = Ratio { value, interval: Some(interval) };
        Checked { ratio: Some(ratio), by_load: vec![(None, ratio)], ..Checked::default() }
    }

    #[test]
    fn shown__by_how_much_of_the_gap_is_left() {
        // Claimed are -40 %, and -10 % were found: the gap is ln(0.9 / 0.6) = 0.405, and half of it ends at 0.735.
        let change = claim(&["b"], Expected::Change(-0.4));
        let table = [
            (&change, (0.58, 0.62), Cause::Shown),
            (&change, (0.66, 0.73), Cause::Shown),
            (&change, (0.66, 0.74), Cause::InPart),
            (&change, (0.75, 0.89), Cause::InPart),
            (&change, (0.70, 0.91), Cause::NotResolved),
            (&change, (0.75, 0.91), Cause::Refuted),
            // Beyond the claim it is as far off on the other side.
            (&change, (0.35, 0.45), Cause::Refuted),
            // Between -40 and -20 %: half of ln(0.9 / 0.8) ends at 0.849.
            (&claim(&["b"], Expected::Between(-0.4, -0.2)), (0.70, 0.84), Cause::Shown),
            (&claim(&["b"], Expected::Between(-0.4, -0.2)), (0.70, 0.86), Cause::InPart),
            (&claim(&["b"], Expected::Higher), (0.96, 1.2), Cause::Shown),
            // It is lower without any change.
            (&claim(&["b"], Expected::Lower), (0.5, 0.6), Cause::Refuted),
            // Within 5 % of 1 is close.
            (&claim(&["b"], Expected::Close), (0.94, 1.0), Cause::Shown),
            (&claim(&["b"], Expected::Close), (0.88, 0.90), Cause::Refuted),
        ];
        for (claim, (low, high), expected) in table {
            let found = shown(claim, &measured(0.9, (0.88, 0.92)), &measured((low + high) / 2.0, (low, high)));
            assert_eq!(found, expected, "{:?} of {low}..{high}", claim.expected);
        }
        assert_eq!(shown(&change, &measured(0.9, (0.88, 0.92)), &Checked::default()), Cause::NotRun);
        let few = |verdict| Checked { verdict, ..measured(0.6, (0.58, 0.62)) };
        assert_eq!(shown(&change, &few(Verdict::Disagrees), &few(Verdict::NotJudged)), Cause::NotRun);
        assert_eq!(shown(&change, &few(Verdict::NotJudged), &few(Verdict::Agrees)), Cause::NotRun);
        let stand_in = Claim { stand_in: Some("like".into()), ..change };
        let of = |without, verdict, ends| {
            let with = Checked { verdict, ..measured(0.7, ends) };
            shown(&stand_in, &measured(without, (without, without)), &with)
        };
        // A third of -40 % is -13 %.
        let table = [
            (Verdict::SameDirection, (0.4, 0.6), Cause::Shown),
            (Verdict::NotJudged, (0.4, 0.6), Cause::NotRun),
            (Verdict::Weaker, (0.88, 0.99), Cause::InPart),
            (Verdict::NotResolved, (0.4, 0.99), Cause::InPart),
            (Verdict::NotResolved, (0.4, 1.01), Cause::NotResolved),
            (Verdict::NotResolved, (0.9, 1.01), Cause::Refuted),
            (Verdict::OtherDirection, (1.02, 1.1), Cause::Refuted),
        ];
        // It had the direction without the change.
        assert_eq!(of(0.95, Verdict::Weaker, (0.88, 0.99)), Cause::Refuted);
        for (verdict, ends, expected) in table {
            assert_eq!(of(1.05, verdict, ends), expected, "{verdict:?} {ends:?}");
        }
    }

    #[test]
    fn came__by_all_of_the_interval() {
        let claim = claim(&["b"], Expected::Change(-0.6));
        let test = WhyTest { set: vec!["handshake=none".into()], expect: Expected::Change(-0.4) };
        let came = |low, high| came(&claim, &test, &measured(0.6, (low, high)));
        assert_eq!(
            [came(0.56, 0.64), came(0.54, 0.64), came(0.79, 0.81)],
            [Verdict::Agrees, Verdict::NotResolved, Verdict::Disagrees]
        );
    }
}
