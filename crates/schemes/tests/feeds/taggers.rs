//! Tries what a tagger writes: a packet's tag, with one fact changed at a time.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

use flowsieve_core::controller::{Audience, Gauges, HostEvent, Published};
use flowsieve_core::message::Bounds;
use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{FlowEvent, Kind, Message, Misuse, Node, Tag, TaggerSpec, Time};
use flowsieve_sim::control::{Control, Follow};
use flowsieve_sim::topology::Fabric;

use flowsieve_schemes::Scheme;
use flowsieve_schemes::feeds::{Fact, Written};

/// Sizes and offsets that are tried, in bytes: about four for each factor of ten, around which thresholds lie.
const STEPS: [u64; 20] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 80_000, 120_000, 200_000, 300_000, 500_000, 800_000,
    1_200_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000, 64_000_000,
];

/// Payload of a packet.
const PAYLOAD: u32 = 1_000;

/// Tables after which controllers are left alone.
const MOST_DECISIONS: usize = 8;

/// Finds what hosts write, by class of flow.
pub(crate) fn written(scheme: &Scheme, fabric: &Fabric) -> Vec<Option<Written>> {
    let tables = published(scheme, fabric);
    let class = |(number, class): (u8, &flowsieve_schemes::scheme::Class)| {
        if matches!(class.tagger, TaggerSpec::Custom(_)) {
            return None;
        }
        let tables =
            tables.iter().filter(|(of_class, _)| *of_class == number).map(|(_, table)| table.clone()).collect();
        Some(Trial { tagger: &class.tagger, tables }.written())
    };
    (0..).zip(&scheme.classes).map(class).collect()
}

/// A tagger that is tried.
struct Trial<'a> {
    tagger: &'a TaggerSpec,
    tables: Vec<Published>,
}

/// The fields that a changed fact has changed.
#[derive(Default)]
struct Found {
    priority: BTreeSet<Fact>,
    rank: BTreeSet<Fact>,
}

impl Found {
    fn compare(&mut self, fact: Fact, one: Tag, other: Tag) {
        if one.priority() != other.priority() {
            self.priority.insert(fact);
        }
        if one.rank() != other.rank() {
            self.rank.insert(fact);
        }
    }
}

impl Trial<'_> {
    /// Returns the tag of a packet by a tagger that has seen these packets before.
    fn tag(&self, earlier: &[FlowFacts], facts: &FlowFacts, tables: bool) -> Tag {
        // It is no custom tagger, so nothing asks for a site.
        let Some(mut tagger) = build(self.tagger) else { return Tag::default() };
        if tables {
            self.tables.iter().for_each(|table| tagger.on_table(table));
        }
        let mut seen = BTreeSet::new();
        let mut last = Tag::default();
        for facts in earlier.iter().chain([facts]) {
            if seen.insert(facts.message) {
                let (flow, message) = (facts.flow, message(facts));
                tagger.on_event(&FlowEvent::MessageStart { flow, message, idle: Time::NEVER }, facts.now);
            }
            last = tagger.tag(|| *facts);
        }
        last
    }

    fn written(&self) -> Written {
        let mut found = Found::default();
        for base in bases() {
            // A moment before: the message's first packet.
            let first = FlowFacts { offset: 0, now: base.now.since(Time::from_us(10)), ..base };
            for earlier in [&[][..], &[first]] {
                self.change_facts(&mut found, earlier, &base);
            }
            // Earlier packets of the message, and of another one of its coflow.
            let alone = self.tag(&[], &base, true);
            let long_before = FlowFacts { now: Time::ZERO, ..first };
            let other = FlowFacts { flow: 9, message: 9, ..first };
            for earlier in [first, long_before, other] {
                found.compare(Fact::Earlier, alone, self.tag(&[earlier], &base, true));
            }
        }
        Written { priority: found.priority.into_iter().collect(), rank: found.rank.into_iter().collect() }
    }

    /// Notes which facts change the tag of a packet behind these.
    fn change_facts(&self, found: &mut Found, earlier: &[FlowFacts], base: &FlowFacts) {
        let tag = |facts: &FlowFacts| self.tag(earlier, facts, true);
        let before = tag(base);
        for (fact, changed) in changes(base) {
            let after = tag(&changed);
            found.compare(fact, before, after);
            found.compare(Fact::Tables, after, self.tag(earlier, &changed, false));
        }
        // The last packet, unless a byte less makes the difference elsewhere, too.
        let mut length = Found::default();
        length.compare(Fact::Length, before, tag(&FlowFacts { payload: PAYLOAD - 1, ..*base }));
        let whole = FlowFacts { offset: base.size - u64::from(PAYLOAD), ..*base };
        let mut last = Found::default();
        last.compare(Fact::Last, tag(&whole), tag(&FlowFacts { payload: PAYLOAD - 1, ..whole }));
        if length.priority.is_empty() {
            found.priority.append(&mut last.priority);
        }
        if length.rank.is_empty() {
            found.rank.append(&mut last.rank);
        }
        found.priority.append(&mut length.priority);
        found.rank.append(&mut length.rank);
    }
}

fn build(tagger: &TaggerSpec) -> Option<flowsieve_core::Tagger> {
    match tagger {
        TaggerSpec::Custom(_) => None,
        built_in => Some(built_in.build(|| unreachable!("a built-in tagger has no site"))),
    }
}

fn message(facts: &FlowFacts) -> Message {
    Message {
        id: facts.message,
        to: 1,
        class: 0,
        bytes: facts.size,
        start: facts.start,
        deadline: facts.deadline,
        coflow: facts.coflow,
        predicted: facts.predicted,
        bounds: facts.bounds,
    }
}

