//! The results of a paper's figures as one page of Markdown.

use std::fmt::Write;

use flowsieve_results::{Metric, ResultDir, Statistic, Verdict};

use crate::claims::{ClaimRow, claim_rows};
use crate::format::{decimals, with_decimals};

/// The smallest scale among the changes of an experiment.
const SMOKE: &str = "scale=smoke";

/// The paper's claims beside the measured values, figure by figure: each by its name, with its result. The page ends with
/// `checks`, what was checked where a claim and its value disagree.
pub fn reproduction(paper: &str, figures: &[(&str, &ResultDir)], checks: &str) -> String {
    let mut claims: Vec<Vec<ClaimRow>> = figures.iter().map(|(_, result)| claim_rows(result)).collect();
    hold_together(&mut claims);
    let mut text = format!("# {paper}\n\n");
    let stated = || claims.iter().flatten().filter(|claim| claim.repeats.is_none());
    let count = |verdict| stated().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        text,
        "{} claims: {} agree, {} disagree, {} are not resolved, {} are not measured. A claim agrees if the whole 95 % interval of what was \
         measured, paired over the same flows, is what it says, give or take its tolerance; it disagrees if none of \
         it is.",
        stated().count(),
        count(Verdict::Agrees),
        count(Verdict::Disagrees),
        count(Verdict::NotResolved),
        count(Verdict::NotMeasured),
    );
    let stand_ins = stated().filter(|claim| claim.stands_in).count();
    if stand_ins > 0 {
        let _ = writeln!(
            text,
            "\n{stand_ins} of the claims are of traces that could not be had. They were run on workloads that stand in for these, which can \
             show a direction and no value: {} have the claimed one, {} the other, and the rest are not resolved. A claim that is repeated \
             under other calibrations of its stand-in, or by another reading of the paper, is not resolved if they have another direction.",
            count(Verdict::SameDirection),
            count(Verdict::OtherDirection),
        );
    }
    if figures.iter().any(|(_, result)| result.manifest().experiment.looks) {
        text += "\nSeeds were added until claims were resolved. Each is judged at the first look that decides, with an interval of that look; all \
                 looks together leave out the true value one time in twenty at most.\n";
    }
    let is_smoke = |result: &ResultDir| result.manifest().experiment.changes.iter().any(|change| change == SMOKE);
    if figures.iter().any(|(_, result)| is_smoke(result)) {
        text += "\nAt smoke scale there are too few flows for any verdict to mean something: it shows that everything runs.\n";
    }
    for ((name, result), claims) in figures.iter().zip(&claims) {
        section(&mut text, name, result, claims);
    }
    if !checks.is_empty() {
        let _ = write!(text, "\n## What was checked\n\n{}\n", checks.trim());
    }
    text
}

/// Makes claims unresolved whose direction is another one where they are repeated, and says of the others what their repeats
/// show.
fn hold_together(figures: &mut [Vec<ClaimRow>]) {
    let repeats = figures.iter().flatten().filter_map(|row| Some((row.repeats.clone()?, row.id.clone(), row.verdict)));
    for (of, id, verdict) in repeats.collect::<Vec<_>>() {
        let Some(row) = figures.iter_mut().flatten().find(|row| row.id == of) else { continue };
        if verdict == row.verdict {
            continue;
        }
        let _ = write!(row.judged, "; {id}: {}", verdict.in_words());
        let directions = [Verdict::SameDirection, Verdict::OtherDirection];
        if directions.contains(&verdict) && directions.contains(&row.verdict) {
            row.verdict = Verdict::NotResolved;
            row.judged = format!("not resolved: {}", row.judged);
        }
    }
}

