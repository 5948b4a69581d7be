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
    /// Its class of links.
    pub(crate) class: u16,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) count: PortCount,
}

impl Port {
    /// The line is free at `start` and takes a packet: when it arrives at the far end.
    #[inline]
    pub(crate) fn put_on_line(&mut self, len: u16, start: Time) -> Time {
        let on_wire = u32::from(len) + u32::from(self.overhead);
        let end = start + self.rate.serialise(on_wire);
        self.busy_until = end;
        self.count.wire_bytes += u64::from(on_wire);
        let forwarded =
            if on_wire <= self.forwards_after { end } else { start + self.rate.serialise(self.forwards_after) };
        forwarded + self.delay
    }
}

/// What a port counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortCount {
    /// Bytes sent, with preamble and gap.
    pub(crate) wire_bytes: u64,
    pub(crate) marks: u64,
    pub(crate) drops: Drops,
    pub(crate) most_backlog: u64,
    /// [`PortCount::wire_bytes`] when the last flow arrived.
    pub(crate) wire_bytes_at_arrivals_end: u64,
}

/// What the ports of a class of links count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassCount {
    /// Packets sent from each queue.
    pub(crate) by_queue: Tally,
    /// Packets sent of each priority; the last entry takes all lower ones.
    pub(crate) by_priority: Tally,
}

/// Counts by queue or by priority: 64 of each are told apart.
#[derive(Clone, Debug)]
pub(crate) struct Tally(pub(crate) [u64; Tally::SIZE]);

impl Tally {
    const SIZE: usize = 64;

    #[inline]
    pub(crate) fn count(&mut self, which: u8) {
        self.0[usize::from(which).min(Self::SIZE - 1)] += 1;
    }

    /// The sums, up to the last that is not zero.
    pub(crate) fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Vec<u64> {
        let mut sums = vec![0; Self::SIZE];
        for tally in tallies {
            sums.iter_mut().zip(&tally.0).for_each(|(sum, count)| *sum += count);
        }
        let used = sums.iter().rposition(|&sum| sum > 0).map_or(0, |last| last + 1);
        sums.truncate(used);
        sums
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally([0; Self::SIZE])
    }
}
