//! htsim's `.topo`: tiers of a fat-tree. `Downlink_*` of tier t is the cable down to tier t−1, so the rate of a ToR's
//! uplinks is in tier 1.

use rust_decimal::Decimal;
use std::collections::BTreeMap;

use crate::convert::error::{ConvertError, Kind};
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source};
use crate::convert::topology::{Cable, MAX_CABLES, MAX_NODES, Role, Topology};

/// The keys of a tier, in lower case.
const KEYS: [&str; 9] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "radix_down",
    "radix_up",
    "bundle",
    "oversubscribed",
    "switch_latency_ns",
    "queue_up",
    "queue_down",
];

/// A value and its line.
type Value = (u64, u64);

#[derive(Default)]
struct Tier {
    line: u64,
    values: BTreeMap<&'static str, Value>,
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let has = |key: &str| {
        source.rows().take(200).any(|row| {
            let first = row.text.split_ascii_whitespace().next();
            first.is_some_and(|first| first.eq_ignore_ascii_case(key))
        })
    };
    if ["Nodes", "Tiers", "Podsize", "Tier"].into_iter().all(has) { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let shape = Shape::read(source)?;
    let topology = shape.build()?;
    topology.check(source)?;
    for (tier, nth) in shape.tiers.iter().zip(0..) {
        let latency = tier.values.get("switch_latency_ns").map_or(0, |value| value.0);
        if latency > 0 {
            let switches = shape.switches(nth);
            notes.say(format!(
                "the internal latency of {latency} ns of {switches} switches in tier {nth} is not carried over"
            ));
        }
    }
    let queues = shape.tiers.iter().flat_map(|tier| tier.values.keys()).filter(|key| key.starts_with("queue")).count();
    notes.count(queues as u64, "queue lengths are not carried over: set `buffer` in [network]");
    Ok(What::Topology(topology))
}

struct Shape<'a> {
    source: Source<'a>,
    nodes: u64,
    pods: u64,
    tiers: Vec<Tier>,
    tors: u64,
    aggs_per_pod: u64,
    cores: u64,
}

impl<'a> Shape<'a> {
    fn read(source: &Source<'a>) -> Result<Shape<'a>, ConvertError> {
        let mut head: BTreeMap<&'static str, Value> = BTreeMap::new();
        let mut tiers: Vec<Tier> = Vec::new();
        for row in source.rows() {
            let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
            let [key, value] = words[..] else {
                let problem = format!("this row has {} words", words.len());
                return Err(source.wrong(row.line, problem, "a key and a value"));
            };
            let number = source.whole(row.line, key, value, u32::MAX.into())?;
            let key = key.to_ascii_lowercase();
            if key == "tier" {
                if number != tiers.len() as u64 {
                    return Err(source.wrong_field(row.line, "Tier", value, format!("tier {} here", tiers.len())));
                }
                tiers.push(Tier { line: row.line, ..Tier::default() });
                continue;
            }
            let known = ["nodes", "tiers", "podsize"].into_iter().chain(KEYS).find(|known| **known == key);
            let place = tiers.last_mut().map_or(&mut head, |tier| &mut tier.values);
            match known {
                Some(known) => {
                    if place.insert(known, (number, row.line)).is_some() {
                        return Err(source.wrong_field(row.line, "a key", words[0], "each key once per tier"));
                    }
                }
                None => return Err(unknown(source, row, words[0])),
            }
        }
        let of_head = |key: &str| {
            let missing =
                || source.fault(None, Kind::Row, format!("no `{key}` before the tiers"), "Nodes, Tiers and Podsize");
            head.get(key).map(|value| value.0).ok_or_else(missing)
        };
        let (nodes, pod_size) = (of_head("nodes")?, of_head("podsize")?);
        if of_head("tiers")? != tiers.len() as u64 || !(2..=3).contains(&tiers.len()) {
            let problem = format!("Tiers is {}, but there are {}", of_head("tiers")?, tiers.len());
            return Err(source.fault(None, Kind::Row, problem, "2 or 3, with a block for each"));
        }
        if nodes > MAX_NODES {
            return Err(source.fault(None, Kind::Row, format!("{nodes} nodes"), format!("at most {MAX_NODES}")));
        }
        let mut shape = Shape { source: *source, nodes, pods: 0, tiers, tors: 0, aggs_per_pod: 0, cores: 0 };
        shape.derive(pod_size)?;
        Ok(shape)
    }

    /// Returns a value of a tier, which must be above 0.
    fn of(&self, tier: usize, key: &'static str) -> Result<u64, ConvertError> {
        match self.tiers[tier].values.get(key) {
            Some((0, line)) => Err(self.source.wrong(*line, format!("`{key}` is 0"), "a number above 0")),
            Some((number, _)) => Ok(*number),
            None if ["bundle", "oversubscribed"].contains(&key) => Ok(1),
            None => {
                let line = Some(self.tiers[tier].line);
                Err(self.source.fault(line, Kind::Row, format!("tier {tier} has no `{key}`"), "one"))
            }
        }
    }

    /// Returns a quotient, which must be whole and above 0.
    fn divided(&self, what: &str, number: u64, by: u64) -> Result<u64, ConvertError> {
        if by == 0 || !number.is_multiple_of(by) || number == 0 {
            let problem = format!("{what} would be {number} / {by}");
            return Err(self.source.fault(None, Kind::Row, problem, "tiers with matching numbers of ports"));
        }
        Ok(number / by)
    }

    /// Computes the number of switches of each kind, as htsim does.
    fn derive(&mut self, pod_size: u64) -> Result<(), ConvertError> {
        let by_over = |shape: &Shape<'_>, tier: usize| -> Result<u64, ConvertError> {
            Ok(shape.of(tier + 1, "downlink_speed_gbps")? * shape.of(tier, "oversubscribed")?)
        };
        self.tors = self.divided("ToRs", self.nodes, self.of(0, "radix_down")?)?;
        self.pods = if self.tiers.len() == 2 { 1 } else { self.divided("pods", self.nodes, pod_size)? };
        let uplinks =
            self.divided("uplinks of ToRs", self.nodes * self.of(0, "downlink_speed_gbps")?, by_over(self, 0)?)?;
        self.aggs_per_pod =
            self.divided("switches above a pod's ToRs", uplinks, self.pods * self.of(1, "radix_down")?)?;
        let up = self.aggs_per_pod * self.of(1, "bundle")?;
        self.divided("ToRs of a pod", self.tors, self.pods)?;
        if let Some((radix, line)) = self.tiers[0].values.get("radix_up")
            && *radix != up
        {
            let problem = format!("Radix_Up is {radix}, but {} switches with bundles take {up}", self.aggs_per_pod);
            return Err(self.source.wrong(*line, problem, "as many uplinks as the tiers have"));
        }
        if self.tors * up != uplinks {
            let problem = format!("{} ToRs have {up} uplinks each, but {uplinks} in all", self.tors);
            return Err(self.source.fault(None, Kind::Row, problem, "matching speeds, radices and bundles"));
        }
        let mut cables = self.nodes + uplinks;
        if self.tiers.len() == 3 {
            let core_links =
                self.divided("uplinks to cores", uplinks * self.of(1, "downlink_speed_gbps")?, by_over(self, 1)?)?;
            self.cores = self.divided("cores", core_links, self.of(2, "radix_down")?)?;
            let each = self.divided("cores of a switch", self.cores, self.aggs_per_pod)?;
            if self.pods * self.aggs_per_pod * each * self.of(2, "bundle")? != core_links {
                let problem = format!("{} cores have {core_links} links to them", self.cores);
                return Err(self.source.fault(None, Kind::Row, problem, "matching radices and bundles"));
            }
            cables += core_links;
        }
        if cables > MAX_CABLES {
            return Err(self.source.fault(None, Kind::Row, format!("{cables} links"), format!("at most {MAX_CABLES}")));
        }
        Ok(())
    }

