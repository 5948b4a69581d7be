//! A link: a port with its scheduler, a line, and the packets in flight on it.
//!
//! A departure is not an event. A packet is due at a known instant, so code that reads or changes a port first moves
//! out all packets that are due ([`crate::network::Network::advance`]).

use flowsieve_core::admission::Pool;
use flowsieve_core::hop::Hears;
use flowsieve_core::meta::Held;
use flowsieve_core::{ByteTime, Meta, NONE, PortContext, PortScheduler, Scheduler, Time, Verdict, Victims};
use flowsieve_record::Drops;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use rand_core::Rng;

use crate::ideal::CUT_THROUGH_BYTES;
use crate::queued_before::QueuedBefore;
use crate::topology;

/// The host or switch of the partition to which a link delivers its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(u32);

impl Endpoint {
    const HOST: u32 = 1 << 31;

    pub(crate) fn host(host: u32) -> Endpoint {
        Endpoint(Self::HOST | host)
    }

    pub(crate) fn switch(switch: u32) -> Endpoint {
        Endpoint(switch)
    }

    /// Returns the switch (`Ok`), or else the host (`Err`).
    #[inline(always)]
    pub(crate) fn get(self) -> Result<u32, u32> {
        if self.0 & Self::HOST == 0 { Ok(self.0) } else { Err(self.0 & !Self::HOST) }
    }
}

/// A link in one direction: what every packet on it touches, in one cache line. A link between partitions has a record
/// in both: the sending one uses its port, the receiving one its packets in flight.
#[repr(align(64))]
pub(crate) struct LinkState {
    /// When the line can take the next packet.
    pub(crate) busy_until: Time,
    pub(crate) byte_time: ByteTime,
    /// Propagation delay, plus the host's delay if an end is a host.
    delay: Time,
    /// When the first packet in flight arrives; [`Time::NEVER`]: none is in flight.
    pub(crate) next_arrival: Time,
    /// The packets in flight, in the order of arrival.
    pub(crate) first: u32,
    last: u32,
    /// Number of packets that wait at the port.
    pub(crate) queued: u32,
    pub(crate) to: Endpoint,
    /// A packet of at most this many bytes bypasses the port when it is idle ([`PortScheduler::bypass_bytes`]). 0 if the
    /// port shares memory, which may have no room.
    bypass_bytes: u16,
    /// Whether [`Port::features`] has any but shared memory. In most fabrics no link has.
    pub(crate) has_features: bool,
    /// Whether the port shares its switch's memory.
    pub(crate) shares: bool,
    /// Whether an end in another partition is its only feature.
    pub(crate) only_crosses: bool,
    /// Its class of links.
    pub(crate) class: u8,
}

/// The port at a link's sending end: what waiting packets touch, in two cache lines for a bank, and what is rarely
/// touched.
#[repr(C, align(64))]
pub(crate) struct Port {
    /// The largest backlog, in bytes.
    pub(crate) most_backlog: u64,
    /// Packets marked.
    pub(crate) marks: u64,
    pub(crate) scheduler: Scheduler,
    pub(crate) features: Features,
    /// Random numbers for the scheduler.
    pub(crate) random: Xoshiro256PlusPlus,
    /// Random numbers for losses on the line.
    pub(crate) loss_random: Xoshiro256PlusPlus,
    /// Index in the partition of the switch or host that it belongs to.
    pub(crate) owner: u32,
    /// The number of the port at the far switch that leads back.
    pub(crate) back: u16,
    /// Whether it is in the list of ports to other partitions at which packets wait.
    pub(crate) due: bool,
    /// Whether it is in its switch's list of ports whose departures free shared memory.
    pub(crate) holds_memory: bool,
    pub(crate) drops: Drops,
    /// Bytes put on the line, with preamble and gap, if [`Features::counts`].
    pub(crate) sent_bytes: u64,
    /// Time for which the line would have been busy, had it not failed.
    pub(crate) cut_short: Time,
    /// Its link's place among arrivals of one instant is drawn from this.
    pub(crate) salt: u64,
    /// Queues that send nothing, and when the line came free if all that waits is in them.
    pub(crate) held: u64,
    pub(crate) free_at: Time,
}

