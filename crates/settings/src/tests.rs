use super::*;
use crate::declare;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Red,
    Blue,
}

declare! {
    static QUEUES: Setting<u64> = Setting::count(Section::Network, "queues", 1, 64, "queues of a port");
    static BUFFER: Setting<u64> = Setting::size(Section::Network, "buffer", 0, 1_000_000_000, "buffer of a port");
    static COLOUR: Setting<Colour> = Setting::choice(
        Section::Network, "colour", &[("red", Colour::Red), ("blue", Colour::Blue)], "what a port looks like",
    )
    .with_default(Colour::Blue);
    static RTT: Setting<u64> = Setting::time(Section::Topology, "rtt", 0, MAX_TIME_PS, "base round trip");
    static BETWEEN: Setting<Vec<String>> = Setting::texts(Section::Link, "between", "its ends");
    static FAILED: Setting<bool> = Setting::flag(Section::Link, "failed", "whether it is out").with_default(false);
    static LOSS: Setting<f64> = Setting::number(Section::Link, "loss", 0.0, 0.999, "probability of a loss");
    static BOUNDS: Setting<SizesOr<Colour>> = Setting::sizes_or(
        Section::Scheme, "bounds", &[("red", SizesOr::Named(Colour::Red))], "bounds between queues",
    );
    static SET: Setting<&'static str> = Setting::choice(
        Section::Run, "set", &[("small", "small"), ("large", "large")], "where defaults come from",
    )
    .with_default("small")
    .selects(selected);
    static WORD: Setting<bool> = Setting::flag(Section::Scheme, "word", "what a scheme is").with_default(false).silent();
}

/// Two queues, or eight.
fn selected(name: Option<&str>) -> Option<(&'static str, &'static Layer)> {
    static SETS: LazyLock<[(&str, Layer); 2]> = LazyLock::new(|| {
        [("small", 2), ("large", 8)].map(|(name, queues)| (name, layer(&[(None, "queues", Raw::Integer(queues))])))
    });
    SETS.iter().find(|(known, _)| *known == name.unwrap_or("small")).map(|(name, layer)| (*name, layer))
}

fn layer(values: &[(Option<Place>, &str, Raw)]) -> Layer {
    let mut layer = Layer::default();
    for (place, name, raw) in values {
        layer.put(*place, name, raw.clone(), Origin::Default);
    }
    layer
}

fn none_given() -> Settings {
    Settings::of(SETTINGS.iter().copied().chain([MTU.key()]).filter(|key| key.selects.is_none()))
}

/// The same, with sets of values that one setting selects.
fn of_sets() -> Settings {
    Settings::of(SETTINGS.iter().copied().chain([MTU.key()]))
}

fn file_origin(line: u32) -> Origin {
    Origin::File { file: "x.toml".into(), line, column: 5, span: 0..1 }
}

fn give(settings: &mut Settings, table: Table, key: &'static Key, raw: impl Into<Raw>, line: u32) {
    settings.give(table, key, &raw.into(), file_origin(line)).unwrap();
}

#[test]
fn lookup__most_special_wins() {
    let mut settings = none_given();
    let network = || Table::Section(Section::Network);
    give(&mut settings, network(), &QUEUES, 2, 1);
    give(&mut settings, Table::NetworkAt(Place::Leaf), &QUEUES, 3, 2);
    give(&mut settings, Table::Scheme("pias".into()), &QUEUES, 4, 3);
    give(&mut settings, Table::SchemeAt("pias".into(), Place::Spine), &QUEUES, 5, 4);
    let read = |scope: Scope<'_>| scope.read_or(&QUEUES, 8).unwrap();
    assert_eq!(read(settings.scheme("dctcp")), 2);
    assert_eq!(read(settings.scheme("dctcp").at(Place::Leaf)), 3);
    assert_eq!(read(settings.scheme("pias")), 4);
    assert_eq!(read(settings.scheme("pias").at(Place::Leaf)), 4);
    assert_eq!(read(settings.scheme("pias").at(Place::Spine)), 5);
    assert_eq!(read(none_given().scheme("pias")), 8);
}

