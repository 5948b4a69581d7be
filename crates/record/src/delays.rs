//! The time of flows beyond what they would have taken alone in the same fabric, by cause.

use serde::{Deserialize, Serialize};

/// The FCTs of finished flows beyond their ideal FCTs, all together, and what senders waited for meanwhile. Only flows whose
/// transport reports it count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// How many flows.
    pub flows: u64,
    /// Their FCTs beyond the ideal ones, in nanoseconds.
    pub beyond_ideal_ns: u64,
    /// The part from the last packet or answer until a retransmission timer fired.
    pub timers_ns: u64,
    /// The part for which a handshake, or a window that no mark and no loss had cut, held data back, without queues: the same
    /// windows would have taken as long in an empty network.
    pub windows_ns: u64,
}

/// A flow's part of [`Delays`], in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDelay {
    /// Its FCT.
    pub fct_ps: u64,
    /// The same alone in the fabric.
    pub ideal_ps: u64,
    /// From its last packet or answer until a retransmission timer fired, in all.
    pub timers_ps: u64,
    /// A handshake or a window that no mark and no loss had cut held it back, in all.
    pub held_back_ps: u64,
    /// The mean of its round trips.
    pub round_trip_ps: u64,
    /// A round trip of a full packet in the empty fabric.
    pub least_round_trip_ps: u64,
}

impl Delays {
    /// Adds a flow.
    ///
    /// A window holds a flow back for the rest of each round trip. As many round trips as fit into its FCT were each longer by
    /// their queues. That much of the rest is the queues', and the remainder is the window's.
    pub fn add(&mut self, flow: &FlowDelay) {
        let beyond = flow.fct_ps.saturating_sub(flow.ideal_ps);
        let timers = flow.timers_ps.min(beyond);
        let queued = flow.round_trip_ps.saturating_sub(flow.least_round_trip_ps);
        let sending = u128::from(flow.fct_ps.saturating_sub(timers));
        let in_queues = (sending * u128::from(queued)).checked_div(flow.round_trip_ps.into()).unwrap_or(0);
        let windows = u128::from(flow.held_back_ps).saturating_sub(in_queues) as u64;
        let windows = windows.min(beyond - timers);
        self.flows += 1;
        self.beyond_ideal_ns = self.beyond_ideal_ns.saturating_add(beyond / 1_000);
        self.timers_ns = self.timers_ns.saturating_add(timers / 1_000);
        self.windows_ns = self.windows_ns.saturating_add(windows / 1_000);
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Delays) {
        self.flows = self.flows.saturating_add(other.flows);
        self.beyond_ideal_ns = self.beyond_ideal_ns.saturating_add(other.beyond_ideal_ns);
        self.timers_ns = self.timers_ns.saturating_add(other.timers_ns);
        self.windows_ns = self.windows_ns.saturating_add(other.windows_ns);
    }

    /// The shares of timers, of windows and handshakes, and of queues: the remainder, in the network, at their own host, behind
    /// other messages of their connection, and with windows that the network had cut. `None` if no flow took longer than alone.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let all = self.beyond_ideal_ns;
        let queues = all.saturating_sub(self.timers_ns).saturating_sub(self.windows_ns);
        (all > 0).then(|| [self.timers_ns, self.windows_ns, queues].map(|part| part as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn of(flow: FlowDelay) -> [u64; 3] {
        let mut delays = Delays::default();
        delays.add(&flow);
        delays.shares().unwrap().map(|share| (100.0 * share).round() as u64)
    }

    #[test]
    fn add__a_small_window_a_long_queue_and_a_timer() {
        // Ten round trips of 100 us without any queue, where the line alone would take 200 us.
        let window = FlowDelay {
            fct_ps: 1_000 * US,
            ideal_ps: 200 * US,
            held_back_ps: 800 * US,
            round_trip_ps: 100 * US,
            least_round_trip_ps: 100 * US,
            timers_ps: 0,
        };
        assert_eq!(of(window), [0, 100, 0]);
        // The same if nine tenths of each round trip are a queue: none of the 800 us are the window's.
        assert_eq!(of(FlowDelay { least_round_trip_ps: 10 * US, ..window }), [0, 0, 100]);
        // A half: 500 us of the 800 are the queue's.
        assert_eq!(of(FlowDelay { least_round_trip_ps: 50 * US, ..window }), [0, 38, 63]);
        let timer = FlowDelay { timers_ps: 600 * US, held_back_ps: 0, ..window };
        assert_eq!(of(timer), [75, 0, 25]);
        // A transport that measures no round trip, and a flow that was not slow.
        assert_eq!(of(FlowDelay { round_trip_ps: 0, ..window }), [0, 100, 0]);
        let mut none = Delays::default();
        none.add(&FlowDelay { ideal_ps: 1_000 * US, ..window });
        assert_eq!((none.flows, none.shares()), (1, None));
    }
}
