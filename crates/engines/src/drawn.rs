//! A fabric for a picture: its nodes by name, and its links.

use flowsieve_sim::topology::{Fabric, Node};

/// What a picture of a fabric needs.
pub struct Drawn {
    /// The names of hosts, then of switches.
    pub nodes: Vec<String>,
    /// How many of them are hosts.
    pub hosts: usize,
    /// By number.
    pub links: Vec<DrawnLink>,
}

/// A link in one direction.
pub struct DrawnLink {
    /// The place of its begin among the nodes.
    pub from: usize,
    /// That of its end.
    pub to: usize,
    /// Its rate.
    pub rate_bps: u64,
    /// Its delay without serialisation.
    pub delay_ps: u64,
}

impl Drawn {
    pub(crate) fn of(fabric: &Fabric) -> Drawn {
        let hosts = fabric.hosts as usize;
        let place = |node: Node| match node {
            Node::Host(number) => number as usize,
            Node::Switch(number) => hosts + number as usize,
        };
        let all = (0..fabric.hosts).map(Node::Host).chain((0..fabric.switches.len() as u32).map(Node::Switch));
        let link = |link: &flowsieve_sim::topology::Link| DrawnLink {
            from: place(link.from),
            to: place(link.to),
            rate_bps: link.rate.bps(),
            delay_ps: link.delay.0,
        };
        Drawn {
            hosts,
            nodes: all.map(|node| fabric.name(node)).collect(),
            links: fabric.links.iter().map(link).collect(),
        }
    }
}
