//! The tagger that keeps what the program's code, a controller or a table by time has chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::controller::{Latest, Published};
use flowsieve_core::meta::Kind;
use flowsieve_core::readings::{Reading, observe_thresholds};
use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::taggers::demotion::level;
use flowsieve_core::taggers::levels::TAG_THRESHOLD;
use flowsieve_core::{Node, Tag, Time};

use super::{ChooseLevel, Failure, Level, Start, checked};

/// Thresholds that replace the first ones, from their times on, which rise.
pub(super) type Changes = Arc<[(Time, Vec<u64>)]>;

/// A tagger's name, its code, and whether it is told sizes.
pub(super) type Own = (String, Box<dyn ChooseLevel>, bool);

/// The tagger of a host.
pub(super) struct OwnTagger {
    host: u32,
    /// The first thresholds, or those of the controller.
    thresholds: Latest,
    later: Changes,
    queues: usize,
    own: Option<Own>,
    /// By message that has begun and not ended: what was chosen, unless it follows the thresholds in force.
    chosen: BTreeMap<u32, Level>,
    failure: Failure,
}

impl OwnTagger {
    /// Builds the tagger of a host, with its first thresholds and the number of queues.
    pub(super) fn new(
        node: Node,
        (thresholds, queues): (Vec<u64>, usize),
        later: Changes,
        own: Option<Own>,
        failure: Failure,
    ) -> OwnTagger {
        let host = if let Node::Host(host) = node { host } else { 0 };
        let (thresholds, chosen) = (Latest::new(thresholds), BTreeMap::new());
        OwnTagger { host, thresholds, later, queues, own, chosen, failure }
    }

    /// Returns the thresholds in force.
    fn in_force(&self, now: Time) -> &[u64] {
        match self.later.partition_point(|(from, _)| *from <= now) {
            0 => &self.thresholds.values,
            changes => &self.later[changes - 1].1,
        }
    }

    fn level(&self, facts: &FlowFacts) -> u64 {
        match self.chosen.get(&facts.message) {
            Some(Level::Priority(priority)) => *priority,
            Some(Level::Thresholds(thresholds)) => level(thresholds, facts.offset) as u64,
            Some(Level::InForce) | None => level(self.in_force(facts.now), facts.offset) as u64,
        }
    }

    fn begin(&mut self, message: &flowsieve_core::message::Message) {
        let Some((name, code, knows)) = &mut self.own else { return };
        let start = Start {
            source: self.host,
            destination: message.to.into(),
            class: message.class,
            size: knows.then_some(message.bytes),
            start: message.start,
            deadline: message.deadline,
            coflow: message.coflow,
        };
        let queues = self.queues;
        let chosen = code.choose(&start).and_then(|chosen| {
            let fits = match chosen {
                Level::Priority(priority) if priority >= queues as u64 => {
                    Err(format!("priority {priority}; expected 0 to {}, for {queues} queues", queues - 1))
                }
                Level::Thresholds(thresholds) => checked(thresholds, queues).map(Level::Thresholds),
                other => Ok(other),
            };
            fits.map_err(|problem| format!("the tagger {name} returned {problem}"))
        });
        match self.failure.note(chosen) {
            None | Some(Level::InForce) => {}
            Some(level) => _ = self.chosen.insert(message.id, level),
        }
    }
}

impl TagPackets for OwnTagger {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        // Packets without payload have the highest priority, as under the built-in taggers.
        if facts.kind == Kind::Data { Tag::with_priority(self.level(facts) as u8) } else { Tag::default() }
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        self.level(facts)
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        match event {
            FlowEvent::MessageStart { message, .. } if self.failure.problem().is_none() => self.begin(message),
            FlowEvent::MessageEnd { message, .. } => _ = self.chosen.remove(&message.id),
            _ => {}
        }
    }

    fn on_table(&mut self, published: &Published) {
        if published.table.name == TAG_THRESHOLD {
            self.thresholds.take(published);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        observe_thresholds(TAG_THRESHOLD, &self.thresholds.values, see);
    }
}
