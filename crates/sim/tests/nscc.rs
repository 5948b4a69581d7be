//! NSCC, packet by packet, with times computed by hand. In a rack hosts of 10 Gbit/s are on one switch, with links of 200 ns. A full
//! packet takes 1.2 us on a line, an ACK, a NACK or a header 32 ns: data that leaves its host at t is at the other at t + 2.8 us if nothing
//! is before it, and its ACK is back 464 ns later. That is a base round trip of 3.264 us or 4,080 bytes, so that the window is 4 packets
//! and each is acknowledged. The fat-trees are those of uet-htsim's validations: 100 Gbit/s, 1 us a link, packets of 4,150 bytes.

use crate::by_hand::{Trial, fcts, flow, in_order, marks_and_drops, rack, sent, settings};
use flowsieve_core::Time;
use flowsieve_record::{PacketKind, PointResult};
use flowsieve_schemes::{WorkloadFacts, bare};
use flowsieve_settings::Settings;
use flowsieve_sim::Partitioning;
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::topology::events::Event;
use flowsieve_workload::Flow;
use proptest::prelude::*;

const NS: u64 = 1_000;

/// The law's constants follow the fabric.
struct Of<'a>(&'a Fabric);

impl WorkloadFacts for Of<'_> {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        None
    }

    fn quantile_bytes(&self, _: f64) -> Option<u64> {
        None
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(self.0)
    }
}

fn trial(settings: &Settings) -> Trial {
    let fabric = Fabric::from_settings(settings).expect("a fabric");
    Trial::new(settings, bare::scheme("nscc", settings, &Of(&fabric)).expect("settings that go together"))
}

/// A rack whose hosts push back, without marks.
fn unmarked(hosts: i64) -> Settings {
    rack(hosts).with(None, "nic", "backpressure").with(None, "marking", "none")
}

fn count(result: &PointResult, name: &str) -> u64 {
    result.counts.get(name).copied().unwrap_or(0)
}

/// The four packets of the window leave back to back, and an ACK comes before the line is free again.
#[test]
fn one_message__the_line_is_full() {
    let settings = unmarked(2);
    let flows = [flow(0, (0, 1), 20)];
    let result = trial(&settings).run(&flows);
    assert_eq!(fcts(&result), [(19 * 1_200 + 2_800) * NS]);
    assert_eq!((count(&result, "nscc_acks"), count(&result, "nscc_nacks"), result.retransmissions), (20, 0, 0));
    assert_eq!(fcts(&trial(&settings).until_ack().run(&flows)), [(19 * 1_200 + 2_800 + 464) * NS]);
}

/// A receiver that holds answers back answers the first packet at once, and those that ask. Of seven packets four leave by 3.6 us. None
/// of them asks: the first is acknowledged at 3.264 us, so that the window has room for a fifth. That fills it and asks, and its ACK is
/// there at 4.8 + 3.264 us. It lets the other two go. The last of them asks for an answer, as nothing follows it.
#[test]
fn answers__are_held_back_until_the_sender_asks() {
    let trial = trial(&unmarked(2).with(None, "nscc_ack_bytes", "1MB")).until_ack();
    let flows = [flow(0, (0, 1), 7)];
    let starts: Vec<u64> = sent(&trial, &flows, "host0 to switch0").iter().map(|(_, row)| row.at_ps / NS).collect();
    assert_eq!(starts, [0, 1_200, 2_400, 3_600, 4_800, 8_064, 9_264]);
    let result = trial.run(&flows);
    assert_eq!((fcts(&result), count(&result, "nscc_acks")), (vec![(9_264 + 3_264) * NS], 3));
}

/// A queue of one packet, and the arriving packet is cut. From 1.4 us on one packet of both hosts comes every 1.2 us, that of host 0 first.
/// The first leaves at once, and that of host 1 waits. It leaves at 2.6 us, when two more come: that of host 0 waits, and that of host 1
/// is cut. Its header leaves at 3.8 us and is at host 2 at 4.032 us, and the NACK at host 1 at 4.496 us. So the packet is sent again when
/// the line is free, at 4.8 us, and before a new one.
#[test]
fn cut__is_sent_again_as_soon_as_the_line_is_free() {
    let settings = unmarked(3).with(None, "trim_victim", "arriving").with(None, "buffer", "1pkt");
    let flows = in_order(&[flow(0, (0, 2), 9), flow(0, (1, 2), 9)]);
    let trial = trial(&settings);
    let of_host = |row: &flowsieve_record::PacketRow| match row.what {
        Some((_, PacketKind::Data { segment, retransmission, .. })) => (row.at_ps / NS, segment, retransmission),
        _ => (0, 0, false),
    };
    let begins: Vec<_> = sent(&trial, &flows, "host1 to switch0").iter().take(5).map(|(_, row)| of_host(row)).collect();
    assert_eq!(begins, [(0, 0, false), (1_200, 1, false), (2_400, 2, false), (3_600, 3, false), (4_800, 1, true)]);
    let result = trial.run(&flows);
    let cut = count(&result, "trim_packets");
    assert_eq!((result.retransmissions, count(&result, "nscc_nacks")), (cut, cut));
    assert_eq!((marks_and_drops(&result), result.timeouts), ((0, 0), 0));
}

