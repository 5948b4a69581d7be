//! Points that a test writes out, where `mod common` makes random ones.

use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Measure, Partitioning};
use flowsieve_workload::Flow;

use crate::common::{Case, predictions, scheme, settings};

/// A case of these settings and flows, drained.
pub(crate) fn plain(name: &str, given: &[(&str, &str)], flows: Vec<Flow>) -> Case {
    let given: Vec<(String, String)> = given.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let settings = settings(&given);
    Case {
        fabric: Fabric::from_settings(&settings).expect("a fabric"),
        scheme: scheme(name, &settings).expect("a scheme"),
        flows,
        wire_overhead: 0,
        fct_end: FctEnd::Arrival,
        measure: Measure::All,
        predictions: predictions(1),
        announcements: std::sync::Arc::default(),
        seed: 1,
        max_time: None,
        partitioning: Partitioning::Whole,
        call: format!("plain({name:?}, &{given:?}, …)"),
    }
}
