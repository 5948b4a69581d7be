//! HPCC, Swift and DCQCN at the fixed points of their laws, and lossless fabrics from settings. A full packet of 1,500 bytes takes
//! 1.2 us at 10 Gbit/s; lines of 10 us make a base round trip of 42.464 us on one switch, and the line holds 53.1 KB in it.

use crate::by_hand::{Trial, fcts, flow, rack, scheme, sent};
use flowsieve_record::PointResult;
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::{Context, WorkloadFacts, registry};
use flowsieve_settings::Settings;
use flowsieve_sim::Partitioning;
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::Flow;

const US: u64 = 1_000_000;

/// The facts of a run in a fabric.
struct In(Fabric);

impl WorkloadFacts for In {
    fn distribution(&self) -> Option<&str> {
        Facts::NONE.distribution()
    }

    fn load(&self) -> Option<f64> {
        Facts::NONE.load()
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Facts::NONE.quantile_bytes(p)
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(&self.0)
    }
}

/// A scheme whose constants follow the fabric.
fn trial(name: &str, settings: &Settings) -> Trial {
    let workload = &In(Fabric::from_settings(settings).expect("a fabric"));
    let context = Context { scope: settings.scheme(name), workload };
    Trial::new(settings, registry::find(name).expect("a scheme").scheme(&context).expect("settings that fit"))
}

fn long_lines(hosts: i64) -> Settings {
    rack(hosts).with(None, "link_delay", "10us").with(None, "shared_buffer", "16MB")
}

fn count(result: &PointResult, name: &str) -> u64 {
    result.counts.get(name).copied().unwrap_or(0)
}

/// Bytes a second on the line to the last host between two instants, as a share of what it carries.
fn share(trial: &Trial, flows: &[Flow], (from, to): (u64, u64)) -> f64 {
    let last = trial.fabric.hosts - 1;
    let rows = sent(trial, flows, &format!("switch0 to host{last}"));
    let bytes: u64 = rows.iter().filter(|(_, row)| (from..to).contains(&row.at_ps)).map(|_| 1_500).sum();
    bytes as f64 * 800.0 / (to - from) as f64
}

/// The times that packets of a flow spend between leaving their host and leaving the switch, in us, in the order of sending.
fn waits(trial: &Trial, flows: &[Flow], flow: u32) -> Vec<f64> {
    let at = |link: &str| -> Vec<u64> {
        sent(trial, flows, link).iter().filter(|(of, _)| *of == flow).map(|(_, row)| row.at_ps).collect()
    };
    let last = trial.fabric.hosts - 1;
    let (left, passed) = (at(&format!("host{flow} to switch0")), at(&format!("switch0 to host{last}")));
    left.iter().zip(&passed).map(|(left, passed)| (passed - left) as f64 / US as f64 - 11.2).collect()
}

/// Those of the third quarter.
fn middle(waits: &[f64]) -> Vec<f64> {
    waits[waits.len() / 2..waits.len() * 3 / 4].to_vec()
}

/// N flows on one line: W = Wc eta/U + W_AI = Wc, so U = eta W/(W - W_AI) with W = B T U/N and W_AI = B T (1 - eta)/100. For two
/// flows U is 0.951, and for twenty 0.960. U is what the line carries, with a part of what waits where flows meet: of two stamps the
/// shorter queue counts. So it lies between the first and both.
#[test]
fn hpcc__keeps_the_line_at_eta() {
    for (flows, by_hand) in [(2u32, 0.951), (8, 0.954), (20, 0.960)] {
        let trial = trial("hpcc", &long_lines(i64::from(flows) + 1));
        let all: Vec<Flow> = (0..flows).map(|src| flow(0, (src, flows), 20_000 / u64::from(flows))).collect();
        // What the first windows left has drained, and no flow has ended.
        let carried = share(&trial, &all, (8_000 * US, 20_000 * US));
        let waits: Vec<f64> = (0..flows).flat_map(|flow| middle(&waits(&trial, &all, flow))).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let both = carried * (1.0 + mean / 42.464);
        let between = carried - 0.001 < by_hand && by_hand < both + 0.001;
        assert!(between && carried > 0.935, "{flows} flows: {carried} and {mean} us, by hand {by_hand}");
        assert!(mean < 2.4, "{flows} flows wait {mean} us, two packets");
    }
}

