use super::*;
use crate::declare;

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
}

fn none_given() -> Settings {
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
