//! The messages of a partition that will begin at given instants, and those that wait for a controller's table.

use std::collections::VecDeque;

use flowsieve_core::message::Bounds;
use flowsieve_core::{Message, Time};
use flowsieve_workload::{Flow, Prediction, SizeBounds};

use crate::hosts::Rules;

/// A message that will begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcoming {
    pub(crate) flow: Flow,
    /// Its host's index in this partition.
    pub(crate) host: u32,
    /// When its tagger let it begin, if it was held back; else zero.
    released: Time,
}

impl Upcoming {
    pub(crate) fn new(flow: Flow, host: u32) -> Upcoming {
        Upcoming { flow, host, released: Time::ZERO }
    }

    /// Returns when it begins, and its number.
    fn begin(&self, rules: &Rules) -> (Time, u32) {
        (rules.begin(&self.flow).max(self.released), self.flow.id)
    }
}

/// A message that is due, and that its tagger holds back.
pub(crate) struct HeldBack {
    pub(crate) upcoming: Upcoming,
    pub(crate) message: Message,
    /// The index of its host's side.
    pub(crate) side: usize,
}

/// Messages that will begin.
#[derive(Default)]
pub(crate) struct UpcomingMessages {
    /// In the order of their beginnings.
    due: VecDeque<Upcoming>,
    pub(crate) held: Vec<HeldBack>,
}

impl UpcomingMessages {
    /// Adds a message that begins later than those added before; returns whether it is now the first.
    pub(crate) fn add(&mut self, upcoming: Upcoming, rules: &Rules) -> bool {
        let (begin, _) = upcoming.begin(rules);
        // Prediction delays may differ between classes, so that a message added later may begin earlier.
        let waits = self.due.iter().rev().take_while(|other| other.begin(rules).0 > begin).count();
        let place = self.due.len() - waits;
        self.due.insert(place, upcoming);
        place == 0
    }

    /// Lets the messages begin at `at` that are held no longer; returns whether there are any.
    pub(crate) fn release(&mut self, at: Time, rules: &Rules, holds: impl Fn(&HeldBack) -> bool) -> bool {
        let released: Vec<HeldBack> = self.held.extract_if(.., |held| !holds(held)).collect();
        for held in &released {
            let upcoming = Upcoming { released: at, ..held.upcoming };
            let place = self.due.partition_point(|other| other.begin(rules) < upcoming.begin(rules));
            self.due.insert(place, upcoming);
        }
        !released.is_empty()
    }

    /// Returns when the first begins, and its number.
    pub(crate) fn first(&self, rules: &Rules) -> Option<(Time, u32)> {
        self.due.front().map(|upcoming| upcoming.begin(rules))
    }

    /// Takes the first.
    pub(crate) fn take_first(&mut self) -> Option<Upcoming> {
        self.due.pop_front()
    }
}

/// Builds the sender's view of a flow.
pub fn message(flow: &Flow, class: u8, prediction: Prediction) -> Message {
    Message {
        id: flow.id,
        to: flow.dst as u16,
        class,
        bytes: flow.bytes,
        start: Time(flow.start_ps),
        deadline: flow.deadline_ps.map(|after_start| Time(flow.start_ps.saturating_add(after_start.get()))),
        coflow: flow.coflow,
        predicted: prediction.size,
        bounds: prediction.bounds.map(|SizeBounds { lower, upper }| Bounds { lower, upper }),
    }
}
