//! The plots of quantities sampled over the time of a run: backlogs, utilisation, goodput, and what ports, hosts and
//! controllers adapt. Windows of connections are not drawn: there are as many as connections, and a line would continue through
//! their pauses.

use std::collections::BTreeMap;

use flowsieve_record::Series as Values;
use flowsieve_results::{ResultDir, ResultError};

use crate::cases::Layout;
use crate::figure::{Base, Datum, Places, Plot, Series, Shape, XAxis, YAxis};
use crate::page::Shown;

/// The most values of a line: more cannot be seen.
const MOST_DATA: usize = 200;

/// The most distinguishable lines of a plot; further ones are left out, and counted in the title.
const MOST_LINES: usize = 8;

const PS_PER_MS: f64 = 1e9;

/// A point, a place with or without queues, and the quantity sampled there.
type Key = (u32, String, String);

fn key(point: u32, values: &Values) -> Key {
    let place = values.queue().map_or("", |(place, _)| place);
    (point, place.to_owned(), values.name.clone())
}

/// A plot for each point and quantity, with a line for each link or flow. For a quantity of queues there is one plot for each
/// place, with a line for each queue.
pub(crate) fn figures(dir: &ResultDir, layout: &Layout) -> Result<Vec<Shown>, ResultError> {
    let mut lines: BTreeMap<Key, usize> = BTreeMap::new();
    let sampled = dir.series(|point, values| {
        if values.of.is_empty() || values.is_of_connection() {
            return false;
        }
        let lines = lines.entry(key(point, values)).or_default();
        *lines += 1;
        *lines <= MOST_LINES
    })?;
    let mut plots: BTreeMap<Key, Vec<Series>> = BTreeMap::new();
    for (point, values) in sampled {
        let series = plots.entry(key(point, &values)).or_default();
        let (number, name) = match values.queue() {
            Some((_, queue)) => (queue, format!("queue {queue}")),
            None => (series.len(), values.of.clone()),
        };
        let (data, thinned) = data(&values);
        let name = thinned.map_or(name.clone(), |how| format!("{name} ({how})"));
        series.push(Series { scheme: number, label: name.clone(), name, shape: Shape::Line, data });
    }
    let mut figures = Vec::new();
    for (key, series) in plots {
        let many = lines.get(&key).copied().unwrap_or(0);
        let (point, place, name) = key;
        // "goodput (bit/s)"
        let named = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
        let (name, unit) = named.map_or((name.clone(), String::new()), |(name, unit)| (name.into(), unit.into()));
        let point = point as usize;
        let of_case = |case: usize| layout.cases[case].at.iter().position(|at| at.points.contains(&point));
        let Some((case, at)) = (0..layout.cases.len()).find_map(|case| Some((case, of_case(case)?))) else { continue };
        let experiment = &dir.manifest().experiment;
        let scheme = experiment.label_of(&experiment.points[point].scheme);
        let mut title = vec![name.clone(), place, scheme.to_owned()];
        title.retain(|part| !part.is_empty());
        if many > MOST_LINES {
            title.push(format!("the first {MOST_LINES} of {many}"));
        }
        let plot = Plot {
            title: title.join(", "),
            x: XAxis {
                name: "time".into(),
                unit: "ms".into(),
                places: Places::Numbers { is_log: false, ticks: Vec::new() },
            },
            y: YAxis { name, unit, base: Base::ZeroOrLog },
            series,
            claimed: Vec::new(),
            stated: Vec::new(),
        };
        figures.push(Shown { plot, case, at: Some(at), class: None });
    }
    Ok(figures)
}

/// How one value stands for several steps in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinning {
    Largest,
    Smallest,
    Mean,
}

impl Thinning {
    /// An extreme stays an extreme, however many steps are combined: "most backlog (bytes)", "least backlog (bytes)".
    fn of(name: &str) -> Thinning {
        match name.split(' ').next() {
            Some("most") => Thinning::Largest,
            Some("least") => Thinning::Smallest,
            _ => Thinning::Mean,
        }
    }

    fn apply(self, values: &[f64]) -> f64 {
        match self {
            Thinning::Largest => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Thinning::Smallest => values.iter().copied().fold(f64::INFINITY, f64::min),
            Thinning::Mean => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    fn in_words(self, steps: usize) -> String {
        match self {
            Thinning::Largest => format!("largest of {steps} steps"),
            Thinning::Smallest => format!("smallest of {steps} steps"),
            Thinning::Mean => format!("mean of {steps} steps"),
        }
    }
}

/// Every value, or one for as many steps in a row as necessary, so that nothing short is lost between them; and how they were
/// combined, if they were.
fn data(series: &Values) -> (Vec<Datum>, Option<String>) {
    let together = series.values.len().div_ceil(MOST_DATA).max(1);
    let thinning = Thinning::of(&series.name);
    let end = |step: usize| (series.first_step + step as u64).saturating_mul(series.step_ps) as f64 / PS_PER_MS;
    let datum = |(at, values): (usize, &[f64])| Datum {
        x: end(at * together + values.len()),
        y: thinning.apply(values),
        ..Datum::default()
    };
    let thinned = (together > 1).then(|| thinning.in_words(together));
    (series.values.chunks(together).enumerate().map(datum).collect(), thinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data__of_long_series_are_means_that_add_up_to_the_same() {
        let of = |values: Vec<f64>| Values {
            name: "goodput (bit/s)".into(),
            of: "flow 3".into(),
            first_step: 10,
            step_ps: 1_000_000_000,
            values,
        };
        let short: Vec<(f64, f64)> = data(&of(vec![5.0, 7.0])).0.iter().map(|datum| (datum.x, datum.y)).collect();
        assert_eq!(short, [(11.0, 5.0), (12.0, 7.0)]);
        // A flow that sends in only one step of 500.
        let mut values = vec![0.0; 500];
        values[301] = 9.0;
        let (long, thinned) = data(&of(values));
        assert_eq!(thinned.as_deref(), Some("mean of 3 steps"));
        let sent: Vec<(f64, f64)> = long.iter().filter(|datum| datum.y > 0.0).map(|datum| (datum.x, datum.y)).collect();
        assert_eq!((long.len(), sent), (167, vec![(10.0 + 303.0, 3.0)]));
        assert_eq!(long[166].x, 510.0);
    }

    #[test]
    fn data__of_extremes_stay_extremes() {
        let of = |name: &str, values: Vec<f64>| Values {
            name: name.into(),
            of: "leaf0 to host1".into(),
            first_step: 0,
            step_ps: 1_000_000_000,
            values,
        };
        let mut values = vec![7_000.0; 2_000];
        (values[700], values[701]) = (150_000.0, 0.0);
        let ends = |name: &str| {
            let (data, thinned) = data(&of(name, values.clone()));
            let all = || data.iter().map(|datum| datum.y);
            (all().fold(0.0, f64::max), all().fold(f64::MAX, f64::min), thinned.unwrap())
        };
        assert_eq!(ends("most backlog (bytes)"), (150_000.0, 7_000.0, "largest of 10 steps".to_owned()));
        assert_eq!(ends("least backlog (bytes)"), (7_000.0, 0.0, "smallest of 10 steps".to_owned()));
        assert_eq!(ends("goodput (bit/s)").2, "mean of 10 steps");
        assert_eq!(data(&of("most backlog (bytes)", vec![1.0, 2.0])).1, None);
    }
}
