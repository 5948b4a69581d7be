//! Coflows by their turn: a controller gives each coflow a priority when the coflow begins, the highest that no other has, and
//! takes it back when the last of its messages has ended. Hosts follow it. All else is DCTCP with strict priorities.

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Publish, Published, Table};
use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::{ControllerKind, ControllerSpec, Kind, Tag, TaggerSpec, Time};
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::Scheme;
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::SettingsError;
use std::collections::BTreeMap;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "coflow-turns",
    file: r#"
base = "dctcp"
label = "Coflow turns"
summary = "DCTCP; a controller gives each coflow a priority when it begins"
paper = "docs/extend/controller.md"
knows = "coflow"

discipline = "sp"
queues = 8
"#,
    own: Some(build),
};

/// Priorities. The last is for all packets whose coflow has none of its own.
const PRIORITIES: u8 = 8;

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let tagger = TaggerSpec::custom(|_| Follower::default());
    let mut scheme = parts::build(context, Own { tagger: Some(tagger), ..Own::default() })?;
    scheme.controllers.push(ControllerSpec {
        name: "coflow coordinator",
        period: None,
        hears: Hears::AsItHappens(Time::from_us(10)),
        publishes_after: Time::from_us(5),
        kind: ControllerKind::central(|_| Coordinator::default()),
    });
    Ok(scheme)
}

/// The controller.
#[derive(Default)]
struct Coordinator {
    /// By coflow with messages under way: its priority, and how many messages.
    coflows: BTreeMap<u32, (u8, u32)>,
    /// When it heard of something that it has not announced yet.
    changed: Option<Time>,
}

impl Coordinator {
    /// The highest priority that no coflow has.
    fn free(&self) -> u8 {
        let taken = self.coflows.values().fold(0u32, |taken, (priority, _)| taken | 1 << priority);
        (taken.trailing_ones() as u8).min(PRIORITIES - 1)
    }
}

impl Controller for Coordinator {
    fn on_event(&mut self, now: Time, event: &HostEvent) {
        let (FlowEvent::MessageStart { message, .. } | FlowEvent::MessageEnd { message, .. }) = event.event else {
            return;
        };
        let Some(coflow) = message.coflow else { return };
        if let FlowEvent::MessageStart { .. } = event.event {
            let free = self.free();
            self.coflows.entry(coflow).or_insert((free, 0)).1 += 1;
        } else if let Some((_, messages)) = self.coflows.get_mut(&coflow) {
            *messages -= 1;
            if *messages == 0 {
                self.coflows.remove(&coflow);
            }
        }
        self.changed = Some(now);
    }

    fn next(&self) -> Time {
        self.changed.unwrap_or(Time::NEVER)
    }

    fn decide(&mut self, _: Time, _: &mut dyn Gauges, publish: Publish<'_>) {
        self.changed = None;
        let values = self.coflows.iter().map(|(&coflow, &(priority, _))| (coflow, priority.into())).collect();
        publish(Audience::Hosts { class: 0 }, Table { name: "priority of a coflow", values });
    }
}

/// A host's tagger, with what it knows of the controller's decisions.
#[derive(Default)]
struct Follower(Table);

impl TagPackets for Follower {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        let priority = facts.coflow.and_then(|coflow| self.0.get(coflow));
        Tag::with_priority(priority.map_or(PRIORITIES - 1, |priority| priority as u8))
    }

    fn on_table(&mut self, published: &Published) {
        self.0 = published.table.clone();
    }
}
