//! A paper's claims next to the measured values: rows for the terminal, the page and Markdown.

use crate::claim::{Checked, Claim, Claims, Expected, Unmeasured, Verdict};
use crate::why::{Cause, came, shown};
use flowsieve_report::format::{self, flows_of, per_cent, size, time};
use flowsieve_report::{Naming, paragraph};
use flowsieve_results::looks::LOOKS;
use flowsieve_results::measured::Measured;
use flowsieve_results::{Estimate, Experiment, Figure, Only, Ratio, SeriesAt, Unit};

/// A claim in words.
#[derive(Clone, Default)]
pub(crate) struct ClaimRow {
    pub(crate) id: String,
    pub(crate) place: String,
    /// The metric, its flows and its points.
    pub(crate) what: String,
    pub(crate) claimed: String,
    pub(crate) measured: String,
    pub(crate) verdict: Verdict,
    /// The verdict in words, with the obstacle to one, if there is one.
    pub(crate) judged: String,
    pub(crate) note: String,
    /// Another workload stands in for the paper's.
    pub(crate) stands_in: bool,
    /// The claim that it repeats under another calibration or reading.
    pub(crate) repeats: Option<String>,
    /// The reason for this reading, if it is one.
    pub(crate) reading: Option<String>,
    /// Other words of the paper that contradict it.
    pub(crate) contradicts: Option<String>,
    /// Why no scheme could reach the claimed value in this network, if none could.
    pub(crate) beyond: Option<String>,
    /// The cause, if it does not hold.
    pub(crate) why: Option<String>,
    /// What is known of that cause.
    pub(crate) cause: Cause,
    /// The test of that cause: what is changed, what was expected, and what was measured.
    pub(crate) test: Option<[String; 3]>,
    /// The scale made its runs shorter or smaller.
    pub(crate) is_shorter: bool,
}

impl ClaimRow {
    /// The claimed value, with its note.
    pub(crate) fn in_full(&self) -> String {
        if self.note.is_empty() { self.what.clone() } else { format!("{} ({})", self.what, self.note) }
    }

    /// The verdict in words, followed by the cause of one that does not support the claim.
    pub(crate) fn judged_with_cause(&self) -> String {
        self.with_cause(&self.judged)
    }

    /// A reason why the claim does not hold, followed by the cause. A claim that holds has no cause, even if its file states
    /// one: with more seeds or other settings a claim may come to hold.
    pub(crate) fn with_cause(&self, reason: &str) -> String {
        let holds = matches!(self.verdict, Verdict::Agrees | Verdict::SameDirection);
        match (self.why.as_ref().filter(|_| !holds), self.cause) {
            (Some(why), Cause::Guess) => format!("{reason}; a guess: {why}"),
            (Some(why), Cause::Computed) => format!("{reason}; {why}"),
            (Some(why), cause) => format!("{reason}; {why} ({})", cause.in_words()),
            (None, _) => reason.to_owned(),
        }
    }

    /// Takes that even the ideal scheme is off the claim.
    pub(crate) fn bounded(&mut self, claim: &Claim, ideal: Option<Checked>) {
        let (Some(name), Some(checked)) = (&claim.ideal, ideal) else { return };
        let why = self.why.as_ref().map_or(String::new(), |why| format!("{}; ", why.trim_end_matches('.')));
        self.why = Some(format!("{why}even {name} has {}", measured(claim, &checked)));
        self.cause = Cause::Computed;
    }

    /// Takes what the test of its cause shows.
    pub(crate) fn tested(&mut self, claim: &Claim, without: &Checked, with: &Checked) {
        let Some(test) = &claim.why_test else { return };
        if self.cause != Cause::Computed {
            self.cause = shown(claim, without, with);
        }
        let came = match came(claim, test, with) {
            Verdict::Agrees => "",
            Verdict::Disagrees => " (not as expected)",
            _ => " (not resolved whether as expected)",
        };
        let expected = claimed(&Claim { expected: test.expect, ..claim.clone() });
        self.test = Some([test.set.join(", "), expected, format!("{}{came}", measured(claim, with))]);
    }
}

