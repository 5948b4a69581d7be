//! The priorities of packets (§3.4), 0 the highest.
//!
//! The lowest levels are for scheduled packets, one for each message to which a receiver grants. The others are for unscheduled
//! packets, with cutoffs at which each carries as many bytes.

/// The levels of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The number of levels.
    count: u8,
    /// The most bytes that the message of an unscheduled packet has left, level by level; rising. The level after the last of them has no limit.
    cutoffs: Vec<u64>,
}

/// The cutoffs leave no room for scheduled packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewLevels;

impl Levels {
    /// Builds `count` levels, of which one more than there are cutoffs are for unscheduled packets.
    ///
    /// # Errors
    /// No level remains for scheduled packets.
    pub fn new(count: u8, cutoffs: Vec<u64>) -> Result<Levels, TooFewLevels> {
        if cutoffs.len() + 1 < usize::from(count) { Ok(Levels { count, cutoffs }) } else { Err(TooFewLevels) }
    }

    /// Returns the number of levels for scheduled packets.
    pub fn scheduled_count(&self) -> usize {
        usize::from(self.count) - self.cutoffs.len() - 1
    }

    /// Returns as many levels with other cutoffs; `None`: these are not as many, or not in order.
    pub fn with_cutoffs(&self, cutoffs: Vec<u64>) -> Option<Levels> {
        (cutoffs.len() == self.cutoffs.len() && cutoffs.is_sorted()).then_some(Levels { count: self.count, cutoffs })
    }

    /// Returns the cutoffs.
    pub fn cutoffs(&self) -> &[u64] {
        &self.cutoffs
    }

    /// Returns the level of an unscheduled packet whose message has `left` bytes left, the packet's own included.
    pub(super) fn unscheduled(&self, left: u64) -> u8 {
        self.cutoffs.partition_point(|&cutoff| cutoff < left) as u8
    }

    /// Returns the level of the message that has `longer` ones after it in the order of grants. The longest has the lowest level, so that
    /// a new shorter one finds a higher level that is empty, and does not wait behind packets already granted.
    pub(super) fn scheduled(&self, longer: usize) -> u8 {
        let lowest = self.count - 1;
        lowest - longer.min(self.scheduled_count() - 1) as u8
    }
}

/// A share of the messages of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeShare {
    /// Bytes of each of them.
    pub bytes: u64,
    /// Their share of all messages, in any unit.
    pub share: f64,
}

/// How messages are cut into packets, in bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Payload of a full packet.
    pub segment: u16,
    /// Headers of a packet, and what it takes on the wire in addition.
    pub beside: u32,
    /// RTTbytes in full packets.
    pub rtt_packets: u32,
}

/// How a message is cut.
#[derive(Clone, Copy)]
struct Message {
    bytes: u64,
    share: f64,
    cut: Cut,
    /// Its packets, and how many of them, from the first on, are unscheduled.
    packets: u64,
    first: u64,
}

impl Message {
    fn new(&SizeShare { bytes, share }: &SizeShare, cut: Cut) -> Message {
        let cut = Cut { segment: cut.segment.max(1), ..cut };
        let packets = bytes.div_ceil(cut.segment.into()).max(1);
        Message { bytes, share, cut, packets, first: packets.min(cut.rtt_packets.into()) }
    }

    /// Bytes of grants.
    fn grants(&self) -> f64 {
        self.share * (self.packets - self.first) as f64 * f64::from(self.cut.beside)
    }

    /// Bytes on the wire of its packets up to a number of them.
    fn upto(&self, packets: u64) -> f64 {
        let payload = self.bytes.min(packets * u64::from(self.cut.segment));
        self.share * (payload as f64 + packets as f64 * f64::from(self.cut.beside))
    }

    /// Packets that are not at a scheduled level, those of the first RTTbytes and the last: the bytes left, and bytes on the wire.
    fn raised(self) -> impl Iterator<Item = (u64, f64)> {
        let last = self.packets.saturating_sub(self.cut.rtt_packets.into()).max(self.first);
        let segment = u64::from(self.cut.segment);
        (0..self.first).chain(last..self.packets).map(move |packet| {
            let left = self.bytes - packet * segment;
            (left, self.share * (left.min(segment) as f64 + f64::from(self.cut.beside)))
        })
    }
}

/// Bytes on the wire of grants, and of data that is not at a scheduled level, by the bytes left.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    grants: f64,
    buckets: Vec<f64>,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { grants: 0.0, buckets: vec![0.0; BUCKETS] }
    }
}

impl Weights {
    /// Adds messages of a size.
    pub(super) fn add(&mut self, size: &SizeShare, cut: Cut) {
        let message = Message::new(size, cut);
        self.grants += message.grants();
        message.raised().for_each(|(left, bytes)| self.buckets[bucket(left)] += bytes);
    }

