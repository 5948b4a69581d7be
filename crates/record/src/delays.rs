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
    /// The part for which a handshake, or a window that no mark and no loss had cut, held data back. It has no queues
    /// in it: the same windows would have taken as long in an empty network.
    pub windows_ns: u64,
    /// The part that went to repairs of packets that were late and not lost: timers, and windows that were cut for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub needless_ns: u64,
    /// The flow that waited longest for retransmission timers, among those that spent over half of their FCT so and had
    /// three timeouts or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_timed_out: Option<TimedOut>,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Fewer timeouts than this are no back-off worth a name.
const IN_A_ROW: u32 = 3;

/// A flow that mostly waited for retransmission timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOut {
    /// Its number.
    pub flow: u32,
    /// How many of its timers fired.
    pub timeouts: u32,
    /// What it waited for them, in nanoseconds.
    pub timers_ns: u64,
    /// Its FCT.
    pub fct_ns: u64,
}

/// A flow's part of [`Delays`], in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDelay {
    /// Its number.
    pub flow: u32,
    /// Its timeouts.
    pub timeouts: u32,
    /// Its FCT.
    pub fct_ps: u64,
    /// The same alone in the fabric.
    pub ideal_ps: u64,
    /// From its last packet or answer until a retransmission timer fired, in all.
    pub timers_ps: u64,
    /// A handshake or a window that no mark and no loss had cut held it back, in all.
    pub held_back_ps: u64,
    /// Its packets that were sent again.
    pub retransmissions: u32,
    /// Those of them that had arrived, or arrived later: they were not lost.
    pub needless: u32,
    /// Whether marks may have cut its windows, and not only repairs.
    pub cut_by_marks: bool,
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
    ///
    /// Timers and cut windows are needless to the share of the packets sent again that had not been lost.
    pub fn add(&mut self, flow: &FlowDelay) {
        let beyond = flow.fct_ps.saturating_sub(flow.ideal_ps);
        let timers = flow.timers_ps.min(beyond);
        let queued = flow.round_trip_ps.saturating_sub(flow.least_round_trip_ps);
        let sending = u128::from(flow.fct_ps.saturating_sub(timers));
        let in_queues = (sending * u128::from(queued)).checked_div(flow.round_trip_ps.into()).unwrap_or(0);
        let windows = u128::from(flow.held_back_ps).saturating_sub(in_queues) as u64;
        let windows = windows.min(beyond - timers);
        let rest = beyond - timers - windows;
        let cut = if flow.cut_by_marks { 0 } else { u128::from(rest).saturating_sub(in_queues) as u64 };
        let needless = |part: u64| {
            let late = u128::from(flow.needless.min(flow.retransmissions));
            (u128::from(part) * late).checked_div(flow.retransmissions.into()).unwrap_or(0) as u64
        };
        self.flows += 1;
        let parts = [beyond, timers - needless(timers), windows, needless(timers) + needless(cut)];
        self.add_ns(parts.map(|ps| ps / 1_000));
        if flow.timeouts >= IN_A_ROW && timers > flow.fct_ps / 2 {
            self.compare(TimedOut {
                flow: flow.flow,
                timeouts: flow.timeouts,
                timers_ns: timers / 1_000,
                fct_ns: flow.fct_ps / 1_000,
            });
        }
    }

    /// Keeps the flow that waited longer; of equals, the first.
    fn compare(&mut self, other: TimedOut) {
        if self.most_timed_out.is_none_or(|most| most.timers_ns < other.timers_ns) {
            self.most_timed_out = Some(other);
        }
    }

    /// Adds times beyond the ideal ones, and the parts of them that are known.
    fn add_ns(&mut self, parts: [u64; 4]) {
        let sums = [&mut self.beyond_ideal_ns, &mut self.timers_ns, &mut self.windows_ns, &mut self.needless_ns];
        sums.into_iter().zip(parts).for_each(|(sum, part)| *sum = sum.saturating_add(part));
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Delays) {
        self.flows = self.flows.saturating_add(other.flows);
        self.add_ns([other.beyond_ideal_ns, other.timers_ns, other.windows_ns, other.needless_ns]);
        if let Some(most) = other.most_timed_out {
            self.compare(most);
        }
    }

    /// The shares of timers, of windows and handshakes, of needless repairs, and of queues: the remainder, in the network, at
    /// their own host, behind other messages of their connection, and with windows that the network had cut. `None` if no flow
    /// took longer than alone.
    pub fn shares(&self) -> Option<[f64; 4]> {
        let all = self.beyond_ideal_ns;
        let known = [self.timers_ns, self.windows_ns, self.needless_ns];
        let queues = known.into_iter().fold(all, u64::saturating_sub);
        let [timers, windows, needless] = known;
        (all > 0).then(|| [timers, windows, needless, queues].map(|part| part as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn of(flow: FlowDelay) -> [u64; 4] {
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
            ..FlowDelay::default()
        };
        assert_eq!(of(window), [0, 100, 0, 0]);
        // The same if nine tenths of each round trip are a queue: none of the 800 us are the window's.
        assert_eq!(of(FlowDelay { least_round_trip_ps: 10 * US, ..window }), [0, 0, 0, 100]);
        // A half: 500 us of the 800 are the queue's.
        assert_eq!(of(FlowDelay { least_round_trip_ps: 50 * US, ..window }), [0, 38, 0, 63]);
        let timer = FlowDelay { timers_ps: 600 * US, held_back_ps: 0, ..window };
        assert_eq!(of(timer), [75, 0, 0, 25]);
        // The same timers, of a flow that sent four packets again of which three had not been lost: of 600 us for timers and 200 us
        // with cut windows, three quarters are needless; if marks may have cut the windows, of the timers alone.
        let late = FlowDelay { retransmissions: 4, needless: 3, least_round_trip_ps: window.round_trip_ps, ..timer };
        assert_eq!(of(late), [19, 0, 75, 6]);
        assert_eq!(of(FlowDelay { cut_by_marks: true, ..late }), [19, 0, 56, 25]);
        assert_eq!(of(FlowDelay { needless: 9, ..late }), [0, 0, 100, 0], "packets may arrive twice and more often");
        // A transport that measures no round trip, and a flow that was not slow.
        assert_eq!(of(FlowDelay { round_trip_ps: 0, ..window }), [0, 100, 0, 0]);
        let mut none = Delays::default();
        none.add(&FlowDelay { ideal_ps: 1_000 * US, ..window });
        assert_eq!((none.flows, none.shares()), (1, None));
    }

    #[test]
    fn add__names_the_flow_that_waited_longest_for_timers() {
        let flow = |flow, timeouts, timers_us: u64, fct_us: u64| FlowDelay {
            flow,
            timeouts,
            timers_ps: timers_us * US,
            fct_ps: fct_us * US,
            ..FlowDelay::default()
        };
        let mut delays = Delays::default();
        // One of two timeouts, one that waited for less than half of its FCT, and two in back-off.
        for flow in [flow(1, 2, 900, 1_000), flow(2, 9, 400, 1_000), flow(3, 3, 700, 1_000), flow(4, 3, 800, 1_000)] {
            delays.add(&flow);
        }
        let most = TimedOut { flow: 4, timeouts: 3, timers_ns: 800_000, fct_ns: 1_000_000 };
        assert_eq!(delays.most_timed_out, Some(most));
        let mut other = Delays::default();
        other.add(&flow(7, 5, 5_000, 6_000));
        delays.merge(&other);
        assert_eq!(delays.most_timed_out.map(|most| most.flow), Some(7));
    }
}
