//! Trimming (NDP, Handley et al., SIGCOMM 2017, §3.1): a data packet that finds no room loses its payload, and its header goes on
//! with the highest priority.
//!
//! Which packet is cut, the one that comes or the newest that waits, is a coin's choice: so no sender whose packets always come
//! last loses all of its payload. A header that finds no room either goes back to its sender (§3.2.4).

use crate::hop::{Fate, Hears, Hop, HopSpec, OnHop};
use crate::meta::{Kind, Meta};
use crate::readings::Reading;

/// How packets are cut.
#[derive(Clone, Copy, Debug)]
pub struct Trim {
    /// Bytes of a header.
    pub header: u16,
    /// Which packet is cut.
    pub victim: Victim,
    /// Whether a header without room goes back to its sender.
    pub returns: bool,
}

/// Which of the packets that a full queue could hold is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The one that comes.
    Arriving,
    /// The one that comes or the newest that waits, each with probability one half.
    Either,
}

impl Trim {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        let make = move |_: &_| Trimming { rules: self, cut: 0, waited: 0, returned: 0 };
        HopSpec { returns: self.returns, ..HopSpec::new(self, make) }
    }
}

/// A switch that cuts.
struct Trimming {
    rules: Trim,
    /// Times that a packet was cut.
    cut: u64,
    /// Of these, times that the coin chose one that waited.
    waited: u64,
    returned: u64,
}

impl OnHop for Trimming {
    fn hears(&self) -> Hears {
        Hears { turned_away: true, ..Hears::NOTHING }
    }

    fn on_turned_away(&mut self, packet: &Meta, hop: &mut Hop<'_>) -> Fate {
        let Trim { header: len, victim, returns } = self.rules;
        if packet.kind != Kind::Data {
            return Fate::Gone;
        }
        if packet.len <= len {
            self.returned += u64::from(returns);
            return if returns { Fate::Return } else { Fate::Gone };
        }
        self.cut += 1;
        if victim == Victim::Either && hop.random.next_u32() & 1 == 0 {
            self.waited += 1;
            return Fate::TrimNewest { len, priority: 0 };
        }
        Fate::Trim { len, priority: 0 }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "trim_packets", count: self.cut });
        see(Reading::Count { name: "trim_waiting", count: self.waited });
        see(Reading::Count { name: "trim_returned", count: self.returned });
    }
}
