//! A fabric as two-way links between named nodes, before it has directions and routes.

use flowsieve_core::units::Rate;
use flowsieve_settings::{Key, Place, Scope, SettingsError};
use flowsieve_workload::host_number;

use super::{MAX_HOSTS, MAX_LINKS, MAX_ROUTES, Node};

/// A link in both directions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edge {
    /// A host if there is one. Otherwise, in a shape the end nearer to the hosts, in an edge list the first one named.
    pub(super) lower: Node,
    /// The other end.
    pub(super) upper: Node,
    pub(super) rate: Rate,
    /// Propagation delay, without the hosts' delay.
    pub(super) delay_ps: u64,
    pub(super) loss: f64,
    pub(super) failed: bool,
}

impl Edge {
    /// Builds a link without losses, whose delay is set later.
    pub(super) fn new(lower: Node, upper: Node, rate: Rate) -> Edge {
        Edge { lower, upper, rate, delay_ps: 0, loss: 0.0, failed: false }
    }

    /// Returns whether it joins these two nodes, in either order.
    pub(super) fn joins(&self, a: Node, b: Node) -> bool {
        (self.lower, self.upper) == (a, b) || (self.lower, self.upper) == (b, a)
    }
}

/// The parts of a fabric.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) hosts: u32,
    /// Names of the hosts; empty if they are `host0`, `host1`, …
    pub(super) host_names: Vec<String>,
    /// Names of the switches.
    pub(super) switches: Vec<String>,
    pub(super) edges: Vec<Edge>,
    /// Number of links between the farthest hosts, if all links have one delay; `None` for an edge list with its own
    /// delays.
    pub(super) hops: Option<u64>,
    /// Columns of an edge list that are not read.
    pub(super) unread: Vec<String>,
}

impl Plan {
    /// Returns a node's name.
    pub(super) fn name(&self, node: Node) -> String {
        match node {
            Node::Host(host) => host_name(&self.host_names, host),
            Node::Switch(switch) => self.switches[switch as usize].clone(),
        }
    }

    /// Finds the node of this name.
    pub(super) fn find(&self, name: &str) -> Option<Node> {
        let place = |names: &[String]| names.iter().position(|known| known == name).map(|place| place as u32);
        match host_number(name).filter(|_| self.host_names.is_empty()) {
            Some(host) => (host < self.hosts).then_some(Node::Host(host)),
            None => place(&self.switches).map(Node::Switch).or_else(|| place(&self.host_names).map(Node::Host)),
        }
    }

    /// Returns the place of each switch: a leaf has hosts, a spine is linked to a leaf, all others are cores. Failed
    /// links count, so that a failure does not turn a spine into a core.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places = vec![Place::Core; self.switches.len()];
        for edge in &self.edges {
            if let (Node::Host(_), Node::Switch(switch)) = (edge.lower, edge.upper) {
                places[switch as usize] = Place::Leaf;
            }
        }
        for edge in &self.edges {
            if let (Node::Switch(a), Node::Switch(b)) = (edge.lower, edge.upper) {
                for (near, far) in [(a as usize, b as usize), (b as usize, a as usize)] {
                    if places[near] == Place::Leaf && places[far] == Place::Core {
                        places[far] = Place::Spine;
                    }
                }
            }
        }
        places
    }
}

/// Returns a host's name: from `names`, or `host12` if that is empty.
pub(super) fn host_name(names: &[String], host: u32) -> String {
    names.get(host as usize).cloned().unwrap_or_else(|| format!("host{host}"))
}

/// Refuses a fabric that is too small or too large, before it is built; the error points at `key`.
pub(super) fn check_size(
    scope: &Scope<'_>,
    key: &Key,
    hosts: u64,
    switches: u64,
    edges: u64,
) -> Result<(), SettingsError> {
    let refuse = |has: String, expected: String| {
        Err(scope.error(key, format!("with this `{}` the fabric has {has}", key.name)).expected(expected))
    };
    if hosts < 2 {
        return refuse("a single host".to_owned(), "at least two hosts".to_owned());
    }
    if hosts > MAX_HOSTS {
        return refuse(format!("{hosts} hosts"), format!("at most {MAX_HOSTS}"));
    }
    if 2 * edges > MAX_LINKS {
        return refuse(format!("{edges} links"), format!("at most {}", MAX_LINKS / 2));
    }
    if hosts * switches > MAX_ROUTES {
        return refuse(
            format!("{hosts} hosts and {switches} switches"),
            format!("at most {} switches with this many hosts", MAX_ROUTES / hosts),
        );
    }
    Ok(())
}
