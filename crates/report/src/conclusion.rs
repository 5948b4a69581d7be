//! What a result answers, in sentences: each scheme's mean FCT compared with the first scheme's, each value of another swept
//! key compared with its first value, and which schemes meet deadlines.

use flowsieve_results::claims::{Measured, Quantity};
use flowsieve_results::{ClassSummary, Count, Dimension, Figure, Metric, Ratio, ResultDir, Statistic};

use crate::cases::{At, Case, Layout, in_words};
use crate::configuration::uneven;
use crate::format::count;
use crate::group::Group;
use crate::naming::Naming;
use crate::screening;

/// More seeds than this are not advised.
pub(crate) const MOST_SEEDS: usize = 1_000;

/// One of the compared schemes or values.
struct Side<'a> {
    name: &'a str,
    summary: &'a ClassSummary,
}

/// A statistic of a group of flows.
struct Asked {
    group: Group,
    statistic: Statistic,
    /// "mean FCT", "p99 FCT of flows of 0-100KB".
    name: String,
}

/// A sentence for each question, those about schemes first. Empty if the sweep compares nothing.
pub(crate) fn sentences(dir: &ResultDir, layout: &Layout, naming: Naming) -> Vec<String> {
    if let Some(screened) = screening::sentences(dir, naming) {
        return screened;
    }
    // The last class has all flows; if there are coflows, the question is about these.
    let groups = Group::all(dir);
    let group = groups.iter().rfind(|group| matches!(group, Group::Coflows(None)));
    let Some(&group) = group.or_else(|| groups.iter().rfind(|group| group.class().is_some())) else {
        return Vec::new();
    };
    let mean = Asked { group, statistic: Statistic::Mean, name: format!("mean {}", group.time()) };
    let mut sentences: Vec<String> =
        compared(dir).iter().flat_map(|compared| answers(dir, layout, compared, &mean, naming)).collect();
    sentences.extend(deadlines(dir, layout, naming));
    sentences
}

/// What a page opens with: these sentences, then the schemes' p99 of the smallest flows and mean of the largest.
pub(crate) fn opening(dir: &ResultDir, layout: &Layout, naming: Naming) -> Vec<String> {
    if let Some(screened) = screening::sentences(dir, naming) {
        return screened;
    }
    let mut opening = sentences(dir, layout, naming);
    let by_size: Vec<Group> = Group::all(dir).into_iter().filter(|group| group.class().is_some()).collect();
    if let ([smallest, .., largest, _], true) = (&by_size[..], compared(dir).contains(&Dimension::Scheme)) {
        for (group, statistic, measure) in
            [(smallest, Statistic::P99, "p99 FCT"), (largest, Statistic::Mean, "mean FCT")]
        {
            let name = format!("{measure} of {}", group.name(dir));
            let asked = Asked { group: *group, statistic, name };
            opening.extend(answers(dir, layout, &Dimension::Scheme, &asked, naming));
        }
    }
    opening.extend(uneven(&dir.manifest().experiment, naming));
    opening
}

/// A sentence for each case and value of the x axis that compares the values of a key.
fn answers(dir: &ResultDir, layout: &Layout, compared: &Dimension, asked: &Asked, naming: Naming) -> Vec<String> {
    let experiment = &dir.manifest().experiment;
    let value = |point: usize| {
        let value = compared.value(&experiment.points[point]).unwrap_or_default();
        naming.value(experiment, compared, value)
    };
    // The x axis is whatever else the layout varies.
    let layout = Layout::by(experiment, if layout.x == *compared { &Dimension::Load } else { &layout.x }, compared);
    let answer = |(case, at): (&Case, &At)| {
        let names: Vec<String> = at.points.iter().map(|&point| value(point)).collect();
        let sides = names.iter().zip(&at.points);
        let sides: Vec<Side<'_>> =
            sides.map(|(name, &point)| Side { name, summary: asked.group.at(dir, point) }).collect();
        let what = match compared {
            Dimension::Scheme => String::new(),
            other => format!("with {} = ", other.name()),
        };
        sentence(&place(&layout, case, at, |name| naming.scheme(experiment, name).to_owned()), &what, asked, &sides)
    };
    layout.cases.iter().flat_map(|case| case.at.iter().map(move |at| (case, at))).filter_map(answer).collect()
}

