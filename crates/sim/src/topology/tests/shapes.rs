use super::super::Reach;
use super::*;

/// Counts the links that a packet crosses from host 0 to each of these hosts.
fn hops(fabric: &Fabric, to: &[u32]) -> Vec<usize> {
    to.iter().map(|host| fabric.path_links(0, *host).len()).collect()
}

#[test]
fn leaf_spine__reference_fabric() {
    let fabric = Fabric::from_settings(&Settings::default()).unwrap();
    assert_eq!((fabric.kind, fabric.hosts, fabric.switches.len(), fabric.links.len()), ("leaf-spine", 144, 13, 360));
    assert_eq!(by_class(&fabric), [("host-up", 144), ("leaf-up", 36), ("spine-down", 36), ("host-down", 144)]);
    assert_eq!(hops(&fabric, &[1, 15, 16, 143]), [2, 2, 4, 4]);
    assert_eq!(fabric.base_rtt(), Time(81_600_000));
    assert_eq!(fabric.partitions, 13);
    assert_eq!((fabric.host_partition[15], fabric.host_partition[16]), (0, 1));
}

#[test]
fn leaf_spine__path_has_its_stages() {
    let fabric = Fabric::from_settings(&Settings::default()).unwrap();
    let stages = fabric.path_links(0, 143);
    let seen: Vec<_> = stages.iter().map(|s| (s.rate.bps() / 1_000_000_000, s.delay.0, s.links)).collect();
    assert_eq!(seen, [(10, 20_200_000, 1), (40, 200_000, 4), (40, 200_000, 4), (10, 20_200_000, 1)]);
}

#[test]
fn leaf_spine__links_are_numbered_as_documented() {
    let fabric = fabric("leaf-spine", &[("leaves", 2), ("spines", 2), ("hosts_per_leaf", 2)]);
    let ends: Vec<String> =
        fabric.links.iter().map(|link| format!("{}>{}", fabric.name(link.from), fabric.name(link.to))).collect();
    let expected = "host0>leaf0 host1>leaf0 host2>leaf1 host3>leaf1 leaf0>host0 leaf0>host1 leaf1>host2 leaf1>host3 \
        leaf0>spine0 spine0>leaf0 leaf0>spine1 spine1>leaf0 leaf1>spine0 spine0>leaf1 leaf1>spine1 spine1>leaf1";
    assert_eq!(ends.join(" "), expected);
    assert_eq!(fabric.host_uplink, [0, 1, 2, 3]);
    assert_eq!(fabric.ports, [vec![4, 5, 8, 10], vec![6, 7, 12, 14], vec![9, 13], vec![11, 15]]);
    let leaf0 = &fabric.routes[0];
    assert_eq!([0, 1, 2, 3].map(|host| leaf0.towards(host)), [&[4][..], &[5], &[8, 10], &[8, 10]]);
    assert_eq!(leaf0.groups.len(), 3, "hosts of one leaf share a group");
}

/// Racks of 2, 1 and 3 hosts.
#[test]
fn leaf_spine__leaves_differ() {
    let uneven = |leaves: Option<i64>, hosts: &[u64]| {
        let counts: &[(&str, i64)] = &[("spines", 2)];
        let settings = shape("leaf-spine", counts).with(None, "hosts_per_leaf", hosts.to_vec());
        leaves.into_iter().fold(settings, |settings, leaves| settings.with(None, "leaves", leaves))
    };
    let fabric = Fabric::from_settings(&uneven(Some(3), &[2, 1, 3])).unwrap();
    assert_eq!((fabric.hosts, fabric.switches.len(), fabric.links.len()), (6, 5, 24));
    assert_eq!(fabric.host_partition, [0, 0, 1, 2, 2, 2]);
    assert_eq!(hops(&fabric, &[1, 2, 5]), [2, 4, 4]);
    // Of 30 pairs of hosts 8 are in one rack; the other 22 packets go up once.
    let up = fabric.class_shares()[1];
    assert_eq!((up.links, (30.0 * up.crossing).round()), (6, 22.0));
    assert!(fabric.draw().contains("2 hosts          1 host          3 hosts"), "{}", fabric.draw());
    // Equal leaves are the same fabric, however they are written; the list says how many there are.
    let equal = shape("leaf-spine", &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 4)]);
    let listed = uneven(None, &[4, 4, 4]);
    assert_eq!(Fabric::from_settings(&listed).unwrap(), Fabric::from_settings(&equal).unwrap());
    assert_eq!(listed.effective()["topology.hosts_per_leaf"], "[4, 4, 4]");
    assert_eq!(equal.effective()["topology.hosts_per_leaf"], "4");

    assert_eq!(
        refused(&uneven(Some(9), &[24, 24, 16])),
        "default: `hosts_per_leaf` has 3 numbers for 9 leaves; expected one number for all leaves, or one for each \
         of 1 to 4096"
    );
    assert!(refused(&uneven(None, &[])).contains("has 0 numbers"), "{}", refused(&uneven(None, &[])));
    assert!(refused(&uneven(Some(2), &[3, 0])).contains("out of range"));
    assert!(refused(&uneven(Some(2), &[3, 4_097])).contains("out of range"));
    assert!(refused(&uneven(None, &[4_096; 16])).contains("65536 hosts; expected at most 65535"));
    assert!(refused(&uneven(None, &[1])).contains("a single host"));
}