/// Of two ways with a line of 10 and one of 2.5 Gbit/s, telemetry of one says nothing of the other: flows that keep their way have
/// their line's share.
#[test]
fn hpcc__finds_the_narrow_link_of_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let list = "host0,s0,10Gbps,10us\nhost1,s1,10Gbps,10us\ns0,s2,10Gbps,1us\ns2,s1,2.5Gbps,1us";
    std::fs::write(folder.path().join("line.csv"), list).unwrap();
    let settings = crate::by_hand::settings("custom").with(None, "file", "line.csv").with(None, "buffer", "4MB");
    let fabric = Fabric::from_settings_in(&settings, folder.path()).expect("a fabric");
    let workload = &In(fabric.clone());
    let context = Context { scope: settings.scheme("hpcc"), workload };
    let hpcc = registry::find("hpcc").unwrap().scheme(&context).expect("settings that fit");
    let trial = Trial { fabric, ..Trial::new(&rack(2), hpcc) };
    let result = trial.run_as(&[flow(0, (0, 1), 4_000)], Partitioning::Whole);
    // 4,000 packets take 19.2 ms at 2.5 Gbit/s.
    let rate = 19_200.0 * US as f64 / fcts(&result)[0] as f64;
    assert!((0.93..0.97).contains(&rate), "{rate}");
}

/// N flows share the line without a gap, so that each has W = B RTT/N, and RTT is the target: base + h + alpha/sqrt(W) + b.
#[test]
fn swift__keeps_the_delay_at_its_target() {
    for flows in [2u32, 8] {
        let settings = long_lines(i64::from(flows) + 1)
            .with(None, "buffer", "8MB")
            .with(None, "swift_target", "60us")
            .with(None, "swift_hop", "5us")
            .with(None, "swift_range", "40us");
        let trial = trial("swift", &settings);
        let all: Vec<Flow> = (0..flows).map(|src| flow(0, (src, flows), 16_000 / u64::from(flows))).collect();
        let root = |window: f64| 1.0 / window.sqrt();
        let target = |window: f64| {
            let alpha = 40.0 / (root(0.1) - root(100.0));
            65.0 + (alpha * (root(window) - root(100.0))).clamp(0.0, 40.0)
        };
        // By bisection: a window whose target is the round trip that it makes.
        let (mut low, mut high) = (0.1, 1_000.0);
        for _ in 0..60 {
            let window = f64::midpoint(low, high);
            let round_trip = window * f64::from(flows) * 1.2;
            if round_trip < target(window) { low = window } else { high = window }
        }
        let by_hand = target(low) - 42.464; // without what a packet and its ACK take alone
        let late = middle(&waits(&trial, &all, 0));
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - by_hand).abs() < 0.12 * target(low), "{flows} flows wait {mean} us, by hand {by_hand}");
        assert!(share(&trial, &all, (8_000 * US, 16_000 * US)) > 0.99);
    }
}

/// A thousand senders at once: windows far below one are paces, and the line is busy.
#[test]
fn swift__paces_a_thousand_senders() {
    let settings = long_lines(1_001).with(None, "buffer", "4MB").with(None, "initial_window", 1);
    let trial = trial("swift", &settings);
    let all: Vec<Flow> = (0..1_000).map(|src| flow(0, (src, 1_000), 12)).collect();
    let result = trial.run_as(&all, Partitioning::Whole);
    // 12,000 packets take 14.4 ms.
    let last = *fcts(&result).iter().max().unwrap();
    let timeouts = result.timeouts;
    assert!((14_400 * US..18_000 * US).contains(&last) && timeouts == 0, "{last} ps, {timeouts} timeouts");
}

/// Sixteen senders of DCQCN lose nothing, in one class or in eight that are served by strict priority or in turn.
#[test]
fn dcqcn__loses_nothing() {
    let plain = long_lines(17);
    let in_classes = |discipline: &str| {
        let settings = plain.clone().with(None, "queues", 8).with(None, "transport", "dcqcn").with(None, "pfc", true);
        let settings = settings.with(None, "load_balancing", "ecmp");
        settings.with(None, "discipline", discipline)
    };
    let cases = [("dcqcn", plain.clone()), ("pias", in_classes("sp")), ("pias", in_classes("wrr"))];
    for (name, settings) in cases {
        let given = if name == "pias" {
            settings.with(None, "thresholds", &["30KB", "60KB", "90KB", "120KB", "150KB", "180KB", "210KB"][..])
        } else {
            settings
        };
        let trial = trial(name, &given);
        let all: Vec<Flow> = (0..16).map(|src| flow(0, (src, 16), 200)).collect();
        let result = trial.run_as(&all, Partitioning::Whole);
        let drops: u64 = result.links.iter().map(|link| link.drops.total()).sum();
        // What PIAS demotes is overtaken, and its ACKs count as duplicates.
        let sent_again = if name == "pias" { 0 } else { result.retransmissions };
        assert_eq!((drops, sent_again, result.timeouts), (0, 0, 0), "{name}");
        assert_eq!((count(&result, "pfc_packets_lost"), count(&result, "pfc_bytes_left")), (0, 0), "{name}");
        assert!(fcts(&result).iter().all(|&fct| fct >= 200 * 1_200_000), "{name}");
    }
}

