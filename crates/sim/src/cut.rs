//! How a fabric is cut into partitions, and which of them run after which.
//!
//! *Racks:* a partition for each rack and for each switch above the racks. All run at once, in rounds of the least delay
//! between them.
//!
//! *Stages:* hosts, the upward halves of switches, the top, the downward halves, and hosts again. Where packets go up
//! first and then only down, no packet of a stage comes back to an earlier one, except to the hosts. So a round reaches
//! as far as the way from a host into the fabric and back takes. Each stage is cut into groups, which share nothing.
//!
//! The upward half of a switch has its ports to higher switches, and what comes from below and goes higher. The downward
//! half has all other ports. A packet from below that goes down again comes to the downward half at once: its sender
//! looks up which half it needs.

use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::site::Racks;
use flowsieve_settings::Place;

use crate::hops;
use crate::run_spec::{NoStages, Partitioning, RunSpec};
use crate::scheme::Scheme;
use crate::topology::{Fabric, Link, Node};

/// What the two halves of a switch have. Switches that are not halved have the same twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halves<T> {
    /// For what goes on to higher switches.
    pub(crate) up: T,
    /// For what goes down.
    pub(crate) down: T,
}

impl<T: Copy + PartialEq> Halves<T> {
    fn both(of_both: T) -> Halves<T> {
        Halves { up: of_both, down: of_both }
    }

    /// Returns the half with the ports to higher switches, or the other one.
    pub(crate) fn get(self, up: bool) -> T {
        if up { self.up } else { self.down }
    }

    /// Returns whether the switch is halved.
    pub(crate) fn differ(self) -> bool {
        self.up != self.down
    }
}

/// Partitions that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) partitions: Range<usize>,
    /// The stages whose packets come here, with the least delay on the way.
    pub(crate) inputs: Vec<(usize, Time)>,
}

/// How a fabric is cut.
pub(crate) struct Cut {
    /// The number of partitions.
    pub(crate) count: usize,
    /// By host: its partition.
    pub(crate) hosts: Vec<u32>,
    /// By switch: its partitions.
    pub(crate) switches: Vec<Halves<u32>>,
    /// By switch, then by rack: whether the downward half of a halved switch sends on what goes there. Empty where no
    /// switch is halved.
    pub(crate) turns: Arc<[bool]>,
    /// By switch: its distance from the hosts, in links.
    levels: Vec<u32>,
    /// In the order of their turns in a round. Empty if there is one partition.
    pub(crate) stages: Vec<Stage>,
    /// By partition: the thread that runs it.
    pub(crate) threads: Vec<u32>,
    /// See [`Partitioning::Stages`].
    pub(crate) worth: u64,
}

impl Cut {
    /// Cuts the fabric of a run. What cannot be cut as asked stays whole.
    pub(crate) fn new(run_spec: &RunSpec<'_>, racks: &Racks) -> Cut {
        let RunSpec { fabric, scheme, .. } = *run_spec;
        match run_spec.partitioning {
            Partitioning::Whole => Cut::whole(fabric),
            Partitioning::Racks if hops::keep_whole(&scheme.on_hop) => Cut::whole(fabric),
            Partitioning::Racks => Cut::by_racks(fabric),
            Partitioning::Stages { groups, threads, worth } => {
                let tiers = refuse_parts(fabric, scheme).and_then(|()| Tiers::new(fabric, racks));
                let cut = |tiers| Cut { worth, ..Cut::by_stages(fabric, racks, tiers, groups, threads) };
                tiers.map_or_else(|_| Cut::whole(fabric), cut)
            }
        }
    }

    fn whole(fabric: &Fabric) -> Cut {
        Cut {
            count: 1,
            hosts: vec![0; fabric.hosts as usize],
            switches: vec![Halves::both(0); fabric.switches.len()],
            turns: Arc::default(),
            levels: vec![0; fabric.switches.len()],
            stages: Vec::new(),
            threads: vec![0],
            worth: 0,
        }
    }

    fn by_racks(fabric: &Fabric) -> Cut {
        let of = |node| match node {
            Node::Host(host) => fabric.host_partition[host as usize],
            Node::Switch(switch) => fabric.switches[switch as usize].partition,
        };
        let crossing = fabric.links.iter().filter(|link| of(link.from) != of(link.to));
        let lookahead = crossing.map(|link| link.delay).min().unwrap_or(Time::NEVER);
        let count = fabric.partitions as usize;
        if lookahead == Time::ZERO || count == 1 {
            return Cut::whole(fabric);
        }
        Cut {
            count,
            hosts: fabric.host_partition.clone(),
            switches: fabric.switches.iter().map(|switch| Halves::both(switch.partition)).collect(),
            stages: vec![Stage { partitions: 0..count, inputs: vec![(0, lookahead)] }],
            threads: vec![0; count],
            ..Cut::whole(fabric)
        }
    }