#[test]
fn unread__names_what_nobody_read() {
    let mut settings = none_given();
    give(&mut settings, Table::Section(Section::Network), &QUEUES, 2, 1);
    give(&mut settings, Table::Section(Section::Network), &BUFFER, "360KB", 2);
    settings.scheme("pias").read_or(&QUEUES, 8).unwrap();
    let unread = settings.unread();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].0, (Table::Section(Section::Network), "buffer"));
    assert_eq!(unread[0].1, file_origin(2));
}

#[test]
fn effective__one_text_for_one_value() {
    let pkt = none_given().with(None, "buffer", "65pkt");
    let bytes = none_given().with(None, "buffer", "97.5KB");
    let default = none_given();
    for settings in [&pkt, &bytes, &default] {
        let scope = settings.scheme("pias").at(Place::Leaf);
        assert_eq!(scope.read_or(&BUFFER, 97_500), Ok(97_500));
        let record = settings.effective();
        assert_eq!(record["scheme.leaf.buffer"], "97.5KB");
    }
}

#[test]
fn bytes__packets_are_of_the_scopes_mtu() {
    let settings = none_given().with(None, "buffer", "2pkt").with(Some("jumbo"), "mtu", "9000B");
    assert_eq!(settings.scheme("jumbo").read_or(&BUFFER, 0), Ok(18_000));
    assert_eq!(settings.scheme("pias").read_or(&BUFFER, 0), Ok(3_000));
    let odd = none_given().with(None, "buffer", "0.001pkt");
    assert!(odd.common().read_or(&BUFFER, 0).is_err());
    let itself = none_given().with(None, "mtu", "2pkt");
    assert!(itself.common().read(&MTU).is_err());
    let huge = none_given().with(None, "buffer", "9999999999pkt");
    assert!(huge.common().read_or(&BUFFER, 0).is_err());
}

#[test]
fn invalid__points_at_the_key() {
    let mut settings = none_given();
    give(&mut settings, Table::Scheme("pias".into()), &QUEUES, 3, 7);
    let scope = settings.scheme("pias").at(Place::Leaf);
    assert_eq!(
        scope.invalid(&QUEUES, "a power of two").to_string(),
        "x.toml:7:5: `queues` = 3 does not fit here; expected a power of two"
    );
    scope.read_or(&BUFFER, 1_000).unwrap();
    assert_eq!(
        scope.invalid(&BUFFER, "more").to_string(),
        "default: `buffer` is not given, and its default 1KB does not fit here; expected more"
    );
    assert_eq!(scope.invalid(&RTT, "a time").to_string(), "default: `rtt` is missing; expected a time");
}

#[test]
fn read__without_a_default_is_an_error() {
    let error = none_given().common().read(&QUEUES).unwrap_err();
    assert_eq!(error.to_string(), "default: `queues` is missing; expected a whole number, 1 to 64");
    assert_eq!(none_given().common().optional(&QUEUES), Ok(None));
}

#[test]
fn choice__parsing_help_and_value_from_one_list() {
    let given = none_given().with(None, "colour", "red");
    assert_eq!(given.common().read(&COLOUR), Ok(Colour::Red));
    assert_eq!(given.effective()["network.colour"], "red");
    let default = none_given();
    assert_eq!(default.common().read(&COLOUR), Ok(Colour::Blue));
    assert_eq!(default.common().read_or(&COLOUR, Colour::Red), Ok(Colour::Red));
    assert_eq!(default.effective()["network.colour"], "red", "the last reader's");
    let table = Table::Section(Section::Network);
    let error = none_given().give(table, &COLOUR, &Raw::from("green"), file_origin(1)).unwrap_err();
    assert_eq!(error.to_string(), "x.toml:1:5: `colour` cannot be \"green\"; expected \"red\" or \"blue\"");
    assert_eq!(error.wrong_name.unwrap().valid, ["red", "blue"]);
}