/// Of sixteen senders that share a queue each hears of it once in 50 us, by connection or by sending host alike. If the port of the
/// receiver sends one notification in that time, one of them hears, and the queue stays as long as it grew.
#[test]
fn notifications__of_a_port_reach_few_senders() {
    let run = |by: &str| {
        let trial = trial("dcqcn", &long_lines(17).with(None, "dcqcn_notify_by", by));
        let all: Vec<Flow> = (0..16).map(|src| flow(0, (src, 16), 1_000)).collect();
        let result = trial.run_as(&all, Partitioning::Whole);
        let drops: u64 = result.links.iter().map(|link| link.drops.total()).sum();
        let marks: u64 = result.links.iter().map(|link| link.marks).sum();
        (drops, marks)
    };
    let [(lost, connection), (lost_by_host, host), (lost_by_port, port)] = ["connection", "host", "port"].map(run);
    assert_eq!([lost, lost_by_host, lost_by_port], [0; 3]);
    assert!(connection == host && port > 2 * connection, "{connection}, {host} and {port} marks");
}

/// Ten senders and lines of 2 us; host 10 sends to each of them, so that a pause waits for a full packet. After the packet that passes
/// the threshold come 6,584 bytes, in 1.2 + 0.0672 + 4 us, and a packet that begins then: with ACKs among them all of it is needed.
#[test]
fn headroom__by_the_line_is_enough_and_a_packet_less_is_not() {
    let with = |headroom: Option<&str>, rule: &str| {
        let settings =
            rack(11).with(None, "link_delay", "2us").with(None, "transport", "dcqcn").with(None, "ecn", false);
        let settings =
            settings.with(None, "pfc", true).with(None, "pfc_xoff", "3KB").with(None, "pfc_headroom_rule", rule);
        let settings = headroom.into_iter().fold(settings, |it, bytes| it.with(None, "pfc_headroom", bytes));
        let trial = trial("dctcp", &settings);
        let there = (0..10).map(|src| flow(0, (src, 10), 60));
        let back = (0..10).map(|dst| flow(0, (10, dst), 60));
        trial.run_as(&there.chain(back).collect::<Vec<_>>(), Partitioning::Whole)
    };
    let [exact, less, sonic] =
        [(None, "exact"), (Some("8084B"), "exact"), (None, "sonic")].map(|(bytes, rule)| with(bytes, rule));
    let lost = |result: &PointResult| count(result, "pfc_packets_lost");
    assert_eq!([&exact, &sonic].map(lost), [0; 2]);
    assert!(lost(&less) > 0);
    // 3 * 1,500 + 84 + 5,000 bytes at each of eleven ports. What SONiC reserves beyond that is never used.
    assert_eq!(count(&exact, "pfc_headroom_bytes"), 11 * 9_584);
    assert_eq!(count(&sonic, "pfc_headroom_used"), count(&exact, "pfc_headroom_used"));
    assert!(count(&sonic, "pfc_headroom_bytes") > 2 * count(&exact, "pfc_headroom_bytes"), "{:?}", sonic.counts);
}

/// Fifteen hosts of one rack send to host 16 in another. Its leaf pauses the spine, that the first leaf, and that its hosts: a packet
/// of host 0 to host 17, whose line is idle, waits behind theirs. Without pauses it does not.
#[test]
fn pauses__spread_to_a_victim() {
    let victim = |pauses: bool| {
        let settings = crate::by_hand::settings("leaf-spine")
            .with(None, "leaves", 2)
            .with(None, "spines", 1)
            .with(None, "hosts_per_leaf", 16)
            .with(None, "fabric_link", "100Gbps")
            .with(None, "buffer", "60KB")
            .with(None, "ecn", false)
            .with(None, "transport", "dcqcn")
            .with(None, "pfc", pauses);
        let settings = if pauses { settings.with(None, "pfc_xoff", "30KB") } else { settings };
        let trial = trial("dctcp", &settings.with(None, "load_balancing", "ecmp"));
        let hot = (0..15).map(|src| flow(0, (src, 16), 100));
        let all: Vec<Flow> = hot.chain([flow(400 * US, (15, 17), 1)]).collect();
        let result = trial.run_as(&all, Partitioning::Whole);
        let drops: u64 = result.links.iter().map(|link| link.drops.total()).sum();
        assert_eq!(drops == 0, pauses, "{drops} dropped");
        *fcts(&result).last().unwrap()
    };
    // Alone it takes 1.2 + 0.12 + 0.12 + 1.2 us and four lines of 0.2 us.
    let (held, free) = (victim(true), victim(false));
    assert!(free < 20 * US && held > 5 * free, "{held} and {free} ps");
}

