//! What has to hold besides latencies: counters of hosts and switches over the two periods, and bytes by DSCP.

use flowsieve_experiment::{Error, FileError};
use flowsieve_settings::files::read_text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest file of counters.
const MOST_BYTES: u64 = 16 << 20;

/// Counters that a file of `name,value` may have, and those of `nstat` that are used.
const NAMES: [&str; 15] = [
    "TcpOutSegs",
    "TcpRetransSegs",
    "TcpExtTCPTimeouts",
    "TcpExtTCPDelivered",
    "TcpExtTCPDeliveredCE",
    CAPABLE[0],
    CAPABLE[1],
    CAPABLE[2],
    CAPABLE[3],
    CAPABLE[4],
    CAPABLE[5],
    "packets",
    "discards",
    "pfc",
    "watchdog",
];

/// Packets that a host received with a field of ECN that may be marked, or is.
const CAPABLE: [&str; 6] =
    ["IpExtInECT0Pkts", "IpExtInECT1Pkts", "IpExtInCEPkts", "Ip6InECT0Pkts", "Ip6InECT1Pkts", "Ip6InCEPkts"];

/// A condition on counters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// What is compared.
    pub name: String,
    /// Its share before the change, if it was counted.
    pub before: Option<f64>,
    /// Its share after it.
    pub after: f64,
    /// The largest share that passes, or shares in points for bytes by DSCP.
    pub allowed: f64,
    /// Whether it passes.
    pub passes: bool,
    /// What a failure means.
    pub failure: Failure,
}

/// What a gate that fails means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// Traffic is harmed.
    Harm,
    /// What was rolled out does not do what was simulated, so latencies say nothing of it.
    NotInEffect,
}

/// Counted events by name.
type Counters = BTreeMap<String, f64>;

/// A share that may not rise: events over packets.
struct Rate {
    name: &'static str,
    events: &'static str,
    of: &'static str,
    /// A rise that is too small to matter.
    slack: f64,
}

const RATES: [Rate; 5] = [
    Rate { name: "retransmissions", events: "TcpRetransSegs", of: "TcpOutSegs", slack: 1e-4 },
    Rate { name: "timeouts", events: "TcpExtTCPTimeouts", of: "TcpOutSegs", slack: 1e-5 },
    Rate { name: "discards", events: "discards", of: "packets", slack: 1e-6 },
    Rate { name: "PFC pauses", events: "pfc", of: "packets", slack: 1e-6 },
    Rate { name: "PFC watchdog", events: "watchdog", of: "packets", slack: 0.0 },
];

/// A rise up to this is not told from the change of traffic.
const RISE: f64 = 1.2;

/// Above this share of marked packets K is far too low, or the links are overloaded.
const MOST_CE: f64 = 0.5;

/// Delivered packets without one mark, from which ECN cannot be on.
const FEWEST_DELIVERED: f64 = 100_000.0;

