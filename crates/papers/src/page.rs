//! The measured values of a paper's figures as one page of Markdown: first the verdict on each claim, then figure by figure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::claim::{TABLE, Verdict};
use crate::drawn::{figure, sizes};
use crate::kept::Made;
use crate::outcome::Outcome;
use crate::reproduce::{Figure, Reproduction};
use crate::resolve::Open;
use crate::rows::{ClaimRow, claim_lines, rows};
use crate::totals::{causes_of, counts, totals_of};
use flowsieve_report::format::{decimals, spread, with_decimals};
use flowsieve_report::{Naming, figure_svg, paragraph};
use flowsieve_results::looks::LOOKS;
use flowsieve_results::measured::Quantity;

/// The smallest scale among the changes of an experiment.
const SMOKE: &str = "scale=smoke";

/// The name of the drawing of all sizes.
const SIZES: &str = "sizes";

/// What stands for a value that was not measured.
const NOTHING: &str = "–";

impl Figure {
    /// The metrics of its claims, drawn with the claimed values, as SVG; `None` if nothing of it was measured.
    pub fn drawn(&self) -> Option<String> {
        figure(&self.plan.experiment, &self.claims, &self.measured()).as_ref().and_then(figure_svg)
    }

    fn title(&self) -> String {
        format!("{}: {}", self.name, self.plan.experiment.title)
    }

    /// Its claims with what was measured, and with what the tests of their causes show.
    fn rows(&self) -> Vec<ClaimRow> {
        let (experiment, measured) = (&self.plan.experiment, self.measured());
        let mut rows = rows(experiment, &self.claims, &measured, Naming::Names);
        for (row, claim) in rows.iter_mut().zip(&self.claims.measured) {
            row.bounded(claim, claim.ideal(experiment, &measured));
            if let Some(with) = self.tested(claim) {
                row.tested(claim, &claim.check(experiment, &measured), &with);
            }
        }
        rows
    }

    fn repeats(&self, paper: &str) -> bool {
        self.claims.measured.iter().any(|claim| of_another(claim.repeats.as_deref(), paper).is_some())
    }

    /// Says how many of its runs there are and why not all, if it was measured and some are missing.
    fn missing(&self) -> Option<String> {
        let (points, measured) = (&self.plan.experiment.points, self.measured());
        let all: usize = points.iter().map(|point| point.parts.len()).sum();
        let there: usize = (0..points.len()).map(|point| measured.rows(point).len()).sum();
        let why = self.kept.lacked().map_or(String::new(), |why| format!(" When they were made: {why}."));
        match there {
            _ if there == all || self.kept.made().is_empty() => None,
            0 => Some(format!(
                "None of its {all} runs is there: those that were made are for other settings, seeds or claims."
            )),
            _ => Some(format!("{there} of {all} runs are there; the values are of these.{why}")),
        }
    }
}

impl Reproduction {
    /// The paper's claims next to the measured values, as a page of Markdown: first what holds in plain words, then the verdict on
    /// each claim, then figure by figure. `path` makes that of a drawing of its name.
    pub fn page(&self, path: &dyn Fn(&str) -> String) -> String {
        let Reproduction { paper, figures, on_linux, summary, checks } = self;
        let claims = claims_of(figures);
        let mut text = format!("# {paper}\n\n");
        if !summary.trim().is_empty() {
            let _ = writeln!(text, "{}\n", summary.trim());
        }
        let stated = || claims.iter().flatten().filter(|claim| claim.repeats.is_none());
        // Where all claims are another paper's, its own page counts them.
        if stated().next().is_some() || figures.is_empty() {
            let _ = writeln!(text, "{} claims:\n", stated().count());
            for (verdict, count, shorter) in counts(&claims) {
                let _ = writeln!(text, "- {}: {count}{shorter}", verdict.in_words());
            }
            let causes = causes_of(&claims);
            if !causes.is_empty() {
                let _ = write!(text, "\n{causes}");
            }
            text.push('\n');
        }
        text += "A claim agrees if the whole 95 % interval of the measurement, paired over the same flows, lies within \
            the claim and its tolerance. It disagrees if the whole interval lies outside.\n";
        let stand_ins = stated().filter(|claim| claim.stands_in).count();
        if stand_ins > 0 {
            let _ = writeln!(
                text,
                "\n{stand_ins} of the claims use traces that are not available. They were run on stand-in workloads, \
                 which can show a direction but no value. Some claims are repeated with other calibrations of the \
                 stand-in, or with another reading of the paper. If a repetition has another direction, the claim is not resolved.",
            );
        }
        seeds(&mut text, figures, &self.left_out());
        if figures.iter().any(|figure| figure.plan.experiment.changes.iter().any(|change| change == SMOKE)) {
            text += "\nAt smoke scale there are too few flows for a meaningful verdict. It only shows that everything runs.\n";
        }
        made(&mut text, figures);
        for (figure, missing) in on_linux
            .iter()
            .filter(|figure| figure.repeats(paper))
            .filter_map(|figure| Some((figure, figure.missing()?)))
        {
            let _ = writeln!(text, "\nOn Linux, {}: {missing}", figure.plan.experiment.title);
        }
        in_short(&mut text, figures, &claims);
        tests(&mut text, figures, &claims);
        if self.sizes().is_some() {
            let _ = write!(text, "\n## Sizes of flows\n\n![Sizes of flows]({})\n", path(SIZES));
        }
        let on_linux = of_paper(paper, on_linux);
        for (figure, claims) in figures.iter().zip(&claims) {
            section(&mut text, figure, claims, &on_linux, figure.drawn().map(|_| path(&figure.name)));
        }
        if !checks.is_empty() {
            let _ = write!(text, "\n## What was checked\n\n{}\n", checks.trim());
        }
        text
    }

