//! Small cases computed by hand, to the picosecond.
//!
//! Unless a test says otherwise (see [`by_hand::settings`]): links at hosts run at 10 Gbit/s, those between switches at
//! 40 Gbit/s, each adds 200 ns, hosts add nothing. A full packet of 1,500 bytes takes 1.2 us at 10 Gbit/s and 0.3 us at
//! 40 Gbit/s, an ACK of 40 bytes 32 ns and 8 ns. Alone in a rack, the first packet of a flow is at the switch after
//! 1.4 us and at the receiver after 2.8 us; its ACK is back 0.032 + 0.2 + 0.032 + 0.2 = 0.464 us later.

#[path = "by_hand/five_messages.rs"]
mod five_messages;

use crate::by_hand::{Trial, fcts, flow, marks_and_drops, rack, scheme, settings};
use flowsieve_core::Time;
use flowsieve_record::{PointResult, QuantileSketch};
use flowsieve_settings::Settings;
use flowsieve_sim::{Flows, Partitioning, run};
use flowsieve_workload::{ClosedLoop, Flow, Offer, Pattern, Rounding, SizeDistribution, Think};

const NS: u64 = 1_000;
const US: u64 = 1_000_000;
const MS: u64 = 1_000_000_000;

/// A scheme alone in its fabric.
fn trial(name: &str, settings: &Settings) -> Trial {
    Trial::new(settings, scheme(name, settings))
}

/// The throughput of one flow after another without a pause is that of each: bytes / FCT.
#[test]
fn closed_loop__of_one_flow_a_host_is_as_fast_as_the_flow() {
    // Ten packets leave in 12 us; the first arrives after 2 * (1.2 + 10) us, so that no ACK waits for data. The last is
    // there 9 * 1.2 us later, and its ACK takes 2 * (0.032 + 10) us. Each host sends to one and hears from one.
    let fct = 53_264 * NS;
    let (hosts, rounds, bytes) = (5, 40, 14_600);
    let settings = rack(5).with(None, "link_delay", "10us").with(None, "initial_window", 20);
    let sizes = SizeDistribution::fixed(bytes, Rounding::Bytes).unwrap();
    let offer = Offer { sizes, mix: None, rate_per_host: 0.0 };
    let loops = |think| {
        ClosedLoop::new((hosts, 1), &Pattern::Permutation, offer.clone(), Think::Fixed(think), hosts * rounds, 1)
            .unwrap()
    };
    let trial = trial("dctcp", &settings).until_ack();
    let result = |think| {
        let closed = loops(think);
        let flows = Flows::Closed { flows: &closed, until: Time::NEVER };
        run(&trial.run_spec(flows, Partitioning::Whole), &mut flowsieve_sim::go_on).unwrap()
    };

    let busy = result(0);
    assert_eq!(fcts(&busy), vec![fct; (hosts * rounds) as usize]);
    assert!(busy.flows.iter().zip(0..).all(|(row, id)| row.flow == id && row.start_ps == u64::from(id / hosts) * fct));
    // All but the last round end while flows begin; the last instant belongs to it.
    let goodput = busy.goodput.unwrap();
    let (sent, span) = (u64::from(hosts * (rounds - 1)) * bytes, u64::from(rounds - 1) * fct);
    assert_eq!((goodput.finished_bytes, goodput.span_ps - 1), (sent, span));
    // What the flows put on the hosts' links in all of the time, 1,540 bytes a packet with its ACK.
    let load = 8.0 * 10.0 * 1_540.0 / (10e9 * fct as f64 / 1e12);
    let links = busy.links.iter().find(|class| class.name == "host-up").unwrap();
    assert!(
        (links.offered_load / load - 1.0).abs() < 1e-9 && (links.utilisation / load - 1.0).abs() < 1e-9,
        "{links:?}"
    );
    assert_eq!((busy.simulated_ps, busy.warnings.len()), (u64::from(rounds) * fct, 0));

    // With a pause before each flow, the first too.
    let paused = result(7 * US);
    assert!(paused.flows.iter().all(|row| row.start_ps == u64::from(row.flow / hosts) * (fct + 7 * US) + 7 * US));
}

