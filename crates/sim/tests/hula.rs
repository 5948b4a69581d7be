//! HULA by hand: a fabric with one slow way, on which probes tell of it.
//!
//! Two racks of one host and two spines. The way over the first spine is slow, at 1 Gbit/s instead of 40 between it and
//! the first leaf; that over the second is longer, by 5 us instead of 0.2, so that of two probes that one leaf sends the slow
//! way's is first, if nothing waits there. Hosts send at 10 Gbit/s and hear of nothing. A single packet from the second host
//! to the first takes 1.4 us to its leaf and as much from the other; and between them 0.5 + 12.2 us over the slow way, 0.5 +
//! 5.3 us over the other.
//!
//! The first rack's probes leave at 0, 200, 400 us and so on, and the second's at 100, 300, 500 us.

use crate::by_hand::{Trial, fcts, flow, scheme, settings};
use flowsieve_settings::{Origin, Raw, Settings, Table};

const NS: u64 = 1_000;
const US: u64 = 1_000_000;

const OVER_SLOW: u64 = 15_500 * NS;
const OVER_LONG: u64 = 8_600 * NS;

fn fabric() -> Settings {
    with_first_way("1Gbps")
}

/// The same with another rate between the first spine and the first leaf.
fn with_first_way(rate: &str) -> Settings {
    let mut settings =
        settings("leaf-spine").with(None, "leaves", 2).with(None, "spines", 2).with(None, "hosts_per_leaf", 1);
    let changed = [("spine0", "rate", rate), ("spine1", "delay", "5us")];
    for (link, (spine, name, value)) in changed.into_iter().enumerate() {
        for (name, value) in [("between", Raw::from(&["leaf0", spine][..])), (name, Raw::from(value))] {
            let key = settings.find(name).expect("a setting");
            settings.give(Table::Link(link), key, &value, Origin::Default).expect("a value");
        }
    }
    settings.with(None, "load_balancing", "hula")
}

fn trial(settings: &Settings) -> Trial {
    Trial::new(settings, scheme("fcfs", settings))
}

#[test]
fn hula__leaves_the_slow_way_and_comes_back() {
    // At 0.9248 us the second leaf hears of the first rack over the first spine, and at 5.2 us over the other: all lines are
    // unused, and the first heard stays.
    //
    // Flow 0: 60 packets from 10 us on are at the leaf at 11.4 us + 1.2 n and at the spine 0.5 us later. The slow line takes
    // one each 12 us, the last at 11.9 + 59 · 12 = 719.9 us, which arrives 12 + 0.2 + 1.2 + 0.2 us later.
    //
    // At 200.712 us the first spine has sent 16 packets since 0.712 us: 24,000 of the 50,000 B that 400 us hold. The other
    // way's lines have sent a probe each. So flow 1, at 250 us, takes the other way, on which nothing waits. The flowlet of
    // flow 0 does not end.
    //
    // After 731.9 us the slow line sends the probes that waited and no more data: of its U, 37,381 B at 800.712 us, a half
    // goes each 200 us, and a probe comes: 646 B are left at 2,000.7 us, 13 thousandths.
    //
    // Flow 2: 200 packets from 1,900 us on take the other way: at 2,005.2 us 86 of them have used 6 % of a line of 40 Gbit/s.
    // So at 2,200.9 us the probe over the slow way, 8 thousandths, is better, and flow 3 at 2,300 us takes that one. Flow 2's
    // last packet leaves its host at 2,140 us.
    let flows = [flow(10 * US, (1, 0), 60), flow(250 * US, (1, 0), 1), flow(1_900 * US, (1, 0), 200)];
    let back = flow(2_300 * US, (1, 0), 1);
    let result = trial(&fabric()).run(&[&flows[..], &[back]].concat());
    let [train, rest] = [719_900 + 13_600 - 10_000, 199 * 1_200].map(|ns| ns * NS);
    assert_eq!(fcts(&result), [train, OVER_LONG, rest + OVER_LONG, OVER_SLOW]);
    // Had the leaf heard nothing of it, the way that was first would have stayed.
    let deaf = fabric().with(None, "probe_interval", "1s");
    assert_eq!(fcts(&trial(&deaf).run(&[flow(10 * US, (1, 0), 1), flow(250 * US, (1, 0), 1)])), [OVER_SLOW; 2]);
}

#[test]
fn hula__ages_a_silent_way() {
    // The second leaf knows at 0.9 us of the slow way, which nothing has used, and hears no more of it: flow 1's 120 packets,
    // which the first leaf sends that way by hash, as it knows none yet (and flow 0 the other way), hold the first rack's probes back in the queue of
    // the slow line until 11.4 + 120 · 12 us. The other way's probes come at 205.2 us, 405.2 us and so on. They tell of lines
    // that have carried the second rack's probes, and are worse. At 605.2 us the slow way has been silent for 604.3 us, and
    // gives way.
    let first = [flow(US, (0, 1), 1), flow(10 * US, (0, 1), 120)];
    let flows = [&first[..], &[flow(580 * US, (1, 0), 1), flow(610 * US, (1, 0), 1)]].concat();
    let result = trial(&fabric()).run(&flows);
    // Flow 1's last packet is on the slow line from 11.4 + 119 · 12 us on, and 12 + 0.2 + 0.3 + 0.2 + 1.2 + 0.2 us later there.
    let train = (11_400 + 119 * 12_000 + 14_100 - 10_000) * NS;
    assert_eq!(fcts(&result), [OVER_LONG, train, OVER_SLOW, OVER_LONG]);
    // With more patience it stays.
    let patient = fabric().with(None, "hula_age", "700us");
    assert_eq!(fcts(&trial(&patient).run(&flows)), [OVER_LONG, train, OVER_SLOW, OVER_SLOW]);
}

