//! Port schedulers: classifier, admission, discipline and marker as one value. The built-in ones are in [`crate::ports`].
//!
//! For each packet, the owner of a port calls [`PortScheduler::enqueue`] when it arrives and [`PortScheduler::dequeue`]
//! when the line is free; a scheduler never looks at a clock. It neither makes nor frees packets: it names those that it
//! turns away or evicts, and the owner frees them.

use arrayvec::ArrayVec;
use rand_core::Rng;

use crate::admission::{Admission, Limits, Pool};
use crate::controller::Published;
use crate::marker::{Marker, Waiting};
use crate::meta::Meta;
use crate::readings::Reading;
use crate::units::{ByteTime, Time};

/// The result of an arrival. Both variants have the bytes that were queued before the packet, in the queue that it was to
/// enter. If the scheduler keeps one queue for all, these are all bytes queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued; those that it displaced are in [`PortContext::victims`].
    Accepted {
        /// Bytes queued before the packet.
        queued_before: u64,
    },
    /// The packet is turned away, and so are the victims, if any.
    Dropped {
        /// Bytes queued before the packet.
        queued_before: u64,
    },
}

impl Verdict {
    /// Returns the bytes that were queued before the packet.
    #[inline(always)]
    pub fn queued_before(self) -> u64 {
        let (Verdict::Accepted { queued_before } | Verdict::Dropped { queued_before }) = self;
        queued_before
    }

    /// Returns the same verdict with other bytes queued before the packet.
    #[inline(always)]
    pub fn with_queued_before(self, queued_before: u64) -> Verdict {
        match self {
            Verdict::Accepted { .. } => Verdict::Accepted { queued_before },
            Verdict::Dropped { .. } => Verdict::Dropped { queued_before },
        }
    }

    /// Returns whether the packet is queued.
    #[inline(always)]
    pub fn is_accepted(self) -> bool {
        matches!(self, Verdict::Accepted { .. })
    }
}

/// Packets that one arrival displaced.
pub type Victims = ArrayVec<u32, MOST_VICTIMS>;

/// The most packets that an arrival may displace: one of 9,000 bytes displaces 225 of 40 bytes.
pub const MOST_VICTIMS: usize = 256;

/// What a scheduler may use in addition to the packets: the time, its switch's memory, randomness.
pub struct PortContext<'a> {
    /// When the packet arrives or leaves.
    pub now: Time,
    /// The memory that all ports of the switch share.
    pub pool: &'a mut Pool,
    /// Where the scheduler names the packets that an arrival displaces; empty at the call.
    pub victims: &'a mut Victims,
    /// The port's random stream.
    pub random: &'a mut dyn Rng,
    /// Counts the packets that were marked.
    pub marks: &'a mut u64,
}

impl PortContext<'_> {
    /// Returns the same context for a nested call, so that an inlined caller need not keep its own in memory.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> PortContext<'_> {
        PortContext { now: self.now, pool: self.pool, victims: self.victims, random: self.random, marks: self.marks }
    }
}

/// The most queues of a port: a packet names its queue in eight bits.
pub const MAX_QUEUES: usize = 256;

/// A queue discipline with everything that decides about its packets.
///
/// While a packet is queued, its owner changes nothing of its [`Meta`], and the instants of [`PortContext::now`] never go
/// back. Clocks of real devices do, by microseconds: their owner clamps them.
pub trait PortScheduler: Send {
    /// Takes or rejects an arriving packet, in no list. Sets [`Meta::queue`], also of a packet that it rejects: the queue
    /// that the packet was for.
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict;

    /// Returns the packet that leaves next, out of every list; `None` if nothing is queued. Work-conserving.
    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32>;

    /// As [`PortScheduler::dequeue`], from no queue of `held`, a bit for each. Without code of its own, a port sends nothing
    /// while any is held.
    fn dequeue_unheld(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>, held: u64) -> Option<u32> {
        if held == 0 { self.dequeue(metas, context) } else { None }
    }

    /// Takes the newest packet that waits in a queue and is longer than `longer_than` bytes, out of every list, for an owner that cuts
    /// it ([`crate::hop::Fate::TrimNewest`]). `None`: there is none, or the port cannot say.
    fn take_newest(&mut self, _metas: &mut [Meta], _queue: usize, _longer_than: u16) -> Option<u32> {
        None
    }

    /// Returns its limit, if it is the crate's own.
    fn limits(&self) -> Option<&Limits> {
        None
    }

    /// Makes room for this many waiting packets, so that nothing is allocated while they come and go. For owners of real
    /// packets; without it, memory grows as it is needed.
    fn reserve(&mut self, _packets: usize) {}

    /// Returns a length: packets up to this length may skip `enqueue` and `dequeue` when the port is empty and the line
    /// idle, and the memory that it may share has room ([`Limits::has_memory`]). They count for the queue of their priority,
    /// or the last. 0: never skip.
    fn bypass_bytes(&self) -> u64 {
        0
    }

