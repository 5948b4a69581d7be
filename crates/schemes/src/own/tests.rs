use super::*;
use crate::bare::{Facts, none_given};
use crate::entry::Context;
use crate::registry;
use flowsieve_core::controller::{FabricSite, HostEvent};
use flowsieve_core::meta::Kind;
use flowsieve_core::site::{Racks, Site};
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Message, Node, Tagger};
use flowsieve_settings::Settings;

/// A program with one tagger, `by size`, and one controller, `halves`.
struct Halves;

impl ChooseLevel for Halves {
    fn choose(&mut self, start: &Start) -> Result<Level, String> {
        match start.size {
            None => Ok(Level::InForce),
            Some(0) => Err("no answer".to_owned()),
            Some(size) if size < 10 => Ok(Level::Priority(size)),
            Some(size) => Ok(Level::Thresholds(vec![size, size / 2])),
        }
    }
}

impl ChooseThresholds for Halves {
    fn choose(&mut self, sizes: &[u64], _: Time) -> Result<Option<Vec<u64>>, String> {
        Ok(sizes.last().map(|size| vec![size / 2, *size]))
    }
}

impl Program for Halves {
    fn tagger(&self, name: &str) -> Option<Make<dyn ChooseLevel>> {
        (name == "by size").then(|| Arc::new(|| Box::new(Halves) as Box<dyn ChooseLevel>) as Make<dyn ChooseLevel>)
    }

    fn controller(&self, name: &str) -> Option<Make<dyn ChooseThresholds>> {
        let make = || Box::new(Halves) as Box<dyn ChooseThresholds>;
        (name == "halves").then(|| Arc::new(make) as Make<dyn ChooseThresholds>)
    }

    fn costs(&self) -> Vec<Cost> {
        Vec::new()
    }
}

const UNIFORM: Facts = Facts::uniform(8_000, 0.8);

/// PIAS with these settings, and where its code notes a failure.
fn built(settings: &Settings) -> Result<(Scheme, Failure), SettingsError> {
    let context = Context { scope: settings.scheme("pias"), workload: &UNIFORM };
    let mut scheme = registry::find("pias").unwrap().scheme(&context)?;
    let failure = Failure::default();
    give(&mut scheme, &context.scope, Some(&Halves), &failure)?;
    Ok((scheme, failure))
}

fn given(values: &[(&str, &str)]) -> Settings {
    values.iter().fold(none_given(), |settings, (key, value)| settings.with(Some("pias"), key, *value))
}

fn tagger(scheme: &Scheme) -> Tagger {
    scheme.classes[0].tagger.build(site)
}

fn site() -> Site {
    Site {
        node: Node::Host(3),
        place: Place::Nic,
        ports: [].into(),
        port: None,
        groups: [].into(),
        next: [].into(),
        racks: Racks::new(vec![0]).into(),
        seed: 6,
    }
}

fn priority(tagger: &mut Tagger, message: u32, us: u64, offset: u64) -> u8 {
    let facts = FlowFacts { kind: Kind::Data, message, now: Time::from_us(us), offset, ..FlowFacts::default() };
    assert_eq!(u64::from(tagger.tag(|| facts).priority()), tagger.urgency(&facts));
    tagger.tag(|| facts).priority()
}

fn begin(tagger: &mut Tagger, id: u32, bytes: u64) {
    let message = Message { id, bytes, ..Message::default() };
    tagger.on_event(&FlowEvent::MessageStart { flow: 0, message, idle: Time::NEVER }, Time::ZERO);
}

#[test]
fn give__thresholds_by_time() {
    let later = given(&[("own_tagger", "by size")]).with(
        Some("pias"),
        "later_thresholds",
        &["10us 10B 20B 30B 40B 50B 60B 70B", "20us 1B 2B 3B 4B 5B 6B 7KB"][..],
    );
    let (scheme, _) = built(&later).unwrap();
    let mut tagger = tagger(&scheme);
    // First an equal split of uniform sizes, 1 KB each.
    assert_eq!([9, 10, 19, 20, 99].map(|us| priority(&mut tagger, 1, us, 35)), [0, 3, 3, 6, 6]);
    let control = FlowFacts { kind: Kind::Ack, now: Time::from_us(99), offset: 35, ..FlowFacts::default() };
    assert_eq!(tagger.tag(|| control).priority(), 0);
}