#[test]
fn fat_tree__textbook_k4() {
    let fabric = fabric("fat-tree", &[("k", 4)]);
    assert_eq!((fabric.hosts, fabric.switches.len()), (16, 20));
    let places = [Place::Leaf, Place::Spine, Place::Core]
        .map(|place| fabric.switches.iter().filter(|switch| switch.place == place).count());
    assert_eq!(places, [8, 8, 4]);
    assert!(fabric.ports.iter().all(|ports| ports.len() == 4), "k ports a switch");
    assert_eq!(hops(&fabric, &[1, 2, 3, 4, 15]), [2, 4, 4, 6, 6]);
    let ways: Vec<u32> = fabric.path_links(0, 15).iter().map(|stage| stage.links).collect();
    assert_eq!(ways, [1, 2, 4, 4, 2, 1]);
    assert_eq!(fabric.base_rtt(), Time(2 * 6 * 200_000 + 4 * 20_000_000));
}

#[test]
fn fat_tree__cores_reach_each_pod_once() {
    let fabric = fabric("fat-tree", &[("k", 6)]);
    for core in fabric.switches.iter().filter(|switch| switch.place == Place::Core) {
        let ports = &fabric.ports[core.partition as usize];
        let mut pods: Vec<u32> = ports
            .iter()
            .map(|port| match fabric.links[*port as usize].to {
                Node::Switch(agg) => (agg - 18) / 3,
                Node::Host(_) => panic!("a core with a host"),
            })
            .collect();
        pods.sort_unstable();
        assert_eq!(pods, [0, 1, 2, 3, 4, 5], "{}", core.name);
    }
}

#[test]
fn fat_tree__more_hosts_than_ports_up() {
    let fabric = fabric("fat-tree", &[("k", 4), ("hosts_per_edge", 6)]);
    assert_eq!(fabric.hosts, 48);
    assert_eq!(by_class(&fabric)[0], ("host-up", 48));
    assert_eq!(by_class(&fabric)[1], ("leaf-up", 16));
    assert_eq!(hops(&fabric, &[5, 6, 12]), [2, 4, 6]);
}

#[test]
fn three_tier__links_every_agg_to_every_core() {
    let counts = [("pods", 3), ("edges_per_pod", 2), ("aggs_per_pod", 2), ("cores", 5), ("hosts_per_edge", 4)];
    let fabric = fabric("three-tier", &counts);
    assert_eq!((fabric.hosts, fabric.switches.len()), (24, 6 + 6 + 5));
    let classes =
        [("host-up", 24), ("leaf-up", 12), ("spine-up", 30), ("core-down", 30), ("spine-down", 12), ("host-down", 24)];
    assert_eq!(by_class(&fabric), classes);
    assert_eq!(hops(&fabric, &[3, 4, 8]), [2, 4, 6]);
}

#[test]
fn one_switch__is_one_partition() {
    for kind in ["single-switch", "big-switch"] {
        let fabric = fabric(kind, &[("hosts", 40)]);
        assert_eq!((fabric.hosts, fabric.partitions, fabric.switches[0].place), (40, 1, Place::Leaf));
        assert_eq!(by_class(&fabric), [("host-up", 40), ("host-down", 40)]);
        assert_eq!(hops(&fabric, &[39]), [2]);
        assert_eq!(fabric.base_rtt(), Time(80_800_000));
    }
}

#[test]
fn single_link__has_two_hosts_and_no_switch() {
    let fabric = fabric("single-link", &[]);
    assert_eq!((fabric.hosts, fabric.partitions, fabric.links.len()), (2, 2, 2));
    assert_eq!(by_class(&fabric), [("host-to-host", 2)]);
    assert_eq!(fabric.host_partition, [0, 1]);
    assert_eq!((fabric.path_links(0, 1).len(), fabric.path_links(1, 0).len()), (1, 1));
    // One propagation delay and both hosts' delays, each way.
    assert_eq!(fabric.base_rtt(), Time(80_400_000));
    assert_eq!(fabric.class_shares()[0].crossing, 1.0);
}

#[test]
fn rates__are_those_of_the_settings() {
    let settings = shape("three-tier", &[]).with(None, "host_link", "1Mbps").with(None, "fabric_link", "25Gbps").with(
        None,
        "core_link",
        "800Gbps",
    );
    let fabric = Fabric::from_settings(&settings).unwrap();
    let rates = [("host0", "edge0"), ("edge0", "agg0"), ("agg0", "core0")];
    let rates = rates.map(|(from, to)| link(&fabric, from, to).unwrap().rate.bps());
    assert_eq!(rates, [1_000_000, 25_000_000_000, 800_000_000_000]);
}

