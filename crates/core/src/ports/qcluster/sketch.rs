//! The Scheduling Count-Min sketch (QCluster §3.3, Algorithm 1): how much each flow has sent in its message, and which
//! queue its last packets joined, in a memory that does not grow with the flows.
//!
//! Each of `d` arrays has `l` buckets of a timestamp, a counter and a queue ID. A flow's weight is the least of its
//! counters. Collisions only add, so the weight is never below the truth (Theorem 1). A bucket that no packet touched for
//! the message gap begins anew.
//!
//! The paper leaves two things open. A packet's visit counts first and decides about order afterwards, with the ages that
//! its buckets had when it came. And a new message clears a bucket's counter, not its queue ID. So if the message gap is
//! shorter than the flowlet gap, the first packets of a new message stay behind those of the old one that may still wait.
//! Otherwise they would overtake them.

use crate::hash::{mix, reduce};
use crate::units::Time;

/// The most arrays.
pub const MOST_ARRAYS: usize = 8;

/// Bytes of a bucket in a switch: timestamp 8, counter 4, queue ID 1.
pub const BUCKET_BYTES: u64 = 13;

/// What a flow's packets must not do within a flowlet (§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Rise to a queue of higher priority: LAS, SRPT, deadlines.
    NoRise,
    /// Change the queue: fair queueing.
    Queue,
}

impl Keep {
    /// Returns the queue for a packet that would best join `wanted`; `lowest` is the last queue that holds a packet of its flow.
    pub(crate) fn order(self, lowest: Option<u8>, wanted: u8) -> u8 {
        match (lowest, self) {
            (None, _) => wanted,
            (Some(lowest), Keep::NoRise) => wanted.max(lowest),
            (Some(lowest), Keep::Queue) => lowest,
        }
    }
}

/// A sketch's shape and gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchParams {
    /// Arrays d: 1 to [`MOST_ARRAYS`].
    pub arrays: usize,
    /// Buckets of each array l: at least 1.
    pub buckets: usize,
    /// Idle time that ends a message; above zero.
    pub message_gap: Time,
    /// Idle time after which a flow is assumed to have no packet in the port; above zero.
    pub flowlet_gap: Time,
    /// Whether only the least of a flow's counters grows (§3.3, "consecutive update"), which a switch's pipeline cannot do.
    pub conservative: bool,
}

impl SketchParams {
    /// Returns the bytes that a switch needs for it.
    pub fn bytes(&self) -> u64 {
        (self.arrays * self.buckets) as u64 * BUCKET_BYTES
    }

    /// Returns how many buckets fit into each of `arrays` arrays, with `bytes` bytes in total.
    pub fn buckets_in(bytes: u64, arrays: usize) -> usize {
        usize::try_from(bytes / BUCKET_BYTES / arrays as u64).unwrap_or(usize::MAX)
    }

    fn check(&self) {
        assert!((1..=MOST_ARRAYS).contains(&self.arrays), "a sketch has 1 to 8 arrays");
        assert!(self.buckets > 0, "an array has buckets");
        assert!(self.message_gap > Time::ZERO && self.flowlet_gap > Time::ZERO, "a gap is above zero");
    }
}

/// No packet has come yet.
const NEVER: Time = Time::NEVER;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    time: Time,
    count: u32,
    queue: u8,
}

impl Bucket {
    /// Returns how long it was not touched; [`Time::NEVER`]: never touched. A clock that goes back makes nothing old.
    #[inline(always)]
    fn age(&self, now: Time) -> Time {
        if self.time == NEVER { NEVER } else { Time(now.0.saturating_sub(self.time.0)) }
    }
}

/// A packet's visit, between its count and the choice of its queue.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// What the packet's flow has sent in its message, this packet included, in the unit counted.
    pub weight: u32,
    /// At least how long no packet of the flow came; [`Time::NEVER`]: none came yet.
    pub age: Time,
    slots: [u32; MOST_ARRAYS],
    /// Bit i: the flowlet of array i's bucket was over.
    idle: u8,
    /// The array with the oldest bucket.
    oldest: u8,
}

/// The sketch as software implements it.
#[derive(Clone, Debug)]
pub struct SchedulingSketch {
    params: SketchParams,
    /// Array after array.
    buckets: Vec<Bucket>,
}

/// Returns the bucket of a key in an array of `buckets`, hashed with a seed per array.
#[inline(always)]
fn slot(key: u64, array: usize, buckets: usize) -> usize {
    array * buckets + reduce(mix(key ^ (array as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)), buckets)
}

impl SchedulingSketch {
    /// Builds an empty sketch.
    ///
    /// # Panics
    /// If the parameters are not as [`SketchParams`] says; set-up checks them.
    pub fn new(params: SketchParams) -> SchedulingSketch {
        params.check();
        let empty = Bucket { time: NEVER, count: 0, queue: 0 };
        SchedulingSketch { params, buckets: vec![empty; params.arrays * params.buckets] }
    }

