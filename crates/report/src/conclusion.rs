//! What a result answers, in sentences: each scheme's mean FCT compared with the first scheme's, each value of another swept
//! key compared with its first value, and which schemes meet deadlines.

use flowsieve_results::measured::{Measured, Quantity};
use flowsieve_results::{ClassSummary, Count, Dimension, Figure, Metric, Ratio, ResultDir, Statistic, without_section};

use crate::cases::{At, Case, Layout, in_words};
use crate::configuration::uneven;
use crate::format::count;
use crate::group::Group;
use crate::naming::Naming;
use crate::screening;
use crate::text_table::UNBROKEN;

/// More sentences than this hide what comes after them; the page has all.
pub(crate) const SENTENCES: usize = 5;

/// More seeds than this are not advised.
pub(crate) const MOST_SEEDS: usize = 100;

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

/// The answers, the most important first: at the highest load how the schemes differ in the mean of the flows that are asked for
/// first, in the p99 of the smallest and the mean of the largest and of all; then at other loads. Empty if the sweep compares
/// nothing.
pub(crate) fn opening(dir: &ResultDir, layout: &Layout, naming: Naming) -> Vec<String> {
    if let Some(screened) = screening::sentences(dir, naming) {
        return screened;
    }
    let groups = Group::all(dir);
    let sizes: Vec<Group> = groups.iter().copied().filter(|group| group.class().is_some()).collect();
    // If there are coflows, the question is about these.
    let first = groups.iter().find(|group| **group == Group::Coflows(None)).copied();
    let mut asked = vec![(first.unwrap_or_else(|| Group::first_asked(dir)), Statistic::Mean)];
    if let [smallest, .., largest, all] = &sizes[..] {
        asked.extend([(*smallest, Statistic::P99), (*largest, Statistic::Mean), (*all, Statistic::Mean)]);
    }
    let mut seen = Vec::new();
    asked.retain(|one| {
        !seen.contains(one) && {
            seen.push(*one);
            true
        }
    });
    let compared = compared(dir);
    let of = |is_highest: bool| {
        let mut said = Vec::new();
        for dimension in &compared {
            let most = if *dimension == Dimension::Scheme { asked.len() } else { 1 };
            for &(group, statistic) in &asked[..most] {
                let of = if group.class().is_some() { format!(" of {}", group.name(dir)) } else { String::new() };
                let name = format!("{} {}{of}", statistic.name(), group.time());
                let asked = Asked { group, statistic, name };
                said.extend(answers(dir, layout, dimension, &asked, is_highest, naming));
            }
        }
        said
    };
    let mut opening = of(true);
    opening.extend(uneven(&dir.manifest().experiment, naming));
    opening.extend(deadlines(dir, layout, naming));
    opening.extend(of(false));
    opening
}

/// A sentence for each case that compares the values of a key at the highest value of the x axis, or for each other value.
fn answers(
    dir: &ResultDir,
    layout: &Layout,
    compared: &Dimension,
    asked: &Asked,
    is_highest: bool,
    naming: Naming,
) -> Vec<String> {
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
            other => format!("with {} = ", without_section(other.name())),
        };
        sentence(
            &place(&layout, case, at, |name| naming.scheme(experiment, name).to_owned()),
            &what,
            asked,
            &sides,
            naming,
        )
    };
    let meant =
        layout.cases.iter().flat_map(|case| case.at.iter().enumerate().map(move |(index, at)| (case, index, at)));
    let meant = meant.filter(|(case, index, _)| (*index == case.highest()) == is_highest);
    meant.filter_map(|(case, _, at)| answer((case, at))).collect()
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