    /// The drawings, each with its path, which `path` makes of a name.
    pub fn drawings(&self, path: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
        let of = |figure: &Figure| Some((path(&figure.name), figure.drawn()?));
        let sizes = self.sizes().map(|drawing| (path(SIZES), drawing));
        self.figures.iter().filter_map(of).chain(sizes).collect()
    }

    /// The distributions of its flows' sizes, drawn as SVG.
    fn sizes(&self) -> Option<String> {
        sizes(&self.paper, self.figures.iter().flat_map(|figure| &figure.plan.sizes)).as_ref().and_then(figure_svg)
    }

    /// The claims of its figures next to the measured values, for a terminal: of each figure that has any, without tables.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (figure, claims) in
            self.figures.iter().zip(claims_of(&self.figures)).filter(|(_, claims)| !claims.is_empty())
        {
            let _ = writeln!(text, "{}", paragraph(&figure.title(), ""));
            if let Some(missing) = figure.missing() {
                let _ = writeln!(text, "{}", paragraph(&missing, "  "));
            }
            text += &claim_lines(&claims);
            text.push('\n');
        }
        text
    }

    /// The number of its claims with each verdict, in a line.
    pub fn totals(&self) -> String {
        totals_of(&claims_of(&self.figures))
    }

    /// What is known of the causes of its claims that do not hold, as a line; empty if all hold.
    pub fn causes(&self) -> String {
        causes_of(&claims_of(&self.figures))
    }

    /// How many seeds its points have, in words.
    pub fn seeds(&self) -> String {
        seeds_of(&self.figures)
    }

    /// Which model made the runs, if it is not that of the program: what they show may be different now.
    pub fn other_models(&self) -> Option<String> {
        other_models(&self.figures)
    }
}

/// What the claims measured that repeat a paper's, by the paper's: those of other folders are named `PAPER/CLAIM`.
fn of_paper(paper: &str, elsewhere: &[Figure]) -> BTreeMap<String, String> {
    let rows = elsewhere.iter().flat_map(Figure::rows);
    let of = |row: ClaimRow| Some((of_another(row.repeats.as_deref(), paper)?.to_owned(), row.measured));
    rows.filter_map(of).filter(|(_, measured)| measured != NOTHING).collect()
}

/// Returns the name of a paper's claim that one of another folder repeats.
fn of_another<'a>(repeats: Option<&'a str>, paper: &str) -> Option<&'a str> {
    repeats?.strip_prefix(paper)?.strip_prefix('/')
}

/// The number of seeds of their points that have any, in words.
fn seeds_of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> String {
    let of = |figure: &'a Figure| {
        let (points, measured) = (figure.plan.experiment.points.len(), figure.measured());
        (0..points).map(move |point| measured.rows(point).len())
    };
    let counts: BTreeSet<usize> = figures.into_iter().flat_map(of).filter(|count| *count > 0).collect();
    match (counts.first(), counts.last()) {
        (Some(1), Some(1)) => "1 seed".into(),
        (Some(least), Some(most)) if least < most => format!("{least} to {most} seeds"),
        (least, _) => format!("{} seeds", least.unwrap_or(&0)),
    }
}

