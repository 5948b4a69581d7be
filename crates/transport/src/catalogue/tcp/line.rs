//! The connections of a host that may send, and which of them is next: where a host's port pushes back, this decides what
//! enters it.
//!
//! By turns, each sends a packet in its turn, as Linux's default discipline serves its connections. By tag, the
//! connection goes first whose next packet is the most urgent ([`flowsieve_core::tagger::TagPackets::urgency`]). This
//! is the "priority-enabled transport at the end-host" on which Sincronia (SIGCOMM 2018, §4) and pCoflow (ICIN 2021,
//! §III) rest, and it models NOS2's queues of the host (GLOBECOM 2019, §III).

use std::collections::{BTreeSet, VecDeque};

use flowsieve_core::Time;

/// Which connection a host serves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicOrder {
    /// All in turn, a packet each.
    Turns,
    /// The most urgent; those that are equally urgent in turn.
    Tag,
    /// The most urgent; of those that are equally urgent the one whose message began first.
    TagThenAge,
}

/// How urgent a connection's next packet is, and when its message began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Urgency {
    /// Smaller is more urgent.
    pub(super) tag: u64,
    /// When the message began, and its number: no two messages are of one age.
    pub(super) age: (Time, u32),
}

/// The line.
pub(super) enum Line {
    /// In turn.
    Turns(VecDeque<u32>),
    /// By urgency.
    Ranked(Ranked),
}

/// Connections in the order of their urgency.
pub(super) struct Ranked {
    by_age: bool,
    /// The last turn that was taken.
    turn: u64,
    /// By slot: its place, if it is in line.
    places: Vec<Option<Place>>,
    /// The first in line, unless it was taken last. It is apart because one connection often has many turns in a row.
    first: Option<(Place, u32)>,
    /// The others, which come after `first`.
    others: BTreeSet<(Place, u32)>,
}

/// A place in line: urgency, then turn or age.
type Place = (u64, (u64, u32));

impl Line {
    pub(super) fn new(order: NicOrder) -> Line {
        match order {
            NicOrder::Turns => Line::Turns(VecDeque::new()),
            NicOrder::Tag | NicOrder::TagThenAge => Line::Ranked(Ranked {
                by_age: order == NicOrder::TagThenAge,
                turn: 0,
                places: Vec::new(),
                first: None,
                others: BTreeSet::new(),
            }),
        }
    }

    /// Returns how many are in line.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Line::Turns(ready) => ready.len(),
            Line::Ranked(ranked) => ranked.len(),
        }
    }

    /// Takes the next out of the line.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u32> {
        match self {
            Line::Turns(ready) => ready.pop_front(),
            Line::Ranked(ranked) => ranked.next(),
        }
    }
}

impl Ranked {
    /// Puts a connection in line, at the end of its equals. One that is in line moves to where it belongs now, and keeps its
    /// turn among equals.
    pub(super) fn put(&mut self, slot: u32, urgency: Urgency) {
        let at = slot as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        let among_equals = match (self.by_age, self.places[at]) {
            (true, _) => (urgency.age.0.0, urgency.age.1),
            (false, Some((_, turn))) => turn,
            (false, None) => {
                self.turn += 1;
                (self.turn, 0)
            }
        };
        let place = (urgency.tag, among_equals);
        match self.places[at].replace(place) {
            Some(old) if old == place => return,
            Some(old) if self.first == Some((old, slot)) => self.first = None,
            Some(old) => _ = self.others.remove(&(old, slot)),
            None => {}
        }
        let entry = (place, slot);
        match self.first {
            Some(first) if first < entry => _ = self.others.insert(entry),
            Some(first) => {
                self.others.insert(first);
                self.first = Some(entry);
            }
            None if self.others.first().is_none_or(|other| entry < *other) => self.first = Some(entry),
            None => _ = self.others.insert(entry),
        }
    }

    fn len(&self) -> usize {
        self.others.len() + usize::from(self.first.is_some())
    }

    fn next(&mut self) -> Option<u32> {
        let (_, slot) = self.first.take().or_else(|| self.others.pop_first())?;
        self.places[slot as usize] = None;
        Some(slot)
    }

    /// Returns those in line.
    pub(super) fn all(&self) -> Vec<u32> {
        self.first.iter().chain(&self.others).map(|&(_, slot)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranked(order: NicOrder) -> Ranked {
        let Line::Ranked(ranked) = Line::new(order) else { panic!("{order:?} ranks") };
        ranked
    }

    fn urgency(tag: u64, began_us: u64, message: u32) -> Urgency {
        Urgency { tag, age: (Time::from_us(began_us), message) }
    }

    #[test]
    fn by_tag__equals_take_turns_and_a_more_urgent_one_goes_before_them() {
        let mut line = ranked(NicOrder::Tag);
        line.put(4, urgency(1, 0, 0));
        line.put(2, urgency(1, 9, 1));
        assert_eq!(line.next(), Some(4));
        line.put(4, urgency(1, 0, 0));
        assert_eq!(line.next(), Some(2), "4 has had its turn");
        line.put(2, urgency(1, 9, 1));
        line.put(7, urgency(0, 99, 2));
        assert_eq!([line.next(), line.next(), line.next(), line.next()], [Some(7), Some(4), Some(2), None]);
    }

    #[test]
    fn by_tag__who_is_in_line_keeps_its_turn_when_it_is_put_again() {
        let mut line = ranked(NicOrder::Tag);
        line.put(1, urgency(3, 0, 0));
        line.put(2, urgency(3, 0, 1));
        line.put(1, urgency(3, 0, 0));
        assert_eq!(line.all(), [1, 2]);
        line.put(2, urgency(2, 0, 1));
        assert_eq!((line.all(), line.len()), (vec![2, 1], 2), "2 has become more urgent");
    }

    #[test]
    fn by_tag_then_age__the_older_message_sends_until_it_may_no_more() {
        let mut line = ranked(NicOrder::TagThenAge);
        line.put(0, urgency(1, 5, 8));
        line.put(1, urgency(1, 5, 7));
        line.put(2, urgency(1, 6, 1));
        for _ in 0..3 {
            assert_eq!(line.next(), Some(1), "it began with another one, and has the smaller number");
            line.put(1, urgency(1, 5, 7));
        }
        line.put(1, urgency(2, 5, 7));
        assert_eq!(line.all(), [0, 2, 1], "a demoted one waits");
    }

    proptest! {
        /// The first that is kept apart is only quicker: the order is that of the places.
        #[test]
        fn next__is_the_least_place(calls in prop::collection::vec((0u32..6, 0u64..3, 0u64..3), 0..60)) {
            let (mut line, mut expected) = (ranked(NicOrder::TagThenAge), [None; 5]);
            for (slot, tag, began_us) in calls {
                if let Some(place) = expected.get_mut(slot as usize) {
                    line.put(slot, urgency(tag, began_us, slot));
                    *place = Some((tag, began_us, slot));
                } else {
                    let least = expected.iter().flatten().min().map(|(.., slot)| *slot);
                    prop_assert_eq!(line.next(), least);
                    least.into_iter().for_each(|slot| expected[slot as usize] = None);
                }
                let mut all: Vec<_> = expected.iter().flatten().collect();
                all.sort();
                prop_assert_eq!(line.all(), all.iter().map(|(.., slot)| *slot).collect::<Vec<_>>());
                prop_assert_eq!(line.len(), all.len());
            }
        }
    }
}