/// The share of the flows with a deadline that meet it under each scheme, the largest first.
fn deadlines(dir: &ResultDir, layout: &Layout, naming: Naming) -> Vec<String> {
    if dir.manifest().runs.iter().all(|run| run.measured.deadlines.flows == 0) {
        return Vec::new();
    }
    let experiment = &dir.manifest().experiment;
    let met = Quantity::of_all_flows(Figure::Count(Count::DeadlinesMet));
    let measured = Measured::of(vec![met.clone()], dir.manifest(), dir.summary());
    let of = |(case, at): (&Case, &At)| {
        let place = place(layout, case, at, |name| naming.scheme(experiment, name).to_owned());
        let share = |&point: &usize| {
            Some((naming.scheme(experiment, &experiment.points[point].scheme), measured.estimate(point, &met)?))
        };
        let mut shares: Vec<_> = at.points.iter().filter_map(share).collect();
        shares.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let said = shares.iter().map(|(scheme, share)| {
            let per_cent = |share: f64| format!("{:.1}", 100.0 * share.min(1.0));
            let ends = |(low, high)| format!(" ({} to {})", per_cent(low), per_cent(high));
            format!("{} % under {scheme}{}", per_cent(share.value), share.interval.map_or(String::new(), ends))
        });
        let said: Vec<String> = said.collect();
        format!("{}{} of the flows that have a deadline meet it.", place, said.join(", "))
    };
    layout.cases.iter().flat_map(|case| case.at.iter().map(move |at| (case, at))).map(of).collect()
}

/// The compared keys: schemes, and swept keys under which the flows stay the same.
fn compared(dir: &ResultDir) -> Vec<Dimension> {
    let experiment = &dir.manifest().experiment;
    let is_asked = |dimension: &Dimension, values: &[String]| match dimension {
        Dimension::Scheme => true,
        Dimension::Load => false,
        Dimension::Key(_) => experiment.pairs(dimension, &values[1], &values[0]).iter().all(|&(this, other)| {
            let [this, other] = [this, other].map(|point| &dir.summary().points[point].classes);
            this.iter().zip(other).all(|(this, other)| this.has_flows_of(other))
        }),
    };
    let asked = experiment.dimensions().into_iter().filter(|(dimension, values)| is_asked(dimension, values));
    asked.map(|(dimension, _)| dimension).collect()
}

/// The point of a comparison: "At load 0.8, ecn_threshold = 65pkt ".
fn place(layout: &Layout, case: &Case, at: &At, called: impl Fn(&str) -> String) -> String {
    let several = layout.cases.iter().any(|case| case.at.len() > 1);
    let x = at.value.as_ref().filter(|_| several).map(|value| (layout.x.clone(), value.clone()));
    let all: Vec<(Dimension, String)> = x.into_iter().chain(case.fixed.iter().cloned()).collect();
    let scheme = all.iter().find(|(dimension, _)| *dimension == Dimension::Scheme).map(|(_, name)| called(name));
    let others: Vec<String> = all
        .iter()
        .filter(|(dimension, _)| *dimension != Dimension::Scheme)
        .map(|(dimension, value)| in_words(dimension, value))
        .collect();
    match (scheme, others.join(", ")) {
        (None, others) if others.is_empty() => String::new(),
        (None, others) => format!("At {others} "),
        (Some(scheme), others) if others.is_empty() => format!("Under {scheme} "),
        (Some(scheme), others) => format!("Under {scheme} at {others} "),
    }
}