/// Reads counters of both periods, and says what passes. Where hosts use no ECN, a note says so: no port could mark anything.
pub(crate) fn of_counters(before: &Path, after: &Path, notes: &mut Vec<String>) -> Result<Vec<Gate>, Error> {
    let (was, is) = (read(before)?, read(after)?);
    let share = |of: &Counters, events: &str, all: &str| match (of.get(events), of.get(all)) {
        (Some(events), Some(all)) if *all > 0.0 => Some(events / all),
        _ => None,
    };
    let mut gates = Vec::new();
    for Rate { name, events, of, slack } in RATES {
        let (Some(was), Some(is)) = (share(&was, events, of), share(&is, events, of)) else {
            if is.contains_key(events) || was.contains_key(events) {
                notes.push(format!("{name} are not compared: {of} is not counted in both periods"));
            }
            continue;
        };
        let allowed = RISE * was + slack;
        gates.push(Gate {
            name: name.to_owned(),
            before: Some(was),
            after: is,
            allowed,
            passes: is <= allowed,
            failure: Failure::Harm,
        });
    }
    let delivered = is.get("TcpExtTCPDelivered").copied().unwrap_or(0.0);
    if let Some(marked) = share(&is, "TcpExtTCPDeliveredCE", "TcpExtTCPDelivered") {
        let counted: Vec<f64> = CAPABLE.iter().filter_map(|name| is.get(*name).copied()).collect();
        let uses_ecn = counted.is_empty() || counted.iter().sum::<f64>() > 0.0;
        if !uses_ecn {
            notes.push(
                "hosts received no packet that could be marked: right if they stay as they are today, else ECN is off"
                    .into(),
            );
        }
        let is_off = uses_ecn && marked == 0.0 && delivered >= FEWEST_DELIVERED;
        let before = share(&was, "TcpExtTCPDeliveredCE", "TcpExtTCPDelivered");
        // What had more marks before is not harmed.
        let allowed = MOST_CE.max(RISE * before.unwrap_or(0.0));
        gates.push(Gate {
            name: "packets with CE".to_owned(),
            before,
            after: marked,
            allowed,
            passes: !is_off && marked <= allowed,
            failure: if is_off { Failure::NotInEffect } else { Failure::Harm },
        });
    }
    if gates.is_empty() {
        let expected = format!("what both files have of {}", NAMES.join(", "));
        return Err(FileError::new("value", after, "no two counters make a share").expected(expected).into());
    }
    Ok(gates)
}

/// Reads counters: `nstat --json` of one host or several, or rows of `name,value`.
fn read(path: &Path) -> Result<Counters, Error> {
    let text = text_of(path, "a file of counters")?;
    let mut counters = Counters::new();
    let mut add = |name: &str, value: f64| *counters.entry(name.to_owned()).or_insert(0.0) += value;
    if text.trim_start().starts_with('{') {
        for host in serde_json::Deserializer::from_str(&text).into_iter::<Nstat>() {
            let host = host.map_err(|error| {
                FileError::new("file", path, error.to_string())
                    .expected("the output of `nstat --json`, a host after the other")
            })?;
            for (name, value) in host.kernel.iter().filter(|(name, _)| NAMES.contains(&name.as_str())) {
                if !(value.is_finite() && *value >= 0.0) {
                    return Err(FileError::new("value", path, format!("{name} is {value}")).expected("a count").into());
                }
                add(name, *value);
            }
        }
        // It leaves out what is zero: no mark, no timeout.
        NAMES.iter().filter(|name| name.starts_with("Tcp") || name.starts_with("Ip")).for_each(|name| add(name, 0.0));
        return Ok(counters);
    }
    for (line, row) in (1..).zip(text.lines().map(str::trim)) {
        let (name, value) = row.split_once(',').unwrap_or((row, ""));
        let (name, value) = (name.trim(), value.trim());
        if row.is_empty() || row.starts_with('#') || (line == 1 && value.parse::<f64>().is_err() && !value.is_empty()) {
            continue;
        }
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        match value.filter(|_| NAMES.contains(&name)) {
            Some(value) => add(name, value),
            None => {
                let problem = format!("{:?}", row.chars().take(60).collect::<String>());
                let expected = format!("`name,value` with one of {}", NAMES.join(", "));
                return Err(FileError::new("value", path, problem).at(line).expected(expected).into());
            }
        }
    }
    Ok(counters)
}

/// What `nstat --json` prints.
#[derive(Deserialize)]
struct Nstat {
    kernel: BTreeMap<String, f64>,
}

/// What `flowsieve agent status --json` prints of a program, as far as it is judged.
#[derive(Deserialize)]
struct Status {
    kind: String,
    attached: bool,
    dry_run: bool,
    judgement: Option<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    apart: f64,
    allowed: f64,
}

