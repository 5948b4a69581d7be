//! Where the axes of a plot begin and end, and their ticks: the same for every program that draws it.

use crate::figure::{Base, Places, Plot, Series, Shape};
use crate::ticks;

/// An axis. Everything is in its own units, also where it is logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaled {
    pub(crate) is_log: bool,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Each with its words.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Faint lines without words.
    pub(crate) light: Vec<f64>,
}

/// Share of a vertical axis that is left free next to values.
const MARGIN: f64 = 0.05;

/// The most ticks of a linear axis.
const MOST_UP: usize = 6;
const MOST_ACROSS: usize = 7;

impl Plot {
    /// Where bars stand: a ratio of 1 is no change, and has no bar.
    pub(crate) fn foot(&self) -> f64 {
        if self.y.base == Base::Ratio { 1.0 } else { 0.0 }
    }

    /// The vertical axis: from its base to where values, intervals and marks end.
    pub(crate) fn y_scaled(&self) -> Scaled {
        let (is_log, from, to) = self.y_range();
        let (ticks, light) = match (self.y.base, is_log) {
            (Base::Ratio, _) => (ticks::ratios((from, to)), Vec::new()),
            (_, true) => (ticks::logarithmic((from, to)), ticks::logarithmic_grid((from, to))),
            (_, false) => (ticks::linear((from, to), MOST_UP), Vec::new()),
        };
        Scaled { is_log, from, to, ticks, light }
    }

    /// The same in a figure with these plots: those of one measure have one scale.
    pub(crate) fn y_scaled_among(&self, all: &[Plot]) -> Scaled {
        let alike = all.iter().filter(|other| !self.y.name.is_empty() && other.y == self.y);
        let series: Vec<Series> = alike.flat_map(|other| other.series.clone()).collect();
        if series.is_empty() { self.y_scaled() } else { Plot { series, ..self.clone() }.y_scaled() }
    }

    fn y_range(&self) -> (bool, f64, f64) {
        /// Values further apart than this crowd at one end of a linear axis.
        const SPAN: f64 = 20.0;
        let ranges = self.marks.ranges.iter().flat_map(|range| [range.low, range.high]);
        let said = ranges.chain(self.marks.levels.iter().map(|(_, value)| *value));
        let values = || self.data().map(|datum| datum.y).chain(said.clone()).filter(|value| value.is_finite());
        let ends = self.data().filter_map(|datum| datum.ends).flat_map(|(low, high)| [low, high]);
        let all = values().chain(ends.filter(|end| end.is_finite()));
        if self.y.base == Base::Ratio {
            return around_one(all);
        }
        let least_value = values().fold(f64::INFINITY, f64::min);
        let (least, most) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        if least > most {
            return (false, 0.0, 1.0);
        }
        if self.y.base == Base::ZeroOrLog && least_value > 0.0 && most > SPAN * least_value {
            // An interval may reach to zero, which no logarithmic axis shows.
            let from = least.max(least_value / 2.0);
            let margin = libm::pow(most / from, MARGIN);
            return (true, from / margin, most * margin);
        }
        let from = least.min(0.0);
        let to = if most > from { most } else { from + from.abs().max(1.0) };
        let margin = MARGIN * (to - from);
        let below = if from == 0.0 { 0.0 } else { margin };
        (false, from - below, to + margin)
    }

    /// The horizontal axis. Names have places of width 1, the first around 0.
    pub(crate) fn x_scaled(&self) -> Scaled {
        /// Share of the range that is left free at both ends.
        const MARGIN: f64 = 0.04;
        let (is_log, ticks) = match &self.x.places {
            Places::Names(names) => {
                let ticks = names.iter().enumerate().map(|(at, name)| (at as f64, name.replace('\n', " "))).collect();
                let to = names.len().max(1) as f64 - 0.5;
                return Scaled { is_log: false, from: -0.5, to, ticks, light: Vec::new() };
            }
            Places::Numbers { is_log, ticks } => (*is_log, ticks),
        };
        let on_paper = |value: f64| if is_log { libm::log10(value) } else { value };
        let off_paper = |value: f64| if is_log { libm::pow(10.0, value) } else { value };
        let shown = self.data().map(|datum| datum.x).chain(ticks.iter().map(|(value, _)| *value));
        let (first, last) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), value| (first.min(value), last.max(value)));
        let ticks = if ticks.is_empty() { ticks::linear((first, last), MOST_ACROSS) } else { ticks.clone() };
        let (first, last) = (on_paper(first), on_paper(last));
        let margin = if last > first { MARGIN * (last - first) } else { 0.5 };
        Scaled { is_log, from: off_paper(first - margin), to: off_paper(last + margin), ticks, light: Vec::new() }
    }

    /// For each series, which of how many bars at a place it has. Bars that never meet take their places whole; what is no bar
    /// has place 0 of 1.
    pub(crate) fn bar_places(&self) -> Vec<(usize, usize)> {
        let bars: Vec<usize> =
            (0..self.series.len()).filter(|&series| self.series[series].shape == Shape::Bars).collect();
        let places = |series: usize| self.series[series].data.iter().map(|datum| datum.x);
        let meet = bars
            .iter()
            .enumerate()
            .any(|(at, &one)| bars[..at].iter().any(|&other| places(one).any(|x| places(other).any(|its| its == x))));
        let place = |series: usize| match bars.iter().position(|&bar| bar == series) {
            Some(at) if meet => (at, bars.len()),
            _ => (0, 1),
        };
        (0..self.series.len()).map(place).collect()
    }
}

