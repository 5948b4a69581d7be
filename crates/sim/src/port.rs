//! A port with the line behind it, in virtual time: what an engine needs of a fabric whose packets are its own.
//!
//! A [`Port`] has no clock and no packets. Its owner keeps them in a slice of [`Meta`], names them by index, and says
//! what the time is. At each instant the owner
//! 1. calls [`Port::depart`] until it returns `None`, at every port that shares the arriving packet's memory: an arrival
//!    sees all departures up to its own instant as done;
//! 2. calls [`Port::enqueue`] for a packet that arrives, frees what was evicted or turned away, and
//! 3. calls [`Port::depart`] again, since the line may be free for the packet.
//!
//! [`Port::departs_at`] says when to come back. The packet simulator has a faster copy of this in its own data; a test
//! there holds the two equal.

use flowsieve_core::admission::Pool;
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Meta, PortContext, PortScheduler, Scheduler, Time, Verdict, Victims};
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use rand_core::Rng;

use crate::ideal::CUT_THROUGH_BYTES;
use crate::topology::Link;

/// A port, its line, and the packets that wait.
pub struct Port {
    scheduler: Scheduler,
    line: Line,
    /// From the end of a packet's serialisation to its arrival.
    delay: Time,
    /// The far end forwards a packet after this many bytes; `None`: after the whole packet.
    forwards_after: Option<u32>,
    /// A packet is lost on the line if a random number is below this.
    loss: u32,
    /// Whether its packets take from a memory that other ports take from, too.
    shares_memory: bool,
    /// When the line can take the next packet.
    busy_until: Time,
    /// Where the scheduler's clock begins: it was put in place then.
    origin: Time,
    /// The last instant of a call.
    last: Time,
    waiting: u32,
    marks: u64,
    most_backlog: u64,
    random: Xoshiro256PlusPlus,
    loss_random: Xoshiro256PlusPlus,
}

/// A packet that a line has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet.
    pub packet: u32,
    /// When its serialisation began.
    pub start: Time,
    /// When its serialisation ends, and the line is free.
    pub end: Time,
    /// When it arrives at the far end.
    pub arrival: Time,
}

impl Port {
    /// Builds the port of link `number` of a fabric; its scheduler must be built for [`Link::line`]. A packet takes
    /// `overhead` bytes on the line in addition to its length. `seed` is the run's, from which each port has random
    /// numbers of its own for marks and for losses.
    pub fn new(
        scheduler: Scheduler,
        (link, number): (&Link, u32),
        overhead: u16,
        shares_memory: bool,
        seed: u64,
    ) -> Port {
        Port {
            scheduler,
            line: link.line(overhead),
            delay: link.delay,
            forwards_after: link.cut_through.then_some(CUT_THROUGH_BYTES),
            loss: link.lost_below(),
            shares_memory,
            busy_until: Time::ZERO,
            origin: Time::ZERO,
            last: Time::ZERO,
            waiting: 0,
            marks: 0,
            most_backlog: 0,
            random: stream(seed, Purpose::Marking, number.into()),
            loss_random: stream(seed, Purpose::Loss, number.into()),
        }
    }

    /// Handles the arrival of a packet that is in no list. Afterwards `evicted`, which is empty before, names the
    /// packets that made room, and the verdict says whether this one is queued. All others are the caller's again.
    ///
    /// `memory` is that of the port's switch, and a host's port has an empty one. Only a port that shares it takes from
    /// it and gives back.
    pub fn enqueue(
        &mut self,
        now: Time,
        metas: &mut [Meta],
        packet: u32,
        memory: &mut Pool,
        evicted: &mut Victims,
    ) -> Verdict {
        debug_assert!(self.departs_at().is_none_or(|due| due > now), "departures come before an arrival");
        debug_assert!(evicted.is_empty(), "whom the last arrival displaced is the caller's again");
        let now_here = self.clock(now);
        let (random, marks) = (&mut self.random, &mut self.marks);
        let context = &mut PortContext { now: now_here, pool: memory, victims: evicted, random, marks };
        let verdict = self.scheduler.enqueue(metas, packet, context);
        self.waiting -= evicted.len() as u32;
        if self.shares_memory {
            evicted.iter().for_each(|&victim| memory.give(metas[victim as usize].len));
        }
        if verdict.is_accepted() {
            self.waiting += 1;
            if self.shares_memory {
                memory.take(metas[packet as usize].len);
            }
            if self.busy_until > now {
                self.most_backlog = self.most_backlog.max(self.scheduler.backlog_bytes());
            } else {
                // The line may have been free for a long time.
                self.busy_until = now;
            }
        }
        verdict
    }