/// The claims of an experiment with what was measured, in its order; those that are not measured last.
pub(crate) fn rows(experiment: &Experiment, claims: &Claims, measured: &Measured, naming: Naming) -> Vec<ClaimRow> {
    let of = |claim: &Claim| {
        let points = claim.all_points(experiment);
        let is_shorter = points.iter().any(|&point| !experiment.points[point].shorter.is_empty());
        let checked = claim.check(experiment, measured);
        let seeds = checked.seeds.filter(|_| checked.is_open());
        let outlook = seeds.and_then(|seeds| outlook(seeds, claim.seeds_to_resolve(experiment, measured)));
        let what = what(claim, |name| naming.scheme(experiment, name));
        ClaimRow { what, ..row(claim, &checked, is_shorter, outlook) }
    };
    claims.measured.iter().map(of).chain(claims.unmeasured.iter().map(unmeasured)).collect()
}

/// Two lines per claim, or more if they are long: the claim and the measured value.
pub(crate) fn claim_lines(claims: &[ClaimRow]) -> String {
    let mut text = String::new();
    for claim in claims {
        let (ClaimRow { id, what, claimed, measured, .. }, judged) = (claim, claim.judged_with_cause());
        text += &format!("{}\n", paragraph(&format!("{id}: {what}"), "    "));
        text += &format!("{}\n", paragraph(&format!("    {claimed} claimed, {measured} measured: {judged}"), "    "));
    }
    text
}

/// What more seeds would do for a claim that is not resolved after some; `None` if there can be no more.
fn outlook(seeds: usize, enough: Option<usize>) -> Option<String> {
    match enough {
        Some(enough) => Some(format!("about {enough} would be enough")),
        None if LOOKS.last().is_some_and(|last| seeds < last.seeds) => Some("twice as many would not be enough".into()),
        None => None,
    }
}

/// Without the claim itself in words.
fn row(claim: &Claim, checked: &Checked, is_shorter: bool, outlook: Option<String>) -> ClaimRow {
    let is_direct = matches!(checked.verdict, Verdict::Agrees | Verdict::Disagrees);
    let at_this_length = if is_shorter && is_direct { " at this length" } else { "" };
    let judged = judged(&format!("{}{at_this_length}", checked.verdict.in_words()), &checked.why);
    let has_no_side = claim.stand_in.is_some() && claim.expected.direction(0.0).is_none();
    let is_undecidable = checked.verdict == Verdict::NotTested || has_no_side;
    let is_beyond = |bound: &Ratio| checked.seeds.is_some() && claim.is_beyond(bound);
    let beyond = checked.bound.filter(is_beyond).map(|bound| beyond(&bound));
    ClaimRow {
        id: claim.id.clone(),
        place: claim.place.clone(),
        what: String::new(),
        claimed: claimed(claim),
        measured: measured(claim, checked),
        verdict: checked.verdict,
        judged: match checked.seeds {
            None => judged,
            Some(seeds) => {
                let outlook = outlook.map_or(String::new(), |outlook| format!("; {outlook}"));
                format!("{judged} (after {seeds} seeds{outlook})")
            }
        },
        note: claim.note.clone(),
        stands_in: claim.stand_in.is_some(),
        repeats: claim.repeats.clone(),
        reading: claim.reading.clone(),
        contradicts: claim.contradicts.clone(),
        cause: match &claim.why {
            _ if beyond.is_some() || claim.contradicts.is_some() || is_undecidable => Cause::Computed,
            // A page knows what its runs show.
            Some(_) if claim.why_test.is_some() => Cause::NotRun,
            Some(_) => Cause::Guess,
            None => Cause::None,
        },
        test: None,
        beyond,
        why: claim.why.clone(),
        is_shorter,
    }
}

/// In words, that the flows of the scheme would take longer here even if they were alone.
fn beyond(bound: &Ratio) -> String {
    format!("no scheme can be better than {} in our set-up: these flows take that long alone", change(bound))
}

