//! What is written, read by a reader of each language that knows its rules and nothing of the writer.

use flowsieve_studies::configure::{Lossless, Others, Plan, Port, Refused, System, check};
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a reader finds: by DSCP the queue, its rank among those served (0 first), and its threshold at a port.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    /// By DSCP: how many queues are served before its own.
    rank: BTreeMap<u8, usize>,
    /// By port: thresholds by rank; `None`: no marks.
    marks: BTreeMap<String, BTreeMap<usize, Option<u64>>>,
}

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

/// The rank of a queue that a file leaves as it was.
const UNTOUCHED: usize = usize::MAX;

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

fn table<'a>(root: &'a Map<String, Value>, name: &str) -> &'a Map<String, Value> {
    root[name].as_object().unwrap_or_else(|| panic!("{name} is a table"))
}

/// A string of an entry. SONiC's database has no other values.
fn field<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().unwrap_or_else(|| panic!("{name} is a string: {entry}"))
}

/// Reads SONiC's tables by the rules of its YANG models and of the agent that reads them.
fn read_sonic(text: &str) -> Read {
    let root: Value = serde_json::from_str(text).expect("JSON");
    let root = root.as_object().expect("tables");
    let tables: BTreeSet<&str> = root.keys().map(String::as_str).collect();
    let known = ["DSCP_TO_TC_MAP", "PORT_QOS_MAP", "QUEUE", "SCHEDULER", "TC_TO_QUEUE_MAP", "WRED_PROFILE"];
    assert_eq!(tables, BTreeSet::from(known));
    for name in known.iter().flat_map(|name| table(root, name).keys()) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./|".contains(letter);
        assert!(name.chars().all(plain), "{name}");
    }
    for name in ["DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "SCHEDULER", "WRED_PROFILE"] {
        for key in table(root, name).keys() {
            assert!(key.len() <= 32 && key.starts_with(|first: char| first.is_ascii_alphanumeric()), "{key}");
        }
    }
    for (name, entry) in table(root, "SCHEDULER") {
        // `priority` is in the model, and the agent refuses the entry that has it.
        assert_eq!(entry.as_object().expect(name).keys().collect::<Vec<_>>(), ["type"]);
        assert!(["STRICT", "DWRR", "WRR"].contains(&field(entry, "type")), "{name}");
    }
    for (name, entry) in table(root, "WRED_PROFILE") {
        for (key, value) in entry.as_object().expect(name) {
            let value = value.as_str().expect("a string");
            match key.split_once('_').filter(|(first, _)| ["green", "yellow", "red"].contains(first)) {
                _ if key == "ecn" => assert_eq!(value, "ecn_all"),
                _ if key.starts_with("wred_") => assert!(["true", "false"].contains(&value)),
                Some((_, "drop_probability")) => assert!(value.parse::<u8>().unwrap() <= 100),
                Some((colour, "max_threshold")) => {
                    let least: i32 = field(entry, &format!("{colour}_min_threshold")).parse().unwrap();
                    assert!(least > 0 && value.parse::<i32>().unwrap() >= least);
                }
                Some((_, "min_threshold")) => {}
                _ => panic!("{key}"),
            }
        }
    }

    let mut read = Read::default();
    for (port, maps) in table(root, "PORT_QOS_MAP") {
        assert!(
            maps.as_object().unwrap().keys().all(|key| ["dscp_to_tc_map", "tc_to_queue_map"].contains(&key.as_str()))
        );
        let classes = &table(root, "DSCP_TO_TC_MAP")[field(maps, "dscp_to_tc_map")];
        let queues = &table(root, "TC_TO_QUEUE_MAP")[field(maps, "tc_to_queue_map")];
        let mut of_port: Vec<(u8, Option<u64>)> = Vec::new();
        for (key, entry) in table(root, "QUEUE") {
            let (of, queue) = key.split_once('|').expect("port|queue");
            if of != port {
                continue;
            }
            assert_eq!(field(&table(root, "SCHEDULER")[field(entry, "scheduler")], "type"), "STRICT");
            let profile = entry.get("wred_profile").map(|name| &table(root, "WRED_PROFILE")[name.as_str().unwrap()]);
            let mark = profile.map(|profile| {
                let ends =
                    ["green_min_threshold", "green_max_threshold"].map(|end| field(profile, end).parse().unwrap());
                assert_eq!((ends[0], field(profile, "green_drop_probability")), (ends[1], "100"));
                ends[0]
            });
            of_port.push((queue.parse().unwrap(), mark));
        }
        // Of strict queues the higher is served first.
        of_port.sort_unstable_by(|one, other| other.cmp(one));
        for dscp in 0..64u8 {
            let class = field(classes, &dscp.to_string());
            let queue: u8 = field(queues, class).parse().unwrap();
            let rank = of_port.iter().position(|&(of, _)| of == queue).unwrap_or(UNTOUCHED);
            // Without a scheduler of its own a queue keeps that of the default template.
            assert!(rank != UNTOUCHED || ([3, 4].contains(&queue) && dscp == queue), "DSCP {dscp} in queue {queue}");
            assert_eq!(*read.rank.entry(dscp).or_insert(rank), rank);
        }
        let marks = of_port.iter().enumerate().map(|(rank, &(_, mark))| (rank, mark)).collect();
        read.marks.insert(port.clone(), marks);
    }
    read
}

