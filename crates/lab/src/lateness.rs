//! How late things happen that should happen at an instant, by windows of 100 ms: a share over a whole run does not show half
//! a second in which everything stood still.

/// The length of a window.
pub const WINDOW_NS: u64 = 100_000_000;
/// What is later than this is late.
pub const LATE_NS: u64 = 1_000_000;
/// The share of late events above which a window is bad, as a fraction, and the fewest late events of a bad window: one alone
/// says little.
const BAD: (u64, u64) = (1, 20);
const FEWEST: u64 = 2;
/// The most windows with late events that are kept. A run with more of them is not valid in any case.
const MOST_KEPT: usize = 4_096;

/// A window, by its number from the beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its number.
    pub number: u64,
    /// Events that were due in it.
    pub events: u64,
    /// Those of them that were late.
    pub late: u64,
}

/// How late events of one kind were. After set-up nothing is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// All events.
    pub all: Window,
    /// The greatest lateness.
    pub worst_ns: u64,
    current: Window,
    /// Windows before the current one that have late events.
    late: Vec<Window>,
}

impl Default for Lateness {
    fn default() -> Lateness {
        let (all, current) = (Window::default(), Window::default());
        Lateness { all, worst_ns: 0, current, late: Vec::with_capacity(MOST_KEPT) }
    }
}

impl Lateness {
    /// Notes an event that was due at this time since the beginning. Times come in order; an earlier one counts in the window
    /// of the last.
    pub fn note(&mut self, due_ns: u64, late_ns: u64) {
        let number = (due_ns / WINDOW_NS).max(self.current.number);
        if number > self.current.number {
            self.close();
            self.current = Window { number, ..Window::default() };
        }
        let late = u64::from(late_ns > LATE_NS);
        for window in [&mut self.all, &mut self.current] {
            window.events += 1;
            window.late += late;
        }
        self.worst_ns = self.worst_ns.max(late_ns);
    }

    fn close(&mut self) {
        if self.current.late > 0 && self.late.len() < MOST_KEPT {
            self.late.push(self.current);
        }
    }

    /// Returns the windows in which more than a twentieth was late.
    pub fn bad(&self) -> impl Iterator<Item = Window> {
        let is_bad = |window: &&Window| window.late >= FEWEST && window.late * BAD.1 > window.events * BAD.0;
        self.late.iter().chain([&self.current]).filter(is_bad).copied()
    }
}

/// Counts what is late although the first thing due at its instant was not: things of one instant are done one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InTurn {
    /// How many were.
    pub late: u64,
    due_ns: Option<u64>,
    first_was_late: bool,
}

impl InTurn {
    /// Notes an event, as [`Lateness::note`] does.
    pub fn note(&mut self, due_ns: u64, late_ns: u64) {
        let is_late = late_ns > LATE_NS;
        if self.due_ns.replace(due_ns) == Some(due_ns) {
            self.late += u64::from(is_late && !self.first_was_late);
        } else {
            self.first_was_late = is_late;
        }
    }
}

/// Tells bytes that came out of order on a connection. They cannot be read before earlier ones have come, so the time since
/// their arrival does not say how late their reader is.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutOfOrder {
    /// Segments that have come out of order so far.
    segments: u32,
    /// The last of them had come by then.
    until_ns: u64,
}

impl OutOfOrder {
    /// Returns whether bytes that arrived at `arrived_ns` may have waited for earlier ones. By `now_ns` the connection has
    /// received `segments` segments out of order.
    pub fn explains(&mut self, arrived_ns: u64, segments: u32, now_ns: u64) -> bool {
        if segments != self.segments {
            *self = OutOfOrder { segments, until_ns: now_ns };
        }
        arrived_ns <= self.until_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Segments 2 and 4 arrive at 10 and 12 ms, 1 at 20 and 3 at 30: bytes that are read then, which arrived at 10 and 12, were
    /// not read late. Bytes that arrive at 40 in order and are read at 50 were.
    #[test]
    fn explains__what_waited_for_others_alone() {
        let mut of_connection = OutOfOrder::default();
        assert!(of_connection.explains(10 * MS, 2, 20 * MS));
        assert!(of_connection.explains(12 * MS, 2, 30 * MS));
        assert!(!of_connection.explains(40 * MS, 2, 50 * MS));
        assert!(!OutOfOrder::default().explains(MS, 0, 9 * MS), "none came out of order");
    }

    /// Three bursts of five: each event takes 0.4 ms, the second burst begins in a stall, and the third is of one instant each.
    #[test]
    fn in_turn__what_others_of_its_instant_make_late() {
        let mut starts = InTurn::default();
        (0..5).for_each(|turn| starts.note(10 * MS, turn * 2 * MS / 5));
        assert_eq!(starts.late, 2);
        (0..5).for_each(|turn| starts.note(20 * MS, 50 * MS + turn * 2 * MS / 5));
        (0..5).for_each(|turn| starts.note(30 * MS + turn, 2 * MS));
        assert_eq!(starts.late, 2);
    }

    /// 100 events a window. In the fourth window six are late, in the sixth five, in the last all.
    #[test]
    fn bad__windows_of_which_more_than_a_twentieth_was_late() {
        let mut lateness = Lateness::default();
        for at in 0..1_000 {
            let late = (300..306).contains(&at) || (500..505).contains(&at) || at >= 900;
            lateness.note(at * MS, if late { at * MS } else { MS });
        }
        let bad: Vec<(u64, u64)> = lateness.bad().map(|window| (window.number, window.late)).collect();
        assert_eq!(bad, [(3, 6), (9, 100)]);
        assert_eq!((lateness.all.events, lateness.all.late, lateness.worst_ns), (1_000, 111, 999 * MS));
    }

    /// A single late event makes no window bad, and an event from before counts where time is.
    #[test]
    fn bad__one_late_event_of_few() {
        let mut lateness = Lateness::default();
        [(50, 2), (150, 0), (90, 3), (950, 0)].into_iter().for_each(|(at, late)| lateness.note(at * MS, late * MS));
        assert_eq!(lateness.bad().count(), 0);
        lateness.note(960 * MS, 2 * MS);
        lateness.note(970 * MS, 2 * MS);
        assert_eq!(lateness.bad().collect::<Vec<_>>(), [Window { number: 9, events: 3, late: 2 }]);
    }

    /// Memory has an end, and counts have none.
    #[test]
    fn note__keeps_no_more_windows_than_there_is_room_for() {
        let mut lateness = Lateness::default();
        let room = lateness.late.capacity();
        (0..10_000).for_each(|window| lateness.note(window * WINDOW_NS, 2 * MS));
        assert_eq!((lateness.all.late, lateness.late.capacity()), (10_000, room));
    }
}
