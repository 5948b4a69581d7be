//! Two results of the same flows next to each other, and one of them made twice: how FCTs are distributed, and flow by flow.

use crate::drawing;
use crate::figure::{Base, Datum, Figure, Marks, Places, Plot, Series, Shape, XAxis, YAxis};
use crate::ticks::ticks;

/// The most marks of a distribution, and of flows.
const MARKS: usize = 40;
const FLOWS: usize = 400;

/// Draws a scheme's flows as SVG: left the distribution of FCTs in each result, right each flow's FCT in the second result over
/// its FCT in the first. `fcts` are in milliseconds, and `names` are of the results. `None`: there are no flows.
pub fn agreement_svg(title: &str, names: [&str; 3], fcts: &[[f64; 3]]) -> Option<String> {
    let all = || fcts.iter().flatten().copied().filter(|fct| *fct > 0.0 && fct.is_finite());
    let range = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let x = |name: &str| XAxis {
        name: name.into(),
        unit: "ms".into(),
        places: Places::Numbers { is_log: true, ticks: ticks(range, true) },
    };
    let series = |scheme: usize, shape, data| Series {
        scheme,
        name: names[scheme].to_owned(),
        label: names[scheme].to_owned(),
        shape,
        data,
    };
    let datum = |(x, y): (f64, f64)| Datum { x, y, ..Datum::default() };
    let distribution = |which: usize| {
        let mut sorted: Vec<f64> = fcts.iter().map(|fcts| fcts[which]).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let at = |mark: usize| mark * last / MARKS;
        let share = |place: usize| 100.0 * (place + 1) as f64 / sorted.len() as f64;
        (0..=MARKS).map(|mark| datum((sorted[at(mark)], share(at(mark))))).collect()
    };
    let step = fcts.len().div_ceil(FLOWS);
    let mut flows: Vec<(f64, f64)> = fcts.iter().step_by(step).map(|fcts| (fcts[0], fcts[1])).collect();
    flows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let plot = |title: &str, x, y, series| Plot { title: title.into(), x, y, series, marks: Marks::default() };
    let share = YAxis { name: "flows that take at most as long".into(), unit: "%".into(), base: Base::Zero };
    let time = YAxis { name: format!("FCT, {}", names[1]), unit: "ms".into(), base: Base::ZeroOrLog };
    let equal = vec![datum((range.0, range.0)), datum((range.1, range.1))];
    let figure = Figure {
        title: title.to_owned(),
        plots: vec![
            plot(
                "Distribution",
                x("FCT"),
                share,
                (0..3).map(|which| series(which, Shape::Line, distribution(which))).collect(),
            ),
            plot(
                "Flow by flow",
                x(&format!("FCT, {}", names[0])),
                time,
                vec![series(0, Shape::Line, equal), series(1, Shape::Dots, flows.into_iter().map(datum).collect())],
            ),
        ],
    };
    drawing::svg(&figure, 2).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each distribution ends at 100 %, and the drawing names all three results.
    #[test]
    fn agreement_svg__has_three_distributions_and_the_flows() {
        let fcts: Vec<[f64; 3]> = (1..200).map(|n| [f64::from(n), f64::from(n) * 1.1, f64::from(n) * 0.9]).collect();
        let svg = agreement_svg("pias", ["simulator", "Linux", "Linux again"], &fcts).expect("a drawing");
        for words in ["simulator", "Linux", "Linux again", "Distribution", "Flow by flow"] {
            assert!(svg.contains(words), "{words}");
        }
        assert_eq!(agreement_svg("pias", ["a", "b", "c"], &[]), None);
    }
}
