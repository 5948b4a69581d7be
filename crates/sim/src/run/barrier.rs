//! A barrier for threads that meet every few microseconds.
//!
//! A thread that waits spins for a moment and then sleeps, so that it gives its core to others where there are more
//! threads than free cores. If a thread panics, the others are told instead of waiting for ever.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// Turns of the loop in which a waiting thread spins: some ten microseconds, about what it costs to sleep and to be
/// woken. Every turn is one more place at which `make race` has to try what other threads do.
const SPINS: u32 = if cfg!(loom) { 1 } else { 1 << 9 };

/// Another thread has panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Where threads wait for each other.
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// The number of meetings so far, or [`BROKEN`]. Changes while `sleepers` is locked.
    meetings: AtomicU64,
    /// Threads that sleep.
    sleepers: Mutex<usize>,
    wake: Condvar,
}

const BROKEN: u64 = u64::MAX;

impl Barrier {
    pub(super) fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            meetings: AtomicU64::new(0),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads are here. What each one wrote before is seen by all.
    ///
    /// # Errors
    /// Fails if one of them never comes.
    pub(super) fn wait(&self) -> Result<(), Broken> {
        if self.threads == 1 {
            return Ok(());
        }
        let before = self.meetings.load(Ordering::Acquire);
        if before == BROKEN {
            return Err(Broken);
        }
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            let sleepers = self.lock();
            // Another thread may have panicked since it was here.
            let met = self.meetings.compare_exchange(before, before + 1, Ordering::AcqRel, Ordering::Acquire);
            if *sleepers > 0 {
                self.wake.notify_all();
            }
            return met.map(drop).map_err(|_| Broken);
        }
        for _ in 0..SPINS {
            if self.meetings.load(Ordering::Acquire) != before {
                break;
            }
            #[cfg(loom)]
            loom::hint::spin_loop();
            #[cfg(not(loom))]
            std::hint::spin_loop();
        }
        if self.meetings.load(Ordering::Acquire) == before {
            let mut sleepers = self.lock();
            *sleepers += 1;
            while self.meetings.load(Ordering::Acquire) == before {
                sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            }
            *sleepers -= 1;
        }
        if self.meetings.load(Ordering::Acquire) == BROKEN { Err(Broken) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all waiting, if this thread panics before the guard is dropped.
    pub(super) fn break_on_panic(&self) -> BreakOnPanic<'_> {
        BreakOnPanic(self)
    }
}

/// See [`Barrier::break_on_panic`].
pub(super) struct BreakOnPanic<'a>(&'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _sleepers = self.0.lock();
            self.0.meetings.store(BROKEN, Ordering::Release);
            self.0.wake.notify_all();
        }
    }
}

/// `make race`: every order of what two threads do, by [loom](https://docs.rs/loom).
#[cfg(all(test, loom))]
mod races {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn barrier__both_see_what_the_other_wrote_in_any_order() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)]));
            let meet_twice = |own: usize, shared: &(Barrier, [AtomicUsize; 2])| {
                let (barrier, written) = shared;
                written[own].store(1, Ordering::Relaxed);
                barrier.wait().expect("nobody panics");
                assert_eq!(written[1 - own].load(Ordering::Relaxed), 1);
                barrier.wait().expect("nobody panics");
                // The first meeting is over for both: neither is still asleep, or counted.
                assert_eq!((barrier.meetings.load(Ordering::Acquire), barrier.arrived.load(Ordering::Acquire)), (2, 0));
            };
            let other = Arc::clone(&shared);
            let other = loom::thread::spawn(move || meet_twice(1, &other));
            meet_twice(0, &shared);
            other.join().expect("it ends");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn barrier__all_see_what_each_one_wrote() {
        let (threads, rounds) = (3, 2_000);
        let barrier = Barrier::new(threads);
        let counts: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        let (barrier, counts) = (&barrier, &counts);
        std::thread::scope(|scope| {
            for own in 0..threads {
                scope.spawn(move || {
                    for round in 1..=rounds {
                        counts[own].store(round, Ordering::Relaxed);
                        barrier.wait().expect("nobody panics");
                        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                        barrier.wait().expect("nobody panics");
                    }
                });
            }
        });
    }

    #[test]
    fn barrier__a_thread_that_panics_is_not_waited_for() {
        let barrier = &Barrier::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait());
            let panics = scope.spawn(|| {
                let _guard = barrier.break_on_panic();
                panic!("as it should");
            });
            assert!(panics.join().is_err());
            assert_eq!(waits.join().expect("it ends"), Err(Broken));
        });
        assert_eq!(barrier.wait(), Err(Broken));
    }
}
