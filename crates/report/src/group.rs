//! What a table or a plot is of: the flows of a size class, or coflows.

use flowsieve_results::{ClassSummary, Metric, ResultDir, Statistic};

use crate::cases::Case;
use crate::format::{Unit, flows_of};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Group {
    /// By its place among the size classes.
    Class(usize),
    Coflows,
}

impl Group {
    /// The size classes, and coflows where there are any.
    pub(crate) fn all(dir: &ResultDir) -> Vec<Group> {
        let classes = (0..dir.manifest().experiment.classes.as_slice().len()).map(Group::Class);
        let coflows = dir.summary().points.iter().any(|point| point.coflows.flows() > 0);
        classes.chain(coflows.then_some(Group::Coflows)).collect()
    }

    /// Its statistics at a point.
    pub(crate) fn at(self, dir: &ResultDir, point: usize) -> &ClassSummary {
        let point = &dir.summary().points[point];
        match self {
            Group::Class(class) => &point.classes[class],
            Group::Coflows => &point.coflows,
        }
    }

    /// The size class, if it is one.
    pub(crate) fn class(self) -> Option<usize> {
        match self {
            Group::Class(class) => Some(class),
            Group::Coflows => None,
        }
    }

    /// In words.
    pub(crate) fn name(self, dir: &ResultDir) -> String {
        match self {
            Group::Class(class) => flows_of(&dir.manifest().experiment.classes.as_slice()[class]),
            Group::Coflows => "coflows".into(),
        }
    }

    /// What its completion time is called.
    pub(crate) fn time(self) -> &'static str {
        match self {
            Group::Class(_) => "FCT",
            Group::Coflows => "CCT",
        }
    }

    /// What is measured of it: coflows have no ideal time to be slowed down from.
    pub(crate) fn metrics(self) -> &'static [Metric] {
        match self {
            Group::Class(_) => &Metric::ALL,
            Group::Coflows => &[Metric::Fct],
        }
    }

    /// The unit of its completion times in a case: that of the least mean.
    pub(crate) fn unit(self, dir: &ResultDir, case: &Case) -> Unit {
        let mean = |point: usize| self.at(dir, point).estimate(Metric::Fct, Statistic::Mean);
        Unit::for_times(case.points().filter_map(mean).map(|estimate| estimate.value))
    }
}
