//! A reader of each language, which knows its rules and nothing of the writer.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a reader finds: by DSCP the queue, its rank among those served (0 first), and its threshold at a port.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// By DSCP: how many queues are served before its own.
    pub(super) rank: BTreeMap<u8, usize>,
    /// By port: thresholds by rank; `None`: no marks.
    pub(super) marks: BTreeMap<String, BTreeMap<usize, Option<u64>>>,
}

/// The rank of a queue that a file leaves as it was.
pub(super) const UNTOUCHED: usize = usize::MAX;

pub(super) fn table<'a>(root: &'a Map<String, Value>, name: &str) -> &'a Map<String, Value> {
    root[name].as_object().unwrap_or_else(|| panic!("{name} is a table"))
}

/// A string of an entry. SONiC's database has no other values.
fn field<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().unwrap_or_else(|| panic!("{name} is a string: {entry}"))
}

/// Reads SONiC's tables by the rules of its YANG models and of the agent that reads them.
pub(super) fn read_sonic(text: &str) -> Read {
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

pub(super) fn read_eos(text: &str) -> Read {
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

pub(super) fn read_nxos(text: &str) -> Read {
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

pub(super) fn read_tc(text: &str) -> Read {
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
pub(super) fn read_nftables(text: &str) -> impl Fn((&str, &str, u8), &str, u64) -> u8 + use<> {
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
