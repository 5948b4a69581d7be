//! The effective configuration: the settings that all points share, and where they differ.

use std::collections::{BTreeMap, BTreeSet};

use flowsieve_results::{Axis, Experiment, PointInfo};

use crate::naming::Naming;

/// A setting that has one value at all points.
pub(crate) struct Common<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

/// A value that a setting has at some points.
pub(crate) struct Differing<'a> {
    /// Empty after the first value of a setting.
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
    /// The points in words.
    pub(crate) at: String,
}

/// Sorts the settings of all points by whether the points agree.
pub(crate) fn settings(experiment: &Experiment, naming: Naming) -> (Vec<Common<'_>>, Vec<Differing<'_>>) {
    let mut values: BTreeMap<&str, BTreeMap<&str, BTreeSet<usize>>> = BTreeMap::new();
    for (index, point) in experiment.points.iter().enumerate() {
        for (key, value) in &point.settings {
            values.entry(key).or_default().entry(value).or_default().insert(index);
        }
    }
    let (mut common, mut differing) = (Vec::new(), Vec::new());
    for (key, values) in values {
        for (index, (value, points)) in values.into_iter().enumerate() {
            if points.len() == experiment.points.len() {
                common.push(Common { key, value });
            } else {
                let key = if index == 0 { key } else { "" };
                differing.push(Differing { key, value, at: in_words(experiment, &points, naming) });
            }
        }
    }
    (common, differing)
}

