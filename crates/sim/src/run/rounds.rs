//! Rounds of partitions, on one thread or several.
//!
//! In a round, every [stage](crate::cut) runs up to the instant before which nothing more can come to it: the least of
//! what each of its inputs has reached and the delay from there. Then it hands its packets to the next stages.
//!
//! *Threads.* A thread runs the same partitions from beginning to end, and they share its slab. A packet to another
//! thread is copied into that thread's mail. Threads meet after each stage and take their mail. Which thread runs a
//! partition, and when, affects no result: a link has one sender, so its packets come in order, and events of one
//! instant are in the order of their sources.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowsieve_core::{Meta, Time};

use super::barrier::{Barrier, Broken};
use super::next_event;
use crate::build::Built;
use crate::cut::Stage;
use crate::event::Key;
use crate::network::Crossing;
use crate::partition::Partition;
use crate::slab::{Body, Slab};

/// A packet for a partition of another thread.
struct Parcel {
    /// The partition's index among those of its thread.
    partition: u32,
    link: u32,
    at: Time,
    meta: Meta,
    body: Body,
}

/// What threads share.
struct Shared {
    barrier: Barrier,
    /// By sender, then by receiver.
    mail: Vec<Mutex<Vec<Parcel>>>,
    /// By thread, of two rounds in turn: what comes next there, and how many packet-hops it has made.
    said: Vec<[(AtomicU64, AtomicU64); 2]>,
}

impl Shared {
    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Vec<Parcel>> {
        self.mail[from * self.said.len() + to].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs rounds until no event before `horizon` is left, or until at least `most` packet-hops are made. Returns whether
/// none is left.
pub(super) fn run<K: Key>(built: &mut Built<K>, horizon: Time, most: u64) -> bool {
    let threads = built.slabs.len();
    let shared = Shared {
        barrier: Barrier::new(threads),
        mail: (0..threads * threads).map(|_| Mutex::default()).collect(),
        said: (0..threads).map(|_| Default::default()).collect(),
    };
    let mut own: Vec<Vec<&mut Partition<K>>> = (0..threads).map(|_| Vec::new()).collect();
    let mut of_stages = vec![Vec::new(); threads];
    // By partition: its thread, and its index among those of the thread.
    let mut places = Vec::with_capacity(built.partitions.len());
    let mut partitions = built.partitions.iter_mut().zip(&built.threads);
    for stage in &built.stages {
        let first: Vec<usize> = own.iter().map(Vec::len).collect();
        for (partition, &thread) in partitions.by_ref().take(stage.partitions.len()) {
            places.push((thread, own[thread as usize].len() as u32));
            own[thread as usize].push(partition);
        }
        let of_thread = own.iter().map(Vec::len).zip(first);
        of_stages.iter_mut().zip(of_thread).for_each(|(stages, (end, first))| stages.push(first..end));
    }
    let workers = own.into_iter().zip(of_stages).zip(&mut built.slabs).enumerate();
    let mut workers: Vec<Worker<'_, '_, K>> = workers
        .map(|(thread, ((own, of_stages), slab))| Worker {
            thread,
            own,
            of_stages,
            slab,
            reached: built.reached.clone(),
            places: &places,
            stages: &built.stages,
            shared: &shared,
            outgoing: (0..threads).map(|_| Vec::new()).collect(),
            first_sent: Time::NEVER,
        })
        .collect();
    let (first, others) = workers.split_first_mut().expect("a thread");
    let ended = std::thread::scope(|scope| {
        for worker in others {
            scope.spawn(move || worker.run(horizon, most));
        }
        first.run(horizon, most)
    });
    built.reached = std::mem::take(&mut first.reached);
    drop(workers);
    count_surplus_events(built);
    // A thread that panicked has made the scope panic.
    ended.unwrap_or(false)
}

/// Messages that begin at one instant are one event of each of their partitions, and one in a whole run.
fn count_surplus_events<K>(built: &mut Built<K>) {
    let starts = built.partitions.iter_mut().zip(0u32..).flat_map(|(partition, number)| {
        let starts = partition.hosts.starts.iter_mut().flat_map(|starts| starts.drain(..));
        starts.map(move |at| (at, number)).collect::<Vec<_>>()
    });
    let mut starts: Vec<(Time, u32)> = starts.collect();
    starts.sort_unstable();
    for of_instant in starts.chunk_by(|a, b| a.0 == b.0) {
        let most = of_instant.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len).max().unwrap_or(0);
        built.surplus_events += (of_instant.len() - most) as u64;
    }
}

/// A thread with its partitions.
struct Worker<'a, 'p, K> {
    thread: usize,
    own: Vec<&'p mut Partition<K>>,
    /// By stage: its partitions in `own`.
    of_stages: Vec<Range<usize>>,
    slab: &'p mut Slab,
    reached: Vec<Time>,
    places: &'a [(u32, u32)],
    stages: &'a [Stage],
    shared: &'a Shared,
    /// By thread: packets for it that are not in its mail yet.
    outgoing: Vec<Vec<Parcel>>,
    /// When the first of the packets arrives that were sent to other threads in this round.
    first_sent: Time,
}

impl<K: Key> Worker<'_, '_, K> {
    fn run(&mut self, horizon: Time, most: u64) -> Result<bool, Broken> {
        let (barrier, made_before) = (&self.shared.barrier, self.hops());
        let _guard = barrier.break_on_panic();
        let limit = horizon.min(K::END);
        for round in 0usize.. {
            let next = self.own.iter().map(|partition| next_event(partition)).min().unwrap_or(Time::NEVER);
            let said = (next.min(self.first_sent), self.hops() - made_before);
            self.first_sent = Time::NEVER;
            let (next, hops) = self.agree(round % 2, said)?;
            let start = next.min(horizon);
            self.reached.iter_mut().for_each(|reached| *reached = start.max(*reached));
            if next >= limit || hops >= most {
                return Ok(next >= limit);
            }
            for stage in 0..self.stages.len() {
                if stage > 0 {
                    barrier.wait()?;
                    self.take_mail();
                }
                let inputs = self.stages[stage].inputs.iter();
                let ends = inputs.map(|&(from, delay)| Time(self.reached[from].0.saturating_add(delay.0)));
                let end = ends.min().unwrap_or(Time::NEVER).min(horizon).max(self.reached[stage]);
                debug_assert!(end <= horizon.max(self.reached[stage]));
                self.reached[stage] = end;
                self.of_stages[stage].clone().for_each(|partition| self.run_partition(partition, end));
                self.send_mail();
            }
        }
        unreachable!("rounds are counted without an end")
    }