    fn total(&self) -> f64 {
        self.grants + self.buckets.iter().sum::<f64>()
    }

    /// Halves all of them.
    pub(super) fn halve(&mut self) {
        self.grants /= 2.0;
        self.buckets.iter_mut().for_each(|held| *held /= 2.0);
    }

    /// Returns the buckets at whose ends each of `levels` carries as many bytes, one fewer than the levels. If the sizes do not
    /// divide so finely, the last levels are empty.
    pub(super) fn cutoffs(&self, levels: u8) -> Vec<u16> {
        let (total, most) = (self.total(), usize::from(levels).saturating_sub(1));
        let (mut cutoffs, mut sum) = (Vec::new(), self.grants);
        for (number, held) in (0..).zip(&self.buckets).filter(|(_, held)| **held > 0.0) {
            sum += held;
            if cutoffs.len() < most && sum >= total * (cutoffs.len() + 1) as f64 / f64::from(levels) {
                cutoffs.push(number);
            }
        }
        let last = cutoffs.last().copied().unwrap_or(0);
        cutoffs.resize(most, last);
        cutoffs
    }
}

/// Returns the cutoffs at which each of `levels` carries as many bytes of grants and of data that is not at a scheduled level; one
/// fewer than the levels, or fewer if the sizes do not divide so finely. Grants, without payload, count first
/// (`getRemainSizeCdfCbf` of the authors' simulator).
pub fn equal_bytes(sizes: &[SizeShare], cut: Cut, levels: u8) -> Vec<u64> {
    let raised = || sizes.iter().flat_map(|size| Message::new(size, cut).raised());
    // Only the buckets in which a cutoff lies are sorted: there are a hundred thousand packets, and few cutoffs.
    let mut weights = Weights::default();
    sizes.iter().for_each(|size| weights.add(size, cut));
    let (mut cutoffs, mut sum, total) = (Vec::<u64>::new(), weights.grants, weights.total());
    let reached = |sum: f64, cutoffs: &[u64]| sum >= total * (cutoffs.len() + 1) as f64 / f64::from(levels);
    for (number, held) in weights.buckets.into_iter().enumerate() {
        if cutoffs.len() + 1 == usize::from(levels) {
            break;
        }
        if !reached(sum + held, &cutoffs) {
            sum += held;
            continue;
        }
        let mut within: Vec<(u64, f64)> = raised().filter(|(left, _)| bucket(*left) == number).collect();
        within.sort_unstable_by_key(|&(left, _)| left);
        for (left, bytes) in within {
            sum += bytes;
            let is_new = cutoffs.len() + 1 < usize::from(levels) && cutoffs.last() != Some(&left);
            if is_new && reached(sum, &cutoffs) {
                cutoffs.push(left);
            }
        }
    }
    cutoffs
}

/// Buckets of bytes left, 64 an octave.
const PER_OCTAVE: u32 = 6;
const BUCKETS: usize = 64 << PER_OCTAVE;

/// Returns the bucket of a number of bytes left. The bucket of more bytes is no lower.
fn bucket(left: u64) -> usize {
    let octave = left.max(1).ilog2();
    let within = if octave >= PER_OCTAVE { left >> (octave - PER_OCTAVE) } else { left << (PER_OCTAVE - octave) };
    (octave as usize) << PER_OCTAVE | (within & ((1 << PER_OCTAVE) - 1)) as usize
}

/// Returns the most bytes left of a bucket that [`bucket`] returns, or of one between two of these.
pub(super) fn largest_of(bucket: usize) -> u64 {
    let octave = (bucket >> PER_OCTAVE).min(63) as u32;
    let leading = (1u128 << PER_OCTAVE) + (bucket & ((1 << PER_OCTAVE) - 1)) as u128;
    let largest = if octave >= PER_OCTAVE {
        ((leading + 1) << (octave - PER_OCTAVE)) - 1
    } else {
        leading >> (PER_OCTAVE - octave)
    };
    u64::try_from(largest).unwrap_or(u64::MAX)
}

