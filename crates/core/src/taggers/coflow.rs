//! Hosts apply a coordinator's order: the level of each coflow goes into its packets (pCoflow, ICIN 2021, §III-C).

use rustc_hash::FxHashMap;

use crate::coflow::key;
use crate::controller::Published;
use crate::message::{FlowEvent, Message};
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::units::Time;

/// What hosts do for a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRules {
    /// The level of coflows that the coordinator has not placed yet.
    pub new_level: u8,
    /// Whether hosts hold the messages of such coflows instead.
    pub holds: bool,
    /// Whether they count bytes sent, so that the coordinator can ask for them.
    pub reports: bool,
}

/// Writes the level in force as a priority, into retransmissions too. Packets without payload have level 0.
#[derive(Clone, Debug)]
pub struct LevelTagger {
    rules: HostRules,
    version: u64,
    /// The coflows that have a level, with their levels.
    levels: Vec<(u32, u64)>,
    /// Messages under way with any bytes sent.
    messages: FxHashMap<u32, Sending>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Bytes sent, only first transmissions.
    bytes: u64,
    /// Its level, and the version of the order that it is from.
    level: u8,
    version: u64,
}

impl TaggerRules for HostRules {
    type Tagger = LevelTagger;

    fn build(&self) -> LevelTagger {
        LevelTagger { rules: *self, version: 0, levels: Vec::new(), messages: FxHashMap::default() }
    }
}

/// The level that a coordinator's table gives a coflow.
fn place(levels: &[(u32, u64)], coflow: u32) -> Option<u8> {
    let at = levels.binary_search_by_key(&coflow, |&(other, _)| other).ok()?;
    Some(levels[at].1 as u8)
}

impl TagPackets for LevelTagger {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let new = || Sending { bytes: 0, level: self.rules.new_level, version: 0 };
        let message = self.messages.entry(facts.message).or_insert_with(new);
        message.bytes = message.bytes.max(facts.offset + u64::from(facts.payload));
        if message.version != self.version {
            let level = place(&self.levels, key(facts.coflow, facts.message));
            message.version = self.version;
            message.level = level.unwrap_or(self.rules.new_level);
        }
        Tag::with_priority(message.level)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        let level = place(&self.levels, key(facts.coflow, facts.message));
        level.unwrap_or(self.rules.new_level).into()
    }

    fn holds(&self, message: &Message) -> bool {
        self.rules.holds && place(&self.levels, key(message.coflow, message.id)).is_none()
    }

    /// Forgets a message that has ended.
    fn reserve(&mut self, messages: usize) {
        self.messages.reserve(2 * messages);
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.messages.remove(&message.id);
        }
    }

    /// Takes an order, unless it already has a later one.
    fn on_table(&mut self, published: &Published) {
        if published.version > self.version {
            self.version = published.version;
            self.levels.clone_from(&published.table.values);
        }
    }

    /// Reports by message number, for messages with any bytes sent; only first transmissions count.
    fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        if self.rules.reports {
            let mut sent: Vec<(u32, u64)> = self.messages.iter().map(|(&id, sending)| (id, sending.bytes)).collect();
            sent.sort_unstable();
            sent.into_iter().for_each(|(message, bytes)| see(message, bytes));
        }
    }
}