#[test]
fn closed_loop__needs_acks() {
    let sizes = SizeDistribution::fixed(1_460, Rounding::Bytes).unwrap();
    let offer = Offer { sizes, mix: None, rate_per_host: 0.0 };
    let closed = ClosedLoop::new((3, 1), &Pattern::AllToAll, offer, Think::Fixed(0), 10, 1).unwrap();
    let trial = trial("fcfs", &rack(3));
    let flows = Flows::Closed { flows: &closed, until: Time::NEVER };
    let error = run(&trial.run_spec(flows, Partitioning::Whole), &mut flowsieve_sim::go_on).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in a closed loop a flow follows the last ACK of another, but class 0 of this scheme has no ACKs"
    );
}

#[test]
fn single_link__serialisation_propagation_and_both_hosts() {
    // 1.2 us on the wire, 0.2 us of propagation, 1 us in each host; back with 0.032 us on the wire.
    let settings = settings("single-link").with(None, "host_delay", "1us");
    let arrived = trial("dctcp", &settings).run(&[flow(0, (0, 1), 1)]);
    assert_eq!(fcts(&arrived), [3_400 * NS]);
    assert_eq!(arrived.flows[0].ideal_ps, 3_400 * NS);
    let acknowledged = trial("dctcp", &settings).until_ack().run(&[flow(0, (0, 1), 1)]);
    assert_eq!(fcts(&acknowledged), [3_400 * NS + 2_232 * NS]);
    assert_eq!(acknowledged.flows[0].ideal_ps, 5_632 * NS);
    assert_eq!((acknowledged.packet_hops, acknowledged.simulated_ps), (2, 5_632 * NS));
}

#[test]
fn single_link__a_small_packet_after_full_ones() {
    // 2 packets of 1,500 bytes and one of 141 in a row: 1.2 + 1.2 + 0.1128 us, then 0.2 us.
    let mut message = flow(7 * US, (0, 1), 2);
    message.bytes += 101;
    assert_eq!(fcts(&trial("dctcp", &settings("single-link")).run(&[message])), [2_712_800]);
}

#[test]
fn leaf_spine__one_packet_and_its_ack() {
    // There: 1.2 + 0.3 + 0.3 + 1.2 us on the wires, four times 0.2 us. Back: 32 + 8 + 8 + 32 ns and the same delays.
    let settings = settings("leaf-spine").with(None, "leaves", 2).with(None, "hosts_per_leaf", 2);
    let result = trial("dctcp", &settings).until_ack().run(&[flow(0, (0, 2), 1)]);
    assert_eq!(fcts(&result), [3_800 * NS + 880 * NS]);
    assert_eq!(result.flows[0].ideal_ps, 4_680 * NS);
    assert_eq!(result.packet_hops, 8);
    // The other host of the leaf is two links away.
    let result = trial("dctcp", &settings).until_ack().run(&[flow(0, (0, 1), 1)]);
    assert_eq!(fcts(&result), [2_800 * NS + 464 * NS]);
}

#[test]
fn leaf_spine__the_slowest_link_paces_a_train() {
    // Ten packets leave the host every 1.2 us, the last at 12 us; it then takes 0.3 + 0.3 + 1.2 us and four delays,
    // as the faster links never hold it back, and nor does the last link, which has just sent the one before.
    let settings = settings("leaf-spine").with(None, "leaves", 2).with(None, "hosts_per_leaf", 2);
    assert_eq!(fcts(&trial("dctcp", &settings).run(&[flow(0, (0, 2), 10)])), [12_000 * NS + 1_800 * NS + 800 * NS]);
    // At 1 Gbit/s between the switches a packet takes 12 us there, and the train is paced by the first of these links.
    // It leaves the host at 1.2 us, the leaf at 1.4 + 10 · 12 us, then 0.2 + 12 + 0.2 + 1.2 + 0.2 us.
    let slow = settings.with(None, "fabric_link", "1Gbps").with(None, "spines", 1);
    assert_eq!(fcts(&trial("dctcp", &slow).run(&[flow(0, (0, 2), 10)])), [121_400 * NS + 13_800 * NS]);
}

/// Hosts 0 and 1 send 5 packets each to host 2 at once; host 3 sends one packet to it at 6.6 us.
///
/// The pairs of packets are at the switch at 1.4, 2.6, 3.8, 5.0 and 6.2 us, host 0's ahead of host 1's, and from 1.4 us
/// on the port to host 2 sends without a pause: 11 packets, until 14.6 us. The single packet comes at 8.0 us.
fn crossing_flows() -> [Flow; 3] {
    [flow(0, (0, 2), 5), flow(0, (1, 2), 5), flow(6_600 * NS, (3, 2), 1)]
}

