//! Every port that a scheme of the registry may have, at work: packets arrive at any time, and leave as the line takes them.

use flowsieve_core::admission::Pool;
use flowsieve_core::marker::Waiting;
use flowsieve_core::meta::Ecn;
use flowsieve_core::pcoflow::PcoflowRules;
use flowsieve_core::scheduler::Line;
use flowsieve_core::{
    Kind, Meta, NONE, PortContext, PortKind, PortScheduler, Rate, Scheduler, Tag, Time, Verdict, Victims,
};
use flowsieve_schemes::REGISTRY;
use flowsieve_schemes::scheme::PortSpec;
use flowsieve_settings::Kind as Holds;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::common::{ports, scheme, sets};

/// A packet and how long after the one before it comes.
fn arrival() -> impl Strategy<Value = (Time, Meta)> {
    // At 10 Gbit/s a packet of 1,500 bytes takes 1.2 us. Ports look after flows and thresholds for 100 us to 250 ms.
    let gap = prop_oneof![
        20 => Just(0),
        10 => 0u64..3_000_000,
        2 => 0u64..400_000_000,
        1 => 0u64..300_000_000_000,
    ];
    let rank = prop_oneof![0u32..20_000, any::<u32>()];
    let tag = (prop_oneof![0u8..9, any::<u8>()], rank).prop_map(|(priority, rank)| Tag::new(priority, rank));
    let kind = prop_oneof![8 => Just(Kind::Data), 1 => Just(Kind::Ack), 1 => Just(Kind::Control)];
    let ecn = select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked]);
    let coflow = prop_oneof![Just(NONE), 0u32..3];
    let len = prop_oneof![select(vec![40, 1_500, 9_000]), 1u16..9_000];
    (gap, 0u32..6, coflow, tag, kind, ecn, len).prop_map(|(gap, flow, coflow, tag, kind, ecn, len)| {
        // The last queue that a packet can name, which no port chooses.
        (Time(gap), Meta { flow, coflow, tag, kind, ecn, len, queue: u8::MAX, ..Meta::default() })
    })
}

