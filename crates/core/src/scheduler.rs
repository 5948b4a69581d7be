//! The port scheduler: classifier, admission, discipline and marker as one value.
//!
//! The owner of a port calls, per packet, [`PortScheduler::enqueue`] when it arrives and [`PortScheduler::dequeue`]
//! when the line is free; a scheduler never looks at a clock. It neither makes nor frees packets: what it turns away
//! or evicts it names, and the owner frees.

use rand_core::Rng;

use crate::admission::Pool;
use crate::afq::Afq;
use crate::awafs::AwafsPort;
use crate::bank::FifoBank;
use crate::fair_queueing::FairQueueing;
use crate::flow_queues::FlowScheduler;
use crate::host_queues::HostQueues;
use crate::meta::Meta;
use crate::pfabric::PfabricPool;
use crate::pifo::Pifo;
use crate::qcluster::ClusterPort;
use crate::sp_pifo::SpPifo;
use crate::units::Time;

/// What became of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is queued; whom it displaced is in [`Surroundings::victims`].
    Accepted,
    /// It is turned away, and so are the victims, if any.
    Dropped,
}

/// Packets that one arrival displaced; at most [`Victims::MOST`].
#[derive(Clone, Debug)]
pub struct Victims {
    packets: [u32; Victims::MOST],
    len: usize,
}

impl Default for Victims {
    fn default() -> Victims {
        Victims { packets: [0; Victims::MOST], len: 0 }
    }
}

impl Victims {
    /// The most that an arrival may displace: a 9,000-byte packet displaces 225 of 40 bytes.
    pub const MOST: usize = 256;

    /// Names one more; `false` where the list is full and nothing was named.
    pub fn push(&mut self, packet: u32) -> bool {
        let room = self.len < Self::MOST;
        if room {
            self.packets[self.len] = packet;
            self.len += 1;
        }
        room
    }

    /// Takes the victim that was named last.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        self.len = self.len.checked_sub(1)?;
        Some(self.packets[self.len])
    }

    /// Whether none is named.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What a scheduler may use beside the packets: the instant, its switch's memory, chance.
pub struct Surroundings<'a> {
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

impl Surroundings<'_> {
    /// The same for a callee of its own, so that a caller that is inlined need not keep its own in memory.
    #[inline(always)]
    fn lend(&mut self) -> Surroundings<'_> {
        Surroundings { now: self.now, pool: self.pool, victims: self.victims, random: self.random, marks: self.marks }
    }
}

/// The most queues of a port: a packet names its queue in eight bits.
pub const MAX_QUEUES: usize = 256;

/// A queue discipline with everything that decides about its packets.
pub trait PortScheduler: Send {
    /// An arriving packet, in no list. Sets [`Meta::queue`].
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, around: &mut Surroundings<'_>) -> Verdict;

    /// The packet that leaves next, out of every list; `None` when nothing is queued. Work-conserving.
    fn dequeue(&mut self, metas: &mut [Meta], around: &mut Surroundings<'_>) -> Option<u32>;

    /// Which packets leave an empty port with a free line at once and leave no trace in the scheduler: those of at most
    /// so many bytes, from the queue of their priority, or the last. The owner need not hand them over. 0: all are to be
    /// handed over.
    fn passes(&self) -> u64 {
        0
    }

    /// Bytes in the queue that an arriving packet is to enter, before it; all bytes queued where the scheduler keeps one
    /// queue for all.
    fn found_bytes(&self, _meta: &Meta) -> u64 {
        self.backlog_bytes()
    }

    /// Bytes queued.
    fn backlog_bytes(&self) -> u64;

    /// What the scheduler has adapted, for whoever watches; seldom asked.
    fn gauges(&self, _see: &mut dyn FnMut(Gauge)) {}

    /// How often its periodic part has acted, where it has one.
    fn ticks(&self) -> Option<u64> {
        None
    }

    /// Packets that were queued where they may overtake one of their own flow, where that is counted.
    fn overtakes(&self) -> u64 {
        0
    }

    /// How many queues [`Meta::queue`] may name: 1 to [`MAX_QUEUES`], always the same. Asked at set-up; a port takes what
    /// lies outside as the nearest of the two.
    fn queues(&self) -> usize;
}

/// A figure that a scheduler adapts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// What it is, with its unit where it has one.
    pub name: &'static str,
    /// The queue that it belongs to; a threshold belongs to the queue above it.
    pub queue: usize,
    /// Its value.
    pub value: f64,
}

