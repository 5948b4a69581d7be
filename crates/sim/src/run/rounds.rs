//! Rounds of partitions, on one thread or several.
//!
//! In a round, every [stage](crate::cut) runs up to the instant before which nothing more can come to it: the least of
//! what each of its inputs has reached and the delay from there. Then it hands its packets to the next stages.
//!
//! *Threads.* A worker has the same partitions from beginning to end, and they share its slab. A packet to another
//! worker is copied. Either each worker is a thread: threads meet after each stage and take their mail. Or one thread runs
//! all workers by turns, where rounds have so few packets that a meeting takes longer than it saves. Which thread runs a
//! partition, and when, affects no result: a link has one sender, so its packets come in order, and events of one
//! instant are in the order of their sources. So a run may turn from one to the other whenever a round is over.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowsieve_core::hop::Trail;
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
    trail: Option<Box<Trail>>,
}

/// What threads share.
struct Shared {
    barrier: Barrier,
    /// By sender, then by receiver.
    mail: Vec<Mutex<Vec<Parcel>>>,
    /// By thread, of two rounds in turn.
    said: Vec<[Said; 2]>,
}

/// What a thread tells the others when a round is over.
struct Said {
    /// When something happens next there.
    next: AtomicU64,
    /// By stage: the packet-hops that it made in the round.
    made: Vec<AtomicU64>,
}

impl Shared {
    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Vec<Parcel>> {
        self.mail[from * self.said.len() + to].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a call of [`run`] goes.
#[derive(Clone, Copy)]
struct Limits {
    horizon: Time,
    /// The most packet-hops.
    most: u64,
}

/// How a series of rounds ended.
#[derive(Clone, Copy)]
enum Outcome {
    /// No event is left before the horizon.
    Ended,
    /// All packet-hops are made.
    Enough,
    /// Threads have become worth their meetings, or are no longer.
    Turned,
}

/// Runs rounds until no event before `horizon` is left, or until at least `most` packet-hops are made. Returns whether
/// none is left.
pub(super) fn run<K: Key>(built: &mut Built<K>, horizon: Time, most: u64) -> bool {
    let threads = built.slabs.len();
    let said = || Said { next: AtomicU64::new(0), made: built.stages.iter().map(|_| AtomicU64::new(0)).collect() };
    let shared = Shared {
        barrier: Barrier::new(threads),
        mail: (0..threads * threads).map(|_| Mutex::default()).collect(),
        said: (0..threads).map(|_| [said(), said()]).collect(),
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
            made: vec![0; of_stages.len()],
            of_stages,
            slab,
            places: &places,
            shared: &shared,
            outgoing: (0..threads).map(|_| Vec::new()).collect(),
            first_sent: Time::NEVER,
        })
        .collect();
    let mut clock =
        Clock { stages: &built.stages, reached: std::mem::take(&mut built.reached), made: 0, pace: built.pace };
    let limits = Limits { horizon, most };
    let ended = loop {
        let outcome = if clock.pace.meets {
            clock.pace.begin_threads();
            together(&mut workers, &mut clock, limits)
        } else {
            alone(&mut workers, &mut clock, limits)
        };
        match outcome {
            Outcome::Ended => break true,
            Outcome::Enough => break false,
            Outcome::Turned => {}
        }
    };
    (built.reached, built.pace) = (clock.reached, clock.pace);
    drop(workers);
    count_surplus_events(built);
    ended
}

/// Runs rounds of all partitions on this thread.
fn alone<K: Key>(workers: &mut [Worker<'_, '_, K>], clock: &mut Clock<'_>, limits: Limits) -> Outcome {
    loop {
        let next = workers.iter().map(Worker::next).min().unwrap_or(Time::NEVER);
        if let Some(outcome) = clock.begin::<K>(next, limits) {
            return outcome;
        }
        for stage in 0..clock.stages.len() {
            let end = clock.advance(stage, limits.horizon);
            workers.iter_mut().for_each(|worker| worker.run_stage(stage, end));
            let count = workers.len();
            for (from, to) in (0..count * count).map(|pair| (pair / count, pair % count)) {
                let mut parcels = std::mem::take(&mut workers[from].outgoing[to]);
                workers[to].receive(&mut parcels);
                workers[from].outgoing[to] = parcels;
            }
        }
        clock.count(workers.len(), |thread, stage| workers[thread].made[stage]);
    }
}

/// Runs rounds on a thread for each worker.
fn together<K: Key>(workers: &mut [Worker<'_, '_, K>], clock: &mut Clock<'_>, limits: Limits) -> Outcome {
    let (first, others) = workers.split_first_mut().expect("a thread");
    let outcome = std::thread::scope(|scope| {
        for worker in others {
            let mut clock = clock.clone();
            scope.spawn(move || worker.meet(&mut clock, limits));
        }
        first.meet(clock, limits)
    });
    // A thread that panicked has made the scope panic.
    outcome.unwrap_or(Outcome::Enough)
}

/// What all threads know alike: how far the stages are, and whether threads are worth it.
#[derive(Clone)]
struct Clock<'a> {
    stages: &'a [Stage],
    /// By stage: everything before this instant is done.
    reached: Vec<Time>,
    /// Packet-hops made in this call.
    made: u64,
    pace: Pace,
}

