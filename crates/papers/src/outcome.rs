//! The verdict on each of a paper's claims, for a quick overview: one line of reason each.

use crate::claim::Verdict;
use crate::rows::ClaimRow;

/// The verdict on a claim, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Its literal words agree.
    Holds,
    /// They agree in runs that the scale made shorter or smaller.
    HoldsAtThisLength,
    /// They have the claimed direction, on a workload that stands in for the paper's.
    SameDirection,
    /// They have it, and less than a third of the claimed size.
    Weaker,
    /// They do not agree, but a reading of them does.
    HoldsAsReading,
    /// They have too few seeds.
    NotJudged,
    /// The mechanism that they are about did not act.
    NotTested,
    /// They exceed the bound: flows that are alone in our network take longer.
    Beyond,
    /// Other words of the paper contradict them.
    Contradicted,
    /// They disagree, or the measured direction is the other one.
    NotFound,
    /// The same in runs that are shorter or smaller.
    NotFoundAtThisLength,
    NotResolved,
    NotMeasured,
}

impl Outcome {
    /// All, in the order of the page, with the words of headings.
    pub(crate) const ALL: [(Outcome, &str); 13] = [
        (Outcome::Holds, "Holds"),
        (Outcome::HoldsAtThisLength, "Holds in runs shorter or smaller than at paper scale"),
        (Outcome::SameDirection, "Same direction, on a workload that stands in for the paper's"),
        (Outcome::Weaker, "Weaker than claimed, on a workload that stands in for the paper's"),
        (Outcome::HoldsAsReading, "Holds with another reading"),
        (Outcome::NotJudged, "Not judged: too few seeds"),
        (Outcome::NotTested, "Not tested here: the mechanism did not act"),
        (Outcome::Beyond, "Not reachable in our set-up"),
        (Outcome::Contradicted, "The paper contradicts itself"),
        (Outcome::NotFound, "Not found"),
        (Outcome::NotFoundAtThisLength, "Not found in runs shorter or smaller than at paper scale"),
        (Outcome::NotResolved, "Not resolved"),
        (Outcome::NotMeasured, "Not measured"),
    ];