/// Whether the values of a key are compared.
pub(crate) fn is_compared(dir: &ResultDir, dimension: &Dimension) -> bool {
    compared(dir).contains(dimension)
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
fn sentence(place: &str, what: &str, asked: &Asked, sides: &[Side<'_>], naming: Naming) -> Option<String> {
    let (first, others) = sides.split_first().filter(|(_, others)| !others.is_empty())?;
    let ratio = |side: &Side<'_>| side.summary.ratio(first.summary, Metric::Fct, asked.statistic);
    let mut others: Vec<(&Side<'_>, Option<Ratio>)> = others.iter().map(|side| (side, ratio(side))).collect();
    // What is not judged comes last.
    let value = |(side, ratio): &(&Side<'_>, Option<Ratio>)| match ratio {
        Some(ratio)
            if side.summary.unfinished() == 0 && side.summary.untold(Metric::Fct, asked.statistic).is_none() =>
        {
            ratio.value
        }
        _ => f64::INFINITY,
    };
    others.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let seeds = first.summary.seeds.len();
    let one = |(index, (side, ratio)): (usize, &(&Side<'_>, Option<Ratio>))| {
        let found = found(side, first, asked.statistic, *ratio, naming);
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
    /// "13 % below", " (10 to 15)".
    Is([String; 2]),
    /// Equal in every seed.
    Same,
    /// By how many seeds it is not resolved, the interval, and what to try; or only the interval, of a difference of nothing.
    Open(String),
    /// Why it is not judged.
    NotCompared(String),
}

impl Found {
    fn compared_with(&self, other: &str) -> String {
        match self {
            Found::Is([what, interval]) => format!("is {what} {other}{interval}"),
            Found::Same => format!("is as long as {other}"),
            Found::Open(how) => format!("cannot be distinguished from {other}{how}"),
            Found::NotCompared(why) => format!("cannot be compared with {other}{why}"),
        }
    }

    fn alone(&self) -> String {
        match self {
            Found::Is(what) => what.concat(),
            Found::Same => "as long".into(),
            Found::Open(how) => format!("cannot be distinguished{how}"),
            Found::NotCompared(why) => format!("cannot be compared{why}"),
        }
    }
}

fn found(side: &Side<'_>, first: &Side<'_>, statistic: Statistic, ratio: Option<Ratio>, naming: Naming) -> Found {
    let unfinished = side.summary.unfinished() + first.summary.unfinished();
    if unfinished > 0 {
        return Found::NotCompared(format!(" ({} unfinished)", count(unfinished)));
    }
    if let Some(why) = [side, first].into_iter().find_map(|one| one.summary.untold(Metric::Fct, statistic)) {
        return Found::NotCompared(format!(" ({})", why.in_words()));
    }
    let Some(ratio) = ratio else { return Found::NotCompared(" (nothing finished in the same seed)".into()) };
    match ratio.interval {
        Some((1.0, 1.0)) => Found::Same,
        None if is_nothing(ratio.value) => Found::Same,
        None => Found::Is(change(ratio)),
        Some(ends) if ratio.is_resolved() && is_nothing(ratio.value) => Found::Open(format!(" ({})", around(ends))),
        Some(_) if ratio.is_resolved() => Found::Is(change(ratio)),
        Some(ends) => {
            let seeds = side.summary.seeds.len().max(first.summary.seeds.len());
            let advice = match side.summary.more_seeds(first.summary, Metric::Fct, statistic, MOST_SEEDS) {
                Some(more) if naming == Naming::Names => format!("try --seeds{UNBROKEN}{}", seeds + more),
                Some(more) => format!("try {} seeds", seeds + more),
                None => format!("even {} seeds would not be enough", count(MOST_SEEDS as u64)),
            };
            Found::Open(format!(" by {} seeds ({}; {advice})", count(seeds as u64), around(ends)))
        }
    }
}

/// "13 % below" and " (10 to 15)", or "3.2 times" and " (2.8 to 3.6)": a difference, and its interval in the same terms.
pub(crate) fn change(ratio: Ratio) -> [String; 2] {
    let Ratio { value, interval } = ratio;
    let (low, high) = interval.unwrap_or((value, value));
    let (what, [low, high]) = match value {
        _ if high.max(value) >= FACTOR => (format!("{value:.1} times"), [low, high].map(|end| format!("{end:.1}"))),
        _ if value > 1.0 => (format!("{} % above", digits(value - 1.0)), [low, high].map(|end| digits(end - 1.0))),
        _ => (format!("{} % below", digits(1.0 - value)), [high, low].map(|end| digits(1.0 - end))),
    };
    [what, interval.map_or(String::new(), |_| format!(" ({low} to {high})"))]
}

/// "−13 to +4.0 %", or "0.11 to 2.1 times": an interval that may hold 1.
pub(crate) fn around((low, high): (f64, f64)) -> String {
    if high >= FACTOR {
        return format!("{low:.2} to {high:.1} times");
    }
    let signed = |ratio: f64| match ratio - 1.0 {
        _ if is_nothing(ratio) => "0.0".to_owned(),
        more if more > 0.0 => format!("+{}", digits(more)),
        less => format!("−{}", digits(-less)),
    };
    format!("{} to {} %", signed(low), signed(high))
}

/// From here on, a difference is a factor.
const FACTOR: f64 = 2.0;

/// Whether a ratio is 1 to the digits that are shown.
fn is_nothing(ratio: f64) -> bool {
    (ratio - 1.0).abs() < 0.000_5
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
        let of = |value, interval| change(Ratio { value, interval }).concat();
        assert_eq!(
            [0.87, 0.993, 1.04, 1.25, 3.21].map(|value| of(value, None)),
            ["13 % below", "0.7 % below", "4.0 % above", "25 % above", "3.2 times"]
        );
        assert_eq!(of(0.87, Some((0.85, 0.90))), "13 % below (10 to 15)");
        assert_eq!(of(1.04, Some((1.01, 1.08))), "4.0 % above (1.0 to 8.0)");
    }

    #[test]
    fn change__per_cent_and_factors_never_together() {
        assert_eq!(change(Ratio { value: 1.9, interval: Some((1.6, 2.4)) }).concat(), "1.9 times (1.6 to 2.4)");
        assert_eq!(around((0.11, 2.1)), "0.11 to 2.1 times");
        assert_eq!(around((0.87, 1.04)), "−13 to +4.0 %");
        assert_eq!(around((0.999_9, 1.004)), "0.0 to +0.4 %");
    }
}
