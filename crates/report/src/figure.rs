//! The content of a figure, independent of the form in which it is drawn: SVG, PDF, pgfplots, JSON, CSV.

use crate::format::{rounded, size};

/// One plot, or several in one picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// From left to right, line by line.
    pub plots: Vec<Plot>,
}

/// Series over one pair of axes. Values are in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// From left to right.
    pub x: XAxis,
    /// From below.
    pub y: YAxis,
    /// Empty if there is nothing to draw.
    pub series: Vec<Series>,
    /// Values that were not measured here.
    pub marks: Marks,
}

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct XAxis {
    /// What it has.
    pub name: String,
    /// Empty if places are names, or numbers without a unit.
    pub unit: String,
    /// Where data lie on it.
    pub places: Places,
}

/// Where data lie from left to right.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// Next to each other: the x of a datum is the index of its name.
    Names(Vec<String>),
    /// To scale. Without ticks the drawing program chooses some.
    Numbers {
        /// Whether equal factors are equal distances.
        is_log: bool,
        /// Each with its words.
        ticks: Vec<(f64, String)>,
    },
}

/// A vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct YAxis {
    /// What it has.
    pub name: String,
    /// Empty for a number without one.
    pub unit: String,
    /// Where it begins.
    pub base: Base,
}

/// The scale of a vertical axis, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Base {
    /// At zero.
    Zero,
    /// At zero, or logarithmic if values lie so far apart that only a logarithmic axis shows them.
    ZeroOrLog,
    /// For ratios: logarithmic, with 1 in the middle.
    Ratio,
}

/// The values of a scheme in a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its number in the sweep, which determines its style.
    pub scheme: usize,
    /// As commands take it: for tables that programs read.
    pub name: String,
    /// As papers print it: for legends.
    pub label: String,
    /// How it is drawn.
    pub shape: Shape,
    /// From left to right.
    pub data: Vec<Datum>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Marks with a line through them.
    Line,
    /// Marks.
    Dots,
    /// Bars from the foot of the axis on.
    Bars,
    /// Short lines across the bars of others, for comparison.
    Reference,
}

/// A value of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Datum {
    /// Its place.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The ends of its interval.
    pub ends: Option<(f64, f64)>,
    /// Its flows, if it is about a bin of sizes.
    pub sizes: Option<Sizes>,
}

/// Flows larger than one size, up to another, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The size below them.
    pub above: u64,
    /// The largest of them; `None`: no limit.
    pub up_to: Option<u64>,
}

/// Stated values, which a plot shows with the measured ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// What they are called.
    pub words: Words,
    /// Hollow rings at places.
    pub ranges: Vec<Range>,
    /// Dashed lines across, each of the scheme with this number.
    pub levels: Vec<(usize, f64)>,
}

/// What marks are called in tables that programs read, and in legends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Words {
    /// A range.
    pub range: [&'static str; 2],
    /// A level.
    pub level: [&'static str; 2],
}

/// A stated range of a scheme's values at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The scheme's number.
    pub scheme: usize,
    /// The place.
    pub x: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Sizes {
    pub(crate) fn in_words(self) -> String {
        let end = self.up_to.map_or("any size".into(), size);
        format!("above {} up to {end}", size(self.above))
    }
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
            marks: Marks::default(),
        }
    }
}
