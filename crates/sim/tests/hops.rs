//! What switches do at their ports beyond queueing: stamps, pauses, cut packets. Times are computed by hand as in `traces.rs`:
//! a full packet takes 1.2 us at 10 Gbit/s, an ACK 32 ns, a pause of 84 bytes 67.2 ns, and each link adds 200 ns.

use std::sync::{Arc, Mutex};

use crate::by_hand::{Trial, fcts, flow, rack, scheme, sent, settings, with_run_spec};
use crate::common::outage::outage_case;
use crate::common::{self, Case, case};
use flowsieve_core::hop::{Hears, Hop, HopSpec, OnHop, Stamp, Trail};
use flowsieve_core::hops::{
    pfc::{Headroom, Pfc, Threshold},
    stamps::Stamps,
    trim::{Trim, Victim},
};
use flowsieve_core::{Meta, Time};
use flowsieve_record::{Paused, PointResult};
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::Scheme;
use flowsieve_schemes::{Context, registry};
use flowsieve_settings::Settings;
use flowsieve_sim::topology::{Fabric, Node};
use flowsieve_sim::{FRUITLESS_TIMEOUTS, Partitioning, RunSpec, run};
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, CongestionSpec, Lost};
use flowsieve_workload::Flow;
use proptest::prelude::*;

const NS: u64 = 1_000;

/// A window that holds every flow of these tests. It keeps the trails that it hears.
struct Keeping(Arc<Mutex<Vec<Trail>>>);

impl CongestionControl for Keeping {
    fn on_trail(&mut self, trail: &Trail) {
        self.0.lock().unwrap().push(trail.clone());
    }

    fn on_ack(&mut self, _: &Acked<'_>, _: &TcpParams) {}

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        1_000
    }
}

/// TCP with such windows. `heard`: what they hear, in the order of time.
fn windows(settings: &Settings, heard: &Arc<Mutex<Vec<Trail>>>, on_hop: Vec<HopSpec>) -> Scheme {
    let heard = Arc::clone(heard);
    let congestion = Some(CongestionSpec::custom(move |_| Keeping(Arc::clone(&heard))));
    let context = Context { scope: settings.scheme("windows"), workload: &Facts::NONE };
    let within = registry::find("dctcp").expect("a scheme").within(&context).expect("settings that go together");
    let scheme = parts::build(&within, Own { congestion, ..Own::default() }).expect("settings that go together");
    Scheme { on_hop, ..scheme }
}

fn stamps() -> HopSpec {
    Stamps { telemetry: true }.spec()
}

fn lossless(xoff: u64, xon: u64, headroom: u64, lossless: u8) -> HopSpec {
    Pfc { threshold: Threshold::Bytes { xoff, xon }, headroom: Headroom::Bytes(headroom), lossless }.spec()
}

fn pfc(xoff: u64, xon: u64, headroom: u64) -> HopSpec {
    lossless(xoff, xon, headroom, 0xff)
}

fn drops(result: &PointResult) -> u64 {
    result.links.iter().map(|link| link.drops.total()).sum()
}

fn count(result: &PointResult, name: &str) -> u64 {
    result.counts.get(name).copied().unwrap_or(0)
}

/// When a link sends each packet of a flow, in ns.
fn sent_at(trial: &Trial, flows: &[Flow], link: &str, flow: u32) -> Vec<u64> {
    sent(trial, flows, link).into_iter().filter(|(of, _)| *of == flow).map(|(_, row)| row.at_ps / NS).collect()
}

/// Two senders of two packets each share a port. A packet is at the switch 1.4 us after its host began to send it.
#[test]
fn stamps__tell_of_the_queue_as_each_packet_leaves() {
    let (settings, heard) = (rack(3), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![stamps()]));
    trial.run_as(&[flow(0, (0, 2), 2), flow(1, (1, 2), 2)], Partitioning::Whole);
    // At 2.6 us the first packet of host 1 leaves before the second ones come; at 3.8 us that of host 0 leaves another behind.
    let stamp = |at_ns: u64, sent_bytes, backlog| {
        let byte_time = trial.fabric.links[0].rate.byte_time();
        Stamp { at: Time(at_ns * NS), sent_bytes, byte_time, backlog, in_queue: backlog }
    };
    let at_switch: Vec<Stamp> = heard.lock().unwrap().iter().map(|trail| trail.stamps[0]).collect();
    assert_eq!(
        at_switch,
        [stamp(1_400, 0, 0), stamp(2_600, 1_500, 0), stamp(3_800, 3_000, 1_500), stamp(5_000, 4_500, 0)]
    );
    // ACKs pass the switch without a stamp of their own.
    assert!(
        heard.lock().unwrap().iter().all(|trail| trail.hops == 1 && trail.stamps.len() == 1 && trail.trimmed.is_none())
    );
}