/// The packets that are changed: of each size at each offset, with and without what only some messages have.
fn bases() -> impl Iterator<Item = FlowFacts> {
    let at = |size: u64| {
        // Never the last packet.
        let offsets = [0].into_iter().chain(STEPS).take_while(move |offset| offset + 2 * u64::from(PAYLOAD) <= size);
        offsets.flat_map(move |offset| {
            [false, true].map(|knows| FlowFacts {
                flow: 5,
                message: 5,
                coflow: knows.then_some(1),
                now: Time::from_us(700),
                start: Time::from_us(500),
                kind: Kind::Data,
                offset,
                payload: PAYLOAD,
                size,
                remaining: size - offset,
                deadline: knows.then_some(Time::from_us(1_500)),
                predicted: NonZeroU64::new(size).filter(|_| knows),
                bounds: NonZeroU64::new(size + size / 4)
                    .filter(|_| knows)
                    .map(|upper| Bounds { lower: size / 2, upper }),
                ..FlowFacts::default()
            })
        })
    };
    STEPS.into_iter().skip(2).step_by(3).flat_map(at)
}

/// The same packet with one fact changed, which makes it no last one.
fn changes(base: &FlowFacts) -> Vec<(Fact, FlowFacts)> {
    let base = *base;
    let room = base.size - 2 * u64::from(PAYLOAD);
    let mut changes = vec![
        (Fact::Before, FlowFacts { offset: room, ..base }),
        (Fact::Before, FlowFacts { offset: room / 2, ..base }),
        (Fact::Size, FlowFacts { size: 2 * base.size, ..base }),
        (Fact::Unacknowledged, FlowFacts { remaining: base.remaining / 2 + 1, ..base }),
        (Fact::Message, FlowFacts { message: 6, ..base }),
        (Fact::Flow, FlowFacts { flow: 6, ..base }),
        (Fact::Time, FlowFacts { now: Time::from_us(1_300), ..base }),
        (Fact::Time, FlowFacts { now: Time::from_us(1_600), ..base }),
        (Fact::Start, FlowFacts { start: Time::from_us(650), ..base }),
        (Fact::Retransmission, FlowFacts { retransmission: true, ..base }),
        (Fact::Timeouts, FlowFacts { timeouts: 3, ..base }),
    ];
    for deadline in [None, Some(900), Some(9_000)] {
        changes.push((Fact::Deadline, FlowFacts { deadline: deadline.map(Time::from_us), ..base }));
    }
    for coflow in [None, Some(0), Some(2), Some(3)] {
        changes.push((Fact::Coflow, FlowFacts { coflow, ..base }));
    }
    for predicted in [0, base.size / 3, 3 * base.size] {
        changes.push((Fact::PredictedSize, FlowFacts { predicted: NonZeroU64::new(predicted), ..base }));
    }
    for (lower, upper) in [(0, 0), (base.size / 8, base.size / 4), (2 * base.size, 3 * base.size)] {
        let bounds = NonZeroU64::new(upper).map(|upper| Bounds { lower, upper });
        changes.push((Fact::Bounds, FlowFacts { bounds, ..base }));
    }
    changes
}

/// Keeps the tables for hosts.
#[derive(Default)]
struct Tables(Vec<(u8, Published)>);

impl Gauges for Tables {
    fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(Reading)) {}

    fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
        0
    }

    fn sent(&mut self, _: u32, _: u8, see: &mut dyn FnMut(u32, u64)) {
        (0..8).for_each(|message| see(message, 1 << (2 * message + 10)));
    }

    fn tagger(&mut self, _: u32, _: u8, _: &mut dyn FnMut(Reading)) {}
}

impl Follow for Tables {
    fn hand_over(&mut self, to: Audience, published: &Published) {
        match to {
            Audience::Host { host: 0, class } | Audience::Hosts { class } => self.0.push((class, published.clone())),
            Audience::Host { .. } | Audience::Ports(_) => {}
        }
    }
}

/// Returns the tables that a scheme's controllers send to the first host, by class of flow, after it has finished some
/// hundred messages of all sizes while eight of four coflows are under way. Custom controllers are not tried.
fn published(scheme: &Scheme, fabric: &Fabric) -> Vec<(u8, Published)> {
    let custom = |spec: &flowsieve_core::ControllerSpec| matches!(spec.kind, flowsieve_core::ControllerKind::Custom(_));
    if scheme.controllers.iter().any(custom) {
        return Vec::new();
    }
    let Ok(Some(mut control)) = Control::new(fabric, &scheme.controllers, Misuse::default(), &Arc::default(), 1) else {
        return Vec::new();
    };
    let mut tables = Tables::default();
    let tell = |control: &mut Control, event| {
        let classes = 0..scheme.classes.len() as u8;
        control.hear(classes.map(|class| HostEvent { at: Time(1), host: 0, class, event }));
    };
    for id in 0..8 {
        let message = Message { id, to: 1, bytes: 1 << (2 * id + 10), coflow: Some(id / 2), ..Message::default() };
        tell(&mut control, FlowEvent::MessageStart { flow: id, message, idle: Time::NEVER });
    }
    for id in 8..408 {
        let message = Message { id, to: 1, bytes: 700 << (id % 16), ..Message::default() };
        tell(&mut control, FlowEvent::MessageStart { flow: id, message, idle: Time::NEVER });
        tell(&mut control, FlowEvent::MessageEnd { flow: id, message, effort: None });
    }
    for _ in 0..MOST_DECISIONS {
        let at = control.next();
        if at == Time::NEVER {
            break;
        }
        control.act(at, &mut tables);
    }
    tables.0
}
