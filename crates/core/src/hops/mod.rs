//! What switches can do at their ports, beyond queueing: the built-in [`OnHop`]s.

pub mod marks;
pub mod pfc;
pub mod stamps;
pub mod trim;

use crate::hop::{Hears, HopSpec, OnHop};

/// Returns a part that does nothing: with it packets have trails, for those who write into them or read them otherwise.
#[must_use]
pub fn trails() -> HopSpec {
    HopSpec::new("trails", |_| Trails)
}

struct Trails;

impl OnHop for Trails {
    fn hears(&self) -> Hears {
        Hears::NOTHING
    }
}