#[test]
fn strict_priorities__the_single_packet_waits_for_the_one_on_the_wire() {
    // A packet's priority is 0 up to 1,460 bytes before it, and 1 beyond: 0 0 1 1 1. What the port sends:
    //   1.4 A1, 2.6 B1, 3.8 A2, 5.0 B2, 6.2 A3, 7.4 B3: the order of arrival, as the high ones are gone by 6.2;
    //   8.6 C, which came at 8.0 and has waited 0.6 us; 9.8 A4, 11.0 B4, 12.2 A5, 13.4 B5 to 14.6.
    let settings = rack(4).with(None, "queues", 2).with(None, "thresholds", &["1460B"][..]);
    let result = trial("pias", &settings).run(&crossing_flows());
    assert_eq!(fcts(&result), [13_600 * NS, 14_800 * NS, 3_400 * NS]);
    let down = result.links.iter().find(|link| link.name.ends_with("-down")).expect("links to hosts");
    // Of the data, 2 + 2 + 1 in queue 0 and 3 + 3 in queue 1; 11 ACKs come by in queue 0.
    assert_eq!(down.packets_by_queue, [5 + 11, 6]);
    // From 6.2 us, when A5 and B5 join, B3, A4, B4 and these two wait behind A3.
    assert_eq!(down.max_backlog_bytes, 5 * 1_500);
}

/// What packets of each priority found at the ports to hosts. ACKs found this many of these idle.
fn found_at_hosts(result: &PointResult) -> &[QuantileSketch] {
    let down = result.links.iter().find(|link| link.name.ends_with("-down")).expect("links to hosts");
    &down.found_bytes_by_priority
}

fn sketch(acks: usize, data: &[u64]) -> QuantileSketch {
    let mut sketch = QuantileSketch::default();
    data.iter().chain(&vec![0; acks]).for_each(|&bytes| sketch.record(bytes));
    sketch
}

#[test]
fn found_bytes__of_the_packets_own_queue_without_the_line() {
    // As above. A1 passes an idle port; B1 finds A1 on the line alone; A2 comes when B1 has just left the queue, B2
    // finds A2; A3 and B3 find none and one of their priority, A4 and B4 two and three; A3 leaves at 6.2 us, so A5 and
    // B5 find three and four; C finds none of its own. ACKs find their ports idle.
    let settings = rack(4).with(None, "queues", 2).with(None, "thresholds", &["1460B"][..]);
    let result = trial("pias", &settings).run(&crossing_flows());
    let (high, low) = (sketch(11, &[0, 0, 0, 1_500, 0]), sketch(0, &[0, 1_500, 3_000, 4_500, 4_500, 6_000]));
    assert_eq!(found_at_hosts(&result), [high, low]);
}

#[test]
fn found_bytes__of_the_whole_pool() {
    // The same arrivals, and one departure every 1.2 us from 1.4 us on.
    let result = trial("pfabric", &rack(4)).run(&crossing_flows());
    let found = [0, 0, 0, 1_500, 1_500, 3_000, 3_000, 4_500, 4_500, 6_000, 6_000];
    assert_eq!(found_at_hosts(&result), [sketch(11, &found)]);
}

#[test]
fn found_bytes__of_packets_that_are_dropped() {
    // The first of five passes, the others find none, one, two and two packets, and the last two do not fit. They are
    // sent again together, when one passes and one finds none.
    let flows: Vec<_> = (0..5).map(|host| flow(0, (host, 5), 1)).collect();
    let result = trial("dctcp", &rack(6).with(None, "buffer", "2pkt")).run(&flows);
    assert_eq!(marks_and_drops(&result).1, 2);
    assert_eq!(found_at_hosts(&result), [sketch(5, &[0, 0, 1_500, 3_000, 3_000, 0, 0])]);
}

#[test]
fn one_queue__the_single_packet_waits_for_all_before_it() {
    // The ten of A and B leave by 13.4 us, and C by 14.6.
    let result = trial("dctcp", &rack(4)).run(&crossing_flows());
    assert_eq!(fcts(&result), [12_400 * NS, 13_600 * NS, 14_800 * NS - 6_600 * NS]);
}

/// This many hosts send one packet each at once to one more host. At the switch the first goes on the wire at once, and
/// the n-th finds n - 2 packets waiting.
fn burst(name: &str, senders: u32, change: impl Fn(Settings) -> Settings) -> (u64, u64) {
    let flows: Vec<_> = (0..senders).map(|host| flow(0, (host, senders), 1)).collect();
    let result = trial(name, &change(rack(i64::from(senders) + 1))).run(&flows);
    assert_eq!(result.flows.iter().filter(|row| row.fct_ps.is_none()).count(), 0);
    marks_and_drops(&result)
}

