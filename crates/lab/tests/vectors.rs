//! Conformance vectors: made by core's schedulers, replayed through the fabric in memory, and refused where they are wrong.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::BufRead;

use crate::limited::Limited;
use flowsieve_core::admission::Admission;
use flowsieve_core::controller::{Published, Table};
use flowsieve_core::{Node, PortKind, Time};
use flowsieve_fabric::topology::{FABRIC_SETTINGS, Fabric};
use flowsieve_lab::InMemory;
use flowsieve_lab::vectors::{Case, Differs, Field, LIMITS, Memory, Problem, Reader, Replayed, record, replay};
use flowsieve_schemes::scheme::{ByPlace, PortSpec};
use flowsieve_schemes::{Context, REGISTRY, Scheme, WorkloadFacts};
use flowsieve_settings::{Place, Settings};
use proptest::prelude::*;

const OVERHEAD: u16 = 24;
const SEED: u64 = 7;

/// Sizes uniform to 200 KB, for thresholds.
struct Uniform;

impl WorkloadFacts for Uniform {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        Some(0.8)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Some((p * 200_000.0).round() as u64)
    }
}

fn built(scheme: &str, other: &[(&str, &str)]) -> Option<(Fabric, Scheme)> {
    let mut settings = Settings::of([flowsieve_schemes::SETTINGS, FABRIC_SETTINGS].concat().concat())
        .with(None, "kind", "single-switch")
        .with(None, "hosts", 2)
        .with(None, "host_link", "10Gbps")
        .with(None, "nic", "scheme")
        .with(None, "buffer", "60KB")
        .with(None, "ecn_threshold", "20KB");
    for &(name, value) in other {
        settings = settings.with(None, name, value);
    }
    let entry = REGISTRY.iter().find(|entry| entry.name == scheme)?;
    let scheme = entry.scheme(&Context { scope: settings.scheme(scheme), workload: &Uniform }).ok()?;
    Some((Fabric::from_settings(&settings).expect("a fabric"), scheme))
}

/// Returns the link behind the port of a place: the host's own, or the switch's towards a host.
fn link(fabric: &Fabric, place: Place) -> u32 {
    let is_there = |node: Node| fabric.place_of(node) == place;
    fabric.links.iter().position(|link| is_there(link.from)).expect("a port there") as u32
}

fn recorded(fabric: &Fabric, scheme: &Scheme, place: Place, packets: u32, tables: &[(Time, Published)]) -> Vec<u8> {
    let link = link(fabric, place);
    let case = Case { fabric, scheme, overhead: OVERHEAD, link, seed: SEED, packets, tables };
    let mut lines = Vec::new();
    record(&case, [("queues".to_owned(), "8".to_owned())], &mut lines).expect("memory takes them");
    lines
}

fn replayed(fabric: &Fabric, scheme: &Scheme, place: Place, lines: impl BufRead) -> Result<Replayed, Differs> {
    let link = link(fabric, place);
    let build = |_: &_| Ok(InMemory::new(fabric, scheme, OVERHEAD, SEED, 1 << 14));
    replay(lines, &mut Memory::new(link, &["limit"], build))
}

/// Every scheme at a switch and at a host, with memory of its own and with shared memory.
#[test]
fn vectors__the_fabric_in_memory_conforms_under_every_scheme() {
    let mut sum = Replayed::default();
    let mut schemes = 0;
    let others: [&[(&str, &str)]; 3] =
        [&[], &[("parameters", "rfc")], &[("admission", "shared"), ("shared_buffer", "90KB")]];
    for entry in REGISTRY.iter() {
        let mut plays = false;
        for other in others {
            let Some((fabric, scheme)) = built(entry.name.as_str(), other) else { continue };
            for place in [Place::Leaf, Place::Nic] {
                let lines = recorded(&fabric, &scheme, place, 1_000, &[]);
                assert!(lines == recorded(&fabric, &scheme, place, 1_000, &[]), "the same bytes each time");
                let found = replayed(&fabric, &scheme, place, &lines[..]);
                let found =
                    found.unwrap_or_else(|differs| panic!("{} {other:?} {place:?}: {differs}", entry.name.as_str()));
                assert_eq!(found.arrived, 1_000, "{}", entry.name.as_str());
                assert_eq!(found.arrived, found.left + found.dropped + found.evicted, "{}", entry.name.as_str());
                plays = true;
                sum.dropped += found.dropped;
                sum.evicted += found.evicted;
                sum.marked += found.marked;
                sum.parameters += found.parameters;
            }
        }
        schemes += usize::from(plays);
    }
    assert_eq!(schemes, REGISTRY.len());
    let Replayed { dropped, evicted, marked, parameters, .. } = sum;
    assert!(dropped > 10_000 && evicted > 1_000 && marked > 10_000 && parameters > 100, "{sum:?}");
}

