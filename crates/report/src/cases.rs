//! The points of a result in the order of a report: by case (what is swept besides scheme and x axis), by the value on the x
//! axis, by scheme.

use flowsieve_results::{Dimension, Experiment, without_section};

/// How the points of an experiment are laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The x axis of plots and the first column of tables: the load, unless another swept key has more values or was asked for.
    pub(crate) x: Dimension,
    pub(crate) cases: Vec<Case>,
    /// Some points were left out, so the report has to say what all others have in common.
    is_part: bool,
}

/// Points that differ only in the x axis and the scheme.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// What distinguishes it from other cases; empty if there is one.
    pub(crate) fixed: Vec<(Dimension, String)>,
    /// By the value on the x axis, in the order of the sweep.
    pub(crate) at: Vec<At>,
}

/// Points that differ only in the scheme: these are compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct At {
    /// The value on the x axis, as in the experiment file; `None` if arrivals have no load.
    pub(crate) value: Option<String>,
    /// Indices of the points, in the order of the sweep.
    pub(crate) points: Vec<usize>,
}

/// The result has no swept key of this name.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the sweep varies no setting `{name}`")]
pub struct UnknownKey {
    /// The name.
    pub name: String,
    /// The swept keys.
    pub swept: Vec<String>,
}

impl Layout {
    /// With this swept key on the x axis, or the one with the most values.
    pub fn new(experiment: &Experiment, x: Option<&str>) -> Result<Layout, UnknownKey> {
        let swept = experiment.dimensions();
        let others = || swept.iter().filter(|(dimension, _)| *dimension != Dimension::Scheme);
        let x = match x {
            Some(name) => {
                let named = others().map(|(dimension, _)| dimension).find(|dimension| dimension.is_called(name));
                let load = Some(&Dimension::Load).filter(|load| load.is_called(name));
                named.or(load).cloned().ok_or_else(|| UnknownKey {
                    name: name.to_owned(),
                    swept: others().map(|(dimension, _)| dimension.name().to_owned()).collect(),
                })?
            }
            // If several have as many values, the first: the load, then as in the experiment file.
            None => others()
                .rev()
                .max_by_key(|(_, values)| values.len())
                .map_or(Dimension::Load, |(dimension, _)| dimension.clone()),
        };
        Ok(Layout::by(experiment, &x, &Dimension::Scheme))
    }

    /// With these dimensions on the x axis and compared.
    pub(crate) fn by(experiment: &Experiment, x: &Dimension, compared: &Dimension) -> Layout {
        let swept = experiment.dimensions();
        let fixed: Vec<&Dimension> =
            swept.iter().map(|(dimension, _)| dimension).filter(|other| *other != x && *other != compared).collect();
        let mut cases: Vec<Case> = Vec::new();
        for (index, point) in experiment.points.iter().enumerate() {
            let its = fixed.iter().filter_map(|dimension| Some(((*dimension).clone(), dimension.value(point)?)));
            let its: Vec<(Dimension, String)> = its.collect();
            let case =
                find_or_add(&mut cases, |case| case.fixed == its, || Case { fixed: its.clone(), at: Vec::new() });
            let value = x.value(point);
            let at =
                find_or_add(&mut case.at, |at| at.value == value, || At { value: value.clone(), points: Vec::new() });
            at.points.push(index);
        }
        Layout { x: x.clone(), cases, is_part: false }
    }

    /// Leaves out all points except those with this value of a swept key; `false` if none has it.
    pub(crate) fn keep(&mut self, experiment: &Experiment, dimension: &Dimension, value: &str) -> bool {
        self.is_part = true;
        for at in self.cases.iter_mut().flat_map(|case| &mut case.at) {
            at.points.retain(|&point| dimension.value(&experiment.points[point]).is_some_and(|its| its == value));
        }
        self.cases.iter_mut().for_each(|case| case.at.retain(|at| !at.points.is_empty()));
        self.cases.retain(|case| !case.at.is_empty());
        !self.cases.is_empty()
    }

    /// The x axis in words.
    pub(crate) fn x_name(&self) -> &str {
        without_section(self.x.name())
    }

    /// A case in words; empty if it is the only one.
    pub(crate) fn case_name(&self, case: &Case) -> String {
        let is_one_of_several = self.cases.len() > 1 || self.is_part;
        if is_one_of_several { case.name() } else { String::new() }
    }
}

impl Case {
    /// The values that it has fixed, in words; empty if it is the only one.
    pub(crate) fn name(&self) -> String {
        let fixed: Vec<String> = self.fixed.iter().map(|(key, value)| in_words(key, value)).collect();
        fixed.join(", ")
    }

    /// The value on the x axis that a page shows first, as an index: the highest load, or the last of other values.
    pub(crate) fn highest(&self) -> usize {
        let loads: Option<Vec<f64>> = self.at.iter().map(|at| at.value.as_ref()?.parse().ok()).collect();
        let last = self.at.len().saturating_sub(1);
        let numbered = loads.into_iter().flatten().enumerate();
        numbered.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(last, |(index, _)| index)
    }

    /// All of its points.
    pub(crate) fn points(&self) -> impl Iterator<Item = usize> {
        self.at.iter().flat_map(|at| at.points.iter().copied())
    }
}

impl At {
    /// The value as in the experiment file.
    pub(crate) fn name(&self) -> String {
        self.value.clone().unwrap_or_else(|| "–".into())
    }
}

/// A value of a swept key: "load 0.8", "ecn_threshold = 65pkt".
pub(crate) fn in_words(dimension: &Dimension, value: &str) -> String {
    match dimension {
        Dimension::Scheme => value.to_owned(),
        Dimension::Load => format!("load {value}"),
        Dimension::Key(key) => format!("{} = {value}", without_section(key)),
    }
}

fn find_or_add<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(is_it).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}
