//! Homa, packet by packet, with times computed by hand as in `traces.rs`: hosts of 10 Gbit/s on one switch, links of 200 ns. A full
//! packet takes 1.2 us on a line, a grant 32 ns. Data that leaves its host at t is at the other at t + 2.8 us if nothing is
//! before it, and a grant 0.464 us after it was given.

use crate::by_hand::{Trial, fcts, flow, marks_and_drops, rack, scheme};
use flowsieve_core::Time;
use flowsieve_record::PointResult;
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_schemes::{Follows, Scheme};
use flowsieve_settings::Settings;
use flowsieve_sim::{Flows, Partitioning};
use flowsieve_workload::{ClosedLoop, Flow, Offer, Pattern, Queries, Rounding, SizeDistribution, Think};

/// Packets of RTTbytes and messages with grants. Unscheduled packets have the two highest levels, up to 100 KB and above.
fn settings(hosts: i64, rtt_packets: u64, overcommitment: i64) -> Settings {
    rack(hosts)
        .with(None, "rtt_bytes", format!("{}B", 1_460 * rtt_packets).as_str())
        .with(None, "overcommitment", overcommitment)
        .with(None, "queues", overcommitment + 2)
        .with(None, "thresholds", &["100KB"][..])
}

fn run(settings: &Settings, flows: &[Flow]) -> PointResult {
    let result = Trial::new(settings, scheme("homa", settings)).run(flows);
    assert_eq!(marks_and_drops(&result), (0, 0));
    result
}

#[test]
fn one_message__grants_come_before_the_line_is_free() {
    // The first packet arrives at 2.8 us, and its grant is back at 3.264 us, before the third packet has left at 3.6 us. The tenth
    // leaves from 10.8 us on.
    let result = run(&settings(2, 3, 1), &[flow(0, (0, 1), 10)]);
    assert_eq!(fcts(&result), [13_600_000]);
    assert_eq!(result.counts["homa_grants"], 7, "one for each packet after the first three");
    assert_eq!((result.counts["homa_questions"], result.counts["homa_busy"]), (1, 1), "after 5 ms of silence");
    assert_eq!((result.retransmissions, result.timeouts), (0, 0));
    // The sender last hears of it at 10.464 us: the tenth packet's grant. It asks 5 ms later, and has the answer 0.928 us later.
    let given = settings(2, 3, 1);
    let known = Trial::new(&given, scheme("homa", &given)).until_ack().run(&[flow(0, (0, 1), 10)]);
    assert_eq!(fcts(&known), [5_011_392_000]);
}

#[test]
fn one_message__with_one_packet_in_a_round_trip() {
    // Each further packet leaves 2.8 + 0.464 us after the one before.
    assert_eq!(fcts(&run(&settings(2, 1, 1), &[flow(0, (0, 1), 3)])), [9_328_000]);
}

/// Host 2 receives A from host 0 and B from host 1. From 4.2 us on, host 1 sends two shorter messages first, C and D.
fn two_senders(overcommitment: i64) -> PointResult {
    let flows = [flow(0, (0, 2), 8), flow(0, (1, 2), 5), flow(4_200_000, (1, 3), 2), flow(4_200_000, (1, 4), 2)];
    run(&settings(5, 2, overcommitment), &flows)
}

#[test]
fn two_senders__with_overcommitment_1() {
    // Without grants go A0, B0, A1 and B1; they are at host 2 at 2.8, 4.0, 5.2 and 6.4 us. At 2.8 us A gets a grant for A2, which
    // leaves host 0 at 3.264 and is at host 2 at 7.6 us, behind B1. At 4.0 us B has the fewer bytes left, and it alone gets grants: for B2 at
    // 4.0, for B3 at 6.4 us. But host 1 sends C0 at 4.2, C1 at 5.4, D0 at 6.6, D1 at 7.8, then B2 at 9.0 and B3 at 10.2 us. So
    // the line to host 2 is idle from 7.4 to 10.4 us. B2 is there at 11.8 us. Host 2 grants B4, which needs no more, and then A3 and A4:
    // at host 1 at 12.264, at host 0 at 12.296 and 12.328 us. B4 (one of the last RTTbytes, high) leaves the switch from 13.664 us
    // on and is at host 2 at 15.064; A3 at 16.264, A4 at 17.464. A5 is granted at 16.264 and there at 19.528, A6 at 17.464 and
    // 20.728, A7 at 19.528 and 22.792 us.
    let result = two_senders(1);
    assert_eq!(fcts(&result), [22_792_000, 15_064_000, 4_000_000, 6_400_000]);
    assert_eq!(result.flows[0].out_of_order, 0);
}

#[test]
fn two_senders__with_overcommitment_2() {
    // A gets grants, too: for A3 at 5.2, A4 at 7.6, A5 at 8.8 us. They leave host 0 at 5.664, 8.064 and 9.264, and A3 and A4 are at
    // host 2 at 8.8 and 10.864 us. B2 is at the switch at 10.4, before A5 at 10.664 us, and high; B3 at 11.6. B2 arrives at 12.064 and
    // B3 at 13.264 us. A6, granted at 10.864 us as one of the last RTTbytes, is high: it leaves the switch at 13.064, before A5. B4,
    // granted at 12.064, is there at 13.928 and arrives at 15.664; A5 at 16.864; A7, granted with A6 at 14.464, at 18.064 us.
    let result = two_senders(2);
    assert_eq!(fcts(&result), [18_064_000, 15_664_000, 4_000_000, 6_400_000]);
    assert_eq!(result.flows[0].out_of_order, 1, "A5 behind A6");
}

