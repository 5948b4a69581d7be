//! The pages of docs/extend are what the example's files say, and what comes of them.

#[path = "../examples/own_scheme/coflow_order.rs"]
mod coflow_order;
#[path = "../examples/own_scheme/coflow_turns.rs"]
mod coflow_turns;
#[path = "../examples/own_scheme/credits.rs"]
mod credits;
#[path = "../examples/own_scheme/emptier_uplink.rs"]
mod emptier_uplink;
#[path = "../examples/own_scheme/paced_rate.rs"]
mod paced_rate;
#[path = "../examples/own_scheme/shortest_first.rs"]
mod shortest_first;
#[path = "../examples/own_scheme/telemetry.rs"]
mod telemetry;

use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Kind, TaggerSpec};
use flowsieve_experiment::engine::{Engines, go_on};
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use flowsieve_schemes::Context;
use flowsieve_schemes::Entry;
use flowsieve_schemes::bare::Facts;
use flowsieve_sim::topology::{Fabric, Sites};
use flowsieve_studies::explain::{self, Detail};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static ENGINES: LazyLock<Engines> = LazyLock::new(|| {
    const SCHEMES: &[Entry] = &[
        shortest_first::ENTRY,
        emptier_uplink::ENTRY,
        coflow_order::PRIORITY,
        coflow_order::ORDER,
        coflow_turns::ENTRY,
        credits::ENTRY,
        paced_rate::ENTRY,
        telemetry::ENTRY,
    ];
    flowsieve_engines::with(SCHEMES, &[]).unwrap()
});

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own_scheme").join(file)
}

fn result(file: &str, out: &Path) -> ResultDir {
    let plan = plan::read(&example(file), &Changes::default(), &ENGINES).unwrap();
    execute(&plan, &ENGINES, out, How { jobs: 2, threads: None, fresh: true, replace: false }, &go_on).unwrap()
}

/// The blocks of the page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let fenced = page.split("\n```").collect::<Vec<_>>();
    let block = |text: &&str| text.split_once('\n').map(|(language, body)| (language.to_owned(), body.to_owned()));
    fenced.iter().skip(1).step_by(2).filter_map(block).collect()
}

/// The blocks in this language of a page of docs/extend.
fn shown(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(format!("docs/extend/{page}.md"))).unwrap();
    let of_language = blocks(&text).into_iter().filter(|block| block.0 == language);
    of_language.map(|block| block.1.trim_end().to_owned()).collect()
}

#[test]
fn pages__show_the_files() {
    let file = |name: &str| std::fs::read_to_string(example(name)).unwrap().trim_end().to_owned();
    for (page, sources) in [
        ("scheme", &["shortest_first.rs", "main.rs"][..]),
        ("port", &["coflow_order.rs"]),
        ("controller", &["coflow_turns.rs", "emptier_uplink.rs"]),
    ] {
        let files: Vec<String> = sources.iter().map(|name| file(name)).collect();
        assert!(shown(page, "rust") == files, "docs/extend/{page}.md does not show {sources:?}");
    }
    let parts = shown("transport", "rust");
    assert_eq!(parts.len(), 2, "docs/extend/transport.md shows a transport and a congestion control");
    for (part, source) in parts.iter().zip(["credits.rs", "paced_rate.rs"]) {
        assert!(file(source).contains(part), "docs/extend/transport.md does not show {source}");
    }
    let lines = file("shortest_first.rs").lines().count();
    let page = std::fs::read_to_string(root().join("docs/extend/scheme.md")).unwrap();
    assert!(lines < 60 && page.contains(&format!("in {lines} lines")), "{lines} lines");
}

#[test]
fn pages__show_what_comes_of_the_experiments() {
    for (page, own, name) in [
        ("scheme", "shortest-first", "comparison.toml"),
        ("controller", "emptier-uplink", "uplinks.toml"),
        ("port", "coflow-order", "coflows.toml"),
        ("controller", "coflow-turns", "turns.toml"),
        ("transport", "credits", "credits.toml"),
    ] {
        let experiment = std::fs::read_to_string(example(name)).unwrap();
        assert!(
            shown(page, "toml").contains(&experiment.trim_end().to_owned()),
            "docs/extend/{page}.md does not show {name}"
        );
        let out = tempfile::tempdir().unwrap();
        let result = result(name, out.path());
        let text = report::compared(&result, None, Some((own, "dctcp"))).unwrap()[0].text(false);
        assert!(
            shown(page, "text").contains(&text.trim_end().to_owned()),
            "docs/extend/{page}.md does not show:\n{text}"
        );
        let table = report::table(&result, &report::Layout::new(&result.manifest().experiment, None).unwrap(), false);
        assert!(table.contains(own), "{table}");
    }
}

