//! Coflows in order: the less a host has yet to send of a coflow, the higher the priority of its packets; and a port lets no
//! packet of a coflow overtake an older one, as in pCoflow ("Providing In-network Support to Coflow Scheduling", §III). All
//! else is DCTCP.

use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::scheduler::{PortRules, PortSite};
use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::{Message, Meta, NONE, PortContext, PortKind, PortScheduler, Site, Tag, TaggerSpec, Time, Verdict};
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::{PortSpec, Scheme};
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::SettingsError;
use std::collections::btree_map::{BTreeMap, Entry::Occupied};

/// The same without order: ports that look at a packet's priority alone.
pub(crate) const PRIORITY: Entry = Entry {
    name: "coflow-priority",
    file: r#"
base = "dctcp"
label = "Coflow priority"
summary = "DCTCP; the less is left of a coflow at its host, the higher its priority"
paper = "docs/extend/port.md"
knows = "coflow"

discipline = "sp"
queues = 4
"#,
    own: Some(by_priority),
};

/// With order.
pub(crate) const ORDER: Entry = Entry {
    name: "coflow-order",
    file: r#"
base = "dctcp"
label = "Coflow order"
summary = "as coflow-priority; ports keep the packets of a coflow in order"
paper = "docs/extend/port.md"
knows = "coflow"

discipline = "sp"
queues = 4
"#,
    own: Some(in_order),
};

fn by_priority(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let tagger = TaggerSpec::custom(|_| Unsent::default());
    parts::build(context, Own { tagger: Some(tagger), ..Own::default() })
}

fn in_order(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scheme = by_priority(context)?;
    let ports = scheme.ports.try_map(|_, port| Ok::<_, SettingsError>(with_order(port)))?;
    Ok(Scheme { ports, ..scheme })
}

/// A port with queues by priority keeps coflows in order; one that was set to another discipline stays unchanged.
fn with_order(port: &PortSpec) -> PortSpec {
    match &port.kind {
        PortKind::Bank(rules) if rules.discipline == Discipline::StrictPriority => {
            let rules = rules.clone();
            let own =
                move |port: &PortSite, _: &Site| CoflowPort { queues: rules.build(port), waiting: BTreeMap::new() };
            PortSpec { kind: PortKind::custom(own), ..port.clone() }
        }
        _ => port.clone(),
    }
}

/// Bytes of a coflow that its host has yet to send. Above each of these numbers its packets are one priority lower.
const THRESHOLDS: [u64; 3] = [100_000, 1_000_000, 10_000_000];

/// A host's tagger: the bytes of each coflow that it has yet to send.
#[derive(Default)]
struct Unsent(BTreeMap<u32, u64>);

impl TagPackets for Unsent {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let Some(Occupied(mut unsent)) = facts.coflow.map(|coflow| self.0.entry(coflow)) else {
            return Tag::default();
        };
        let before = *unsent.get();
        if !facts.retransmission {
            *unsent.get_mut() = before.saturating_sub(facts.payload.into());
        }
        if *unsent.get() == 0 {
            unsent.remove();
        }
        Tag::with_priority(THRESHOLDS.iter().filter(|&&threshold| before > threshold).count() as u8)
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        if let FlowEvent::MessageStart { message: Message { coflow: Some(coflow), bytes, .. }, .. } = event {
            *self.0.entry(*coflow).or_default() += bytes;
        }
    }
}

/// FIFO queues under strict priority. A packet goes to the queue of its priority, or to the lowest in which packets of its
/// coflow still wait, if that is lower: so they leave before it.
struct CoflowPort {
    queues: FifoBank,
    /// By coflow and queue: how many packets wait, where any do. It has no more entries than the port has packets.
    waiting: BTreeMap<(u32, u8), u32>,
}

impl PortScheduler for CoflowPort {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let Meta { coflow, tag, .. } = metas[packet as usize];
        let lowest = self.waiting.range((coflow, 0)..=(coflow, u8::MAX)).next_back();
        let queue = tag.priority().min(self.queues() as u8 - 1).max(lowest.map_or(0, |(&(_, queue), _)| queue));
        let verdict = self.queues.enqueue_in(queue.into(), metas, packet, context);
        if verdict.is_accepted() && coflow != NONE {
            *self.waiting.entry((coflow, queue)).or_default() += 1;
        }
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.queues.dequeue(metas, context)?;
        let Meta { coflow, queue, .. } = metas[packet as usize];
        if let Occupied(mut waiting) = self.waiting.entry((coflow, queue)) {
            *waiting.get_mut() -= 1;
            if *waiting.get() == 0 {
                waiting.remove();
            }
        }
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.queues.backlog_bytes()
    }

    fn queues(&self) -> usize {
        self.queues.queues()
    }
}