#[test]
fn ecn__marks_beyond_the_threshold_only() {
    // K is 3 packets. With the arriving one the 4th sender's packet makes 3, and the 5th's makes 4.
    let k = |bytes: &'static str| move |settings: Settings| settings.with(None, "ecn_threshold", bytes);
    assert_eq!(burst("dctcp", 4, k("4500B")), (0, 0));
    assert_eq!(burst("dctcp", 5, k("4500B")), (1, 0));
    assert_eq!(burst("dctcp", 4, k("4499B")), (1, 0));
    assert_eq!(burst("dctcp", 4, k("4501B")), (0, 0));
    // Without it, the 6th is the first to find 4.
    let found =
        |settings: Settings| settings.with(None, "ecn_threshold", "4500B").with(None, "ecn_counts_arriving", false);
    assert_eq!(burst("dctcp", 5, found), (0, 0));
    assert_eq!(burst("dctcp", 6, found), (1, 0));
}

#[test]
fn buffer__takes_its_limit_and_no_packet_more() {
    let buffer = |bytes: &'static str| move |settings: Settings| settings.with(None, "buffer", bytes);
    assert_eq!(burst("dctcp", 4, buffer("4500B")), (0, 0));
    assert_eq!(burst("dctcp", 5, buffer("4500B")), (0, 1));
    assert_eq!(burst("dctcp", 5, buffer("5999B")), (0, 1));
    assert_eq!(burst("dctcp", 5, buffer("6000B")), (0, 0));
}

#[test]
fn retransmission__two_milliseconds_after_the_packet() {
    // The fifth packet is dropped. Its sender's timer fires 2 ms after it was sent, and it is alone then: 2.8 us.
    let settings = rack(6).with(None, "buffer", "4500B");
    let flows: Vec<_> = (0..5).map(|host| flow(0, (host, 5), 1)).collect();
    let result = trial("dctcp", &settings).run(&flows);
    let served = |n: u64| 1_400 * NS + n * 1_200 * NS + 200 * NS;
    let mut ends = fcts(&result);
    ends.sort_unstable();
    assert_eq!(ends, [served(1), served(2), served(3), served(4), 2 * MS + 2_800 * NS]);
    assert_eq!((result.timeouts, result.retransmissions, result.out_of_order), (1, 1, 0));
}

#[test]
fn retransmission__two_milliseconds_after_the_last_ack() {
    // One packet may wait. Host 2's first packet is at the switch at 1.4 us and passes. At 2.6 us come those of hosts 0
    // and 1, which sent at 1.2 us, then host 2's second: one is sent, one waits, the last is dropped. The ACK of the
    // first is back at 3.264 us and starts the timer anew; the second goes again then.
    let settings = rack(4).with(None, "buffer", "1500B");
    let flows = [flow(0, (2, 3), 2), flow(1_200 * NS, (0, 3), 1), flow(1_200 * NS, (1, 3), 1)];
    let result = trial("dctcp", &settings).run(&flows);
    assert_eq!(fcts(&result), [3_264 * NS + 2 * MS + 2_800 * NS, 2_800 * NS, 4_000 * NS]);
    assert_eq!((result.timeouts, result.retransmissions), (1, 1));
}

#[test]
fn message_gap__none_between_messages_of_one_instant() {
    // Two packets are beyond the threshold: another message of the same connection goes on from there unless it begins
    // longer than the gap after they were emitted. The run's first instant is an instant like any other.
    let settings = rack(2).with(None, "connections", "persistent").with(None, "handshake", "none");
    let settings =
        settings.with(None, "thresholds", &["2000B"][..]).with(None, "queues", 2).with(None, "message_gap", "1ns");
    let demoted = |gap: u64, at: u64| {
        let flows = [flow(at, (0, 1), 2), flow(at + gap, (0, 1), 1)];
        let result = trial("pias", &settings).run(&flows);
        result.links[0].packets_by_priority.get(1).copied().unwrap_or(0)
    };
    for at in [0, NS, MS] {
        // On the links of hosts.
        assert_eq!([0, NS, 2 * NS].map(|gap| demoted(gap, at)), [1, 1, 0], "from {at} ps");
    }
}

