//! ECN marking at enqueue.
//!
//! DCTCP's threshold K (SIGCOMM 2010 §3.1) on the port's or the queue's instantaneous length, and RED's ramp (Floyd and
//! Jacobson, 1993) on the instantaneous or averaged length. Left out: RED's decay of the average over idle times (the
//! average moves with arrivals only) and its count since the last mark.

use rand_core::Rng;

/// When an arriving packet is marked. Lengths are bytes queued, without the packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Never.
    Off,
    /// If the length exceeds a threshold.
    Threshold {
        /// Bytes.
        above: u64,
        /// Which length.
        scope: MarkScope,
        /// Whether the arriving packet is part of the length.
        counts_arriving: bool,
    },
    /// With a probability that rises from 0 at `min` to `most` at `max`, and is 1 above.
    Red {
        /// Bytes at which marking starts.
        min: u64,
        /// Bytes above which every packet is marked.
        max: u64,
        /// The probability at `max`, in 2^-32.
        most: u32,
        /// The weight of the newest length in the average, in 2^-16; [`WHOLE`]: the instantaneous length.
        weight: u32,
        /// Which length.
        scope: MarkScope,
        /// Whether the arriving packet is part of the length.
        counts_arriving: bool,
    },
}

/// The weight of an average that is the newest value alone.
pub const WHOLE: u32 = 1 << 16;

/// Which length a marker looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkScope {
    /// All queues of the port together.
    Port,
    /// The queue that the packet joins.
    Queue,
}

/// A [`Marker`] as a port applies it. Thresholds are numbers, so the common ones cost no branch.
#[derive(Clone, Debug)]
pub struct MarkerState {
    /// Bytes of the port above which an arrival is marked.
    port: u64,
    /// Bytes of a queue above which an arrival to it is marked.
    queue: u64,
    /// A mask of the arriving packet's length: all bits, or none if it does not count.
    arriving: u64,
    red: Option<Box<Red>>,
}

/// RED with its averages.
#[derive(Clone, Debug)]
struct Red {
    min: u64,
    max: u64,
    most: u32,
    weight: u32,
    scope: MarkScope,
    /// Average length in bytes times 2^16: of the port, or of each queue.
    averages: Vec<u64>,
}

impl MarkerState {
    /// Builds a marker for a port of `queues` queues.
    pub(crate) fn new(marker: Marker, queues: usize) -> MarkerState {
        let off = MarkerState { port: u64::MAX, queue: u64::MAX, arriving: 0, red: None };
        let arriving = |counts| if counts { u64::MAX } else { 0 };
        match marker {
            Marker::Off => off,
            Marker::Threshold { above, scope: MarkScope::Port, counts_arriving } => {
                MarkerState { port: above, arriving: arriving(counts_arriving), ..off }
            }
            Marker::Threshold { above, scope: MarkScope::Queue, counts_arriving } => {
                MarkerState { queue: above, arriving: arriving(counts_arriving), ..off }
            }
            Marker::Red { min, max, most, weight, scope, counts_arriving } => {
                let averages = vec![0; if scope == MarkScope::Port { 1 } else { queues }];
                let red = Some(Box::new(Red { min, max, most, weight, scope, averages }));
                MarkerState { arriving: arriving(counts_arriving), red, ..off }
            }
        }
    }

    /// Returns the longest packet that is not marked at an empty port; `None` if that depends on earlier packets.
    pub(crate) fn of_empty_port(&self) -> Option<u64> {
        let counted = |threshold: u64| if self.arriving == 0 { u64::MAX } else { threshold };
        self.red.is_none().then_some(counted(self.port.min(self.queue)))
    }

