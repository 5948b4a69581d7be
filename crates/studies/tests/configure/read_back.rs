//! What is written, read by a reader of each language that knows its rules and nothing of the writer.

use super::readers::{Read, UNTOUCHED, read_eos, read_nftables, read_nxos, read_sonic, read_tc, table};
use flowsieve_studies::configure::{Lossless, Marks, Others, Plan, Port, Refused, System, check};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

/// The network's own control.
const CONTROL: &[u8] = &[46, 48, 56];

/// What a plan asks for, in the same words; `above` are the classes that are kept above the data, the highest first.
fn asked(plan: &Plan, unit: u64, above: &[&[u8]]) -> Read {
    let mut read = Read::default();
    let (first, last) = (above.len(), above.len() + plan.dscps.len());
    for dscp in 0..64 {
        let of = plan.dscps.iter().position(|&of| of == dscp).map(|at| at + first);
        let kept = above.iter().position(|kept| kept.contains(&dscp));
        read.rank.insert(dscp, kept.or(of).unwrap_or(plan.unmarked + first));
    }
    for port in &plan.ports {
        let k = port.marks_from_bytes.div_ceil(unit) * unit;
        let marks = (0..last).map(|rank| (rank, (rank >= first).then_some(k))).collect();
        read.marks.insert(port.name.clone(), marks);
    }
    read
}

/// The same for SONiC, whose DSCPs 3 and 4 have lossless queues unless the plan has these.
fn asked_of_sonic(plan: &Plan) -> Read {
    let lossless: Vec<u8> = match (&plan.queues_of_port, plan.others.lossless) {
        (None, Lossless::Above | Lossless::Behind) => {
            [4, 3].into_iter().filter(|of| !plan.dscps.contains(of)).collect()
        }
        _ => Vec::new(),
    };
    let above = match plan.others.lossless {
        Lossless::Above => [CONTROL].into_iter().chain(lossless.chunks(1)).collect(),
        _ => vec![CONTROL],
    };
    let mut read = asked(plan, 1, &above);
    if plan.others.lossless == Lossless::Behind {
        read.rank.extend(lossless.iter().map(|dscp| (*dscp, UNTOUCHED)));
    }
    read
}

fn port(name: &str, gbps: u64, kilobytes: u64) -> Port {
    Port { name: name.to_owned(), rate_bps: gbps * 1_000_000_000, marks_from_bytes: kilobytes * 1_000 }
}

pub(super) fn three_queues() -> Plan {
    Plan {
        dscps: vec![35, 27, 11],
        thresholds_bytes: vec![20_000, 1_000_000],
        unmarked: 2,
        ports: vec![port("Ethernet0", 25, 150), port("Ethernet4", 25, 150), port("Ethernet48", 100, 600)],
        queues_of_port: None,
        marks: Marks::Step,
        hosts_are_dctcp: false,
        others: Others::default(),
    }
}

#[test]
fn write__three_queues_as_every_system_reads_them() {
    let plan = three_queues();
    let text = |system: System| system.write(&plan).unwrap();
    assert_eq!(read_sonic(&text(System::Sonic)), asked_of_sonic(&plan));
    assert_eq!(read_eos(&text(System::Eos)), asked(&plan, 1, &[CONTROL]));
    assert_eq!(read_nxos(&text(System::NxOs)), asked(&plan, 1_000, &[CONTROL]));
    assert_eq!(read_tc(&text(System::Tc)), asked(&plan, 1, &[CONTROL]));
    for system in [System::Eos, System::NxOs] {
        assert!(text(system).contains("! No queue is kept for lossless traffic: DSCP 3, 4, 24 and 26"), "{system:?}");
    }
    let tag = read_nftables(&text(System::Nftables));
    for direction in ["original", "reply"] {
        for family in ["ip", "ip6"] {
            let of = |at, bytes| tag((at, direction, 0), family, bytes);
            let tags = [1, 19_999, 20_000, 999_999, 1_000_000].map(|bytes| of("Ethernet0", bytes));
            assert_eq!(tags, [35, 35, 27, 27, 11]);
            // Nothing changes where bytes are not known, at other interfaces, and where there is a DSCP: CS6, EF, one's own.
            assert_eq!([of("Ethernet0", 0), of("lo", 5), of("docker0", 1_000_000)], [0, 0, 0]);
            for before in 1..64 {
                assert_eq!(tag(("Ethernet0", direction, before), family, 1_000_000), before);
            }
        }
    }
    // As it looks: PFC holds queues 3 and 4, which are above the data.
    let sonic: Value = serde_json::from_str(&text(System::Sonic)).unwrap();
    assert_eq!(sonic["DSCP_TO_TC_MAP"]["FLOWSIEVE"]["35"], "2");
    assert_eq!(sonic["DSCP_TO_TC_MAP"]["FLOWSIEVE"]["0"], "0");
    assert_eq!(sonic["TC_TO_QUEUE_MAP"]["FLOWSIEVE"]["3"], "3", "lossless traffic keeps its queue");
    assert_eq!(sonic["QUEUE"]["Ethernet0|2"]["wred_profile"], "FLOWSIEVE_25G_150000");
    for queue in [3, 4, 6] {
        assert_eq!(sonic["QUEUE"][format!("Ethernet0|{queue}")], serde_json::json!({ "scheduler": "FLOWSIEVE" }));
    }
    assert_eq!(sonic["WRED_PROFILE"]["FLOWSIEVE_25G_150000"]["wred_red_enable"], "true", "as the default template");
}