    /// Counts `amount` for a packet of the flow `key`.
    #[inline]
    pub fn count(&mut self, key: u64, amount: u32, now: Time) -> Visit {
        let SketchParams { arrays, buckets, message_gap, flowlet_gap, conservative } = self.params;
        let mut visit = Visit { weight: u32::MAX, age: Time::ZERO, slots: [0; MOST_ARRAYS], idle: 0, oldest: 0 };
        for array in 0..arrays {
            let at = slot(key, array, buckets);
            visit.slots[array] = at as u32;
            let bucket = &mut self.buckets[at];
            let age = bucket.age(now);
            if age > visit.age {
                visit.age = age;
                visit.oldest = array as u8;
            }
            visit.idle |= u8::from(age > flowlet_gap) << array;
            let before = if age > message_gap { 0 } else { bucket.count };
            bucket.count = if conservative { before } else { before.saturating_add(amount) };
            bucket.time = now;
            visit.weight = visit.weight.min(bucket.count);
        }
        if conservative {
            visit.weight = visit.weight.saturating_add(amount);
            for &at in &visit.slots[..arrays] {
                let count = &mut self.buckets[at as usize].count;
                *count = visit.weight.max(*count);
            }
        }
        visit
    }

    /// Chooses the queue for the packet of a visit that would best join `wanted`, and remembers it.
    #[inline]
    pub fn keep_order(&mut self, visit: &Visit, wanted: u8, keep: Keep) -> u8 {
        let mut queue = u8::MAX;
        for (array, &at) in visit.slots[..self.params.arrays].iter().enumerate() {
            let idle = visit.idle >> array & 1 == 1;
            let held = &mut self.buckets[at as usize].queue;
            *held = held_queue(*held, wanted, idle, keep);
            queue = match keep {
                Keep::NoRise => queue.min(*held),
                Keep::Queue if array == usize::from(visit.oldest) => *held,
                Keep::Queue => queue,
            };
        }
        queue
    }
}

/// Returns a bucket's new queue ID (§3.5, "update of queue ID").
#[inline(always)]
fn held_queue(held: u8, wanted: u8, idle: bool, keep: Keep) -> u8 {
    match (idle, keep) {
        (true, _) => wanted,
        (false, Keep::NoRise) => held.max(wanted),
        (false, Keep::Queue) => held,
    }
}

/// The sketch as a switch has to implement it (§5.2). An action may change one pair of 32-bit registers. So there are two
/// sketches with the same slots, of (timestamp, counter) and of (timestamp, queue ID), each changed once per packet.
///
/// Timestamps count ticks in 32 bits and wrap around: a flow that is idle for nearly a multiple of 2^32 ticks is taken for
/// one that sent just now. Before the clock wraps, and for instants that are whole ticks, the results are those of
/// [`SchedulingSketch`]. There is no conservative update: a pipeline cannot go back to a stage.
#[derive(Clone, Debug)]
pub struct RegisterSketch {
    params: SketchParams,
    tick: Time,
    counters: Vec<u64>,
    queues: Vec<u64>,
    /// One bit per register: whether it has been written.
    written: Vec<bool>,
}

impl RegisterSketch {
    /// Builds an empty sketch with a clock of `tick`.
    ///
    /// # Panics
    /// As [`SchedulingSketch::new`], and with conservative update, or a tick of zero.
    pub fn new(params: SketchParams, tick: Time) -> RegisterSketch {
        params.check();
        assert!(!params.conservative && tick > Time::ZERO, "a pipeline counts forward, in ticks");
        let size = params.arrays * params.buckets;
        RegisterSketch { params, tick, counters: vec![0; size], queues: vec![0; size], written: vec![false; size] }
    }

    fn ticks(&self, time: Time) -> u32 {
        (time.0 / self.tick.0) as u32
    }

    /// Returns the bytes of registers: two pairs of 32 bits per bucket.
    pub fn bytes(&self) -> u64 {
        16 * self.counters.len() as u64
    }

    /// Does [`SchedulingSketch::count`] and [`SchedulingSketch::keep_order`] in two passes over registers. `choose` returns
    /// the best queue for a packet of this weight. Returns the weight and the queue.
    /// packet of this weight would best go. Gives the weight and the queue.
    pub fn pass(&mut self, key: u64, amount: u32, now: Time, keep: Keep, choose: impl Fn(u32) -> u8) -> (u32, u8) {
        let now = self.ticks(now);
        let (message_gap, flowlet_gap) = (self.ticks(self.params.message_gap), self.ticks(self.params.flowlet_gap));
        let slots = |array| slot(key, array, self.params.buckets);
        let mut weight = u32::MAX;
        for at in (0..self.params.arrays).map(slots) {
            let register = &mut self.counters[at];
            let (time, count) = ((*register >> 32) as u32, *register as u32);
            let idle = !self.written[at] || now.wrapping_sub(time) > message_gap;
            let count = if idle { amount } else { count.saturating_add(amount) };
            *register = u64::from(now) << 32 | u64::from(count);
            weight = weight.min(count);
        }
        let wanted = choose(weight);
        let (mut queue, mut oldest) = (u8::MAX, None);
        for at in (0..self.params.arrays).map(slots) {
            let register = &mut self.queues[at];
            let age = self.written[at].then(|| now.wrapping_sub((*register >> 32) as u32));
            let held = held_queue(*register as u8, wanted, age.is_none_or(|age| age > flowlet_gap), keep);
            *register = u64::from(now) << 32 | u64::from(held);
            // A register that was never written is the oldest.
            let age = age.map_or(u64::MAX, u64::from);
            queue = match keep {
                Keep::NoRise => queue.min(held),
                Keep::Queue if oldest.is_none_or(|oldest| age > oldest) => held,
                Keep::Queue => queue,
            };
            oldest = oldest.max(Some(age));
        }
        for at in (0..self.params.arrays).map(slots) {
            self.written[at] = true;
        }
        (weight, queue)
    }
}

#[cfg(test)]
#[path = "sketch_tests.rs"]
mod tests;
