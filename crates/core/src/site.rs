//! The site of a part of a scheme: its node, the ports there, what is behind them, and which of them lead where.
//!
//! Every custom part is built with its site. Numbers are the fabric's. Large fields are shared, so that a site is cheap to clone.

use std::sync::Arc;

use crate::units::{Rate, Time};

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A host, by number.
    Host(u32),
    /// A switch, by number.
    Switch(u32),
}

/// The role of a node in its fabric.
///
/// A fat-tree's or three-tier fabric's edge switches are leaves and its aggregation switches spines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A host, by its own port.
    Nic,
    /// A leaf or edge switch, or the only switch.
    Leaf,
    /// A spine or aggregation switch.
    Spine,
    /// A core switch.
    Core,
}

impl Place {
    /// Every place, in order away from the hosts.
    pub const ALL: [Place; 4] = [Place::Nic, Place::Leaf, Place::Spine, Place::Core];

    /// Returns its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Place::Nic => "nic",
            Place::Leaf => "leaf",
            Place::Spine => "spine",
            Place::Core => "core",
        }
    }
}

/// A port as its node knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitePort {
    /// The far end of the link.
    pub behind: Node,
    /// The far end's place.
    pub place: Place,
    /// The link's rate.
    pub rate: Rate,
    /// The link's propagation delay, with that of a host at an end of it.
    pub delay: Time,
}

/// The hosts of a fabric by rack: the hosts of one switch are a rack. Hosts without a switch are one rack together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    /// By host.
    of: Vec<u32>,
    /// By rack: its hosts, ascending.
    hosts: Vec<Vec<u32>>,
}

impl Racks {
    /// Builds the racks from the rack of each host; racks are numbered from 0 without a gap.
    pub fn new(of: Vec<u32>) -> Racks {
        let count = of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut hosts = vec![Vec::new(); count];
        (0..).zip(&of).for_each(|(host, &rack)| hosts[rack as usize].push(host));
        Racks { of, hosts }
    }

    /// Returns the number of racks.
    pub fn count(&self) -> usize {
        self.hosts.len()
    }

    /// Returns the rack of a host.
    pub fn of(&self, host: u32) -> u32 {
        self.of[host as usize]
    }

    /// Returns the hosts of a rack, ascending; at least one.
    pub fn hosts(&self, rack: u32) -> &[u32] {
        &self.hosts[rack as usize]
    }
}

/// Where a part is.
#[derive(Clone, Debug)]
pub struct Site {
    /// The host or switch.
    pub node: Node,
    /// Its place.
    pub place: Place,
    /// The node's ports, by their number there; a host has one.
    pub ports: Arc<[SitePort]>,
    /// The port that the part is in charge of; `None`: the whole node.
    pub port: Option<u16>,
    /// Groups of ports over which packets may leave, on equally short paths to some hosts; ascending.
    pub groups: Arc<[Vec<u16>]>,
    /// By destination host: the group that leads there; [`Site::NOWHERE`] if none does.
    pub next: Arc<[u16]>,
    /// The racks of the fabric.
    pub racks: Arc<Racks>,
    /// Seed for the part's own random streams. No other part of the run has the same.
    pub seed: u64,
}

impl Site {
    /// In [`Site::next`]: no port leads to that host, and no packet for it ever comes.
    pub const NOWHERE: u16 = u16::MAX;

    /// Returns the ports over which a packet to this host may leave: equally short paths, ascending; empty if none leads there.
    pub fn ways_to(&self, host: u32) -> &[u16] {
        self.groups.get(usize::from(self.next[host as usize])).map_or(&[], Vec::as_slice)
    }

    /// Returns the same for the hosts of another node's rack.
    pub fn ways_to_rack(&self, rack: u32) -> &[u16] {
        self.ways_to(self.racks.hosts(rack)[0])
    }

    /// Returns the node's rack: a host's, or that of the hosts behind a switch's ports.
    pub fn rack(&self) -> Option<u32> {
        let host = |node| match node {
            Node::Host(host) => Some(host),
            Node::Switch(_) => None,
        };
        let own = host(self.node).or_else(|| self.ports.iter().find_map(|port| host(port.behind)));
        own.map(|host| self.racks.of(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf with hosts 2 and 3 of four behind its ports 0 and 1, and two spines behind ports 2 and 3.
    fn leaf() -> Site {
        let rate = Rate::new(10_000_000_000).unwrap();
        let host = |number| SitePort { behind: Node::Host(number), place: Place::Nic, rate, delay: Time::ZERO };
        let spine = |number| SitePort { behind: Node::Switch(number), place: Place::Spine, rate, delay: Time::ZERO };
        Site {
            node: Node::Switch(1),
            place: Place::Leaf,
            ports: [host(2), host(3), spine(2), spine(3)].into(),
            port: None,
            groups: [vec![2, 3], vec![0], vec![1]].into(),
            next: [0, 0, 1, 2].into(),
            racks: Racks::new(vec![0, 0, 1, 1]).into(),
            seed: 1,
        }
    }

    #[test]
    fn ways_to__a_host_or_a_rack() {
        let leaf = leaf();
        assert_eq!([1, 2, 3].map(|host| leaf.ways_to(host)), [&[2, 3][..], &[0], &[1]]);
        assert_eq!(leaf.ways_to_rack(0), [2, 3]);
        let cut_off = Site { next: [Site::NOWHERE; 4].into(), ..leaf };
        assert!(cut_off.ways_to(0).is_empty());
    }

    #[test]
    fn rack__of_switches_with_hosts_and_of_hosts() {
        let leaf = leaf();
        assert_eq!(leaf.rack(), Some(1));
        assert_eq!(Site { node: Node::Host(0), ports: leaf.ports[2..3].into(), ..leaf.clone() }.rack(), Some(0));
        assert_eq!(Site { ports: leaf.ports[2..].into(), ..leaf }.rack(), None);
    }

    #[test]
    fn racks__hosts_of_each() {
        let racks = Racks::new(vec![0, 1, 0]);
        assert_eq!((racks.count(), racks.hosts(0), racks.hosts(1), racks.of(2)), (2, &[0, 2][..], &[1][..], 0));
        assert_eq!(Racks::new(Vec::new()).count(), 0);
    }
}