#[test]
fn message_gap__a_message_that_pauses_begins_anew() {
    // From a window of one packet, each ACK lets two go: packet 1 leaves its sender at 0, its ACK is back at 3.264 us and
    // lets 2 and 3 go; that of 2 comes at 6.528 us, for 4 and 5, and that of 3 a packet later, at 7.728 us, for 6 and 7.
    // So the sender pauses for 3.264, 3.264 and 1.2 us. Whatever has two packets before it is demoted: the third packet
    // of all, or since a pause that is longer than the gap.
    let settings = rack(2).with(None, "thresholds", &["2000B"][..]).with(None, "queues", 2);
    let demoted = |gap: &str, window: i64| {
        let settings = settings.clone().with(None, "initial_window", window);
        let settings = if gap.is_empty() { settings } else { settings.with(None, "message_gap", gap) };
        let result = trial("pias", &settings).run(&[flow(0, (0, 1), 7)]);
        // Only the message itself is on the way, so that priorities change no time: seven packets in a row, or as above.
        assert_eq!(fcts(&result), [if window == 1 { 12_928 * NS } else { 10_000 * NS }]);
        result.links[0].packets_by_priority.get(1).copied().unwrap_or(0)
    };
    assert_eq!(["", "3264ns"].map(|gap| demoted(gap, 1)), [5, 5], "3 4 5 6 7, as where the message is known");
    assert_eq!(["3263ns", "1200ns"].map(|gap| demoted(gap, 1)), [2, 2], "1, 2 3, 4 5 and then 6 7");
    assert_eq!(demoted("1199ns", 1), 0, "1, 2 3, 4 5, 6 7");
    assert_eq!(demoted("1ns", 7), 5, "sent at once, a message has no pause");
}

#[test]
fn pfabric__a_short_flow_overtakes_in_the_switch() {
    // Host 0's ten packets are at the switch every 1.2 us from 1.4 us on and pass. Host 1's two come at 4.4 and 5.6 us:
    // they wait for the end of the packet on the wire, at 5.0 us, and take the line until 7.4 us.
    let flows = [flow(0, (0, 2), 10), flow(3 * US, (1, 2), 2)];
    let result = trial("pfabric", &rack(3)).run(&flows);
    assert_eq!(fcts(&result), [13_600 * NS + 2_400 * NS, 7_600 * NS - 3_000 * NS]);
    // In one queue a packet of host 0, which came at 5.0 us, goes between them.
    let result = trial("dctcp", &rack(3)).run(&flows);
    assert_eq!(fcts(&result), [16_000 * NS, 8_800 * NS - 3_000 * NS]);
}

#[test]
fn pfabric__a_short_flow_overtakes_in_its_own_host() {
    // At 3 us the third of ten packets is on host 0's wire, until 3.6 us. A packet for another host is next.
    let flows = [flow(0, (0, 1), 10), flow(3 * US, (0, 2), 1)];
    let result = trial("pfabric", &rack(3)).run(&flows);
    assert_eq!(fcts(&result), [13_600 * NS + 1_200 * NS, 600 * NS + 2_800 * NS]);
    // In one queue it goes when all ten have gone, at 12 us.
    let result = trial("dctcp", &rack(3)).run(&flows);
    assert_eq!(fcts(&result), [13_600 * NS, 9_000 * NS + 2_800 * NS]);
}

#[test]
fn pfabric__a_full_pool_evicts_the_flow_with_most_left() {
    // 2,500 bytes may wait. Each host sends one packet to host 5; on the wire it is 40 bytes longer than its payload.
    //   1.4 us: host 0's 1,500 bytes pass and are on the wire until 2.6 us.
    //   1.5 us: host 1's 1,500 wait.
    //   1.6 us: host 2's 900 wait too, 2,400 in all; 0.72 + 0.2 us after 0.68 us.
    //   1.8 us: host 3's 500 do not fit: host 1's, which has the most left, is evicted; 0.4 + 0.2 us after 1.2 us.
    //   1.9 us: host 4's 1,500 do not fit next to 1,400 and have the most left: dropped.
    //   2.6 us: host 3's 500 leave, then at 3.0 us host 2's 900 until 3.72 us.
    // Hosts 1 and 4 send again 250 us after 0.1 and 0.5 us. Host 4's packet then waits for 0.8 us behind host 1's.
    let one = |host, start_ns: u64, bytes| Flow { bytes, ..flow(start_ns * NS, (host, 5), 1) };
    let flows = [one(0, 0, 1_460), one(1, 100, 1_460), one(4, 500, 1_460), one(2, 680, 860), one(3, 1_200, 460)];
    let result = trial("pfabric", &rack(6).with(None, "buffer", "2500B")).run(&flows);
    let again = 250 * US + 2_800 * NS;
    assert_eq!(fcts(&result), [2_800 * NS, again, again + 800 * NS, (3_920 - 680) * NS, (3_200 - 1_200) * NS]);
    let evicted: u64 = result.links.iter().map(|link| link.drops.evicted).sum();
    assert_eq!((evicted, marks_and_drops(&result)), (1, (0, 1)));
}

