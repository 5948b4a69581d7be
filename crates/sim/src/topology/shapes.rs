//! The kinds of fabric: the keys that each reads, and the plan that it builds from them.
//!
//! The fat-tree is that of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, section 3) when `hosts_per_edge` is k/2.

use flowsieve_core::units::Rate;
use flowsieve_settings::declare;
use flowsieve_settings::{Counts, Key, Origin, Raw, Scope, Section, Setting, Settings, SettingsError, Table};
use std::path::Path;

use super::custom::{self, FILE};
use super::plan::{Edge, Plan, check_size};
use super::{Fabric, MAX_HOSTS, Node};

/// A kind of fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricKind {
    /// Two hosts and a link.
    SingleLink,
    /// One switch.
    SingleSwitch,
    /// Two tiers.
    LeafSpine,
    /// Three tiers of equal switches.
    FatTree,
    /// Three tiers.
    ThreeTier,
    /// One switch in place of a fabric.
    BigSwitch,
    /// An edge list.
    Custom,
}

declare! {
    pub(super) static KIND: Setting<FabricKind> = Setting::choice(
        Section::Topology,
        "kind",
        &[
            ("single-link", FabricKind::SingleLink),
            ("single-switch", FabricKind::SingleSwitch),
            ("leaf-spine", FabricKind::LeafSpine),
            ("fat-tree", FabricKind::FatTree),
            ("three-tier", FabricKind::ThreeTier),
            ("big-switch", FabricKind::BigSwitch),
            ("custom", FabricKind::Custom),
        ],
        "the fabric's shape",
    )
    .with_default(FabricKind::LeafSpine);
    static HOSTS: Setting<u64> = Setting::count(
        Section::Topology, "hosts", 2, MAX_HOSTS, "hosts of a single switch or a big switch",
    );
    static LEAVES: Setting<u64> = Setting::count(
        Section::Topology, "leaves", 1, MOST_LEAVES, "leaf switches of a leaf-spine fabric",
    )
    .with_default(9);
    static SPINES: Setting<u64> = Setting::count(
        Section::Topology, "spines", 1, 4_096, "spine switches of a leaf-spine fabric",
    )
    .with_default(4);
    static HOSTS_PER_LEAF: Setting<Counts> = Setting::count_or_list(
        Section::Topology, "hosts_per_leaf", 1, 4_096,
        "hosts under each leaf: one number for all leaves, or a list with one for each",
    );
    static K: Setting<u64> = Setting::count(
        Section::Topology, "k", 2, 64, "ports of a fat-tree's switches; even",
    )
    .with_default(4);
    static HOSTS_PER_EDGE: Setting<u64> = Setting::count(
        Section::Topology, "hosts_per_edge", 1, 4_096,
        "hosts under each edge switch of a fat-tree or three-tier fabric",
    );
    static PODS: Setting<u64> = Setting::count(
        Section::Topology, "pods", 1, 1_024, "pods of a three-tier fabric",
    )
    .with_default(4);
    static EDGES_PER_POD: Setting<u64> = Setting::count(
        Section::Topology, "edges_per_pod", 1, 1_024, "edge switches in each pod of a three-tier fabric",
    )
    .with_default(4);
    static AGGS_PER_POD: Setting<u64> = Setting::count(
        Section::Topology, "aggs_per_pod", 1, 1_024, "aggregation switches in each pod of a three-tier fabric",
    )
    .with_default(2);
    static CORES: Setting<u64> = Setting::count(
        Section::Topology, "cores", 1, 4_096, "core switches of a three-tier fabric",
    )
    .with_default(4);
    static HOST_LINK: Setting<u64> = Setting::rate(
        Section::Topology, "host_link", "rate of the links between hosts and switches",
    )
    .with_default(10_000_000_000);
    static FABRIC_LINK: Setting<u64> = Setting::rate(
        Section::Topology, "fabric_link",
        "rate of the links between leaves and spines, or edge and aggregation switches",
    );
    static CORE_LINK: Setting<u64> = Setting::rate(
        Section::Topology, "core_link", "rate of the links between aggregation and core switches",
    );
}

