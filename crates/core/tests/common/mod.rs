//! A port on a bench: packets are handed to it one by one.

use flowsieve_core::admission::Pool;
use flowsieve_core::meta::Ecn;
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Meta, PortContext, PortScheduler, Rate, Scheduler, Tag, Time, Victims};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// A port and the frames that it was handed, named by their order of arrival.
pub(crate) struct Bench {
    pub(crate) port: Scheduler,
    pub(crate) metas: Vec<Meta>,
    pool: Pool,
    pub(crate) victims: Victims,
    random: Xoshiro256PlusPlus,
    pub(crate) marks: u64,
    pub(crate) now: Time,
}

impl Bench {
    pub(crate) fn new(port: Scheduler) -> Bench {
        Bench {
            port,
            metas: Vec::new(),
            pool: Pool::default(),
            victims: Victims::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            marks: 0,
            now: Time::ZERO,
        }
    }

    pub(crate) fn call<R>(&mut self, f: impl FnOnce(&mut Scheduler, &mut [Meta], &mut PortContext<'_>) -> R) -> R {
        let mut context = PortContext {
            now: self.now,
            pool: &mut self.pool,
            victims: &mut self.victims,
            random: &mut self.random,
            marks: &mut self.marks,
        };
        f(&mut self.port, &mut self.metas, &mut context)
    }

    /// Hands over a packet; says whether it was taken.
    pub(crate) fn send(&mut self, meta: Meta) -> bool {
        self.metas.push(meta);
        let packet = self.metas.len() as u32 - 1;
        self.call(|port, metas, context| port.enqueue(metas, packet, context)).is_accepted()
    }

    pub(crate) fn recv(&mut self) -> Option<u32> {
        self.call(|port, metas, context| port.dequeue(metas, context))
    }

    pub(crate) fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.recv()).collect()
    }
}

pub(crate) fn data(flow: u32, priority: u8, rank: u32, len: u16) -> Meta {
    Meta { flow, tag: Tag::new(priority, rank), len, ecn: Ecn::Capable, ..Meta::default() }
}

/// A line of 1 Gbit/s: a byte takes 8 ns.
pub(crate) fn line() -> Line {
    Line { byte_time: Rate::new(1_000_000_000).expect("a rate").byte_time(), overhead: 0 }
}
