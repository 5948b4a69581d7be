//! Common code of all topology formats: nodes and cables, and our edge list.

use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::convert::error::{ConvertError, Kind};
use crate::convert::flows::write_ids;
use crate::convert::source::Source;
use crate::convert::units::{format_rate, format_time};

/// The most nodes of a topology.
pub(crate) const MAX_NODES: u64 = 1 << 20;
/// The most cables of a topology.
pub(crate) const MAX_CABLES: u64 = 1 << 19;
/// The range of link rates in Flowsieve.
const RATES_BPS: std::ops::RangeInclusive<u64> = 1_000_000..=800_000_000_000;
/// The longest link delay in Flowsieve: a second.
const MAX_DELAY_PS: u64 = 1_000_000_000_000;

/// Hosts, switches and the cables between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// By id.
    pub nodes: BTreeMap<u64, Role>,
    /// In the file's order.
    pub cables: Vec<Cable>,
}

/// The role of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It sends and receives.
    Host,
    /// It forwards; this is its name in the edge list.
    Switch(String),
}

/// A full-duplex cable, or several equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// The ids of its ends.
    pub ends: [u64; 2],
    /// Rate in bit/s, each way.
    pub rate_bps: u64,
    /// One-way delay.
    pub delay_ps: u64,
    /// Probability that it loses a packet.
    pub loss: Decimal,
    /// Number of equal cables.
    pub count: u64,
    /// The line that states it.
    pub line: u64,
}

impl Topology {
    /// Returns the ids of the hosts, ascending: the n-th is host n of the edge list.
    pub fn host_ids(&self) -> Vec<u64> {
        self.nodes.iter().filter(|(_, role)| **role == Role::Host).map(|(id, _)| *id).collect()
    }

    /// Returns the number of switches.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.host_ids().len()
    }

    /// Refuses what our edge lists cannot have.
    pub(crate) fn check(&self, source: &Source<'_>) -> Result<(), ConvertError> {
        let lost =
            |cable: &Cable, problem, expected| Err(source.fault(Some(cable.line), Kind::Lost, problem, expected));
        let mut line_of_host: BTreeMap<u64, u64> = BTreeMap::new();
        for cable in &self.cables {
            for id in cable.ends.into_iter().filter(|id| self.nodes.get(id) == Some(&Role::Host)) {
                let earlier = line_of_host.insert(id, cable.line);
                if let Some(earlier) = earlier.or((cable.count > 1).then_some(cable.line)) {
                    let problem = format!("node {id} is a host with a second link, after line {earlier}");
                    return lost(cable, problem, ONE_LINK.to_owned());
                }
            }
        }
        for cable in &self.cables {
            if !RATES_BPS.contains(&cable.rate_bps) {
                let problem = format!("a link of {}", format_rate(cable.rate_bps));
                return lost(cable, problem, "links of 1Mbps to 800Gbps".to_owned());
            }
            if cable.delay_ps > MAX_DELAY_PS {
                let problem = format!("a delay of {}", format_time(cable.delay_ps));
                return lost(cable, problem, "at most 1s".to_owned());
            }
        }
        let hosts = self.host_ids();
        if hosts.len() < 2 {
            let problem = format!("a topology with {} hosts", hosts.len());
            return Err(source.fault(None, Kind::Lost, problem, "at least two"));
        }
        if let Some(host) = hosts.iter().find(|host| !line_of_host.contains_key(host)) {
            return Err(source.fault(None, Kind::Lost, format!("host {host} has no link"), "one for each host"));
        }
        let reached = self.reached_from(hosts[0]);
        match hosts.iter().find(|host| !reached.contains(host)) {
            Some(host) => {
                let problem = format!("no path leads from host {} to host {host}", hosts[0]);
                Err(source.fault(None, Kind::Lost, problem, "a path between any two hosts"))
            }
            None => Ok(()),
        }
    }

    /// Returns the nodes to which a path leads.
    fn reached_from(&self, node: u64) -> BTreeSet<u64> {
        let mut beside: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for [a, b] in self.cables.iter().map(|cable| cable.ends) {
            beside.entry(a).or_default().push(b);
            beside.entry(b).or_default().push(a);
        }
        let (mut reached, mut next) = (BTreeSet::from([node]), vec![node]);
        while let Some(node) = next.pop() {
            next.extend(beside.get(&node).into_iter().flatten().filter(|other| reached.insert(**other)));
        }
        reached
    }

    /// Writes our edge list. Equal cables between the same two switches become a bundle.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let hosts = self.host_ids();
        write_ids(&hosts, out)?;
        let name = |id: u64| match self.nodes.get(&id) {
            Some(Role::Switch(name)) => name.clone(),
            _ => format!("host{}", hosts.binary_search(&id).unwrap_or_default()),
        };
        let cables = self.bundled();
        let loses = cables.iter().any(|cable| !cable.loss.is_zero());
        let bundles = cables.iter().any(|cable| cable.count > 1);
        let columns = [(loses, ",loss"), (bundles, ",bundle")];
        let columns: String = columns.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
        writeln!(out, "from,to,rate,delay{columns}")?;
        for cable in cables {
            let [from, to] = cable.ends.map(name);
            write!(out, "{from},{to},{},{}", format_rate(cable.rate_bps), format_time(cable.delay_ps))?;
            if loses {
                write!(out, ",{}", cable.loss.normalize())?;
            }
            if bundles {
                write!(out, ",{}", cable.count)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Returns the cables, with those between the same two nodes combined.
    fn bundled(&self) -> Vec<Cable> {
        let mut place: BTreeMap<[u64; 2], usize> = BTreeMap::new();
        let mut bundled: Vec<Cable> = Vec::with_capacity(self.cables.len());
        for cable in &self.cables {
            let [a, b] = cable.ends;
            match place.get(&[a.min(b), a.max(b)]) {
                Some(at) => bundled[*at].count += cable.count,
                None => {
                    place.insert([a.min(b), a.max(b)], bundled.len());
                    bundled.push(*cable);
                }
            }
        }
        bundled
    }

    /// Returns the number of cables that are parallel to another one; fails if such cables differ.
    pub(crate) fn parallel(&self, source: &Source<'_>) -> Result<u64, ConvertError> {
        let mut first: BTreeMap<[u64; 2], &Cable> = BTreeMap::new();
        let mut beside = 0;
        for cable in &self.cables {
            let [a, b] = cable.ends;
            if let Some(other) = first.insert([a.min(b), a.max(b)], cable) {
                if (other.rate_bps, other.delay_ps, other.loss) != (cable.rate_bps, cable.delay_ps, cable.loss) {
                    let problem =
                        format!("a second link between {a} and {b} that differs from that of line {}", other.line);
                    let expected = "identical parallel links, which become a bundle";
                    return Err(source.fault(Some(cable.line), Kind::Lost, problem, expected));
                }
                beside += 1;
            }
        }
        Ok(beside)
    }
}

/// How to correct a host with several links.
const ONE_LINK: &str = "one link for each host: keep one of its links, or make each port a host of its own with flows of \
                        its own; --leave-out leaves out NVSwitches and their links";
