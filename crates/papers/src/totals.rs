//! How many of a paper's claims have each verdict, and what is known of the causes of those that do not hold.

use crate::claim::Verdict;
use crate::rows::ClaimRow;
use crate::why::Cause;

/// The verdicts that literal claims have: how many, and how many of these in runs that the scale made shorter or smaller. A
/// direction on another workload has no length of the paper's to compare with.
pub(crate) fn counts(claims: &[Vec<ClaimRow>]) -> Vec<(Verdict, usize, String)> {
    let of = |verdict: Verdict| {
        let stated = claims.iter().flatten().filter(|claim| claim.repeats.is_none() && claim.verdict == verdict);
        let with_length = matches!(verdict, Verdict::Agrees | Verdict::Disagrees);
        let shorter = match stated.clone().filter(|claim| claim.is_shorter && with_length).count() {
            0 => String::new(),
            some => format!(" ({some} of them in runs shorter or smaller than at paper scale)"),
        };
        (verdict, stated.count(), shorter)
    };
    let always = |verdict| matches!(verdict, Verdict::Agrees | Verdict::Disagrees | Verdict::NotResolved);
    Verdict::ALL
        .into_iter()
        .map(|(verdict, _)| of(verdict))
        .filter(|(verdict, count, _)| *count > 0 || always(*verdict))
        .collect()
}

/// The literal claims that neither hold nor have the claimed direction, and are measured.
fn open(claims: &[Vec<ClaimRow>]) -> impl Iterator<Item = &ClaimRow> {
    let holds = |verdict| matches!(verdict, Verdict::Agrees | Verdict::SameDirection | Verdict::NotMeasured);
    claims.iter().flatten().filter(move |claim| claim.repeats.is_none() && !holds(claim.verdict))
}

/// How many of the open claims have a cause, by what is known of it, as a line; empty without any.
pub(crate) fn causes_of(claims: &[Vec<ClaimRow>]) -> String {
    let all = open(claims).count();
    if all == 0 {
        return String::new();
    }
    let count = |its: Cause| open(claims).filter(|claim| claim.cause == its).count();
    let parts = Cause::ALL.iter().map(|(cause, words)| (count(*cause), words)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, words)| format!("{count} {words}")).collect();
    let parts = parts.join(", ");
    format!("Claims that neither agree nor have the claimed direction: {all}. Their causes: {parts}.\n")
}

/// How many claims have each verdict, in a line.
pub(crate) fn totals_of(claims: &[Vec<ClaimRow>]) -> String {
    let counts = counts(claims);
    let all: usize = counts.iter().map(|(_, count, _)| count).sum();
    let part = |(verdict, count, shorter): (Verdict, usize, String)| format!("{} {count}{shorter}", verdict.in_words());
    format!("{all} claims: {}", counts.into_iter().map(part).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::tests::row;

    #[test]
    fn counts__a_line_for_each_verdict_that_some_claim_has() {
        let claims = vec![vec![
            ClaimRow { is_shorter: true, ..row("1", Verdict::Agrees, None) },
            row("2", Verdict::Agrees, None),
            row("2-code", Verdict::Disagrees, Some("2")),
            row("3", Verdict::NotTested, None),
            ClaimRow { is_shorter: true, ..row("4", Verdict::SameDirection, None) },
        ]];
        assert_eq!(
            totals_of(&claims),
            "4 claims: agrees 2 (1 of them in runs shorter or smaller than at paper scale), disagrees 0, same direction 1, \
             not resolved 0, not tested here 1"
        );
    }
}
