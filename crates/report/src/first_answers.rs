//! Flows that waited for a first answer, when two points are compared.

use std::collections::BTreeSet;

use flowsieve_results::ResultDir;
use flowsieve_results::first_answers::waited;

use crate::configuration::in_words;
use crate::naming::Naming;

/// A sentence for each class of these points in which such flows make a large part of the mean.
pub(crate) fn sentences(dir: &ResultDir, points: &BTreeSet<usize>) -> Vec<String> {
    let experiment = &dir.manifest().experiment;
    let of_point = |&point: &usize| {
        let place = in_words(experiment, &[point].into(), Naming::Names);
        let said = waited(&dir.summary().points[point]);
        said.into_iter().map(move |waited| format!("{place}: {}", waited.text())).collect::<Vec<_>>()
    };
    points.iter().flat_map(of_point).collect()
}
