//! A host's side of an order: the level of each coflow goes into its packets (pCoflow, ICIN 2021, §III-C).

use std::collections::BTreeMap;

use super::key;
use crate::controller::Published;
use crate::message::FlowEvent;
use crate::meta::Kind;
use crate::tag::Tag;
use crate::tagger::FlowFacts;

/// What hosts do for a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRules {
    /// The level of coflows that the coordinator has not placed yet.
    pub new_level: u8,
    /// Whether they count bytes sent, for it to ask.
    pub reports: bool,
}

/// Writes the level in force as a priority, into what is sent again, too. What carries no payload has level 0.
#[derive(Clone, Debug)]
pub struct LevelTagger {
    rules: HostRules,
    version: u64,
    /// The coflows that have a level, and it.
    levels: Vec<(u32, u64)>,
    /// Bytes sent by message that is under way, where that is reported.
    sent: BTreeMap<u32, u64>,
}

impl LevelTagger {
    /// Before anything is known.
    pub fn new(rules: HostRules) -> LevelTagger {
        LevelTagger { rules, version: 0, levels: Vec::new(), sent: BTreeMap::new() }
    }

    /// The tag of a packet with payload.
    pub fn tag(&mut self, facts: &FlowFacts) -> Tag {
        debug_assert_eq!(facts.kind, Kind::Data);
        if self.rules.reports {
            let sent = self.sent.entry(facts.message).or_default();
            *sent = (*sent).max(facts.offset + u64::from(facts.payload));
        }
        let of = key(facts.coflow, facts.message);
        let level = match self.levels.binary_search_by_key(&of, |&(coflow, _)| coflow) {
            Ok(at) => self.levels[at].1 as u8,
            Err(_) => self.rules.new_level,
        };
        Tag::with_priority(level)
    }

    /// Forgets a message that has ended.
    pub fn on_event(&mut self, event: &FlowEvent) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.sent.remove(&message.id);
        }
    }

    /// Takes an order, unless it has a later one.
    pub fn on_table(&mut self, published: &Published) {
        if published.version > self.version {
            self.version = published.version;
            self.levels.clone_from(&published.table.values);
        }
    }

    /// Bytes sent of each message under way of which any were, first transmissions alone.
    pub fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        self.sent.iter().for_each(|(&message, &bytes)| see(message, bytes));
    }
}