#[test]
fn coflow_order__leaves_nothing_out_of_order() {
    let out = tempfile::tempdir().unwrap();
    let result = result("coflows.toml", out.path());
    let counted = result.manifest().runs.iter().map(|run| (run.measured.out_of_order, run.measured.retransmissions));
    // DCTCP, priorities alone, and with order: the numbers of docs/extend/port.md.
    assert_eq!(counted.collect::<Vec<_>>(), [(0, 48), (1_730, 4_805), (0, 59)]);
    let by_priority = report::compared(&result, None, Some(("coflow-priority", "dctcp"))).unwrap()[0].text(false);
    assert!(by_priority.contains("\ncoflows (CCT)  1.006"), "{by_priority}");
}

#[test]
fn variant__of_an_own_scheme_has_its_own_threshold() {
    let variant = |sizes: &str| Changes {
        sets: vec![format!("schemes.shortest-first.thresholds={sizes}"), "scheme=shortest-first".into()],
        ..Changes::default()
    };
    let plan = |changes| plan::read(&example("comparison.toml"), &changes, &ENGINES);
    assert_eq!(plan(variant("[\"10KB\"]")).unwrap().points.len(), 1);
    let refused = plan(variant("[\"10KB\", \"20KB\"]")).unwrap_err();
    assert!(refused.to_string().contains("thresholds"), "{refused}");
    // The plain simulator does not know it.
    assert!(plan::read(&example("comparison.toml"), &Changes::default(), &flowsieve_engines::built_in()).is_err());
}

/// Credits do not describe their packets, and take the defaults for what traces ask.
#[test]
fn follow__a_flow_of_an_own_transport() {
    let sets = vec!["scheme=credits".into(), "flows=96".into()];
    let plan = plan::read(&example("credits.toml"), &Changes { sets, ..Changes::default() }, &ENGINES).unwrap();
    let followed = |flow| {
        let point = &plan.points[0];
        ENGINES.follower(point).unwrap().unwrap().follow(point, 1, flow, &mut go_on).unwrap()
    };
    let mut waited = 0;
    for flow in [0, 17, 95] {
        let timeline = followed(flow);
        // 50 KB in packets of 1,460 B.
        assert_eq!((timeline.own_transport, timeline.packets.len()), (true, 35), "{}", timeline.text());
        let time = timeline.time.as_ref().unwrap();
        let at_switch: u64 = time.waited.iter().map(|(_, ps)| ps).sum();
        waited += at_switch;
        let sum = time.own_ps + time.others_ps + time.idle_ps + at_switch + time.under_way_ps;
        assert!(sum > timeline.ideal_ps / 2 && sum <= timeline.fct_ps.unwrap(), "{}", timeline.text());
        assert!(
            timeline.text().contains("35 packets sent, 0 lost; its transport does not report"),
            "{}",
            timeline.text()
        );
    }
    assert!(waited > 0, "the load says nothing");
}

#[test]
fn port__that_is_set_otherwise_is_not_replaced() {
    let sets = vec!["schemes.coflow-order.discipline=pifo".into(), "scheme=coflow-order".into()];
    let out = tempfile::tempdir().unwrap();
    let plan = plan::read(&example("coflows.toml"), &Changes { sets, ..Changes::default() }, &ENGINES).unwrap();
    let result =
        execute(&plan, &ENGINES, out.path(), How { jobs: 2, threads: None, fresh: true, replace: false }, &go_on)
            .unwrap();
    let queues = |run: &flowsieve_results::Run| run.measured.links.iter().map(|link| link.packets_by_queue.len()).max();
    assert_eq!(result.manifest().runs.iter().map(queues).collect::<Vec<_>>(), [Some(1)]);
}

#[test]
fn balancer__that_a_scheme_brings_refuses_another() {
    let sets = vec!["schemes.emptier-uplink.load_balancing=ecmp".into()];
    let refused = plan::read(&example("uplinks.toml"), &Changes { sets, ..Changes::default() }, &ENGINES).unwrap_err();
    assert!(refused.to_string().contains("no `load_balancing` for `emptier-uplink`"), "{refused}");
}

#[test]
fn transport__that_a_scheme_brings_reads_none_of_tcps_settings() {
    let plan = |sets: &[&str]| {
        let sets = ["scheme=credits", "flows=48"].iter().chain(sets).map(|set| (*set).to_owned()).collect();
        plan::read(&example("credits.toml"), &Changes { sets, ..Changes::default() }, &ENGINES)
    };
    let planned = plan(&[]).unwrap();
    let settings = &planned.experiment.points[0].settings;
    for key in ["transport", "rto_min", "handshake", "initial_window", "ecn", "slow_start_restart", "connections"] {
        assert!(!settings.contains_key(&format!("scheme.{key}")), "{key}");
        let value = match key {
            "transport" => "tcp",
            "rto_min" => "5ms",
            "handshake" => "cold",
            "connections" => "pool",
            "initial_window" => "12",
            _ => "true",
        };
        let refused = plan(&[&format!("schemes.credits.{key}={value}")]).unwrap_err();
        assert!(refused.to_string().contains(&format!("`{key}`")), "{refused}");
    }
    assert!(settings.contains_key("scheme.header") && settings.contains_key("scheme.leaf.discipline"), "{settings:?}");
    // It is what acts: nothing of TCP's is done.
    let result = ENGINES.run(&planned.points[0], 1, &mut go_on, None).unwrap();
    assert_eq!((result.timeouts, result.duplicate_acks), (0, 0));
}