/// A packet whose place another had before begins without that one's stamps.
#[test]
fn stamps__are_those_of_the_packet_alone() {
    let settings =
        settings("leaf-spine").with(None, "leaves", 2).with(None, "spines", 1).with(None, "hosts_per_leaf", 2);
    let heard = Arc::default();
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![stamps()]));
    let flows = [flow(0, (0, 3), 40), flow(1_000_000 * NS, (0, 1), 40), flow(2_000_000 * NS, (1, 2), 40)];
    trial.run_as(&flows, Partitioning::Whole);
    let hops: Vec<usize> = heard.lock().unwrap().iter().map(|trail| trail.stamps.len()).collect();
    let of = |hops: usize| vec![hops; 40];
    assert_eq!(hops, [of(3), of(1), of(3)].concat());
}

/// With stamps or without, cut or whole, packets take the same time.
#[test]
fn stamps__change_nothing_and_cross_partitions() {
    let fabric = settings("leaf-spine").with(None, "leaves", 2).with(None, "spines", 2).with(None, "hosts_per_leaf", 3);
    let flows = [flow(0, (0, 5), 60), flow(0, (1, 5), 60), flow(0, (4, 2), 30), flow(90 * NS, (3, 5), 5)];
    let plain = scheme("dctcp", &fabric);
    let without = Trial::new(&fabric, plain.clone()).run(&flows);
    let with = Trial::new(&fabric, Scheme { on_hop: vec![stamps()], ..plain }).run(&flows);
    assert_eq!(fcts(&with), fcts(&without));
    assert_eq!((with.packet_hops, with.retransmissions), (without.packet_hops, without.retransmissions));
}

/// Hosts 0 and 1 send eight packets each to host 2, whose line takes one of the two that come every 1.2 us.
///
/// At 6.2 us host 1's third packet waits, and it is paused; at 7.4 us host 0's. A pause acts 67.2 + 200 ns later, while a packet
/// is on the line: the sixth of host 1, and the seventh of host 0. When one packet is left, at 12.2 and at 13.4 us, the line
/// goes on 267.2 ns later.
#[test]
fn pauses__act_after_the_packet_on_the_line() {
    let (settings, heard) = (rack(3), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![pfc(3_000, 1_500, 3_000)]));
    let flows = [flow(0, (0, 2), 8), flow(1, (1, 2), 8)];
    let lines = [0, 1].map(|host| sent_at(&trial, &flows, &format!("host{host} to switch0"), host));
    assert_eq!(lines[0], [0, 1_200, 2_400, 3_600, 4_800, 6_000, 7_200, 13_667]);
    assert_eq!(lines[1], [0, 1_200, 2_400, 3_600, 4_800, 6_000, 12_467, 13_667]);
    let result = trial.run_as(&flows, Partitioning::Whole);
    assert_eq!((count(&result, "pfc_pauses"), drops(&result)), (2, 0));
    // The line to host 2 is never without a packet: the last of sixteen is there 16 * 1.2 + 1.4 + 0.2 us after the first began.
    assert_eq!(fcts(&result).into_iter().max(), Some(20_800 * NS - 1));
}

/// The same while host 2 sends to host 0 from 0.8 us on: at 7.4 us the line back is busy until 8.2 us, and the pause acts at
/// 8.4672 us, when host 0's last packet has begun at 8.4 us. ACKs wait behind all data of their hosts.
#[test]
fn pauses__wait_for_the_packet_on_the_line_back() {
    let (settings, heard) = (rack(3), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![pfc(3_000, 1_500, 3_000)]));
    let flows = [flow(0, (0, 2), 8), flow(1, (1, 2), 8), flow(800 * NS, (2, 0), 8)];
    let steady: Vec<u64> = (0..8).map(|at| at * 1_200).collect();
    assert_eq!(sent_at(&trial, &flows, "host0 to switch0", 0), steady);
}

/// Each packet joins an idle port, which pauses its sender, and leaves at once, which lets it go on: the second signal acts last.
#[test]
fn pauses__of_one_instant_act_in_their_order() {
    let (settings, heard) = (rack(2), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![pfc(0, 0, 3_000)]));
    let result = trial.run_as(&[flow(0, (0, 1), 4)], Partitioning::Whole);
    assert_eq!((fcts(&result), count(&result, "pfc_pauses")), (vec![(2_800 + 3 * 1_200) * NS], 8));
}