    fn by_stages(fabric: &Fabric, racks: &Racks, tiers: Tiers, groups: u32, threads: u32) -> Cut {
        let groups = groups.clamp(1, fabric.hosts);
        let threads = threads.clamp(1, groups);
        let mut of_level = vec![0u64; tiers.top as usize + 1];
        tiers.levels.iter().for_each(|&level| of_level[level as usize] += 1);
        let mut seen = vec![0u64; of_level.len()];
        let group = |nth: u64, of: u64| (nth * u64::from(groups) / of) as u32;
        let place = |&level: &u32| {
            let nth = &mut seen[level as usize];
            let group = group(*nth, of_level[level as usize]);
            *nth += 1;
            Halves { up: level * groups + group, down: (2 * tiers.top - level) * groups + group }
        };
        let switches: Vec<_> = tiers.levels.iter().map(place).collect();
        let of_stage = |stage: usize| stage * groups as usize..(stage + 1) * groups as usize;
        let stages = tiers.inputs.into_iter().enumerate();
        let count = 2 * tiers.top as usize * groups as usize;
        debug_assert!(switches.iter().all(|halves| (halves.down as usize) < count));
        Cut {
            count,
            hosts: (0..fabric.hosts).map(|host| group(host.into(), fabric.hosts.into())).collect(),
            turns: tiers.turns.into(),
            stages: stages.map(|(stage, inputs)| Stage { partitions: of_stage(stage), inputs }).collect(),
            threads: (0..count as u32).map(|number| number % groups * threads / groups).collect(),
            levels: tiers.levels,
            switches,
            worth: 0,
        }
        .checked(racks)
    }

    /// The cut of stages has one entry for each rack at each switch.
    fn checked(self, racks: &Racks) -> Cut {
        debug_assert_eq!(self.turns.len(), self.switches.len() * racks.count());
        self
    }

    /// Returns whether a link leads to a higher switch.
    pub(crate) fn is_up(&self, link: &Link) -> bool {
        level(&self.levels, link.from) < level(&self.levels, link.to)
    }

    /// Returns the partition of an end of a link.
    pub(crate) fn of_end(&self, node: Node, up: bool) -> u32 {
        match node {
            Node::Host(host) => self.hosts[host as usize],
            Node::Switch(switch) => self.switches[switch as usize].get(up),
        }
    }
}

fn level(levels: &[u32], node: Node) -> u32 {
    match node {
        Node::Host(_) => 0,
        Node::Switch(switch) => levels[switch as usize],
    }
}

/// The stages of a run that can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The number of stages.
    pub stages: u64,
    /// The simulated time of a round: the shortest way from a host into the fabric and back.
    pub length: Time,
}

/// Returns the stages into which a run of this scheme in this fabric can be cut.
///
/// # Errors
/// Fails with the reason why it cannot be cut.
pub fn stages(fabric: &Fabric, scheme: &Scheme) -> Result<Rounds, NoStages> {
    refuse_parts(fabric, scheme)?;
    let tiers = Tiers::new(fabric, crate::topology::Sites::new(fabric, 0).racks())?;
    let mut reached = vec![Time::ZERO; tiers.inputs.len()];
    let stages = (1..reached.len()).chain([0]);
    for stage in stages {
        let ends = tiers.inputs[stage].iter().map(|&(from, delay)| Time(reached[from].0.saturating_add(delay.0)));
        reached[stage] = ends.min().unwrap_or(Time::NEVER);
    }
    Ok(Rounds { stages: reached.len() as u64, length: reached[0] })
}

/// Refuses parts that the two halves of a switch, or the two ends of a link, would share.
fn refuse_parts(fabric: &Fabric, scheme: &Scheme) -> Result<(), NoStages> {
    let places = || Place::ALL.into_iter();
    if places().any(|place| place != Place::Nic && scheme.port(place).shares_memory()) {
        return Err(NoStages::SharedMemory);
    }
    if places().any(|place| scheme.balancers.at(place).is_program()) {
        return Err(NoStages::Programs);
    }
    if hops::pauses(&scheme.on_hop) {
        return Err(NoStages::Pauses);
    }
    if hops::keep_whole(&scheme.on_hop) {
        return Err(NoStages::Returns);
    }
    if fabric.links.iter().any(|link| link.cut_through) {
        return Err(NoStages::CutThrough);
    }
    if !fabric.events.is_empty() {
        return Err(NoStages::Events);
    }
    Ok(())
}

/// A fabric in which packets go up first and then only down.
struct Tiers {
    /// By switch: its distance from the hosts, in links.
    levels: Vec<u32>,
    top: u32,
    turns: Vec<bool>,
    /// By stage: see [`Stage::inputs`].
    inputs: Vec<Vec<(usize, Time)>>,
}

