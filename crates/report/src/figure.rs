//! The content of a figure, independent of the form in which it is drawn: SVG, PDF, pgfplots, JSON, CSV.

use crate::format::{rounded, size};

/// One plot, or several in one picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) plots: Vec<Plot>,
}

/// Series over one pair of axes. Values are in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: XAxis,
    pub(crate) y: YAxis,
    /// Empty if there is nothing to draw.
    pub(crate) series: Vec<Series>,
    pub(crate) claimed: Vec<Claimed>,
    /// Values that a paper states for schemes, with the scheme's number.
    pub(crate) stated: Vec<(usize, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct XAxis {
    pub(crate) name: String,
    /// Empty if places are names, or numbers without a unit.
    pub(crate) unit: String,
    pub(crate) places: Places,
}

/// Where data lie from left to right.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
    /// Next to each other: the x of a datum is the index of its name.
    Names(Vec<String>),
    /// To scale. Without ticks the drawing program chooses some.
    Numbers { is_log: bool, ticks: Vec<(f64, String)> },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YAxis {
    pub(crate) name: String,
    /// Empty for a number without one.
    pub(crate) unit: String,
    pub(crate) base: Base,
}

/// The scale of a vertical axis, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base {
    /// At zero.
    Zero,
    /// At zero, or logarithmic if values lie so far apart that only a logarithmic axis shows them.
    ZeroOrLog,
    /// For ratios: logarithmic, with 1 in the middle.
    Ratio,
}

/// The values of a scheme in a plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Its number in the sweep, which determines its style.
    pub(crate) scheme: usize,
    /// As commands take it: for tables that programs read.
    pub(crate) name: String,
    /// As papers print it: for legends.
    pub(crate) label: String,
    pub(crate) shape: Shape,
    /// From left to right.
    pub(crate) data: Vec<Datum>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Marks with a line through them.
    Line,
    /// Marks.
    Dots,
    Bars,
    /// Short lines across the bars of others, for comparison.
    Reference,
}

/// A value of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Datum {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The ends of its interval.
    pub(crate) ends: Option<(f64, f64)>,
    /// Its flows, if it is about a bin of sizes.
    pub(crate) sizes: Option<Sizes>,
}

/// Flows larger than one size, up to another, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) above: u64,
    pub(crate) up_to: Option<u64>,
}

impl Sizes {
    pub(crate) fn in_words(self) -> String {
        let end = self.up_to.map_or("any size".into(), size);
        format!("above {} up to {end}", size(self.above))
    }
}

/// The range that a claimed change, or a range of changes, makes of a scheme's measured baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claimed {
    pub(crate) scheme: usize,
    pub(crate) x: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl XAxis {
    /// With its unit, if ticks do not have it.
    pub(crate) fn label(&self) -> String {
        match &self.places {
            Places::Numbers { ticks, .. } if ticks.is_empty() => with_unit(&self.name, &self.unit),
            _ => self.name.clone(),
        }
    }

    /// A place by its name, or as a number.
    pub(crate) fn place(&self, x: f64) -> String {
        match &self.places {
            Places::Names(names) => names.get(x as usize).cloned().unwrap_or_default(),
            Places::Numbers { ticks, .. } => {
                let named = ticks.iter().find(|(at, _)| *at == x).filter(|_| self.unit.is_empty());
                named.map_or_else(|| rounded(x).to_string(), |(_, name)| name.clone())
            }
        }
    }
}

impl YAxis {
    pub(crate) fn label(&self) -> String {
        with_unit(&self.name, &self.unit)
    }
}

fn with_unit(name: &str, unit: &str) -> String {
    match (name, unit) {
        (name, "") => name.into(),
        ("", unit) => unit.into(),
        (name, unit) => format!("{name} ({unit})"),
    }
}

impl Plot {
    /// Whether there is anything to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Whether a value lacks the interval that others have, because too few flows or seeds make it. A ratio of 1 is that of a scheme
    /// to itself.
    pub(crate) fn is_unsure(&self, datum: &Datum) -> bool {
        let is_itself = self.y.base == Base::Ratio && datum.y == 1.0;
        datum.ends.is_none() && !is_itself && self.marked().any(|other| other.ends.is_some())
    }

    /// The values that have marks.
    pub(crate) fn marked(&self) -> impl Iterator<Item = &Datum> {
        let marks = self.series.iter().filter(|series| matches!(series.shape, Shape::Line | Shape::Dots));
        marks.flat_map(|series| &series.data)
    }

    pub(crate) fn data(&self) -> impl Iterator<Item = &Datum> {
        self.series.iter().flat_map(|series| &series.data)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two schemes over two loads; one load is ten times the other.
    pub(crate) fn plot(base: Base, values: &[f64]) -> Plot {
        let data = |factor: f64| {
            let datum = |(at, &value): (usize, &f64)| Datum {
                x: 0.5 + 0.1 * at as f64,
                y: factor * value,
                ends: Some((0.9 * factor * value, 1.2 * factor * value)),
                sizes: None,
            };
            values.iter().enumerate().map(datum).collect()
        };
        let series = |scheme: usize, name: &str, factor: f64| Series {
            scheme,
            name: name.into(),
            label: name.into(),
            shape: Shape::Line,
            data: data(factor),
        };
        let ticks = (0..values.len()).map(|at| (0.5 + 0.1 * at as f64, format!("0.{}", 5 + at))).collect();
        Plot {
            title: "Mean FCT, all flows".into(),
            x: XAxis { name: "load".into(), unit: String::new(), places: Places::Numbers { is_log: false, ticks } },
            y: YAxis { name: "FCT".into(), unit: "ms".into(), base },
            series: vec![series(0, "dctcp", 1.0), series(1, "pias", 0.1)],
            claimed: Vec::new(),
            stated: Vec::new(),
        }
    }
}
