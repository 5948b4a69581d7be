//! A figure of a paper: the metrics of its claims, by scheme and load, with the claimed values.
//!
//! One plot shows one quantity of one case of the sweep. A claimed change is a hollow mark at the value that it makes of the
//! measured baseline, a claimed value a line. No point is read off the paper's own figure.

use crate::claim::{Claim, Claims, Expected};
use crate::rows::of_what;
use flowsieve_experiment::engine::SizeLaw;
use flowsieve_report::figure::{Base, Datum, Figure, Marks, Places, Plot, Range, Series, Shape, Words, XAxis, YAxis};
use flowsieve_report::format::{Unit, size};
use flowsieve_results::measured::{Measured, Quantity};
use flowsieve_results::{Axis, Estimate, Experiment, SeriesAt, Unit as Of};
use std::collections::BTreeMap;

/// What the marks beside measured values are called.
const WORDS: Words = Words { range: ["claimed", "claimed change"], level: ["stated", "claimed value"] };

/// The figure; `None` if no claim is about anything that was measured.
pub(crate) fn figure(experiment: &Experiment, claims: &Claims, measured: &Measured) -> Option<Figure> {
    let panels = panels(experiment, claims).into_iter().filter_map(|panel| panel.measured(measured));
    let plots: Vec<Plot> = panels.map(|panel| panel.plot()).collect();
    (!plots.is_empty()).then(|| Figure { title: experiment.title.clone(), plots })
}

/// The laws from which sizes are drawn: the share of flows up to each size. Of those with one name the first is drawn.
pub(crate) fn sizes<'a>(paper: &str, laws: impl Iterator<Item = &'a SizeLaw>) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for SizeLaw { name, shares } in laws {
        if !series.iter().any(|other| other.name == *name) {
            let data = shares.iter().map(|&(bytes, share)| Datum { x: bytes as f64, y: share, ..Datum::default() });
            let (scheme, name, label, data) = (series.len(), name.clone(), name.clone(), data.collect());
            series.push(Series { scheme, name, label, shape: Shape::Line, data });
        }
    }
    let ends = |fold: fn(f64, f64) -> f64| series.iter().flat_map(|line| &line.data).map(|datum| datum.x).reduce(fold);
    let (least, most) = (ends(f64::min)?, ends(f64::max)?);
    let decades = (0..11).map(|power| 10u64.pow(power)).filter(|&bytes| (least..=most).contains(&(bytes as f64)));
    let places = Places::Numbers { is_log: true, ticks: decades.map(|bytes| (bytes as f64, size(bytes))).collect() };
    let plot = Plot {
        title: "share of flows up to a size".into(),
        x: XAxis { name: "size".into(), unit: String::new(), places },
        y: YAxis { name: String::new(), unit: String::new(), base: Base::Zero },
        series,
        marks: Marks::default(),
    };
    Some(Figure { title: format!("{paper}: sizes of flows"), plots: vec![plot] })
}

/// A quantity at the points of a case, with the claims about it.
struct Panel<'a> {
    experiment: &'a Experiment,
    quantity: Quantity,
    axes: Vec<Axis>,
    claims: Vec<&'a Claim>,
    /// By scheme's number, in the order of the sweep: load and value.
    lines: BTreeMap<usize, Vec<(Option<f64>, Estimate)>>,
    loads: Vec<f64>,
}

fn panels<'a>(experiment: &'a Experiment, claims: &'a Claims) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel> = Vec::new();
    for claim in &claims.measured {
        let quantity = claim.quantities().swap_remove(0);
        for point in claim.all_points(experiment) {
            let axes = &experiment.points[point].axes;
            match panels.iter_mut().find(|panel| panel.quantity == quantity && panel.axes == *axes) {
                Some(panel) if panel.claims.iter().any(|other| other.id == claim.id) => {}
                Some(panel) => panel.claims.push(claim),
                None => panels.push(Panel {
                    experiment,
                    quantity: quantity.clone(),
                    axes: axes.clone(),
                    claims: vec![claim],
                    lines: BTreeMap::new(),
                    loads: Vec::new(),
                }),
            }
        }
    }
    panels
}

