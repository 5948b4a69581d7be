//! What feeds tags, and what ports read, as it is found by trying.

use Fact::{Before, Bounds, Coflow, Deadline, Earlier, Last, Size, Tables, Unacknowledged};
use Field::{Flow, Priority, Rank};
use flowsieve_fabric::topology::FABRIC_SETTINGS;
use flowsieve_schemes::feeds::{Fact, Feeds, Field};
use flowsieve_schemes::{Context, REGISTRY, WorkloadFacts, registry};
use flowsieve_settings::{Place, Settings};

struct Uniform;

impl WorkloadFacts for Uniform {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        Some(0.6)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Some((p * 1e6).round() as u64)
    }
}

fn feeds(name: &str, other: &[(&str, &str)]) -> Feeds {
    let settings = other.iter().fold(
        Settings::of([flowsieve_schemes::SETTINGS, FABRIC_SETTINGS].concat().concat()),
        |settings, (key, value)| settings.with(Some(name), key, *value),
    );
    let entry = registry::find(name).expect("a scheme");
    let scheme = entry.scheme(&Context { scope: settings.scheme(name), workload: &Uniform }).expect("it is built");
    Feeds::of(&scheme).expect("a fabric")
}

#[test]
fn of__each_kind_of_tagger() {
    let tags = |name: &str, other: &[(&str, &str)]| {
        let feeds = feeds(name, other);
        let written = feeds.classes[0].clone().expect("a built-in tagger");
        (written.priority, written.rank)
    };
    let none = Vec::new;
    assert_eq!(tags("dctcp", &[]), (none(), none()));
    assert_eq!(tags("pias", &[]), (vec![Before], none()));
    assert_eq!(tags("las", &[]), (none(), vec![Before]));
    assert_eq!(tags("pfabric", &[]), (none(), vec![Unacknowledged]));
    assert_eq!(tags("awafs", &[]), (vec![Last], vec![Before]));
    assert_eq!(tags("aalo", &[]), (vec![Coflow, Tables], none()));
    assert_eq!(tags("sincronia", &[]), (vec![Coflow, Tables], none()));
    assert!(tags("pfabric-edf", &[]).1.contains(&Deadline));
    assert!(tags("qclimb", &[]).0.contains(&Bounds));
    assert!(tags("qc-srpt", &[]).1.contains(&Size));
    assert!(tags("nos2", &[("controller", "equal-split")]).0.contains(&Tables));
    assert!(tags("pias", &[("message_gap", "500us")]).0.contains(&Earlier));
}

#[test]
fn of__what_ports_read() {
    let at = |name: &str, place: Place| {
        let ports = feeds(name, &[]).ports;
        ports.into_iter().find(|(other, _)| *other == place).and_then(|(_, read)| read).expect("a built-in port")
    };
    assert_eq!(at("dctcp", Place::Leaf), []);
    assert_eq!(at("pias", Place::Leaf), [Priority]);
    assert_eq!(at("sp-pifo", Place::Leaf), [Rank]);
    assert_eq!(at("afq", Place::Leaf), [Flow]);
    assert_eq!(at("pfabric", Place::Leaf), [Rank, Flow]);
    let awafs = at("awafs", Place::Leaf);
    assert!(awafs.contains(&Priority) && awafs.contains(&Rank), "a FIN and the bytes sent: {awafs:?}");
    assert!(at("qc-las", Place::Leaf).contains(&Flow), "it counts by flow");
    assert!(at("qc-fq", Place::Leaf).contains(&Flow), "it counts by flow");
    assert_eq!(at("nos2", Place::Nic), [Rank], "the level of the host");
}

#[test]
fn feeds__every_scheme_has_lines() {
    for entry in REGISTRY.iter() {
        let feeds = feeds(entry.name.as_str(), &[]);
        assert!(!feeds.of_tags().is_empty() && !feeds.of_ports().is_empty(), "{}", entry.name.as_str());
        println!("{:16} {} | {}", entry.name.as_str(), feeds.of_tags().join("; "), feeds.of_ports().join("; "));
    }
}
