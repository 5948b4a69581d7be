//! A port: a scheduler in front of a line, and what is counted there.
//!
//! Nothing happens at a departure. A packet's turn comes at a known instant, so whoever reads or changes a port first
//! moves out all packets whose turn has come ([`crate::partition::Partition::advance`]).

use flowsieve_core::{Rate, Scheduler, Time};
use flowsieve_results::Drops;
use flowsieve_workload::random::Xoshiro256PlusPlus;

/// Where a port's line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// A wire of the same partition.
    Here(u32),
    /// A wire of another one.
    Beyond { partition: u32, wire: u32 },
}

/// The sending end of a link.
pub(crate) struct Port {
    pub(crate) scheduler: Scheduler,
    /// When the line is free for the next packet.
    pub(crate) busy_until: Time,
    /// Packets that wait.
    pub(crate) queued: u32,
    pub(crate) rate: Rate,
    /// Propagation, and the host's delay where an end is a host.
    pub(crate) delay: Time,
    /// Bytes of preamble and gap beside each packet.
    pub(crate) overhead: u16,
    /// The far end forwards a packet after so many bytes of it; `u32::MAX`: after the whole.
    pub(crate) forwards_after: u32,
    pub(crate) far_end: FarEnd,
    /// The memory that it takes from, by switch; the last one belongs to hosts and is never short.
    pub(crate) pool: u32,
    /// Ports of its switch share memory, so that each departure matters to the others.
    pub(crate) shares: bool,
    /// It stands in its switch's list of ports with a departure due.
    pub(crate) due: bool,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) count: PortCount,
}

/// What a port counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortCount {
    /// Bytes sent, with preamble and gap.
    pub(crate) wire_bytes: u64,
    /// Bytes sent, without them.
    pub(crate) bytes: u64,
    /// Packets sent from each queue.
    pub(crate) by_queue: Vec<u64>,
    /// Packets sent of each priority; the last entry takes all lower ones.
    pub(crate) by_priority: Vec<u64>,
    pub(crate) marks: u64,
    pub(crate) drops: Drops,
    pub(crate) most_backlog: u64,
    /// [`PortCount::wire_bytes`] when the last flow arrived.
    pub(crate) wire_bytes_at_arrivals_end: u64,
}

impl PortCount {
    /// Priorities that are told apart.
    pub(crate) const PRIORITIES: usize = 64;

    pub(crate) fn new(queues: usize) -> PortCount {
        PortCount { by_queue: vec![0; queues], by_priority: vec![0; Self::PRIORITIES], ..PortCount::default() }
    }
}