    fn hops(&self) -> u64 {
        self.own.iter().map(|partition| partition.network.hops()).sum()
    }

    /// Tells the others what comes next here and the packet-hops made; returns the least and the sum over all threads.
    fn agree(&mut self, turn: usize, (next, hops): (Time, u64)) -> Result<(Time, u64), Broken> {
        let said = |thread: usize| &self.shared.said[thread][turn];
        said(self.thread).0.store(next.0, Ordering::Relaxed);
        said(self.thread).1.store(hops, Ordering::Relaxed);
        self.shared.barrier.wait()?;
        let all = (0..self.shared.said.len()).map(said);
        let all = all.map(|(next, hops)| (next.load(Ordering::Relaxed), hops.load(Ordering::Relaxed)));
        let (next, hops) = all.fold((u64::MAX, 0), |sum, said| (sum.0.min(said.0), sum.1 + said.1));
        self.take_mail();
        Ok((Time(next), hops))
    }

    /// Runs every event of a partition before `end`, and hands over the packets that left it by then.
    fn run_partition(&mut self, index: usize, end: Time) {
        let network = &mut self.own[index].network;
        std::mem::swap(&mut network.slab, self.slab);
        let done = self.own[index].run(end, u64::MAX);
        debug_assert!(done, "a round handles every event");
        let network = &mut self.own[index].network;
        if end > Time::ZERO {
            network.advance_waiting(Time(end.0 - 1));
        }
        std::mem::swap(&mut network.slab, self.slab);
        let mut crossings = std::mem::take(&mut network.crossings);
        for Crossing { to: (partition, link), at, packet } in crossings.drain(..) {
            let (thread, partition) = self.places[partition as usize];
            if thread as usize == self.thread {
                self.own[partition as usize].network.cross(&mut self.slab.metas, link, packet, at);
            } else {
                let (meta, body) = self.slab.take_parts(packet);
                self.first_sent = self.first_sent.min(at);
                self.outgoing[thread as usize].push(Parcel { partition, link, at, meta, body });
            }
        }
        self.own[index].network.crossings = crossings;
    }

    fn send_mail(&mut self) {
        for (thread, outgoing) in self.outgoing.iter_mut().enumerate().filter(|(_, outgoing)| !outgoing.is_empty()) {
            let mut mail = self.shared.mail(self.thread, thread);
            if mail.is_empty() { std::mem::swap(&mut *mail, outgoing) } else { mail.append(outgoing) }
        }
    }

    /// Takes the packets that other threads have sent. What they send meanwhile comes at the next meeting, or now: it is
    /// for later.
    fn take_mail(&mut self) {
        let mut taken = Vec::new();
        for from in (0..self.shared.said.len()).filter(|&from| from != self.thread) {
            std::mem::swap(&mut *self.shared.mail(from, self.thread), &mut taken);
            for Parcel { partition, link, at, meta, body } in taken.drain(..) {
                let packet = self.slab.insert(meta, body);
                self.own[partition as usize].network.cross(&mut self.slab.metas, link, packet, at);
            }
        }
    }
}
