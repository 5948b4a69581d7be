//! Fair queueing: AFQ's calendar and bit-by-bit round robin, told as packet traces and against what they approximate.

use crate::common::{Bench, data, line};
use flowsieve_core::admission::Admission;
use flowsieve_core::afq::{Afq, AfqRules, Beyond, BidStore};
use flowsieve_core::fair_queueing::FairQueueing;
use flowsieve_core::marker::Marker;
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Scheduler, Time};
use proptest::prelude::*;

const RULES: AfqRules = AfqRules { queues: 4, bytes_per_round: 1_000, bids: BidStore::Exact, beyond: Beyond::Drop };

fn afq(rules: AfqRules) -> Bench {
    Bench::new(Scheduler::Afq(Box::new(Afq::new(rules, Admission::Unlimited, Marker::Off))))
}

#[test]
fn afq__a_round_serves_so_many_bytes_of_each_flow() {
    let mut port = afq(RULES);
    // Bids of flow 1: 600 (round 0), 1200 (1), 1800 (1), 2400 (2); of flow 2, which comes later: 900 (0), 1800 (1).
    for (flow, len) in [(1, 600), (1, 600), (1, 600), (1, 600), (2, 900), (2, 900)] {
        assert!(port.send(data(flow, 0, 0, len)));
    }
    assert_eq!(port.drain(), [0, 4, 1, 2, 5, 3]);
}

#[test]
fn afq__drops_what_is_beyond_the_calendar() {
    let mut port = afq(RULES);
    // Bids 1500, 3000, 4500: rounds 1, 3 and 4. The calendar has 0 to 3.
    assert_eq!([1, 2, 3].map(|_| port.send(data(1, 0, 0, 1_500))), [true, true, false]);
    // The bid of the dropped packet does not count.
    assert!(port.send(data(1, 0, 0, 900)));
    let mut last = afq(AfqRules { beyond: Beyond::LastQueue, ..RULES });
    assert_eq!([1, 2, 3].map(|_| last.send(data(1, 0, 0, 1_500))), [true; 3]);
    assert_eq!(last.metas[2].queue, 3);
}

#[test]
fn afq__an_idle_flow_saves_nothing() {
    let mut port = afq(RULES);
    for _ in 0..3 {
        port.send(data(1, 0, 0, 1_000));
    }
    assert_eq!(port.drain(), [0, 1, 2]);
    // The round is now 3: the new flow's bid begins there, and flow 1's, which was 3000, goes on from it.
    port.send(data(2, 0, 0, 900));
    port.send(data(1, 0, 0, 900));
    port.send(data(2, 0, 0, 900));
    assert_eq!([3, 4, 5].map(|packet: usize| port.metas[packet].queue), [3, 3, 0]);
}

proptest! {
    /// While two flows are backlogged neither gets ahead of the other by more than two rounds and a packet.
    #[test]
    fn afq__shares_the_line_among_backlogged_flows(
        lens in prop::collection::vec((200u16..1_500, 200u16..1_500), 80),
        bytes_per_round in 1_500u64..4_000,
    ) {
        let rules = AfqRules { queues: 64, bytes_per_round, beyond: Beyond::LastQueue, ..RULES };
        let mut port = afq(rules);
        let mut waiting = [0u64; 2];
        for &(first, second) in &lens {
            port.send(data(0, 0, 0, first));
            port.send(data(1, 0, 0, second));
            waiting[0] += u64::from(first);
            waiting[1] += u64::from(second);
        }
        let mut sent = [0u64; 2];
        while let Some(packet) = port.recv() {
            let meta = port.metas[packet as usize];
            sent[meta.flow as usize] += u64::from(meta.len);
            waiting[meta.flow as usize] -= u64::from(meta.len);
            if waiting.contains(&0) {
                break;
            }
            prop_assert!(sent[0].abs_diff(sent[1]) <= 2 * bytes_per_round + 1_500, "{sent:?}");
        }
    }

    /// A sketch that mixes flows up serves none of them earlier: a packet's round is never before its exact one.
    #[test]
    fn afq__a_sketch_makes_nobody_earlier(
        arrivals in prop::collection::vec((0u32..20, 40u16..1_500), 1..60),
        columns in 1u32..8,
    ) {
        let rules = AfqRules { queues: 64, bytes_per_round: 3_000, beyond: Beyond::LastQueue, ..RULES };
        let mut exact = afq(rules);
        let mut mixed = afq(AfqRules { bids: BidStore::Sketch { rows: 2, columns }, ..rules });
        for (packet, (flow, len)) in arrivals.into_iter().enumerate() {
            exact.send(data(flow, 0, 0, len));
            mixed.send(data(flow, 0, 0, len));
            prop_assert!(mixed.metas[packet].queue >= exact.metas[packet].queue);
        }
    }
}