/// The words of each line that is no comment.
fn lines(text: &str, comment: char) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = text.lines().filter(move |line| !line.starts_with(comment) && !line.is_empty());
    lines.map(|line| (line, line.split_whitespace().collect()))
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word} is a number"))
}

/// Queues with their marks, as `Read` has them: the higher number first.
fn ranked(mut queues: Vec<(u8, Option<u64>)>) -> (Vec<u8>, BTreeMap<usize, Option<u64>>) {
    queues.sort_unstable_by(|one, other| other.cmp(one));
    let marks = queues.iter().enumerate().map(|(rank, &(_, mark))| (rank, mark)).collect();
    (queues.into_iter().map(|(queue, _)| queue).collect(), marks)
}

fn read_eos(text: &str) -> Read {
    let (mut classes, mut queues_of) = (BTreeMap::new(), BTreeMap::new());
    let mut profiles: BTreeMap<&str, Vec<(u8, Option<u64>)>> = BTreeMap::new();
    let (mut profile, mut interface) = ("", "");
    let mut ports = Vec::new();
    let mut counted: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    // A checkpoint of what was, and a session that takes all or nothing.
    let lines = lines(text, '!').map(|(line, _)| line).collect::<Vec<_>>();
    assert_eq!(lines[..2], ["configure checkpoint save flowsieve", "configure session"]);
    for line in &lines[2..] {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["qos", "map", "dscp", ref dscps @ .., "to", "traffic-class", class] => {
                for dscp in dscps {
                    assert_eq!(classes.insert(number::<u8>(dscp), number::<u8>(class)), None, "{line}");
                }
            }
            ["qos", "map", "traffic-class", class, "to", "tx-queue", queue] => {
                assert_eq!(queues_of.insert(number::<u8>(class), number::<u8>(queue)), None, "{line}");
            }
            ["qos", "profile", name] => (profile, interface) = (name, ""),
            ["qos", "trust", "dscp"] => {}
            ["uc-tx-queue", queue] if !interface.is_empty() => {
                counted.entry(interface).or_default().push(number(queue))
            }
            ["uc-tx-queue", queue] => profiles.entry(profile).or_default().push((number(queue), None)),
            ["random-detect", "ecn", "count"] => assert!(!interface.is_empty(), "counters are an interface's"),
            ["priority", "strict"] => {}
            [
                "random-detect",
                "ecn",
                "minimum-threshold",
                least,
                "bytes",
                "maximum-threshold",
                most,
                "bytes",
                "max-mark-probability",
                "100",
                "weight",
                "0",
            ] => {
                let k: u64 = number(least);
                assert!(least == most && (1..=256_000_000).contains(&k), "{line}");
                profiles.get_mut(profile).unwrap().last_mut().unwrap().1 = Some(k);
            }
            ["interface", name] => interface = name,
            ["service-profile", name] => ports.push((interface, name)),
            _ => panic!("{line}"),
        }
    }
    let mut read = Read::default();
    for (port, profile) in ports {
        let (order, marks) = ranked(profiles[profile].clone());
        let marking: BTreeSet<u8> =
            order.iter().zip(&marks).filter(|(_, mark)| mark.1.is_some()).map(|at| *at.0).collect();
        assert_eq!(counted[port].iter().copied().collect::<BTreeSet<u8>>(), marking, "{port}");
        for dscp in 0..64 {
            let rank = order.iter().position(|&queue| queue == queues_of[&classes[&dscp]]).expect("a queue");
            assert_eq!(*read.rank.entry(dscp).or_insert(rank), rank);
        }
        read.marks.insert(port.to_owned(), marks);
    }
    read
}