#[test]
fn pfabric_edf__deadlines_first_but_for_the_late() {
    // Host 0 sends ten packets to host 2, host 1 twenty. Host 0's first is at the switch first and on the wire from 1.4
    // to 2.6 us.
    let fcts_with = |due_us: Option<u64>| {
        let due = due_us.and_then(|us| (us * US).try_into().ok());
        let flows = [flow(0, (0, 2), 10), Flow { deadline_ps: due, ..flow(0, (1, 2), 20) }];
        fcts(&trial("pfabric-edf", &rack(3)).run(&flows))
    };
    // In time: host 1's twenty leave until 26.6 us, then the other nine.
    assert_eq!(fcts_with(Some(100)), [37_600 * NS, 26_800 * NS]);
    // 29,200 bytes need 23.36 us. When the wire is free at 2.6 us host 1's first packet waits alone; host 0's other nine
    // leave from 3.8 until 14.6 us, as they do before a longer flow without a deadline.
    assert_eq!(fcts_with(Some(20)), [14_800 * NS, 37_600 * NS]);
    assert_eq!(fcts_with(None), [14_800 * NS, 37_600 * NS]);
}

#[test]
fn cut_through__each_switch_costs_a_head_alone() {
    let forwarding = |kind: &str, how| settings(kind).with(None, "forwarding", how);
    // A rack: 64 bytes take 51.2 ns, then the packet follows on the second wire as it comes.
    let trace = |settings: Settings| fcts(&trial("dctcp", &settings).run(&[flow(0, (0, 1), 1)]))[0];
    let (stored, cut) = ("store-and-forward", "cut-through");
    assert_eq!(trace(forwarding("single-switch", stored)), 2_800 * NS);
    assert_eq!(trace(forwarding("single-switch", cut)), 51_200 + 200 * NS + 1_200 * NS + 200 * NS);
    // Between racks: the first leaf must store, as its way up is faster than the host's; the spine and the second leaf
    // need 12.8 ns each.
    let across = |how| {
        let settings = forwarding("leaf-spine", how);
        fcts(&trial("dctcp", &settings).run(&[flow(0, (0, 143), 1)]))[0]
    };
    assert_eq!(across(stored), 3_800 * NS);
    assert_eq!(across(cut), 1_200 * NS + 12_800 + 12_800 + 1_200 * NS + 800 * NS);
    // A packet of 64 bytes or fewer is stored either way: 0.0512 us twice.
    let mut small = flow(0, (0, 1), 1);
    small.bytes = 24;
    let result = trial("dctcp", &forwarding("single-switch", cut)).run(&[small]);
    assert_eq!(fcts(&result), [2 * 51_200 + 400 * NS]);
}

#[test]
fn overhead__takes_time_on_the_wire_and_no_room_in_buffers() {
    // 8 bytes of preamble and 12 of gap: 1,520 bytes take 1.216 us.
    let wire = |trial: Trial| Trial { wire_overhead: 20, ..trial };
    let result = wire(trial("dctcp", &rack(2))).run(&[flow(0, (0, 1), 3)]);
    assert_eq!(fcts(&result), [4 * 1_216 * NS + 400 * NS]);
    assert_eq!(result.flows[0].ideal_ps, 4 * 1_216 * NS + 400 * NS);
    // The bytes that are counted are those of the packets: 3 of data and 3 ACKs, up to the switch and down
    // from it.
    let bytes: Vec<u64> = result.links.iter().map(|link| link.bytes).collect();
    assert_eq!(bytes, [3 * 1_540, 3 * 1_540]);
    // Three packets wait in a buffer of three packets.
    let settings = rack(5).with(None, "buffer", "4500B");
    let flows: Vec<_> = (0..4).map(|host| flow(0, (host, 4), 1)).collect();
    let result = wire(trial("dctcp", &settings)).run(&flows);
    assert_eq!(marks_and_drops(&result), (0, 0));
    assert_eq!(fcts(&result).into_iter().max(), Some(5 * 1_216 * NS + 400 * NS));
}
