//! A setting of one's own, by what is public alone: a scheme declares it, reads the fabric, and experiments give it like any other.

use flowsieve_core::tagger::{FlowFacts, TagPackets};
use flowsieve_core::{Kind, Tag, TaggerSpec};
use flowsieve_engines::with;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_schemes::parameters::Reference;
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::{Context, Entry, Scheme};
use flowsieve_settings::{Section, Setting, SettingsError, declare};
use std::path::Path;

declare! {
    static FIRST_BDPS: Setting<f64> = Setting::number(
        Section::Scheme, "first_bdps", 0.0, 1_000.0,
        "messages of at most this many bandwidth-delay products of the farthest hosts go first",
    )
    .with_default(1.0);
}

const ENTRY: Entry = Entry {
    name: "first-window",
    file: r#"
base = "dctcp"
label = "First window"
summary = "messages that fit into one round trip go first"
paper = "a test"
knows = "size"

discipline = "sp"
queues = 2
"#,
    own: Some(build),
};

struct FirstWindow {
    bytes: u64,
}

impl TagPackets for FirstWindow {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_priority(u8::from(facts.kind == Kind::Data && facts.size > self.bytes))
    }
}

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let Reference { host_bps, round_trip } = Reference::read(context)?;
    let bdp = host_bps as f64 / 8.0 * round_trip.0 as f64 / 1e12;
    let bytes = (context.scope.read(&FIRST_BDPS)? * bdp).round() as u64;
    context.scope.note("scheme.first_bytes", bytes);
    let tagger = TaggerSpec::custom(move |_| FirstWindow { bytes });
    parts::build(context, Own { tagger: Some(tagger), ..Own::default() })
}

fn planned(engines: &Engines, sets: &[&str]) -> Result<Plan, Error> {
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 4\nhost_link = \"10Gbps\"\nrtt = \"80us\"\n[workload]\nsizes = \"fixed(20KB)\"\n\
                load = 0.4\nflows = 50\n[sweep]\nscheme = [\"first-window\"]\n";
    let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    plan(&ExperimentText::new("t.toml", text), Path::new(""), &changes, engines)
}

#[test]
fn setting__of_ones_own_is_read_with_the_fabric_and_stands_in_the_result() {
    let engines = with(&[ENTRY], SETTINGS).unwrap();
    let effective = |sets: &[&str]| {
        let settings = planned(&engines, sets).unwrap().experiment.points[0].settings.clone();
        (settings["scheme.first_bdps"].clone(), settings["scheme.first_bytes"].clone())
    };
    // 10 Gbit/s over 80 us is 100 KB; a packet and its ACK take 2.464 us over two links.
    assert_eq!(effective(&[]), ("1".to_owned(), "103080".to_owned()));
    assert_eq!(effective(&["first_bdps=0.1"]), ("0.1".to_owned(), "10308".to_owned()));
    assert_eq!(effective(&["first_bdps=2", "host_link=100Gbps"]), ("2".to_owned(), "2006160".to_owned()));
}

#[test]
fn setting__of_ones_own_is_checked_like_any_other() {
    let engines = with(&[ENTRY], SETTINGS).unwrap();
    let details = |set: &str| planned(&engines, &[set]).unwrap_err().details();
    assert_eq!(details("first_bdp=1").nearest.as_deref(), Some("first_bdps"));
    assert!(details("first_bdps=-1").expected.is_some_and(|expected| expected.contains("0 to 1000")));
    assert!(planned(&with(&[ENTRY], &[]).unwrap(), &["first_bdps=1"]).is_err(), "a setting that is not declared");
    assert_eq!(with(&[ENTRY], TAKEN).err().unwrap().details().expected.as_deref(), Some("another name for one"));
}

static FLOWS: Setting<u64> = Setting::count(Section::Scheme, "flows", 1, 2, "a name that is taken");
static TAKEN: &[&flowsieve_settings::Key] = &[FLOWS.key()];
