//! The PULLs that wait at a host (§3.2): one queue for all messages, whose senders take turns. A sender's own messages have theirs in the
//! order in which they were caused.

use std::collections::{BTreeMap, VecDeque};

use flowsieve_core::Time;

/// PULLs that wait.
#[derive(Debug)]
pub(super) struct Pulls {
    /// Between two.
    pace: Time,
    /// From when on the next may leave.
    at: Time,
    /// Senders with PULLs, in the order of their turns.
    turns: VecDeque<u16>,
    /// By sender in `turns`: the messages, one for each PULL.
    of: BTreeMap<u16, VecDeque<u32>>,
    waiting: usize,
}

impl Pulls {
    /// Builds an empty queue. `pace`: the time of a full packet on the host's line.
    pub(super) fn new(pace: Time) -> Pulls {
        Pulls { pace, at: Time::ZERO, turns: VecDeque::new(), of: BTreeMap::new(), waiting: 0 }
    }

    /// Adds a PULL.
    pub(super) fn add(&mut self, sender: u16, message: u32) {
        self.waiting += 1;
        let messages = self.of.entry(sender).or_insert_with(|| {
            self.turns.push_back(sender);
            VecDeque::new()
        });
        messages.push_back(message);
    }

    /// Forgets those of a message.
    pub(super) fn forget(&mut self, sender: u16, message: u32) {
        let Some(messages) = self.of.get_mut(&sender) else { return };
        let before = messages.len();
        messages.retain(|of| *of != message);
        self.waiting -= before - messages.len();
        if messages.is_empty() {
            self.of.remove(&sender);
            self.turns.retain(|of| *of != sender);
        }
    }

    /// Returns from when on the next may leave; [`Time::NEVER`]: none waits.
    pub(super) fn next_at(&self) -> Time {
        if self.waiting == 0 { Time::NEVER } else { self.at }
    }

    /// Takes the message of the next, if it may leave.
    pub(super) fn take(&mut self, now: Time) -> Option<u32> {
        if self.next_at() > now {
            return None;
        }
        let sender = self.turns.pop_front()?;
        let messages = self.of.get_mut(&sender)?;
        let message = messages.pop_front();
        if messages.is_empty() {
            self.of.remove(&sender);
        } else {
            self.turns.push_back(sender);
        }
        self.waiting -= 1;
        self.at = now + self.pace;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take__senders_in_turn_at_the_pace_of_the_line() {
        let mut pulls = Pulls::new(Time(10));
        for (sender, message) in [(1, 5), (1, 5), (1, 6), (2, 7), (2, 7), (3, 8)] {
            pulls.add(sender, message);
        }
        pulls.forget(3, 8);
        let mut taken = Vec::new();
        let mut now = Time(3);
        while pulls.next_at() != Time::NEVER {
            now = pulls.next_at().max(now);
            taken.push((now.0, pulls.take(now).unwrap()));
            assert_eq!(pulls.take(now), None);
        }
        assert_eq!(taken, [(3, 5), (13, 7), (23, 5), (33, 7), (43, 6)]);
        pulls.add(1, 9);
        assert_eq!(pulls.next_at(), Time(53), "the pace holds after a pause, too");
    }
}
