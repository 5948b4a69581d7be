//! Routes of random fabrics, and the load of classes of links.

use proptest::prelude::*;

use super::*;

/// Follows every path from one host to another; returns the longest, in links. Panics if a path ends or loops.
fn follow(fabric: &Fabric, at: Node, dst: u32, left: usize) -> usize {
    match at {
        Node::Host(host) => {
            assert_eq!(host, dst, "a packet ends at the wrong host");
            0
        }
        Node::Switch(switch) => {
            assert!(left > 0, "a way comes round");
            let links = fabric.routes[switch as usize].towards(dst);
            assert!(!links.is_empty(), "a way ends at {}", fabric.name(at));
            assert!(links.is_sorted());
            let lengths: Vec<usize> = links
                .iter()
                .map(|link| {
                    assert_eq!(fabric.links[*link as usize].from, at);
                    1 + follow(fabric, fabric.links[*link as usize].to, dst, left - 1)
                })
                .collect();
            assert!(lengths.iter().all(|length| *length == lengths[0]), "ways of one group differ in length");
            lengths[0]
        }
    }
}

fn assert_every_pair_has_its_ways(fabric: &Fabric) {
    let mut ways = crate::Ways::new(fabric);
    for src in 0..fabric.hosts {
        for dst in (0..fabric.hosts).filter(|dst| *dst != src) {
            let first = fabric.links[fabric.host_uplink[src as usize] as usize];
            assert_eq!(first.from, Node::Host(src));
            let length = 1 + follow(fabric, first.to, dst, fabric.switches.len());
            let stages = fabric.path_links(src, dst);
            assert_eq!(stages.len(), length);
            assert!(ways.between(src, dst).eq(stages.iter().copied()));
            let round_trip: u64 = 2 * stages.iter().map(|stage| stage.delay.0).sum::<u64>();
            assert!(round_trip <= fabric.base_rtt().0, "{src} to {dst} is farther than the farthest");
        }
    }
}