/// Lines of 2 us. Packet j of host 1 leaves the switch at 4.4 + 2.4 j us, that of host 0 1.2 us earlier. Host 1 is paused at 8 us,
/// when three of its packets wait, and its ninth is the last on the line; host 0 at 9.2 us, after its tenth. All but one of them
/// have left at 21.2 and at 22.4 us, when no packet is under way that could tell of it.
#[test]
fn pauses__end_with_the_departure_on_long_lines() {
    let (settings, heard) = (rack(3).with(None, "link_delay", "2us"), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![pfc(3_000, 1_500, 9_000)]));
    let flows = [flow(0, (0, 2), 12), flow(1, (1, 2), 12)];
    let lines = [0, 1].map(|host| sent_at(&trial, &flows, &format!("host{host} to switch0"), host));
    // In 1.2 us, but for the last packets: 21.2 and 22.4 us, and 67.2 ns and 2 us more.
    let steady = |packets: u64| (0..packets).map(|at| at * 1_200).collect::<Vec<_>>();
    assert_eq!(lines[0], [steady(10), vec![24_467, 25_667]].concat());
    assert_eq!(lines[1], [steady(9), vec![23_267, 24_467, 25_667]].concat());
    // From the first packet of a queue that passes the threshold on: 8 and 9.2 us, and the same way.
    let result = trial.run_as(&flows, Partitioning::Whole);
    let paused = result.links.iter().find_map(|link| link.paused.map(|paused| (link.name.as_str(), paused)));
    let Some(("host-up", Paused { links: 2, all_ps, most_ps })) = paused else { panic!("{paused:?}") };
    // To the picosecond of a rate that is not a whole number of them.
    assert_eq!([all_ps + 1, most_ps + 1].map(|ps| ps / NS), [26_400, 13_200]);
}

/// Ten senders, lines of 2 us. After the packet that passes `xoff` come four more: those under way, that on the line when the
/// pause acts, and those begun within 2 * 2 us + 67.2 ns. So 7,500 bytes of headroom are enough, and 6,000 are not.
#[test]
fn headroom__is_exact_to_the_packet() {
    let (settings, heard) = (rack(11).with(None, "link_delay", "2us").with(None, "buffer", "4MB"), Arc::default());
    let flows: Vec<Flow> = (0..10).map(|src| flow(src.into(), (src, 10), 40)).collect();
    let result = |headroom| {
        let scheme = windows(&settings, &heard, vec![pfc(3_000, 1_500, headroom)]);
        Trial::new(&settings, scheme).run_as(&flows, Partitioning::Whole)
    };
    let (enough, less) = (result(7_500), result(6_000));
    assert_eq!((drops(&enough), enough.retransmissions, enough.timeouts), (0, 0, 0));
    assert_eq!(count(&enough, "pfc_bytes_left"), 0);
    let lost = count(&less, "pfc_packets_lost");
    assert!(lost > 0 && lost == drops(&less), "{lost} of {}", drops(&less));
    // Lost or not, what joined has left.
    assert_eq!(count(&less, "pfc_bytes_left"), 0);
}

/// All but a flow's first packet are in priority 1. Where that is paused, a message in priority 0 leaves the host at once; where
/// the host has one queue, a pause holds that, and the message waits for its end.
#[test]
fn pauses__hold_a_queue_of_the_sender() {
    let settings =
        rack(4).with(None, "queues", 2).with(None, "thresholds", &["1460B"][..]).with(None, "initial_window", 90);
    let fct = |lossless| {
        let on_hop = vec![self::lossless(3_000, 1_500, 90_000, lossless)];
        let trial = Trial::new(&settings, Scheme { on_hop, ..scheme("pias", &settings) });
        let flows = [flow(0, (0, 2), 60), flow(1, (1, 2), 60), flow(40_000 * NS, (0, 3), 1)];
        // Nothing of host 0 is on the line when the message begins.
        let line = sent_at(&trial, &flows, "host0 to switch0", 0);
        let idle = !line.iter().any(|&at| (38_800..40_000).contains(&at));
        let result = trial.run_as(&flows, Partitioning::Whole);
        assert!(drops(&result) == 0 && count(&result, "pfc_pauses") > 0);
        (idle, fcts(&result)[2])
    };
    assert_eq!(fct(0b10), (true, 2_800 * NS));
}

