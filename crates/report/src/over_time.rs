//! The plots of quantities sampled over the time of a run: backlogs, utilisation, goodput, and what ports, hosts and
//! controllers adapt. Windows of connections are not drawn: there are as many as connections, and a line would continue through
//! their pauses.

use std::collections::BTreeMap;

use flowsieve_record::Series as Values;
use flowsieve_results::{ResultDir, ResultError};

use crate::cases::Layout;
use crate::figure::{Base, Datum, Marks, Places, Plot, Series, Shape, XAxis, YAxis};
use crate::page::Shown;

/// The most values of a line: more cannot be seen.
const MOST_DATA: usize = 200;

/// The most links, flows or queues of a quantity; further ones are left out, and counted in the title.
const MOST_PLACES: usize = 8;

const PS_PER_MS: f64 = 1e9;

/// What a plot is about: the case and the value on the x axis of other plots, the quantity, its place, and the point if lines are
/// queues.
type Key = (usize, usize, (String, bool), String, Option<u32>);

/// "backlog (bytes)" of most and least backlog, so that most comes first.
fn quantity(name: &str) -> (String, bool) {
    let stem = name.strip_prefix("most ").or_else(|| name.strip_prefix("least ")).unwrap_or(name);
    (stem.to_owned(), name.starts_with("least "))
}

/// A plot for each quantity of a link or flow, with a line for each scheme, and for that of the queues of a place under a scheme,
/// with a line for each queue.
pub(crate) fn figures(dir: &ResultDir, layout: &Layout) -> Result<Vec<Shown>, ResultError> {
    let experiment = &dir.manifest().experiment;
    let mut many: BTreeMap<(u32, String, String), usize> = BTreeMap::new();
    let counted = |point: u32, values: &Values| {
        (point, values.queue().map_or(String::new(), |(place, _)| place.to_owned()), values.name.clone())
    };
    let sampled = dir.series(|point, values| {
        if values.of.is_empty() || values.is_of_connection() {
            return false;
        }
        let many = many.entry(counted(point, values)).or_default();
        *many += 1;
        *many <= MOST_PLACES
    })?;
    let mut plots: BTreeMap<Key, Vec<Sampled>> = BTreeMap::new();
    for (point, values) in sampled {
        let of_case = |case: usize| layout.cases[case].at.iter().position(|at| at.points.contains(&(point as usize)));
        let Some((case, at)) = (0..layout.cases.len()).find_map(|case| Some((case, of_case(case)?))) else { continue };
        let many = many.get(&counted(point, &values)).copied().unwrap_or(0);
        let (place, of_queue) = values.queue().map_or((&*values.of, None), |(place, _)| (place, Some(point)));
        let key = (case, at, quantity(&values.name), place.to_owned(), of_queue);
        plots.entry(key).or_default().push(Sampled { point, values, many });
    }
    let scheme = |point: u32| &experiment.points[point as usize].scheme;
    let mut figures = Vec::new();
    for ((case, at, _, place, of_queue), sampled) in plots {
        let mut together = 1;
        let line = |Sampled { point, values, .. }: &Sampled| {
            let name = match values.queue() {
                Some((_, queue)) => format!("queue {queue}"),
                None => scheme(*point).clone(),
            };
            let number = experiment.schemes.iter().position(|scheme| scheme.name == name);
            let (data, steps) = data(values);
            together = together.max(steps);
            Series {
                scheme: values.queue().map(|(_, queue)| queue).or(number).unwrap_or(0),
                label: if of_queue.is_some() { name.clone() } else { experiment.label_of(&name).to_owned() },
                name,
                shape: Shape::Line,
                data,
            }
        };
        let mut series: Vec<Series> = sampled.iter().map(line).collect();
        let Some(Sampled { values, many, .. }) = sampled.first() else { continue };
        // "goodput (bit/s)"
        let named = values.name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
        let (name, unit) = named.unwrap_or((&values.name, ""));
        let mut title = vec![name.to_owned(), place];
        title.extend(of_queue.map(|point| experiment.label_of(scheme(point)).to_owned()));
        title.extend((together > 1).then(|| Thinning::of(name).in_words(together)));
        title.extend((*many > MOST_PLACES).then(|| format!("one of the first {MOST_PLACES} of {many}")));
        let plot = Plot {
            title: title.join(", "),
            x: XAxis {
                name: "time".into(),
                unit: "ms".into(),
                places: Places::Numbers { is_log: false, ticks: Vec::new() },
            },
            y: YAxis { name: name.to_owned(), unit: in_si(unit, &mut series).to_owned(), base: Base::ZeroOrLog },
            series,
            marks: Marks::default(),
        };
        figures.push(Shown { plot, case, at: Some(at), class: None });
    }
    Ok(figures)
}

