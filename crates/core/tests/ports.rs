//! Ports, told as packet traces: what arrives, what leaves.

use crate::common::{Bench, data};
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::flow_queues::{FlowScheduler, Order};
use flowsieve_core::marker::{MarkScope, Marker, Waiting};
use flowsieve_core::meta::Ecn;
use flowsieve_core::pfabric::PfabricPool;
use flowsieve_core::pifo::Pifo;
use flowsieve_core::scheduler::MOST_VICTIMS;
use flowsieve_core::{Meta, PortScheduler, Scheduler};
use proptest::prelude::*;

fn evicted(port: &mut Bench) -> Vec<u32> {
    std::iter::from_fn(|| port.victims.pop()).collect()
}

fn bank(queues: usize, discipline: Discipline) -> Bench {
    Bench::new(Scheduler::Bank(FifoBank::new(queues, Admission::Unlimited, Marker::Off, discipline)))
}

#[test]
fn strict_priority__high_first_fifo_within() {
    let mut port = bank(3, Discipline::StrictPriority);
    for priority in [2, 0, 1, 0, 9] {
        assert!(port.send(data(0, priority, 0, 1500)));
    }
    assert_eq!(port.drain(), [1, 3, 2, 0, 4], "priority 9 joins the last queue");
    assert_eq!(port.metas[4].queue, 2);
}

#[test]
fn held_queues__send_nothing_and_the_last_stands_for_those_beyond() {
    let mut port = bank(3, Discipline::StrictPriority);
    for priority in [0, 1, 2] {
        port.send(data(0, priority, 0, 1500));
    }
    let unheld = |port: &mut Bench, held| port.call(|port, metas, context| port.dequeue_unheld(metas, context, held));
    assert_eq!(unheld(&mut port, 0b111), None);
    assert_eq!(unheld(&mut port, 0b001), Some(1));
    // Queue 7 of a switch with eight: the third is the last one here.
    assert_eq!([unheld(&mut port, 1 << 7), unheld(&mut port, 1 << 7)], [Some(0), None]);
    assert_eq!(unheld(&mut port, 0b011), Some(2));
    let mut all = bank(64, Discipline::StrictPriority);
    all.send(data(0, 63, 0, 1500));
    assert_eq!([unheld(&mut all, 1 << 63), unheld(&mut all, u64::MAX >> 1)], [None, Some(0)]);
}

#[test]
fn take_newest__the_last_longer_packet_of_a_queue() {
    let mut port = bank(2, Discipline::StrictPriority);
    for (priority, len) in [(1, 1_500), (1, 900), (1, 64), (0, 1_500)] {
        port.send(data(0, priority, 0, len));
    }
    let newest = |port: &mut Bench, queue| port.call(|port, metas, _| port.take_newest(metas, queue, 64));
    assert_eq!((newest(&mut port, 1), newest(&mut port, 1), newest(&mut port, 1)), (Some(1), Some(0), None));
    assert_eq!((newest(&mut port, 0), newest(&mut port, 0), newest(&mut port, 7)), (Some(3), None, None));
    port.send(data(0, 1, 0, 200));
    assert_eq!(port.drain(), [2, 4], "what is left, and what came since");
    assert_eq!(port.call(|port, _, _| port.backlog_bytes()), 0);
}

#[test]
fn weighted_round_robin__packets_by_weight() {
    let mut port = bank(2, Discipline::WeightedRoundRobin { weights: vec![2, 1] });
    for priority in [0, 0, 0, 0, 1, 1, 1] {
        port.send(data(0, priority, 0, 1500));
    }
    assert_eq!(port.drain(), [0, 1, 4, 2, 3, 5, 6]);
}

#[test]
fn deficit_round_robin__bytes_by_quantum() {
    let mut port = bank(2, Discipline::DeficitRoundRobin { quanta: vec![1500, 1500] });
    for _ in 0..3 {
        port.send(data(0, 0, 0, 1000));
    }
    for _ in 0..6 {
        port.send(data(0, 1, 0, 500));
    }
    // Queue 0 sends 1000 of its 1500 and keeps 500; queue 1 sends three of 500; then queue 0 has 2000.
    assert_eq!(port.drain(), [0, 3, 4, 5, 1, 2, 6, 7, 8]);
}