/// Features that few links have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    /// Ports of its switch share memory, so that each departure matters to the others.
    pub(crate) shares: bool,
    /// Its packets continue in another partition, as [`crate::network::Network::beyond`] says.
    pub(crate) crosses: bool,
    /// The far end forwards a packet after this many bytes; `None`: after the whole packet.
    pub(crate) forwards_after: Option<u32>,
    /// A packet is lost if a random number is below this; 0: never.
    pub(crate) loss: u32,
    /// It is down: what comes to the port is lost.
    pub(crate) down: bool,
    /// A program of its switch counts the bytes that it has sent.
    pub(crate) counts: bool,
    /// Arrivals of chosen flows are reported.
    pub(crate) tells_arrivals: bool,
    /// What its switch hears of each packet.
    pub(crate) hears: Hears,
    /// The far end may pause it.
    pub(crate) holds: bool,
    /// Each departure is an event.
    pub(crate) eager: bool,
    /// It is a host's, which a pause keeps from sending.
    pub(crate) from_host: bool,
    /// The endpoints of its host hear what leaves the port.
    pub(crate) tells_departures: bool,
    /// What happens to its packets is recorded, under this index in [`crate::trace::Tracing::links`].
    pub(crate) traced: Option<u32>,
}

impl Features {
    fn any_but_sharing(&self) -> bool {
        self.crosses || self.forwards_after.is_some() || self.loss > 0
    }

    fn only_crosses(&self) -> bool {
        self.crosses && !self.shares && self.forwards_after.is_none() && self.loss == 0
    }
}

impl Port {
    /// Builds the port of link `number` of a fabric.
    pub(crate) fn new(scheduler: Scheduler, link: &topology::Link, number: u32, seed: u64) -> Port {
        Port {
            scheduler,
            features: Features {
                shares: false,
                crosses: false,
                forwards_after: link.cut_through.then_some(CUT_THROUGH_BYTES),
                loss: link.lost_below(),
                down: false,
                counts: false,
                tells_departures: false,
                tells_arrivals: false,
                hears: Hears::NOTHING,
                holds: false,
                eager: false,
                from_host: matches!(link.from, topology::Node::Host(_)),
                traced: None,
            },
            random: stream(seed, Purpose::Marking, number.into()),
            loss_random: stream(seed, Purpose::Loss, number.into()),
            owner: 0,
            back: 0,
            due: false,
            holds_memory: false,
            marks: 0,
            drops: Drops::default(),
            most_backlog: 0,
            sent_bytes: 0,
            cut_short: Time::ZERO,
            salt: stream(seed, Purpose::Ties, number.into()).next_u64(),
            held: 0,
            free_at: Time::ZERO,
        }
    }
}

impl Port {
    /// Calls [`PortScheduler::enqueue`] with the port's own context.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        metas: &mut [Meta],
        packet: u32,
        now: Time,
        pool: &mut Pool,
        victims: &mut Victims,
    ) -> Verdict {
        let (random, marks) = (&mut self.random, &mut self.marks);
        self.scheduler.enqueue(metas, packet, &mut PortContext { now, pool, victims, random, marks })
    }

    /// Returns whether the memory that it shares has room for a packet of `len` bytes in any of its queues.
    #[inline(always)]
    pub(crate) fn has_memory(&self, len: u16, pool: &Pool) -> bool {
        let backlog = self.scheduler.backlog_bytes();
        self.scheduler.limits().is_some_and(|limits| limits.has_memory(len, backlog, pool))
    }

    /// Calls [`PortScheduler::dequeue`] with the port's own context.
    #[inline(always)]
    pub(crate) fn dequeue(
        &mut self,
        metas: &mut [Meta],
        now: Time,
        pool: &mut Pool,
        victims: &mut Victims,
    ) -> Option<u32> {
        let (random, marks) = (&mut self.random, &mut self.marks);
        self.scheduler.dequeue(metas, &mut PortContext { now, pool, victims, random, marks })
    }
}

impl Port {
    /// Calls [`PortScheduler::dequeue_unheld`] with the port's own context.
    pub(crate) fn dequeue_unheld(
        &mut self,
        metas: &mut [Meta],
        now: Time,
        pool: &mut Pool,
        victims: &mut Victims,
    ) -> Option<u32> {
        let (random, marks) = (&mut self.random, &mut self.marks);
        let context = &mut PortContext { now, pool, victims, random, marks };
        self.scheduler.dequeue_unheld(metas, context, self.held)
    }
}

impl LinkState {
    /// Builds the link of a fabric behind a port.
    pub(crate) fn new(link: &topology::Link, port: &Port, to: Endpoint) -> LinkState {
        LinkState {
            busy_until: Time::ZERO,
            byte_time: link.rate.byte_time(),
            delay: link.delay,
            next_arrival: Time::NEVER,
            first: NONE,
            last: NONE,
            queued: 0,
            to,
            bypass_bytes: if port.features.shares {
                0
            } else {
                u16::try_from(port.scheduler.bypass_bytes()).unwrap_or(u16::MAX)
            },
            has_features: port.features.any_but_sharing(),
            shares: port.features.shares,
            only_crosses: port.features.only_crosses(),
            class: link.class as u8,
        }
    }

    /// Adds a feature that the link gets after it was built.
    pub(crate) fn add_feature(&mut self) {
        self.has_features = true;
        self.only_crosses = false;
    }