/// Five switches in a ring with a host each, which sends to the one after the next: each line carries what came from the switch
/// before. All queues fill at once, and no switch lets the one before it go on.
#[test]
fn pauses__in_a_ring_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let between = (0..5).map(|at| format!("s{at},s{},10Gbps,200ns", (at + 1) % 5));
    let hosts = (0..5).map(|at| format!("host{at},s{at},40Gbps,200ns"));
    std::fs::write(folder.path().join("ring.csv"), between.chain(hosts).collect::<Vec<_>>().join("\n")).unwrap();
    let settings = settings("custom").with(None, "file", "ring.csv").with(None, "buffer", "4MB");
    let heard = Arc::default();
    let result = |on_hop| {
        let fabric = Fabric::from_settings_in(&settings, folder.path()).expect("a fabric");
        let trial = Trial { fabric, ..Trial::new(&rack(5), windows(&settings, &heard, on_hop)) };
        let flows: Vec<Flow> = (0..5).map(|src| flow(0, (src, (src + 2) % 5), 500)).collect();
        with_run_spec(&trial, &flows, |run_spec| {
            run(&RunSpec { fruitless_timeouts: Some(FRUITLESS_TIMEOUTS), ..*run_spec }, &mut flowsieve_sim::go_on)
        })
    };
    assert_eq!(result(vec![]).expect("a run").warnings, [""; 0]);
    let ended = result(vec![pfc(15_000, 7_500, 100_000)]).unwrap_err().to_string();
    assert!(ended.contains("deadlock): s0 to s1, s1 to s2, s2 to s3, s3 to s4, s4 to s0"), "{ended}");
}

/// Homa paces its turns by a timer, which it also sets in the turn that the end of a pause brings. Were the host not woken then,
/// the line would stand still until another packet came.
#[test]
fn pauses__end_with_a_turn_that_sets_a_timer() {
    let settings = rack(3).with(None, "rtt_bytes", "100kB").with(None, "queues", 3);
    let settings = settings.with(None, "thresholds", &["100KB"][..]).with(None, "nic", "backpressure");
    let homa = scheme("homa", &settings);
    let trial = Trial::new(&settings, Scheme { on_hop: vec![pfc(3_000, 1_500, 30_000)], ..homa });
    let flows = [flow(0, (0, 2), 60), flow(1, (1, 2), 60)];
    let result = trial.run_as(&flows, Partitioning::Whole);
    assert!(count(&result, "pfc_pauses") > 10 && count(&result, "homa_resends") == 0, "{:?}", result.counts);
    // The line to host 2 is never without a packet: the last of 120 is there 120 * 1.2 + 1.4 + 0.2 us after the first began.
    assert_eq!(fcts(&result).into_iter().max(), Some(145_600 * NS));
}

/// Each line of a bundle counts for itself, and is paused for itself: one packet passes `xoff`, and one more is on that line.
#[test]
fn pauses__tell_parallel_lines_apart() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = [(0, 0), (1, 0), (2, 1)].map(|(host, switch)| format!("host{host},s{switch},10Gbps,200ns,1"));
    let list = format!("from,to,rate,delay,bundle\ns0,s1,10Gbps,200ns,4\n{}", hosts.join("\n"));
    std::fs::write(folder.path().join("bundle.csv"), list).unwrap();
    let settings = settings("custom").with(None, "file", "bundle.csv").with(None, "load_balancing", "spray");
    let (settings, heard) = (settings.with(None, "buffer", "4MB"), Arc::default());
    let scheme = windows(&settings, &heard, vec![pfc(30_000, 15_000, 3_000)]);
    let fabric = Fabric::from_settings_in(&settings, folder.path()).expect("a fabric");
    let trial = Trial { fabric, ..Trial::new(&rack(3), scheme) };
    let result = trial.run_as(&[flow(0, (0, 2), 400), flow(1, (1, 2), 400)], Partitioning::Whole);
    assert_eq!((drops(&result), count(&result, "pfc_pauses") > 8), (0, true), "{:?}", result.counts);
}

/// Pauses go against the order in which parts of a fabric run, so such a run is not cut.
#[test]
fn pauses__keep_the_fabric_whole() {
    let (settings, heard) = (rack(3), Arc::default());
    let trial = Trial::new(&settings, windows(&settings, &heard, vec![pfc(3_000, 1_500, 3_000), stamps()]));
    trial.run(&[flow(0, (0, 2), 8), flow(1, (1, 2), 8)]);
    assert!(heard.lock().unwrap().iter().all(|trail| trail.hops == 1));
}