    /// Returns whether to mark a packet of `len` bytes that joins `queue`, which holds `queue_bytes`, at a port that holds
    /// `port_bytes`.
    #[inline(always)]
    pub(crate) fn marks(
        &mut self,
        len: u16,
        queue: usize,
        queue_bytes: u32,
        port_bytes: u64,
        random: &mut dyn Rng,
    ) -> bool {
        let arriving = u64::from(len) & self.arriving;
        let (port, of_queue) = (port_bytes + arriving, u64::from(queue_bytes) + arriving);
        match &mut self.red {
            None => port > self.port || of_queue > self.queue,
            Some(red) => red.marks(queue, of_queue, port, random),
        }
    }
}

impl Red {
    #[inline(never)]
    fn marks(&mut self, queue: usize, queue_bytes: u64, port_bytes: u64, random: &mut dyn Rng) -> bool {
        let (average, length) = match self.scope {
            MarkScope::Port => (&mut self.averages[0], port_bytes),
            MarkScope::Queue => (&mut self.averages[queue], queue_bytes),
        };
        let (old, new) = (u128::from(WHOLE - self.weight), u128::from(self.weight));
        *average = ((u128::from(*average) * old + u128::from(length << 16) * new) >> 16) as u64;
        let length = *average >> 16;
        if length <= self.min {
            return false;
        }
        // Beyond the ramp every packet is marked; on it, chance decides.
        length > self.max || random.next_u32() < ramp(length - self.min, self.max - self.min, self.most)
    }
}

/// Returns `most` · part / whole in 2^-32.
fn ramp(part: u64, whole: u64, most: u32) -> u32 {
    (u128::from(most) * u128::from(part) / u128::from(whole)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    #[test]
    fn marks__above_k_and_named_whether_the_arrival_counts() {
        let k = 65 * 1500;
        let at = |counts_arriving| Marker::Threshold { above: k, scope: MarkScope::Port, counts_arriving };
        let mut with = MarkerState::new(at(true), 8);
        let mut without = MarkerState::new(at(false), 8);
        let r = &mut random();
        assert!(!with.marks(1500, 0, 0, k - 1500, r), "exactly K is not above it");
        assert!(with.marks(1500, 0, 0, k - 1499, r));
        assert!(!without.marks(1500, 0, 0, k, r));
        assert!(without.marks(1500, 0, 0, k + 1, r));
    }

    #[test]
    fn marks__per_queue_ignores_the_other_queues() {
        let marker = Marker::Threshold { above: 3000, scope: MarkScope::Queue, counts_arriving: false };
        let mut state = MarkerState::new(marker, 2);
        assert!(!state.marks(1500, 1, 3000, 900_000, &mut random()));
        assert!(state.marks(1500, 1, 3001, 900_000, &mut random()));
    }

    #[test]
    fn marks__red_half_way_up_the_ramp_marks_half_of_most() {
        let marker = Marker::Red {
            min: 10_000,
            max: 30_000,
            most: u32::MAX,
            weight: WHOLE,
            scope: MarkScope::Port,
            counts_arriving: false,
        };
        let mut state = MarkerState::new(marker, 1);
        let r = &mut random();
        let marked = (0..10_000).filter(|_| state.marks(1500, 0, 0, 20_000, r)).count();
        // Binomial(10^4, 1/2) leaves 5000 ± 250 once in 2 million.
        assert!((4_750..5_250).contains(&marked), "{marked}");
        assert!(!state.marks(1500, 0, 0, 10_000, r));
        assert!(state.marks(1500, 0, 0, 30_001, r));
    }

    #[test]
    fn marks__average_follows_slowly() {
        let marker = Marker::Red {
            min: 1_000,
            max: 1_001,
            most: u32::MAX,
            weight: WHOLE / 4,
            scope: MarkScope::Queue,
            counts_arriving: false,
        };
        let mut state = MarkerState::new(marker, 2);
        let r = &mut random();
        // 0 -> 600 -> 1050: the second arrival lifts the average over the ramp.
        assert!(!state.marks(1500, 1, 2_400, 0, r));
        assert!(state.marks(1500, 1, 2_400, 0, r));
        assert!(!state.marks(1500, 0, 2_400, 0, r), "queue 0 has an average of its own");
    }
}