/// Returns how many of `levels` are for unscheduled packets: as large a share as unscheduled bytes are of all, and at least one (§3.4).
pub fn unscheduled_levels(sizes: &[SizeShare], cut: Cut, levels: u8) -> u8 {
    let messages = || sizes.iter().map(|size| Message::new(size, cut));
    let unscheduled: f64 = messages().map(|message| message.upto(message.first)).sum();
    let all: f64 = messages().map(|message| message.upto(message.packets)).sum();
    let share = if all > 0.0 { unscheduled / all } else { 0.0 };
    ((share * f64::from(levels)).round() as u8).clamp(1, levels.saturating_sub(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled__from_the_lowest_up() {
        let levels = Levels::new(8, vec![100, 1_000, 10_000]).unwrap();
        assert_eq!(levels.scheduled_count(), 4);
        // One message; of two the shorter is above; more than there are levels share the highest.
        assert_eq!([0, 1, 3, 4].map(|longer| levels.scheduled(longer)), [7, 6, 4, 4]);
    }

    #[test]
    fn unscheduled__by_the_bytes_left() {
        let levels = Levels::new(8, vec![100, 1_000, 10_000]).unwrap();
        assert_eq!(
            [1, 100, 101, 1_000, 10_000, 10_001, u64::MAX].map(|left| levels.unscheduled(left)),
            [0, 0, 1, 1, 2, 3, 3]
        );
        assert_eq!(Levels::new(2, vec![]).unwrap().unscheduled(5), 0);
        assert_eq!(Levels::new(2, vec![5]), Err(TooFewLevels));
        assert_eq!(Levels::new(1, vec![]), Err(TooFewLevels));
    }

    const CUT: Cut = Cut { segment: 1_000, beside: 100, rtt_packets: 2 };

    fn sizes(of: &[(u64, f64)]) -> Vec<SizeShare> {
        of.iter().map(|&(bytes, share)| SizeShare { bytes, share }).collect()
    }

    #[test]
    fn equal_bytes__of_whole_messages() {
        // 100 + 100 bytes on the wire five times, 900 + 100 once.
        let halves = sizes(&[(100, 5.0), (900, 1.0)]);
        assert_eq!(equal_bytes(&halves, CUT, 2), [100]);
        // More levels than sizes.
        assert_eq!(equal_bytes(&halves, CUT, 4), [100, 900]);
        assert_eq!(equal_bytes(&halves, CUT, 1), []);
    }

    /// The same from one sorted list of all packets.
    fn naive(sizes: &[SizeShare], levels: u8) -> Vec<u64> {
        let grants: f64 = sizes.iter().map(|size| Message::new(size, CUT).grants()).sum();
        let mut raised: Vec<(u64, f64)> = sizes.iter().flat_map(|size| Message::new(size, CUT).raised()).collect();
        raised.sort_by_key(|&(left, _)| left);
        let total = grants + raised.iter().map(|(_, bytes)| bytes).sum::<f64>();
        let (mut cutoffs, mut sum) = (Vec::new(), grants);
        for (left, bytes) in raised {
            sum += bytes;
            let reached = sum >= total * (cutoffs.len() + 1) as f64 / f64::from(levels);
            if reached && cutoffs.len() + 1 < usize::from(levels) && cutoffs.last() != Some(&left) {
                cutoffs.push(left);
            }
        }
        cutoffs
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]
        #[test]
        fn equal_bytes__are_those_of_a_sorted_list(
            sizes in proptest::collection::vec((1u64..5_000_000, 1u8..9), 1..200), levels in 1u8..12,
        ) {
            let share = |(bytes, share)| SizeShare { bytes, share: f64::from(share) };
            let sizes: Vec<SizeShare> = sizes.into_iter().map(share).collect();
            proptest::prop_assert_eq!(equal_bytes(&sizes, CUT, levels), naive(&sizes, levels));
        }
    }

    #[test]
    fn equal_bytes__of_the_first_and_the_last_of_a_long_message() {
        // Five packets: with 5,000 and 4,000 bytes left, unscheduled; with 3,000, at the scheduled level; with 2,000 and 1,000, the last.
        // Each of the four has 1,100 bytes on the wire, and three grants have 300: of 4,700, 2,350 are reached with the second, and
        // of thirds, 1,567 and 3,133, with the second and the third.
        let long = sizes(&[(5_000, 1.0)]);
        assert_eq!(equal_bytes(&long, CUT, 2), [2_000]);
        assert_eq!(equal_bytes(&long, CUT, 3), [2_000, 4_000]);
    }

    #[test]
    fn largest_of__is_in_its_bucket_and_the_next_is_not() {
        for left in (0..200).chain([1_000, 9_999, 1 << 40, u64::MAX / 3, u64::MAX - 1, u64::MAX]) {
            let largest = largest_of(bucket(left));
            assert!(largest >= left && bucket(largest) == bucket(left), "{left}: {largest}");
            assert!(largest == u64::MAX || bucket(largest + 1) > bucket(largest), "{left}: {largest}");
        }
        assert_eq!([900, 2_000, 4_000].map(|left| largest_of(bucket(left))), [903, 2_015, 4_031]);
    }

    #[test]
    fn unscheduled_levels__as_the_bytes() {
        assert_eq!(unscheduled_levels(&sizes(&[(100, 1.0)]), CUT, 8), 7, "one is left for scheduled ones");
        assert_eq!(unscheduled_levels(&sizes(&[(4_000, 1.0)]), CUT, 8), 4);
        assert_eq!(unscheduled_levels(&sizes(&[(1_000_000, 1.0)]), CUT, 8), 1);
    }
}