    /// Puts the next packet on the line if the line is free at `now` or was before; `None`: it is not, or no packet
    /// waits. The packet is then in no list.
    pub fn depart(&mut self, now: Time, metas: &mut [Meta], memory: &mut Pool) -> Option<Departure> {
        let start = self.departs_at().filter(|&due| due <= now)?;
        let start_here = self.clock(start);
        let (random, marks, victims) = (&mut self.random, &mut self.marks, &mut Victims::default());
        let context = &mut PortContext { now: start_here, pool: memory, victims, random, marks };
        let packet = self.scheduler.dequeue(metas, context)?;
        self.waiting -= 1;
        let len = metas[packet as usize].len;
        if self.shares_memory {
            memory.give(len);
        }
        let end = start + self.line.serialise(len);
        self.busy_until = end;
        let whole = end + self.delay;
        let head = |bytes| start + self.line.byte_time.serialise(bytes) + self.delay;
        let arrival = self.forwards_after.map_or(whole, |bytes| whole.min(head(bytes)));
        Some(Departure { packet, start, end, arrival })
    }

    /// Puts another scheduler in the place of this one, as a reload does: packets that wait move over in the old one's order
    /// of service, without the limit and the marks, which they have had. The new one's clock begins now. Times are 64-bit
    /// picoseconds, which last 213 days, so a port that runs for longer is reloaded within that time.
    ///
    /// `refused` gets the packets that a custom scheduler turns away, which are the caller's again. Built-in ones turn away
    /// none, and hold more than their limit until enough packets have left.
    pub fn replace(
        &mut self,
        now: Time,
        scheduler: Scheduler,
        metas: &mut [Meta],
        memory: &mut Pool,
        mut refused: impl FnMut(u32),
    ) {
        let old_now = self.clock(now);
        let mut old = std::mem::replace(&mut self.scheduler, scheduler);
        self.origin = now;
        let random = &mut self.random;
        let mut victims = Victims::default();
        loop {
            let marks = &mut self.marks;
            let context = &mut PortContext { now: old_now, pool: memory, victims: &mut victims, random, marks };
            let Some(packet) = old.dequeue(metas, context) else { break };
            context.now = Time::ZERO;
            let accepted = self.scheduler.adopt(metas, packet, context).is_accepted();
            for lost in victims.drain(..).chain((!accepted).then_some(packet)) {
                self.waiting -= 1;
                if self.shares_memory {
                    memory.give(metas[lost as usize].len);
                }
                refused(lost);
            }
        }
    }

    /// Returns an instant by the scheduler's clock, which never goes back.
    fn clock(&mut self, now: Time) -> Time {
        debug_assert!(now >= self.last, "{now:?} is before {:?}: the owner clamps its clock", self.last);
        self.last = now;
        now.since(self.origin)
    }

    /// Returns when the line takes the next packet that waits; `None` if none waits.
    pub fn departs_at(&self) -> Option<Time> {
        (self.waiting > 0).then_some(self.busy_until)
    }

    /// Draws whether a packet is lost on the line: once for each packet, in the order of arrival at the far end.
    pub fn loses(&mut self) -> bool {
        self.loss > 0 && self.loss_random.next_u32() < self.loss
    }

    /// Returns how many packets it has marked.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Returns the most bytes that have waited behind a packet on the line.
    pub fn most_backlog_bytes(&self) -> u64 {
        self.most_backlog
    }

    /// Returns the scheduler, which may be observed and take a controller's table between two packets.
    pub fn scheduler(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }
}
