use super::*;

fn file_origin(line: u32) -> Origin {
    Origin::File { file: "x.toml".into(), line, column: 5, span: 0..1 }
}

fn give(settings: &mut Settings, table: Table, name: &str, raw: impl Into<Raw>, line: u32) {
    let key = find(name).unwrap();
    settings.give(table, key, &raw.into(), file_origin(line)).unwrap();
}

#[test]
fn keys__are_unique_and_helped() {
    let names: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    for key in KEYS {
        assert!(!key.help.is_empty() && !key.help.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn lookup__most_special_wins() {
    let mut settings = Settings::default();
    let network = || Table::Section(Section::Network);
    give(&mut settings, network(), "queues", 2, 1);
    give(&mut settings, Table::NetworkAt(Place::Leaf), "queues", 3, 2);
    give(&mut settings, Table::Scheme("pias".into()), "queues", 4, 3);
    give(&mut settings, Table::SchemeAt("pias".into(), Place::Spine), "queues", 5, 4);
    let read = |scope: Scope<'_>| scope.count("queues", 8).unwrap();
    assert_eq!(read(settings.scheme("dctcp")), 2);
    assert_eq!(read(settings.scheme("dctcp").at(Place::Leaf)), 3);
    assert_eq!(read(settings.scheme("pias")), 4);
    assert_eq!(read(settings.scheme("pias").at(Place::Leaf)), 4);
    assert_eq!(read(settings.scheme("pias").at(Place::Spine)), 5);
    assert_eq!(read(Settings::default().scheme("pias")), 8);
}

#[test]
fn unread__names_what_nobody_read() {
    let mut settings = Settings::default();
    give(&mut settings, Table::Section(Section::Network), "queues", 2, 1);
    give(&mut settings, Table::Section(Section::Network), "buffer", "360KB", 2);
    settings.scheme("pias").count("queues", 8).unwrap();
    let unread = settings.unread();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].0, (Table::Section(Section::Network), "buffer"));
    assert_eq!(unread[0].1, file_origin(2));
}

#[test]
fn effective__one_text_for_one_value() {
    let pkt = Settings::default().with(None, "ecn_threshold", "65pkt");
    let bytes = Settings::default().with(None, "ecn_threshold", "97.5KB");
    let default = Settings::default();
    for settings in [&pkt, &bytes, &default] {
        let scope = settings.scheme("pias").at(Place::Leaf);
        assert_eq!(scope.bytes("ecn_threshold", 97_500), Ok(97_500));
        let record = settings.effective();
        assert_eq!(record["scheme.leaf.ecn_threshold"], "97.5KB");
    }
}

#[test]
fn bytes__packets_are_of_the_scopes_mtu() {
    let settings = Settings::default().with(None, "ecn_threshold", "2pkt").with(Some("jumbo"), "mtu", "9000B");
    assert_eq!(settings.scheme("jumbo").bytes("ecn_threshold", 0), Ok(18_000));
    assert_eq!(settings.scheme("pias").bytes("ecn_threshold", 0), Ok(3_000));
    let odd = Settings::default().with(None, "buffer", "0.001pkt");
    assert!(odd.common().bytes("buffer", 0).is_err());
    let itself = Settings::default().with(None, "mtu", "2pkt");
    assert!(itself.common().bytes("mtu", 1500).is_err());
    let huge = Settings::default().with(None, "buffer", "9999999999pkt");
    assert!(huge.common().bytes("buffer", 0).is_err());
}

#[test]
fn invalid__points_at_the_key() {
    let mut settings = Settings::default();
    give(&mut settings, Table::Scheme("pias".into()), "queues", 3, 7);
    let scope = settings.scheme("pias").at(Place::Leaf);
    assert_eq!(
        scope.invalid("queues", "a power of two").to_string(),
        "x.toml:7:5: `queues` = 3 does not fit here; expected a power of two"
    );
    scope.bytes("buffer", 1_000).unwrap();
    assert_eq!(
        scope.invalid("buffer", "more").to_string(),
        "default: `buffer` is not given, and its default 1KB does not fit here; expected more"
    );
    assert_eq!(scope.invalid("rtt", "a time").to_string(), "default: `rtt` is missing; expected a time");
}

#[test]
fn choice__refuses_what_the_reader_lacks() {
    let settings = Settings::default().with(None, "marking", "red");
    let error = settings.common().choice("marking", &[("none", 0), ("per-port", 1)], "none").unwrap_err();
    assert_eq!(error.wrong_name.as_ref().unwrap().valid, ["none", "per-port"]);
    assert_eq!(error.expected.as_deref(), Some("\"none\" or \"per-port\""));
}

#[test]
fn sizes_or_name__lists_and_names() {
    let sizes: &[&str] = &["20KB", "2pkt"];
    let settings =
        Settings::default().with(Some("a"), "thresholds", sizes).with(Some("b"), "thresholds", "equal-split");
    assert_eq!(settings.scheme("a").bytes_list("thresholds"), Ok(Some(vec![20_000, 3_000])));
    assert_eq!(settings.effective()["scheme.thresholds"], "[20KB, 3KB]");
    assert_eq!(settings.scheme("b").sizes_or_name("thresholds"), Ok(Some(SizesOrName::Name("equal-split".into()))));
    assert!(settings.scheme("b").bytes_list("thresholds").is_err());
    assert_eq!(settings.scheme("c").bytes_list("thresholds"), Ok(None));
}

#[test]
fn links__are_scopes_of_their_own() {
    let mut settings = Settings::default();
    let ends: &[&str] = &["leaf0", "spine1"];
    give(&mut settings, Table::Link(0), "failed", true, 1);
    give(&mut settings, Table::Link(1), "between", ends, 2);
    give(&mut settings, Table::Link(1), "loss", 0.01, 3);
    let links = settings.links();
    assert_eq!(links.len(), 2);
    assert_eq!(links[0].flag("failed", false), Ok(true));
    assert_eq!(links[1].flag("failed", false), Ok(false));
    assert_eq!(links[1].number("loss", 0.0), Ok(0.01));
    assert_eq!(settings.effective()["topology.link.1.loss"], "0.01");
}
