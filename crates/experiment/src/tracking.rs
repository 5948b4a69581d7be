//! The progress of a plan while it is carried out, from its events: for a progress display.

use crate::execute::Event;
use crate::plan::Plan;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The progress of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Number of runs that are done, including those that existed before.
    pub finished: usize,
    /// Number of all runs.
    pub runs: usize,
    /// The share that is done, 0 to 1, by estimated packet-hops.
    pub share: f64,
    /// Packet-hops so far, of runs made now.
    pub packet_hops: u64,
    /// Packet-hops per second, and seconds left; `None` as long as that would be a guess.
    pub rate: Option<(f64, f64)>,
}

/// Adds up the events, from any thread.
#[derive(Debug)]
pub struct Tracker {
    /// By run: its estimated packet-hops.
    expected: Vec<f64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Packet-hops that are done, by the estimate.
    done: f64,
    /// Packet-hops of these that existed before.
    found: f64,
    /// Packet-hops of finished runs, and of those that go on: index, share, packet-hops.
    hops: u64,
    going: Vec<(usize, f64, u64)>,
    finished: usize,
    begun: Instant,
}

impl Tracker {
    /// Builds the tracker of a plan that is about to be carried out.
    pub fn new(plan: &Plan) -> Tracker {
        let state = State { done: 0.0, found: 0.0, hops: 0, going: Vec::new(), finished: 0, begun: Instant::now() };
        Tracker { expected: plan.runs.iter().map(|run| run.packet_hops).collect(), state: Mutex::new(state) }
    }

    /// Takes an event, and returns the progress after it.
    pub fn hear(&self, event: Event) -> Standing {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Found(found, packet_hops) => {
                state.finished = found;
                (state.done, state.found) = (packet_hops, packet_hops);
            }
            Event::Damaged(_) => {}
            Event::Started(run) => state.going.push((run, 0.0, 0)),
            Event::Going(run, progress) => {
                if let Some(entry) = state.going.iter_mut().find(|(index, ..)| *index == run) {
                    (entry.1, entry.2) = (progress.share, progress.packet_hops);
                }
            }
            Event::Finished(run) => {
                if let Some(at) = state.going.iter().position(|(index, ..)| *index == run) {
                    state.hops += state.going.remove(at).2;
                }
                state.done += self.expected[run];
                state.finished += 1;
            }
        }
        self.standing(&state)
    }

    /// Returns the progress.
    pub fn now(&self) -> Standing {
        self.standing(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn standing(&self, state: &State) -> Standing {
        let going: f64 = state.going.iter().map(|(run, share, _)| share * self.expected[*run]).sum();
        let (done, all) = (state.done + going, self.expected.iter().sum::<f64>());
        let packet_hops = state.hops + state.going.iter().map(|(.., hops)| hops).sum::<u64>();
        let (seconds, made) = (state.begun.elapsed().as_secs_f64(), done - state.found);
        Standing {
            finished: state.finished,
            runs: self.expected.len(),
            share: if all > 0.0 { done / all } else { 0.0 },
            packet_hops,
            rate: (seconds > 1.0 && made > 0.0)
                .then(|| (packet_hops as f64 / seconds, (all - done).max(0.0) * seconds / made)),
        }
    }
}