/// The others compared with the first, the best first.
fn sentence(place: &str, what: &str, asked: &Asked, sides: &[Side<'_>]) -> Option<String> {
    let (first, others) = sides.split_first().filter(|(_, others)| !others.is_empty())?;
    let ratio = |side: &Side<'_>| side.summary.ratio(first.summary, Metric::Fct, asked.statistic);
    let mut others: Vec<(&Side<'_>, Option<Ratio>)> = others.iter().map(|side| (side, ratio(side))).collect();
    others.sort_by(|(_, a), (_, b)| {
        let value = |ratio: &Option<Ratio>| ratio.map_or(f64::INFINITY, |ratio| ratio.value);
        value(a).total_cmp(&value(b))
    });
    let seeds = first.summary.seeds.len();
    let one = |(index, (side, ratio)): (usize, &(&Side<'_>, Option<Ratio>))| {
        let found = found(side, first, asked.statistic, *ratio);
        let is_first = index == 0;
        match (what.is_empty(), is_first) {
            (true, true) => {
                format!("{}'s {} {}", side.name, asked.name, found.compared_with(&format!("{}'s", first.name)))
            }
            (true, false) => format!("{}'s {}", side.name, found.alone()),
            (false, true) => {
                let the = if place.is_empty() { "The" } else { "the" };
                format!(
                    "{the} {} {what}{} {}",
                    asked.name,
                    side.name,
                    found.compared_with(&format!("that with {}", first.name))
                )
            }
            (false, false) => format!("with {} {}", side.name, found.alone()),
        }
    };
    let said: Vec<String> = others.iter().enumerate().map(one).collect();
    let unsure = if seeds < 2 { " (one seed, so no interval)" } else { "" };
    Some(format!("{place}{}{unsure}.", said.join("; ")))
}

/// The result of comparing one side with another.
enum Found {
    /// "13 % below", "(10 to 15)".
    Is(String, String),
    /// Equal in every seed.
    Same,
    /// By how many seeds it is not resolved, the interval, and what to try.
    Open(String),
    /// Why it is not judged.
    NotCompared(String),
}

impl Found {
    fn compared_with(&self, other: &str) -> String {
        match self {
            Found::Is(what, interval) => format!("is {what} {other}{interval}"),
            Found::Same => format!("is as long as {other}"),
            Found::Open(how) => format!("cannot be distinguished from {other}{how}"),
            Found::NotCompared(why) => format!("cannot be compared with {other}{why}"),
        }
    }

    fn alone(&self) -> String {
        match self {
            Found::Is(what, interval) => format!("{what}{interval}"),
            Found::Same => "as long".into(),
            Found::Open(how) => format!("cannot be distinguished{how}"),
            Found::NotCompared(why) => format!("cannot be compared{why}"),
        }
    }
}

fn found(side: &Side<'_>, first: &Side<'_>, statistic: Statistic, ratio: Option<Ratio>) -> Found {
    let unfinished = side.summary.unfinished() + first.summary.unfinished();
    if unfinished > 0 {
        return Found::NotCompared(format!(" ({} unfinished)", count(unfinished)));
    }
    let Some(ratio) = ratio else { return Found::NotCompared(" (nothing finished in the same seed)".into()) };
    match ratio.interval {
        None | Some((1.0, 1.0)) if ratio.value == 1.0 => Found::Same,
        None => Found::Is(change(ratio.value), String::new()),
        Some(_) if ratio.is_resolved() => {
            Found::Is(change(ratio.value), ratio.interval.map(within).unwrap_or_default())
        }
        Some((low, high)) => {
            let seeds = side.summary.seeds.len().max(first.summary.seeds.len());
            let advice = match side.summary.more_seeds(first.summary, Metric::Fct, statistic, MOST_SEEDS) {
                Some(more) => format!("try `--seeds {}`", seeds + more),
                None => format!("even {} seeds would not be enough", count(MOST_SEEDS as u64)),
            };
            Found::Open(format!(" by {} seeds ({} to {}; {advice})", count(seeds as u64), signed(low), signed(high)))
        }
    }
}

/// "13 % below", "4 % above", "3.2 times".
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 2.0 => format!("{ratio:.1} times"),
        _ if ratio > 1.0 => format!("{} % above", digits(ratio - 1.0)),
        _ => format!("{} % below", digits(1.0 - ratio)),
    }
}

/// "−13 %", "+4 %", "3.2 times".
pub(crate) fn signed(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 2.0 => format!("{ratio:.1} times"),
        _ if ratio > 1.0 => format!("+{} %", digits(ratio - 1.0)),
        _ => format!("−{} %", digits(1.0 - ratio)),
    }
}

/// The interval of a resolved ratio: both ends are on one side.
pub(crate) fn within((low, high): (f64, f64)) -> String {
    match (low, high) {
        _ if high >= 2.0 && low > 1.0 => format!(" ({low:.1} to {high:.1} times)"),
        _ if low > 1.0 => format!(" ({} to {})", digits(low - 1.0), digits(high - 1.0)),
        _ => format!(" ({} to {})", digits(1.0 - high), digits(1.0 - low)),
    }
}

/// Per cent with a decimal below ten.
fn digits(share: f64) -> String {
    let per_cent = 100.0 * share;
    if per_cent < 9.95 { format!("{per_cent:.1}") } else { format!("{per_cent:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change__in_the_words_that_fit_it() {
        assert_eq!(
            [0.87, 0.993, 1.04, 1.25, 3.21].map(change),
            ["13 % below", "0.7 % below", "4.0 % above", "25 % above", "3.2 times"]
        );
        assert_eq!(
            [(0.85, 0.90), (1.01, 1.08), (1.8, 2.4)].map(within),
            [" (10 to 15)", " (1.0 to 8.0)", " (1.8 to 2.4 times)"]
        );
    }
}