/// How many seeds there are, and which claims the budget left out.
fn seeds(text: &mut String, figures: &[Figure], left_out: &[Open]) {
    let looked = || figures.iter().filter(|figure| figure.plan.experiment.looks);
    if looked().next().is_none() {
        return;
    }
    let looks = LOOKS.map(|look| look.seeds.to_string()).join(", ");
    let _ = writeln!(
        text,
        "\nEach point has {}. A claim is looked at after {looks} of them, and judged at the first look that decides, with \
         that look's interval. All looks together miss the true value at most one time in twenty. With fewer seeds than \
         the first look has, a claim is not judged.",
        seeds_of(looked())
    );
    if left_out.is_empty() {
        return;
    }
    let all_minutes: f64 = left_out.iter().map(Open::minutes).sum();
    let _ = writeln!(
        text,
        "\nMore seeds would resolve {} of the claims and readings, in {all_minutes:.0} min in all. A run that several \
         of them need is counted for each:\n\n| claim | seeds | packet-hops | minutes of two cores |\n| --- | ---: | ---: | ---: |",
        left_out.len()
    );
    for claim in left_out {
        row_of(text, claim.priced().each_ref());
    }
}

fn claims_of(figures: &[Figure]) -> Vec<Vec<ClaimRow>> {
    let mut claims: Vec<Vec<ClaimRow>> = figures.iter().map(Figure::rows).collect();
    hold_together(&mut claims);
    claims
}

/// The tests of causes, each with what it shows.
fn tests(text: &mut String, figures: &[Figure], claims: &[Vec<ClaimRow>]) {
    let all = figures.iter().zip(claims).flat_map(|(figure, claims)| claims.iter().map(move |claim| (figure, claim)));
    let mut tested = all.filter_map(|(figure, claim)| Some((figure, claim, claim.test.as_ref()?))).peekable();
    if tested.peek().is_none() {
        return;
    }
    *text += "\n## Causes and their tests\n\nWhat a cause names is taken away. It is shown if the gap to the claim then falls by \
        half at least, over all of the 95 % interval.\n\n| claim | cause | taken away by | claimed | without the change | expected \
        with it | measured | |\n| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n";
    for (figure, claim, [set, expected, measured]) in tested {
        let why = claim.why.clone().unwrap_or_default();
        let (set, shown) = (format!("`{set}`"), claim.cause.in_words().to_owned());
        row_of(text, [&link(figure, claim), &why, &set, &claim.claimed, &claim.measured, expected, measured, &shown]);
    }
}

/// A claim's name, with a link to its figure.
fn link(figure: &Figure, claim: &ClaimRow) -> String {
    format!("[{}](#{})", claim.id, anchor(&figure.title()))
}

/// Which model made the runs, if it is not that of the program: what they show may be different now.
fn other_models(figures: &[Figure]) -> Option<String> {
    let models: BTreeSet<&str> = figures.iter().filter_map(Figure::other_model).collect();
    let now = figures.iter().find_map(|figure| figure.plan.experiment.versions.get("model"))?;
    let of = match figures.iter().filter(|figure| figure.other_model().is_some()).count() {
        0 => return None,
        some if some == figures.len() => "The runs".to_owned(),
        some => format!("The runs of {some} of {} experiments", figures.len()),
    };
    let models: Vec<&str> = models.into_iter().collect();
    let by_words = |figure: &Figure| match figure.kept.by_words() {
        0 => None,
        some => Some(format!("{some} of {}", figure.name)),
    };
    let by_words: Vec<String> = figures.iter().filter_map(by_words).collect();
    let beyond = match by_words.as_slice() {
        [] => String::new(),
        some => format!(" Found by the words of their points alone, and maybe of other settings: {}.", some.join(", ")),
    };
    Some(format!(
        "{of} were made by model {}. This program has model {now}, whose results may differ (CHANGELOG.md says where).{beyond}",
        models.join(" and ")
    ))
}

/// When, on what machine, and in how much time the runs were made.
fn made(text: &mut String, figures: &[Figure]) {
    let mut all: Vec<Made> = Vec::new();
    for made in figures.iter().flat_map(|figure| figure.kept.made()) {
        match all.iter_mut().find(|other| other.date == made.date && other.machine == made.machine) {
            Some(other) => {
                other.runs += made.runs;
                other.cpu_seconds += made.cpu_seconds;
            }
            None => all.push(made.clone()),
        }
    }
    all.sort_by(|a, b| (&a.date, &a.machine).cmp(&(&b.date, &b.machine)));
    if all.is_empty() {
        return;
    }
    if let Some(models) = other_models(figures) {
        let _ = writeln!(text, "\n{models}");
    }
    let one = |made: &Made| {
        let Made { date, machine, runs, cpu_seconds } = made;
        format!("{runs} on {date} in {:.0} min of processor time ({machine})", cpu_seconds / 60.0)
    };
    let _ = writeln!(text, "\nRuns made: {}.", all.iter().map(one).collect::<Vec<_>>().join("; "));
}