/// The most leaves of a leaf-spine fabric.
const MOST_LEAVES: u64 = 4_096;

/// The default of `hosts_per_leaf`.
const HOSTS_OF_A_LEAF: u64 = 16;

/// The default rate of `fabric_link`, in bit/s.
const FABRIC_LINK_BPS: u64 = 40_000_000_000;

/// Returns every kind of fabric.
pub fn kinds() -> impl Iterator<Item = FabricKind> {
    KIND.choices().iter().map(|(_, kind)| *kind)
}

impl FabricKind {
    /// Returns its name in `[topology]`.
    pub fn name(self) -> &'static str {
        KIND.text_of(&self)
    }

    /// Describes it in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            FabricKind::SingleLink => "two hosts on one link",
            FabricKind::SingleSwitch => "hosts on one switch: a rack",
            FabricKind::LeafSpine => "hosts on leaf switches, every leaf linked to every spine",
            FabricKind::FatTree => "k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores",
            FabricKind::ThreeTier => {
                "pods of edge and aggregation switches, every aggregation switch linked to every core"
            }
            FabricKind::BigSwitch => "a whole non-blocking fabric as one switch: contention only at the hosts' links",
            FabricKind::Custom => "the links of a CSV file, each row from,to,rate,delay and optionally loss",
        }
    }

    /// Returns the keys of `[topology]` that define its shape, each with a default except `file`. All kinds also have
    /// `forwarding`, `rtt` and `host_delay`, and all but `custom` have `link_delay`.
    pub fn keys(self) -> Vec<&'static str> {
        let keys: &[&Key] = match self {
            FabricKind::SingleLink => &[&HOST_LINK],
            FabricKind::SingleSwitch | FabricKind::BigSwitch => &[&HOSTS, &HOST_LINK],
            FabricKind::LeafSpine => &[&LEAVES, &SPINES, &HOSTS_PER_LEAF, &HOST_LINK, &FABRIC_LINK],
            FabricKind::FatTree => &[&K, &HOSTS_PER_EDGE, &HOST_LINK, &FABRIC_LINK, &CORE_LINK],
            FabricKind::ThreeTier => {
                &[&PODS, &EDGES_PER_POD, &AGGS_PER_POD, &CORES, &HOSTS_PER_EDGE, &HOST_LINK, &FABRIC_LINK, &CORE_LINK]
            }
            FabricKind::Custom => &[&FILE],
        };
        keys.iter().map(|key| key.name).collect()
    }

    /// Builds its plan for these settings; paths are relative to `folder`.
    pub(super) fn plan(self, settings: &Settings, folder: &Path) -> Result<Plan, SettingsError> {
        let scope = &settings.common();
        match self {
            FabricKind::SingleLink => single_link(scope),
            FabricKind::SingleSwitch => one_switch(scope, 16),
            FabricKind::LeafSpine => leaf_spine(scope),
            FabricKind::FatTree => fat_tree(scope),
            FabricKind::ThreeTier => three_tier(scope),
            FabricKind::BigSwitch => one_switch(scope, 144),
            FabricKind::Custom => custom::plan(settings, folder),
        }
    }

    /// Draws the fabric with default settings; for `custom`, that of a small edge list.
    pub fn example(self) -> Result<String, SettingsError> {
        let mut settings = Settings::default();
        let name = Raw::from(self.name());
        settings.give(Table::Section(Section::Topology), &KIND, &name, Origin::Default)?;
        match self {
            FabricKind::Custom => Ok(custom::example(&settings)?.draw()),
            _ => Ok(Fabric::from_settings(&settings)?.draw()),
        }
    }
}

/// Converts a setting's rate in bit/s to a link's.
pub fn link_rate(scope: &Scope<'_>, key: &Key, bps: u64) -> Result<Rate, SettingsError> {
    Rate::new(bps).ok_or_else(|| scope.invalid(key, "1Mbps to 800Gbps"))
}

