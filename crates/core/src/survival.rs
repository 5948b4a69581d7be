//! How many messages survive beyond a size: a mergeable sketch of 3.2 KB, which also counts messages that are not over.
//!
//! A message passes bins as it sends, and ends in one. The sketch counts both. The share of the messages in a bin that
//! end there is its hazard, and the share of all messages that go beyond the bin is the product of what the hazards up to
//! it leave: the estimator of Kaplan and Meier (*Nonparametric Estimation from Incomplete Observations*, JASA 1958). A
//! message under way counts in the bins that it has passed and not in the one that it is in. So the estimate is exact for
//! sizes in bins, with a censored message taken back to the lower edge of its bin.
//!
//! Bins have eight parts of equal width in each octave from 64 bytes to 2 GB. Counts are halved every
//! [`HALVED_AFTER`] messages, so that old traffic fades and the sketch has no clock. Sketches of hosts add up to the
//! sketch of all, in any order. All arithmetic is in whole numbers until a reader asks for the sizes.

/// The number of bins.
pub const BINS: usize = 200;

/// Counts are halved when this many messages have ended.
pub const HALVED_AFTER: u32 = 20_000;

/// Messages below this size, in bytes, share the first bin.
const FIRST: u64 = 1 << FIRST_OCTAVE;
const FIRST_OCTAVE: u32 = 6;

/// Bins of an octave, as a power of two.
const PARTS: u32 = 3;

/// A message in the counts. It fades over as many halvings as it has bits.
const UNIT: u64 = 1 << 20;

/// All messages, in the counts of [`SurvivalSketch::sizes`].
const ALL: f64 = (1u64 << 40) as f64;

/// Counts of messages that passed a bin, and that ended in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurvivalSketch {
    /// The sum up to a bin counts the messages that passed it. So a message that passes many bins at once changes two.
    passed: [i64; BINS],
    ended: [u64; BINS],
    /// Messages since counts were halved.
    since: u32,
}

impl Default for SurvivalSketch {
    fn default() -> SurvivalSketch {
        SurvivalSketch { passed: [0; BINS], ended: [0; BINS], since: 0 }
    }
}

/// Returns the bin of a size.
#[inline]
fn bin(bytes: u64) -> usize {
    if bytes < FIRST {
        return 0;
    }
    let octave = bytes.ilog2();
    let part = (bytes >> (octave - PARTS)) as usize & ((1 << PARTS) - 1);
    ((((octave - FIRST_OCTAVE) as usize) << PARTS) + part + 1).min(BINS - 1)
}

/// Returns the largest size of a bin. Larger messages than that of the last bin count as if they had this size.
fn largest(bin: usize) -> u64 {
    let octave = FIRST_OCTAVE + (bin as u32 >> PARTS);
    let part = bin as u64 & ((1 << PARTS) - 1);
    (((1 << PARTS) + part) << (octave - PARTS)) - 1
}

impl SurvivalSketch {
    /// Counts that a message which had sent `from` bytes has sent `to`, and is not over.
    #[inline]
    pub fn advance(&mut self, from: u64, to: u64) {
        self.move_up(bin(from), bin(to));
    }

    /// Counts that a message which was counted up to `from` bytes has ended with `size` bytes.
    #[inline]
    pub fn end(&mut self, from: u64, size: u64) {
        let (from, to) = (bin(from), bin(size));
        self.move_up(from, to);
        let ended = &mut self.ended[to.max(from)];
        *ended = ended.saturating_add(UNIT);
        self.since = self.since.saturating_add(1);
        if self.since >= HALVED_AFTER {
            self.halve();
        }
    }

    #[inline]
    fn move_up(&mut self, from: usize, to: usize) {
        if from < to {
            self.passed[from] = self.passed[from].saturating_add(UNIT as i64);
            self.passed[to] = self.passed[to].saturating_sub(UNIT as i64);
        }
    }

    #[cold]
    fn halve(&mut self) {
        self.passed.iter_mut().for_each(|count| *count >>= 1);
        self.ended.iter_mut().for_each(|count| *count >>= 1);
        self.since = 0;
    }

    /// Adds the counts of another sketch.
    pub fn merge(&mut self, other: &SurvivalSketch) {
        for (count, more) in self.passed.iter_mut().zip(&other.passed) {
            *count = count.saturating_add(*more);
        }
        for (count, more) in self.ended.iter_mut().zip(&other.ended) {
            *count = count.saturating_add(*more);
        }
        self.since = self.since.saturating_add(other.since);
    }