    /// Returns the bytes queued.
    fn backlog_bytes(&self) -> u64;

    /// Returns what waits in one of its [`PortScheduler::queues`] now, for whoever looks at a port: no packet calls it. A
    /// packet may wait elsewhere than in the queue that it entered, which [`Meta::queue`] names. `None`: there is no such
    /// queue, or packets do not wait in queues, but sorted or by flow.
    fn waiting_in(&self, _queue: usize) -> Option<Waiting> {
        None
    }

    /// Reports what it counts, what it has adapted and what it expects; seldom called.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}

    /// Takes a controller's table, between two packets.
    fn on_table(&mut self, _published: &Published) {}

    /// Returns how many queues [`Meta::queue`] may name: 1 to [`MAX_QUEUES`], always the same. Called at set-up; a port
    /// clamps other values to this range.
    fn queues(&self) -> usize;
}

/// Passes methods of [`PortScheduler`] on to a part of the scheduler: `pass_on!(self, self.bank => limits, queues);`.
macro_rules! pass_on {
    ($self:ident, $to:expr => $($method:ident),*) => { $($crate::scheduler::pass_on!(@$method $self, $to);)* };
    (@enqueue $self:ident, $to:expr) => {
        fn enqueue(&mut $self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
            $to.enqueue(metas, packet, context)
        }
    };
    (@dequeue $self:ident, $to:expr) => {
        fn dequeue(&mut $self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
            $to.dequeue(metas, context)
        }
    };
    (@dequeue_unheld $self:ident, $to:expr) => {
        fn dequeue_unheld(&mut $self, metas: &mut [Meta], context: &mut PortContext<'_>, held: u64) -> Option<u32> {
            $to.dequeue_unheld(metas, context, held)
        }
    };
    (@take_newest $self:ident, $to:expr) => {
        fn take_newest(&mut $self, metas: &mut [Meta], queue: usize, longer_than: u16) -> Option<u32> {
            $to.take_newest(metas, queue, longer_than)
        }
    };
    (@limits $self:ident, $to:expr) => {
        fn limits(&$self) -> Option<&$crate::admission::Limits> { $to.limits() }
    };
    (@waiting_in $self:ident, $to:expr) => {
        fn waiting_in(&$self, queue: usize) -> Option<$crate::marker::Waiting> { $to.waiting_in(queue) }
    };
    (@observe $self:ident, $to:expr) => {
        fn observe(&$self, see: &mut dyn FnMut($crate::readings::Reading)) { $to.observe(see); }
    };
    (@on_table $self:ident, $to:expr) => {
        fn on_table(&mut $self, published: &$crate::controller::Published) { $to.on_table(published); }
    };
    (@reserve $self:ident, $to:expr) => { fn reserve(&mut $self, packets: usize) { $to.reserve(packets); } };
    (@bypass_bytes $self:ident, $to:expr) => { fn bypass_bytes(&$self) -> u64 { $to.bypass_bytes() } };
    (@backlog_bytes $self:ident, $to:expr) => { fn backlog_bytes(&$self) -> u64 { $to.backlog_bytes() } };
    (@queues $self:ident, $to:expr) => { fn queues(&$self) -> usize { $to.queues() } };
}
pub(crate) use pass_on;

impl<P: PortScheduler + ?Sized> PortScheduler for Box<P> {
    pass_on!(self, **self => enqueue, dequeue, dequeue_unheld, limits, reserve, bypass_bytes, backlog_bytes, waiting_in);
    pass_on!(self, **self => take_newest, observe, on_table, queues);
}

/// The line behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// How long a byte takes.
    pub byte_time: ByteTime,
    /// Bytes that a packet takes on the line in addition to its length.
    pub overhead: u32,
}

impl Line {
    /// Returns how long a packet of `len` bytes takes.
    pub fn serialise(&self, len: u16) -> Time {
        self.byte_time.serialise(u32::from(len) + self.overhead)
    }
}

/// The properties of a port, apart from its discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSite {
    /// The line behind it.
    pub line: Line,
    /// Bytes of a packet with payload that are not payload.
    pub header: u16,
    /// Its limit.
    pub admission: Admission,
    /// Which packets it marks.
    pub marker: Marker,
}

/// A discipline's settings, from which every port builds its own scheduler.
pub trait PortRules {
    /// The scheduler.
    type Port: PortScheduler;

    /// Builds an empty scheduler for a port.
    ///
    /// # Panics
    /// If the rules violate the documentation of their fields; set-up checks them.
    fn build(&self, site: &PortSite) -> Self::Port;

    /// Returns the bytes of its sketch in a switch; 0 if it has none.
    fn sketch_bytes(&self) -> u64 {
        0
    }

    /// Removes the discipline's own limits, those in addition to the port's admission.
    fn without_limits(&mut self) {}
}
