//! From a plan to directed links, classes and partitions.

use flowsieve_core::units::{Rate, Time};
use flowsieve_settings::Place;
use std::collections::BTreeMap;

use super::plan::Plan;
use super::routes::{self, Cut};
use super::{Fabric, Link, Node, Switch};

/// All possible classes of links, in the order in which fabrics list theirs: up, down, sideways.
const CLASSES: [(Tier, Tier, &str); 10] = [
    (Tier::Host, Tier::Leaf, "host-up"),
    (Tier::Leaf, Tier::Spine, "leaf-up"),
    (Tier::Spine, Tier::Core, "spine-up"),
    (Tier::Core, Tier::Spine, "core-down"),
    (Tier::Spine, Tier::Leaf, "spine-down"),
    (Tier::Leaf, Tier::Host, "host-down"),
    (Tier::Host, Tier::Host, "host-to-host"),
    (Tier::Leaf, Tier::Leaf, "leaf-to-leaf"),
    (Tier::Spine, Tier::Spine, "spine-to-spine"),
    (Tier::Core, Tier::Core, "core-to-core"),
];

/// A node's distance from the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Host,
    Leaf,
    Spine,
    Core,
}

impl Tier {
    /// Returns the tier of a switch at `place`.
    pub(super) fn of(place: Place) -> Tier {
        match place {
            Place::Nic => Tier::Host,
            Place::Leaf => Tier::Leaf,
            Place::Spine => Tier::Spine,
            Place::Core => Tier::Core,
        }
    }
}

impl Fabric {
    /// Gives a plan its directions and routes; fails if two hosts cannot reach each other.
    pub(super) fn assemble(
        kind: &'static str,
        plan: &Plan,
        host_delay: Time,
        cut_through: bool,
    ) -> Result<Fabric, Cut> {
        let places = plan.places();
        let (mut links, classes) = directed(plan, &places, host_delay);
        let mut host_uplink = vec![None; plan.hosts as usize];
        let mut ports = vec![Vec::new(); plan.switches.len()];
        for (link, index) in links.iter().zip(0u32..) {
            match link.from {
                Node::Host(host) => host_uplink[host as usize] = Some(index),
                Node::Switch(switch) => ports[switch as usize].push(index),
            }
        }
        let host_uplink = (0u32..)
            .zip(host_uplink)
            .map(|(host, uplink)| uplink.ok_or(Cut { from: host, to: u32::from(host == 0) }))
            .collect::<Result<Vec<u32>, Cut>>()?;
        if cut_through {
            set_cut_through(&mut links, &ports);
        }
        let host_partition: Vec<u32> = (0u32..)
            .zip(&host_uplink)
            .map(|(host, uplink)| match links[*uplink as usize].to {
                Node::Switch(switch) => switch,
                Node::Host(_) => host,
            })
            .collect();
        let partitions = if plan.switches.is_empty() { plan.hosts } else { plan.switches.len() as u32 };
        let switches = plan.switches.iter().zip(places).zip(0..);
        let switches =
            switches.map(|((name, place), partition)| Switch { name: name.clone(), place, partition }).collect();
        let found = routes::find(&links, &ports, &host_uplink, classes.len())?;
        Ok(Fabric {
            kind,
            hosts: plan.hosts,
            host_names: plan.host_names.clone(),
            host_partition,
            switches,
            links,
            host_uplink,
            ports,
            classes,
            partitions,
            routes: found.routes,
            host_delay,
            cut_through,
            changes: Vec::new(),
            unread: plan.unread.clone(),
            events: Vec::new(),
            reconvergence: None,
            base_rtt: found.base_rtt,
            shares: found.shares,
            reaches: found.reaches,
        })
    }
}

/// Returns both directions of every link that has not failed, in the order that the topology module documents, and the
/// names of their classes.
fn directed(plan: &Plan, places: &[Place], host_delay: Time) -> (Vec<Link>, Vec<&'static str>) {
    let tier = |node: Node| match node {
        Node::Host(_) => Tier::Host,
        Node::Switch(switch) => Tier::of(places[switch as usize]),
    };
    let way = |from: Node, to: Node| {
        let found = CLASSES.iter().position(|class| (class.0, class.1) == (tier(from), tier(to)));
        debug_assert!(found.is_some(), "no class from {from:?} to {to:?}");
        found.unwrap_or(0)
    };
    let mut present = [false; CLASSES.len()];
    for edge in &plan.edges {
        present[way(edge.lower, edge.upper)] = true;
        present[way(edge.upper, edge.lower)] = true;
    }
    let listed: Vec<usize> = (0..CLASSES.len()).filter(|class| present[*class]).collect();
    let classes = listed.iter().map(|class| CLASSES[*class].2).collect();

    let mut keyed: Vec<((u8, u32), Link)> = Vec::with_capacity(2 * plan.edges.len());
    for (edge, number) in plan.edges.iter().zip(0u32..).filter(|(edge, _)| !edge.failed) {
        for (from, to) in [(edge.lower, edge.upper), (edge.upper, edge.lower)] {
            let hosts = [from, to].iter().filter(|node| matches!(node, Node::Host(_))).count() as u64;
            let link = Link {
                from,
                to,
                rate: edge.rate,
                delay: Time(edge.delay_ps + hosts * host_delay.0),
                loss: edge.loss,
                class: listed.iter().position(|class| *class == way(from, to)).unwrap_or(0) as u16,
                nth: 0,
                cut_through: false,
            };
            let key = match (from, to) {
                (Node::Host(host), _) => (0, host),
                (_, Node::Host(host)) => (1, host),
                _ => (2, number),
            };
            keyed.push((key, link));
        }
    }
    // Stable: the two directions between switches keep their order.
    keyed.sort_by_key(|(key, _)| *key);
    let mut links: Vec<Link> = keyed.into_iter().map(|(_, link)| link).collect();
    number_bundles(&mut links);
    (links, classes)
}

/// Numbers the links between the same two switches, in their order.
fn number_bundles(links: &mut [Link]) {
    let mut of_ends: BTreeMap<(Node, Node), Vec<usize>> = BTreeMap::new();
    for (place, link) in links.iter().enumerate() {
        of_ends.entry((link.from, link.to)).or_default().push(place);
    }
    for bundle in of_ends.values().filter(|bundle| bundle.len() > 1) {
        bundle.iter().zip(1..).for_each(|(place, nth)| links[*place].nth = nth);
    }
}

/// Marks the links whose far end may forward a packet before it has all of it.
fn set_cut_through(links: &mut [Link], ports: &[Vec<u32>]) {
    let fastest_out: Vec<u64> = ports
        .iter()
        .map(|out| out.iter().map(|link| links[*link as usize].rate.bps()).max().unwrap_or(Rate::MAX_BPS))
        .collect();
    for link in links {
        link.cut_through = matches!(link.to, Node::Switch(switch) if fastest_out[switch as usize] <= link.rate.bps());
    }
}