/// Reads a link's rate.
fn rate(scope: &Scope<'_>, setting: &Setting<u64>, default: u64) -> Result<Rate, SettingsError> {
    link_rate(scope, setting, scope.read_or(setting, default)?)
}

/// Reads the rate of the hosts' links.
pub fn host_rate(scope: &Scope<'_>) -> Result<Rate, SettingsError> {
    let scope = scope.common();
    link_rate(&scope, &HOST_LINK, scope.read(&HOST_LINK)?)
}

/// Returns the names `what0`, `what1`, ….
fn numbered(what: &str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{what}{number}"))
}

fn single_link(scope: &Scope<'_>) -> Result<Plan, SettingsError> {
    let link = host_rate(scope)?;
    let edges = vec![Edge::new(Node::Host(0), Node::Host(1), link)];
    Ok(Plan { hosts: 2, host_names: Vec::new(), switches: Vec::new(), edges, hops: Some(1), unread: Vec::new() })
}

fn one_switch(scope: &Scope<'_>, default_hosts: u64) -> Result<Plan, SettingsError> {
    let hosts = scope.read_or(&HOSTS, default_hosts)?;
    check_size(scope, &HOSTS, hosts, 1, hosts)?;
    let link = host_rate(scope)?;
    let edges = (0..hosts as u32).map(|host| Edge::new(Node::Host(host), Node::Switch(0), link)).collect();
    Ok(Plan {
        hosts: hosts as u32,
        host_names: Vec::new(),
        switches: vec!["switch0".to_owned()],
        edges,
        hops: Some(2),
        unread: Vec::new(),
    })
}

fn leaf_spine(scope: &Scope<'_>) -> Result<Plan, SettingsError> {
    let of_leaves = scope.read_or(&HOSTS_PER_LEAF, Counts::Equal(HOSTS_OF_A_LEAF))?;
    let (leaves, hosts_of_leaves) = match of_leaves {
        Counts::Equal(hosts) => {
            let leaves = scope.read(&LEAVES)?;
            (leaves, vec![hosts; leaves as usize])
        }
        Counts::Each(hosts) => (scope.read_or(&LEAVES, hosts.len() as u64)?, hosts),
    };
    let listed = hosts_of_leaves.len() as u64;
    if listed != leaves || !(1..=MOST_LEAVES).contains(&listed) {
        let problem = format!("`hosts_per_leaf` has {listed} numbers for {leaves} leaves");
        let expected = format!("one number for all leaves, or one for each of 1 to {MOST_LEAVES}");
        return Err(scope.error(&HOSTS_PER_LEAF, problem).expected(expected));
    }
    let spines = scope.read(&SPINES)?;
    let hosts = hosts_of_leaves.iter().sum();
    let most = hosts_of_leaves.iter().copied().max().unwrap_or(0);
    let key = largest(scope, &[(&LEAVES, leaves), (&SPINES, spines), (&HOSTS_PER_LEAF, most)]);
    check_size(scope, key, hosts, leaves + spines, hosts + leaves * spines)?;
    let host_link = host_rate(scope)?;
    let fabric_link = rate(scope, &FABRIC_LINK, FABRIC_LINK_BPS)?;
    let (leaves, spines) = (leaves as u32, spines as u32);
    let mut edges = racks(hosts_of_leaves, host_link);
    for leaf in 0..leaves {
        edges.extend((0..spines).map(|spine| Edge::new(Node::Switch(leaf), Node::Switch(leaves + spine), fabric_link)));
    }
    let switches = numbered("leaf", leaves).chain(numbered("spine", spines)).collect();
    Ok(Plan {
        hosts: hosts as u32,
        host_names: Vec::new(),
        switches,
        edges,
        hops: Some(if leaves > 1 { 4 } else { 2 }),
        unread: Vec::new(),
    })
}