/// The verdict on each claim, with a line of reason.
fn in_short(text: &mut String, figures: &[Figure], claims: &[Vec<ClaimRow>]) {
    let all = || claims.iter().flatten();
    let became: Vec<(Outcome, String, &Figure, &ClaimRow)> = figures
        .iter()
        .zip(claims)
        .flat_map(|(figure, claims)| claims.iter().map(move |claim| (figure, claim)))
        .filter(|(_, claim)| claim.repeats.is_none())
        .map(|(figure, claim)| {
            let is_reading = |row: &&ClaimRow| row.repeats.as_ref() == Some(&claim.id) && row.reading.is_some();
            let (outcome, why) = Outcome::of(claim, &all().filter(is_reading).collect::<Vec<_>>());
            (outcome, why, figure, claim)
        })
        .collect();
    if became.is_empty() {
        return;
    }
    *text += "\n## Claims by verdict\n";
    for (outcome, words) in Outcome::ALL {
        let rows: Vec<_> = became.iter().filter(|(its, ..)| *its == outcome).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n### {}: {}\n", words, rows.len());
        *text += "| claim | where | what | claimed | measured | why |\n| --- | --- | --- | ---: | ---: | --- |\n";
        for (_, why, figure, claim) in rows {
            row_of(text, [&link(figure, claim), &claim.place, &claim.what, &claim.claimed, &claim.measured, why]);
        }
    }
}

/// The anchor of a heading in pages of Markdown: small letters, digits and hyphens.
fn anchor(heading: &str) -> String {
    let kept = |letter: char| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
        _ => None,
    };
    heading.to_lowercase().chars().filter_map(kept).collect()
}

fn row_of<const N: usize>(text: &mut String, of: [&String; N]) {
    let _ = writeln!(text, "| {} |", cells(of));
}

fn cells<const N: usize>(of: [&String; N]) -> String {
    of.map(|cell| cell.replace('|', "\\|")).join(" | ")
}

/// Makes claims unresolved if a repetition has another direction, and adds to the others what their repetitions show.
fn hold_together(figures: &mut [Vec<ClaimRow>]) {
    // A reading stands next to the literal words, and does not affect their verdict.
    let others = figures.iter().flatten().filter(|row| row.reading.is_none());
    let repeats = others.filter_map(|row| Some((row.repeats.clone()?, row.id.clone(), row.verdict)));
    for (of, id, verdict) in repeats.collect::<Vec<_>>() {
        let Some(row) = figures.iter_mut().flatten().find(|row| row.id == of) else { continue };
        if verdict == row.verdict {
            continue;
        }
        let _ = write!(row.judged, "; {id}: {}", verdict.in_words());
        let (same, other) = ([Verdict::SameDirection, Verdict::Weaker], Verdict::OtherDirection);
        if same.contains(&verdict) && row.verdict == other || verdict == other && same.contains(&row.verdict) {
            row.verdict = Verdict::NotResolved;
            row.judged = format!("not resolved: {}", row.judged);
        }
    }
}