/// A port in front of a line, and what must be in it.
struct Bench {
    kind: PortKind,
    port: Scheduler,
    line: Line,
    /// When the line is free.
    free: Time,
    metas: Vec<Meta>,
    /// The packets in it, in the order of arrival.
    inside: Vec<u32>,
    /// A queue may hold a flow's packets in another order than they came, if their tags differ.
    sorted: bool,
    /// A coflow's packets may move to a queue where others of their flow wait.
    moves: bool,
    shares: bool,
    pool: Pool,
    victims: Victims,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl Bench {
    fn new(spec: &PortSpec) -> Bench {
        let rate = Rate::new(10_000_000_000).expect("a rate");
        let line = Line { byte_time: rate.byte_time(), overhead: 24 };
        Bench {
            kind: spec.kind.clone(),
            port: spec.build(line, 40, || unreachable!("a built-in port")),
            line,
            free: Time::ZERO,
            metas: Vec::new(),
            inside: Vec::new(),
            // The one discipline that is defined so: packets by rank, whatever their flow.
            sorted: matches!(spec.kind, PortKind::Pifo(_)),
            moves: matches!(spec.kind, PortKind::Pcoflow(PcoflowRules { moves: true, .. })),
            shares: spec.shares_memory(),
            pool: Pool::new(100_000),
            victims: Victims::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            marks: 0,
        }
    }

    fn bytes(&self, of: impl Fn(&Meta) -> bool) -> u64 {
        let metas = self.inside.iter().map(|&packet| &self.metas[packet as usize]);
        metas.filter(|meta| of(meta)).map(|meta| u64::from(meta.len)).sum()
    }

    /// A port that keeps queues says of each what waits in it; one that does not says it of none.
    fn look(&self) -> Result<(), TestCaseError> {
        let queues = self.port.queues();
        prop_assert_eq!(self.port.waiting_in(queues), None, "one more than there are");
        let waiting: Vec<Option<Waiting>> = (0..queues).map(|queue| self.port.waiting_in(queue)).collect();
        let keeps_queues =
            !matches!(self.kind, PortKind::Pifo(_) | PortKind::Pfabric(_) | PortKind::Flows(_) | PortKind::Fair(_));
        prop_assert!(waiting.iter().all(|waiting| waiting.is_some() == keeps_queues), "{waiting:?}");
        // A boost moves packets, and they do not forget which queue they entered.
        let moves = matches!(&self.kind, PortKind::Awafs(params) if params.boost.is_some());
        let mut expected = vec![Waiting::default(); queues];
        for meta in self.inside.iter().map(|&packet| &self.metas[packet as usize]) {
            let queue = &mut expected[usize::from(meta.queue)];
            queue.bytes += u32::from(meta.len);
            queue.packets += 1;
        }
        if keeps_queues && !moves {
            prop_assert_eq!(waiting.iter().copied().flatten().collect::<Vec<_>>(), expected);
        }
        let of_all = |of: fn(&Waiting) -> u32| waiting.iter().flatten().map(of).map(u64::from).sum::<u64>();
        if keeps_queues {
            prop_assert_eq!(of_all(|waiting| waiting.bytes), self.port.backlog_bytes());
            prop_assert_eq!(of_all(|waiting| waiting.packets), self.inside.len() as u64);
        }
        Ok(())
    }

    /// A packet that was inside is so no longer.
    fn leave(&mut self, packet: u32) -> Result<(), TestCaseError> {
        let place = self.inside.iter().position(|&inside| inside == packet);
        prop_assert!(place.is_some(), "packet {packet} was not inside");
        place.map(|place| self.inside.remove(place));
        if self.shares {
            self.pool.give(self.metas[packet as usize].len);
        }
        Ok(())
    }

    fn arrive(&mut self, now: Time, meta: Meta) -> Result<(), TestCaseError> {
        let (packet, before, marks) = (self.metas.len() as u32, self.bytes(|_| true), self.marks);
        self.metas.push(meta);
        let Bench { port, metas, pool, victims, random, marks: marked, .. } = self;
        let verdict = port.enqueue(metas, packet, &mut PortContext { now, pool, victims, random, marks: marked });
        let after = self.metas[packet as usize];

        let own = |meta: &Meta| (meta.flow, meta.coflow, meta.len, meta.dst, meta.tag, meta.kind);
        prop_assert_eq!(own(&after), own(&meta), "a port writes no more than queue and mark");
        let is_new = meta.ecn == Ecn::Capable && after.ecn == Ecn::Marked;
        prop_assert!(is_new || after.ecn == meta.ecn, "{:?} became {:?}", meta.ecn, after.ecn);
        // Who was marked already is marked again, and counted.
        prop_assert!(self.marks - marks <= 1 && self.marks - marks >= u64::from(is_new));

        let queues = self.port.queues();
        prop_assert!(usize::from(after.queue) < queues, "queue {} of {queues}, {verdict:?}", after.queue);
        let of_queue = self.bytes(|meta| meta.queue == after.queue);
        match verdict {
            Verdict::Accepted { queued_before } => {
                prop_assert!(
                    queued_before == of_queue || queued_before == before,
                    "found {queued_before} of {of_queue} or {before}"
                );
            }
            Verdict::Dropped { queued_before } => {
                prop_assert!(queued_before <= before, "found {queued_before} of {before}")
            }
        }
        if before == 0 && u64::from(meta.len) <= self.port.bypass_bytes() {
            prop_assert!(verdict.is_accepted() && self.marks == marks, "it does not pass");
            prop_assert_eq!(usize::from(after.queue), usize::from(meta.tag.priority()).min(queues - 1));
        }
        for victim in std::mem::take(&mut self.victims) {
            self.leave(victim)?;
        }
        if verdict.is_accepted() {
            self.inside.push(packet);
            if self.shares {
                self.pool.take(meta.len);
            }
        }
        prop_assert_eq!(self.port.backlog_bytes(), self.bytes(|_| true));
        self.look()
    }

    /// The line takes packets as long as it is free before `now`, or at it.
    fn send_until(&mut self, now: Time) -> Result<(), TestCaseError> {
        while self.free <= now {
            let Bench { port, metas, pool, victims, random, marks, .. } = self;
            let mut context = PortContext { now: self.free, pool, victims, random, marks };
            let Some(packet) = port.dequeue(metas, &mut context) else {
                prop_assert!(self.inside.is_empty(), "work-conserving: {:?}", self.inside);
                self.free = now;
                return Ok(());
            };
            let meta = self.metas[packet as usize];
            let ahead = self.inside.iter().take_while(|&&inside| inside != packet);
            let overtaken = ahead.copied().find(|&ahead| {
                let ahead = &self.metas[ahead as usize];
                (ahead.flow, ahead.queue) == (meta.flow, meta.queue)
                    && (!self.sorted || ahead.tag == meta.tag)
                    && (!self.moves || (ahead.coflow, ahead.kind) == (meta.coflow, meta.kind))
            });
            self.leave(packet)?;
            prop_assert_eq!(overtaken, None, "{} overtook one of its flow and queue", packet);
            prop_assert_eq!(self.port.backlog_bytes(), self.bytes(|_| true));
            self.free += self.line.byte_time.serialise(u32::from(meta.len) + self.line.overhead);
        }
        Ok(())
    }
}

impl Bench {
    /// Packets arrive and leave as the line takes them, until none is left.
    fn play(&mut self, arrivals: &[(Time, Meta)]) -> Result<(), TestCaseError> {
        let mut now = Time::ZERO;
        for &(gap, meta) in arrivals {
            now += gap;
            self.send_until(now)?;
            // A line that is free again at `now` may take its packet before or after the arrival: here before.
            self.arrive(now, meta)?;
            if self.free <= now {
                self.send_until(now)?;
            }
        }
        while !self.inside.is_empty() {
            self.send_until(self.free)?;
        }
        Ok(())
    }
}

fn play(spec: &PortSpec, arrivals: &[(Time, Meta)]) -> Result<(), TestCaseError> {
    Bench::new(spec).play(arrivals)
}

/// Packets are conserved and served without a rest, in the order of their flow within a queue; lengths are what is there.
#[test]
fn every_port__conserves_packets_and_order() {
    let ports = ports();
    for (name, spec) in &ports {
        let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
        let outcome = runner.run(&prop::collection::vec(arrival(), 1..250), |arrivals| play(spec, &arrivals));
        outcome.unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

/// What the tests above would silently leave out.
#[test]
fn every_port__of_all_schemes_and_disciplines() {
    for settings in sets() {
        for entry in REGISTRY.iter() {
            assert!(scheme(entry.name.as_str(), &settings).is_some(), "{}", entry.name.as_str());
        }
        let key = settings.find("discipline").map(|key| key.kind);
        let Some(Holds::Choice(disciplines)) = key else { panic!("no choice") };
        for discipline in disciplines.names() {
            assert!(scheme("dctcp", &settings.clone().with(None, "discipline", discipline)).is_some(), "{discipline}");
        }
    }
}
