//! Weights of coflows, for coordinators whose order uses them.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::ControllerKind;
use flowsieve_schemes::Scheme;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting};

use crate::workload::Files;
use flowsieve_experiment::{Error, Point};

declare! {
    static COFLOW_WEIGHTS: Setting<String> = Setting::file(
        Section::Scheme, "coflow_weights",
        "weights of coflows: CSV rows of coflow,weight; a coflow of weight 2 counts as half as large, and one without a row \
        has weight 1",
    );
}

/// Gives the scheme's coordinator the weights in the settings, if its order uses any.
pub(crate) fn give(point: &Point, scope: &Scope<'_>, scheme: &mut Scheme) -> Result<(), Error> {
    let coordinators = scheme.controllers.iter_mut().filter_map(|spec| match &mut spec.kind {
        ControllerKind::Coordinator(params) if params.decides.heeds_weights() => Some(params),
        _ => None,
    });
    for params in coordinators {
        params.weights = read(point, scope)?;
    }
    Ok(())
}

/// Reads the weights that the settings of the point name; empty if they name none.
pub(crate) fn read(point: &Point, scope: &Scope<'_>) -> Result<Arc<BTreeMap<u32, f64>>, Error> {
    let Some(path) = scope.optional(&COFLOW_WEIGHTS)? else { return Ok(Arc::default()) };
    let path = point.folder.path().join(path);
    let read = point.folder.of::<Files>().weights(scope, &COFLOW_WEIGHTS, &path)?;
    let mut hasher = blake3::Hasher::new();
    for (coflow, weight) in read.iter() {
        hasher.update(&coflow.to_le_bytes()).update(&weight.to_le_bytes());
    }
    point.settings.note("coflow_weights.digest", hasher.finalize().to_hex());
    Ok(read)
}