    /// The verdict on a claim with its readings, and the reason in a line.
    pub(crate) fn of(claim: &ClaimRow, readings: &[&ClaimRow]) -> (Outcome, String) {
        let agreeing = || readings.iter().find(|reading| reading.verdict == Verdict::Agrees);
        match claim.verdict {
            Verdict::NotMeasured => (Outcome::NotMeasured, claim.judged.clone()),
            Verdict::Agrees if claim.is_shorter => (Outcome::HoldsAtThisLength, claim.judged.clone()),
            Verdict::Agrees => (Outcome::Holds, claim.judged.clone()),
            Verdict::SameDirection => (Outcome::SameDirection, claim.judged.clone()),
            _ => {
                if let Some(reading) = agreeing() {
                    let why = reading.reading.as_deref().unwrap_or_default();
                    // With a tolerance some readings hold by chance, the more the more were tried.
                    let holding = readings.iter().filter(|reading| reading.verdict == Verdict::Agrees).count();
                    let said = format!(
                        "{holding} of {}: {}: {why}; {}, {}",
                        readings.len(),
                        reading.id,
                        reading.measured,
                        reading.judged
                    );
                    return (Outcome::HoldsAsReading, said);
                }
                let of_words =
                    |outcome, words: &String| (outcome, claim.with_cause(&format!("{}; {words}", claim.judged)));
                let beyond = claim.beyond.as_ref().map(|words| of_words(Outcome::Beyond, words));
                let contradicted = claim.contradicts.as_ref().map(|words| of_words(Outcome::Contradicted, words));
                let is_tested = !matches!(claim.verdict, Verdict::NotJudged | Verdict::NotTested);
                if let Some(said) = beyond.or(contradicted).filter(|_| is_tested) {
                    return said;
                }
                let outcome = match claim.verdict {
                    Verdict::NotJudged => Outcome::NotJudged,
                    Verdict::NotTested => Outcome::NotTested,
                    Verdict::NotResolved => Outcome::NotResolved,
                    Verdict::Weaker => Outcome::Weaker,
                    _ if claim.is_shorter => Outcome::NotFoundAtThisLength,
                    _ => Outcome::NotFound,
                };
                (outcome, claim.judged_with_cause())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::tests::row;
    use crate::why::Cause;

    #[test]
    fn of__the_literal_words_first_then_readings_then_reasons() {
        let agreeing =
            ClaimRow { reading: Some("the code does so".into()), ..row("1-code", Verdict::Agrees, Some("1")) };
        let other = ClaimRow { reading: Some("why not".into()), ..row("1-other", Verdict::Disagrees, Some("1")) };
        let literal = row("1", Verdict::Disagrees, None);
        let of = |claim: &ClaimRow, readings: &[&ClaimRow]| Outcome::of(claim, readings).0;
        assert_eq!(of(&row("1", Verdict::Agrees, None), &[&other]), Outcome::Holds);
        assert_eq!(
            of(&ClaimRow { is_shorter: true, ..row("1", Verdict::Agrees, None) }, &[]),
            Outcome::HoldsAtThisLength
        );
        let (outcome, why) = Outcome::of(&literal, &[&other, &agreeing]);
        assert_eq!(
            (outcome, why.as_str()),
            (Outcome::HoldsAsReading, "1 of 2: 1-code: the code does so; +1 %, agrees")
        );
        assert_eq!(of(&literal, &[&other]), Outcome::NotFound);
        assert_eq!(of(&ClaimRow { is_shorter: true, ..literal.clone() }, &[]), Outcome::NotFoundAtThisLength);
        let contradicted = ClaimRow { contradicts: Some("10 is not 9".into()), ..literal.clone() };
        assert_eq!(Outcome::of(&contradicted, &[]), (Outcome::Contradicted, "disagrees; 10 is not 9".into()));
        let beyond = ClaimRow { beyond: Some("-24 %".into()), ..contradicted };
        assert_eq!(of(&beyond, &[&other]), Outcome::Beyond);
        assert_eq!(of(&beyond, &[&agreeing]), Outcome::HoldsAsReading);
        assert_eq!(of(&row("1", Verdict::NotResolved, None), &[]), Outcome::NotResolved);
        assert_eq!(of(&row("1", Verdict::OtherDirection, None), &[]), Outcome::NotFound);
        assert_eq!(of(&row("1", Verdict::Weaker, None), &[]), Outcome::Weaker);
        let untested = ClaimRow { verdict: Verdict::NotTested, ..beyond };
        assert_eq!(of(&untested, &[&other]), Outcome::NotTested);
        assert_eq!(of(&untested, &[&agreeing]), Outcome::HoldsAsReading);
    }

    #[test]
    fn of__a_claim_that_does_not_hold_says_its_cause() {
        let because =
            |claim: ClaimRow| ClaimRow { why: Some("one queue is in use".into()), cause: Cause::Computed, ..claim };
        let said = |claim: ClaimRow| Outcome::of(&because(claim), &[]).1;
        let short = |verdict| said(row("1", verdict, None));
        assert_eq!(short(Verdict::Disagrees), "disagrees; one queue is in use");
        assert_eq!(short(Verdict::OtherDirection), "other direction; one queue is in use");
        assert_eq!(short(Verdict::Weaker), "weaker; one queue is in use");
        assert_eq!(short(Verdict::NotResolved), "not resolved; one queue is in use");
        assert_eq!((short(Verdict::Agrees), short(Verdict::SameDirection)), ("agrees".into(), "same direction".into()));
        let literal = || row("1", Verdict::Disagrees, None);
        assert_eq!(
            said(ClaimRow { beyond: Some("-24 %".into()), ..literal() }),
            "disagrees; -24 %; one queue is in use"
        );
        assert_eq!(
            said(ClaimRow { contradicts: Some("10 is not 9".into()), ..literal() }),
            "disagrees; 10 is not 9; one queue is in use"
        );
        let with = |cause| Outcome::of(&ClaimRow { cause, ..because(literal()) }, &[]).1;
        assert_eq!(with(Cause::Guess), "disagrees; a guess: one queue is in use");
        assert_eq!(with(Cause::Shown), "disagrees; one queue is in use (shown by a run)");
        assert_eq!(with(Cause::Refuted), "disagrees; one queue is in use (refuted)");
    }
}
