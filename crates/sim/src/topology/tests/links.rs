//! Delays, forwarding, and single links that differ.

use flowsieve_core::Site;

use super::*;

fn times(kind: &str, times: &[(&str, &str)]) -> Settings {
    times.iter().fold(shape(kind, &[]), |settings, (key, time)| settings.with(None, key, *time))
}

fn rtt_of(settings: &Settings) -> (u64, u64) {
    let fabric = Fabric::from_settings(settings).unwrap();
    (fabric.base_rtt().0, fabric.host_delay.0)
}

#[test]
fn rtt__gives_the_hosts_what_links_leave() {
    assert_eq!(rtt_of(&times("leaf-spine", &[("rtt", "85.2us")])), (85_200_000, 20_900_000));
    let settings = times("fat-tree", &[("rtt", "81.6us"), ("link_delay", "1us")]);
    assert_eq!(rtt_of(&settings), (81_600_000, 17_400_000));
    assert_eq!(settings.effective()["topology.host_delay"], "17.4us");
    assert_eq!(rtt_of(&times("single-link", &[("rtt", "4us"), ("link_delay", "2us")])), (4_000_000, 0));
    assert_eq!(rtt_of(&times("big-switch", &[("rtt", "81.6us")])), (81_600_000, 20_200_000));
}

#[test]
fn rtt__gives_links_what_given_hosts_leave() {
    let settings = times("leaf-spine", &[("rtt", "12us"), ("host_delay", "1us")]);
    assert_eq!(rtt_of(&settings), (12_000_000, 1_000_000));
    assert_eq!(settings.effective()["topology.link_delay"], "1us");
}

#[test]
fn rtt__is_noted_where_it_follows() {
    let settings = times("leaf-spine", &[]);
    Fabric::from_settings(&settings).unwrap();
    assert_eq!(settings.effective()["topology.rtt"], "81.6us");
    assert_eq!(
        rtt_of(&times("leaf-spine", &[("rtt", "81.6us"), ("link_delay", "200ns"), ("host_delay", "20us")])).0,
        81_600_000
    );
}

#[test]
fn rtt__refuses_what_cannot_be() {
    // The key at fault, and the number that would do.
    for (given, key, would_do) in [
        (&[("rtt", "100us"), ("link_delay", "200ns"), ("host_delay", "20us")][..], "rtt", "81.6us"),
        (&[("rtt", "1us")], "rtt", "1.6us"),
        (&[("rtt", "10us"), ("host_delay", "5us")], "rtt", "20us"),
        (&[("rtt", "10.000003us")], "rtt", "10us"),
        (&[("link_delay", "2s")], "link_delay", "1s"),
        (&[("host_delay", "2s")], "host_delay", "1s"),
        (&[("rtt", "5s")], "rtt", "4s"),
    ] {
        let error = Fabric::from_settings(&times("leaf-spine", given)).unwrap_err();
        assert_eq!(error.key(), Some(key), "{error}");
        assert!(error.expected.as_ref().is_some_and(|expected| expected.contains(would_do)), "{error}");
    }
}

#[test]
fn base_rtt__of_every_kind_is_the_given_one() {
    for kind in kinds().filter(|kind| *kind != FabricKind::Custom) {
        assert_eq!(rtt_of(&times(kind.name(), &[("rtt", "50us")])).0, 50_000_000, "{}", kind.name());
    }
    for counts in
        [[("pods", 1), ("edges_per_pod", 1)], [("pods", 1), ("edges_per_pod", 3)], [("pods", 2), ("edges_per_pod", 1)]]
    {
        assert_eq!(rtt_of(&shape("three-tier", &counts).with(None, "rtt", "50us")).0, 50_000_000, "{counts:?}");
    }
    assert_eq!(rtt_of(&shape("leaf-spine", &[("leaves", 1)]).with(None, "rtt", "50us")).0, 50_000_000);
}

#[test]
fn cut_through__only_where_no_link_out_is_faster() {
    let settings = shape("leaf-spine", &[]).with(None, "forwarding", "cut-through");
    let mixed = Fabric::from_settings(&settings).unwrap();
    let of = |from, to| link(&mixed, from, to).unwrap().cut_through;
    assert_eq!(
        [of("host0", "leaf0"), of("leaf0", "spine0"), of("spine0", "leaf0"), of("leaf0", "host0")],
        [false, true, true, false]
    );
    let equal = Fabric::from_settings(&settings.clone().with(None, "fabric_link", "10Gbps")).unwrap();
    let into_switches = |link: &Link| matches!(link.to, Node::Switch(_));
    assert!(equal.links.iter().all(|link| link.cut_through == into_switches(link)));
    let stored = Fabric::from_settings(&shape("leaf-spine", &[])).unwrap();
    assert!(stored.links.iter().all(|link| !link.cut_through));
}

#[test]
fn change__is_of_both_directions() {
    let keys = [("rate", "10Gbps".into()), ("delay", "5us".into()), ("loss", 0.01.into())];
    let settings = with_link(shape("leaf-spine", &[]), ["spine1", "leaf2"], &keys);
    let fabric = Fabric::from_settings(&settings).unwrap();
    for (from, to) in [("leaf2", "spine1"), ("spine1", "leaf2")] {
        let link = link(&fabric, from, to).unwrap();
        assert_eq!((link.rate.bps(), link.delay, link.loss), (10_000_000_000, Time(5_000_000), 0.01));
    }
    assert_eq!(link(&fabric, "leaf2", "spine0").unwrap().delay, Time(200_000));
    // The fastest path counts, and three of the four are unchanged.
    assert_eq!(fabric.base_rtt(), Time(81_600_000));
    let stage = fabric.path_links(32, 0)[1];
    assert_eq!((stage.rate.bps(), stage.delay, stage.links), (40_000_000_000, Time(200_000), 4));
    assert!(settings.unread().is_empty());
}