/// HPCC leaves no queue in which PIAS could help, and DCTCP does: one short flow beside two long ones.
#[test]
fn short_flows__wait_for_long_ones_under_dctcp_and_not_under_hpcc() {
    let settings = long_lines(4).with(None, "buffer", "2MB").with(None, "ecn_threshold", "90KB");
    let short = |name: &str| {
        let all = [flow(0, (0, 3), 12_000), flow(0, (1, 3), 12_000), flow(10_000 * US, (2, 3), 1)];
        fcts(&trial(name, &settings).run_as(&all, Partitioning::Whole))[2] / US
    };
    let (hpcc, dctcp) = (short("hpcc"), short("dctcp"));
    // Alone it takes 1.2 + 1.2 + 20 us.
    assert!(hpcc < 25 && dctcp > 40, "{hpcc} and {dctcp} us");
}

#[test]
fn schemes__without_a_fabric_are_built() {
    for name in ["hpcc", "swift", "dcqcn"] {
        assert!(!scheme(name, &rack(3)).classes.is_empty());
    }
}

/// Why a scheme cannot be in a fabric.
fn refused(name: &str, settings: &Settings, fabric: Fabric) -> String {
    let context = Context { scope: settings.scheme(name), workload: &In(fabric) };
    registry::find(name).expect("a scheme").scheme(&context).map(|_| ()).unwrap_err().to_string()
}

/// A memory that headroom takes whole is refused with what would do: five ports of 3 * 1,500 + 84 + 25,000 bytes need 147,920.
#[test]
fn pfc__refuses_a_memory_that_headroom_takes_whole() {
    let settings = rack(5).with(None, "link_delay", "10us").with(None, "shared_buffer", "147920B");
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    let error = refused("dcqcn", &settings, fabric.clone());
    assert!(error.contains("headroom takes 147.92KB of the memory of switch0"), "{error}");
    trial("dcqcn", &settings.with(None, "shared_buffer", "147921B"));
}

/// Eight switches in a row, and a packet carries six stamps. Swift counts them.
#[test]
fn hpcc__refuses_paths_of_more_switches_than_stamps() {
    let folder = tempfile::tempdir().unwrap();
    let between = (0..7).map(|at| format!("s{at},s{},10Gbps,1us", at + 1));
    let ends = ["host0,s0,10Gbps,1us".to_owned(), "host1,s7,10Gbps,1us".to_owned()];
    std::fs::write(folder.path().join("row.csv"), between.chain(ends).collect::<Vec<_>>().join("\n")).unwrap();
    let settings = crate::by_hand::settings("custom").with(None, "file", "row.csv");
    let fabric = Fabric::from_settings_in(&settings, folder.path()).expect("a fabric");
    let error = refused("hpcc", &settings, fabric.clone());
    assert!(error.contains("a path has 8 switches"), "{error}");
    let context = Context { scope: settings.scheme("swift"), workload: &In(fabric) };
    assert!(registry::find("swift").unwrap().scheme(&context).is_ok());
}

/// A base round trip that the fabric's is longer than, and a target that no delay meets, would hold flows at their least window.
#[test]
fn hpcc_and_swift__refuse_what_no_round_trip_meets() {
    let settings = long_lines(3);
    let fabric = || Fabric::from_settings(&settings).expect("a fabric");
    let error = refused("hpcc", &settings.clone().with(None, "hpcc_round_trip", "42us"), fabric());
    assert!(error.contains("at least 42.464us"), "{error}");
    trial("hpcc", &settings.clone().with(None, "hpcc_round_trip", "43us"));
    let swift = |target: &str| settings.clone().with(None, "swift_target", target).with(None, "swift_hop", "2us");
    let error = refused("swift", &swift("40us"), fabric());
    assert!(error.contains("at least 40.464us"), "{error}");
    trial("swift", &swift("41us"));
}
