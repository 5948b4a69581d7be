//! The subject of a table or a plot: the flows of a size class, or coflows.

use flowsieve_results::{ClassSummary, CoflowClass, Metric, PointInfo, ResultDir, Statistic};

use crate::cases::Case;
use crate::format::{Unit, flows_of};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Group {
    /// By its place among the size classes.
    Class(usize),
    /// All of them, or those of a class.
    Coflows(Option<CoflowClass>),
}

impl Group {
    /// The size classes; coflows if there are any, and their classes if there are several.
    pub(crate) fn all(dir: &ResultDir) -> Vec<Group> {
        let classes = (0..dir.manifest().experiment.classes.as_slice().len()).map(Group::Class);
        let is_there = |group: &Group| (0..dir.summary().points.len()).any(|point| group.at(dir, point).flows() > 0);
        let all = Some(Group::Coflows(None)).filter(is_there);
        let mut by_class: Vec<Group> =
            CoflowClass::ALL.map(|class| Group::Coflows(Some(class))).into_iter().filter(is_there).collect();
        if by_class.len() < 2 {
            by_class.clear();
        }
        classes.chain(all).chain(by_class).collect()
    }

    /// The size class that is asked for first: the smallest flows, which schedulers are about; at flow level, where these have
    /// no queues, all of them.
    pub(crate) fn first_asked(dir: &ResultDir) -> Group {
        let experiment = &dir.manifest().experiment;
        let all = experiment.classes.as_slice().len().saturating_sub(1);
        let is_flow_level = |point: &PointInfo| point.settings.get("run.fidelity").is_some_and(|level| level == "flow");
        let has_flows = |class: &usize| dir.summary().points.iter().any(|point| point.classes[*class].flows() > 0);
        let smallest = (0..all).find(has_flows).filter(|_| !experiment.points.iter().any(is_flow_level));
        Group::Class(smallest.unwrap_or(all))
    }

    /// Its statistics at a point.
    pub(crate) fn at(self, dir: &ResultDir, point: usize) -> &ClassSummary {
        let point = &dir.summary().points[point];
        match self {
            Group::Class(class) => &point.classes[class],
            Group::Coflows(None) => &point.coflows,
            Group::Coflows(Some(class)) => point.coflow_class(class),
        }
    }

    /// The size class, if it is one.
    pub(crate) fn class(self) -> Option<usize> {
        match self {
            Group::Class(class) => Some(class),
            Group::Coflows(_) => None,
        }
    }

    /// In words.
    pub(crate) fn name(self, dir: &ResultDir) -> String {
        match self {
            Group::Class(class) => flows_of(&dir.manifest().experiment.classes.as_slice()[class]),
            Group::Coflows(None) => "coflows".into(),
            Group::Coflows(Some(class)) => format!("{} coflows ({})", class.in_words(), class.name()),
        }
    }

    /// The name of its completion time.
    pub(crate) fn time(self) -> &'static str {
        match self {
            Group::Class(_) => "FCT",
            Group::Coflows(_) => "CCT",
        }
    }

    /// The unit of its completion times in a case: that of the least mean.
    pub(crate) fn unit(self, dir: &ResultDir, case: &Case) -> Unit {
        let mean = |point: usize| self.at(dir, point).estimate(Metric::Fct, Statistic::Mean);
        Unit::for_times(case.points().filter_map(mean).map(|estimate| estimate.value))
    }
}