#[test]
fn per_port_limit__tail_drop_on_the_total() {
    let admission = Admission::PerPort { limit: 3000 };
    let mut port = Bench::new(Scheduler::Bank(FifoBank::new(2, admission, Marker::Off, Discipline::StrictPriority)));
    assert!(port.send(data(0, 1, 0, 1500)));
    assert!(port.send(data(0, 1, 0, 1500)));
    assert!(!port.send(data(0, 0, 0, 1500)), "a higher priority does not push out");
    assert_eq!(port.recv(), Some(0));
    assert!(port.send(data(0, 0, 0, 1500)));
    assert_eq!(port.drain(), [3, 1]);
}

#[test]
fn marks__every_packet_that_finds_more_than_k() {
    let marker = Marker::Threshold { above: 3000, scope: MarkScope::Port, counts_arriving: true };
    let mut port =
        Bench::new(Scheduler::Bank(FifoBank::new(8, Admission::Unlimited, marker, Discipline::StrictPriority)));
    for priority in [3, 3, 0, 7] {
        port.send(data(0, priority, 0, 1500));
    }
    let marked: Vec<bool> = port.metas.iter().map(|m| m.ecn == Ecn::Marked).collect();
    assert_eq!(marked, [false, false, true, true]);
    assert_eq!(port.marks, 2);
}

/// K of three packets. The fourth that waits is marked, though two of those before it are ACKs of 40 bytes; three full
/// packets' bytes (4,500) are passed by the fifth alone. A departure makes room for one more.
#[test]
fn marks__packets_are_counted_and_not_converted_to_bytes() {
    let trace = |marker: Marker, port: fn(Marker) -> Scheduler| {
        let mut port = Bench::new(port(marker));
        for bytes in [1500, 40, 40, 1500, 1500] {
            port.send(data(0, 0, 0, bytes));
        }
        assert_eq!(port.drain(), [0, 1, 2, 3, 4]);
        for bytes in [40, 40, 40] {
            port.send(data(0, 0, 0, bytes));
        }
        assert_eq!(port.recv(), Some(5));
        for bytes in [40, 40] {
            port.send(data(0, 0, 0, bytes));
        }
        let marked = (0..).zip(&port.metas).filter(|(_, meta)| meta.ecn == Ecn::Marked);
        marked.map(|(packet, _)| packet).collect::<Vec<u32>>()
    };
    let counted = |scope| Marker::Packets { above: 3, scope, counts_arriving: true };
    let weighed = |scope| Marker::Threshold { above: 3 * 1_500, scope, counts_arriving: true };
    let ports: [fn(Marker) -> Scheduler; 2] = [
        |marker| Scheduler::Bank(FifoBank::new(2, Admission::Unlimited, marker, Discipline::StrictPriority)),
        |marker| Scheduler::Pifo(Pifo::new(None, Admission::Unlimited, marker)),
    ];
    for port in ports {
        for scope in [MarkScope::Port, MarkScope::Queue] {
            assert_eq!(trace(counted(scope), port), [3, 4, 9]);
            assert_eq!(trace(weighed(scope), port), [4]);
        }
    }
}

#[test]
fn marks__packets_of_a_queue_or_of_the_port() {
    let marked = |scope| {
        let marker = Marker::Packets { above: 2, scope, counts_arriving: true };
        let bank = FifoBank::new(2, Admission::Unlimited, marker, Discipline::StrictPriority);
        let mut port = Bench::new(Scheduler::Bank(bank));
        for priority in [0, 1, 0, 1, 0] {
            port.send(data(0, priority, 0, 1500));
        }
        port.metas.iter().map(|meta| meta.ecn == Ecn::Marked).collect::<Vec<bool>>()
    };
    assert_eq!(marked(MarkScope::Port), [false, false, true, true, true]);
    assert_eq!(marked(MarkScope::Queue), [false, false, false, false, true]);
}

