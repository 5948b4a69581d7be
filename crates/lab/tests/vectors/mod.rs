//! Conformance vectors: what a port decides, packet by packet. They are recorded from core's scheduler alone, which is called as
//! a port with a line calls it, and replayed through the port of the fabric in memory, every decision compared.
//!
//! A port that is built elsewhere (a switch's, a queueing discipline, P4) can be held against them, too. This writes those of
//! every scheme into a folder, a file of JSON lines for each case; the lines are described in line.rs:
//!
//!     FLOWSIEVE_VECTORS=/tmp/vectors cargo test --profile ci --test lab_tests vectors::
//!
//! The packets come from 24 flows at a time, with the tags of the scheme's hosts, except for one in 16, which no host would write.
//! The first 700 of each 1,300 packets fill a port of the usual size until it drops; later ones find shorter queues, and empty
//! ones. Other settings of a scheme are a row of `OTHERS`.
//!
//! - Call by call: a port that is called for each arrival and departure gets every line's call at its instant.
//! - By arrivals: a port with a line of its own gets the arrivals alone, on a line of the stated rate. What it takes, and when,
//!   must be what the lines say.
//!
//! At one instant departures come before arrivals, and an arrival at an idle line leaves at once. Where chance decides, the
//! numbers that were drawn stand in the line: a port that cannot draw the same cannot be held against such a scheme.

mod line;
mod record;
mod replay;
mod traffic;

use std::convert::Infallible;
use std::path::Path;

use crate::limited::Limited;
use flowsieve_core::admission::Admission;
use flowsieve_core::controller::{Published, Table};
use flowsieve_core::{Node, PortKind, Time};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_schemes::scheme::{ByPlace, PortSpec};
use flowsieve_schemes::{REGISTRY, Scheme};
use flowsieve_settings::Place;
use flowsieve_sim::in_memory::InMemory;
use flowsieve_sim::topology::Fabric;
use line::Line;
use record::{Case, record};
use replay::{Differs, Field, Memory, Replayed, replay};

const OVERHEAD: u16 = 24;
const SEED: u64 = 7;

fn built(scheme: &str, other: &[(&str, &str)]) -> Option<(Fabric, Scheme)> {
    let mut settings = bare::none_given()
        .with(None, "kind", "single-switch")
        .with(None, "hosts", 2)
        .with(None, "host_link", "10Gbps")
        .with(None, "nic", "scheme")
        .with(None, "buffer", "60KB")
        .with(None, "ecn_threshold", "20KB");
    for &(name, value) in other {
        settings = settings.with(None, name, value);
    }
    let scheme = bare::scheme(scheme, &settings, &Facts::uniform(200_000, 0.8)).ok()?;
    // Vectors are of ports. What switches do beyond queueing, such as cutting what a port turns away, is not in them.
    let scheme = Scheme { on_hop: Vec::new(), ..scheme };
    Some((Fabric::from_settings(&settings).expect("a fabric"), scheme))
}

/// Returns the link behind the port of a place: the host's own, or the switch's towards a host.
fn link(fabric: &Fabric, place: Place) -> u32 {
    let is_there = |node: Node| fabric.place_of(node) == place;
    fabric.links.iter().position(|link| is_there(link.from)).expect("a port there") as u32
}

fn recorded(fabric: &Fabric, scheme: &Scheme, place: Place, packets: u32, tables: &[(Time, Published)]) -> Vec<Line> {
    let link = link(fabric, place);
    record(&Case { fabric, scheme, overhead: OVERHEAD, link, seed: SEED, packets, tables })
}

fn replayed(fabric: &Fabric, scheme: &Scheme, place: Place, lines: &[Line]) -> Result<Replayed, Differs> {
    let build = || InMemory::new(fabric, scheme, OVERHEAD, SEED, 1 << 14);
    replay(lines, &mut Memory::new(link(fabric, place), &["limit"], &build))
}

/// Writes vectors as JSON, a line each.
fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| serde_json::to_string(line).expect("a line") + "\n").collect()
}