/// Reads what `agent status --sizes … --json` printed: bytes by DSCP next to what was predicted. A host that tags nothing fails.
pub(crate) fn of_status(path: &Path) -> Result<Vec<Gate>, Error> {
    let wrong = |problem: String| {
        FileError::new("file", path, problem)
            .expected("the output of `flowsieve agent status DEVICE --sizes FILE --json`")
    };
    let text = text_of(path, "a file of `agent status --json`")?;
    let hosts = serde_json::Deserializer::from_str(&text).into_iter::<Vec<Status>>();
    let hosts: Vec<Vec<Status>> = hosts.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    let tags: Vec<Status> = hosts.into_iter().flatten().filter(|status| status.kind == "tag").collect();
    if tags.iter().all(|tag| tag.judgement.is_none()) {
        return Err(wrong("no program is compared with a prediction".to_owned()).into());
    }
    let idle = tags.iter().filter(|tag| !tag.attached || tag.dry_run || tag.judgement.is_none()).count();
    let gate = |name: &str, after: f64, allowed: f64| Gate {
        name: name.to_owned(),
        before: None,
        after,
        allowed,
        passes: after <= allowed,
        failure: Failure::NotInEffect,
    };
    let judged = tags.iter().filter_map(|tag| tag.judgement.as_ref());
    // Of several hosts the one that is furthest off.
    let worst = judged.max_by(|one, other| (one.apart / one.allowed).total_cmp(&(other.apart / other.allowed)));
    let shares = worst.map(|of| gate("bytes by DSCP, in points from predicted", of.apart, of.allowed));
    Ok(shares.into_iter().chain([gate("hosts that tag nothing", idle as f64, 0.0)]).collect())
}

