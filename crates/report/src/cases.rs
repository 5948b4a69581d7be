//! The points of a result in the order of a report: by case (the swept keys beside scheme and load), by load, by scheme.

use flowsieve_results::{Axis, Experiment};

/// Points that differ in load and scheme alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// What sets it apart from other cases; empty if there is one.
    pub(crate) axes: Vec<Axis>,
    /// Its loads, in the order of the sweep.
    pub(crate) loads: Vec<AtLoad>,
}

/// Points that differ in scheme alone: what is compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AtLoad {
    /// The nominal load, where arrivals have one.
    pub(crate) load: Option<f64>,
    /// Indices of the points, in the order of the sweep.
    pub(crate) points: Vec<usize>,
}

impl Case {
    /// Its axes in words; empty if it is the only one.
    pub(crate) fn name(&self) -> String {
        let axes: Vec<String> = self.axes.iter().map(|axis| format!("{} = {}", axis.key, axis.value)).collect();
        axes.join(", ")
    }

    /// All of its points.
    pub(crate) fn points(&self) -> impl Iterator<Item = usize> {
        self.loads.iter().flat_map(|at| at.points.iter().copied())
    }
}

impl AtLoad {
    /// The load as in the experiment file.
    pub(crate) fn name(&self) -> String {
        self.load.map_or_else(|| "–".into(), |load| load.to_string())
    }
}

/// Sorts the points of an experiment.
pub(crate) fn cases(experiment: &Experiment) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, point) in experiment.points.iter().enumerate() {
        let case = find_or_add(
            &mut cases,
            |case| case.axes == point.axes,
            || Case { axes: point.axes.clone(), loads: Vec::new() },
        );
        let at = find_or_add(
            &mut case.loads,
            |at| at.load == point.load,
            || AtLoad { load: point.load, points: Vec::new() },
        );
        at.points.push(index);
    }
    cases
}

fn find_or_add<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(is_it).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}
