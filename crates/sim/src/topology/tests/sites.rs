//! What custom parts are told of their places.

use flowsieve_core::Site;
use flowsieve_core::site::SitePort;

use super::*;

/// Names the nodes behind each port.
fn behind(fabric: &Fabric, site: &Site) -> Vec<String> {
    site.ports.iter().map(|port| fabric.name(port.behind)).collect()
}

#[test]
fn sites__of_a_fabric_of_two_racks() {
    // Switches 0 and 1 are leaves, 2 and 3 spines. A leaf's links to its hosts come before those to spines.
    let fabric = fabric("leaf-spine", &[("leaves", 2), ("spines", 2), ("hosts_per_leaf", 2)]);
    let sites = Sites::new(&fabric, 1);
    assert_eq!((sites.racks().count(), sites.racks().hosts(1), sites.racks().of(1)), (2, &[2, 3][..], 0));

    let leaf = sites.program(1);
    assert_eq!((leaf.node, leaf.place, leaf.port, leaf.rack()), (Node::Switch(1), Place::Leaf, None, Some(1)));
    assert_eq!(behind(&fabric, &leaf), ["host2", "host3", "spine0", "spine1"]);
    let rate = |bps| Rate::new(bps).unwrap();
    // Beside the line's, a host has a delay of its own.
    let delay = |link: usize| fabric.links[fabric.ports[1][link] as usize].delay;
    let (host, spine) = (rate(10_000_000_000), rate(40_000_000_000));
    assert_eq!(leaf.ports[1], SitePort { behind: Node::Host(3), place: Place::Nic, rate: host, delay: delay(1) });
    assert_eq!(leaf.ports[2], SitePort { behind: Node::Switch(2), place: Place::Spine, rate: spine, delay: delay(2) });
    assert_eq!([0, 1, 2, 3].map(|host| leaf.ways_to(host)), [&[2, 3][..], &[2, 3], &[0], &[1]]);
    assert_eq!(leaf.ways_to_rack(0), [2, 3]);

    let spine = sites.program(3);
    assert_eq!((spine.place, spine.rack()), (Place::Spine, None));
    assert_eq!(behind(&fabric, &spine), ["leaf0", "leaf1"]);
    assert_eq!([0, 1].map(|rack| spine.ways_to_rack(rack)), [[0], [1]]);

    let host = sites.endpoint(2, 0);
    assert_eq!((host.node, host.place, host.port, host.rack()), (Node::Host(2), Place::Nic, None, Some(1)));
    assert_eq!(behind(&fabric, &host), ["leaf1"]);
    assert_eq!([0, 3].map(|peer| host.ways_to(peer)), [[0], [0]]);

    for (link, about) in (0..).zip(&fabric.links) {
        let site = sites.port(link);
        let port = site.port.map(usize::from).unwrap();
        assert_eq!((site.node, site.ports[port].behind), (about.from, about.to));
    }
}

#[test]
fn sites__every_part_of_a_run_draws_for_itself() {
    let fabric = fabric("leaf-spine", &[("leaves", 2), ("spines", 2), ("hosts_per_leaf", 2)]);
    let seeds = |seed| {
        let sites = Sites::new(&fabric, seed);
        let hosts = (0..4).flat_map(|host| [sites.tagger(host, 0), sites.tagger(host, 1), sites.endpoint(host, 0)]);
        let ports = (0..fabric.links.len() as u32).map(|link| sites.port(link));
        let programs = (0..4).map(|switch| sites.program(switch));
        hosts.chain(ports).chain(programs).map(|site| site.seed).collect::<Vec<u64>>()
    };
    let mut all = [seeds(1), seeds(2)].concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_eq!(seeds(1), seeds(1));
}

#[test]
fn sites__hosts_without_a_switch_are_one_rack() {
    let fabric = fabric("single-link", &[]);
    let sites = Sites::new(&fabric, 1);
    assert_eq!((sites.racks().count(), sites.racks().hosts(0)), (1, &[0, 1][..]));
    let host = sites.port(1);
    assert_eq!((host.node, host.port, host.ports[0].behind), (Node::Host(1), Some(0), Node::Host(0)));
}
