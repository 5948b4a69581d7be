//! The kinds of fabric: which keys each reads, and the plan that it makes of them.
//!
//! The fat-tree is that of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, section 3) when `hosts_per_edge` is k/2.

use super::plan::{Edge, Plan, check_size};
use super::{Fabric, Node, custom};
use flowsieve_core::units::Rate;
use flowsieve_schemes::settings::{Scope, Settings, SettingsError};
use std::path::Path;

const HOST_LINK_BPS: u64 = 10_000_000_000;
const FABRIC_LINK_BPS: u64 = 40_000_000_000;

/// A kind of fabric.
pub struct KindInfo {
    /// Its name in `[topology]`.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// The keys of `[topology]` that make its shape, each with its default; all kinds have `forwarding`, `rtt` and
    /// `host_delay` besides, and all but `custom` have `link_delay`.
    pub keys: &'static [&'static str],
    shape: fn(&Settings, &Path) -> Result<Plan, SettingsError>,
}

impl KindInfo {
    /// Its plan for these settings; paths are relative to `folder`.
    pub(super) fn plan(&self, settings: &Settings, folder: &Path) -> Result<Plan, SettingsError> {
        (self.shape)(settings, folder)
    }

    /// The drawing of the fabric that the defaults make; for `custom`, of a small edge list.
    pub fn example(&self) -> Result<String, SettingsError> {
        let settings = Settings::default().with(None, "kind", self.name);
        if self.name == "custom" {
            return Ok(custom::example(&settings)?.draw());
        }
        Ok(Fabric::from_settings(&settings)?.draw())
    }
}

/// Every kind of fabric.
pub fn kinds() -> &'static [KindInfo] {
    &KINDS
}

static KINDS: [KindInfo; 7] = [
    KindInfo { name: "single-link", summary: "two hosts on one link", keys: &["host_link"], shape: single_link },
    KindInfo {
        name: "single-switch",
        summary: "hosts on one switch: a rack",
        keys: &["hosts", "host_link"],
        shape: |settings, _| one_switch(&settings.common(), 16),
    },
    KindInfo {
        name: "leaf-spine",
        summary: "hosts on leaf switches, every leaf linked to every spine",
        keys: &["leaves", "spines", "hosts_per_leaf", "host_link", "fabric_link"],
        shape: leaf_spine,
    },
    KindInfo {
        name: "fat-tree",
        summary: "k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores",
        keys: &["k", "hosts_per_edge", "host_link", "fabric_link", "core_link"],
        shape: fat_tree,
    },
    KindInfo {
        name: "three-tier",
        summary: "pods of edge and aggregation switches, every aggregation switch linked to every core",
        keys: &[
            "pods",
            "edges_per_pod",
            "aggs_per_pod",
            "cores",
            "hosts_per_edge",
            "host_link",
            "fabric_link",
            "core_link",
        ],
        shape: three_tier,
    },
    KindInfo {
        name: "big-switch",
        summary: "a whole non-blocking fabric as one switch: contention only at the hosts' links",
        keys: &["hosts", "host_link"],
        shape: |settings, _| one_switch(&settings.common(), 144),
    },
    KindInfo {
        name: "custom",
        summary: "the links of a CSV file, each row from,to,rate,delay and optionally loss",
        keys: &["file"],
        shape: custom::plan,
    },
];

/// A link's rate.
fn rate(scope: &Scope<'_>, name: &str, default: u64) -> Result<Rate, SettingsError> {
    Rate::new(scope.rate(name, default)?).ok_or_else(|| scope.invalid(name, "1Mbps to 800Gbps"))
}

/// Names `what0`, `what1`, ….
fn numbered(what: &str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{what}{number}"))
}

fn single_link(settings: &Settings, _: &Path) -> Result<Plan, SettingsError> {
    let link = rate(&settings.common(), "host_link", HOST_LINK_BPS)?;
    let edges = vec![Edge::new(Node::Host(0), Node::Host(1), link)];
    Ok(Plan { hosts: 2, switches: Vec::new(), edges, hops: Some(1) })
}

fn one_switch(scope: &Scope<'_>, default_hosts: u64) -> Result<Plan, SettingsError> {
    let hosts = scope.count("hosts", default_hosts)?;
    check_size(scope, "hosts", hosts, 1, hosts)?;
    let link = rate(scope, "host_link", HOST_LINK_BPS)?;
    let edges = (0..hosts as u32).map(|host| Edge::new(Node::Host(host), Node::Switch(0), link)).collect();
    Ok(Plan { hosts: hosts as u32, switches: vec!["switch0".to_owned()], edges, hops: Some(2) })
}