#[test]
fn sender__the_message_with_fewer_bytes_left_goes_first() {
    // At 2 us the NIC holds A1, on the line until 2.4, and A2, until 3.6 us. B, one packet for another host, goes next.
    let flows = [flow(0, (0, 1), 6), flow(2_000_000, (0, 2), 1)];
    assert_eq!(fcts(&run(&settings(3, 6, 1), &flows)), [11_200_000 - 1_200_000, 3_600_000 + 2_800_000 - 2_000_000]);
    // With one packet in the NIC, B waits for A1 alone.
    let one = settings(3, 6, 1).with(None, "nic_packets", 1);
    assert_eq!(fcts(&run(&one, &flows)), [10_000_000, 2_400_000 + 2_800_000 - 2_000_000]);
}

#[test]
fn closed_loops_and_losses__every_message_ends_or_is_given_up() {
    // Host 1's line loses what it carries: its two messages are given up by their senders, after one question and two more.
    let given = settings(3, 2, 1).with(None, "resend_attempts", 2);
    let mut trial = Trial::new(&given, scheme("homa", &given));
    for link in &mut trial.fabric.links {
        if link.to == flowsieve_core::Node::Host(1) {
            link.loss = 1.0;
        }
    }
    let result = trial.run(&[flow(0, (0, 1), 1), flow(0, (0, 1), 9), flow(0, (0, 2), 9)]);
    let finished: Vec<bool> = result.flows.iter().map(|row| row.fct_ps.is_some()).collect();
    assert_eq!(finished, [false, false, true]);
    assert_eq!((result.counts["given_up"], result.counts["homa_questions"]), (2, 2 * 2 + 1));
    assert_eq!(result.flows.iter().map(|row| row.given_up).collect::<Vec<_>>(), [1, 1, 0]);
    assert!(result.warnings.iter().any(|text| text.starts_with("2 flows were given up: ")), "{:?}", result.warnings);
}

fn homa_for(settings: &Settings, follows: Follows) -> Scheme {
    bare::scheme("homa", settings, &Facts { follows, ..Facts::NONE }).expect("settings that fit")
}

/// The same however the fabric is cut.
fn run_flows<'a>(trial: &'a Trial, flows: impl Fn() -> Flows<'a>) -> PointResult {
    let run_as = |partitioning| {
        let result = flowsieve_sim::run(&trial.run_spec(flows(), partitioning), &mut flowsieve_sim::go_on);
        PointResult { events: 0, ..result.expect("a run") }
    };
    let whole = run_as(Partitioning::Whole);
    assert_eq!(whole, run_as(Partitioning::Racks));
    whole
}

#[test]
fn closed_loops__go_on_a_packets_way_back_after_the_arrival() {
    let given = settings(2, 3, 1);
    let trial = Trial::new(&given, homa_for(&given, Follows::ClosedLoops));
    let sizes = SizeDistribution::fixed(1_460, Rounding::Bytes).expect("a size");
    let offer = Offer { sizes, mix: None, rate_per_host: 0.0 };
    let loops = ClosedLoop::new((2, 1), &Pattern::AllToAll, offer, Think::Fixed(0), 6, 1).expect("loops");
    let result = run_flows(&trial, || Flows::Closed { flows: &loops, until: Time::NEVER });
    // A packet arrives after 2.8 us, and the one without payload is back 0.464 us later.
    let rows: Vec<(u64, u64)> =
        result.flows.iter().map(|row| (row.start_ps / 1_000, row.fct_ps.unwrap() / 1_000)).collect();
    assert_eq!(rows, [0, 0, 3_264, 3_264, 6_528, 6_528].map(|start| (start, 2_800)));
    assert_eq!((result.counts["homa_replies"], result.counts.get("homa_questions")), (6, None));
}

/// Host 0 asks a hundred others at once, which answer with twenty packets each; RTTbytes is seven. Returns the most that waited
/// for the line to host 0, in packets.
fn waiting(incast: bool) -> u64 {
    let given = settings(101, 7, 1).with(None, "buffer", "2MB").with(None, "incast", incast);
    let trial = Trial::new(&given, homa_for(&given, Follows::Queries));
    let servers: Vec<u32> = (1..=100).collect();
    let answers = SizeDistribution::fixed(20 * 1_460, Rounding::Bytes).expect("a size");
    let queries = Queries::new((0, &servers), 1, 100, answers, 1).expect("queries");
    let nothing = || -> Box<dyn Iterator<Item = Flow>> { Box::new(std::iter::empty()) };
    let result = run_flows(&trial, || Flows::Queries { queries: &queries, beside: &nothing });
    assert_eq!(marks_and_drops(&result), (0, 0));
    assert!(result.flows.len() == 200 && result.flows.iter().all(|row| row.fct_ps.is_some()));
    let down = result.links.iter().find(|link| link.name == "host-down").expect("the lines to hosts");
    down.max_backlog_bytes / 1_500
}

#[test]
fn incast__the_first_round_trip_of_a_hundred_answers_waits_for_less() {
    // The requests leave host 0 within 100 · 112 ns, and the last packet without a grant is at the switch 0.464 + 7 · 1.2 + 0.2 us
    // later: until then the line to host 0 sends 16 packets at most. 100 · 7 packets come without a grant; the one message that is
    // granted to has no more than seven under way, as they come.
    let (plain, less) = (waiting(false), waiting(true));
    assert!((700 - 16 - 7..=700).contains(&plain), "{plain}");
    // 16 · 7 + 84, of which those of the last answer are there 7.2 us earlier.
    assert!((196 - 16 - 7..=196).contains(&less), "{less}");
}