    /// Returns the number of messages that ended and have not faded.
    pub fn ended(&self) -> u64 {
        self.ended.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)) / UNIT
    }

    /// Returns the largest size of each bin, rising, with the share of all messages that go beyond it.
    pub fn survivors(&self) -> impl Iterator<Item = (u64, f64)> {
        let (mut passed, mut beyond) = (0i64, 1.0);
        (0..BINS).map(move |bin| {
            passed = passed.saturating_add(self.passed[bin]);
            let ended = self.ended[bin] as f64;
            // Halving rounds down, so that a sum may be a trifle below zero.
            let in_bin = passed.max(0) as f64 + ended;
            if ended > 0.0 {
                beyond *= 1.0 - ended / in_bin;
            }
            (largest(bin), beyond)
        })
    }

    /// Returns sizes, rising, with counts in proportion to the messages that have them. Messages beyond all that ended
    /// count as ended in the bin that the farthest of them is in. Empty if nothing was counted.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        let (mut passed, mut last) = (0i64, self.ended.iter().rposition(|&count| count > 0));
        for (bin, more) in self.passed.iter().enumerate() {
            passed = passed.saturating_add(*more);
            if passed > 0 {
                last = last.max(Some((bin + 1).min(BINS - 1)));
            }
        }
        let mut before = 1.0;
        self.survivors().enumerate().filter_map(move |(bin, (size, beyond))| {
            let beyond = if Some(bin) >= last { 0.0 } else { beyond };
            let share = std::mem::replace(&mut before, beyond) - beyond;
            (last.is_some() && share > 0.0).then(|| (size, (share * ALL).max(1.0) as u64))
        })
    }

    /// Returns the share of all bytes that messages send between two of these thresholds, in millionths: from none to the
    /// first, and so on, and beyond the last. Thresholds rise.
    pub fn shares(&self, thresholds: &[u64]) -> Vec<u64> {
        let up_to = |bytes: u64| -> u128 {
            self.sizes().map(|(size, count)| u128::from(size.min(bytes)) * u128::from(count)).sum()
        };
        let all = up_to(u64::MAX).max(1);
        let ends = thresholds.iter().copied().chain([u64::MAX]).map(|end| (up_to(end) * 1_000_000 / all) as u64);
        ends.scan(0, |before, end| Some(end - std::mem::replace(before, end))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn survivors_of(sizes: &SurvivalSketch) -> Vec<f64> {
        sizes.survivors().map(|(_, beyond)| beyond).collect()
    }

    #[test]
    fn shares__of_bytes_by_level() {
        // Three messages of 127 bytes and one of 1,023: 127 and 1,023 are the largest sizes of their bins.
        let sketch = sketch(&[(127, None), (127, None), (127, None), (1_023, None)]);
        // All 1,404 bytes: 4 * 100 up to 100, 3 * 27 + 400 more up to 500, 523 beyond.
        assert_eq!(sketch.shares(&[100, 500]), [284_900, 342_592, 372_508]);
        assert_eq!(sketch.shares(&[5_000, 6_000]), [1_000_000, 0, 0]);
        assert_eq!(SurvivalSketch::default().shares(&[100]), [0, 0]);
    }

    /// A message: its size and, if it is not over, what it has sent.
    type Observed = (u64, Option<u64>);

    fn sketch(messages: &[Observed]) -> SurvivalSketch {
        let mut sketch = SurvivalSketch::default();
        for &(size, sent) in messages {
            match sent {
                Some(sent) => sketch.advance(0, sent),
                None => sketch.end(0, size),
            }
        }
        sketch
    }

    /// The estimator of Kaplan and Meier by its definition: at each size at which messages ended, the share of those that
    /// were at risk that did not end.
    fn exact(messages: &[Observed], at: u64) -> f64 {
        let mut ends: Vec<u64> = messages.iter().filter(|(_, sent)| sent.is_none()).map(|(size, _)| *size).collect();
        ends.sort_unstable();
        ends.dedup();
        let seen = |&(size, sent): &Observed| sent.unwrap_or(size);
        let beyond = |end: u64| {
            let at_risk = messages.iter().filter(|message| seen(message) >= end).count() as f64;
            let ended = messages.iter().filter(|message| message.1.is_none() && message.0 == end).count() as f64;
            1.0 - ended / at_risk
        };
        ends.into_iter().take_while(|&end| end <= at).map(beyond).product()
    }

    fn any_size() -> impl Strategy<Value = u64> {
        (0u32..31).prop_flat_map(|bits| 1..=1u64 << bits)
    }

    fn any_messages() -> impl Strategy<Value = Vec<Observed>> {
        let message = (any_size(), prop::option::weighted(0.3, any_size()));
        prop::collection::vec(message.prop_map(|(size, sent)| (size, sent.map(|sent| sent.min(size)))), 1..80)
    }

    #[test]
    fn bins__eight_an_octave_in_3_200_bytes() {
        assert_eq!([0, 63, 64, 71, 72, 127, 128].map(bin), [0, 0, 1, 1, 2, 8, 9]);
        assert_eq!((bin(u64::MAX), bin(largest(BINS - 1))), (BINS - 1, BINS - 1));
        for bin_of in 0..BINS - 1 {
            assert_eq!((bin(largest(bin_of)), bin(largest(bin_of) + 1)), (bin_of, bin_of + 1));
        }
        assert!(size_of::<SurvivalSketch>() <= 3_208, "{}", size_of::<SurvivalSketch>());
    }

    #[test]
    fn survivors__by_hand() {
        // Ten messages: four end with 1,000 bytes; of the six others three end with 5,000, and three have sent 2,000.
        let mut messages = vec![(1_000, None); 4];
        messages.extend([(5_000, None); 3]);
        messages.extend([(90_000, Some(2_000)); 3]);
        let found: Vec<(u64, f64)> = sketch(&messages).survivors().collect();
        let at = |bytes: u64| found[bin(bytes)].1;
        assert_eq!([at(900), at(1_000), at(4_000)], [1.0, 0.6, 0.6]);
        // Those that were not over at 2,000 are not at risk at 5,000, where all that are end.
        assert_eq!(at(5_000), 0.0);
    }

    #[test]
    fn sizes__what_has_not_ended_ends_in_its_bin() {
        let alone = sketch(&[(1_000_000_000, Some(1_000_000))]);
        assert_eq!(alone.sizes().collect::<Vec<_>>(), [(largest(bin(1_000_000)), 1 << 40)]);
        assert_eq!(alone.ended(), 0);
        assert_eq!(SurvivalSketch::default().sizes().count(), 0);
        let same = sketch(&[(1, None), (1, None)]);
        assert_eq!((same.sizes().collect::<Vec<_>>(), same.ended()), (vec![(63, 1 << 40)], 2));
    }

    #[test]
    fn end__old_traffic_fades() {
        let mut sketch = SurvivalSketch::default();
        (0..HALVED_AFTER).for_each(|_| sketch.end(0, 1_000));
        assert_eq!(sketch.ended(), u64::from(HALVED_AFTER / 2));
        for _ in 0..3 * HALVED_AFTER {
            sketch.end(0, 1_000_000);
        }
        // What ended first was halved four times, the rest once, twice and three times.
        let (small, large) = (f64::from(HALVED_AFTER) / 16.0, f64::from(HALVED_AFTER) * (0.5 + 0.25 + 0.125));
        let beyond = survivors_of(&sketch)[bin(1_000)];
        assert!((beyond - large / (small + large)).abs() < 1e-6, "{beyond}");
    }

    proptest! {
        #[test]
        fn survivors__are_those_of_the_exact_estimator(messages in any_messages()) {
            // A message under way is not at risk in the bin that it is in.
            let below = |sent: u64| if bin(sent) == 0 { 0 } else { largest(bin(sent) - 1) };
            let taken_back: Vec<Observed> = messages.iter().map(|&(size, sent)| (size, sent.map(below))).collect();
            for (size, beyond) in sketch(&messages).survivors() {
                let expected = exact(&taken_back, size);
                prop_assert!((beyond - expected).abs() < 1e-9, "{beyond} beyond {size}, not {expected}");
            }
        }

        #[test]
        fn advance__many_steps_are_one(messages in any_messages(), step in 1u64..100_000) {
            let mut by_steps = SurvivalSketch::default();
            for &(size, sent) in &messages {
                let most = sent.unwrap_or(size);
                let step = step.max(most / 50);
                let mut from = 0;
                while from + step < most {
                    by_steps.advance(from, from + step);
                    from += step;
                }
                match sent {
                    Some(sent) => by_steps.advance(from, sent),
                    None => by_steps.end(from, size),
                }
            }
            prop_assert_eq!(by_steps, sketch(&messages));
        }

        #[test]
        fn merge__parts_in_any_order_make_the_whole(messages in any_messages(), cut in 0usize..80) {
            let (one, other) = messages.split_at(cut.min(messages.len()));
            let (mut there, mut back) = (sketch(one), sketch(other));
            there.merge(&sketch(other));
            back.merge(&sketch(one));
            prop_assert_eq!(&there, &back);
            prop_assert_eq!(there, sketch(&messages));
        }

        /// Whatever hosts report, sizes rise, and shares fall from 1 to 0.
        #[test]
        fn survivors__of_anything_that_hosts_may_report(
            calls in prop::collection::vec((0u8..4, any::<u64>(), any::<u64>(), 0u32..64), 0..200),
        ) {
            let (mut sketch, mut other) = (SurvivalSketch::default(), SurvivalSketch::default());
            for (call, from, to, bits) in calls {
                match call {
                    0 => sketch.advance(from >> bits, to >> bits),
                    1 => sketch.end(from >> bits, to >> (63 - bits)),
                    2 => sketch.halve(),
                    _ => {
                        other.merge(&sketch);
                        sketch.merge(&other);
                    }
                }
            }
            let beyond = survivors_of(&sketch);
            prop_assert!(beyond.iter().all(|share| (0.0..=1.0).contains(share)), "{beyond:?}");
            prop_assert!(beyond.is_sorted_by(|a, b| a >= b));
            let sizes: Vec<(u64, u64)> = sketch.sizes().collect();
            prop_assert!(sizes.is_sorted_by(|a, b| a.0 < b.0) && sizes.iter().all(|(_, count)| *count > 0));
            let all: u64 = sizes.iter().map(|(_, count)| count).sum();
            prop_assert!(sizes.is_empty() || all.abs_diff(1 << 40) < 400, "{all}");
        }
    }
}