fn unmeasured(claim: &Unmeasured) -> ClaimRow {
    let verdict = Verdict::NotMeasured;
    ClaimRow {
        id: claim.id.clone(),
        place: claim.place.clone(),
        what: claim.claimed.clone(),
        measured: "–".into(),
        verdict,
        judged: judged(verdict.in_words(), &claim.why),
        note: claim.note.clone(),
        ..ClaimRow::default()
    }
}

fn judged(verdict: &str, why: &str) -> String {
    if why.is_empty() { verdict.into() } else { format!("{verdict}: {why}") }
}

fn what<'a>(claim: &'a Claim, called: impl Fn(&'a str) -> &'a str) -> String {
    let mut text = of_what(claim);
    let between = match claim.expected {
        Expected::Rising => " < ",
        Expected::Close => " ≈ ",
        _ => " / ",
    };
    let schemes: Vec<&str> = [&claim.scheme].into_iter().chain(&claim.baselines).map(|name| called(name)).collect();
    text += &format!(", {}", schemes.join(between));
    if !claim.loads.is_empty() {
        let loads: Vec<String> = claim.loads.iter().map(f64::to_string).collect();
        text += &format!(", load {}", loads.join(", "));
    }
    for axis in &claim.at {
        text += &format!(", {}", axis.in_words());
    }
    if let Some(workload) = &claim.stand_in {
        text += &format!(", on {workload} in place of the paper's trace");
    }
    text
}

/// The metric, and its flows or coflows.
pub(crate) fn of_what(claim: &Claim) -> String {
    let mut text = match (&claim.quantity.series, claim.quantity.figure) {
        (Some(SeriesAt { name, of, at_ps, until_ps }), _) => {
            let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
            match (at_ps.map(time), until_ps.map(time)) {
                (Some(from), Some(until)) => format!("mean {name}{of} from {from} to {until}"),
                (at, _) => format!("{name}{of} at {}", at.unwrap_or("the end".into())),
            }
        }
        (None, figure) if figure.is_of_flows() => {
            format!("{} of {}", figure.name().replace("fct", "FCT"), flows_of(&claim.quantity.class))
        }
        (None, Figure::Coflows(..)) => {
            let all = claim.quantity.class.up_to_bytes.is_none() && claim.quantity.class.above_bytes == 0;
            let coflows = match claim.quantity.coflow_class {
                Some(class) => format!("{} coflows", class.name()),
                None if all => "coflows".into(),
                None => flows_of(&claim.quantity.class).replace("flows", "coflows"),
            };
            let other = claim.baseline_class.map_or(String::new(), |class| format!(" / {}", class.name()));
            format!("{} of {coflows}{other}", claim.quantity.figure.name().replace("cct", "CCT"))
        }
        (None, figure) => figure.name(),
    };
    let Only { workload, deadline, started_ps, senders } = claim.quantity.only;
    if let Some(class) = workload {
        text += &format!(" of workload {class}");
    }
    if let Some(deadline) = deadline {
        text += if deadline { " with deadlines" } else { " without deadlines" };
    }
    if let Some((from, to)) = started_ps {
        text += &format!(" started from {} to {}", time(from), time(to));
    }
    if let Some((from, to)) = senders {
        text += &format!(" sent by hosts {from} to {}", to - 1);
    }
    text
}

fn is_order(claim: &Claim) -> bool {
    matches!(claim.expected, Expected::Rising | Expected::Close)
}

fn unit(claim: &Claim) -> Unit {
    claim.quantity.series.as_ref().map_or(claim.quantity.figure.unit(), SeriesAt::unit)
}