#[test]
fn kinds__list_the_keys_that_they_read() {
    for kind in kinds() {
        let settings = shape(kind.name(), &[]);
        let result = Fabric::from_settings(&settings);
        assert_eq!(result.is_err(), kind.name() == "custom", "{}", kind.name());
        let known = ["kind", "forwarding", "link_delay", "host_delay", "rtt"];
        let mut read: Vec<String> =
            settings.effective().keys().map(|key| key.trim_start_matches("topology.").to_owned()).collect();
        read.retain(|key| !known.contains(&key.as_str()));
        let mut listed: Vec<&str> = kind.keys();
        listed.retain(|key| *key != "file");
        listed.sort_unstable();
        assert_eq!(read, listed, "{}", kind.name());
    }
}

#[test]
fn from_settings__refuses_impossible_fabrics() {
    let odd = "default: `k` = 5 does not fit here; expected an even number, 2 to 64";
    assert_eq!(refused(&shape("fat-tree", &[("k", 5)])), odd);
    let lonely = shape("leaf-spine", &[("leaves", 1), ("hosts_per_leaf", 1)]);
    assert!(refused(&lonely).contains("the fabric has a single host; expected at least two hosts"));
    let hosts = "default: with this `k` the fabric has 65536 hosts; expected at most 65535";
    assert_eq!(refused(&shape("fat-tree", &[("k", 64)])), hosts);
    let links = shape("leaf-spine", &[("leaves", 4_096), ("spines", 4_096), ("hosts_per_leaf", 1)]);
    assert_eq!(refused(&links), "default: with this `spines` the fabric has 16781312 links; expected at most 524288");
    let routes = shape("three-tier", &[("pods", 1_024), ("cores", 4_096), ("aggs_per_pod", 1), ("hosts_per_edge", 8)]);
    assert!(refused(&routes).contains("links"), "{}", refused(&routes));
    let routes = shape("leaf-spine", &[("leaves", 2_000), ("spines", 200), ("hosts_per_leaf", 32)]);
    assert_eq!(
        refused(&routes),
        "default: with this `leaves` the fabric has 64000 hosts and 2200 switches; expected at most 2097 switches \
         with this many hosts"
    );
    let custom = "default: `file` is missing; expected an edge list: the path of a CSV file of from,to,rate,delay";
    assert_eq!(refused(&shape("custom", &[])), custom);
}

#[test]
fn reaches__are_few_whatever_the_number_of_hosts() {
    // 1,024 hosts each: code that depends on round trips looks at two or three pairs.
    let of = |fabric: &Fabric| fabric.reaches().iter().map(|reach| reach.links).collect::<Vec<_>>();
    let leaf_spine = fabric("leaf-spine", &[("leaves", 32), ("spines", 8), ("hosts_per_leaf", 32)]);
    assert_eq!((leaf_spine.hosts, of(&leaf_spine)), (1_024, vec![2, 4]));
    let fat_tree = fabric("fat-tree", &[("k", 16)]);
    assert_eq!((fat_tree.hosts, of(&fat_tree)), (1_024, vec![2, 4, 6]));
    let single_link = fabric("single-link", &[]);
    assert_eq!(of(&single_link), [1]);
    let far =
        |reach: &Reach| leaf_spine.host_partition[reach.from as usize] != leaf_spine.host_partition[reach.to as usize];
    assert_eq!(leaf_spine.reaches().iter().map(far).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn hosts__as_many_as_are_said_and_not_one_more() {
    let one_switch = |hosts| [("hosts", hosts)];
    for kind in ["single-switch", "big-switch"] {
        let most = Fabric::from_settings(&shape(kind, &one_switch(MAX_HOSTS as i64))).unwrap();
        assert_eq!(u64::from(most.hosts), MAX_HOSTS, "{kind}");
    }
    // One more exceeds the key's own limit, which the documentation states.
    let key = super::super::shapes::SETTINGS.iter().find(|key| key.name == "hosts").unwrap();
    assert_eq!(key.kind.expects(), format!("a whole number, 2 to {MAX_HOSTS}"));
    let tiers =
        |hosts| [("pods", 15), ("edges_per_pod", 17), ("hosts_per_edge", hosts), ("aggs_per_pod", 1), ("cores", 1)];
    let leaves = |hosts| [("leaves", 255), ("spines", 1), ("hosts_per_leaf", hosts)];
    for (most, more) in [
        (shape("leaf-spine", &leaves(257)), shape("leaf-spine", &leaves(258))),
        (shape("three-tier", &tiers(257)), shape("three-tier", &tiers(258))),
    ] {
        assert_eq!(u64::from(Fabric::from_settings(&most).unwrap().hosts), MAX_HOSTS);
        let error = Fabric::from_settings(&more).unwrap_err();
        assert_eq!(error.expected.as_deref(), Some("at most 65535"));
    }
    // A fat-tree has an even number of hosts.
    let tree = |hosts| shape("fat-tree", &[("k", 32), ("hosts_per_edge", hosts)]);
    assert_eq!(Fabric::from_settings(&tree(127)).unwrap().hosts, 65_024);
    assert_eq!(Fabric::from_settings(&tree(128)).unwrap_err().expected.as_deref(), Some("at most 65535"));
}