/// Settings with which the ports of each scheme are built: with memory of their own, and with shared memory.
const OTHERS: [&[(&str, &str)]; 3] =
    [&[], &[("parameters", "rfc")], &[("admission", "shared"), ("shared_buffer", "90KB")]];

/// Every scheme at a switch and at a host, with memory of its own and with shared memory.
#[test]
fn vectors__the_fabric_in_memory_conforms_under_every_scheme() {
    let mut sum = Replayed::default();
    let mut schemes = 0;
    let folder = std::env::var_os("FLOWSIEVE_VECTORS");
    for entry in REGISTRY.iter() {
        let mut plays = false;
        for (number, other) in OTHERS.into_iter().enumerate() {
            let Some((fabric, scheme)) = built(entry.name.as_str(), other) else { continue };
            for place in [Place::Leaf, Place::Nic] {
                let lines = recorded(&fabric, &scheme, place, 1_000, &[]);
                let again = recorded(&fabric, &scheme, place, 1_000, &[]);
                assert!(text(&lines) == text(&again), "the same bytes each time");
                if let Some(folder) = &folder {
                    let file =
                        Path::new(folder).join(format!("{}-{number}-{}.jsonl", entry.name.as_str(), place.name()));
                    std::fs::write(&file, text(&lines)).expect("a folder to write to");
                }
                let found = replayed(&fabric, &scheme, place, &lines);
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
    /// Changes a decision of a line, if it has one of this kind.
    fn changed(line: &mut Line, field: Field) -> bool {
        match (field, line) {
            (Field::Queue, Line::Arrive(arrive)) if arrive.queue == 0 => arrive.queue = 1,
            (Field::Marked, Line::Arrive(arrive)) if arrive.marked => arrive.marked = false,
            (Field::Queued, Line::Arrive(arrive)) if !arrive.queued => arrive.queued = true,
            (Field::Leaves, Line::Leave(leave)) if leave.queue == 0 => leave.queue = 1,
            _ => return false,
        }
        true
    }
    for field in [Field::Queue, Field::Marked, Field::Queued, Field::Leaves] {
        let mut lines = lines.clone();
        let changed = lines.iter_mut().rposition(|line| changed(line, field)).expect("such a line");
        match replayed(&fabric, &scheme, Place::Leaf, &lines) {
            Err(Differs::Field { line, field: found, .. }) => assert_eq!((line, found), (changed + 1, field)),
            other => panic!("{field:?}: {other:?}"),
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
    let found = replayed(&fabric, &scheme, Place::Leaf, &lines).expect("it conforms");
    assert!(found.tables == 1 && found.dropped > 10 && found.left > 10, "{found:?}");
    let first = lines.iter().position(|line| matches!(line, Line::Table(_))).expect("a table");
    let is_taken = |line: &Line| matches!(line, Line::Arrive(arrive) if arrive.queued);
    assert!(!lines[first..].iter().any(is_taken), "{:?}", &lines[first..]);
    let lines = recorded(&fabric, &scheme, Place::Leaf, 3, &[(Time::ZERO, table("another"))]);
    let refused = replayed(&fabric, &scheme, Place::Leaf, &lines).expect_err("no port follows it");
    assert_eq!(refused.to_string(), "line 2: the port follows no table named `another`");
}

#[test]
fn record__the_first_lines_say_what_the_case_is_and_what_it_begins_with() {
    let (fabric, scheme) = built("qc-las", &[("admission", "shared"), ("shared_buffer", "90KB")]).expect("a scheme");
    let text = text(&recorded(&fabric, &scheme, Place::Leaf, 1, &[]));
    let begin = "{\"do\":\"begin\",\"format\":\"flowsieve-vectors\",\"version\":1,\"scheme\":\"qc-las\",\"place\":\"leaf\",\
                 \"rate_bps\":10000000000,\"overhead\":24,\"header\":40,\"memory\":90000,\"queues\":8,\"seed\":7}";
    assert_eq!(text.lines().next(), Some(begin));
    assert!(text.lines().any(|line| line.starts_with("{\"do\":\"arrive\",\"at\":")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("{\"do\":\"leave\",\"at\":")), "{text}");
}