    /// Has every packet join a queue.
    pub(crate) fn never_bypass(&mut self) {
        self.bypass_bytes = 0;
    }

    /// Returns the delay of the line.
    pub(crate) fn delay(&self) -> Time {
        self.delay
    }

    /// Returns whether a packet that waits at the port is due.
    #[inline(always)]
    pub(crate) fn owes(&self, now: Time) -> bool {
        self.queued > 0 && self.busy_until <= now
    }

    /// Returns whether a packet of `len` bytes bypasses the scheduler, because the port is idle at `now`.
    #[inline(always)]
    pub(crate) fn bypasses(&self, len: u16, now: Time) -> bool {
        self.is_idle(now) && len <= self.bypass_bytes
    }

    /// Returns whether nothing waits at the port, and the line is free.
    #[inline(always)]
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.queued == 0 && self.busy_until <= now
    }

    /// Puts a packet of `on_wire` bytes on the line, which is free at `start`; returns when it arrives at the far end.
    #[inline(always)]
    pub(crate) fn put_on_line(&mut self, on_wire: u32, start: Time) -> Time {
        self.busy_until = start + self.byte_time.serialise(on_wire);
        self.busy_until + self.delay
    }

    /// Does the same if the far end forwards the packet after `head` bytes.
    pub(crate) fn put_on_line_cut_through(&mut self, on_wire: u32, start: Time, head: u32) -> Time {
        let whole = self.put_on_line(on_wire, start);
        whole.min(start + self.byte_time.serialise(head) + self.delay)
    }

    /// Adds a packet in flight that arrives at `at`; returns whether it is the only one. Each packet in flight holds
    /// the arrival of the one behind it, so that an arrival touches no other packet.
    #[inline(always)]
    pub(crate) fn push(&mut self, metas: &mut [Meta], packet: u32, at: Time) -> bool {
        let alone = self.next_arrival == Time::NEVER;
        if alone {
            self.first = packet;
            self.next_arrival = at;
        } else {
            let before = &mut metas[self.last as usize];
            before.next = packet;
            before.held = Held::in_flight(at);
        }
        self.last = packet;
        metas[packet as usize].held = Held::in_flight(Time::NEVER);
        alone
    }

    /// Takes the first packet in flight. There must be one.
    #[inline(always)]
    pub(crate) fn pop(&mut self, metas: &[Meta]) -> u32 {
        let packet = self.first;
        let meta = &metas[packet as usize];
        self.first = meta.next;
        self.next_arrival = meta.held.next_arrival();
        packet
    }
}

impl LinkState {
    /// Takes the line out of use, so that nothing is due, or takes it into use again.
    pub(crate) fn set_down(&mut self, down: bool, now: Time) {
        self.busy_until = if down { Time::NEVER } else { now };
    }

    /// Returns how much longer than to `now` the line is busy with what it has begun to send. A line that is down is
    /// busy with nothing: its [`LinkState::busy_until`] is no instant.
    pub(crate) fn rest(&self, now: Time) -> Time {
        if self.busy_until == Time::NEVER { Time::ZERO } else { self.busy_until.since(now) }
    }
}

/// Counters of the ports of a class of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassCount {
    /// Bytes sent, with preamble and gap.
    pub(crate) wire_bytes: u64,
    /// Bytes sent up to the arrival of the last flow, with preamble and gap.
    pub(crate) wire_bytes_at_arrivals_end: u64,
    /// Packets sent that had been queued, by queue.
    pub(crate) by_queue: Tally,
    /// Packets sent that had been queued, by priority.
    pub(crate) waited: Tally,
    /// Packets that bypassed an idle port, by priority.
    pub(crate) bypassed: Tally,
    /// Bytes queued ahead of packets that were queued or dropped.
    pub(crate) queued_before: QueuedBefore,
}

impl ClassCount {
    /// Counts a sent packet of `on_wire` bytes on the wire, which bypassed the scheduler or had been queued.
    #[inline(always)]
    pub(crate) fn count(&mut self, meta: &Meta, on_wire: u32, bypassed: bool) {
        self.wire_bytes += u64::from(on_wire);
        if bypassed {
            self.bypassed.count(meta.tag.priority());
        } else {
            self.by_queue.count(meta.queue);
            self.waited.count(meta.tag.priority());
        }
    }
}

/// Counts by queue or by priority.
#[derive(Clone, Debug)]
pub(crate) struct Tally(pub(crate) [u64; Tally::SIZE]);

impl Tally {
    const SIZE: usize = 1 << u8::BITS;

    #[inline(always)]
    pub(crate) fn count(&mut self, which: u8) {
        self.0[usize::from(which)] += 1;
    }

    /// Returns the sums, up to the last that is not zero.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link__is_a_cache_line() {
        assert_eq!(size_of::<LinkState>(), 64);
    }
}