/// A transport that knows no cut packets takes them as lost: the same as without trimming, but that headers arrive.
#[test]
fn trims__are_losses_to_who_does_not_read_them() {
    let settings = rack(3).with(None, "buffer", "15400B");
    let plain = scheme("dctcp", &settings);
    let flows = [flow(0, (0, 2), 100), flow(1, (1, 2), 100)];
    for victim in [Victim::Arriving, Victim::Either] {
        let on_hop = vec![Trim { header: 40, victim, returns: false }.spec()];
        let result = Trial::new(&settings, Scheme { on_hop, ..plain.clone() }).run(&flows);
        assert_eq!(result.flows.iter().filter(|row| row.fct_ps.is_some()).count(), 2);
        assert!(result.retransmissions > 0 && drops(&result) < result.retransmissions, "{} drops", drops(&result));
        assert_eq!(count(&result, "trim_waiting") > 0, victim == Victim::Either);
    }
}

/// Calls of all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    joined: u64,
    sent: u64,
    lost: u64,
    turned_away: u64,
}

/// Counts calls.
struct Counting(Arc<Mutex<Calls>>);

impl OnHop for Counting {
    fn on_queued(&mut self, _: &Meta, _: &mut Hop<'_>) {
        self.0.lock().unwrap().joined += 1;
    }

    fn on_departure(&mut self, _: &mut Meta, _: &mut Hop<'_>) {
        self.0.lock().unwrap().sent += 1;
    }

    fn on_turned_away(&mut self, _: &Meta, _: &mut Hop<'_>) -> flowsieve_core::hop::Fate {
        self.0.lock().unwrap().turned_away += 1;
        flowsieve_core::hop::Fate::Gone
    }

    fn on_lost(&mut self, _: &Meta, _: &mut Hop<'_>) {
        self.0.lock().unwrap().lost += 1;
    }
}

#[test]
fn hears__of_a_part_without_calls_is_nothing() {
    assert_eq!(Hears::NOTHING.or(Hears::NOTHING), Hears::NOTHING);
    assert_eq!(Hears::NOTHING.or(Hears::ALL), Hears::ALL);
}

fn result(case: &Case) -> PointResult {
    case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on)).expect("a run")
}

proptest! {
    #![proptest_config(common::config(100))]

    /// Of any scheme: what joins a port leaves it by one call, what is turned away has one, and who only looks changes nothing.
    #[test]
    fn calls__are_one_for_each_event(mut case in prop_oneof![4 => case(60), 1 => outage_case(60)]) {
        let without = result(&case);
        prop_assume!(case.max_time.is_none_or(|stop| without.simulated_ps < stop.0), "perhaps not drained");
        let calls: Arc<Mutex<Calls>> = Arc::default();
        let counting = Arc::clone(&calls);
        let counting = HopSpec::new("counting", move |_| Counting(Arc::clone(&counting)));
        // A scheme's own parts may have a packet live on that was turned away.
        let cuts = !case.scheme.on_hop.is_empty();
        case.scheme.on_hop.insert(0, counting);
        let with = result(&case);
        let fcts = |result: &PointResult| result.flows.iter().map(|row| row.fct_ps).collect::<Vec<_>>();
        prop_assert_eq!(fcts(&with), fcts(&without));
        let Calls { joined, sent, lost, turned_away } = *calls.lock().unwrap();
        prop_assert_eq!(joined, sent + lost);
        let from_switch = |class: usize| {
            let mut links = case.fabric.links.iter().filter(|link| usize::from(link.class) == class);
            links.any(|link| matches!(link.from, Node::Switch(_)))
        };
        let of_switches = || with.links.iter().zip(0..).filter(|(_, class)| from_switch(*class)).map(|(link, _)| link);
        prop_assert_eq!(sent, of_switches().map(|link| link.packets).sum::<u64>());
        let gone = of_switches().map(|link| link.drops.buffer).sum::<u64>();
        prop_assert!(if cuts { turned_away >= gone } else { turned_away == gone }, "{} of {}", gone, turned_away);
    }

    /// Of any scheme under pauses: no packet is lost beyond the headroom if it is large, and all that joined has left.
    #[test]
    fn pauses__account_for_every_byte(
        mut case in prop_oneof![4 => case(60), 1 => outage_case(60)], xoff in 1_500u64..40_000, stamped: bool) {
        case.partitioning = Partitioning::Whole;
        case.scheme.on_hop = vec![pfc(xoff, xoff / 2, 10_000_000)];
        case.scheme.on_hop.extend(stamped.then(stamps));
        let result = result(&case);
        prop_assume!(case.max_time.is_none_or(|stop| result.simulated_ps < stop.0), "perhaps not drained");
        prop_assert_eq!(count(&result, "pfc_bytes_left"), 0);
        prop_assert_eq!(count(&result, "pfc_packets_lost"), 0);
    }
}
