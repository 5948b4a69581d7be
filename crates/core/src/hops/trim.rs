//! Trimming (NDP, Handley et al., SIGCOMM 2017): a data packet that finds no room loses its payload, and its header goes on
//! with the highest priority.

use crate::hop::{Fate, Hears, Hop, HopSpec, OnHop};
use crate::meta::{Kind, Meta};

/// How packets are cut.
#[derive(Clone, Copy, Debug)]
pub struct Trim {
    /// Bytes of a header.
    pub header: u16,
}

impl Trim {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        HopSpec::new(self, move |_| self)
    }
}

impl OnHop for Trim {
    fn hears(&self) -> Hears {
        Hears { turned_away: true, ..Hears::NOTHING }
    }

    fn on_turned_away(&mut self, packet: &Meta, hop: &mut Hop<'_>) -> Fate {
        if packet.kind != Kind::Data || packet.len <= self.header {
            return Fate::Gone;
        }
        hop.trail.trimmed = true;
        Fate::Trim { len: self.header, priority: 0 }
    }
}