fn read_nxos(text: &str) -> Read {
    let (mut classes, mut groups) = (BTreeMap::new(), BTreeMap::new());
    // By policy: rank, queue, mark.
    type Served = Vec<(usize, u8, Option<u64>)>;
    let mut policies: BTreeMap<&str, Served> = BTreeMap::new();
    let (mut class, mut policy, mut interface, mut queue) = ("", "", "", 0);
    let mut ports = Vec::new();
    let mut named: BTreeMap<&str, BTreeSet<u8>> = BTreeMap::new();
    for (line, words) in lines(text, '!') {
        match words[..] {
            ["checkpoint", "flowsieve"] | ["configure", "terminal"] => assert_eq!(policy, ""),
            ["bandwidth", "remaining", "percent", "0"] => {}
            ["class-map", "type", "qos", "match-any", name] | ["class", name] => class = name,
            ["match", "dscp", dscps] => {
                for dscp in dscps.split(',') {
                    assert_eq!(classes.insert(number::<u8>(dscp), class), None, "{line}");
                }
            }
            ["policy-map", "type", "qos", _] => {}
            ["set", "qos-group", group] => assert_eq!(groups.insert(class, number::<u8>(group)), None, "{line}"),
            ["policy-map", "type", "queuing", name] => policy = name,
            ["class", "type", "queuing", name] => {
                queue = match name {
                    "c-out-8q-q-default" => 0,
                    _ => number(name.strip_prefix("c-out-8q-q").expect("one of the system's classes")),
                };
                assert!(queue < 8 && named.entry(policy).or_default().insert(queue), "{line}");
            }
            ["priority", "level", level] => {
                let level: usize = number(level);
                assert!((1..=8).contains(&level), "{line}");
                policies.entry(policy).or_default().push((level - 1, queue, None));
            }
            [
                "random-detect",
                "minimum-threshold",
                least,
                "kbytes",
                "maximum-threshold",
                most,
                "kbytes",
                "drop-probability",
                "100",
                "weight",
                "0",
                "ecn",
            ] => {
                assert_eq!(least, most);
                policies.get_mut(policy).unwrap().last_mut().unwrap().2 = Some(number::<u64>(least) * 1_000);
            }
            ["interface", name] => interface = name,
            ["service-policy", "type", "qos", "input", "FS-IN"] => {}
            ["service-policy", "type", "queuing", "output", name] => ports.push((interface, name)),
            _ => panic!("{line}"),
        }
    }
    let mut read = Read::default();
    for (port, policy) in ports {
        assert_eq!(named[policy].len(), 8, "a policy names all queues");
        for dscp in 0..64 {
            let group = groups[classes.get(&dscp).copied().unwrap_or("class-default")];
            let rank = policies[policy].iter().find(|(_, queue, _)| *queue == group).expect("a queue").0;
            assert_eq!(*read.rank.entry(dscp).or_insert(rank), rank);
        }
        let marks = policies[policy].iter().map(|&(rank, _, mark)| (rank, mark)).collect();
        read.marks.insert(port.to_owned(), marks);
    }
    read
}