fn bit_by_bit(line: Line) -> Bench {
    Bench::new(Scheduler::Fair(Box::new(FairQueueing::new(line, Admission::Unlimited, Marker::Off))))
}

/// What arrived, and when it was all on the line.
#[derive(Clone, Copy, Debug)]
struct Sent {
    flow: usize,
    /// Picoseconds.
    work: u64,
    arrived: u64,
    done: u64,
}

/// Sends packets of (flow, length, arrival in ns) over the line, in the order of arrival.
fn send_over(line: Line, packets: &[(u32, u16, u64)]) -> Vec<Sent> {
    let mut port = bit_by_bit(line);
    let work = |len: u16| line.byte_time.serialise(u32::from(len) + line.overhead).0;
    let mut sent: Vec<Sent> = packets
        .iter()
        .map(|&(flow, len, ns)| Sent { flow: flow as usize, work: work(len), arrived: 1_000 * ns, done: 0 })
        .collect();
    let mut free = 0;
    let mut next = 0;
    loop {
        // What arrives before the line is free, or at that instant, is there when the next packet is chosen.
        while next < sent.len() && sent[next].arrived <= free {
            port.now = Time(sent[next].arrived);
            port.send(data(packets[next].0, 0, 0, packets[next].1));
            next += 1;
        }
        match port.recv() {
            Some(packet) => {
                free += sent[packet as usize].work;
                sent[packet as usize].done = free;
            }
            None if next < sent.len() => free = sent[next].arrived,
            None => return sent,
        }
    }
}

/// When each packet would be done if flows were served at equal rates, in picoseconds: the fluid system itself, an
/// arrival or a flow's end at a time.
fn fluid(sent: &[Sent]) -> Vec<f64> {
    let flows = 1 + sent.iter().map(|packet| packet.flow).max().unwrap_or(0);
    let mut left = vec![0f64; flows];
    // By flow: (work of the flow that is done when the packet is, packet).
    let mut ends: Vec<Vec<(f64, usize)>> = vec![Vec::new(); flows];
    let mut served = vec![0f64; flows];
    let mut brought = vec![0f64; flows];
    let mut done = vec![0f64; sent.len()];
    let (mut now, mut next) = (0f64, 0);
    loop {
        let active: Vec<usize> = (0..flows).filter(|&flow| left[flow] > 1e-6).collect();
        let arrival = sent.get(next).map_or(f64::INFINITY, |packet| packet.arrived as f64);
        let rate = 1.0 / active.len() as f64;
        // The next packet of a flow that is done.
        let end =
            active.iter().map(|&flow| now + (ends[flow][0].0 - served[flow]) / rate).fold(f64::INFINITY, f64::min);
        let until = arrival.min(end);
        if until == f64::INFINITY {
            return done;
        }
        for &flow in &active {
            served[flow] += (until - now) * rate;
            left[flow] -= (until - now) * rate;
        }
        now = until;
        for &flow in &active {
            while ends[flow].first().is_some_and(|&(at, _)| at <= served[flow] + 1e-6) {
                done[ends[flow].remove(0).1] = now;
            }
            if ends[flow].is_empty() {
                left[flow] = 0.0;
            }
        }
        if arrival <= end {
            let packet = sent[next];
            brought[packet.flow] += packet.work as f64;
            left[packet.flow] += packet.work as f64;
            ends[packet.flow].push((brought[packet.flow], next));
            next += 1;
        }
    }
}

#[test]
fn bit_by_bit__short_packets_are_not_favoured_nor_long_ones() {
    // Flow 0 has ten packets of 1,000 bytes, flow 1 forty of 250: a long one and four short ones in turn.
    let mut packets = vec![(0, 1_000, 0); 10];
    packets.extend([(1, 250, 0); 40]);
    let sent = send_over(line(), &packets);
    let done = |flow: usize, by: u64| {
        sent.iter().filter(|packet| packet.flow == flow && packet.done <= by).map(|packet| packet.work).sum::<u64>()
    };
    // 2,000 bytes take 16 us, and each flow has half of it.
    for turn in 1..=10 {
        assert_eq!((done(0, turn * 16_000_000), done(1, turn * 16_000_000)), (turn * 8_000_000, turn * 8_000_000));
    }
}

