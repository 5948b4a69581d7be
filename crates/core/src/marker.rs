//! ECN marking at enqueue.
//!
//! DCTCP's threshold K (SIGCOMM 2010 §3.1) on the port's or the queue's instantaneous length, and RED's ramp (Floyd and
//! Jacobson, 1993) on the instantaneous or averaged length. K is in bytes, or a number of packets, as the queues of
//! ns-2 and ns-3 may count: then an ACK weighs as much as a full packet. Left out: RED's decay of the average over idle times (the
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
    /// If the packets that wait, whatever their lengths, are more than a number.
    Packets {
        /// Packets.
        above: u64,
        /// Which of them.
        scope: MarkScope,
        /// Whether the arriving packet is one of them.
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
    rare: Option<Box<Rare>>,
}

/// What a packet may join: the bytes and the packets that wait there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Bytes.
    pub bytes: u32,
    /// Packets.
    pub packets: u32,
}

/// Markers that need more than two numbers.
#[derive(Clone, Debug)]
enum Rare {
    Red(Red),
    Packets { above: u64, scope: MarkScope, arriving: u64 },
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
        let off = MarkerState { port: u64::MAX, queue: u64::MAX, arriving: 0, rare: None };
        let arriving = |counts| if counts { u64::MAX } else { 0 };
        match marker {
            Marker::Off => off,
            Marker::Threshold { above, scope: MarkScope::Port, counts_arriving } => {
                MarkerState { port: above, arriving: arriving(counts_arriving), ..off }
            }
            Marker::Threshold { above, scope: MarkScope::Queue, counts_arriving } => {
                MarkerState { queue: above, arriving: arriving(counts_arriving), ..off }
            }
            Marker::Packets { above, scope, counts_arriving } => {
                let counted = Rare::Packets { above, scope, arriving: counts_arriving.into() };
                MarkerState { rare: Some(Box::new(counted)), ..off }
            }
            Marker::Red { min, max, most, weight, scope, counts_arriving } => {
                let averages = vec![0; if scope == MarkScope::Port { 1 } else { queues }];
                let red = Rare::Red(Red { min, max, most, weight, scope, averages });
                MarkerState { arriving: arriving(counts_arriving), rare: Some(Box::new(red)), ..off }
            }
        }
    }

    /// Returns the longest packet that is not marked at an empty port; `None` if that depends on earlier packets.
    pub(crate) fn of_empty_port(&self) -> Option<u64> {
        match self.rare.as_deref() {
            None if self.arriving == 0 => Some(u64::MAX),
            None => Some(self.port.min(self.queue)),
            Some(Rare::Packets { above, arriving, .. }) => Some(if arriving > above { 0 } else { u64::MAX }),
            Some(Rare::Red(_)) => None,
        }
    }

    /// Returns whether to mark a packet of `len` bytes that joins `queue`, in which `waiting` is, at a port that holds
    /// `port_bytes` and `port_packets`.
    #[inline(always)]
    pub(crate) fn marks(
        &mut self,
        len: u16,
        queue: usize,
        waiting: Waiting,
        port_bytes: u64,
        port_packets: impl FnOnce() -> u64,
        random: &mut dyn Rng,
    ) -> bool {
        let arriving = u64::from(len) & self.arriving;
        let (port, of_queue) = (port_bytes + arriving, u64::from(waiting.bytes) + arriving);
        match self.rare.as_deref_mut() {
            None => port > self.port || of_queue > self.queue,
            Some(Rare::Red(red)) => red.marks(queue, of_queue, port, random),
            Some(Rare::Packets { above, scope, arriving }) => {
                let packets = match scope {
                    MarkScope::Port => port_packets(),
                    MarkScope::Queue => waiting.packets.into(),
                };
                packets + *arriving > *above
            }
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

    /// Asks for a packet of 1,500 bytes; packets are not counted.
    fn marks(state: &mut MarkerState, queue: usize, bytes: u32, port: u64, r: &mut dyn Rng) -> bool {
        state.marks(1_500, queue, Waiting { bytes, packets: 0 }, port, || 0, r)
    }

    #[test]
    fn marks__above_k_and_named_whether_the_arrival_counts() {
        let k = 65 * 1500;
        let at = |counts_arriving| Marker::Threshold { above: k, scope: MarkScope::Port, counts_arriving };
        let mut with = MarkerState::new(at(true), 8);
        let mut without = MarkerState::new(at(false), 8);
        let r = &mut random();
        assert!(!marks(&mut with, 0, 0, k - 1500, r), "exactly K is not above it");
        assert!(marks(&mut with, 0, 0, k - 1499, r));
        assert!(!marks(&mut without, 0, 0, k, r));
        assert!(marks(&mut without, 0, 0, k + 1, r));
    }

    #[test]
    fn marks__per_queue_ignores_the_other_queues() {
        let marker = Marker::Threshold { above: 3000, scope: MarkScope::Queue, counts_arriving: false };
        let mut state = MarkerState::new(marker, 2);
        assert!(!marks(&mut state, 1, 3000, 900_000, &mut random()));
        assert!(marks(&mut state, 1, 3001, 900_000, &mut random()));
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
        let marked = (0..10_000).filter(|_| marks(&mut state, 0, 0, 20_000, r)).count();
        // Binomial(10^4, 1/2) leaves 5000 ± 250 once in 2 million.
        assert!((4_750..5_250).contains(&marked), "{marked}");
        assert!(!marks(&mut state, 0, 0, 10_000, r));
        assert!(marks(&mut state, 0, 0, 30_001, r));
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
        assert!(!marks(&mut state, 1, 2_400, 0, r));
        assert!(marks(&mut state, 1, 2_400, 0, r));
        assert!(!marks(&mut state, 0, 2_400, 0, r), "queue 0 has an average of its own");
    }

    /// K of 3 packets: the fourth is marked, be it an ACK of 40 bytes or a full packet, and however long those before are.
    #[test]
    fn marks__packets_are_counted_and_not_weighed() {
        let of = |scope, counts_arriving| Marker::Packets { above: 3, scope, counts_arriving };
        let asked = |marker, len, (queue, port): (u32, u64)| {
            let waiting = Waiting { bytes: queue * 9_000, packets: queue };
            MarkerState::new(marker, 2).marks(len, 1, waiting, port * 9_000, || port, &mut random())
        };
        for len in [40, 1_500] {
            assert!(!asked(of(MarkScope::Port, true), len, (0, 2)), "with itself three");
            assert!(asked(of(MarkScope::Port, true), len, (0, 3)));
            assert!(!asked(of(MarkScope::Port, false), len, (0, 3)));
            assert!(asked(of(MarkScope::Port, false), len, (0, 4)));
            assert!(!asked(of(MarkScope::Queue, true), len, (2, 9)), "the other queue's do not count");
            assert!(asked(of(MarkScope::Queue, true), len, (3, 9)));
        }
        let empty = |above, counts_arriving| {
            MarkerState::new(Marker::Packets { above, scope: MarkScope::Port, counts_arriving }, 1).of_empty_port()
        };
        assert_eq!(empty(0, true), Some(0), "each packet is one more than none");
        assert_eq!((empty(0, false), empty(1, true)), (Some(u64::MAX), Some(u64::MAX)));
    }
}