/// Marks are given as packets leave, by what then waits: below 0 bytes never, above two packets always.
#[test]
fn marks__lower_the_window_before_packets_are_cut() {
    let settings = rack(3).with(None, "nic", "backpressure").with(None, "buffer", "30pkt");
    let flows = in_order(&[flow(0, (0, 2), 400), flow(0, (1, 2), 400)]);
    let result = trial(&settings).run(&flows);
    assert_eq!((count(&result, "trim_packets"), result.timeouts, marks_and_drops(&result)), (0, 0, (0, 0)));
    // Two windows of four packets are five too many for the path: there are marks. Windows that small fall to where the line is not
    // always full.
    assert!(count(&result, "marks_at_departure") > 100, "{:?}", result.counts);
    let last = fcts(&result).into_iter().max().unwrap();
    let full = (1_400 + 800 * 1_200 + 200) * NS;
    assert!((full..full + full / 12).contains(&last), "{last} after {full}");
}

/// A line that is down from the beginning to 500 us loses all three packets at its port. Each is missed 1 ms after it left, and the window
/// loses its 1,500 bytes: of 6,120 there are 4,620 at 1,000 us, so the first leaves then, and 1,620 at 1,002.4 us. So the second waits for
/// the first one's ACK, 3.264 us after that left, and the third for the second one's.
#[test]
fn timeout__is_the_last_resort() {
    let mut trial = trial(&unmarked(2).with(None, "rto_min", "1ms"));
    let links: Vec<u32> = (0..4).filter(|&link| trial.fabric.link_name(link) == "switch0 to host1").collect();
    let event = |us, down| Event { at: Time::from_us(us), links: links.clone(), down };
    trial.fabric.events = vec![event(0, true), event(500, false)];
    trial.fabric.reconvergence = Some(Time::from_us(1_000_000));
    let result = trial.run_as(&[flow(0, (0, 1), 3)], Partitioning::Whole);
    assert_eq!(fcts(&result), [(1_000_000 + 2 * 3_264 + 2_800) * NS]);
    assert_eq!((result.retransmissions, count(&result, "nscc_timeouts")), (3, 3));
}

/// Two leaves with four spines between.
fn leaves(choice: &str, paths: i64) -> Settings {
    settings("leaf-spine")
        .with(None, "leaves", 2)
        .with(None, "spines", 4)
        .with(None, "hosts_per_leaf", 2)
        .with(None, "fabric_link", "10Gbps")
        .with(None, "nic", "backpressure")
        .with(None, "nscc_path_choice", choice)
        .with(None, "nscc_paths", paths)
}

/// How many of these data packets of a message each spine has.
fn by_spine(trial: &Trial, packets: std::ops::Range<usize>) -> Vec<usize> {
    let flows = [flow(0, (0, 3), 1_000)];
    let of = |spine: u32| {
        let rows = sent(trial, &flows, &format!("leaf0 to spine{spine}"));
        let wanted = |row: &flowsieve_record::PacketRow| match row.what {
            Some((ends, PacketKind::Data { segment, flow, .. })) => {
                assert_eq!((ends.connection, flow), (0, 0), "of one connection, whatever its path");
                packets.contains(&(segment as usize))
            }
            _ => false,
        };
        rows.iter().filter(|(_, row)| wanted(row)).count()
    };
    (0..4).map(of).collect()
}

/// Switches hash the entropy that the sender chooses. Each round over all 64 uses the same paths as often.
#[test]
fn paths__are_the_senders_choice() {
    let oblivious = trial(&leaves("oblivious", 64));
    let [first, second] = [0..64, 64..128].map(|round| by_spine(&oblivious, round));
    assert!(first == second && first.iter().all(|packets| (6..32).contains(packets)), "{first:?} {second:?}");
    let mut single = by_spine(&trial(&leaves("mixed", 1)), 0..1_000);
    single.sort_unstable();
    assert_eq!(single, [0, 0, 0, 1_000]);
}

/// One of four spines has links at a tenth of the rate, and marks or cuts. Sprayed packets take a quarter of their way over it; choices
/// that hear of it keep away.
#[test]
fn paths__that_mark_are_avoided() {
    let over_slow = |choice| {
        let mut trial = trial(&leaves(choice, 64));
        let slow = flowsieve_core::Rate::new(1_000_000_000).unwrap();
        for link in 0..trial.fabric.links.len() as u32 {
            if trial.fabric.link_name(link) == "leaf0 to spine2" {
                trial.fabric.links[link as usize].rate = slow;
            }
        }
        by_spine(&trial, 0..1_000)[2]
    };
    let oblivious = over_slow("oblivious");
    assert!((150..350).contains(&oblivious), "{oblivious}");
    for choice in ["bitmap", "reps", "mixed"] {
        let packets = over_slow(choice);
        assert!(packets < oblivious * 3 / 4, "{choice}: {packets} of {oblivious}");
    }
}