/// As far below 1 as above it: half as long and twice as long look equally far away.
fn around_one(values: impl Iterator<Item = f64>) -> (bool, f64, f64) {
    /// Ratios closer to 1 are drawn as close to it.
    const LEAST: f64 = 1.02;
    /// Ratios further from 1 end at the edge.
    const MOST: f64 = 1e100;
    let reach = values.filter(|value| *value > 0.0).map(|value| value.max(1.0 / value)).fold(LEAST, f64::max);
    let to = libm::pow(reach.min(MOST), 1.0 + 2.0 * MARGIN);
    (true, 1.0 / to, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::plot;
    use crate::figure::{Datum, Marks};

    fn close(plot: &Plot, is_log: bool, from: f64, to: f64) {
        let found = plot.y_scaled();
        let is_near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.abs();
        assert!(found.is_log == is_log && is_near(found.from, from) && is_near(found.to, to), "{found:?}");
    }

    fn words(plot: &Plot) -> Vec<String> {
        plot.y_scaled().ticks.into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn y_scaled__from_zero_or_logarithmic() {
        close(&plot(Base::ZeroOrLog, &[1.0]), false, 0.0, 1.05 * 1.2);
        let margin = libm::pow(12.0 / 0.09, 0.05);
        close(&plot(Base::ZeroOrLog, &[1.0, 10.0]), true, 0.09 / margin, 12.0 * margin);
        assert_eq!(words(&plot(Base::ZeroOrLog, &[1.0, 10.0])), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        close(&plot(Base::Zero, &[1.0, 10.0]), false, 0.0, 1.05 * 12.0);
    }

    #[test]
    fn y_scaled__ratios_reach_as_far_below_one_as_above() {
        // The least end of an interval is 0.1 * 0.9 * 5.2.
        let reach = libm::pow(1.0 / (0.09 * 5.2), 1.1);
        let halved = plot(Base::Ratio, &[5.2]);
        let one = Plot { series: halved.series[1..].to_vec(), ..halved };
        close(&one, true, 1.0 / reach, reach);
        assert_eq!(words(&one), ["0.5", "0.8", "1", "1.25", "2"]);
        let none = Plot { series: Vec::new(), ..plot(Base::Ratio, &[]) };
        assert_eq!(words(&none), ["0.98", "0.99", "1", "1.01", "1.02"]);
        // A ratio of nothing or less has no place, and moves no end.
        assert_eq!(plot(Base::Ratio, &[-1.0, 0.0]).y_scaled(), none.y_scaled());
    }

    #[test]
    fn y_scaled__what_marks_say_is_inside_and_nothing_is_no_range_of_nothing() {
        let marks = Marks { levels: vec![(0, 3.0)], ..Marks::default() };
        let stated = Plot { marks, ..plot(Base::ZeroOrLog, &[1.0]) };
        close(&stated, true, stated.y_scaled().from, 3.0 * libm::pow(3.0 / 0.09, 0.05));
        close(&Plot { series: Vec::new(), ..plot(Base::Zero, &[]) }, false, 0.0, 1.0);
        close(&plot(Base::Zero, &[0.0]), false, 0.0, 1.05);
    }

    #[test]
    fn bar_places__beside_each_other_where_they_meet() {
        let bar = |x: f64| Series {
            shape: Shape::Bars,
            data: vec![Datum { x, y: 1.0, ..Datum::default() }],
            ..plot(Base::Zero, &[]).series.swap_remove(0)
        };
        let places = |series: Vec<Series>| Plot { series, ..plot(Base::Zero, &[]) }.bar_places();
        assert_eq!(places(vec![bar(0.0), bar(1.0)]), [(0, 1), (0, 1)]);
        assert_eq!(places(vec![bar(0.0), bar(0.0)]), [(0, 2), (1, 2)]);
    }
}