#[test]
fn sizes_or__lists_and_names() {
    let sizes: &[&str] = &["20KB", "2pkt"];
    let settings = none_given().with(Some("a"), "bounds", sizes).with(Some("b"), "bounds", "red");
    assert_eq!(settings.scheme("a").optional(&BOUNDS), Ok(Some(SizesOr::Sizes(vec![20_000, 3_000]))));
    assert_eq!(settings.effective()["scheme.bounds"], "[20KB, 3KB]");
    assert_eq!(settings.scheme("b").optional(&BOUNDS), Ok(Some(SizesOr::Named(Colour::Red))));
    assert_eq!(settings.scheme("c").optional(&BOUNDS), Ok(None));
    assert_eq!(settings.scheme("c").read_or(&BOUNDS, SizesOr::Named(Colour::Red)), Ok(SizesOr::Named(Colour::Red)));
    assert_eq!(settings.effective()["scheme.bounds"], "red");
}

/// Settings of a program that has no file.
#[test]
fn with__what_cannot_be_set_is_an_error_of_every_read() {
    let refused = |settings: &Settings| settings.scheme("a").optional(&COLOUR).unwrap_err();
    let unknown = none_given().with(None, "color", "red").with(None, "queues", 0);
    assert_eq!(refused(&unknown).to_string(), "default: there is no setting `color`");
    assert!(refused(&unknown).wrong_name.unwrap().valid.contains(&"colour".to_owned()));
    assert_eq!(unknown.clone().common().read(&QUEUES).unwrap_err(), refused(&unknown));
    let misfit = none_given().with(Some("a"), "queues", "many".to_owned());
    assert_eq!(refused(&misfit).key(), Some("queues"));
    let listed = none_given().with(None, "bounds", ["1KB", "2KB"].into_iter().collect::<Raw>());
    assert_eq!(listed.scheme("a").optional(&BOUNDS), Ok(Some(SizesOr::Sizes(vec![1_000, 2_000]))));
}

#[test]
fn replace__refuses_a_value_of_another_kind() {
    let mut settings = none_given();
    let replace = |settings: &mut Settings, value| {
        settings.replace(Table::Section(Section::Network), &QUEUES, value, file_origin(1))
    };
    assert_eq!(replace(&mut settings, Value::Count(3)), Ok(()));
    let refused = replace(&mut settings, Value::Flag(true)).unwrap_err();
    assert_eq!(refused.to_string(), "x.toml:1:5: `queues` cannot be true; expected a whole number, 1 to 64");
    assert_eq!(settings.common().read(&QUEUES), Ok(3));
}

#[test]
fn links__are_scopes_of_their_own() {
    let mut settings = none_given();
    let ends: &[&str] = &["leaf0", "spine1"];
    give(&mut settings, Table::Link(0), &FAILED, true, 1);
    give(&mut settings, Table::Link(1), &BETWEEN, ends, 2);
    give(&mut settings, Table::Link(1), &LOSS, 0.01, 3);
    let links = settings.links();
    assert_eq!(links.len(), 2);
    assert_eq!(links[0].read(&FAILED), Ok(true));
    assert_eq!(links[1].read(&FAILED), Ok(false));
    assert_eq!(links[1].optional(&LOSS), Ok(Some(0.01)));
    assert_eq!(settings.effective()["topology.link.1.loss"], "0.01");
}