/// A fat-tree of uet-htsim's validations, where a queue of 43 packets has the one on the line among them.
fn fat_tree(k: i64) -> Settings {
    settings("fat-tree")
        .with(None, "k", k)
        .with(None, "host_link", "100Gbps")
        .with(None, "fabric_link", "100Gbps")
        .with(None, "link_delay", "1us")
        .with(None, "mtu", "4150B")
        .with(None, "header", "64B")
        .with(None, "nic", "backpressure")
        .with(None, "buffer", "42pkt")
        .with(None, "red_min", "9pkt")
        .with(None, "red_max", "35pkt")
        .with(None, "rto_min", "100us")
}

/// n full packets take (n + 5) * 332 ns, 12 us of links, and an ACK of 64 bytes that takes 5.12 ns on each of six. Of 2,000,000 bytes 489
/// packets are full, and the last has 1,946 + 64 bytes.
#[test]
fn unloaded__every_digit_of_uet_htsim() {
    let trial = trial(&fat_tree(4)).until_ack();
    let fct = |bytes| fcts(&trial.run(&[Flow { bytes, ..flow(0, (0, 13), 1) }]))[0];
    let full = |packets: u64| (packets + 5) * 332_000 + 12_000_000 + 6 * 5_120;
    // It prints 17.0107, 46.8907 and 176.2 us.
    assert_eq!([fct(4_086 * 10), fct(4_086 * 100)], [17_010_720, 46_890_720]);
    assert_eq!([full(10), full(100)], [17_010_720, 46_890_720]);
    assert_eq!(fct(2_000_000), full(489) + 160_800);
    assert_eq!(fct(2_000_000), 176_199_520);
    let result = trial.run(&[Flow { bytes: 2_000_000, ..flow(0, (0, 13), 1) }]);
    assert_eq!(count(&result, "nscc_acks"), 124);
}

/// 2 MB from each. It prints 2,478.53 us for the last of 15 and 811 packets sent again, and 21,029.3 us and 72,623 for 127.
#[test]
fn incast__within_one_per_cent_of_uet_htsim() {
    for (k, last, again) in [(4, 2_478.53, 811.0), (8, 21_029.3, 72_623.0)] {
        let trial = trial(&fat_tree(k)).until_ack();
        let hosts = trial.fabric.hosts;
        let flows: Vec<Flow> =
            (0..hosts - 1).map(|src| Flow { bytes: 2_000_000, ..flow(0, (src, hosts - 1), 1) }).collect();
        let result = trial.run_as(&flows, Partitioning::Whole);
        let ours = fcts(&result).into_iter().max().unwrap() as f64 / 1e6;
        assert!((ours / last - 1.0).abs() < 0.01, "{ours} us, not {last}");
        assert!((result.retransmissions as f64 / again - 1.0).abs() < 0.05, "{} sent again", result.retransmissions);
        assert_eq!((result.timeouts, marks_and_drops(&result)), (0, (0, 0)));
    }
}

proptest! {
    #![proptest_config(crate::common::config(30))]

    /// Lines that lose any packet, of whatever kind: every message arrives, and every sender learns of it.
    #[test]
    fn messages__end_whatever_is_lost(
        loss in prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.3],
        sizes in prop::collection::vec((0u32..5, 0u32..4, 1u64..60), 1..12),
        choice in prop::sample::select(&["oblivious", "bitmap", "reps", "mixed"][..]),
        (queue, ack_bytes) in (1i64..9, prop::sample::select(&["1B", "5KB", "1MB"][..])),
    ) {
        let queue = format!("{queue}pkt");
        let settings = rack(5)
            .with(None, "nic", "backpressure")
            .with(None, "buffer", queue.as_str())
            .with(None, "nscc_path_choice", choice)
            .with(None, "nscc_ack_bytes", ack_bytes);
        let mut trial = trial(&settings).until_ack();
        trial.fabric.links.iter_mut().for_each(|link| link.loss = loss);
        let of = |&(src, to, packets): &(u32, u32, u64)| flow(0, (src, (src + 1 + to) % 5), packets);
        let flows: Vec<Flow> = sizes.iter().map(of).collect();
        let result = trial.run_as(&flows, Partitioning::Whole);
        let ended = result.flows.iter().filter(|row| row.fct_ps.is_some()).count();
        prop_assert_eq!(ended, flows.len(), "{:?}", result.counts);
        prop_assert_eq!(trial.run_as(&flows, Partitioning::Whole), result);
    }
}