#[test]
fn bit_by_bit__a_flow_that_comes_later_goes_before_a_backlog() {
    // Flow 0 has sent 500 of its first 1,000 bytes when flow 1 comes: virtual time is 500 bytes, 100 bytes more are 600.
    let sent = send_over(line(), &[(0, 1_000, 0), (0, 1_000, 0), (0, 1_000, 0), (1, 100, 4_000), (2, 1_600, 4_000)]);
    let done: Vec<u64> = sent.iter().map(|packet| packet.done / 1_000).collect();
    // Flow 0 finishes at 1,000, 2,000, 3,000, flow 1 at 600, flow 2 at 2,100.
    assert_eq!(done, [8_000, 16_800, 37_600, 8_800, 29_600]);
}

#[test]
fn bit_by_bit__idle_flows_neither_save_nor_owe() {
    // Alone, flow 0 is not ahead: when flow 1 comes while it is idle, both have the same virtual time.
    let sent = send_over(line(), &[(0, 1_000, 0), (0, 1_000, 8_000), (1, 900, 20_000), (0, 1_000, 20_000)]);
    let done: Vec<u64> = sent.iter().map(|packet| packet.done / 1_000).collect();
    assert_eq!(done, [8_000, 16_000, 27_200, 35_200]);
}

#[test]
fn bit_by_bit__marks_and_limits_are_the_ports() {
    let marker =
        Marker::Threshold { above: 2_000, scope: flowsieve_core::marker::MarkScope::Port, counts_arriving: true };
    let limit = Admission::PerPort { limit: 3_000 };
    let mut port = Bench::new(Scheduler::Fair(Box::new(FairQueueing::new(line(), limit, marker))));
    assert_eq!([0, 1, 2].map(|flow| port.send(data(flow, 0, 0, 1_500))), [true, true, false]);
    assert_eq!(port.marks, 1);
    // The packet that was turned away is no work of flow 2.
    port.recv();
    port.send(data(2, 0, 0, 1_000));
    assert_eq!(port.drain(), [3, 1]);
}

proptest! {
    /// No packet is later than in the fluid system by more than the longest packet (Parekh and Gallager, 1993, theorem 1).
    #[test]
    fn bit_by_bit__is_never_behind_fluid_by_more_than_a_packet(
        gaps in prop::collection::vec((0u32..8, 40u16..1_500, prop_oneof![3 => Just(0u64), 2 => 0u64..9_000, 1 => 0u64..60_000]), 1..150),
        overhead in 0u32..40,
    ) {
        let mut now = 0;
        let packets: Vec<(u32, u16, u64)> = gaps.into_iter().map(|(flow, len, gap)| { now += gap; (flow, len, now) }).collect();
        let line = Line { overhead, ..line() };
        let sent = send_over(line, &packets);
        let longest = sent.iter().map(|packet| packet.work).max().unwrap_or(0);
        for (packet, fluid) in sent.iter().zip(fluid(&sent)) {
            // Eight flows' carried picoseconds, and the doubles' own errors.
            prop_assert!(packet.done as f64 <= fluid + longest as f64 + 10.0, "{packet:?}, in the fluid system {fluid}");
        }
        // Work-conserving: the line rests only where all that came is sent.
        let mut by_end = sent.clone();
        by_end.sort_by_key(|packet| packet.done);
        let mut free = 0;
        for packet in &by_end {
            let start = packet.done - packet.work;
            prop_assert!(start == free || sent.iter().all(|other| other.done <= free || other.arrived >= start));
            free = packet.done;
        }
    }

    /// While two flows are backlogged from the start, neither has sent more than the other by more than a packet.
    #[test]
    fn bit_by_bit__halves_the_line_whatever_packets_are_like(lens in prop::collection::vec((40u16..1_500, 40u16..1_500), 1..80)) {
        let packets: Vec<_> = lens.iter().flat_map(|&(first, second)| [(0, first, 0), (1, second, 0)]).collect();
        let mut sent = send_over(line(), &packets);
        sent.sort_by_key(|packet| packet.done);
        let total = |flow: usize| sent.iter().filter(|packet| packet.flow == flow).map(|packet| packet.work).sum::<u64>();
        let mut have = [0, 0];
        for packet in &sent {
            have[packet.flow] += packet.work;
            if have[0] == total(0) || have[1] == total(1) {
                break;
            }
            prop_assert!(have[0].abs_diff(have[1]) <= 1_500 * 8_000, "{have:?}");
        }
    }
}