#[test]
fn lookup__given_before_the_schemes_own_before_the_sets() {
    let own = layer(&[(None, "queues", Raw::Integer(4)), (Some(Place::Nic), "queues", Raw::Integer(6))]);
    let own = Arc::new(own);
    let read = |settings: &Settings, place: Place| {
        settings.scheme("pias").with_own(Arc::clone(&own)).at(place).read_or(&QUEUES, 1).unwrap()
    };
    let settings = of_sets();
    assert_eq!((read(&settings, Place::Nic), read(&settings, Place::Leaf)), (6, 4));
    assert!(!settings.effective().contains_key("run.set"), "nothing of the set was read");
    assert_eq!(settings.scheme("other").read_or(&QUEUES, 1), Ok(2));
    assert_eq!(settings.effective()["run.set"], "small");
    let large = of_sets().with(None, "set", "large");
    assert_eq!(large.common().read_or(&QUEUES, 1), Ok(8));
    assert!(large.unread().is_empty(), "what selects the value has been read");
    // What is given for all places comes before the scheme's own for one.
    let given = of_sets().with(None, "queues", 3);
    assert_eq!((read(&given, Place::Nic), read(&given, Place::Leaf)), (3, 3));
}

#[test]
fn usual__is_what_holds_if_nothing_is_given() {
    let given = of_sets().with(None, "queues", 3);
    let scope = given.scheme("pias").with_own(Arc::new(layer(&[(None, "queues", Raw::Integer(4))])));
    assert_eq!((scope.usual(&QUEUES), given.common().usual(&QUEUES)), (Ok(Some(4)), Ok(Some(2))));
    assert_eq!(scope.given_or(&QUEUES, 7), Ok(3));
    let settings = of_sets();
    let scope = settings.scheme("pias").with_own(Arc::new(layer(&[(None, "queues", Raw::Integer(4))])));
    assert_eq!(scope.given_or(&QUEUES, 7), Ok(7), "the reader's default, and not the scheme's");
    assert!(scope.is_given_or_own(&QUEUES) && !scope.is_given(&QUEUES));
    assert!(scope.usual(&QUEUES).is_ok() && settings.has_read_own("queues", None));
}

#[test]
fn layer__a_nearer_value_for_all_places_hides_farther_ones_for_one() {
    let farther = layer(&[(None, "queues", Raw::Integer(2)), (Some(Place::Nic), "queues", Raw::Integer(8))]);
    let at = |of: &Layer, place| of.at(Some(place), "queues").map(|(_, raw, _)| raw.clone());
    let nearer = farther.clone().under(&layer(&[(None, "queues", Raw::Integer(4))]));
    assert_eq!(
        [Place::Nic, Place::Leaf].map(|place| at(&nearer, place)),
        [Some(Raw::Integer(4)), Some(Raw::Integer(4))]
    );
    let nearer = farther.under(&layer(&[(Some(Place::Leaf), "queues", Raw::Integer(4))]));
    assert_eq!(
        [Place::Nic, Place::Leaf].map(|place| at(&nearer, place)),
        [Some(Raw::Integer(8)), Some(Raw::Integer(4))]
    );
}

#[test]
fn fixed__is_refused_where_it_is_given_and_part_of_no_configuration() {
    let mut own = layer(&[(None, "colour", Raw::from("red"))]);
    own.fix("colour");
    let own = Arc::new(own);
    let settings = none_given();
    assert_eq!(settings.scheme("pias").with_own(Arc::clone(&own)).read(&COLOUR), Ok(Colour::Red));
    assert!(settings.effective().is_empty());
    let given = none_given().with(None, "colour", "blue");
    let error = given.scheme("pias").with_own(own).read(&COLOUR).unwrap_err().to_string();
    assert!(error.contains("no `colour` for `pias`, of which it is a fixed part"), "{error}");
}

#[test]
fn silent__is_part_of_the_configuration_if_a_user_says_it() {
    let effective = |settings: &Settings, origin: Origin| {
        let mut own = Layer::default();
        own.put(None, "word", Raw::Flag(true), origin);
        assert_eq!(settings.scheme("pias").with_own(Arc::new(own)).read(&WORD), Ok(true));
        settings.effective().contains_key("scheme.word")
    };
    assert!(!effective(&none_given(), Origin::Default), "a built-in scheme's name says it");
    assert!(effective(&none_given(), file_origin(1)), "a user's file");
    assert!(effective(&none_given().with(Some("pias"), "word", true), Origin::Default), "given");
}