#[test]
fn congestion_control__that_a_scheme_brings_paces_its_connections() {
    let plan = |sets: &[&str]| {
        let sets = ["scheme=paced-rate", "flows=200"].iter().chain(sets).map(|set| (*set).to_owned()).collect();
        plan::read(&example("comparison.toml"), &Changes { sets, ..Changes::default() }, &ENGINES)
    };
    let refused = plan(&["schemes.paced-rate.transport=tcp"]).unwrap_err();
    assert!(refused.to_string().contains("`transport`"), "{refused}");
    let planned = plan(&["schemes.paced-rate.max_window=300"]).unwrap();
    let settings = &planned.experiment.points[0].settings;
    let has = |key: &str| settings.contains_key(&format!("scheme.{key}"));
    assert_eq!(["transport", "dctcp_g", "max_window", "rto_min"].map(has), [false, false, true, true]);
    let result = ENGINES.run(&planned.points[0], 1, &mut go_on, None).unwrap();
    assert!(result.flows.iter().all(|flow| flow.fct_ps.is_some()), "every flow ends");
}

/// The law of the built-in one, from the public contract alone: every flow takes as long, to the picosecond.
#[test]
fn telemetry__is_hpcc() {
    let sets = ["scheme=hpcc,own-hpcc", "load=0.6", "sizes=web-search", "flows=120", "host_link=25Gbps", "seeds=1"];
    let sets = sets.map(str::to_owned).to_vec();
    let plan = plan::read(&example("comparison.toml"), &Changes { sets, ..Changes::default() }, &ENGINES).unwrap();
    let fcts = |point: usize| {
        let result = ENGINES.run(&plan.points[point], 1, &mut go_on, None).unwrap();
        result.flows.iter().map(|flow| flow.fct_ps).collect::<Vec<_>>()
    };
    let (built_in, own) = (fcts(0), fcts(1));
    assert!(built_in.iter().all(Option::is_some));
    assert_eq!(built_in, own);
}

#[test]
fn tagger__puts_messages_up_to_the_median_first() {
    let settings = ENGINES.keys().none_given();
    let context = Context { scope: settings.scheme("shortest-first"), workload: &Facts::uniform(20_000, 0.6) };
    let scheme = shortest_first::ENTRY.scheme(&context).unwrap();
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

/// What is said where these are the schemes of one's own.
fn refused(own: &'static [Entry]) -> String {
    flowsieve_engines::with(own, &[]).err().expect("they are refused").render(false)
}

const fn called(name: &'static str) -> Entry {
    Entry { name, ..shortest_first::ENTRY }
}

#[test]
fn new__refuses_names_that_are_taken_or_will_not_do() {
    const TAKEN: Entry = called("pias");
    const FLOW_LEVEL: Entry = called("varys");
    const SPACED: Entry = called("my scheme");
    let taken = refused(&[shortest_first::ENTRY, TAKEN]);
    assert!(taken.contains("there is a built-in scheme `pias`") && taken.contains("expected another name"), "{taken}");
    assert!(refused(&[FLOW_LEVEL]).contains("`varys`"));
    assert!(refused(&[SPACED]).contains("cannot name a scheme"));
    let twice = refused(&[shortest_first::ENTRY, shortest_first::ENTRY]);
    assert!(twice.contains("two schemes are called `shortest-first`"), "{twice}");
}

#[test]
fn part__of_an_own_scheme_alone_tells_the_program() {
    let plan = plan::read(&example("comparison.toml"), &Changes::default(), &ENGINES).unwrap();
    let told = |scheme: &str| {
        let point = plan.experiment.points.iter().find(|point| point.scheme == scheme).unwrap();
        point.settings.contains_key("scheme.program.digest")
    };
    assert_eq!(["dctcp", "pias", "shortest-first"].map(told), [false, false, true]);
    // Also as the scheme of a class of flow.
    let queues = |of: &str| [format!("schemes.{of}.discipline=sp"), format!("schemes.{of}.queues=2")];
    let classes = "schemes.both.classes=[\"dctcp\", \"shortest-first\"]";
    let both = ["scheme=both", "class_share=0.5", "schemes.both.base=dctcp", classes].map(str::to_owned);
    let sets = [&both[..], &queues("both"), &queues("dctcp")].concat();
    let plan = plan::read(&example("comparison.toml"), &Changes { sets, ..Changes::default() }, &ENGINES);
    let both = plan.map(|plan| plan.experiment.points[0].settings.contains_key("scheme.program.digest"));
    assert!(both.unwrap());
}

#[test]
fn explain__knows_an_own_scheme() {
    let explained = explain::explain("shortest-first", Detail::All, &ENGINES).unwrap();
    assert!(explained[0].text().contains("messages up to a threshold before longer ones"), "{}", explained[0].text());
    let queues = explain::explain("queues", Detail::All, &ENGINES).unwrap();
    assert!(queues[0].text().contains("shortest-first"), "{}", queues[0].text());
}