#[test]
fn waiting_in__what_each_queue_holds_after_each_packet() {
    let mut port = bank(3, Discipline::StrictPriority);
    let waiting = |port: &Bench| [0, 1, 2].map(|queue| port.port.waiting_in(queue).expect("a queue"));
    let of = |bytes, packets| Waiting { bytes, packets };
    assert_eq!(waiting(&port), [Waiting::default(); 3]);
    for (priority, bytes) in [(2, 1500), (0, 40), (2, 1000)] {
        port.send(data(0, priority, 0, bytes));
    }
    assert_eq!(waiting(&port), [of(40, 1), of(0, 0), of(2500, 2)]);
    assert_eq!([port.recv(), port.recv()], [Some(1), Some(0)]);
    assert_eq!(waiting(&port), [of(0, 0), of(0, 0), of(1000, 1)]);
    assert_eq!(port.port.waiting_in(3), None, "there is no fourth queue");
}

#[test]
fn waiting_in__a_port_without_queues_says_nothing() {
    let mut port = Bench::new(Scheduler::Pifo(Pifo::new(Some(7), Admission::Unlimited, Marker::Off)));
    port.send(data(0, 0, 5, 1500));
    assert_eq!((port.port.queues(), port.port.backlog_bytes()), (2, 1500));
    assert_eq!([0, 1].map(|queue| port.port.waiting_in(queue)), [None; 2]);
}

#[test]
fn pifo__by_rank_then_arrival() {
    let mut port = Bench::new(Scheduler::Pifo(Pifo::new(None, Admission::Unlimited, Marker::Off)));
    for rank in [5, 1, 5, 0, 1] {
        port.send(data(0, 0, rank, 1500));
    }
    assert_eq!(port.drain(), [3, 1, 4, 0, 2]);
}

#[test]
fn pifo__a_fifo_for_the_ranks_from_a_bound_on() {
    let mut port = Bench::new(Scheduler::Pifo(Pifo::new(Some(10), Admission::Unlimited, Marker::Off)));
    for rank in [99, 12, 5, 10, 9, 40] {
        port.send(data(0, 0, rank, 1500));
    }
    assert_eq!(port.drain(), [2, 4, 0, 1, 3, 5]);
    assert_eq!(port.metas.iter().map(|meta| meta.queue).collect::<Vec<_>>(), [1, 1, 0, 1, 0, 1]);
}

#[test]
fn pfabric__best_flow_sends_its_earliest_packet() {
    let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(1 << 20)));
    // Flow 1 has 9 then 8 packets to go, flow 2 has 5 then 4: flow 2 sends both first, in order.
    for (flow, rank) in [(1, 9), (2, 5), (1, 8), (2, 4), (3, 7)] {
        port.send(data(flow, 0, rank, 1500));
    }
    assert_eq!(port.drain(), [1, 3, 4, 0, 2]);
}

#[test]
fn pfabric__a_retransmission_lifts_the_packets_before_it() {
    let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(1 << 20)));
    for (flow, rank) in [(1, 9), (2, 5), (1, 3)] {
        port.send(data(flow, 0, rank, 1500));
    }
    assert_eq!(port.drain(), [0, 2, 1], "flow 1 holds the best rank, and its earliest packet goes first");
}

#[test]
fn pfabric__a_pool_holds_no_more_than_its_queues_can_count() {
    assert_eq!(PfabricPool::new(1_000_000_000_000).bypass_bytes(), u64::from(u32::MAX));
    assert_eq!(PfabricPool::new(36_000).bypass_bytes(), 36_000);
}

#[test]
fn pfabric__full_pool_evicts_the_worst_and_the_newest_of_it() {
    let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(4500)));
    for (flow, rank) in [(1, 9), (2, 9), (3, 2)] {
        assert!(port.send(data(flow, 0, rank, 1500)));
    }
    assert!(port.send(data(4, 0, 5, 1500)));
    assert_eq!(evicted(&mut port), [1]);
    assert!(!port.send(data(5, 0, 9, 1500)), "no better than the worst: the arriving packet is the newest of it");
    assert_eq!(evicted(&mut port), []);
    assert_eq!(port.drain(), [2, 3, 0]);
}

