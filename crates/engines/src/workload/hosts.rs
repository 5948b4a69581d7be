//! The hosts of a fabric, as workloads see them.

use flowsieve_sim::topology::{Fabric, Node};
use flowsieve_workload::HostNames;
use std::sync::Arc;

/// The facts that a workload needs of the hosts.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The rate in bit/s at load 1: that of the hosts' links, of the slowest if they differ.
    pub bps: u64,
    /// By host, the number of its rack: hosts with the same number are on the same switch.
    pub racks: Arc<[u32]>,
    /// Their names.
    pub names: HostNames,
    /// The delay of the links between the first host and the last, for a packet and its answer.
    pub round_trip_ps: u64,
    /// The class of links that flows between all hosts load more than the hosts' own links, if there is one.
    pub narrower: Option<String>,
}

impl Hosts {
    /// Returns those of a fabric. A host that is linked to no switch is its own rack.
    pub fn of(fabric: &Fabric) -> Hosts {
        let uplinks = || fabric.host_uplink.iter().map(|link| &fabric.links[*link as usize]);
        let rack = |(host, node): (u32, Node)| match node {
            Node::Switch(switch) => switch,
            Node::Host(_) => fabric.switches.len() as u32 + host,
        };
        let load = |class: usize| {
            let share = &fabric.class_shares()[class];
            share.crossing / share.rate_total_bps.max(1) as f64
        };
        let own: Vec<usize> = fabric
            .links
            .iter()
            .filter(|link| matches!((link.from, link.to), (Node::Host(_), _) | (_, Node::Host(_))))
            .map(|link| usize::from(link.class))
            .collect();
        // Rounding differs from class to class.
        let of_hosts = 1.001 * own.iter().map(|class| load(*class)).fold(0.0, f64::max);
        let narrower = (0..fabric.classes.len()).find(|class| load(*class) > of_hosts);
        Hosts {
            narrower: narrower.map(|class| fabric.classes[class].to_owned()),
            bps: uplinks().map(|link| link.rate.bps()).min().unwrap_or(0),
            racks: (0..).zip(uplinks().map(|link| link.to)).map(rack).collect(),
            names: HostNames::new(fabric.hosts, &fabric.host_names)
                .with_switches(fabric.switches.iter().map(|switch| switch.name.clone())),
            round_trip_ps: 2 * fabric.path_links(0, fabric.hosts - 1).iter().map(|stage| stage.delay.0).sum::<u64>(),
        }
    }
}
