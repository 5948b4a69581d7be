//! Incoming messages in the order of grants.
//!
//! A receiver grants to one message of each sender: the line of a sender carries one at a time, so that a grant to a second message
//! adds nothing (`numSendersToKeepGranted` of the authors' simulator).

use std::collections::{BTreeMap, BTreeSet};

/// A message's rank, its number among all that came, and its slot.
pub(super) type Ranked = (u64, u32, u32);

/// Messages that need grants.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    by_sender: BTreeMap<u16, BTreeSet<Ranked>>,
    /// The first message of each sender.
    heads: BTreeSet<Ranked>,
}

impl Ranking {
    pub(super) fn insert(&mut self, sender: u16, message: Ranked) {
        let messages = self.by_sender.entry(sender).or_default();
        match messages.first() {
            Some(head) if *head < message => {}
            Some(head) => {
                self.heads.remove(head);
                self.heads.insert(message);
            }
            None => _ = self.heads.insert(message),
        }
        messages.insert(message);
    }

    pub(super) fn remove(&mut self, sender: u16, message: Ranked) {
        let Some(messages) = self.by_sender.get_mut(&sender) else { return };
        messages.remove(&message);
        if self.heads.remove(&message) {
            self.heads.extend(messages.first());
        }
        if messages.is_empty() {
            self.by_sender.remove(&sender);
        }
    }

    /// Returns the slots of the first messages, of as many senders at most.
    pub(super) fn first(&self, count: usize) -> impl Iterator<Item = u32> {
        self.heads.iter().take(count).map(|&(_, _, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first__one_of_each_sender() {
        let mut ranking = Ranking::default();
        let all = [(7, (500, 0, 0)), (7, (100, 1, 1)), (8, (300, 2, 2)), (9, (300, 3, 3))];
        all.into_iter().for_each(|(sender, message)| ranking.insert(sender, message));
        let first = |ranking: &Ranking, count| ranking.first(count).collect::<Vec<_>>();
        assert_eq!(first(&ranking, 2), [1, 2]);
        assert_eq!(first(&ranking, 9), [1, 2, 3]);
        ranking.remove(7, (100, 1, 1));
        assert_eq!(first(&ranking, 9), [2, 3, 0]);
        all.into_iter().for_each(|(sender, message)| ranking.remove(sender, message));
        assert_eq!((first(&ranking, 9), ranking.by_sender.len()), (vec![], 0));
    }
}
