//! Collective operations of groups of hosts, as jobs on accelerators have them between two steps of computation
//! (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005;
//! Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", JPDC 2009).
//!
//! *Ring.* Each of n hosts holds a vector in n chunks. In step s, host i sends chunk i − s to host i + 1; it begins with
//! step s + 1 when the chunk of step s from host i − 1 has come. After 2(n − 1) steps all hosts have the sums.
//!
//! *Tree.* Host j has the parent (j − 1) / 2. A host sends the whole vector up when it has come from all of its children,
//! and the first host sends the sums down, from where each host passes them on.
//!
//! *All-to-all.* Each host sends a message to each other one, all at once, whose sizes are drawn each by itself.
//!
//! A host begins its part of a collective when it has all of the one before and has computed for a time; there is no
//! barrier beside. Chunks that come earlier wait. The messages of all collectives are numbered before anything runs, and
//! each property of a message except its start is a function of its number and the seed. All messages of a collective of
//! a group are one coflow.
//!
//! Left out: several trees, and vectors that go through a tree in pieces; the time of the sums themselves, which is part
//! of the computation; and hosts that are in several groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::Flow;
use crate::distribution::SizeDistribution;
use crate::random::{Purpose, stream};

/// How the hosts of a group exchange their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// All have the sum of all: chunks go round a ring twice.
    Ring,
    /// All have the sum of all: up a binary tree, and down again.
    Tree,
    /// Each sends to each other one.
    AllToAllV,
}

/// Collectives of some groups of hosts, one after the other in each group.
#[derive(Clone, Debug)]
pub struct Collectives {
    exchange: Exchange,
    /// The hosts of the groups, group by group.
    hosts: Arc<[u32]>,
    /// Hosts of a group.
    size: u32,
    /// Collectives of each group.
    repeats: u32,
    /// How long a host computes before each collective but the first.
    gap_ps: u64,
    sizes: SizeDistribution,
    seed: u64,
    /// Whether each group is a class of flows of its own.
    by_group: bool,
}

/// Why such collectives are impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CollectiveError {
    /// Nobody to exchange with.
    #[error("a collective over one host; expected groups of two hosts at least")]
    OneHost,
    /// Hosts that do not make whole groups.
    #[error("{hosts} hosts in groups of {size}; expected a number of hosts that the size of a group divides")]
    Rest {
        /// Number of hosts.
        hosts: u32,
        /// Hosts of a group.
        size: u32,
    },
    /// Nothing happens.
    #[error("no collective; expected at least one")]
    None,
    /// Too many messages.
    #[error("the collectives have {0} messages; expected at most {most}", most = Collectives::MOST_MESSAGES)]
    Many(u64),
}

/// What hosts know of the collectives that they have not finished.
#[derive(Clone, Debug, Default)]
pub struct Underway {
    /// By coflow and member of the group.
    parts: BTreeMap<(u32, u32), Part>,
}

/// A host's part of a collective.
#[derive(Clone, Debug, Default)]
struct Part {
    /// Messages that have come.
    received: u32,
    /// Those of them that came from below in the tree.
    from_children: u32,
    /// When its own data is there, if that is known.
    begins_ps: Option<u64>,
    /// Messages that wait for that.
    waiting: Vec<u32>,
}

/// A message by its place: the coflow, and the number among the coflow's messages.
#[derive(Clone, Copy)]
struct Place {
    coflow: u32,
    nth: u32,
}

/// A message that begins: its number, and when.
pub type Begins = (u32, u64);

impl Collectives {
    /// The most messages of all collectives together.
    pub const MOST_MESSAGES: u64 = 50_000_000;

    /// Builds `repeats` collectives of each group of `size` of these hosts. `sizes` are those of the vectors, or of the
    /// messages under [`Exchange::AllToAllV`].
    pub fn new(
        exchange: Exchange,
        (hosts, size): (Arc<[u32]>, u32),
        (repeats, gap_ps): (u32, u64),
        sizes: SizeDistribution,
        seed: u64,
    ) -> Result<Collectives, CollectiveError> {
        if size < 2 {
            return Err(CollectiveError::OneHost);
        }
        let count = hosts.len() as u32;
        if count == 0 || !count.is_multiple_of(size) {
            return Err(CollectiveError::Rest { hosts: count, size });
        }
        if repeats == 0 {
            return Err(CollectiveError::None);
        }
        let collectives = Collectives { exchange, hosts, size, repeats, gap_ps, sizes, seed, by_group: false };
        let each = collectives.steps() * u64::from(size);
        let of_coflow = if exchange == Exchange::Tree { 2 * u64::from(size - 1) } else { each };
        let messages = of_coflow * u64::from(collectives.groups()) * u64::from(repeats);
        if messages > Collectives::MOST_MESSAGES {
            return Err(CollectiveError::Many(messages));
        }
        Ok(collectives)
    }