fn read_tc(text: &str) -> Read {
    // The band of packets of no filter.
    let mut bands_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut marks: BTreeMap<String, BTreeMap<usize, Option<u64>>> = BTreeMap::new();
    let mut ranks: BTreeMap<(&str, &str), BTreeMap<u8, usize>> = BTreeMap::new();
    let mut handles = BTreeSet::new();
    for (line, words) in lines(text, '#') {
        match words[..] {
            [
                "qdisc",
                "replace",
                "dev",
                port,
                "root",
                "handle",
                "1:",
                "ets",
                "bands",
                bands,
                "strict",
                strict,
                "priomap",
                ref map @ ..,
            ] => {
                let all: usize = number(bands);
                assert!(all <= 16 && bands == strict && map.len() == 16, "{line}");
                let other: usize = number(map[0]);
                assert!(map.iter().all(|&band| band == map[0]) && (1..all).contains(&other), "{line}");
                bands_of.insert(port, other);
                marks.insert(port.to_owned(), (0..all).map(|band| (band, None)).collect());
            }
            [
                "qdisc",
                "replace",
                "dev",
                port,
                "parent",
                parent,
                "handle",
                _,
                "red",
                "limit",
                limit,
                "min",
                least,
                "max",
                most,
                "avpkt",
                packet,
                "burst",
                burst,
                "probability",
                "1.0",
                "bandwidth",
                rate,
                "ecn",
                "nodrop",
            ] => {
                let k: u64 = number(least);
                // Below this tc refuses: "burst is too small"; above, red averages longer.
                assert_eq!((most, number::<u64>(burst)), (least, k.div_ceil(number(packet))), "{line}");
                assert!(number::<u64>(limit) >= 4 * k && number::<u64>(limit) < 1 << 32, "{line}");
                // A rate in bytes has 32 bits.
                assert!(number::<u64>(rate.strip_suffix("kbit").expect("kbit")) * 125 < 1 << 32, "{line}");
                let band = usize::from_str_radix(parent.strip_prefix("1:").expect("of the root"), 16).unwrap() - 1;
                *marks.get_mut(port).unwrap().get_mut(&band).expect("a band") = Some(k);
            }
            [
                "filter",
                "replace",
                "dev",
                port,
                "parent",
                "1:",
                "protocol",
                family,
                "prio",
                _,
                "handle",
                handle,
                "u32",
                "match",
                header,
                field,
                byte,
                "0xfc",
                "flowid",
                flow,
            ] => {
                assert!(
                    [("ip", "ip", "tos"), ("ipv6", "ip6", "priority")].contains(&(family, header, field)),
                    "{line}"
                );
                // By its number a second load finds the filter.
                assert!(
                    handles.insert((port, handle))
                        && handle.starts_with(if family == "ip" { "800::" } else { "801::" })
                );
                let byte = u8::from_str_radix(byte.strip_prefix("0x").expect("hexadecimal"), 16).unwrap();
                let band = usize::from_str_radix(flow.strip_prefix("1:").expect("of the root"), 16).unwrap() - 1;
                ranks.entry((port, family)).or_default().entry(byte >> 2).or_insert(band);
            }
            _ => panic!("{line}"),
        }
    }
    let mut read = Read { marks, ..Read::default() };
    for ((port, _), of) in ranks {
        for dscp in 0..64 {
            let rank = of.get(&dscp).copied().unwrap_or(bands_of[port]);
            assert_eq!(*read.rank.entry(dscp).or_insert(rank), rank);
        }
    }
    read
}

/// By interface, DSCP before, and bytes of one direction: the DSCP that a packet leaves with.
fn read_nftables(text: &str) -> impl Fn((&str, &str, u8), &str, u64) -> u8 + use<> {
    let mut rules: Vec<(String, String, (u64, u64), u8)> = Vec::new();
    let mut interfaces: Vec<String> = Vec::new();
    for (line, words) in lines(text, '#') {
        match words[..] {
            [
                "meta",
                "l4proto",
                "tcp",
                before,
                "dscp",
                "0",
                "ct",
                "direction",
                direction,
                "ct",
                same,
                "bytes",
                ref bytes @ ..,
                family,
                "dscp",
                "set",
                dscp,
            ] => {
                assert!(before == family && direction == same && ["original", "reply"].contains(&direction), "{line}");
                let range = match bytes {
                    [">=", from] => (number(from), u64::MAX),
                    [range] => range.split_once('-').map(|(from, to)| (number(from), number(to))).expect("a range"),
                    _ => panic!("{line}"),
                };
                assert!(range.0 <= range.1 && !interfaces.is_empty(), "{line}");
                rules.push((direction.to_owned(), family.to_owned(), range, number(dscp)));
            }
            ["oifname", "!=", "{", ref names @ .., "}", "accept"] => {
                interfaces = names.iter().map(|name| name.trim_matches(['"', ',']).to_owned()).collect();
            }
            ["table", "inet", "flowsieve"] | ["delete", "table", "inet", "flowsieve"] => {}
            ["table", "inet", "flowsieve", "{"] | ["chain", "tag", "{"] | ["}"] => {}
            ["type", "filter", "hook", "postrouting", "priority", "mangle;", "policy", "accept;"] => {}
            _ => panic!("{line}"),
        }
    }
    move |(interface, direction, before), family, bytes| {
        let is_own = interfaces.iter().any(|own| own == interface);
        let fits = |(of, to, (from, end), _): &&(String, String, (u64, u64), u8)| {
            of == direction && to == family && (*from..=*end).contains(&bytes)
        };
        // The first rule gives the packet a DSCP, so no other one changes it.
        rules.iter().find(fits).filter(|_| is_own && before == 0).map_or(before, |(.., dscp)| *dscp)
    }
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