fn claimed(claim: &Claim) -> String {
    let change = |share: f64| format!("{} %", signed(100.0 * share));
    let tolerance = || format!(" ± {}", number(100.0 * claim.tolerance));
    let value = |value: f64| amount(unit(claim), value);
    let of_it = || if claim.tolerance > 0.0 { format!("{} %", tolerance()) } else { String::new() };
    match claim.expected {
        Expected::Change(share) => format!("{}{}", change(share), tolerance()),
        Expected::UpTo(share) => format!("up to {}{}", change(share), tolerance()),
        Expected::Between(low, high) => format!("{} to {}{}", change(low), change(high), tolerance()),
        Expected::Lower => "lower".into(),
        Expected::Higher => "higher".into(),
        Expected::Value(stated) => format!("{}{}", value(stated), of_it()),
        Expected::Within(low, high) => format!("{} to {}{}", value(low), value(high), of_it()),
        Expected::Rising => "rising".into(),
        Expected::Close => format!("close{}", of_it()),
    }
}

/// The measured value, with its interval; for a range the smallest and the largest of its loads, for an order each scheme's.
fn measured(claim: &Claim, checked: &Checked) -> String {
    let Some(ratio) = &checked.ratio else { return measured_values(claim, checked) };
    if let Expected::Between(..) = claim.expected {
        let by_value = |a: &&(Option<f64>, Ratio), b: &&(Option<f64>, Ratio)| a.1.value.total_cmp(&b.1.value);
        let ends = (checked.by_load.iter().min_by(by_value), checked.by_load.iter().max_by(by_value));
        if let ((Some((_, least)), Some((_, most))), true) = (ends, checked.by_load.len() > 1) {
            return format!("{} to {}", change(least), change(most));
        }
    }
    let at = checked.load.map(|load| format!(" at load {load}")).unwrap_or_default();
    format!("{}{at}", change(ratio))
}

fn measured_values(claim: &Claim, checked: &Checked) -> String {
    let value = |value: f64| amount(unit(claim), value);
    let by_load = || checked.values_by_load.iter().map(|(_, found)| found.value);
    let values: Vec<String> = match (claim.expected, by_load().reduce(f64::min), by_load().reduce(f64::max)) {
        (Expected::Within(..), Some(least), Some(most)) if checked.values_by_load.len() > 1 => {
            vec![format!("{} to {}", value(least), value(most))]
        }
        _ if is_order(claim) => checked.values.iter().map(|(_, found)| value(found.value)).collect(),
        _ => {
            let interval = |(low, high)| format!(" ({} to {})", value(low), value(high));
            let one =
                |found: &Estimate| format!("{}{}", value(found.value), found.interval.map_or(String::new(), interval));
            checked.values.iter().map(|(_, found)| one(found)).collect()
        }
    };
    if values.is_empty() { "–".into() } else { values.join(", ") }
}

/// A value of a figure as people read it.
fn amount(unit: Unit, value: f64) -> String {
    // Ends of intervals may lie below zero.
    let sign = if value < 0.0 { "−" } else { "" };
    let whole = value.abs() as u64;
    let text = match unit {
        Unit::Time => time(whole),
        Unit::Size => size(whole),
        Unit::Rate => format!("{} Gbit/s", format::number(value.abs() / 1e9)),
        Unit::Share => per_cent(value.abs()),
        Unit::Number => format::number(value.abs()),
    };
    format!("{sign}{text}")
}

fn change(ratio: &Ratio) -> String {
    let per_cent = |ratio: f64| signed(100.0 * (ratio - 1.0));
    let interval = ratio.interval.map(|(low, high)| format!(" ({} to {})", per_cent(low), per_cent(high)));
    format!("{} %{}", per_cent(ratio.value), interval.unwrap_or_default())
}

/// With its sign and one decimal at most.
fn signed(value: f64) -> String {
    let text = number(value.abs());
    match value {
        _ if text == "0" => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A claim that was measured at +1 %.
    pub(crate) fn row(id: &str, verdict: Verdict, repeats: Option<&str>) -> ClaimRow {
        ClaimRow {
            id: id.into(),
            place: "Fig 1".into(),
            what: "mean FCT".into(),
            claimed: "lower".into(),
            measured: "+1 %".into(),
            verdict,
            judged: verdict.in_words().into(),
            stands_in: matches!(verdict, Verdict::SameDirection | Verdict::Weaker | Verdict::OtherDirection),
            repeats: repeats.map(str::to_owned),
            ..ClaimRow::default()
        }
    }
}
