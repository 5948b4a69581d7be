//! The hosts' records of finished messages. Hosts keep them in chunks in the order of their ends; the result takes them out
//! by number. A list of millions is never copied to grow, and its memory falls while that of the result's rows rises.

use std::collections::{BTreeMap, BTreeSet};

use flowsieve_core::Time;
use flowsieve_core::message::{Effort, Held};
use flowsieve_core::steps::StepTimes;
use flowsieve_workload::Flow;

use crate::build::Built;
use crate::partition::Partition;

/// The sending side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) message: u32,
    pub(crate) acknowledged: Time,
    pub(crate) effort: Effort,
}

/// The receiving side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) message: u32,
    pub(crate) at: Time,
    pub(crate) out_of_order: u32,
}

/// What a receiver waited for before it asked for packets again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Awaited {
    pub(crate) asked: u32,
    pub(crate) time: Time,
}

/// Records in a chunk.
const CHUNK: usize = 1 << 12;

/// A list that grows without being moved.
pub(crate) struct Chunks<T>(Vec<Vec<T>>);

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks(Vec::new())
    }
}

impl<T> Chunks<T> {
    pub(crate) fn push(&mut self, item: T) {
        match self.0.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(item),
            last => {
                // The list of a small run stays small.
                let mut chunk = Vec::with_capacity(if last.is_some() { CHUNK } else { 1 });
                chunk.push(item);
                self.0.push(chunk);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.split_last().map_or(0, |(last, full)| full.len() * CHUNK + last.len())
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

/// The numbers of some flows: from the first on, and how many up to the last.
#[derive(Clone, Copy)]
struct Numbers {
    first: u32,
    count: usize,
}

impl Numbers {
    fn of(flows: &[Flow]) -> Numbers {
        // Flows that follow others do not begin in the order of their numbers.
        let numbers = || flows.iter().map(|flow| flow.id);
        let (first, last) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        Numbers { first, count: (last - first) as usize + 1 }
    }

    fn place(self, number: u32) -> usize {
        (number - self.first) as usize
    }
}

/// Which messages have been acknowledged and received as a whole.
pub(crate) struct Ends {
    numbers: Numbers,
    pub(crate) acknowledged: Vec<bool>,
    pub(crate) received: Vec<bool>,
}

impl Ends {
    pub(crate) fn new<K>(built: &Built<K>, flows: &[Flow]) -> Ends {
        let numbers = Numbers::of(flows);
        let (mut acknowledged, mut received) = (vec![false; numbers.count], vec![false; numbers.count]);
        for Partition { hosts, .. } in &built.partitions {
            hosts.sent.iter().for_each(|sent| acknowledged[numbers.place(sent.message)] = true);
            hosts.received.iter().for_each(|record| received[numbers.place(record.message)] = true);
        }
        Ends { numbers, acknowledged, received }
    }

    /// Returns whether a flow's receiver has it, or whether its sender knows that.
    pub(crate) fn has(&self, flow: &Flow, acknowledged: bool) -> bool {
        let ended = if acknowledged { &self.acknowledged } else { &self.received };
        ended[self.numbers.place(flow.id)]
    }
}

/// Finds records by the numbers of their messages. A record can be taken once.
struct ByNumber<T> {
    /// And how many records of each have not been taken.
    chunks: Vec<(Vec<T>, usize)>,
    /// By message, counted from the first: its place, if all chunks were full.
    at: Vec<u32>,
}

impl<T: Copy> ByNumber<T> {
    const NONE: u32 = u32::MAX;

    fn new(lists: impl Iterator<Item = Chunks<T>>, count: usize, place: impl Fn(&T) -> usize) -> ByNumber<T> {
        let chunks: Vec<_> = lists.flat_map(|list| list.0).map(|chunk| (chunk.len(), chunk)).collect();
        let mut at = vec![Self::NONE; count];
        for ((_, chunk), first) in chunks.iter().zip((0..).step_by(CHUNK)) {
            for (record, record_at) in chunk.iter().zip(first..) {
                at[place(record)] = record_at;
            }
        }
        ByNumber { chunks: chunks.into_iter().map(|(count, chunk)| (chunk, count)).collect(), at }
    }

    fn take(&mut self, place: usize) -> Option<T> {
        let at = std::mem::replace(&mut self.at[place], Self::NONE) as usize;
        let (chunk, left) = self.chunks.get_mut(at / CHUNK)?;
        let record = *chunk.get(at % CHUNK)?;
        *left -= 1;
        if *left == 0 {
            *chunk = Vec::new();
        }
        Some(record)
    }
}

/// What is known of a message.
pub(crate) struct Record {
    /// If its sender knows that it has ended.
    pub(crate) sent: Option<Sent>,
    /// If its receiver has it.
    pub(crate) received: Option<Received>,
    /// What its receiver held for reordering.
    pub(crate) held: Held,
    /// Packets that arrived twice.
    pub(crate) unneeded: u32,
    /// What its receiver waited for before it asked for packets again.
    pub(crate) awaited: Awaited,
    /// Whether a host gave it up.
    pub(crate) given_up: bool,
    /// The time in each step of QCLIMB, if its tagger has steps.
    pub(crate) steps: Option<StepTimes>,
}

/// The records of all hosts.
pub(crate) struct Records {
    numbers: Numbers,
    sent: ByNumber<Sent>,
    received: ByNumber<Received>,
    held: BTreeMap<u32, Held>,
    unneeded: BTreeMap<u32, u32>,
    awaited: BTreeMap<u32, Awaited>,
    given_up: BTreeSet<u32>,
    steps: BTreeMap<u32, StepTimes>,
}

impl Records {
    /// Takes the records out of a run that has ended, and leaves nothing else of it.
    pub(crate) fn of<K>(built: Built<K>, flows: &[Flow]) -> Records {
        let numbers = Numbers::of(flows);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let (mut held, mut unneeded, mut steps) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut given_up, mut awaited) = (BTreeSet::new(), BTreeMap::new());
        for Partition { hosts, .. } in built.partitions {
            sent.push(hosts.sent);
            received.push(hosts.received);
            held.extend(hosts.reordered);
            steps.extend(hosts.steps);
            awaited.extend(hosts.awaited);
            given_up.extend(hosts.given_up);
            for message in hosts.unneeded {
                *unneeded.entry(message).or_default() += 1;
            }
        }
        Records {
            numbers,
            sent: ByNumber::new(sent.into_iter(), numbers.count, |sent| numbers.place(sent.message)),
            received: ByNumber::new(received.into_iter(), numbers.count, |record| numbers.place(record.message)),
            held,
            unneeded,
            awaited,
            given_up,
            steps,
        }
    }

    /// Takes what is known of a flow.
    pub(crate) fn take(&mut self, flow: &Flow) -> Record {
        let place = self.numbers.place(flow.id);
        Record {
            sent: self.sent.take(place),
            received: self.received.take(place),
            held: self.held.get(&flow.id).copied().unwrap_or_default(),
            unneeded: self.unneeded.get(&flow.id).copied().unwrap_or(0),
            awaited: self.awaited.get(&flow.id).copied().unwrap_or_default(),
            given_up: self.given_up.contains(&flow.id),
            steps: self.steps.get(&flow.id).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the even numbers and the odd numbers from 0 to `count` - 2.
    fn lists(count: usize) -> [Chunks<usize>; 2] {
        let mut lists = [Chunks::default(), Chunks::default()];
        (0..count - 1).rev().for_each(|number| lists[number % 2].push(number));
        lists
    }

    #[test]
    fn chunks__have_what_was_pushed_in_its_order() {
        let mut list = Chunks::default();
        assert_eq!(list.len(), 0);
        (0..2 * CHUNK + 3).for_each(|number| list.push(number));
        assert_eq!((list.len(), list.0.len(), list.0[1].capacity()), (2 * CHUNK + 3, 3, CHUNK));
        assert!(list.iter().copied().eq(0..2 * CHUNK + 3));
    }

    #[test]
    fn by_number__each_record_once_and_a_chunk_goes_with_its_last() {
        let count = 3 * CHUNK;
        let mut records = ByNumber::new(lists(count).into_iter(), count, |number| *number);
        let kept = |records: &ByNumber<usize>| records.chunks.iter().filter(|(chunk, _)| !chunk.is_empty()).count();
        assert_eq!(kept(&records), 4);
        assert!((0..count - 1).all(|number| records.take(number) == Some(number)));
        assert_eq!((records.take(count - 1), records.take(0), kept(&records)), (None, None, 0));
    }
}
