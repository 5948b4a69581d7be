//! A port with a line whose scheduler is replaced while packets wait: a reload, by hand.

use std::sync::{Arc, Mutex};

use flowsieve_core::admission::{Admission, Pool};
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Meta, PortContext, PortScheduler, Scheduler, Tag, Time, Verdict, Victims};
use flowsieve_settings::Settings;
use flowsieve_sim::port::Port;
use flowsieve_sim::topology::{FABRIC_SETTINGS, Fabric};

/// A FIFO queue that notes the instants of its calls, and turns away packets of priority 9.
struct Noting {
    bank: FifoBank,
    calls: Arc<Mutex<Vec<(&'static str, u64)>>>,
}

impl PortScheduler for Noting {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        self.calls.lock().unwrap().push(("enqueue", context.now.0));
        if metas[packet as usize].tag.priority() == 9 {
            return Verdict::Dropped { queued_before: 0 };
        }
        self.bank.enqueue(metas, packet, context)
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        self.calls.lock().unwrap().push(("dequeue", context.now.0));
        self.bank.dequeue(metas, context)
    }

    fn backlog_bytes(&self) -> u64 {
        self.bank.backlog_bytes()
    }

    fn queues(&self) -> usize {
        1
    }
}

fn bank(queues: usize, limit: u64, marker: Marker) -> Scheduler {
    Scheduler::Bank(FifoBank::new(queues, Admission::PerPort { limit }, marker, Discipline::StrictPriority))
}

/// A port that shares memory. At 10 Gbit/s a packet of 1,500 bytes takes 1.2 us.
fn port(scheduler: Scheduler) -> Port {
    let settings = Settings::of(FABRIC_SETTINGS.concat())
        .with(None, "kind", "single-switch")
        .with(None, "hosts", 2i64)
        .with(None, "host_link", "10Gbps")
        .with(None, "link_delay", "0ns")
        .with(None, "host_delay", "0ns");
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    Port::new(scheduler, (&fabric.links[0], 0), 0, true, 1)
}

fn packets(priorities: &[u8]) -> Vec<Meta> {
    let meta = |&priority: &u8| {
        let tag = Tag::with_priority(priority);
        Meta { len: 1_500, ecn: Ecn::Capable, tag, ..Meta::default() }
    };
    priorities.iter().map(meta).collect()
}

/// Four packets come at once to a port of one queue that marks those that find a packet. The first is on the line, and
/// the others move into two queues that together hold no more than one packet.
#[test]
fn replace__what_waits_moves_over_without_limit_and_marks() {
    let marker = Marker::Threshold { above: 0, scope: MarkScope::Port, counts_arriving: false };
    let mut port = port(bank(1, 10_000, marker));
    let mut metas = packets(&[1, 1, 0, 1, 0]);
    let (mut memory, mut victims) = (Pool::new(20_000), Victims::default());
    for packet in 0..4 {
        assert!(port.enqueue(Time::ZERO, &mut metas, packet, &mut memory, &mut victims).is_accepted());
        port.depart(Time::ZERO, &mut metas, &mut memory);
    }
    assert_eq!((port.marks(), memory.used()), (2, 4_500), "the third and the fourth found a packet");

    let half = Time(500_000);
    let all = Marker::Threshold { above: 0, scope: MarkScope::Port, counts_arriving: true };
    port.replace(half, bank(2, 1_500, all), &mut metas, &mut memory, |packet| panic!("{packet} is refused"));
    assert_eq!((port.marks(), memory.used(), port.departs_at()), (2, 4_500, Some(Time(1_200_000))));
    let marked: Vec<bool> = metas.iter().map(|meta| meta.ecn == Ecn::Marked).collect();
    assert_eq!(marked, [false, false, true, true, false]);

    // The limit is back: the port holds more than it takes.
    let verdict = port.enqueue(half, &mut metas, 4, &mut memory, &mut victims);
    assert_eq!((verdict, metas[4].queue), (Verdict::Dropped { queued_before: 1_500 }, 0));
    let departures = std::iter::from_fn(|| port.depart(Time::from_us(9), &mut metas, &mut memory));
    let left: Vec<(u32, Time)> = departures.map(|left| (left.packet, left.start)).collect();
    assert_eq!(
        left,
        [(2, Time(1_200_000)), (1, Time(2_400_000)), (3, Time(3_600_000))],
        "by priority, then as they came"
    );
    assert_eq!(memory.used(), 0);
}

/// The new scheduler's clock begins at the reload, and the caller gets back what a custom scheduler turns away.
#[test]
fn replace__the_clock_begins_anew_and_refused_packets_are_the_callers() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut port = port(bank(1, 10_000, Marker::Off));
    let mut metas = packets(&[0, 0, 9, 0]);
    let (mut memory, mut victims) = (Pool::new(20_000), Victims::default());
    for packet in 0..4 {
        assert!(port.enqueue(Time::from_us(5), &mut metas, packet, &mut memory, &mut victims).is_accepted());
        port.depart(Time::from_us(5), &mut metas, &mut memory);
    }
    let bank = FifoBank::new(1, Admission::Unlimited, Marker::Off, Discipline::StrictPriority);
    let noting = Scheduler::Custom(Box::new(Noting { bank, calls: Arc::clone(&calls) }));
    let mut refused = Vec::new();
    port.replace(Time(5_400_000), noting, &mut metas, &mut memory, |packet| refused.push(packet));
    assert_eq!((refused, memory.used()), (vec![2], 3_000));
    while port.depart(Time::from_us(9), &mut metas, &mut memory).is_some() {}
    // The line is free at 6.2 and 7.4 us; the reload was at 5.4.
    let expected = [("enqueue", 0), ("enqueue", 0), ("enqueue", 0), ("dequeue", 800_000), ("dequeue", 2_000_000)];
    assert_eq!(*calls.lock().unwrap(), expected);
    assert_eq!(memory.used(), 0);
}
