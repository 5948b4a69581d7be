//! A scheme with the workload for which it is explained.

use std::sync::LazyLock;

use flowsieve_schemes::{Context, Scheme, SchemeFile, WorkloadFacts};
use flowsieve_settings::Settings;
use flowsieve_workload::{SizeDistribution, builtin};

/// The name of the sizes of the workload for which schemes are explained.
pub const WORKLOAD: &str = "web-search";

static SIZES: LazyLock<Option<SizeDistribution>> = LazyLock::new(|| builtin(WORKLOAD)?.distribution().ok());

struct Usual;

impl WorkloadFacts for Usual {
    fn distribution(&self) -> Option<&str> {
        Some(WORKLOAD)
    }

    fn load(&self) -> Option<f64> {
        Some(0.6)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        SIZES.as_ref().map(|sizes| sizes.quantile(p))
    }
}

/// Builds a scheme, which reads its settings. If a setting is missing, the scheme has read others until then.
pub(crate) fn read<'a>(
    mut schemes: impl Iterator<Item = &'a SchemeFile>,
    scheme: &str,
    settings: &Settings,
) -> Option<Scheme> {
    let file = schemes.find(|file| file.name == scheme)?;
    file.scheme(&Context { scope: settings.scheme(scheme), workload: &Usual }).ok()
}
