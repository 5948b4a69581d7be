//! Configuration that hosts and switches take, for demotion by bytes sent: strict priorities, a marking threshold for
//! each speed, a code point for each queue.
//!
//! A [`Plan`] says what is wanted. A [`System`] writes it in its own language, or says what it cannot state. Nothing here
//! opens a file or reaches a device.
//!
//! All systems mark by the length of a queue: none of them lets a configuration compare a port's total with a threshold
//! (SONiC binds a WRED profile to a queue alone). So a plan has thresholds that were found with marks by queue.

mod eos;
mod hosts;
mod nftables;
mod nxos;
mod ports;
mod rollback;
mod sonic;
mod tc;

pub use ports::Listed;

use std::cmp::Reverse;
use std::fmt;

/// What is wanted of switches and hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Code points of the data queues, the highest queue first; none: the ports keep their queues, and mark in all of them.
    pub dscps: Vec<u8>,
    /// Bytes of a flow after which its packets go to the next queue; one fewer than `dscps`, rising, or none.
    pub thresholds_bytes: Vec<u64>,
    /// The data queue of packets with none of these code points, from 0, the highest.
    pub unmarked: usize,
    /// The ports, each with its speed.
    pub ports: Vec<Port>,
    /// The queues of a port that may be used, by the switch's own numbers. A higher number is served first. `None`: what
    /// the system has free as it is shipped.
    pub queues_of_port: Option<Vec<u8>>,
    /// How ports mark around K.
    pub marks: Marks,
    /// Whether hosts send by DCTCP already.
    pub hosts_are_dctcp: bool,
    /// What shares the ports with the data.
    pub others: Others,
}

/// The traffic besides the data, and how it is treated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// Code points that keep a queue of their own above the data, by the switch's own numbers.
    pub kept: Vec<Kept>,
    /// Where a switch's lossless queues stand.
    pub lossless: Lossless,
    /// SONiC: leave `wred_*_enable` false, so that packets without ECN are not dropped at K. Some chips then mark nothing.
    pub without_wred: bool,
}

/// Code points, and their queue.
pub type Kept = (Vec<u8>, u8);

/// Where a switch's lossless queues stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lossless {
    /// Above the data.
    #[default]
    Above,
    /// As they are: strict queues of data go first.
    Behind,
    /// Nowhere: there is no priority flow control.
    None,
}

/// How a queue marks around its threshold K.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Marks {
    /// None below K, all above.
    #[default]
    Step,
    /// Some from 20/65 of K on, half of them at 110/65, and all above: 20, 65 and 110 packets at 10 Gbit/s.
    Ramp,
}

impl Marks {
    /// The ramp's ends, in parts of K.
    pub(crate) const RAMP: [u64; 3] = [20, 110, 65];

    /// Returns from how many bytes on some packets are marked, and all; and per cent of them just below that.
    pub fn around(self, k: u64) -> (u64, u64, u32) {
        let [from, to, of] = Marks::RAMP;
        match self {
            Marks::Step => (k, k, 100),
            Marks::Ramp => ((k * from / of).max(1), k * to / of, 50),
        }
    }
}

/// A switch's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name on the switch.
    pub name: String,
    /// Its speed.
    pub rate_bps: u64,
    /// The marking threshold K of each of its queues.
    pub marks_from_bytes: u64,
}

/// What is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// SONiC: JSON for `config load` or, as a patch, `config apply-patch`.
    Sonic,
    /// Arista EOS: lines of a configuration session.
    Eos,
    /// Cisco NX-OS on Nexus 9000: lines of a configuration session.
    NxOs,
    /// Linux as a switch or a host: a batch of `tc`.
    Tc,
    /// Linux hosts: rules of nftables that write the code points.
    Nftables,
    /// Linux hosts: DCTCP by route.
    Hosts,
}

impl System {
    /// All of them.
    pub const ALL: [System; 6] =
        [System::Sonic, System::Eos, System::NxOs, System::Tc, System::Nftables, System::Hosts];

    /// Returns the name of its file.
    pub fn file(self) -> &'static str {
        match self {
            System::Sonic => "sonic.json",
            System::Eos => "eos.txt",
            System::NxOs => "nxos.txt",
            System::Tc => "tc.batch",
            System::Nftables => "nftables.conf",
            System::Hosts => "hosts.txt",
        }
    }

    /// Writes the plan.
    ///
    /// # Errors
    /// Fails if the system cannot state it: too few queues, or a threshold out of its range.
    pub fn write(self, plan: &Plan) -> Result<String, Refused> {
        plan.check()?;
        if plan.ports.is_empty() && self != System::Hosts {
            return Err(Refused::Plan("no ports".to_owned()));
        }
        match self {
            System::Sonic => sonic::write(plan),
            System::Eos => eos::write(plan),
            System::NxOs => nxos::write(plan),
            System::Tc => tc::write(plan),
            System::Nftables => nftables::write(plan),
            System::Hosts => hosts::write(plan),
        }
    }
}