fn leaf_spine(settings: &Settings, _: &Path) -> Result<Plan, SettingsError> {
    let scope = &settings.common();
    let leaves = scope.count("leaves", 9)?;
    let spines = scope.count("spines", 4)?;
    let hosts_per_leaf = scope.count("hosts_per_leaf", 16)?;
    let hosts = leaves * hosts_per_leaf;
    let key = largest(scope, &[("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf)]);
    check_size(scope, key, hosts, leaves + spines, hosts + leaves * spines)?;
    let host_link = rate(scope, "host_link", HOST_LINK_BPS)?;
    let fabric_link = rate(scope, "fabric_link", FABRIC_LINK_BPS)?;
    let (leaves, spines) = (leaves as u32, spines as u32);
    let mut edges = racks(leaves, hosts_per_leaf as u32, host_link);
    for leaf in 0..leaves {
        edges.extend((0..spines).map(|spine| Edge::new(Node::Switch(leaf), Node::Switch(leaves + spine), fabric_link)));
    }
    let switches = numbered("leaf", leaves).chain(numbered("spine", spines)).collect();
    Ok(Plan { hosts: hosts as u32, switches, edges, hops: Some(if leaves > 1 { 4 } else { 2 }) })
}

fn fat_tree(settings: &Settings, _: &Path) -> Result<Plan, SettingsError> {
    let scope = &settings.common();
    let k = scope.count("k", 4)?;
    if k % 2 != 0 {
        return Err(scope.invalid("k", "an even number, 2 to 64"));
    }
    let half = k / 2;
    let pods = Pods {
        pods: k,
        edges_per_pod: half,
        aggs_per_pod: half,
        cores: half * half,
        hosts_per_edge: scope.count("hosts_per_edge", half)?,
    };
    let host_link = rate(scope, "host_link", HOST_LINK_BPS)?;
    let fabric_link = rate(scope, "fabric_link", host_link.bps())?;
    let core_link = rate(scope, "core_link", fabric_link.bps())?;
    let key = largest(scope, &[("k", k), ("hosts_per_edge", pods.hosts_per_edge)]);
    check_size(scope, key, pods.hosts(), pods.switches(), pods.links(half))?;
    // The n-th aggregation switch of every pod has the n-th k/2 cores.
    Ok(pods.plan([host_link, fabric_link, core_link], |agg| agg * half..(agg + 1) * half))
}

fn three_tier(settings: &Settings, _: &Path) -> Result<Plan, SettingsError> {
    let scope = &settings.common();
    let pods = Pods {
        pods: scope.count("pods", 4)?,
        edges_per_pod: scope.count("edges_per_pod", 4)?,
        aggs_per_pod: scope.count("aggs_per_pod", 2)?,
        cores: scope.count("cores", 4)?,
        hosts_per_edge: scope.count("hosts_per_edge", 8)?,
    };
    let host_link = rate(scope, "host_link", HOST_LINK_BPS)?;
    let fabric_link = rate(scope, "fabric_link", FABRIC_LINK_BPS)?;
    let core_link = rate(scope, "core_link", fabric_link.bps())?;
    let counts = [
        ("pods", pods.pods),
        ("edges_per_pod", pods.edges_per_pod),
        ("aggs_per_pod", pods.aggs_per_pod),
        ("cores", pods.cores),
        ("hosts_per_edge", pods.hosts_per_edge),
    ];
    check_size(scope, largest(scope, &counts), pods.hosts(), pods.switches(), pods.links(pods.cores))?;
    Ok(pods.plan([host_link, fabric_link, core_link], |_| 0..pods.cores))
}

/// The key of the largest count, which is the one to blame when a fabric is too large; one that is given before one
/// that is not, so that the error has a place to point at.
fn largest<'a>(scope: &Scope<'_>, counts: &[(&'a str, u64)]) -> &'a str {
    let largest = counts.iter().max_by_key(|(key, count)| (scope.is_given(key), *count));
    largest.map_or("kind", |(key, _)| key)
}

/// Hosts under each of `leaves` switches, rack by rack.
fn racks(leaves: u32, hosts_each: u32, link: Rate) -> Vec<Edge> {
    let host = |host| Edge::new(Node::Host(host), Node::Switch(host / hosts_each), link);
    (0..leaves * hosts_each).map(host).collect()
}

/// Pods of edge and aggregation switches below cores. Counts are `u64` until [`check_size`] has passed.
struct Pods {
    pods: u64,
    edges_per_pod: u64,
    aggs_per_pod: u64,
    cores: u64,
    hosts_per_edge: u64,
}

impl Pods {
    fn hosts(&self) -> u64 {
        self.pods * self.edges_per_pod * self.hosts_per_edge
    }

    fn switches(&self) -> u64 {
        self.pods * (self.edges_per_pod + self.aggs_per_pod) + self.cores
    }

    fn links(&self, cores_per_agg: u64) -> u64 {
        self.hosts() + self.pods * self.aggs_per_pod * (self.edges_per_pod + cores_per_agg)
    }

    /// Links of the rates `[host, fabric, core]`; `cores_of` gives the cores of the n-th aggregation switch of a pod.
    fn plan(&self, rates: [Rate; 3], cores_of: impl Fn(u64) -> std::ops::Range<u64>) -> Plan {
        let [host_link, fabric_link, core_link] = rates;
        let (all_edges, all_aggs) = (self.pods * self.edges_per_pod, self.pods * self.aggs_per_pod);
        let switch = |number: u64| Node::Switch(number as u32);
        let mut links = racks(all_edges as u32, self.hosts_per_edge as u32, host_link);
        for pod in 0..self.pods {
            for edge in pod * self.edges_per_pod..(pod + 1) * self.edges_per_pod {
                let aggs = pod * self.aggs_per_pod..(pod + 1) * self.aggs_per_pod;
                links.extend(aggs.map(|agg| Edge::new(switch(edge), switch(all_edges + agg), fabric_link)));
            }
        }
        for agg in 0..all_aggs {
            let cores = cores_of(agg % self.aggs_per_pod).map(|core| all_edges + all_aggs + core);
            links.extend(cores.map(|core| Edge::new(switch(all_edges + agg), switch(core), core_link)));
        }
        let names = [("edge", all_edges), ("agg", all_aggs), ("core", self.cores)];
        let switches = names.into_iter().flat_map(|(what, count)| numbered(what, count as u32)).collect();
        let hops = match (self.pods, self.edges_per_pod) {
            (1, 1) => 2,
            (1, _) => 4,
            _ => 6,
        };
        Plan { hosts: self.hosts() as u32, switches, edges: links, hops: Some(hops) }
    }
}