/// Says in which buffers and timers compared schemes differ, in one sentence: what a table shows may be these, and not how the
/// schemes schedule. `None`: they are alike.
pub(crate) fn uneven(experiment: &Experiment, naming: Naming) -> Option<String> {
    let first = experiment.points.first()?;
    let compared = || experiment.points.iter().filter(|point| point.load == first.load && point.axes == first.axes);
    let buffer = |point: &PointInfo| {
        // Those of the ports nearest to hosts that are switches'.
        let of = |key: &str| {
            let places = ["leaf.", "spine.", "core.", ""].iter();
            places.map(|place| format!("scheme.{place}{key}")).find_map(|key| point.settings.get(&key)).cloned()
        };
        match of("admission").as_deref() {
            Some("shared") => of("shared_buffer").map(|bytes| bytes + " shared"),
            Some("per-queue") => of("buffer").map(|bytes| bytes + " a queue"),
            _ => of("buffer"),
        }
    };
    let timer = |point: &PointInfo| {
        let of = |key: &str| Some(format!("{key} {}", point.settings.get(&format!("scheme.{key}"))?));
        of("rto_min").or_else(|| of("resend_after"))
    };
    let differing = |kind: &str, value: &dyn Fn(&PointInfo) -> Option<String>| {
        let mut values: Vec<(String, Vec<&str>)> = Vec::new();
        for point in compared() {
            let (Some(value), scheme) = (value(point), naming.scheme(experiment, &point.scheme)) else { continue };
            match values.iter_mut().find(|(other, _)| *other == value) {
                Some((_, schemes)) => schemes.push(scheme),
                None => values.push((value, vec![scheme])),
            }
        }
        let said: Vec<String> =
            values.iter().map(|(value, schemes)| format!("{value} ({})", schemes.join(", "))).collect();
        (said.len() > 1).then(|| format!("{kind} {}", said.join(", ")))
    };
    let parts: Vec<String> =
        [differing("buffers", &buffer), differing("timers", &timer)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Schemes differ in more than scheduling: {}.", parts.join("; ")))
}

/// Points in words: by scheme, load and axes if these single them out ("pias at load 0.6, load 0.8"), otherwise one by one.
pub(crate) fn in_words(experiment: &Experiment, points: &BTreeSet<usize>, naming: Naming) -> String {
    const LISTED: usize = 8;
    if points.len() == experiment.points.len() {
        return "all points".into();
    }
    let everywhere = 0..experiment.points.len();
    let all: Vec<Vec<String>> = everywhere.clone().map(|index| attributes(experiment, index, naming)).collect();
    let values = |attribute: usize, among: &mut dyn Iterator<Item = usize>| -> BTreeSet<Option<&String>> {
        among.map(|index| all[index].get(attribute)).collect()
    };
    // Attributes that vary over the points, each with its values among these points.
    let varying: Vec<_> = (0..all.iter().map(Vec::len).max().unwrap_or(0))
        .filter(|&attribute| values(attribute, &mut everywhere.clone()).len() > 1)
        .map(|attribute| (attribute, values(attribute, &mut points.iter().copied())))
        .collect();
    let inside =
        |index: &usize| varying.iter().all(|(attribute, theirs)| theirs.contains(&all[*index].get(*attribute)));
    if everywhere.clone().filter(inside).eq(points.iter().copied()) {
        let telling = varying
            .iter()
            .filter(|(attribute, theirs)| theirs.len() < values(*attribute, &mut everywhere.clone()).len());
        let words = |theirs: &BTreeSet<Option<&String>>| {
            theirs.iter().flatten().map(|value| value.as_str()).collect::<Vec<_>>().join(", ")
        };
        return telling.map(|(_, theirs)| words(theirs)).collect::<Vec<_>>().join(" at ");
    }
    let label = |&index: &usize| {
        let values = varying.iter().filter_map(|(attribute, _)| all[index].get(*attribute));
        values.map(String::as_str).collect::<Vec<_>>().join(" at ")
    };
    let mut listed: Vec<String> = points.iter().take(LISTED).map(label).collect();
    if points.len() > LISTED {
        listed.push(format!("and {} more", points.len() - LISTED));
    }
    listed.join("; ")
}

/// What distinguishes a point: scheme, load, axes.
fn attributes(experiment: &Experiment, index: usize, naming: Naming) -> Vec<String> {
    let point = &experiment.points[index];
    let load = point.load.map_or_else(|| "no load".into(), |load| format!("load {load}"));
    let axes = point.axes.iter().map(Axis::in_words);
    [naming.scheme(experiment, &point.scheme).to_owned(), load].into_iter().chain(axes).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn experiment() -> Experiment {
        let point = |scheme: &str, load: f64| PointInfo {
            scheme: scheme.into(),
            load: Some(load),
            settings: BTreeMap::from([
                ("network.mtu".to_string(), "1500B".to_string()),
                ("network.queues".to_string(), if scheme == "pias" { "8" } else { "1" }.to_string()),
            ]),
            ..PointInfo::default()
        };
        Experiment {
            points: [0.6, 0.8].into_iter().flat_map(|load| ["dctcp", "pias"].map(|name| point(name, load))).collect(),
            ..Experiment::default()
        }
    }

    #[test]
    fn in_words__the_shortest_that_is_exact() {
        let words = |points: &[usize]| in_words(&experiment(), &points.iter().copied().collect(), Naming::Names);
        assert_eq!(words(&[0, 1, 2, 3]), "all points");
        assert_eq!(words(&[1, 3]), "pias");
        assert_eq!(words(&[2, 3]), "load 0.8");
        assert_eq!(words(&[1]), "pias at load 0.6");
        assert_eq!(words(&[0, 3]), "dctcp at load 0.6; pias at load 0.8");
    }

    #[test]
    fn uneven__names_buffers_and_timers_that_differ() {
        let point = |scheme: &str, settings: &[(&str, &str)]| PointInfo {
            scheme: scheme.into(),
            settings: settings.iter().map(|(key, value)| (format!("scheme.{key}"), (*value).to_owned())).collect(),
            ..PointInfo::default()
        };
        let all = [
            point("dctcp", &[("leaf.admission", "per-port"), ("leaf.buffer", "360KB"), ("rto_min", "2ms")]),
            point("pias", &[("leaf.admission", "per-port"), ("leaf.buffer", "360KB"), ("rto_min", "2ms")]),
            point("sp-pifo", &[("leaf.admission", "per-queue"), ("leaf.buffer", "27KB"), ("rto_min", "2ms")]),
            point("homa", &[("leaf.admission", "per-port"), ("leaf.buffer", "360KB"), ("resend_after", "5ms")]),
            point("sieve", &[("leaf.admission", "shared"), ("shared_buffer", "4MB"), ("rto_min", "2ms")]),
            point("fifo", &[]),
        ];
        let of = |points: &[PointInfo]| {
            uneven(&Experiment { points: points.to_vec(), ..Experiment::default() }, Naming::Names)
        };
        assert_eq!(of(&all[..2]), None);
        assert_eq!(
            of(&all).as_deref(),
            Some(
                "Schemes differ in more than scheduling: buffers 360KB (dctcp, pias, homa), 27KB a queue (sp-pifo), 4MB \
                 shared (sieve); timers rto_min 2ms (dctcp, pias, sp-pifo, sieve), resend_after 5ms (homa)."
            )
        );
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn settings__apart_where_points_differ() {
        let experiment = experiment();
        let (common, differing) = settings(&experiment, Naming::Names);
        assert_eq!((common[0].key, common[0].value, common.len()), ("network.mtu", "1500B", 1));
        let differing: Vec<_> = differing.iter().map(|row| (row.key, row.value, row.at.as_str())).collect();
        assert_eq!(differing, [("network.queues", "1", "dctcp"), ("", "8", "pias")]);
    }
}
