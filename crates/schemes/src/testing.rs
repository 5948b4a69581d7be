//! Settings and a workload for the tests of schemes.

use flowsieve_core::controllers::thresholds::NetworkParams;

use crate::entry::WorkloadFacts;
use flowsieve_core::{ControllerKind, ControllerSpec};
use flowsieve_settings::Settings;
use flowsieve_sim::scheme::Scheme;
use flowsieve_sim::topology::FABRIC_SETTINGS;

/// Returns the settings of schemes and fabrics, with none given.
pub(crate) fn none_given() -> Settings {
    Settings::of([crate::SETTINGS, FABRIC_SETTINGS].concat().concat())
}

/// Facts that a test sets; sizes are uniform up to `uniform_to`.
pub(crate) struct Facts {
    pub(crate) name: Option<&'static str>,
    pub(crate) load: Option<f64>,
    pub(crate) uniform_to: Option<u64>,
}

impl WorkloadFacts for Facts {
    fn distribution(&self) -> Option<&str> {
        self.name
    }

    fn load(&self) -> Option<f64> {
        self.load
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        self.uniform_to.map(|to| (p * to as f64).round() as u64)
    }
}

/// Returns the controller of the network's thresholds, if the scheme has one.
pub(crate) fn network(scheme: &Scheme) -> Option<(&ControllerSpec, &NetworkParams)> {
    scheme.controllers.iter().find_map(|spec| match &spec.kind {
        ControllerKind::NetworkThresholds(params) => Some((spec, params)),
        _ => None,
    })
}