/// A series of a point, and how many its point has of this kind.
struct Sampled {
    point: u32,
    values: Values,
    many: usize,
}

/// Gives values the largest unit of their kind in which the largest is at least 1, and returns it: 4e9 bit/s are 4 Gbit/s.
fn in_si<'a>(unit: &'a str, series: &mut [Series]) -> &'a str {
    let units: &[(f64, &str)] = match unit {
        "bit/s" => &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")],
        "bytes" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB")],
        "share" => &[(0.01, "%")],
        "s" => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")],
        _ => &[],
    };
    let values = || series.iter().flat_map(|series| &series.data).map(|datum| datum.y);
    let most = values().fold(0.0, f64::max);
    let Some((each, unit)) = units.iter().find(|(each, _)| most >= *each) else { return unit };
    series.iter_mut().flat_map(|series| &mut series.data).for_each(|datum| datum.y /= each);
    unit
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

/// Every value, or one for as many steps in a row as necessary, so that nothing short is lost between them; and how many steps.
fn data(series: &Values) -> (Vec<Datum>, usize) {
    let together = series.values.len().div_ceil(MOST_DATA).max(1);
    let thinning = Thinning::of(&series.name);
    let end = |step: usize| (series.first_step + step as u64).saturating_mul(series.step_ps) as f64 / PS_PER_MS;
    let datum = |(at, values): (usize, &[f64])| Datum {
        x: end(at * together + values.len()),
        y: thinning.apply(values),
        ..Datum::default()
    };
    (series.values.chunks(together).enumerate().map(datum).collect(), together)
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
        assert_eq!(thinned, 3);
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
            let thinned = Thinning::of(name).in_words(thinned);
            (all().fold(0.0, f64::max), all().fold(f64::MAX, f64::min), thinned)
        };
        assert_eq!(ends("most backlog (bytes)"), (150_000.0, 7_000.0, "largest of 10 steps".to_owned()));
        assert_eq!(ends("least backlog (bytes)"), (7_000.0, 0.0, "smallest of 10 steps".to_owned()));
        assert_eq!(ends("goodput (bit/s)").2, "mean of 10 steps");
        assert_eq!(data(&of("most backlog (bytes)", vec![1.0, 2.0])).1, 1);
    }

    #[test]
    fn in_si__numbers_are_short() {
        let series = |y: f64| Series {
            scheme: 0,
            name: String::new(),
            label: String::new(),
            shape: Shape::Line,
            data: vec![Datum { y, ..Datum::default() }],
        };
        for (unit, y, expected) in [
            ("bit/s", 4e9, (4.0, "Gbit/s")),
            ("bytes", 3e5, (300.0, "KB")),
            ("share", 0.5, (50.0, "%")),
            ("s", 2e-5, (20.0, "µs")),
            ("bytes", 0.0, (0.0, "bytes")),
            ("packets", 7.0, (7.0, "packets")),
        ] {
            let mut all = [series(y)];
            let unit = in_si(unit, &mut all);
            assert!((all[0].data[0].y - expected.0).abs() < 1e-9 && unit == expected.1, "{y} {unit}");
        }
    }
}