#[test]
fn write__others_keep_their_queues_above_the_data() {
    let with = |others: Others| Plan { others, ..three_queues() };
    let text = |plan: &Plan, system: System| system.write(plan).unwrap();
    // RoCE in 4, and tunnels next to the network's control in the highest queue.
    let kept = vec![(vec![24, 26], 4), (vec![8], 7), (vec![46, 48, 56], 7)];
    let plan = with(Others { kept, ..Others::default() });
    let above: &[&[u8]] = &[&[8, 46, 48, 56], &[24, 26]];
    assert_eq!(read_eos(&text(&plan, System::Eos)), asked(&plan, 1, above));
    assert_eq!(read_nxos(&text(&plan, System::NxOs)), asked(&plan, 1_000, above));
    assert_eq!(read_tc(&text(&plan, System::Tc)), asked(&plan, 1, above));
    // SONiC has its own in 3 and 4, too.
    let sonic = asked(&plan, 1, &[&[8, 46, 48, 56], &[24, 26, 4], &[3]]);
    assert_eq!(read_sonic(&text(&plan, System::Sonic)), sonic);
    for system in [System::Eos, System::NxOs] {
        assert!(!text(&plan, system).contains("No queue is kept"), "{system:?}");
    }
    // Too few queues are left below.
    let low = with(Others { kept: vec![(vec![24, 26], 2)], ..Others::default() });
    assert_eq!(System::Eos.write(&low), Err(Refused::Queues { data: 3, most: 2, more: "" }));
    let five = |others: Others| Plan { dscps: vec![39, 35, 27, 11], thresholds_bytes: vec![1, 2, 3], ..with(others) };
    let said = System::Sonic.write(&five(Others::default())).unwrap_err().to_string();
    assert_eq!(
        said,
        "4 queues for data: expected at most 3, below those that are kept above them, or --lossless behind, or --lossless \
         none where PFC is off"
    );
    for lossless in [Lossless::Behind, Lossless::None] {
        let plan = five(Others { lossless, without_wred: true, ..Others::default() });
        let written = text(&plan, System::Sonic);
        assert_eq!(read_sonic(&written), asked_of_sonic(&plan), "{lossless:?}");
        assert!(written.contains("\"wred_green_enable\": \"false\"") && !written.contains("\"true\""));
    }
    let wrong = [
        (vec![(vec![64], 3)], "DSCP 64 is to be kept"),
        (vec![(vec![24, 24], 3)], "DSCP 24 is to be kept"),
        (vec![(vec![35], 3)], "that is not the data's"),
        (vec![(vec![24], 8)], "queue 8: expected queues from 0 to 7"),
    ];
    for (kept, problem) in wrong {
        let said = System::Tc.write(&with(Others { kept, ..Others::default() })).unwrap_err().to_string();
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn write__marks_alone_leave_queues_and_code_points() {
    let plan = Plan { dscps: vec![], thresholds_bytes: vec![], ..three_queues() };
    let text = |system: System| system.write(&plan).unwrap();
    let sonic: Value = serde_json::from_str(&text(System::Sonic)).unwrap();
    let tables: Vec<&String> = sonic.as_object().unwrap().keys().collect();
    assert_eq!(tables, ["QUEUE", "WRED_PROFILE"]);
    // Lossless queues keep theirs.
    let queues: BTreeSet<&str> = table(sonic.as_object().unwrap(), "QUEUE").keys().map(String::as_str).collect();
    assert!(queues.contains("Ethernet48|6") && !queues.contains("Ethernet48|3"), "{queues:?}");
    assert_eq!(sonic["QUEUE"]["Ethernet48|0"], serde_json::json!({ "wred_profile": "FLOWSIEVE_100G_600000" }));
    let eos = text(System::Eos);
    assert!(eos.contains("random-detect ecn minimum-threshold 150000 bytes") && !eos.contains("strict"), "{eos}");
    assert!(!eos.contains("qos map") && !eos.contains("trust"), "{eos}");
    let nxos = text(System::NxOs);
    assert!(nxos.contains("c-out-8q-q-default\n    bandwidth remaining percent 100\n    random-detect"), "{nxos}");
    assert_eq!(nxos.matches("bandwidth remaining percent 0\n").count(), 2 * 7, "all eight queues are named");
    assert_eq!(text(System::Tc).lines().filter(|line| line.contains("root handle 1: red limit")).count(), 3);
    assert!(System::Nftables.write(&plan).unwrap_err().to_string().contains("needs no code points"));
    // Hosts that send by DCTCP already get no lines for it.
    assert!(text(System::Hosts).contains("congctl dctcp features ecn"));
    assert!(System::Hosts.write(&Plan { hosts_are_dctcp: true, ..plan.clone() }).is_err());
}

#[test]
fn write__refuses_what_a_system_cannot_state() {
    let refused = |plan: &Plan, system: System| system.write(plan).unwrap_err();
    let five = Plan { dscps: vec![43, 35, 27, 19, 11], thresholds_bytes: vec![1, 2, 3, 4], ..three_queues() };
    let problem = refused(&five, System::Sonic).to_string();
    assert!(
        problem.contains("5 queues for data: expected at most 3, below those that are kept above them, or --lossless"),
        "{problem}"
    );
    let all = Plan { queues_of_port: Some((0..8).collect()), ..five.clone() };
    assert_eq!(read_sonic(&System::Sonic.write(&all).unwrap()), asked_of_sonic(&all));
    let none = Plan { queues_of_port: Some(vec![0, 8]), ..five };
    assert_eq!(refused(&none, System::Eos), Refused::NoQueue(8));
    let few = Plan { queues_of_port: Some(vec![1, 0, 1, 2]), ..three_queues() };
    assert_eq!(refused(&few, System::NxOs), Refused::Queues { data: 3, most: 2, more: "" });

    let fast = Plan { ports: vec![port("Ethernet0", 1_600, 3_000_000)], ..three_queues() };
    let problem = refused(&fast, System::Sonic).to_string();
    assert_eq!(
        problem,
        "K of 3000000000 bytes at port Ethernet0: expected 1 to 2147483647 bytes; the nearest is 2147483647"
    );
    assert!(refused(&fast, System::Eos).to_string().contains("the nearest is 256000000"));
    let checked = |plan: &Plan| check(&[System::Eos, System::Sonic].map(|system| (system, plan.clone())));
    assert_eq!(checked(&fast), Err(refused(&fast, System::Eos)), "no system can state it");
    let slower = Plan { ports: vec![port("Ethernet0", 1_600, 1_500_000)], ..three_queues() };
    assert_eq!(checked(&slower), Ok(()), "SONiC can");
    let wrong: [(Plan, &str); 8] = [
        (Plan { dscps: vec![35], thresholds_bytes: vec![], ..three_queues() }, "1 code point"),
        (Plan { thresholds_bytes: vec![1], ..three_queues() }, "1 thresholds for 3 queues"),
        (Plan { unmarked: 3, ..three_queues() }, "in queue 3: expected 0 to 2"),
        (Plan { thresholds_bytes: vec![5, 5], ..three_queues() }, "rising"),
        (Plan { thresholds_bytes: vec![0, 5], ..three_queues() }, "above zero"),
        (Plan { dscps: vec![51, 27, 11], ..three_queues() }, "DSCP 51"),
        (Plan { dscps: vec![35, 26, 11], ..three_queues() }, "DSCP 26"),
        (Plan { ports: vec![port("Eth 0", 1, 1)], ..three_queues() }, "port \"Eth 0\""),
    ];
    for (plan, problem) in wrong {
        for system in System::ALL {
            let said = refused(&plan, system).to_string();
            assert!(said.contains(problem), "{said}");
        }
    }
}

/// Plans of two to seven queues on one to four ports.
pub(super) fn plans() -> impl Strategy<Value = Plan> {
    let pool: Vec<u8> = (0..12).map(|at| at * 4 + 3).collect();
    let queues = (2..=7usize).prop_flat_map(move |queues| {
        let dscps = proptest::sample::subsequence(pool.clone(), queues).prop_shuffle();
        (dscps, prop::collection::btree_set(1u64..1 << 40, queues - 1), 0..queues)
    });
    let ports = prop::collection::vec((1u64..=800, 1_500u64..100_000_000), 1..=4);
    let lossless = prop::sample::select(vec![Lossless::Above, Lossless::Behind, Lossless::None]);
    (queues, ports, prop::bool::ANY, lossless).prop_map(|((dscps, thresholds, unmarked), ports, all, lossless)| Plan {
        dscps,
        thresholds_bytes: thresholds.into_iter().collect(),
        unmarked,
        ports: (0..)
            .zip(ports)
            .map(|(at, (gbps, k))| Port {
                name: format!("Ethernet{at}"),
                rate_bps: gbps * 1_000_000_000,
                marks_from_bytes: k,
            })
            .collect(),
        queues_of_port: all.then(|| (0..8).collect()),
        marks: Marks::Step,
        hosts_are_dctcp: false,
        others: Others { lossless, ..Others::default() },
    })
}

proptest! {
    #[test]
    fn write__any_plan_reads_back_or_is_refused_for_its_queues(plan in plans()) {
        type Reader = fn(&str) -> Read;
        let readers: [(System, Reader, Read); 4] = [
            (System::Sonic, read_sonic, asked_of_sonic(&plan)),
            (System::Eos, read_eos, asked(&plan, 1, &[CONTROL])),
            (System::NxOs, read_nxos, asked(&plan, 1_000, &[CONTROL])),
            (System::Tc, read_tc, asked(&plan, 1, &[CONTROL])),
        ];
        for (system, read, asked) in readers {
            match system.write(&plan) {
                Ok(text) => prop_assert_eq!(read(&text), asked, "{:?}", system),
                Err(refused) => {
                    let few = system == System::Sonic && plan.queues_of_port.is_none() && plan.dscps.len() > 2;
                    prop_assert!(few, "{:?}: {}", system, refused);
                }
            }
        }
        let tag = read_nftables(&System::Nftables.write(&plan).unwrap());
        for (at, &threshold) in plan.thresholds_bytes.iter().enumerate() {
            let of = |direction, family, bytes| tag(("Ethernet0", direction, 0), family, bytes);
            prop_assert_eq!(of("reply", "ip6", threshold - 1), if threshold > 1 { plan.dscps[at] } else { 0 });
            prop_assert_eq!(of("original", "ip", threshold), plan.dscps[at + 1]);
        }
    }
}

/// At 25 Gbit/s K is 243.75 KB, and the ramp is from 75 to 412.5 KB.
#[test]
fn write__a_ramp_has_its_two_ends() {
    let mut plan = three_queues();
    plan.ports = vec![Port { name: "Ethernet4".to_owned(), rate_bps: 25_000_000_000, marks_from_bytes: 243_750 }];
    plan.marks = Marks::Ramp;
    let has = |system: System, line: &str| {
        let text = system.write(&plan).unwrap();
        assert!(text.contains(line), "{line}: {text}");
    };
    let sonic: Value = serde_json::from_str(&System::Sonic.write(&plan).unwrap()).unwrap();
    let profile = &sonic["WRED_PROFILE"]["FLOWSIEVE_25G_243750"];
    let [from, to, share] =
        ["min_threshold", "max_threshold", "drop_probability"].map(|of| &profile[format!("green_{of}")]);
    assert_eq!((from, to, share), (&"75000".into(), &"412500".into(), &"50".into()), "{sonic:#}");
    has(System::Eos, "minimum-threshold 75000 bytes maximum-threshold 412500 bytes max-mark-probability 50 weight 0");
    has(System::NxOs, "minimum-threshold 75 kbytes maximum-threshold 413 kbytes drop-probability 50 weight 0 ecn");
    has(System::Tc, "min 75000 max 412500 avpkt 1500 burst 50 probability 0.5");
}
