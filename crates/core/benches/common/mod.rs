//! A port that packets pass.

use std::hint::black_box;

use criterion::measurement::Measurement;
use criterion::{BenchmarkGroup, BenchmarkId};
use flowsieve_core::admission::Pool;
use flowsieve_core::{Meta, PortContext, PortScheduler, Scheduler, Time, Victims};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

pub(crate) const PACKET_BYTES: u16 = 1_500;

/// A port with the frames that it was handed, and packets that arrive in turn.
pub(crate) struct Port {
    scheduler: Scheduler,
    arrivals: Vec<Meta>,
    arrived: usize,
    metas: Vec<Meta>,
    free: Vec<u32>,
    around: Around,
}

/// What a port is told in addition to the packet.
struct Around {
    pool: Pool,
    victims: Victims,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl Around {
    fn context(&mut self) -> PortContext<'_> {
        let Around { pool, victims, random, marks } = self;
        PortContext { now: Time::ZERO, pool, victims, random, marks }
    }
}

impl Port {
    /// A port at which `backlog` packets wait.
    pub(crate) fn new(scheduler: Scheduler, arrivals: Vec<Meta>, backlog: u32) -> Port {
        let frames = backlog + 2;
        let mut port = Port {
            scheduler,
            arrivals,
            arrived: 0,
            metas: vec![Meta::default(); frames as usize],
            free: (0..frames).collect(),
            around: Around {
                pool: Pool::default(),
                victims: Victims::default(),
                random: Xoshiro256PlusPlus::seed_from_u64(2),
                marks: 0,
            },
        };
        (0..backlog).for_each(|_| port.arrive());
        assert_eq!(port.scheduler.backlog_bytes(), u64::from(backlog) * u64::from(PACKET_BYTES));
        port
    }

    #[inline]
    pub(crate) fn arrive(&mut self) {
        let packet = self.free.pop().expect("a frame for every packet that fits");
        self.metas[packet as usize] = self.arrivals[self.arrived];
        self.arrived = (self.arrived + 1) % self.arrivals.len();
        let Port { scheduler, metas, around, .. } = self;
        let verdict = scheduler.enqueue(metas, packet, &mut around.context());
        while let Some(victim) = self.around.victims.pop() {
            self.free.push(victim);
        }
        if !verdict.is_accepted() {
            self.free.push(packet);
        }
    }

    #[inline]
    pub(crate) fn depart(&mut self) -> u32 {
        let Port { scheduler, metas, around, .. } = self;
        let packet = scheduler.dequeue(metas, &mut around.context()).expect("a packet waits");
        self.free.push(packet);
        packet
    }
}

/// The time of one arrival with one departure.
pub(crate) fn steady<M: Measurement>(group: &mut BenchmarkGroup<'_, M>, name: BenchmarkId, mut port: Port) {
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            port.arrive();
            black_box(port.depart())
        });
    });
}