/// Why a plan cannot be written, with what would do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// A port has too few queues.
    #[error("{data} queues for data: expected at most {most}, below those that are kept above them{more}")]
    Queues {
        /// Queues for data.
        data: usize,
        /// Queues that data may have.
        most: usize,
        /// What makes more of them free.
        more: &'static str,
    },
    /// A queue that the port does not have.
    #[error("queue {0}: expected queues from 0 to {MOST}")]
    NoQueue(u8),
    /// A threshold beyond what the system takes.
    #[error("K of {bytes} bytes at port {port}: expected {} to {} bytes; the nearest is {}", .range.0, .range.1, .bytes.clamp(&.range.0, &.range.1))]
    Threshold {
        /// The port.
        port: String,
        /// Its threshold.
        bytes: u64,
        /// What is taken.
        range: (u64, u64),
    },
}

/// Checks what no answer changes, before the work on one: the names of ports, the numbers of queues, and that some system
/// can state its plan.
///
/// # Errors
/// Fails as [`System::write`] does.
pub fn check(plans: &[(System, Plan)]) -> Result<(), Refused> {
    let refused: Vec<Refused> = plans.iter().filter_map(|(system, plan)| system.write(plan).err()).collect();
    let is_wrong = |refused: &Refused| matches!(refused, Refused::Plan(_) | Refused::NoQueue(_));
    // One system may state what another cannot; the answer says so for each.
    let none = refused.len() == plans.len();
    refused.into_iter().find(|refused| none || is_wrong(refused)).map_or(Ok(()), Err)
}

/// Code points of the network's own control and of voice, which stay above all data: CS6, CS7 (RFC 4594, §3), EF.
const ABOVE_DATA: [u8; 3] = [46, 48, 56];

/// Code points that often are lossless: SONiC's own, and those of RoCE.
const LOSSLESS: [u8; 4] = [3, 4, 24, 26];

/// The last queue of a port.
const MOST: u8 = 7;

/// Queues of a port, by the switch's own numbers; a higher one is served first.
#[derive(Default)]
struct Queues {
    /// For data, the highest first.
    data: Vec<u8>,
    /// For what stays above data, the highest first.
    kept: Vec<Kept>,
    /// What keeps its queue and the scheduler of that, wherever it is.
    behind: Vec<Kept>,
}

/// Joins what has the same queue, the highest first.
fn in_order(mut kept: Vec<Kept>) -> Vec<Kept> {
    kept.sort_by_key(|(_, queue)| Reverse(*queue));
    kept.dedup_by(|next, one| next.1 == one.1 && (one.0.append(&mut next.0), true).1);
    kept
}

impl Plan {
    /// Checks what every system relies on.
    fn check(&self) -> Result<(), Refused> {
        let refuse = |problem: String| Err(Refused::Plan(problem));
        let queues = self.dscps.len();
        if queues == 1 {
            return refuse("1 code point: expected at least 2, or none for ports that keep their queues".to_owned());
        }
        if queues > 0 && self.unmarked >= queues {
            return refuse(format!("packets without a mark in queue {}: expected 0 to {}", self.unmarked, queues - 1));
        }
        if self.thresholds_bytes.len() != queues.saturating_sub(1) {
            return refuse(format!("{} thresholds for {queues} queues", self.thresholds_bytes.len()));
        }
        if self.thresholds_bytes.first() == Some(&0) || !self.thresholds_bytes.is_sorted_by(|one, next| one < next) {
            return refuse("thresholds: expected rising sizes above zero".to_owned());
        }
        let mut seen = [false; 64];
        for &dscp in &self.dscps {
            // The pool for local use (RFC 2474, §6), below CS6.
            if dscp & 3 != 3 || dscp >= 48 || std::mem::replace(&mut seen[usize::from(dscp)], true) {
                return refuse(format!("DSCP {dscp}: expected distinct ones below 48 that end in binary 11"));
            }
        }
        for &dscp in self.others.kept.iter().flat_map(|(dscps, _)| dscps) {
            if dscp >= 64 || std::mem::replace(&mut seen[usize::from(dscp)], true) {
                return refuse(format!(
                    "DSCP {dscp} is to be kept: expected one below 64, once, that is not the data's"
                ));
            }
        }
        if let Some(&(_, queue)) = self.others.kept.iter().find(|(_, queue)| *queue > MOST) {
            return Err(Refused::NoQueue(queue));
        }
        for (at, port) in self.ports.iter().enumerate() {
            if !ports::is_plain(&port.name) {
                return refuse(format!("port {:?}: expected letters, digits and any of -_./", port.name));
            }
            if self.ports[..at].iter().any(|other| other.name == port.name) {
                return refuse(format!("port {}: given twice", port.name));
            }
            if port.rate_bps == 0 || port.marks_from_bytes == 0 {
                return refuse(format!("port {}: expected a rate and a threshold above zero", port.name));
            }
        }
        Ok(())
    }