    fn switches(&self, tier: usize) -> u64 {
        match tier {
            0 => self.tors,
            1 => self.pods * self.aggs_per_pod,
            _ => self.cores,
        }
    }

    fn build(&self) -> Result<Topology, ConvertError> {
        let mut topology = Topology::default();
        let names = if self.tiers.len() == 2 { ["tor", "spine", ""] } else { ["tor", "agg", "core"] };
        // Hosts first, then tier after tier.
        let mut first = [self.nodes, 0, 0];
        first[1] = first[0] + self.tors;
        first[2] = first[1] + self.switches(1);
        topology.nodes.extend((0..self.nodes).map(|id| (id, Role::Host)));
        for (tier, name) in names.into_iter().enumerate().take(self.tiers.len()) {
            let switches =
                (0..self.switches(tier)).map(|nth| (first[tier] + nth, Role::Switch(format!("{name}{nth}"))));
            topology.nodes.extend(switches);
        }
        let cable = |lower: u64, upper: u64, tier: usize| -> Result<Cable, ConvertError> {
            Ok(Cable {
                ends: [lower, upper],
                rate_bps: self.of(tier, "downlink_speed_gbps")?.saturating_mul(1_000_000_000),
                delay_ps: self.tiers[tier].values.get("downlink_latency_ns").map_or(0, |value| value.0) * 1_000,
                loss: Decimal::ZERO,
                count: if tier == 0 { 1 } else { self.of(tier, "bundle")? },
                line: self.tiers[tier].line,
            })
        };
        let hosts_per_tor = self.nodes / self.tors;
        for host in 0..self.nodes {
            topology.cables.push(cable(host, first[0] + host / hosts_per_tor, 0)?);
        }
        let tors_per_pod = self.tors / self.pods;
        for tor in 0..self.tors {
            for agg in 0..self.aggs_per_pod {
                let agg = tor / tors_per_pod * self.aggs_per_pod + agg;
                topology.cables.push(cable(first[0] + tor, first[1] + agg, 1)?);
            }
        }
        for agg in 0..if self.cores > 0 { self.switches(1) } else { 0 } {
            // The p-th of a pod has the cores p, p + A, p + 2A, …
            for core in (agg % self.aggs_per_pod..self.cores).step_by(self.aggs_per_pod as usize) {
                topology.cables.push(cable(first[1] + agg, first[2] + core, 2)?);
            }
        }
        Ok(topology)
    }
}

fn unknown(source: &Source<'_>, row: At<'_>, key: &str) -> ConvertError {
    source.wrong_field(row.line, "a key", key, "Nodes, Tiers, Podsize, Tier or a key of a tier, as uet-htsim has them")
}