#[test]
fn pfabric__a_large_packet_displaces_several_small_ones() {
    let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(1500)));
    for _ in 0..37 {
        assert!(port.send(data(1, 0, 9, 40)));
    }
    assert!(port.send(data(2, 0, 1, 1500)));
    assert_eq!(evicted(&mut port).len(), 37);
    assert_eq!(port.drain(), [37]);
}

#[test]
fn pfabric__an_arrival_displaces_no_more_than_it_can_name() {
    let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(1500)));
    for _ in 0..300 {
        assert!(port.send(data(1, 0, 9, 5)));
    }
    assert!(!port.send(data(2, 0, 1, 1500)), "for which 300 would have to go");
    assert_eq!(evicted(&mut port).len(), MOST_VICTIMS);
    assert_eq!(port.drain().len(), 300 - MOST_VICTIMS);
}

#[test]
fn processor_sharing__one_packet_a_turn() {
    let mut port =
        Bench::new(Scheduler::Flows(FlowScheduler::new(Order::RoundRobin, Admission::Unlimited, Marker::Off)));
    for flow in [1, 1, 1, 2, 2, 3] {
        port.send(data(flow, 0, 0, 1500));
    }
    assert_eq!(port.drain(), [0, 3, 5, 1, 4, 2]);
}

#[test]
fn las__least_attained_and_ties_to_the_one_served_longest_ago() {
    let mut port =
        Bench::new(Scheduler::Flows(FlowScheduler::new(Order::LeastRank, Admission::Unlimited, Marker::Off)));
    for (flow, attained) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)] {
        port.send(data(flow, 0, attained, 1500));
    }
    assert_eq!(port.drain(), [0, 3, 1, 4, 2]);
}

/// pFabric's pool as its paper words it: scan everything.
#[derive(Default)]
struct NaivePool {
    packets: Vec<(u32, Meta)>,
}

impl NaivePool {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|(_, m)| u64::from(m.len)).sum()
    }

    fn enqueue(&mut self, packet: u32, meta: Meta, limit: u64) -> Vec<u32> {
        self.packets.push((packet, meta));
        let mut gone = Vec::new();
        while self.bytes() > limit {
            let worst = self.packets.iter().map(|(_, m)| m.tag.rank()).max().unwrap();
            let newest = self.packets.iter().rposition(|(_, m)| m.tag.rank() == worst).unwrap();
            gone.push(self.packets.remove(newest).0);
        }
        gone
    }

    fn dequeue(&mut self) -> Option<u32> {
        let best = self.packets.iter().min_by_key(|(_, m)| m.tag.rank())?.1.flow;
        let earliest = self.packets.iter().position(|(_, m)| m.flow == best)?;
        Some(self.packets.remove(earliest).0)
    }
}

proptest! {
    #[test]
    fn pfabric__equals_the_scan(steps in prop::collection::vec((0u32..6, 0u32..12, prop::bool::weighted(0.6)), 1..300)) {
        let limit = 12 * 1500;
        let mut port = Bench::new(Scheduler::Pfabric(PfabricPool::new(limit)));
        let mut naive = NaivePool::default();
        for (flow, rank, arrives) in steps {
            if arrives {
                let meta = data(flow, 0, rank, if rank == 0 { 40 } else { 1500 });
                let packet = port.metas.len() as u32;
                let taken = port.send(meta);
                let mut gone = evicted(&mut port);
                gone.reverse();
                if !taken {
                    gone.push(packet);
                }
                prop_assert_eq!(gone, naive.enqueue(packet, meta, limit));
            } else {
                prop_assert_eq!(port.recv(), naive.dequeue());
            }
            prop_assert_eq!(port.port.backlog_bytes(), naive.bytes());
        }
    }
}