    /// Gives the lowest of the free queues to data, and the highest to the network's control. What is kept is above the
    /// data. `lossless` are queues of the system that have the code point of the same number.
    ///
    /// # Errors
    /// Fails if there are too few; `more` says what makes more free.
    fn queues(&self, free: &[u8], lossless: &[u8], more: &'static str) -> Result<Queues, Refused> {
        let mut free = self.free(free)?;
        if self.marks_alone() {
            return Ok(Queues { data: free, ..Queues::default() });
        }
        // What is kept in a lossless queue stands where that does.
        let is_behind = |of: &Kept| self.others.lossless == Lossless::Behind && lossless.contains(&of.1);
        let (mut behind, mut kept): (Vec<Kept>, Vec<Kept>) = self.others.kept.iter().cloned().partition(is_behind);
        let own = lossless.iter().filter(|dscp| !self.is_named(**dscp)).map(|&dscp| (vec![dscp], dscp));
        own.for_each(|of| if is_behind(&of) { behind.push(of) } else { kept.push(of) });
        let data = self.dscps.len();
        let few = |most| Refused::Queues { data, most, more: if self.queues_of_port.is_some() { "" } else { more } };
        let control = self.control();
        if !control.is_empty() {
            kept.push((control, free.pop().ok_or(few(0))?));
        }
        let kept = in_order(kept);
        let lowest = kept.last().map_or(u8::MAX, |(_, queue)| *queue);
        free.retain(|queue| *queue < lowest);
        if free.len() < data {
            return Err(few(free.len()));
        }
        Ok(Queues { data: free[..data].iter().rev().copied().collect(), kept, behind })
    }

    /// Whether the plan says where packets of this code point go.
    fn is_named(&self, dscp: u8) -> bool {
        self.dscps.contains(&dscp) || self.others.kept.iter().any(|(dscps, _)| dscps.contains(&dscp))
    }

    /// The code points of the network's own control that have no other queue.
    fn control(&self) -> Vec<u8> {
        ABOVE_DATA.into_iter().filter(|dscp| !self.is_named(*dscp)).collect()
    }

    /// Says so if code points that often are lossless go with unmarked packets.
    fn loses(&self) -> &'static str {
        let is_kept = LOSSLESS.iter().any(|dscp| self.is_named(*dscp)) || self.others.lossless == Lossless::None;
        match is_kept || self.marks_alone() {
            true => "",
            false => {
                "! No queue is kept for lossless traffic: DSCP 3, 4, 24 and 26 go with unmarked packets. --keep 24,26=3\n\
                 ! keeps one, above the data.\n"
            }
        }
    }

    /// Returns the queues that may be used, rising, without those that are kept.
    fn free(&self, free: &[u8]) -> Result<Vec<u8>, Refused> {
        let mut free = self.queues_of_port.clone().unwrap_or_else(|| free.to_vec());
        free.sort_unstable();
        free.dedup();
        if let Some(&queue) = free.iter().find(|&&queue| queue > MOST) {
            return Err(Refused::NoQueue(queue));
        }
        free.retain(|queue| !self.others.kept.iter().any(|(_, kept)| kept == queue));
        Ok(free)
    }

    /// Whether ports keep their queues, and only mark.
    fn marks_alone(&self) -> bool {
        self.dscps.is_empty()
    }

    /// Refuses thresholds beyond `range`.
    fn check_thresholds(&self, range: (u64, u64)) -> Result<(), Refused> {
        let ends = self.ports.iter().flat_map(|port| {
            let (from, to, _) = self.marks.around(port.marks_from_bytes);
            [(port, from), (port, to)]
        });
        let outside = { ends }.find(|(_, bytes)| !(range.0..=range.1).contains(bytes));
        outside.map_or(Ok(()), |(port, bytes)| Err(Refused::Threshold { port: port.name.clone(), bytes, range }))
    }

    /// The ports of each pair of speed and threshold, in their order.
    fn by_speed(&self) -> Vec<(&Port, Vec<&Port>)> {
        let mut speeds: Vec<(&Port, Vec<&Port>)> = Vec::new();
        for port in &self.ports {
            let same = |(of, _): &&mut (&Port, _)| {
                (of.rate_bps, of.marks_from_bytes) == (port.rate_bps, port.marks_from_bytes)
            };
            match speeds.iter_mut().find(same) {
                Some((_, ports)) => ports.push(port),
                None => speeds.push((port, vec![port])),
            }
        }
        speeds
    }
}

/// A speed as part of a name: 25G, 2500M.
struct Speed(u64);

impl fmt::Display for Speed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K")];
        match UNITS.iter().find(|(unit, _)| self.0.is_multiple_of(*unit)) {
            Some((unit, letter)) => write!(to, "{}{letter}", self.0 / unit),
            None => write!(to, "{}", self.0),
        }
    }
}
