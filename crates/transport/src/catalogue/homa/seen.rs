//! Cutoffs from the messages that a receiver has seen (§3.4), and how they reach its senders.
//!
//! A receiver keeps the bytes of the messages that came to it, in buckets of the bytes left, 64 an octave. After every so many messages it computes the
//! cutoffs anew, and halves what it has kept, so that what is older counts less. They travel in the packets without payload that it
//! sends in any case. A sender uses what it last heard from the receiver of a message. The paper does not state the times.

use super::levels::{Cut, SizeShare, Weights, largest_of};

/// The most cutoffs that a packet has room for.
pub const MOST_CUTOFFS: usize = 8;

/// Cutoffs in the words of a packet: by 16 bits, one more than the number of the bucket; all zero: none.
pub(super) type Words = [u32; MOST_CUTOFFS / 2];

/// What a receiver has seen.
#[derive(Debug)]
pub(super) struct Seen {
    cut: Cut,
    /// Messages between two computations.
    every: u32,
    /// Levels of unscheduled packets.
    levels: u8,
    weights: Weights,
    messages: u32,
    /// The cutoffs for its senders.
    pub(super) words: Words,
}

impl Seen {
    pub(super) fn new(cut: Cut, every: u32, levels: u8) -> Seen {
        Seen { cut, every, levels, weights: Weights::default(), messages: 0, words: Words::default() }
    }

    /// Notes a message that begins to arrive; returns cutoffs that were computed now.
    pub(super) fn message(&mut self, bytes: u64) -> Option<Vec<u64>> {
        self.weights.add(&SizeShare { bytes, share: 1.0 }, self.cut);
        self.messages += 1;
        if self.messages < self.every {
            return None;
        }
        self.messages = 0;
        let buckets = self.weights.cutoffs(self.levels);
        self.weights.halve();
        self.words = Words::default();
        for (place, &bucket) in buckets.iter().take(MOST_CUTOFFS).enumerate() {
            self.words[place / 2] |= (u32::from(bucket) + 1) << (16 * (place % 2));
        }
        cutoffs(self.words)
    }
}

/// Reads the cutoffs of a packet.
pub(super) fn cutoffs(words: Words) -> Option<Vec<u64>> {
    let halves = words.into_iter().flat_map(|word| [word & 0xffff, word >> 16]);
    let cutoffs: Vec<u64> = halves.map_while(|half| Some(largest_of(half.checked_sub(1)? as usize))).collect();
    (!cutoffs.is_empty()).then_some(cutoffs)
}

#[cfg(test)]
mod tests {
    use super::super::levels::equal_bytes;
    use super::*;

    const CUT: Cut = Cut { segment: 1_000, beside: 100, rtt_packets: 2 };

    #[test]
    fn message__by_hand() {
        // On the wire, two messages have 200 bytes each with 100 bytes left, and one has 1,000 with 900: of 1,400, a half is reached
        // with the last. Of quarters, 350 is reached with the short ones; 700 and 1,050 with the long one, and one level is empty.
        let mut seen = Seen::new(CUT, 3, 2);
        assert_eq!((seen.message(100), seen.message(900)), (None, None));
        // 900 is in the bucket from 896 to 903.
        assert_eq!(seen.message(100), Some(vec![903]));
        assert_eq!(cutoffs(seen.words), Some(vec![903]));
        let mut finer = Seen::new(CUT, 3, 4);
        assert_eq!([100, 100, 900].map(|bytes| finer.message(bytes)), [None, None, Some(vec![100, 903, 903])]);
        assert_eq!(cutoffs(Seen::new(CUT, 3, 4).words), None, "nothing computed yet");
    }

    #[test]
    fn message__grants_count_first() {
        // As `equal_bytes__of_the_first_and_the_last_of_a_long_message`: the cutoffs are at 2,000 and 4,000 bytes left.
        assert_eq!(Seen::new(CUT, 1, 3).message(5_000), Some(vec![2_015, 4_031]));
    }

    #[test]
    fn message__what_is_older_counts_less() {
        let mut seen = Seen::new(CUT, 8, 2);
        let mut computed =
            |bytes, messages| -> Vec<u64> { (0..messages).filter_map(|_| seen.message(bytes)).flatten().collect() };
        assert_eq!(computed(100, 80), [100; 10]);
        // The short ones have 1,600 bytes on the wire, halved to begin with, and these 8,000.
        assert_eq!(computed(900, 8), [903]);
        // 2,400 and 4,000; then, halved and with 1,600 more, 2,800 and 2,000.
        assert_eq!(computed(100, 48), [903, 100, 100, 100, 100, 100]);
    }

    /// Sizes up to `most` bytes, all as often, in an order that mixes them.
    fn mixed(most: u64) -> impl Iterator<Item = u64> {
        (0u64..).map(move |number| number * 7_919 % most + 1)
    }

    /// The most by which one of the cutoffs differs from that of the law.
    fn difference(seen: &[u64], most: u64) -> f64 {
        let law: Vec<SizeShare> = (1..=most).map(|bytes| SizeShare { bytes, share: 1.0 }).collect();
        let of_law = equal_bytes(&law, CUT, 4);
        assert_eq!(seen.len(), of_law.len());
        let off = |(seen, law): (&u64, u64)| (*seen as f64 / law as f64 - 1.0).abs();
        seen.iter().zip(of_law).map(off).fold(0.0, f64::max)
    }

    #[test]
    fn message__agrees_with_the_law_and_follows_it_when_it_changes() {
        let mut seen = Seen::new(CUT, 1_000, 4);
        let mut computed = Vec::new();
        let long = mixed(12_007).take(8_000);
        for bytes in long.chain(mixed(1_201).take(8_000)) {
            computed.extend(seen.message(bytes));
        }
        assert!(computed[..8].iter().all(|cutoffs| difference(cutoffs, 12_007) < 0.04), "{computed:?}");
        // After the change, what was seen before counts half, a quarter and so on.
        assert!(difference(&computed[8], 1_201) > 0.1 && difference(&computed[15], 1_201) < 0.04, "{computed:?}");
    }
}