impl Clock<'_> {
    /// Begins a round at the next event of all partitions, unless the limits or the pace end the series.
    fn begin<K: Key>(&mut self, next: Time, limits: Limits) -> Option<Outcome> {
        let start = next.min(limits.horizon);
        self.reached.iter_mut().for_each(|reached| *reached = start.max(*reached));
        if next >= limits.horizon.min(K::END) {
            return Some(Outcome::Ended);
        }
        if self.made >= limits.most {
            return Some(Outcome::Enough);
        }
        self.pace.turns(self.stages.len()).then_some(Outcome::Turned)
    }

    /// Returns the instant up to which a stage runs now.
    fn advance(&mut self, stage: usize, horizon: Time) -> Time {
        let inputs = self.stages[stage].inputs.iter();
        let ends = inputs.map(|&(from, delay)| Time(self.reached[from].0.saturating_add(delay.0)));
        let end = ends.min().unwrap_or(Time::NEVER).min(horizon).max(self.reached[stage]);
        self.reached[stage] = end;
        end
    }

    /// Counts the packet-hops of a round, given by thread and stage.
    fn count(&mut self, threads: usize, made: impl Fn(usize, usize) -> u64) {
        let mut saved = 0;
        for stage in 0..self.stages.len() {
            let of_stage = (0..threads).map(|thread| made(thread, stage));
            let (sum, most) = of_stage.fold((0, 0), |(sum, most), made| (sum + made, made.max(most)));
            self.made += sum;
            saved += sum - most;
        }
        self.pace.rounds += 1;
        self.pace.saved += saved;
    }
}

/// Whether threads are worth their meetings, by the rounds of late. It affects no result.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// The packet-hops that a meeting must save for threads to be worth it; 0: they always are.
    worth: u64,
    /// Whether threads meet.
    meets: bool,
    /// Rounds since the last decision.
    rounds: u64,
    /// Packet-hops that the busiest thread of each stage did not make, or would not have.
    saved: u64,
}

impl Pace {
    /// Rounds between two decisions.
    const ROUNDS: u64 = 32;
    /// Rounds of meetings that take as long as it does to begin threads.
    const BEGINNING: u64 = 8;

    pub(crate) fn new(threads: usize, worth: u64) -> Pace {
        // One thread never saves anything.
        let worth = if threads > 1 { worth } else { u64::MAX };
        Pace { worth, meets: worth == 0, rounds: 0, saved: 0 }
    }

    fn begin_threads(&mut self) {
        self.rounds += Pace::BEGINNING;
    }

    /// Decides anew when it is time; returns whether the decision changed.
    fn turns(&mut self, stages: usize) -> bool {
        if self.rounds < Pace::ROUNDS {
            return false;
        }
        let meets = self.saved >= self.worth.saturating_mul(self.rounds * stages as u64);
        (self.rounds, self.saved) = (0, 0);
        std::mem::replace(&mut self.meets, meets) != meets
    }
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

/// A thread's partitions.
struct Worker<'a, 'p, K> {
    thread: usize,
    own: Vec<&'p mut Partition<K>>,
    /// By stage: its partitions in `own`.
    of_stages: Vec<Range<usize>>,
    /// By stage: the packet-hops that it made in this round.
    made: Vec<u64>,
    slab: &'p mut Slab,
    places: &'a [(u32, u32)],
    shared: &'a Shared,
    /// By thread: packets for it that are not in its mail yet.
    outgoing: Vec<Vec<Parcel>>,
    /// When the first of the packets arrives that were sent to other threads in this round.
    first_sent: Time,
}

impl<K: Key> Worker<'_, '_, K> {
    /// Runs rounds with the other threads, until all agree to stop.
    fn meet(&mut self, clock: &mut Clock<'_>, limits: Limits) -> Result<Outcome, Broken> {
        let barrier = &self.shared.barrier;
        let _guard = barrier.break_on_panic();
        for round in 0usize.. {
            let next = self.agree(round % 2)?;
            if round > 0 {
                let made = |thread: usize, stage: usize| {
                    self.shared.said[thread][round % 2].made[stage].load(Ordering::Relaxed)
                };
                clock.count(self.shared.said.len(), made);
            }
            if let Some(outcome) = clock.begin::<K>(next, limits) {
                return Ok(outcome);
            }
            for stage in 0..clock.stages.len() {
                if stage > 0 {
                    barrier.wait()?;
                    self.take_mail();
                }
                let end = clock.advance(stage, limits.horizon);
                self.run_stage(stage, end);
                self.send_mail();
            }
        }
        unreachable!("rounds are counted without an end")
    }