/// Another decision in any line is found in that line.
#[test]
fn replay__names_the_line_and_the_decision_that_differs() {
    let (fabric, scheme) = built("pias", &[]).expect("a scheme");
    let lines = recorded(&fabric, &scheme, Place::Leaf, 700, &[]);
    let text = String::from_utf8(lines).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let differs = |number: usize, line: String| {
        let mut lines: Vec<&str> = lines.clone();
        lines[number] = &line;
        replayed(&fabric, &scheme, Place::Leaf, lines.join("\n").as_bytes())
    };
    let find = |what: &[&str]| {
        let found = lines.iter().rposition(|line| what.iter().all(|part| line.contains(part)));
        found.unwrap_or_else(|| panic!("no line with {what:?}"))
    };
    let cases = [
        (find(&["arrive", "\"queue\":0"]), "\"queue\":0", "\"queue\":1", Field::Queue),
        (find(&["arrive", ",\"marked\":true"]), ",\"marked\":true", "", Field::Marked),
        (find(&["arrive", "\"queued\":false"]), "\"queued\":false", "\"queued\":true", Field::Queued),
        (find(&["leave", "\"queue\":0"]), "\"queue\":0", "\"queue\":1", Field::Leaves),
    ];
    for (number, from, to, field) in cases {
        match differs(number, lines[number].replacen(from, to, 1)) {
            Err(Differs::Field { line, field: found, .. }) => assert_eq!((line, found), (number as u64 + 1, field)),
            other => panic!("{from}: {other:?}"),
        }
    }
}

/// A table that lowers a limit to nothing half way: everything behind it is dropped, here and there.
#[test]
fn vectors__a_port_that_follows_tables_gets_them() {
    let (fabric, mut scheme) = built("dctcp", &[]).expect("a scheme");
    let own = |_: &_, _: &_| Limited { queue: Default::default(), limit: 1_000 };
    let spec = PortSpec { admission: Admission::Unlimited, ..PortSpec::unlimited(PortKind::custom(own)) };
    scheme.ports = ByPlace::try_from_fn(|_| Ok::<_, Infallible>(spec.clone())).expect("ports");
    let table = |name| Published { version: 1, table: Table::of_thresholds(name, &[0]) };
    let lines = recorded(&fabric, &scheme, Place::Leaf, 300, &[(Time::from_us(20), table("limit"))]);
    let found = replayed(&fabric, &scheme, Place::Leaf, &lines[..]).expect("it conforms");
    assert!(found.tables == 1 && found.dropped > 10 && found.left > 10, "{found:?}");
    let text = String::from_utf8(lines).expect("text");
    let first = text.lines().position(|line| line.contains("\"do\":\"table\"")).expect("a table");
    let rest: Vec<&str> = text.lines().skip(first).filter(|line| line.contains("arrive")).collect();
    assert!(rest.iter().all(|line| line.contains("\"queued\":false")), "{rest:?}");
    let lines = recorded(&fabric, &scheme, Place::Leaf, 3, &[(Time::ZERO, table("another"))]);
    let refused = replayed(&fabric, &scheme, Place::Leaf, &lines[..]).expect_err("no port follows it");
    assert_eq!(refused.to_string(), "line 2: the port follows no table named `another`");
}

const BEGIN: &str = r#"{"do":"begin","format":"flowsieve-vectors","version":1,"scheme":"pias","place":"leaf","rate_bps":1000,"overhead":24,"header":40,"queues":2,"seed":1}"#;

fn arrive(at: u64, packet: u32, more: &str) -> String {
    format!(
        r#"{{"do":"arrive","at":{at},"packet":{packet},"flow":1,"len":1500,"priority":0,"rank":0,"ecn":true,"queued":true,"queue":1{more}}}"#
    )
}