fn text_of(path: &Path, expected: &str) -> Result<String, Error> {
    read_text(path, MOST_BYTES).map_err(|error| FileError::unreadable(path, &error, expected).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }

    fn gates(before: &str, after: &str) -> Result<Vec<(String, bool, Failure)>, String> {
        let (before, after) = (file(before), file(after));
        let named = |error: Error| error.to_string().replace(&after.path().display().to_string(), "f");
        let gates = of_counters(before.path(), after.path(), &mut Vec::new()).map_err(named)?;
        Ok(gates.into_iter().map(|gate| (gate.name, gate.passes, gate.failure)).collect())
    }

    /// nstat leaves out what is zero. Marks of 70 % before and 60 % after are no harm.
    #[test]
    fn of_counters__nstat_without_zeros() {
        let of = |more: &str| {
            format!(
                "{{\"kernel\":{{\"TcpOutSegs\":1000000,\"TcpExtTCPDelivered\":900000,\"IpExtInECT0Pkts\":7{more}}}}}"
            )
        };
        let found = gates(&of(""), &of(",\"TcpExtTCPTimeouts\":900")).unwrap();
        let failed: Vec<&str> = found.iter().filter(|gate| !gate.1).map(|gate| gate.0.as_str()).collect();
        assert_eq!(failed, ["timeouts", "packets with CE"]);
        let marked = |of_them: u64| of(&format!(",\"TcpExtTCPDeliveredCE\":{of_them}"));
        assert!(gates(&marked(630_000), &marked(540_000)).unwrap().iter().all(|gate| gate.1));
    }

    /// Hosts without ECN, as today: no port could mark anything, and nothing is wrong with K.
    #[test]
    fn of_counters__hosts_without_ecn_have_no_marks() {
        let of =
            file("{\"kernel\":{\"TcpOutSegs\":1000000,\"TcpExtTCPDelivered\":900000,\"IpExtInNoECTPkts\":900000}}");
        let mut notes = Vec::new();
        assert!(of_counters(of.path(), of.path(), &mut notes).unwrap().iter().all(|gate| gate.passes));
        assert!(notes[0].contains("no packet that could be marked"), "{notes:?}");
    }

    /// Two hosts before with one retransmission in a thousand; a fifth more passes, and not a half.
    #[test]
    fn of_counters__retransmissions_may_rise_by_a_fifth() {
        let nstat = |sent: u64, again: u64| {
            format!("{{\"kernel\":{{\"TcpOutSegs\":{sent},\"TcpRetransSegs\":{again},\"IpInReceives\":5}}}}\n")
        };
        let before = nstat(900_000, 1_000) + &nstat(100_000, 0);
        let passes = |again| gates(&before, &nstat(1_000_000, again)).unwrap()[0].1;
        assert_eq!([passes(1_000), passes(1_290), passes(1_500)], [true, true, false]);
    }

    #[test]
    fn of_counters__no_mark_at_all_is_no_ecn() {
        let of =
            |delivered: u64, marked: u64| format!("TcpExtTCPDelivered,{delivered}\nTcpExtTCPDeliveredCE,{marked}\n");
        let gate = |delivered, marked| gates(&of(9, 1), &of(delivered, marked)).unwrap().remove(0);
        assert_eq!(gate(200_000, 0), ("packets with CE".to_owned(), false, Failure::NotInEffect));
        assert!(gate(2_000, 0).1 && gate(200_000, 9_000).1);
        assert_eq!(gate(200_000, 190_000), ("packets with CE".to_owned(), false, Failure::Harm));
    }

    #[test]
    fn of_counters__discards_and_pauses() {
        let of =
            |discards: u64, pfc: u64| format!("counter,value\npackets,1000000000\ndiscards,{discards}\npfc,{pfc}\n");
        let passes = |discards, pfc| {
            let found = gates(&of(1_000, 0), &of(discards, pfc)).unwrap();
            found.into_iter().map(|gate| gate.1).collect::<Vec<_>>()
        };
        assert_eq!(passes(900, 0), [true, true]);
        assert_eq!(passes(9_000, 0), [false, true]);
        assert_eq!(passes(900, 90_000), [true, false]);
    }

    #[test]
    fn of_counters__what_is_no_counter_is_refused_in_one_line() {
        let expected = format!("expected `name,value` with one of {}", NAMES.join(", "));
        assert_eq!(gates("packets,1", "drops,5\n").unwrap_err(), format!("f:1: \"drops,5\"; {expected}"));
        assert_eq!(gates("packets,1", "packets,-5\n").unwrap_err(), format!("f:1: \"packets,-5\"; {expected}"));
        assert!(gates("packets,1", "{\"kernel\":5}").unwrap_err().contains("expected the output of `nstat --json`"));
        assert!(gates("packets,1", "packets,5\n").unwrap_err().starts_with("f: no two counters make a share"));
        let negative = "{\"kernel\":{\"TcpOutSegs\":-5}}";
        assert!(gates("packets,1", negative).unwrap_err().contains("TcpOutSegs is -5"));
    }

    #[test]
    fn of_status__the_host_that_is_furthest_off() {
        let of = |apart: f64, passes: bool| {
            let tag = "\"kind\":\"tag\",\"attached\":true,\"dry_run\":false";
            format!("[{{{tag},\"judgement\":{{\"apart\":{apart},\"allowed\":0.5,\"passes\":{passes}}}}}]")
        };
        let gate = |text: String| of_status(file(&text).path()).map(|mut gates| gates.remove(0));
        let idle = |text: String| of_status(file(&text).path()).map(|mut gates| gates.remove(1).passes);
        // A host that counts alone, one that is gone, and one that has tagged nothing yet are not in effect.
        assert!(idle(of(0.2, true)).unwrap());
        assert!(!idle(of(0.2, true).replace("\"dry_run\":false", "\"dry_run\":true")).unwrap());
        assert!(!idle(of(0.2, true).replace("\"attached\":true", "\"attached\":false")).unwrap());
        let nothing = "[{\"kind\":\"tag\",\"attached\":true,\"dry_run\":false,\"judgement\":null}]";
        assert!(!idle(of(0.2, true) + nothing).unwrap());
        let found = gate(of(0.2, true) + &of(2.5, false)).unwrap();
        assert_eq!((found.after, found.passes, found.failure), (2.5, false, Failure::NotInEffect));
        assert!(gate(of(0.2, true)).unwrap().passes);
        assert!(gate("[]".to_owned()).is_err());
    }
}
