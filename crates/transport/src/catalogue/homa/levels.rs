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

/// Returns the cutoffs at which each of `levels` carries as many bytes of grants and of data that is not at a scheduled level; one
/// fewer than the levels, or fewer if the sizes do not divide so finely. Grants, without payload, count first
/// (`getRemainSizeCdfCbf` of the authors' simulator).
pub fn equal_bytes(sizes: &[SizeShare], cut: Cut, levels: u8) -> Vec<u64> {
    let raised = || sizes.iter().flat_map(|size| Message::new(size, cut).raised());
    let grants: f64 = sizes.iter().map(|size| Message::new(size, cut).grants()).sum();
    // Only the buckets in which a cutoff lies are sorted: there are a hundred thousand packets, and few cutoffs.
    let mut buckets = vec![0.0; BUCKETS];
    raised().for_each(|(left, bytes)| buckets[bucket(left)] += bytes);
    let total = grants + buckets.iter().sum::<f64>();
    let (mut cutoffs, mut sum) = (Vec::<u64>::new(), grants);
    let reached = |sum: f64, cutoffs: &[u64]| sum >= total * (cutoffs.len() + 1) as f64 / f64::from(levels);
    for (number, held) in buckets.into_iter().enumerate() {
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
    fn unscheduled_levels__as_the_bytes() {
        assert_eq!(unscheduled_levels(&sizes(&[(100, 1.0)]), CUT, 8), 7, "one is left for scheduled ones");
        assert_eq!(unscheduled_levels(&sizes(&[(4_000, 1.0)]), CUT, 8), 4);
        assert_eq!(unscheduled_levels(&sizes(&[(1_000_000, 1.0)]), CUT, 8), 1);
    }
}
