//! The dimensions in which the points of a sweep differ: their scheme, their load, other swept keys.

use crate::{Experiment, PointInfo};

/// Something that may differ between points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The scheme or variant.
    Scheme,
    /// The nominal load.
    Load,
    /// Another swept key, such as `network.ecn_threshold`.
    Key(String),
}

impl Dimension {
    /// Its name in experiment files and tables.
    pub fn name(&self) -> &str {
        match self {
            Dimension::Scheme => "scheme",
            Dimension::Load => "load",
            Dimension::Key(key) => key,
        }
    }

    /// Its value at a point, as in the experiment file; `None` if the point has none.
    pub fn value(&self, point: &PointInfo) -> Option<String> {
        match self {
            Dimension::Scheme => Some(point.scheme.clone()),
            Dimension::Load => point.load.map(|load| load.to_string()),
            Dimension::Key(key) => point.axes.iter().find(|axis| axis.key == *key).map(|axis| axis.value.clone()),
        }
    }

    /// Whether it has this name: the whole one, or the part after one of its dots.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.name().strip_suffix(name).is_some_and(|before| before.ends_with('.'))
    }
}

impl Experiment {
    /// The dimensions in which its points differ, each with its values in the order of the sweep: the scheme, the load, then
    /// the other keys.
    pub fn dimensions(&self) -> Vec<(Dimension, Vec<String>)> {
        let keys = self.points.first().into_iter().flat_map(|point| &point.axes);
        let keys = keys.map(|axis| Dimension::Key(axis.key.clone()));
        let with_values = |dimension: Dimension| {
            let mut values: Vec<String> = Vec::new();
            for value in self.points.iter().filter_map(|point| dimension.value(point)) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            (dimension, values)
        };
        let all = [Dimension::Scheme, Dimension::Load].into_iter().chain(keys).map(with_values);
        all.filter(|(_, values)| values.len() > 1).collect()
    }

    /// The points with one value and with another that differ in nothing else: (the one, the other), in the order of the sweep.
    pub fn pairs(&self, varied: &Dimension, value: &str, other: &str) -> Vec<(usize, usize)> {
        let has = |point: &PointInfo, value: &str| varied.value(point).as_deref() == Some(value);
        let with_other = |(at, point): (usize, &PointInfo)| {
            let is_partner = |partner: &PointInfo| has(partner, other) && differ_in_no_more(point, partner, varied);
            let partner = has(point, value).then(|| self.points.iter().position(is_partner))??;
            Some((at, partner))
        };
        self.points.iter().enumerate().filter_map(with_other).collect()
    }
}

/// Whether two points differ at most in this dimension.
fn differ_in_no_more(point: &PointInfo, other: &PointInfo, varied: &Dimension) -> bool {
    let key = match varied {
        Dimension::Key(key) => Some(key),
        Dimension::Scheme | Dimension::Load => None,
    };
    let axes = |point: &PointInfo| point.axes.iter().filter(|axis| Some(&axis.key) != key).cloned().collect::<Vec<_>>();
    (*varied == Dimension::Scheme || point.scheme == other.scheme)
        && (*varied == Dimension::Load || point.load == other.load)
        && axes(point) == axes(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;

    fn experiment(schemes: &[&str], loads: &[f64], marks: &[&str]) -> Experiment {
        let mut points = Vec::new();
        for mark in marks {
            for &load in loads {
                points.extend(schemes.iter().map(|scheme| PointInfo {
                    scheme: scheme.to_string(),
                    load: Some(load),
                    axes: vec![Axis { key: "network.ecn_threshold".into(), value: mark.to_string() }],
                    ..PointInfo::default()
                }));
            }
        }
        Experiment { points, ..Experiment::default() }
    }

    #[test]
    fn dimensions__those_with_several_values() {
        let marks = Dimension::Key("network.ecn_threshold".into());
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(
            experiment(&["dctcp", "pias"], &[0.7], &["20pkt", "65pkt"]).dimensions(),
            [(Dimension::Scheme, names(&["dctcp", "pias"])), (marks.clone(), names(&["20pkt", "65pkt"]))]
        );
        assert_eq!(
            experiment(&["pias"], &[0.8, 0.6], &["65pkt"]).dimensions(),
            [(Dimension::Load, names(&["0.8", "0.6"]))]
        );
        assert!(experiment(&["pias"], &[0.8], &["65pkt"]).dimensions().is_empty());
        assert!(
            marks.is_called("ecn_threshold") && marks.is_called("network.ecn_threshold") && !marks.is_called("ecn")
        );
    }

    #[test]
    fn pairs__differ_in_what_is_varied_alone() {
        // Points: marks 20 with loads 0.6 (dctcp, pias) and 0.8, then marks 65.
        let experiment = experiment(&["dctcp", "pias"], &[0.6, 0.8], &["20pkt", "65pkt"]);
        let marks = Dimension::Key("network.ecn_threshold".into());
        assert_eq!(experiment.pairs(&marks, "65pkt", "20pkt"), [(4, 0), (5, 1), (6, 2), (7, 3)]);
        assert_eq!(experiment.pairs(&Dimension::Load, "0.8", "0.6"), [(2, 0), (3, 1), (6, 4), (7, 5)]);
        assert_eq!(experiment.pairs(&Dimension::Scheme, "pias", "dctcp"), [(1, 0), (3, 2), (5, 4), (7, 6)]);
        assert!(experiment.pairs(&marks, "65pkt", "30pkt").is_empty());
    }
}