    /// Returns when something happens next.
    fn next(&self) -> Time {
        self.own.iter().map(|partition| next_event(partition)).min().unwrap_or(Time::NEVER)
    }

    /// Tells the others what comes next here and what was done; returns what comes next of all.
    fn agree(&mut self, turn: usize) -> Result<Time, Broken> {
        let said = &self.shared.said[self.thread][turn];
        said.next.store(self.next().min(self.first_sent).0, Ordering::Relaxed);
        said.made.iter().zip(&self.made).for_each(|(said, made)| said.store(*made, Ordering::Relaxed));
        self.first_sent = Time::NEVER;
        self.shared.barrier.wait()?;
        let next = self.shared.said.iter().map(|said| said[turn].next.load(Ordering::Relaxed)).min();
        self.take_mail();
        Ok(next.map_or(Time::NEVER, Time))
    }

    /// Runs every event of a stage before `end`.
    fn run_stage(&mut self, stage: usize, end: Time) {
        self.made[stage] = self.of_stages[stage].clone().map(|partition| self.run_partition(partition, end)).sum();
    }

    /// Runs every event of a partition before `end`, and hands over the packets that left it by then. Returns the
    /// packet-hops made.
    fn run_partition(&mut self, index: usize, end: Time) -> u64 {
        if next_event(self.own[index]) >= end {
            return 0;
        }
        let network = &mut self.own[index].network;
        let before = network.hops();
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
                let trail = self.slab.take_trail(packet).map(Box::new);
                let (meta, body) = self.slab.take_parts(packet);
                self.first_sent = self.first_sent.min(at);
                self.outgoing[thread as usize].push(Parcel { partition, link, at, meta, body, trail });
            }
        }
        let network = &mut self.own[index].network;
        network.crossings = crossings;
        network.hops() - before
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
        let own = self.thread;
        for from in (0..self.outgoing.len()).filter(|&from| from != own) {
            std::mem::swap(&mut *self.shared.mail(from, own), &mut taken);
            self.receive(&mut taken);
        }
    }

    fn receive(&mut self, parcels: &mut Vec<Parcel>) {
        for Parcel { partition, link, at, meta, body, trail } in parcels.drain(..) {
            let packet = self.slab.insert(meta, body);
            self.slab.give_trail(packet, trail.map(|trail| *trail));
            self.own[partition as usize].network.cross(&mut self.slab.metas, link, packet, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes rounds of four stages in which each meeting would save so many packet-hops, until the decision changes.
    fn rounds_until_it_turns(pace: &mut Pace, saved: u64, most: u64) -> Option<u64> {
        (1..=most).find(|_| {
            pace.rounds += 1;
            pace.saved += 4 * saved;
            pace.turns(4)
        })
    }

    #[test]
    fn pace__threads_meet_while_it_saves_enough() {
        let long = 30 * Pace::ROUNDS;
        let mut pace = Pace::new(2, 128);
        assert!(!pace.meets);
        assert_eq!(rounds_until_it_turns(&mut pace, 127, long), None);
        assert_eq!(rounds_until_it_turns(&mut pace, 128, long), Some(Pace::ROUNDS));
        assert!(pace.meets);
        assert_eq!(rounds_until_it_turns(&mut pace, 128, long), None);
        assert_eq!(rounds_until_it_turns(&mut pace, 127, long), Some(Pace::ROUNDS));
        assert!(!pace.meets);
    }

    /// Threads that begin anew for every few rounds are worth no more than they save.
    #[test]
    fn pace__to_begin_threads_counts() {
        let mut pace = Pace { meets: true, ..Pace::new(2, 128) };
        let turned = (1..100).find(|_| {
            pace.begin_threads();
            rounds_until_it_turns(&mut pace, 200, 2).is_some()
        });
        assert_eq!(turned, Some(4), "eight rounds saved 200, and it took 32 rounds to begin");
    }

    #[test]
    fn pace__always_and_never() {
        let mut pace = Pace::new(2, 0);
        assert!(pace.meets && rounds_until_it_turns(&mut pace, 0, 1_000).is_none());
        let mut pace = Pace::new(1, 0);
        assert!(!pace.meets && rounds_until_it_turns(&mut pace, 1_000, 1_000).is_none());
    }
}