fn leave(at: u64, packet: u32, queue: u8) -> String {
    format!(r#"{{"do":"leave","at":{at},"packet":{packet},"queue":{queue}}}"#)
}

#[test]
fn reader__takes_what_does_not_contradict_itself() {
    let lines = [
        BEGIN.to_owned(),
        arrive(5, 0, ""),
        String::new(),
        arrive(5, 1, ""),
        leave(5, 1, 1),
        BEGIN.to_owned(),
        arrive(0, 0, ""),
    ];
    let text = lines.join("\n");
    let read: Vec<_> = Reader::new(text.as_bytes()).collect::<Result<_, _>>().expect("all lines");
    assert_eq!(read.len(), 6);
}

#[test]
fn reader__names_the_line_and_what_is_wrong() {
    let begin = || BEGIN.to_owned();
    let victim = |packet: u32| format!(r#","victims":[{{"packet":{packet},"queue":0}}]"#);
    let long = format!("{BEGIN}{}", " ".repeat(LIMITS.line_bytes as usize));
    let wrong: Vec<(Vec<String>, &str)> = vec![
        (vec![arrive(0, 0, "")], "line 1: stands before the first line that begins a case"),
        (
            vec![begin().replace("\"version\":1", "\"version\":2")],
            "line 1: begins `flowsieve-vectors` of version 2; expected `flowsieve-vectors` of version 1",
        ),
        (
            vec![begin().replace("\"queues\":2", "\"queues\":257")],
            "line 1: begins a port of 257 queues; expected 1 to 256",
        ),
        (vec![begin().replace("\"rate_bps\":1000", "\"rate_bps\":0")], "line 1: begins a port whose line has no rate"),
        (vec![begin(), arrive(7, 0, ""), arrive(6, 1, "")], "line 3: is at 6 ps, before the line above at 7 ps"),
        (vec![begin(), arrive(7, 1, "")], "line 2: has packet 1 arrive; expected 0, the next"),
        (vec![begin(), leave(7, 0, 0)], "line 2: names packet 0, which does not wait"),
        (
            vec![begin(), arrive(7, 0, ""), leave(7, 0, 1), leave(8, 0, 1)],
            "line 4: names packet 0, which does not wait",
        ),
        (vec![begin(), arrive(7, 0, ""), leave(7, 0, 2)], "line 3: names queue 2 of a port of 2"),
        (vec![begin(), arrive(7, 0, &victim(0))], "line 2: names packet 0, which does not wait"),
        (vec![begin(), arrive(7, 0, "").replace("1500", "0")], "line 2: has a packet of 0 bytes of coflow None"),
        (vec![begin(), arrive(7, 0, ",\"colour\":1")], "line 2: is not a line of vectors: unknown field `colour`"),
        (vec![begin(), "{\"do\":\"jump\"}".to_owned()], "line 2: is not a line of vectors: unknown variant `jump`"),
        (vec![long], "line 1: is longer than 262144 bytes"),
    ];
    for (lines, expected) in wrong {
        let text = lines.join("\n");
        let mut reader = Reader::new(text.as_bytes());
        let error = reader.by_ref().find_map(Result::err).unwrap_or_else(|| panic!("{expected}: all is read"));
        assert!(error.to_string().starts_with(expected), "{error}; expected {expected}");
        assert!(reader.next().is_none(), "nothing is read behind an error");
    }
    let failing = std::io::BufReader::new(Failing);
    let error = Reader::new(failing).next().expect("an error").expect_err("an error");
    assert!(matches!(error.problem, Problem::Unreadable(_)));
}

/// Fails at the first byte.
struct Failing;

impl std::io::Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("gone"))
    }
}

proptest! {
    /// Bytes that are changed anywhere are read, refused, or found to differ.
    #[test]
    fn replay__any_change_is_no_panic(
        changes in prop::collection::vec((0usize..60_000, any::<u8>()), 1..4),
        cut in 0usize..60_000,
    ) {
        let (fabric, scheme) = built("pias", &[]).expect("a scheme");
        let mut lines = recorded(&fabric, &scheme, Place::Leaf, 60, &[]);
        for (place, byte) in changes {
            let place = place % lines.len();
            lines[place] = byte;
        }
        lines.truncate(cut.max(1_000));
        let _ = replayed(&fabric, &scheme, Place::Leaf, &lines[..]);
    }
}

#[test]
fn record__the_first_line_says_what_the_case_is() {
    let (fabric, scheme) = built("qc-las", &[("admission", "shared"), ("shared_buffer", "90KB")]).expect("a scheme");
    let text = String::from_utf8(recorded(&fabric, &scheme, Place::Leaf, 1, &[])).expect("text");
    let begin: serde_json::Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let fields = ["scheme", "place", "rate_bps", "memory", "seed"].map(|field| (field, begin[field].to_string()));
    let fields: BTreeMap<_, _> = fields.into_iter().collect();
    let expected = [
        ("scheme", "\"qc-las\""),
        ("place", "\"leaf\""),
        ("rate_bps", "10000000000"),
        ("memory", "90000"),
        ("seed", "7"),
    ];
    assert_eq!(fields, expected.map(|(field, value)| (field, value.to_owned())).into_iter().collect());
}
