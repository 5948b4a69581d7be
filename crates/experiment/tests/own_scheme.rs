//! docs/own-scheme.md is what the example's files say, and what comes of them.

#[path = "../examples/own_scheme/emptier_uplink.rs"]
mod emptier_uplink;
#[path = "../examples/own_scheme/shortest_first.rs"]
mod shortest_first;

use flowsieve_core::Kind;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_experiment::{OwnSchemes, ResultDir, report};
use flowsieve_schemes::scheme::TaggerSpec;
use flowsieve_schemes::settings::Settings;
use flowsieve_schemes::{Context, WorkloadFacts};
use flowsieve_sim::topology::{Fabric, Sites};
use std::path::{Path, PathBuf};

const ENGINE: OwnSchemes = OwnSchemes(&[shortest_first::ENTRY, emptier_uplink::ENTRY]);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own_scheme").join(file)
}

fn result(file: &str, out: &Path) -> ResultDir {
    let plan = plan::read(&example(file), &Changes::default(), &ENGINE).unwrap();
    execute(&plan, &ENGINE, out, How { jobs: 2, fresh: true }, &|_| {}).unwrap()
}

/// The blocks of the page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let fenced = page.split("\n```").collect::<Vec<_>>();
    let block = |text: &&str| text.split_once('\n').map(|(language, body)| (language.to_owned(), body.to_owned()));
    fenced.iter().skip(1).step_by(2).filter_map(block).collect()
}

#[test]
fn page__shows_the_files_and_what_comes_of_them() {
    let page = std::fs::read_to_string(root().join("docs/own-scheme.md")).unwrap();
    let blocks = blocks(&page);
    let languages: Vec<&str> = blocks.iter().map(|(language, _)| language.as_str()).collect();
    assert_eq!(languages, ["rust", "rust", "toml", "text", "rust", "toml", "text"]);
    let files = ["shortest_first.rs", "main.rs", "comparison.toml", "", "emptier_uplink.rs", "uplinks.toml"];
    for ((_, shown), file) in blocks.iter().zip(files).filter(|(_, file)| !file.is_empty()) {
        let text = std::fs::read_to_string(example(file)).unwrap();
        assert!(shown.trim_end() == text.trim_end(), "docs/own-scheme.md does not show {file}");
    }
    let lines = blocks[0].1.lines().count();
    assert!(lines < 60 && page.contains(&format!("in {lines} lines")), "{lines} lines");

    for (file, own, shown) in [("comparison.toml", "shortest-first", 3), ("uplinks.toml", "emptier-uplink", 6)] {
        let out = tempfile::tempdir().unwrap();
        let result = result(file, out.path());
        let text = report::compared(&result, Some((own, "dctcp"))).unwrap()[0].text();
        assert!(blocks[shown].1.trim_end() == text.trim_end(), "docs/own-scheme.md does not show:\n{text}");
        let table = report::table(&result);
        assert!(table.contains(own), "{table}");
    }
}

#[test]
fn variant__of_an_own_scheme_has_its_own_threshold() {
    let variant = |sizes: &str| Changes {
        sets: vec![format!("schemes.shortest-first.thresholds={sizes}"), "scheme=shortest-first".into()],
        ..Changes::default()
    };
    let plan = |changes| plan::read(&example("comparison.toml"), &changes, &ENGINE);
    assert_eq!(plan(variant("[\"10KB\"]")).unwrap().points.len(), 1);
    let refused = plan(variant("[\"10KB\", \"20KB\"]")).unwrap_err();
    assert!(refused.to_string().contains("thresholds"), "{refused}");
    // The plain simulator does not know it.
    assert!(plan::read(&example("comparison.toml"), &Changes::default(), &flowsieve_experiment::Simulator).is_err());
}

#[test]
fn balancer__that_a_scheme_brings_refuses_another() {
    let sets = vec!["schemes.emptier-uplink.load_balancing=ecmp".into()];
    let refused = plan::read(&example("uplinks.toml"), &Changes { sets, ..Changes::default() }, &ENGINE).unwrap_err();
    assert!(refused.to_string().contains("no `load_balancing` for `emptier-uplink`"), "{refused}");
}

struct Median(u64);

impl WorkloadFacts for Median {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        None
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        (p == 0.5).then_some(self.0)
    }
}

#[test]
fn tagger__puts_messages_up_to_the_median_first() {
    let settings = Settings::default();
    let context = Context { scope: settings.scheme("shortest-first"), workload: &Median(10_000) };
    let scheme = (shortest_first::ENTRY.build)(&context).unwrap();
    assert!(matches!(scheme.classes[0].tagger, TaggerSpec::Custom(_)));
    let fabric = Fabric::from_settings(&settings).unwrap();
    let mut tagger = scheme.classes[0].tagger.build(|| Sites::new(&fabric, 1).tagger(0, 0));
    let mut priority = |kind, size| {
        let facts = FlowFacts { kind, size, remaining: size, ..FlowFacts::default() };
        let tag = tagger.tag(|| facts);
        (tag.priority(), tag.rank())
    };
    assert_eq!([10_000, 10_001].map(|size| priority(Kind::Data, size)), [(0, 0), (1, 0)]);
    assert_eq!(priority(Kind::Ack, 1_000_000), (0, 0));
}