impl<'a> Panel<'a> {
    /// With the measured values of its points; `None` without any.
    fn measured(mut self, measured: &Measured) -> Option<Panel<'a>> {
        for (index, point) in self.experiment.points.iter().enumerate().filter(|(_, point)| point.axes == self.axes) {
            let Some(value) = measured.estimate(index, &self.quantity) else { continue };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == point.scheme)?;
            self.lines.entry(scheme).or_default().push((point.load, value));
            self.loads.extend(point.load);
        }
        self.loads.sort_by(f64::total_cmp);
        self.loads.dedup();
        (!self.lines.is_empty()).then_some(self)
    }

    fn title(&self) -> String {
        let axes: String = self.axes.iter().map(|axis| format!(", {}", axis.in_words())).collect();
        format!("{}{axes}", of_what(self.claims[0]))
    }

    fn value(&self, scheme: &str, load: Option<f64>) -> Option<f64> {
        let scheme = self.experiment.schemes.iter().position(|other| other.name == scheme)?;
        let line = self.lines.get(&scheme)?;
        Some(line.iter().find(|(other, _)| *other == load)?.1.value)
    }

    /// The places of claims about changes: scheme, load, and both ends of the claimed range.
    fn claimed(&self) -> Vec<(usize, Option<f64>, f64, f64)> {
        let mut marks = Vec::new();
        for claim in self.claims.iter().filter(|claim| claim.baseline_class.is_none()) {
            let (low, high) = match claim.expected {
                Expected::Change(change) | Expected::UpTo(change) => (change, change),
                Expected::Between(low, high) => (low, high),
                _ => continue,
            };
            let Some(baseline) = claim.baselines.first() else { continue };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == claim.scheme);
            let Some((scheme, line)) = scheme.and_then(|scheme| Some((scheme, self.lines.get(&scheme)?))) else {
                continue;
            };
            let is_meant =
                |load: Option<f64>| claim.loads.is_empty() || load.is_some_and(|at| claim.loads.contains(&at));
            let bases = line.iter().filter(|(load, _)| is_meant(*load));
            let bases = bases.filter_map(|&(load, _)| Some((load, self.value(baseline, load)?)));
            marks.extend(bases.map(|(load, base)| (scheme, load, base * (1.0 + low), base * (1.0 + high))));
        }
        marks
    }

    /// Claimed values of schemes.
    fn stated(&self) -> Vec<(usize, f64)> {
        let of = |claim: &&Claim| {
            let values = match claim.expected {
                Expected::Value(value) => vec![value],
                Expected::Within(low, high) => vec![low, high],
                _ => return None,
            };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == claim.scheme)?;
            Some(values.into_iter().map(move |value| (scheme, value)))
        };
        self.claims.iter().filter_map(of).flatten().collect()
    }

    /// The x of a point: by its load, or by its scheme if there is only one load.
    fn x(&self, scheme: usize, load: Option<f64>) -> f64 {
        match load.filter(|_| self.loads.len() > 1) {
            Some(load) => load,
            None => self.lines.keys().position(|other| *other == scheme).unwrap_or(0) as f64,
        }
    }

    fn plot(&self) -> Plot {
        let (claimed, stated) = (self.claimed(), self.stated());
        let measured = self.lines.values().flatten().map(|(_, value)| value.value);
        let said =
            claimed.iter().flat_map(|&(_, _, low, high)| [low, high]).chain(stated.iter().map(|(_, value)| *value));
        let (each, unit) = self.unit(measured.chain(said));
        let name = |scheme: usize| self.experiment.schemes[scheme].name.clone();
        let label = |scheme: usize| self.experiment.label_of(&self.experiment.schemes[scheme].name).to_owned();
        let datum = |scheme: usize, (load, value): &(Option<f64>, Estimate)| Datum {
            x: self.x(scheme, *load),
            y: value.value / each,
            ends: value.interval.map(|(low, high)| (low / each, high / each)),
            sizes: None,
        };
        let by_load = self.loads.len() > 1;
        let series = |(&scheme, line): (&usize, &Vec<(Option<f64>, Estimate)>)| {
            let mut data: Vec<Datum> = line.iter().map(|point| datum(scheme, point)).collect();
            data.sort_by(|a, b| a.x.total_cmp(&b.x));
            // Dots and no bars, which would hide the claimed marks.
            let shape = if by_load { Shape::Line } else { Shape::Dots };
            Series { scheme, name: name(scheme), label: label(scheme), shape, data }
        };
        let places = match by_load {
            true => Places::Numbers {
                is_log: false,
                ticks: self.loads.iter().map(|load| (*load, load.to_string())).collect(),
            },
            false => Places::Names(self.lines.keys().map(|scheme| label(*scheme)).collect()),
        };
        let ranges = claimed.into_iter().map(|(scheme, load, low, high)| Range {
            scheme,
            x: self.x(scheme, load),
            low: low / each,
            high: high / each,
        });
        Plot {
            title: self.title(),
            x: XAxis { name: if by_load { "load".into() } else { String::new() }, unit: String::new(), places },
            y: YAxis { name: String::new(), unit, base: Base::ZeroOrLog },
            series: self.lines.iter().map(series).collect(),
            marks: Marks {
                words: WORDS,
                ranges: ranges.collect(),
                levels: stated.into_iter().map(|(scheme, value)| (scheme, value / each)).collect(),
            },
        }
    }

    /// The divisor of values, and its name on the axis.
    fn unit(&self, values: impl Iterator<Item = f64>) -> (f64, String) {
        match self.quantity.series.as_ref().map_or(self.quantity.figure.unit(), SeriesAt::unit) {
            Of::Time => {
                let unit = Unit::for_times(values.filter(|value| *value > 0.0));
                (1.0 / unit.of(1.0), unit.name.into())
            }
            Of::Size => (1e3, "KB".into()),
            Of::Rate => (1e9, "Gbit/s".into()),
            Of::Share => (0.01, "%".into()),
            Of::Number => (1.0, String::new()),
        }
    }
}