fn section(
    text: &mut String,
    figure: &Figure,
    claims: &[ClaimRow],
    on_linux: &BTreeMap<String, String>,
    drawn: Option<String>,
) {
    let (experiment, measured) = (&figure.plan.experiment, figure.measured());
    let points = || 0..experiment.points.len();
    let flows: u64 = points().flat_map(|point| measured.rows(point)).map(|row| row.flows).sum();
    let runs = points().map(|point| measured.rows(point).len()).sum::<usize>().max(1) as u64;
    let _ = writeln!(text, "\n## {}\n", figure.title());
    let changes = match experiment.changes.as_slice() {
        [] => String::new(),
        changes => format!("; changed: {}", changes.join(", ")),
    };
    let _ = writeln!(text, "{}, about {} flows a run{changes}.", seeds_of([figure]), flows / runs);
    if let Some(missing) = figure.missing() {
        let _ = writeln!(text, "\n{missing}");
    }
    let shorter: BTreeSet<&str> =
        experiment.points.iter().flat_map(|point| &point.shorter).map(String::as_str).collect();
    if !shorter.is_empty() {
        let shorter: Vec<&str> = shorter.into_iter().collect();
        let _ = writeln!(text, "\nShorter or smaller than at paper scale: {}.", shorter.join("; "));
    }
    if let Some(path) = drawn {
        let _ = writeln!(text, "\n![{}]({path})", figure.plan.experiment.title);
    }
    if !claims.is_empty() {
        let with_linux = claims.iter().any(|claim| on_linux.contains_key(&claim.id));
        let (name, line) = if with_linux { ("on Linux | ", "---: | ") } else { ("", "") };
        let _ = writeln!(text, "\n| claim | where | what | claimed | measured | {name}verdict |");
        let _ = writeln!(text, "| --- | --- | --- | ---: | ---: | {line}--- |");
        for claim in claims {
            let what = match (&claim.reading, &claim.repeats) {
                (Some(why), Some(literal)) => format!("{}; a reading of {literal}: {why}", claim.in_full()),
                _ => claim.in_full(),
            };
            let said = [&claim.beyond, &claim.contradicts].into_iter().flatten();
            let judged = [&claim.judged].into_iter().chain(said).cloned().collect::<Vec<_>>().join("; ");
            let judged = claim.with_cause(&judged);
            let found = on_linux.get(&claim.id).map_or(NOTHING, String::as_str);
            let measured = if with_linux { format!("{} | {found}", claim.measured) } else { claim.measured.clone() };
            let _ = writeln!(
                text,
                "| {} | {measured} | {} |",
                cells([&claim.id, &claim.place, &what, &claim.claimed]),
                cells([&judged])
            );
        }
    }
    let _ = writeln!(text, "\n| load | scheme | mean FCT (µs) | p99 FCT (µs) | mean slowdown |");
    let _ = writeln!(text, "| --- | --- | ---: | ---: | ---: |");
    for (point, info) in experiment.points.iter().enumerate() {
        let (there, all) = (measured.rows(point).len(), info.parts.len());
        if there == 0 {
            continue;
        }
        let value = |figure, unit: f64| match measured.estimate(point, &Quantity::of_all_flows(figure)) {
            None => "–".to_owned(),
            Some(found) => {
                let digits = decimals(found.value / unit);
                let text = |value: f64| with_decimals(value / unit, digits);
                format!("{} {}", text(found.value), spread(found.value, found.interval, text)).trim_end().to_owned()
            }
        };
        let axes: String = info.axes.iter().map(|axis| format!(", {}", axis.in_words())).collect();
        let load = info.load.map_or("–".to_owned(), |load| load.to_string());
        let [mean, p99, slowdown] = TABLE;
        let of = if there < all { format!(" of {all}") } else { String::new() };
        let scheme = format!("{}{axes}, {there}{of} seeds", info.scheme);
        row_of(text, [&load, &scheme, &value(mean, 1e6), &value(p99, 1e6), &value(slowdown, 1.0)]);
    }
    for note in figure.kept.notes() {
        let _ = writeln!(text, "\n**Note.** {note}.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::tests::row;
    use Verdict::{NotResolved, OtherDirection, SameDirection, Weaker};

    #[test]
    fn hold_together__another_direction_under_a_calibration_leaves_a_claim_unresolved() {
        let mut figures = [
            vec![row("1", SameDirection, None), row("2", SameDirection, None), row("3", OtherDirection, None)],
            vec![row("1-tight", OtherDirection, Some("1")), row("2-tight", SameDirection, Some("2"))],
            vec![row("1-loose", SameDirection, Some("1")), row("3-loose", NotResolved, Some("3"))],
            vec![row("2-loose", Weaker, Some("2"))],
        ];
        hold_together(&mut figures);
        let found: Vec<(Verdict, &str)> = figures[0].iter().map(|row| (row.verdict, row.judged.as_str())).collect();
        assert_eq!(
            found,
            [
                (NotResolved, "not resolved: same direction; 1-tight: other direction; 1-loose: same direction"),
                (SameDirection, "same direction; 2-loose: weaker"),
                (OtherDirection, "other direction; 3-loose: not resolved"),
            ]
        );
    }

    #[test]
    fn page__what_holds_comes_first() {
        let (summary, checks) = (" It holds.\n".into(), String::new());
        let none = Reproduction { paper: "p".into(), figures: Vec::new(), on_linux: Vec::new(), summary, checks };
        let page = none.page(&|_| String::new());
        assert!(
            page.starts_with(
                "# p\n\nIt holds.\n\n0 claims:\n\n- agrees: 0\n- disagrees: 0\n- not resolved: 0\n\nA claim"
            ),
            "{page}"
        );
    }

    #[test]
    fn anchor__as_the_heading_is_linked() {
        assert_eq!(anchor("fig06: NOS2, section V-B: medium flows"), "fig06-nos2-section-v-b-medium-flows");
        assert_eq!(anchor("fig5-1_b: 10 µs (p99.9)"), "fig5-1_b-10-µs-p999");
    }
}
