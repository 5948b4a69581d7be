//! The plots of what ports, hosts and controllers adapt: thresholds, queue weights, packets by queue, over the time of a run.

use std::collections::BTreeMap;

use flowsieve_results::{ResultDir, ResultError, Series as Values};

use crate::cases::Layout;
use crate::figure::{Base, Datum, Places, Plot, Series, Shape, XAxis, YAxis};
use crate::page::Shown;

/// The most values of a line: more do not show.
const MOST_DATA: usize = 200;

const PS_PER_MS: f64 = 1e9;

/// A plot for each name and place of a point, with a line a queue.
pub(crate) fn figures(dir: &ResultDir, layout: &Layout) -> Result<Vec<Shown>, ResultError> {
    let mut queues: BTreeMap<(u32, String, String), Vec<Series>> = BTreeMap::new();
    for (point, values) in dir.adapted()? {
        let Some((place, queue)) = values.queue() else { continue };
        let line = Series { scheme: queue, name: format!("queue {queue}"), shape: Shape::Line, data: data(&values) };
        queues.entry((point, place.to_owned(), values.name.clone())).or_default().push(line);
    }
    let mut figures = Vec::new();
    for ((point, place, name), series) in queues {
        let point = point as usize;
        let of_case = |case: usize| layout.cases[case].at.iter().position(|at| at.points.contains(&point));
        let Some((case, at)) = (0..layout.cases.len()).find_map(|case| Some((case, of_case(case)?))) else { continue };
        let scheme = &dir.manifest().experiment.points[point].scheme;
        let places = Places::Numbers { is_log: false, ticks: Vec::new() };
        let plot = Plot {
            title: format!("{name}, {place}, {scheme}"),
            x: XAxis { name: "time".into(), unit: "ms".into(), places },
            y: YAxis { name, unit: String::new(), base: Base::ZeroOrLog },
            series,
            claimed: Vec::new(),
            stated: Vec::new(),
        };
        figures.push(Shown { plot, case, at: Some(at), class: None });
    }
    Ok(figures)
}

/// Every value, or an even choice of them.
fn data(series: &Values) -> Vec<Datum> {
    let every = series.values.len().div_ceil(MOST_DATA).max(1);
    let at = |step: usize| (series.first_step + step as u64 + 1).saturating_mul(series.step_ps) as f64 / PS_PER_MS;
    let datum = |(step, &y): (usize, &f64)| Datum { x: at(step), y, ends: None, sizes: None };
    series.values.iter().enumerate().step_by(every).map(datum).collect()
}
