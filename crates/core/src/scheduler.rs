//! What a port scheduler is: classifier, admission, discipline and marker as one value. The built-in ones are in
//! [`crate::ports`].
//!
//! The owner of a port calls, per packet, [`PortScheduler::enqueue`] when it arrives and [`PortScheduler::dequeue`]
//! when the line is free; a scheduler never looks at a clock. It neither makes nor frees packets: what it turns away
//! or evicts it names, and the owner frees.

use arrayvec::ArrayVec;
use rand_core::Rng;

use crate::admission::{Admission, Pool};
use crate::controller::Published;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::readings::Reading;
use crate::units::{ByteTime, Time};

/// What became of an arriving packet. Both say how many bytes were queued before it, in the queue that it was to enter.
/// Where the scheduler keeps one queue for all, these are all bytes queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is queued; whom it displaced is in [`PortContext::victims`].
    Accepted {
        /// Bytes that were queued before it.
        queued_before: u64,
    },
    /// It is turned away, and so are the victims, if any.
    Dropped {
        /// Bytes that were queued before it.
        queued_before: u64,
    },
}

impl Verdict {
    /// Bytes that were queued before the packet.
    #[inline(always)]
    pub fn queued_before(self) -> u64 {
        let (Verdict::Accepted { queued_before } | Verdict::Dropped { queued_before }) = self;
        queued_before
    }

    /// The same with other bytes queued before the packet.
    #[inline(always)]
    pub fn with_queued_before(self, queued_before: u64) -> Verdict {
        match self {
            Verdict::Accepted { .. } => Verdict::Accepted { queued_before },
            Verdict::Dropped { .. } => Verdict::Dropped { queued_before },
        }
    }

    /// Whether the packet is queued.
    #[inline(always)]
    pub fn is_accepted(self) -> bool {
        matches!(self, Verdict::Accepted { .. })
    }
}

/// Packets that one arrival displaced.
pub type Victims = ArrayVec<u32, MOST_VICTIMS>;

/// The most packets that an arrival may displace: one of 9,000 bytes displaces 225 of 40 bytes.
pub const MOST_VICTIMS: usize = 256;

/// What a scheduler may use beside the packets: the instant, its switch's memory, chance.
pub struct PortContext<'a> {
    /// When the packet arrives or leaves.
    pub now: Time,
    /// The memory that all ports of the switch share.
    pub pool: &'a mut Pool,
    /// Where to name the packets that an arrival displaces; empty at the call.
    pub victims: &'a mut Victims,
    /// The port's random stream.
    pub random: &'a mut dyn Rng,
    /// Counts the packets that were marked.
    pub marks: &'a mut u64,
}

impl PortContext<'_> {
    /// The same for a callee of its own, so that a caller that is inlined need not keep its own in memory.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> PortContext<'_> {
        PortContext { now: self.now, pool: self.pool, victims: self.victims, random: self.random, marks: self.marks }
    }
}

/// The most queues of a port: a packet names its queue in eight bits.
pub const MAX_QUEUES: usize = 256;

/// A queue discipline with everything that decides about its packets.
pub trait PortScheduler: Send {
    /// An arriving packet, in no list. Sets [`Meta::queue`] of one that it takes.
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict;

    /// The packet that leaves next, out of every list; `None` when nothing is queued. Work-conserving.
    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32>;

    /// Which packets leave an empty port with a free line at once and leave no trace in the scheduler: those of at most
    /// so many bytes, from the queue of their priority, or the last. The owner need not hand them over. 0: all are to be
    /// handed over.
    fn bypass_bytes(&self) -> u64 {
        0
    }

    /// Bytes queued.
    fn backlog_bytes(&self) -> u64;

    /// Says what it counts, what it has adapted and what it expects; seldom asked.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}

    /// A controller's table arrives, between two packets.
    fn on_table(&mut self, _published: &Published) {}

    /// How many queues [`Meta::queue`] may name: 1 to [`MAX_QUEUES`], always the same. Asked at set-up; a port takes what
    /// lies outside as the nearest of the two.
    fn queues(&self) -> usize;
}

impl<P: PortScheduler + ?Sized> PortScheduler for Box<P> {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        (**self).enqueue(metas, packet, context)
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        (**self).dequeue(metas, context)
    }

    fn bypass_bytes(&self) -> u64 {
        (**self).bypass_bytes()
    }

    fn backlog_bytes(&self) -> u64 {
        (**self).backlog_bytes()
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        (**self).observe(see);
    }

    fn on_table(&mut self, published: &Published) {
        (**self).on_table(published);
    }

    fn queues(&self) -> usize {
        (**self).queues()
    }
}

/// The line behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// How long a byte takes.
    pub byte_time: ByteTime,
    /// Bytes that a packet takes on the line beside its length.
    pub overhead: u32,
}

impl Line {
    /// How long a packet of `len` bytes takes.
    pub(crate) fn serialise(&self, len: u16) -> Time {
        self.byte_time.serialise(u32::from(len) + self.overhead)
    }
}

/// What a port is, apart from its discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSite {
    /// The line behind it.
    pub line: Line,
    /// Bytes of a packet with payload that are not payload.
    pub header: u16,
    /// What it may hold.
    pub admission: Admission,
    /// Which packets it marks.
    pub marker: Marker,
}

/// What a discipline is set to, of which every port makes its own scheduler.
pub trait PortRules {
    /// The scheduler.
    type Port: PortScheduler;

    /// An empty scheduler for a port.
    ///
    /// # Panics
    /// Where the rules are not as their fields say; set-up checks them.
    fn build(&self, site: &PortSite) -> Self::Port;

    /// Bytes of its sketch, as a switch holds it; 0 where it has none.
    fn sketch_bytes(&self) -> u64 {
        0
    }

    /// Takes away what it turns packets away for, beside the port's admission.
    fn without_limits(&mut self) {}
}
