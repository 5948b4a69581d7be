//! What a screened result says: the order of its points by each measure that a sample ranks, and which to run whole.

use flowsieve_results::screening::{Place, Ranked, Ranking, rankings};
use flowsieve_results::{Dimension, Experiment, PointInfo, ResultDir};

use crate::cases::in_words;
use crate::conclusion::{around, change};
use crate::naming::Naming;

/// More points than this are counted instead of named.
const NAMED: usize = 6;

/// The sentences of a screened result; `None` for any other.
pub(crate) fn sentences(dir: &ResultDir, naming: Naming) -> Option<Vec<String>> {
    let experiment = &dir.manifest().experiment;
    let every = experiment.screened()?;
    let seeds = experiment.points.iter().map(|point| point.parts.len()).max().unwrap_or(0);
    let samples = if seeds == 1 { "one sample, so no intervals".to_owned() } else { format!("{seeds} samples") };
    let mut said = vec![format!(
        "Screened: only the flows to one host in {every} were sent, in {samples}. The order of the points counts, their \
         values do not. The mean FCT is not ranked: a sample has too few large flows."
    )];
    let rankings = rankings(experiment, dir.summary());
    if rankings.is_empty() {
        said.push("There is nothing to rank: no two points have the same flows.".to_owned());
    }
    for ranking in &rankings {
        let named = Named::of(experiment, ranking, naming);
        for (measure, order) in &ranking.orders {
            said.push(named.order(dir, *measure, order));
        }
        let whole: Vec<String> = ranking.whole.iter().map(|&point| named.point(point)).collect();
        let all = ranking.orders.first().map_or(0, |(_, order)| order.len());
        let end = if whole.len() == all { " They are all: these samples tell none of them apart." } else { "" };
        said.push(format!("{}Run whole: {}.{end}", named.place, whole.join("; ")));
    }
    Some(said)
}

/// How the points of a ranking are called.
struct Named<'a> {
    experiment: &'a Experiment,
    naming: Naming,
    /// The dimensions in which they differ.
    differ: Vec<Dimension>,
    /// What they have in common and others do not: "At load 0.8: ".
    place: String,
}

impl<'a> Named<'a> {
    fn of(experiment: &'a Experiment, ranking: &Ranking, naming: Naming) -> Named<'a> {
        let points = || ranking.orders.iter().flat_map(|(_, order)| order).map(|place| &experiment.points[place.point]);
        let all: Vec<Dimension> = experiment.dimensions().into_iter().map(|(dimension, _)| dimension).collect();
        let (differ, common): (Vec<_>, Vec<_>) = all.into_iter().partition(|dimension| {
            let first = points().next().and_then(|point| dimension.value(point));
            points().any(|point| dimension.value(point) != first)
        });
        let named = Named { experiment, naming, differ, place: String::new() };
        let words = points().next().map_or(String::new(), |point| named.words(&common, point));
        Named { place: if words.is_empty() { words } else { format!("At {words}: ") }, ..named }
    }

    /// A point's values of these settings.
    fn words(&self, dimensions: &[Dimension], point: &PointInfo) -> String {
        let words = |dimension: &Dimension| {
            Some(in_words(dimension, &self.naming.value(self.experiment, dimension, dimension.value(point)?)))
        };
        dimensions.iter().filter_map(words).collect::<Vec<_>>().join(", ")
    }

    fn point(&self, point: usize) -> String {
        let point = &self.experiment.points[point];
        let words = self.words(&self.differ, point);
        if words.is_empty() { point.scheme.clone() } else { words }
    }

    fn order(&self, dir: &ResultDir, measure: Ranked, order: &[Place]) -> String {
        let what = match measure {
            Ranked::MeanSlowdown => "mean slowdown".to_owned(),
            Ranked::SmallP99 => {
                let class = dir.summary().points.first().and_then(|point| measure.class(point));
                format!("p99 FCT of {}", class.map_or("the smallest flows", |class| &class.class.name))
            }
        };
        let Some((best, others)) = order.split_first().filter(|(best, _)| best.ratio.is_some()) else {
            return format!("{}{what}: not ranked, as no point has finished all of these flows.", self.place);
        };
        let other = |place: &Place| {
            let name = self.point(place.point);
            match place.ratio {
                None => format!("{name} is not ranked (unfinished flows)"),
                Some(ratio) => match ratio.interval {
                    _ if ratio.value == 1.0 => format!("{name} as low"),
                    Some(ends) if !ratio.is_resolved() => format!("{name} not told from it ({})", around(ends)),
                    _ => format!("{name} {}", change(ratio).concat()),
                },
            }
        };
        let shown: Vec<String> = others.iter().take(NAMED).map(other).collect();
        let more = match others.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        format!("{}{what}: {} is lowest; {}{more}.", self.place, self.point(best.point), shown.join("; "))
    }
}
