//! Levels of the network and of the host, whose thresholds controllers adapt to the messages that have ended (NOS2:
//! Sviridov, Bianco and Giaccone, GLOBECOM 2019, §IV; with one set of queues for host and network its Fig. 2).
//!
//! A packet gets two levels by the bytes before it, as in PIAS. The network's is its priority, by thresholds that a
//! controller of the whole fabric sends to all hosts. If the host has its own queues, the host's level is its rank, by an
//! equal split of the sizes that this host has seen. Both kinds of thresholds are recomputed once per period. Sizes are
//! known only when a message ends.
//!
//! Left out: flows under way, which are not counted before they end. So a change towards longer messages shows late.

use crate::controller::{Latest, Published};
use crate::readings::{Reading, observe_thresholds};
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};

/// Thresholds of a host's own queues.
pub const HOST_THRESHOLD: &str = "host's threshold (bytes)";
/// Thresholds by which a host tags packets for the network.
pub const TAG_THRESHOLD: &str = "tag threshold (bytes)";

/// Returns the level p of a message after `bytes` bytes, ω_p ≤ bytes < ω_(p+1) (NOS2, §III). The sentence after that
/// formula demotes the flow if its bytes exceed the threshold, as PIAS does. The two differ in one packet, where they are
/// equal.
fn level_from(thresholds: &[u64], bytes: u64) -> usize {
    thresholds.iter().take_while(|&&threshold| bytes >= threshold).count()
}

/// The initial levels of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelParams {
    /// The network's thresholds, in bytes, rising; empty: everything has priority 0.
    pub network: Vec<u64>,
    /// If the host has its own queues, their thresholds; empty: everything goes to the first.
    pub own: Option<Vec<u64>>,
}

/// The levels of a host's packets of one class.
#[derive(Clone, Debug)]
pub struct Levels {
    network: Latest,
    own: Option<Latest>,
}

impl TaggerRules for LevelParams {
    type Tagger = Levels;

    fn build(&self) -> Levels {
        Levels { network: Latest::new(self.network.clone()), own: self.own.clone().map(Latest::new) }
    }
}

impl TagPackets for Levels {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let own = self.own.as_ref().map_or(0, |own| level_from(&own.values, facts.offset));
        Tag::with_levels(level_from(&self.network.values, facts.offset) as u8, own as u32)
    }

    /// Returns the host's level, or the network's if the host has no levels of its own.
    fn urgency(&self, facts: &FlowFacts) -> u64 {
        level_from(&self.own.as_ref().unwrap_or(&self.network).values, facts.offset) as u64
    }

    fn on_table(&mut self, published: &Published) {
        match (published.table.name, &mut self.own) {
            (TAG_THRESHOLD, _) => self.network.take(published),
            (HOST_THRESHOLD, Some(own)) => own.take(published),
            _ => {}
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        if let Some(own) = &self.own {
            observe_thresholds(HOST_THRESHOLD, &own.values, see);
        }
        observe_thresholds(TAG_THRESHOLD, &self.network.values, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Table;

    fn levels(own: &[u64], network: &[u64]) -> Levels {
        LevelParams { network: network.to_vec(), own: Some(own.to_vec()) }.build()
    }

    fn tag(levels: &mut Levels, offset: u64) -> (u8, u32) {
        let tag = levels.tag(&FlowFacts { offset, ..FlowFacts::default() });
        (tag.priority(), tag.host_level())
    }

    #[test]
    fn tag__the_networks_level_and_the_hosts() {
        let mut levels = levels(&[1_000, 2_000, 90_000], &[1_460]);
        assert_eq!(
            [0, 999, 1_000, 1_459, 1_460, 2_000, 90_000].map(|offset| tag(&mut levels, offset)),
            [(0, 0), (0, 0), (0, 1), (0, 1), (1, 1), (1, 2), (1, 3)],
            "a level begins at its threshold"
        );
    }

    #[test]
    fn tag__with_nothing_known_all_is_first() {
        assert_eq!(tag(&mut levels(&[], &[]), u64::MAX), (0, 0));
    }

    #[test]
    fn on_table__each_takes_its_own() {
        let mut levels = levels(&[], &[]);
        let published =
            |version, name, threshold| Published { version, table: Table::of_thresholds(name, &[threshold]) };
        levels.on_table(&published(1, TAG_THRESHOLD, 70));
        levels.on_table(&published(1, HOST_THRESHOLD, 50));
        levels.on_table(&published(2, "another", 10));
        assert_eq!([49, 50, 70].map(|offset| tag(&mut levels, offset)), [(0, 0), (0, 1), (1, 1)]);
    }
}