/// Generates small fabrics of every shape.
fn any_shape() -> impl Strategy<Value = Settings> {
    let three_tier = (1..4i64, 1..4i64, 1..4i64, 1..4i64, 1..4i64).prop_map(|(pods, edges, aggs, cores, hosts)| {
        let counts = [("pods", pods), ("edges_per_pod", edges), ("aggs_per_pod", aggs), ("cores", cores)];
        shape("three-tier", &counts).with(None, "hosts_per_edge", hosts + 1)
    });
    prop_oneof![
        (2..20i64).prop_map(|hosts| shape("single-switch", &[("hosts", hosts)])),
        (1..6i64, 1..5i64, 2..5i64).prop_map(|(leaves, spines, hosts)| {
            shape("leaf-spine", &[("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts)])
        }),
        (1..3i64, 1..4i64).prop_map(|(half, hosts)| shape("fat-tree", &[("k", 2 * half), ("hosts_per_edge", hosts)])),
        three_tier,
    ]
}

proptest! {
    #[test]
    fn routes__reach_every_host_and_never_loop(settings in any_shape()) {
        assert_every_pair_has_its_ways(&Fabric::from_settings(&settings).unwrap());
    }

    #[test]
    fn routes__hold_when_links_fail(settings in any_shape(), seeds in prop::collection::vec(any::<prop::sample::Index>(), 1..6)) {
        let whole = Fabric::from_settings(&settings).unwrap();
        let mut failed = std::collections::BTreeSet::new();
        let between = whole.links.iter().filter(|link| matches!((link.from, link.to), (Node::Switch(a), Node::Switch(b)) if a < b));
        let between: Vec<&Link> = between.collect();
        prop_assume!(!between.is_empty());
        let settings = seeds.iter().fold(settings, |settings, seed| {
            let link = between[seed.index(between.len())];
            let names = [whole.name(link.from), whole.name(link.to)];
            if !failed.insert(names.clone()) {
                return settings;
            }
            with_link(settings, [&names[0], &names[1]], &[("failed", true.into())])
        });
        match Fabric::from_settings(&settings) {
            Ok(fabric) => {
                prop_assert_eq!(fabric.links.len() + 2 * failed.len(), whole.links.len());
                assert_every_pair_has_its_ways(&fabric);
            }
            Err(error) => prop_assert!(error.to_string().contains("has no path to"), "{}", error),
        }
    }

    #[test]
    fn routes__of_random_edge_lists(
        racks in prop::collection::vec(0..6u32, 2..8),
        links in prop::collection::btree_set((0..6u32, 0..6u32), 1..12),
        delays in prop::collection::vec(0..9u32, 20),
    ) {
        let mut delays = delays.iter().cycle();
        let mut text = String::new();
        for (host, rack) in racks.iter().enumerate() {
            text += &format!("host{host},s{rack},10Gbps,{}us\n", delays.next().unwrap());
        }
        for (a, b) in links.iter().filter(|(a, b)| a < b) {
            text += &format!("s{a},s{b},10Gbps,{}us\n", delays.next().unwrap());
        }
        let plan = super::super::custom::parse("f.csv", &text).unwrap();
        if let Ok(fabric) = Fabric::assemble("custom", &plan, Time::ZERO, false) {
            assert_every_pair_has_its_ways(&fabric);
            let farthest = (0..fabric.hosts).flat_map(|src| (0..fabric.hosts).map(move |dst| (src, dst)));
            let quickest = |(src, dst): (u32, u32)| {
                let first = fabric.links[fabric.host_uplink[src as usize] as usize];
                first.delay.0 + quickest_from(&fabric, first.to, dst)
            };
            let farthest = farthest.filter(|(src, dst)| src != dst).map(quickest).max();
            prop_assert_eq!(farthest, Some(fabric.base_rtt().0 / 2));
        }
    }

    #[test]
    fn class_shares__are_what_packets_cross(settings in any_shape()) {
        let fabric = Fabric::from_settings(&settings).unwrap();
        let mut crossed = vec![0.0; fabric.classes.len()];
        let mut listed = crossed.clone();
        for src in 0..fabric.hosts {
            for dst in (0..fabric.hosts).filter(|dst| *dst != src) {
                let first = fabric.links[fabric.host_uplink[src as usize] as usize];
                crossed[usize::from(first.class)] += 1.0;
                spread(&fabric, first.to, dst, 1.0, &mut crossed);
                for (link, share) in fabric.shares_on_ways(src, dst) {
                    listed[usize::from(fabric.links[link as usize].class)] += share;
                }
            }
        }
        let pairs = f64::from(fabric.hosts * (fabric.hosts - 1));
        for ((crossed, listed), share) in crossed.iter().zip(listed).zip(fabric.class_shares()) {
            prop_assert!((crossed / pairs - share.crossing).abs() < 1e-9, "{crossed} against {share:?}");
            prop_assert!((crossed - listed).abs() < 1e-9 * pairs, "{crossed} against {listed}");
        }
    }
}

/// Returns the least delay over the equal-cost paths from a node.
fn quickest_from(fabric: &Fabric, at: Node, dst: u32) -> u64 {
    let Node::Switch(switch) = at else { return 0 };
    let over = |link: &u32| {
        let link = fabric.links[*link as usize];
        link.delay.0 + quickest_from(fabric, link.to, dst)
    };
    fabric.routes[switch as usize].towards(dst).iter().map(over).min().unwrap()
}

/// Splits a packet evenly over the paths from a node.
fn spread(fabric: &Fabric, at: Node, dst: u32, share: f64, crossed: &mut [f64]) {
    let Node::Switch(switch) = at else { return };
    let links = fabric.routes[switch as usize].towards(dst);
    for link in links.iter().map(|link| fabric.links[*link as usize]) {
        let share = share / links.len() as f64;
        crossed[usize::from(link.class)] += share;
        spread(fabric, link.to, dst, share, crossed);
    }
}

#[test]
fn class_shares__of_the_reference_fabric() {
    let fabric = Fabric::from_settings(&Settings::default()).unwrap();
    let shares = fabric.class_shares();
    // 128 of the 143 other hosts are under another leaf.
    let crossing = [1.0, 128.0 / 143.0, 128.0 / 143.0, 1.0];
    for (share, crossing) in shares.iter().zip(crossing) {
        assert!((share.crossing - crossing).abs() < 1e-12, "{share:?}");
    }
    let totals: Vec<u64> = shares.iter().map(|share| share.rate_total_bps / 1_000_000_000).collect();
    assert_eq!(totals, [1440, 1440, 1440, 1440]);
}

#[test]
fn class_shares__of_a_fabric_of_1024_hosts() {
    let fabric = fabric("fat-tree", &[("k", 16)]);
    assert_eq!((fabric.hosts, fabric.switches.len(), fabric.links.len()), (1_024, 320, 6_144));
    let shares = fabric.class_shares();
    assert!((shares[1].crossing - 1_016.0 / 1_023.0).abs() < 1e-9);
    assert!((shares[2].crossing - 960.0 / 1_023.0).abs() < 1e-9);
}