#[test]
fn change__of_a_hosts_link_keeps_the_hosts_delay() {
    let fabric =
        Fabric::from_settings(&with_link(shape("leaf-spine", &[]), ["host3", "leaf0"], &[("delay", "1us".into())]));
    let fabric = fabric.unwrap();
    assert_eq!(link(&fabric, "host3", "leaf0").unwrap().delay, Time(21_000_000));
    assert_eq!(fabric.base_rtt(), Time(81_600_000 + 2 * 800_000));
}

#[test]
fn failed__takes_a_way() {
    let settings = with_link(shape("leaf-spine", &[]), ["leaf0", "spine1"], &[("failed", true.into())]);
    let fabric = Fabric::from_settings(&settings).unwrap();
    assert_eq!(fabric.links.len(), 358);
    assert_eq!(link(&fabric, "leaf0", "spine1"), None);
    assert_eq!(by_class(&fabric)[1], ("leaf-up", 35));
    assert_eq!(fabric.routes[0].towards(143).len(), 3);
    // Other leaves no longer send packets for leaf 0 over spine 1.
    assert_eq!(fabric.routes[1].towards(0).len(), 3);
    assert_eq!(fabric.routes[1].towards(143).len(), 4);
    assert_eq!(fabric.switches[10].place, Place::Spine);
}

#[test]
fn failed__of_a_whole_spine_leaves_it_a_spine() {
    let settings = (0..9).fold(shape("leaf-spine", &[]), |settings, leaf| {
        with_link(settings, [&format!("leaf{leaf}"), "spine0"], &[("failed", true.into())])
    });
    let fabric = Fabric::from_settings(&settings).unwrap();
    assert_eq!((fabric.switches[9].name.as_str(), fabric.switches[9].place), ("spine0", Place::Spine));
    assert!(fabric.routes[9].towards(0).is_empty());
    assert_eq!(fabric.routes[9].next[0], Site::NOWHERE);
    assert_eq!(fabric.routes[0].towards(143).len(), 3);
}

#[test]
fn failed__refuses_a_fabric_in_two() {
    let small = || shape("leaf-spine", &[("leaves", 2), ("spines", 1), ("hosts_per_leaf", 2)]);
    let cut = with_link(small(), ["leaf1", "spine0"], &[("failed", true.into())]);
    let wrong = Fabric::from_settings(&cut).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "x.toml:1:1: host0 has no path to host2 without the failed links; expected failed links that leave a path \
         between all hosts"
    );
    let host = with_link(small(), ["host1", "leaf0"], &[("failed", true.into())]);
    assert!(refused(&host).contains("host1 has no path to host0"), "{}", refused(&host));
    let kept = with_link(small(), ["leaf1", "spine0"], &[("failed", false.into())]);
    assert_eq!(Fabric::from_settings(&kept).unwrap().changes, ["leaf1 - spine0: as its class"]);
}

#[test]
fn change__refuses_unknown_links() {
    let refused = |ends, keys: &[(&str, Raw)]| {
        Fabric::from_settings(&with_link(shape("leaf-spine", &[]), ends, keys)).unwrap_err()
    };
    let failed = [("failed", Raw::from(true))];
    let wrong = refused(["leaf0", "spin1"], &failed);
    assert!(wrong.to_string().starts_with("x.toml:1:1: the fabric has no `spin1`"), "{wrong}");
    assert!(wrong.wrong_name.unwrap().valid.contains(&"spine1".to_owned()));
    assert!(refused(["host144", "leaf0"], &failed).to_string().contains("no `host144`; expected host0 to host143"));
    assert!(refused(["host01", "leaf0"], &failed).to_string().contains("no `host01`"));
    assert_eq!(
        refused(["spine0", "spine1"], &failed).to_string(),
        "x.toml:1:1: there is no link between spine0 and spine1; expected one of the links of spine0: to leaf0, leaf1, \
         leaf2, leaf3, leaf4, leaf5 and 3 more"
    );
    assert!(refused(["leaf0", "spine0"], &[]).to_string().contains("changes nothing"));
    assert!(refused(["leaf0", "spine0"], &[("delay", "2s".into())]).to_string().contains("expected at most 1s"));
    let twice = with_link(shape("leaf-spine", &[]), ["leaf0", "spine0"], &failed);
    let twice = with_link(twice, ["spine0", "leaf0"], &failed);
    assert!(
        super::refused(&twice).starts_with("x.toml:2:1: the link between spine0 - leaf0 is changed twice"),
        "{}",
        super::refused(&twice)
    );
}

#[test]
fn change__needs_two_ends() {
    let mut settings = shape("leaf-spine", &[]);
    let origin = Origin::File { file: "x.toml".into(), line: 9, column: 1, span: 0..1 };
    let failed = settings.find("failed").unwrap();
    settings.give(Table::Link(0), failed, &true.into(), origin).unwrap();
    assert!(
        refused(&settings).starts_with("x.toml:9:1: `between` does not name the two ends"),
        "{}",
        refused(&settings)
    );
}
