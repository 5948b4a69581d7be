//! Weights of coflows, for coordinators whose order uses them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flowsieve_core::ControllerKind;
use flowsieve_schemes::Scheme;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, Settings};

use crate::workload::Files;
use flowsieve_experiment::Error;

declare! {
    static COFLOW_WEIGHTS: Setting<String> = Setting::file(
        Section::Scheme, "coflow_weights",
        "weights of coflows, of which one of weight 2 counts as half as large: CSV rows of coflow,weight; of others 1",
    );
}

/// Gives the scheme's coordinator the weights in the settings, if its order uses any. Paths are relative to `folder`.
pub(crate) fn give(
    settings: &Settings,
    scope: &Scope<'_>,
    scheme: &mut Scheme,
    (files, folder): (&Files, &Path),
) -> Result<(), Error> {
    let coordinators = scheme.controllers.iter_mut().filter_map(|spec| match &mut spec.kind {
        ControllerKind::Coordinator(params) if params.decides.heeds_weights() => Some(params),
        _ => None,
    });
    for params in coordinators {
        params.weights = read(settings, scope, (files, folder))?;
    }
    Ok(())
}

/// Reads the weights that the settings name; empty if they name none. Paths are relative to `folder`.
pub(crate) fn read(
    settings: &Settings,
    scope: &Scope<'_>,
    (files, folder): (&Files, &Path),
) -> Result<Arc<BTreeMap<u32, f64>>, Error> {
    let Some(path) = scope.optional(&COFLOW_WEIGHTS)? else { return Ok(Arc::default()) };
    let path = folder.join(path);
    let read = files.weights(scope, &COFLOW_WEIGHTS, &path)?;
    let mut hasher = blake3::Hasher::new();
    for (coflow, weight) in read.iter() {
        hasher.update(&coflow.to_le_bytes()).update(&weight.to_le_bytes());
    }
    settings.note("coflow_weights.digest", hasher.finalize().to_hex());
    Ok(read)
}
