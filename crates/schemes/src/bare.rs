//! Builds a scheme without an experiment, from few settings and few facts of a workload. Tests and benchmarks of all crates
//! use it, and those of your own scheme can.

use flowsieve_settings::{Settings, SettingsError};
use flowsieve_sim::scheme::Scheme;
use flowsieve_sim::topology::FABRIC_SETTINGS;

use crate::entry::{Context, Follows, WorkloadFacts};
use crate::registry;

/// Returns the settings of schemes and fabrics, with none given.
pub fn none_given() -> Settings {
    Settings::of([crate::SETTINGS, FABRIC_SETTINGS].concat().concat())
}

/// Builds a scheme of the registry.
///
/// # Errors
/// Fails if the settings do not go together.
///
/// # Panics
/// Panics if there is no scheme of this name.
pub fn scheme(name: &str, settings: &Settings, workload: &dyn WorkloadFacts) -> Result<Scheme, SettingsError> {
    let entry = registry::find(name).expect("a scheme of the registry");
    entry.scheme(&Context { scope: settings.scheme(name), workload })
}

/// What is known of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The name of its distribution.
    pub name: Option<&'static str>,
    /// Its load.
    pub load: Option<f64>,
    /// The largest size in bytes, of sizes that are uniform from 0; `None`: sizes are not known.
    pub uniform_to: Option<u64>,
    /// Which messages begin when others have ended.
    pub follows: Follows,
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Facts = Facts { name: None, load: None, uniform_to: None, follows: Follows::Nothing };

    /// Sizes are uniform from 0 to `to` bytes, and the load is `load`.
    pub const fn uniform(to: u64, load: f64) -> Facts {
        Facts { load: Some(load), uniform_to: Some(to), ..Facts::NONE }
    }
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

    fn follows(&self) -> Follows {
        self.follows
    }
}