/// Every built-in scheduler as one type, so that a port calls it without indirection; `Boxed` serves those from
/// outside.
#[repr(u8)]
pub enum Scheduler {
    /// FIFO queues under strict priority, WRR or DRR.
    Bank(FifoBank),
    /// One queue sorted by rank.
    Pifo(Pifo),
    /// pFabric's pool.
    Pfabric(PfabricPool),
    /// The textbook disciplines over flows: PS, SRPT, LAS.
    Flows(FlowScheduler),
    /// A host's queues by its own levels.
    Host(Box<HostQueues>),
    /// QCluster's queues.
    Cluster(Box<ClusterPort>),
    /// SP-PIFO's queues.
    SpPifo(Box<SpPifo>),
    /// AFQ's calendar.
    Afq(Box<Afq>),
    /// Bit-by-bit round robin over flows.
    Fair(Box<FairQueueing>),
    /// AWAFS's queues.
    Awafs(Box<AwafsPort>),
    /// A scheduler of the user's own.
    Boxed(Box<dyn PortScheduler>),
}

macro_rules! each {
    ($self:expr, $scheduler:ident => $call:expr) => {
        match $self {
            Scheduler::Bank($scheduler) => $call,
            Scheduler::Pifo($scheduler) => $call,
            Scheduler::Pfabric($scheduler) => $call,
            Scheduler::Flows($scheduler) => $call,
            Scheduler::Host($scheduler) => $call,
            Scheduler::Cluster($scheduler) => $call,
            Scheduler::SpPifo($scheduler) => $call,
            Scheduler::Afq($scheduler) => $call,
            Scheduler::Fair($scheduler) => $call,
            Scheduler::Awafs($scheduler) => $call,
            Scheduler::Boxed($scheduler) => $call,
        }
    };
}

/// Banks are called in place; to have the others there too would cost every packet of a bank registers.
impl Scheduler {
    #[inline(never)]
    fn enqueue_elsewhere(&mut self, metas: &mut [Meta], packet: u32, around: &mut Surroundings<'_>) -> Verdict {
        each!(self, s => s.enqueue(metas, packet, around))
    }

    #[inline(never)]
    fn dequeue_elsewhere(&mut self, metas: &mut [Meta], around: &mut Surroundings<'_>) -> Option<u32> {
        each!(self, s => s.dequeue(metas, around))
    }

    #[inline(never)]
    fn found_elsewhere(&self, meta: &Meta) -> u64 {
        each!(self, s => s.found_bytes(meta))
    }

    #[inline(never)]
    fn backlog_elsewhere(&self) -> u64 {
        each!(self, s => s.backlog_bytes())
    }
}

/// Fetching ahead, for owners with more ports than the caches hold; where it is not worth it, nothing happens.
impl Scheduler {
    /// Fetches the queues.
    #[inline(always)]
    pub fn fetch_queues(&self) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_queues(),
            Scheduler::Pfabric(pool) => pool.fetch_queues(),
            _ => {}
        }
    }

    /// Fetches the packet that may leave next.
    #[inline(always)]
    pub fn fetch_front(&self, metas: &[Meta]) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_front(metas),
            Scheduler::Pfabric(pool) => pool.fetch_front(metas),
            _ => {}
        }
    }
}

impl PortScheduler for Scheduler {
    #[inline(always)]
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, around: &mut Surroundings<'_>) -> Verdict {
        match self {
            Scheduler::Bank(bank) => bank.enqueue(metas, packet, around),
            other => other.enqueue_elsewhere(metas, packet, &mut around.lend()),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, metas: &mut [Meta], around: &mut Surroundings<'_>) -> Option<u32> {
        match self {
            Scheduler::Bank(bank) => bank.dequeue(metas, around),
            other => other.dequeue_elsewhere(metas, &mut around.lend()),
        }
    }

    fn passes(&self) -> u64 {
        each!(self, s => s.passes())
    }

    #[inline(always)]
    fn found_bytes(&self, meta: &Meta) -> u64 {
        match self {
            Scheduler::Bank(bank) => bank.found_bytes(meta),
            other => other.found_elsewhere(meta),
        }
    }

    #[inline(always)]
    fn backlog_bytes(&self) -> u64 {
        match self {
            Scheduler::Bank(bank) => bank.backlog_bytes(),
            other => other.backlog_elsewhere(),
        }
    }

    fn gauges(&self, see: &mut dyn FnMut(Gauge)) {
        each!(self, s => s.gauges(see));
    }

    fn ticks(&self) -> Option<u64> {
        each!(self, s => s.ticks())
    }

    fn overtakes(&self) -> u64 {
        each!(self, s => s.overtakes())
    }

    fn queues(&self) -> usize {
        each!(self, s => s.queues()).clamp(1, MAX_QUEUES)
    }
}