fn section(text: &mut String, figure: &str, result: &ResultDir, claims: &[ClaimRow]) {
    let experiment = &result.manifest().experiment;
    let seeds = experiment.points.iter().map(|point| point.parts.len()).max().unwrap_or(0);
    let flows: u64 = result.summary().points.iter().filter_map(|point| Some(point.classes.last()?.flows())).sum();
    let runs = result.manifest().runs.len().max(1) as u64;
    let _ = writeln!(text, "\n## {}: {}\n", figure, experiment.title);
    let changes = match experiment.changes.as_slice() {
        [] => String::new(),
        changes => format!("; changed: {}", changes.join(", ")),
    };
    let _ = writeln!(
        text,
        "{seeds} {}, about {} flows a run{changes}.",
        if seeds == 1 { "seed" } else { "seeds" },
        flows / runs
    );
    if !claims.is_empty() {
        let _ = writeln!(text, "\n| claim | where | what | claimed | measured | verdict |");
        let _ = writeln!(text, "| --- | --- | --- | ---: | ---: | --- |");
        for claim in claims {
            let note = if claim.note.is_empty() { String::new() } else { format!(" ({})", claim.note) };
            let what = format!("{}{note}", claim.what);
            let cells = [&claim.id, &claim.place, &what, &claim.claimed, &claim.measured, &claim.judged];
            let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
    }
    let _ = writeln!(text, "\n| load | scheme | mean FCT (µs) | p99 FCT (µs) | mean slowdown |");
    let _ = writeln!(text, "| --- | --- | ---: | ---: | ---: |");
    for (info, point) in experiment.points.iter().zip(&result.summary().points) {
        let Some(all) = point.classes.last() else { continue };
        let value = |metric, statistic, unit: f64| match all.estimate(metric, statistic) {
            None => "–".to_owned(),
            Some(found) => {
                let digits = decimals(found.value / unit);
                let half = found.half_width.map(|half| format!(" ± {}", with_decimals(half / unit, digits)));
                format!("{}{}", with_decimals(found.value / unit, digits), half.unwrap_or_default())
            }
        };
        let axes: String = info.axes.iter().map(|axis| format!(", {} = {}", axis.key, axis.value)).collect();
        let load = info.load.map_or("–".to_owned(), |load| load.to_string());
        let _ = writeln!(
            text,
            "| {load} | {}{axes} | {} | {} | {} |",
            info.scheme,
            value(Metric::Fct, Statistic::Mean, 1e6),
            value(Metric::Fct, Statistic::P99, 1e6),
            value(Metric::Slowdown, Statistic::Mean, 1.0),
        );
    }
    for warning in result.warnings() {
        let _ = writeln!(text, "\n**Note.** {}.", warning.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{NotResolved, OtherDirection, SameDirection};

    fn row(id: &str, verdict: Verdict, repeats: Option<&str>) -> ClaimRow {
        ClaimRow {
            id: id.into(),
            place: "Fig 1".into(),
            what: String::new(),
            claimed: String::new(),
            measured: String::new(),
            verdict,
            judged: verdict.in_words().into(),
            note: String::new(),
            stands_in: true,
            repeats: repeats.map(str::to_owned),
        }
    }

    #[test]
    fn hold_together__another_direction_under_a_calibration_leaves_a_claim_unresolved() {
        let mut figures = [
            vec![row("1", SameDirection, None), row("2", SameDirection, None), row("3", OtherDirection, None)],
            vec![row("1-tight", OtherDirection, Some("1")), row("2-tight", SameDirection, Some("2"))],
            vec![row("1-loose", SameDirection, Some("1")), row("3-loose", NotResolved, Some("3"))],
        ];
        hold_together(&mut figures);
        let found: Vec<(Verdict, &str)> = figures[0].iter().map(|row| (row.verdict, row.judged.as_str())).collect();
        assert_eq!(
            found,
            [
                (NotResolved, "not resolved: same direction; 1-tight: other direction; 1-loose: same direction"),
                (SameDirection, "same direction"),
                (OtherDirection, "other direction; 3-loose: not resolved"),
            ]
        );
    }
}