#[test]
fn give__a_choice_lasts_as_long_as_its_message() {
    let (scheme, failure) = built(&given(&[("own_tagger", "by size"), ("own_tagger_knows", "sizes")])).unwrap();
    let mut tagger = tagger(&scheme);
    begin(&mut tagger, 7, 5);
    begin(&mut tagger, 8, 6);
    assert_eq!([7, 8, 9].map(|message| priority(&mut tagger, message, 0, 2_500)), [5, 6, 2]);
    let message = Message { id: 7, ..Message::default() };
    tagger.on_event(&FlowEvent::MessageEnd { flow: 0, message, effort: None }, Time::ZERO);
    assert_eq!(priority(&mut tagger, 7, 0, 2_500), 2);
    assert_eq!(failure.problem(), None);
    begin(&mut tagger, 10, 8);
    assert_eq!(
        failure.problem(),
        Some("the tagger by size returned priority 8; expected 0 to 7, for 8 queues"),
        "not asked any more: {:?}",
        begin(&mut tagger, 11, 0),
    );
}

#[test]
fn give__sizes_are_told_if_the_scheme_says_so() {
    let (scheme, failure) = built(&given(&[("own_tagger", "by size")])).unwrap();
    let mut tagger = tagger(&scheme);
    begin(&mut tagger, 7, 5);
    assert_eq!((priority(&mut tagger, 7, 0, 2_500), failure.problem()), (2, None));
}

#[test]
fn give__the_controller_hears_sizes_and_all_hosts_follow() {
    let (scheme, failure) = built(&given(&[("own_controller", "halves"), ("controller_period", "1ms")])).unwrap();
    let mut controllers = scheme.controllers[0].kind.build(&FabricSite::default(), |_| site());
    let mut tagger = tagger(&scheme);
    for bytes in [7, 9_000] {
        let message = Message { bytes, ..Message::default() };
        let event = FlowEvent::MessageEnd { flow: 0, message, effort: None };
        controllers[0].on_event(Time::ZERO, &HostEvent { at: Time::ZERO, host: 0, class: 0, event });
    }
    assert_eq!(controllers[0].next(), Time::from_us(1_000));
    let mut tables = Vec::new();
    controllers[0].decide(Time::from_us(1_000), &mut NoGauges, &mut |_, table| tables.push(table));
    let table = tables.pop().unwrap();
    tagger.on_table(&flowsieve_core::controller::Published { version: 1, table });
    assert_eq!([4_500, 4_501, 9_001].map(|offset| priority(&mut tagger, 1, 2_000, offset)), [0, 1, 2]);
    controllers[0].decide(Time::from_us(2_000), &mut NoGauges, &mut |_, _| panic!("no sizes"));
    assert_eq!((failure.problem(), controllers[0].next()), (None, Time::from_us(3_000)));
}

#[test]
fn checked__thresholds_that_fit() {
    assert_eq!(checked(vec![5, 5, 6], 4), Ok(vec![5, 5, 6]));
    assert!(checked(vec![1, 2], 2).unwrap_err().contains("at most 1, for 2 queues"));
    assert!(checked(vec![2, 1], 3).unwrap_err().contains("fall from 2 to 1"));
    assert!(checked(vec![MOST_BYTES + 1], 2).unwrap_err().contains("10^15"));
}

#[test]
fn give__refuses_what_does_not_fit() {
    let refused = |settings: Settings| built(&settings).err().unwrap();
    assert_eq!(refused(given(&[("own_tagger", "nobody's")])).key(), Some("own_tagger"));
    assert_eq!(refused(given(&[("own_controller", "by size")])).key(), Some("own_controller"));
    assert_eq!(refused(given(&[("own_tagger_knows", "sizes")])).key(), Some("own_tagger_knows"));
    let both = given(&[("own_controller", "halves"), ("controller", "optimal")]);
    assert!(refused(both).to_string().contains("has no effect on `pias`"));
    for later in ["10ms", "10ms 20KB", "0ms 1B 2B 3B 4B 5B 6B 7B", "10ms 1B 2B 3B 4B 5B 6B 6B", "x", "1ms 1e30GB"] {
        let settings = none_given().with(Some("pias"), "later_thresholds", &[later][..]);
        assert_eq!(refused(settings).key(), Some("later_thresholds"), "{later}");
    }
}

struct NoGauges;

impl flowsieve_core::controller::Gauges for NoGauges {
    fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(flowsieve_core::readings::Reading)) {}

    fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
        0
    }

    fn sent(&mut self, _: u32, _: u8, _: &mut dyn FnMut(u32, u64)) {}

    fn tagger(&mut self, _: u32, _: u8, _: &mut dyn FnMut(flowsieve_core::readings::Reading)) {}
}