fn fat_tree(scope: &Scope<'_>) -> Result<Plan, SettingsError> {
    let k = scope.read(&K)?;
    if k % 2 != 0 {
        return Err(scope.invalid(&K, "an even number, 2 to 64"));
    }
    let half = k / 2;
    let pods = Pods {
        pods: k,
        edges_per_pod: half,
        aggs_per_pod: half,
        cores: half * half,
        hosts_per_edge: scope.read_or(&HOSTS_PER_EDGE, half)?,
    };
    let host_link = host_rate(scope)?;
    let fabric_link = rate(scope, &FABRIC_LINK, host_link.bps())?;
    let core_link = rate(scope, &CORE_LINK, fabric_link.bps())?;
    let key = largest(scope, &[(&K, k), (&HOSTS_PER_EDGE, pods.hosts_per_edge)]);
    check_size(scope, key, pods.hosts(), pods.switches(), pods.links(half))?;
    // The n-th aggregation switch of every pod has the n-th k/2 cores.
    Ok(pods.plan([host_link, fabric_link, core_link], |agg| agg * half..(agg + 1) * half))
}

fn three_tier(scope: &Scope<'_>) -> Result<Plan, SettingsError> {
    let pods = Pods {
        pods: scope.read(&PODS)?,
        edges_per_pod: scope.read(&EDGES_PER_POD)?,
        aggs_per_pod: scope.read(&AGGS_PER_POD)?,
        cores: scope.read(&CORES)?,
        hosts_per_edge: scope.read_or(&HOSTS_PER_EDGE, 8)?,
    };
    let host_link = host_rate(scope)?;
    let fabric_link = rate(scope, &FABRIC_LINK, FABRIC_LINK_BPS)?;
    let core_link = rate(scope, &CORE_LINK, fabric_link.bps())?;
    let counts: [(&Key, u64); 5] = [
        (&PODS, pods.pods),
        (&EDGES_PER_POD, pods.edges_per_pod),
        (&AGGS_PER_POD, pods.aggs_per_pod),
        (&CORES, pods.cores),
        (&HOSTS_PER_EDGE, pods.hosts_per_edge),
    ];
    check_size(scope, largest(scope, &counts), pods.hosts(), pods.switches(), pods.links(pods.cores))?;
    Ok(pods.plan([host_link, fabric_link, core_link], |_| 0..pods.cores))
}

/// Returns the key of the largest count, which is to blame if a fabric is too large. Given keys come before defaults,
/// so that the error can point at a place.
fn largest(scope: &Scope<'_>, counts: &[(&'static Key, u64)]) -> &'static Key {
    let largest = counts.iter().max_by_key(|(key, count)| (scope.is_given(key), *count));
    largest.map_or(&KIND, |(key, _)| key)
}

/// Returns the links of the hosts under each switch, rack by rack. There are at most [`MAX_HOSTS`].
fn racks(hosts_of_racks: impl IntoIterator<Item = u64>, link: Rate) -> Vec<Edge> {
    let switches = (0..).zip(hosts_of_racks).flat_map(|(switch, hosts)| (0..hosts).map(move |_| switch));
    (0..).zip(switches).map(|(host, switch)| Edge::new(Node::Host(host), Node::Switch(switch), link)).collect()
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

    /// Builds the plan with links of the rates `[host, fabric, core]`; `cores_of` returns the cores of the n-th
    /// aggregation switch of a pod.
    fn plan(&self, rates: [Rate; 3], cores_of: impl Fn(u64) -> std::ops::Range<u64>) -> Plan {
        let [host_link, fabric_link, core_link] = rates;
        let (all_edges, all_aggs) = (self.pods * self.edges_per_pod, self.pods * self.aggs_per_pod);
        let switch = |number: u64| Node::Switch(number as u32);
        let mut links = racks((0..all_edges).map(|_| self.hosts_per_edge), host_link);
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
        Plan {
            hosts: self.hosts() as u32,
            host_names: Vec::new(),
            switches,
            edges: links,
            hops: Some(hops),
            unread: Vec::new(),
        }
    }
}