#[test]
fn hula__hears_by_its_probes_that_a_link_failed() {
    // From 205.2 us on the second leaf takes the way that is longer and whose lines probes use less. It fails at 300 us. The
    // slow way's probes of 400.9, 600.9 and 800.9 us tell of more use. That of 1,000.9 us finds that the other way has
    // been silent for three intervals, and replaces it.
    let mut settings = fabric();
    let event: [(&str, Raw); 3] = [("at", "300us".into()), ("link", "leaf1-spine1".into()), ("down", true.into())];
    for (name, value) in event {
        let key = settings.find(name).expect("a setting");
        settings.give(Table::Event(0), key, &value, Origin::Default).expect("a value");
    }
    let flows = [250, 700, 1_010].map(|us| flow(us * US, (1, 0), 1));
    let result = trial(&settings).run(&flows);
    let fcts: Vec<Option<u64>> = result.flows.iter().map(|row| row.fct_ps).collect();
    assert_eq!(fcts, [Some(OVER_LONG), None, Some(OVER_SLOW)]);
    // The packet of 700 us, the second leaf's probes of 300, 500, 700 and 900 us, and at the spine those of the first one.
    let drops: u64 = result.links.iter().map(|link| link.drops.port_down).sum();
    let all: u64 = result.links.iter().map(|link| link.drops.total()).sum();
    assert_eq!(drops, all);
    assert!(drops >= 6, "{drops}");
}

#[test]
fn hula__flowlets_leave_a_link_that_failed() {
    // Both ways are fast, and the second leaf takes the first one, whose probes come first. A flow of 1,000 packets without a
    // pause begins at 250 us: its packets are at the leaf at 251.4 us + 1.2 n. The way fails at 300 us; its last probe came at
    // 200.7 us. Those of the other come at 405.2, 605.2 and 805.2 us: the last finds 600 us of silence, the one before it 300.
    // With 200 us no flowlet leaves a way whose probe is about to come.
    for (age, until_us) in [("600us", 805.2), ("300us", 605.2), ("200us", 605.2)] {
        let mut settings = with_first_way("40Gbps").with(None, "hula_age", age);
        let event: [(&str, Raw); 3] = [("at", "300us".into()), ("link", "leaf1-spine0".into()), ("down", true.into())];
        for (name, value) in event {
            let key = settings.find(name).expect("a setting");
            settings.give(Table::Event(0), key, &value, Origin::Default).expect("a value");
        }
        let result = trial(&settings).run(&[flow(250 * US, (1, 0), 1_000)]);
        let leaf_up = result.links.iter().find(|link| link.name == "leaf-up").expect("links of leaves");
        // The dead port also loses the second leaf's probes of 300, 500, 700, 900 and 1,100 us.
        let (found, lost) = (leaf_up.drops.port_down as f64 - 5.0, (until_us - 300.0) / 1.2);
        // At 300 us one packet may be on the line, and one at the port.
        assert!((found - lost).abs() <= 2.0, "{found} lost, not {lost}");
        assert_eq!(result.links.iter().map(|link| link.drops.total()).sum::<u64>(), leaf_up.drops.port_down + 5);
    }
}

#[test]
fn hula__probes_in_the_first_or_the_last_priority() {
    // Hosts send at 2 Gbit/s, so that a packet takes 6 us and flow 1's 120 packets come to the slow line until 736 us, where one
    // leaves each 12 us. Of two queues they have the first. A probe there waits for half of the packets that came before
    // it: the one of 200 us until 376 us. It tells that the slow line has carried one of the second rack's probes, and at
    // 405.2 us the other way is better. In the last queue it waits for all packets, and the slow way stays until it is silent for
    // too long.
    let fabric = fabric().with(None, "host_link", "2Gbps").with(None, "discipline", "sp").with(None, "queues", 2);
    let first = [flow(US, (0, 1), 1), flow(10 * US, (0, 1), 120)];
    let flows = [&first[..], &[flow(500 * US, (1, 0), 1), flow(700 * US, (1, 0), 1)]].concat();
    let fct = |priority: i64| fcts(&trial(&fabric.clone().with(None, "hula_probe_priority", priority)).run(&flows));
    let slower = 2 * 4_800 * NS;
    let [slow, long] = [OVER_SLOW + slower, OVER_LONG + slower];
    assert_eq!(fct(0)[2..], [long, long]);
    assert_eq!(fct(1)[2..], [slow, long]);
    assert_eq!(fct(9), fct(1), "what exceeds the last queue joins it");
}
