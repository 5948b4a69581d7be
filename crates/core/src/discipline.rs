//! Which queue of a bank sends next: strict priority, weighted round robin, deficit round robin.

use crate::fifo::Fifo;
use crate::meta::Meta;

/// The service order of a bank of FIFO queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// The lowest-numbered queue that holds a packet (SP).
    StrictPriority,
    /// Up to `weights[i]` packets of queue i a turn (WRR).
    WeightedRoundRobin {
        /// Packets a turn, each at least 1; one entry per queue.
        weights: Vec<u32>,
    },
    /// Up to `quanta[i]` bytes of queue i a turn, the unused part kept while it is backlogged (DRR; Shreedhar and
    /// Varghese, SIGCOMM 1995).
    DeficitRoundRobin {
        /// Bytes a turn, each at least 1; one entry per queue.
        quanta: Vec<u32>,
    },
    /// Groups of neighbouring queues under strict priority: the first group that holds a packet sends (QCluster, Table 3:
    /// flows with a special property before the others).
    Groups(Vec<Group>),
}

/// Neighbouring queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of queues; at least 1.
    pub queues: usize,
    /// Packets a turn of each queue, each at least 1; `None`: strict priority.
    pub weights: Option<Vec<u32>>,
}

/// A discipline and the state of its turns. Strict priority needs only the first field.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Turn {
    discipline: Discipline,
    /// The queue whose turn it is.
    current: usize,
    /// By group: the queue whose turn it is.
    current_of: Vec<usize>,
    /// What a queue may still send: packets of the current one (WRR), or bytes of each (DRR).
    credit: Vec<u64>,
}

impl Turn {
    pub(crate) fn new(discipline: Discipline, queues: usize) -> Turn {
        let current_of = match &discipline {
            Discipline::Groups(groups) => groups.iter().map(|group| group.queues - 1).collect(),
            _ => Vec::new(),
        };
        Turn { discipline, current: queues - 1, current_of, credit: vec![0; queues] }
    }

    /// Changes the packets a turn of the queues from `first` on, if they share by weight.
    pub(crate) fn set_weights(&mut self, first: usize, new: impl Iterator<Item = u32>) {
        let weights = match &mut self.discipline {
            Discipline::WeightedRoundRobin { weights } => Some(&mut weights[first..]),
            Discipline::Groups(groups) => {
                let group = group_of(groups, first);
                groups[group].weights.as_deref_mut()
            }
            _ => None,
        };
        weights.into_iter().flatten().zip(new).for_each(|(weight, new)| *weight = new);
    }

    /// Returns whether a packet that bypasses an empty bank leaves no trace in the service order.
    pub(crate) fn is_memoryless(&self) -> bool {
        self.discipline == Discipline::StrictPriority
    }

    /// Returns the queue that sends next, out of the bitmap `occupied`, which is not empty, and charges the queue.
    #[inline(always)]
    pub(crate) fn next(&mut self, occupied: u64, queues: &[Fifo], metas: &[Meta]) -> usize {
        match &self.discipline {
            Discipline::StrictPriority => return occupied.trailing_zeros() as usize,
            Discipline::WeightedRoundRobin { weights } => {
                self.current = weighted(self.current, &mut self.credit, weights, occupied);
            }
            Discipline::Groups(groups) => {
                return in_groups(groups, &mut self.current_of, &mut self.credit, occupied);
            }
            Discipline::DeficitRoundRobin { quanta } => {
                let head = |queue: usize| queues[queue].front().map_or(0, |p| u64::from(metas[p as usize].len));
                self.current = deficit(self.current, &mut self.credit, quanta, occupied, head);
            }
        }
        self.current
    }

    /// Notes that a queue ran empty: deficit round robin keeps no credit for it.
    #[inline]
    pub(crate) fn emptied(&mut self, queue: usize) {
        if let Discipline::DeficitRoundRobin { .. } = self.discipline {
            self.credit[queue] = 0;
        }
    }
}

/// Returns the group of a queue.
fn group_of(groups: &[Group], queue: usize) -> usize {
    let ends = groups.iter().scan(0, |end, group| {
        *end += group.queues;
        Some(*end)
    });
    ends.take_while(|&end| end <= queue).count()
}

/// Returns the next queue of the first group that holds a packet; `current`: by group.
#[inline(never)]
fn in_groups(groups: &[Group], current: &mut [usize], credit: &mut [u64], occupied: u64) -> usize {
    let first = occupied.trailing_zeros() as usize;
    let group = group_of(groups, first);
    let Some(weights) = &groups[group].weights else { return first };
    let begin: usize = groups[..group].iter().map(|group| group.queues).sum();
    let members = u64::MAX >> (64 - weights.len());
    current[group] = weighted(current[group], &mut credit[begin..], weights, occupied >> begin & members);
    begin + current[group]
}

/// Returns weighted round robin's next queue.
#[inline(never)]
fn weighted(current: usize, credit: &mut [u64], weights: &[u32], occupied: u64) -> usize {
    let mut queue = current;
    if occupied >> queue & 1 == 0 || credit[queue] == 0 {
        queue = after(queue, occupied);
        credit[queue] = u64::from(weights[queue]);
    }
    credit[queue] -= 1;
    queue
}

/// Returns deficit round robin's next queue; `head`: the length of a queue's first packet.
#[inline(never)]
fn deficit(current: usize, credit: &mut [u64], quanta: &[u32], occupied: u64, head: impl Fn(usize) -> u64) -> usize {
    let mut queue = current;
    loop {
        if occupied >> queue & 1 == 1 {
            let head = head(queue);
            if head <= credit[queue] {
                credit[queue] -= head;
                return queue;
            }
        }
        queue = after(queue, occupied);
        credit[queue] += u64::from(quanta[queue]);
    }
}

/// Returns the next occupied queue after `current`, cyclically; `current` itself if it is the only one.
fn after(current: usize, occupied: u64) -> usize {
    let above = occupied & (u64::MAX << current << 1);
    (if above != 0 { above } else { occupied }).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after__wraps_round_the_ring() {
        assert_eq!(after(0, 0b1010), 1);
        assert_eq!(after(1, 0b1010), 3);
        assert_eq!(after(3, 0b1010), 1);
        assert_eq!(after(2, 0b0100), 2);
        assert_eq!(after(63, 1 << 63), 63);
    }
}