impl Tiers {
    fn new(fabric: &Fabric, racks: &Racks) -> Result<Tiers, NoStages> {
        if fabric.switches.is_empty() {
            return Err(NoStages::NoSwitch);
        }
        let levels = levels(fabric);
        let top = levels.iter().copied().max().unwrap_or(1);
        let ways = |switch: usize, rack: usize| fabric.routes[switch].towards(racks.hosts(rack as u32)[0]);
        let turn_round = |link: &Link| match link.to {
            Node::Switch(switch) => {
                level(&levels, link.from) < levels[switch as usize] && levels[switch as usize] < top
            }
            Node::Host(_) => false,
        };
        if fabric.links.iter().any(|link| turn_round(link) && link.lost_below() > 0) {
            return Err(NoStages::Losses);
        }
        let rises = |link: &u32| {
            let Link { from, to, .. } = &fabric.links[*link as usize];
            level(&levels, *to).cmp(&level(&levels, *from))
        };
        let mut delays = vec![vec![Time::NEVER; 2 * top as usize]; 2 * top as usize];
        let stage = |level: u32, up: bool| if up { level } else { 2 * top - level } as usize;
        let mut input = |from: usize, to: usize, link: &u32| {
            let delay = &mut delays[to][from];
            *delay = (*delay).min(fabric.links[*link as usize].delay);
        };
        // Whether the ways of a switch to a rack lead up.
        let mut up = vec![false; levels.len() * racks.count()];
        for rack in 0..racks.count() {
            // Where packets for the rack come by. Other switches may have ways that no packet takes.
            let mut found: Vec<usize> = levels.iter().enumerate().filter(|of| *of.1 == 1).map(|of| of.0).collect();
            let mut is_found: Vec<bool> = levels.iter().map(|&level| level == 1).collect();
            let mut done = 0;
            while let Some(&switch) = found.get(done) {
                done += 1;
                let (at, ways) = (switch * racks.count() + rack, ways(switch, rack));
                up[at] = ways.first().is_some_and(|way| rises(way).is_gt());
                // Ways of both kinds, or within a level, have no half.
                if ways.iter().any(|way| rises(way).is_eq() || rises(way).is_gt() != up[at]) {
                    return Err(NoStages::Valley);
                }
                for way in ways {
                    let Node::Switch(next) = fabric.links[*way as usize].to else { continue };
                    if !std::mem::replace(&mut is_found[next as usize], true) {
                        found.push(next as usize);
                    }
                }
            }
            for switch in found {
                let at = switch * racks.count() + rack;
                for way in ways(switch, rack) {
                    let Node::Switch(next) = fabric.links[*way as usize].to else { continue };
                    let goes_up = up[next as usize * racks.count() + rack];
                    if goes_up && !up[at] {
                        return Err(NoStages::Valley);
                    }
                    input(stage(levels[switch], up[at]), stage(levels[next as usize], goes_up), way);
                }
            }
        }
        for (link, number) in fabric.links.iter().zip(0..) {
            match (link.from, link.to) {
                (Node::Host(_), Node::Switch(_)) => {
                    input(0, stage(1, true), &number);
                    input(0, stage(1, false), &number);
                }
                (Node::Switch(_), Node::Host(_)) => input(stage(1, false), 0, &number),
                _ => {}
            }
        }
        let out = delays.iter().map(|inputs| inputs[0]).min().unwrap_or(Time::NEVER);
        let back = delays[0].iter().copied().min().unwrap_or(Time::NEVER);
        if out == Time::ZERO && back == Time::ZERO {
            return Err(NoStages::NoDelay);
        }
        for (routes, _) in fabric.routes.iter().zip(&levels).filter(|of| *of.1 < top) {
            let chooses = |up| routes.groups.iter().any(|group| group.len() > 1 && rises(&group[0]).is_gt() == up);
            if chooses(true) && chooses(false) {
                return Err(NoStages::ChoosesBothWays);
            }
        }
        let inputs =
            |delays: Vec<Time>| delays.into_iter().enumerate().filter(|(_, delay)| *delay < Time::NEVER).collect();
        let turns = up.into_iter().map(|up| !up).collect();
        Ok(Tiers { top, turns, inputs: delays.into_iter().map(inputs).collect(), levels })
    }
}

/// Returns the distance of each switch from the hosts, by breadth-first search; one that no host reaches has distance 1.
fn levels(fabric: &Fabric) -> Vec<u32> {
    let mut levels = vec![0; fabric.switches.len()];
    let mut found = Vec::new();
    let mut reach = |found: &mut Vec<u32>, switch: u32, level: u32| {
        if levels[switch as usize] == 0 {
            levels[switch as usize] = level;
            found.push(switch);
        }
        levels[switch as usize]
    };
    for &uplink in &fabric.host_uplink {
        if let Node::Switch(switch) = fabric.links[uplink as usize].to {
            reach(&mut found, switch, 1);
        }
    }
    let mut done = 0;
    while let Some(&near) = found.get(done) {
        done += 1;
        let level = reach(&mut found, near, 0) + 1;
        for &link in &fabric.ports[near as usize] {
            if let Node::Switch(far) = fabric.links[link as usize].to {
                reach(&mut found, far, level);
            }
        }
    }
    levels.into_iter().map(|level| level.max(1)).collect()
}