    /// The same collectives, where the flows of each group, counted from 0, are a class of their own.
    #[must_use]
    pub fn with_classes(self) -> Collectives {
        Collectives { by_group: true, ..self }
    }

    /// The same collectives with other sizes.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Collectives {
        Collectives { seed, ..self }
    }

    /// Returns the messages that a host sends one after the other, or at once.
    fn steps(&self) -> u64 {
        match self.exchange {
            Exchange::Ring => 2 * u64::from(self.size - 1),
            Exchange::Tree => 2,
            Exchange::AllToAllV => u64::from(self.size - 1),
        }
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> u32 {
        self.hosts.len() as u32 / self.size
    }

    /// Returns the number of collectives of all groups.
    pub fn collectives(&self) -> u32 {
        self.groups() * self.repeats
    }

    /// Returns the number of messages of all of them; they are numbered from 0.
    pub fn messages(&self) -> u32 {
        self.collectives() * self.of_coflow()
    }

    /// Returns the sizes that are drawn.
    pub fn sizes(&self) -> &SizeDistribution {
        &self.sizes
    }

    /// Returns how many messages carry the size that is drawn for a vector: 1 if it is that of a message.
    pub fn parts(&self) -> u32 {
        if self.exchange == Exchange::Ring { self.size } else { 1 }
    }

    /// Returns how many hosts send to one at once: the others of the group, or one of a ring, or the two below in a tree.
    pub fn senders(&self) -> u32 {
        match self.exchange {
            Exchange::Ring => 1,
            Exchange::Tree => 2,
            Exchange::AllToAllV => self.size - 1,
        }
    }

    /// Returns how long a host computes between two collectives.
    pub fn gap_ps(&self) -> u64 {
        self.gap_ps
    }

    /// Returns the number of bytes that a host sends in a collective, as a multiple of the mean size.
    pub fn bytes_of_host(&self) -> f64 {
        let n = f64::from(self.size);
        match self.exchange {
            Exchange::Ring | Exchange::Tree => 2.0 * (n - 1.0) / n,
            Exchange::AllToAllV => n - 1.0,
        }
    }

    /// Returns all messages between hosts of one collective of each group: (sender, receiver).
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let of = |coflow| (0..self.of_coflow()).map(move |nth| Place { coflow, nth });
        (0..self.groups()).flat_map(of).map(|place| self.ends(place)).collect()
    }

    /// Messages of a coflow.
    fn of_coflow(&self) -> u32 {
        match self.exchange {
            Exchange::Ring => 2 * (self.size - 1) * self.size,
            Exchange::Tree => 2 * (self.size - 1),
            Exchange::AllToAllV => (self.size - 1) * self.size,
        }
    }

    fn place(&self, message: u32) -> Place {
        Place { coflow: message / self.of_coflow(), nth: message % self.of_coflow() }
    }

    fn number(&self, place: Place) -> u32 {
        place.coflow * self.of_coflow() + place.nth
    }

    /// Returns the members that send and receive a message.
    fn members(&self, nth: u32) -> (u32, u32) {
        let n = self.size;
        match self.exchange {
            Exchange::Ring => (nth % n, (nth % n + 1) % n),
            Exchange::Tree if nth < n - 1 => (nth + 1, nth / 2),
            Exchange::Tree => ((nth - (n - 1)) / 2, nth - (n - 1) + 1),
            Exchange::AllToAllV => (nth / (n - 1), (nth / (n - 1) + 1 + nth % (n - 1)) % n),
        }
    }

    fn host(&self, coflow: u32, member: u32) -> u32 {
        self.hosts[(coflow % self.groups() * self.size + member) as usize]
    }

    fn ends(&self, place: Place) -> (u32, u32) {
        let (from, to) = self.members(place.nth);
        (self.host(place.coflow, from), self.host(place.coflow, to))
    }

    fn children(&self, member: u32) -> impl Iterator<Item = u32> + use<> {
        let size = self.size;
        [2 * member + 1, 2 * member + 2].into_iter().filter(move |child| *child < size)
    }

    /// Returns the messages that a member sends before any has come.
    fn first_of(&self, member: u32) -> Vec<u32> {
        let n = self.size;
        match self.exchange {
            Exchange::Ring => vec![member],
            Exchange::Tree if self.children(member).next().is_none() => vec![member - 1],
            Exchange::Tree => Vec::new(),
            Exchange::AllToAllV => (member * (n - 1)..(member + 1) * (n - 1)).collect(),
        }
    }

    /// Returns the messages that a member sends because one has come.
    fn caused_by(&self, nth: u32, member: u32, part: &mut Part) -> Vec<u32> {
        let n = self.size;
        let down = |member: u32| self.children(member).map(|child| n - 1 + child - 1).collect();
        match self.exchange {
            Exchange::Ring => {
                let step = nth / n;
                if step + 1 < 2 * (n - 1) { vec![(step + 1) * n + member] } else { Vec::new() }
            }
            Exchange::Tree if nth < n - 1 => {
                part.from_children += 1;
                match (part.from_children as usize == self.children(member).count(), member) {
                    (false, _) => Vec::new(),
                    (true, 0) => down(0),
                    (true, member) => vec![member - 1],
                }
            }
            Exchange::Tree => down(member),
            Exchange::AllToAllV => Vec::new(),
        }
    }

    /// Returns the number of messages that a member receives in a collective.
    fn receives(&self, member: u32) -> u32 {
        match self.exchange {
            Exchange::Ring => 2 * (self.size - 1),
            Exchange::Tree => self.children(member).count() as u32 + u32::from(member > 0),
            Exchange::AllToAllV => self.size - 1,
        }
    }

    /// Returns the messages that begin with the run.
    pub fn first(&self) -> Vec<u32> {
        let of_group = |coflow: u32| {
            let of_member = move |member| self.first_of(member).into_iter().map(move |nth| Place { coflow, nth });
            (0..self.size).flat_map(of_member)
        };
        (0..self.groups()).flat_map(of_group).map(|place| self.number(place)).collect()
    }

    /// Returns the messages that begin at the host to which a message has just been delivered, each with its start, which
    /// may be later. `underway` is of some hosts, among them this one.
    pub fn after(&self, delivered: u32, now_ps: u64, underway: &mut Underway) -> Vec<Begins> {
        if delivered >= self.messages() {
            return Vec::new();
        }
        let Place { coflow, nth } = self.place(delivered);
        let (_, member) = self.members(nth);
        let part = self.part(underway, coflow, member);
        part.received += 1;
        let caused = self.caused_by(nth, member, part);
        let Some(begins_ps) = part.begins_ps else {
            part.waiting.extend(caused);
            return Vec::new();
        };
        let number = |nth| self.number(Place { coflow, nth });
        let mut begin: Vec<Begins> = caused.into_iter().map(|nth| (number(nth), now_ps.max(begins_ps))).collect();
        if part.received == self.receives(member) {
            self.go_on((coflow, member), now_ps.max(begins_ps), underway, &mut begin);
        }
        begin
    }

    /// Begins what follows when a member has all of a collective, and of those after it that it has all of as well.
    fn go_on(
        &self,
        (mut coflow, member): (u32, u32),
        mut now_ps: u64,
        underway: &mut Underway,
        begin: &mut Vec<Begins>,
    ) {
        loop {
            underway.parts.remove(&(coflow, member));
            coflow += self.groups();
            if coflow >= self.collectives() {
                return;
            }
            let begins_ps = now_ps.saturating_add(self.gap_ps);
            let part = self.part(underway, coflow, member);
            part.begins_ps = Some(begins_ps);
            let waiting = std::mem::take(&mut part.waiting);
            let has_all = part.received == self.receives(member);
            let first = self.first_of(member).into_iter().chain(waiting);
            begin.extend(first.map(|nth| (self.number(Place { coflow, nth }), begins_ps)));
            if !has_all {
                return;
            }
            now_ps = begins_ps;
        }
    }

    fn part<'a>(&self, underway: &'a mut Underway, coflow: u32, member: u32) -> &'a mut Part {
        // The first collectives begin with the run.
        let begins_ps = (coflow < self.groups()).then_some(0);
        underway.parts.entry((coflow, member)).or_insert_with(|| Part { begins_ps, ..Part::default() })
    }

    /// Returns a message that begins at `start_ps`.
    pub fn message(&self, id: u32, start_ps: u64) -> Flow {
        let place = self.place(id);
        let (src, dst) = self.ends(place);
        // Entity 0 is for the whole workload.
        let drawn = |entity: u32| self.sizes.sample(&mut stream(self.seed, Purpose::Sizes, u64::from(entity) + 1));
        let bytes = match self.exchange {
            Exchange::Ring => {
                let (bytes, n) = (drawn(place.coflow), self.size);
                let (step, member) = (place.nth / n, place.nth % n);
                let chunk = (member + 2 * n - step) % n;
                (bytes / u64::from(n) + u64::from(u64::from(chunk) < bytes % u64::from(n))).max(1)
            }
            Exchange::Tree => drawn(place.coflow),
            Exchange::AllToAllV => drawn(id),
        };
        let class = if self.by_group { (place.coflow % self.groups()) as u8 } else { 0 };
        Flow { id, start_ps, src, dst, bytes, class, deadline_ps: None, coflow: Some(place.coflow) }
    }
}

#[cfg(test)]
#[path = "collective_tests.rs"]
mod tests;
