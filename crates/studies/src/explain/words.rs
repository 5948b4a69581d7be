//! Words that people ask for and that are no single setting, scheme or metric: parts of metrics' names, values of settings,
//! and what is not modelled.

use flowsieve_experiment::engine::Engines;
use flowsieve_results::Figure;
use flowsieve_settings::{Keys, Kind};

use super::{Explained, METRICS_PAGE, metric};

/// What Flowsieve does not model: names, what they are, and what comes nearest, or the page that says how to write one.
///
/// Pages bind their sentences of absence to these names (`crates/flowsieve/tests/absent.rs`). If a name comes to be a
/// setting, a value, a scheme or a fabric, tests ask for its row, and for those sentences, to go.
const ABSENT: [(&[&str], &str, &str); 17] = [
    (&["roce", "rdma"], "remote memory access over Ethernet", "`dcqcn`: messages at its rates, over `pfc`"),
    (&["timely", "vegas"], "a congestion control by delay", "`swift`; docs/extend/transport.md"),
    (&["powertcp"], "a congestion control by what switches write into packets", "`hpcc`"),
    (&["bbr"], "a congestion control by rates and timers", "`transport = \"cubic\"` or `\"dcqcn\"`"),
    (&["phost", "dcpim", "expresspass"], "a transport driven by its receivers", "`homa`; docs/extend/transport.md"),
    (&["eqds"], "a transport with credits whose packets switches trim", "`ndp`"),
    (&["fastpass", "arbiter"], "a central arbiter of every packet", "`coordinator` schemes order coflows, not packets"),
    (
        &["drill"],
        "load balancing by the queues of a switch",
        "`load_balancing = \"conga\"` or `\"hula\"`; docs/extend/controller.md",
    ),
    (
        &["hermes", "clove", "presto", "plb", "flowbender"],
        "hosts that choose the paths of their flows",
        "`nscc`, whose senders choose that of each packet; `load_balancing = \"flowlet\"`",
    ),
    (&["mptcp", "multipath"], "TCP over several paths", "`nscc`; `load_balancing = \"spray\"`"),
    (&["pie", "codel", "fq-codel"], "active queue management by delay", "`marking = \"red\"`"),
    (&["lstf"], "packets in the order of their slack", "`pfabric-edf`; docs/extend/scheme.md"),
    (&["qos", "shaping", "policer", "token-bucket"], "rates for tenants", "`min_rate` of `qc-min-rate`"),
    (
        &["dragonfly", "bcube", "camcube", "multi-homed", "valiant"],
        "hosts with several links, or routes that are not shortest",
        "`kind = \"custom\"`: any list of links, with shortest routes",
    ),
    (&["wireless", "wi-fi", "jitter"], "links whose rate, delay or loss vary", "`delay` and `loss` of a link"),
    (
        &["tap-bridge", "emulation"],
        "a simulated fabric between the devices of a real network",
        "`flowsieve lab`, between namespaces of one machine",
    ),
    (&["mpi"], "one run on several machines", "`--threads` for one run, `--shard` for many"),
];

/// Explains a word, in lower case.
pub(super) fn word(name: &str, engines: &Engines) -> Option<Explained> {
    part_of_metrics(name, engines).or_else(|| value(name, engines.keys())).or_else(|| absent(name))
}

/// Returns the names of what is not modelled, kind by kind.
pub fn absent_names() -> impl Iterator<Item = &'static [&'static str]> {
    ABSENT.iter().map(|&(names, ..)| names)
}

/// Explains the first word of metrics' names, such as `p99`, or what follows it, such as `fct`.
fn part_of_metrics(name: &str, engines: &Engines) -> Option<Explained> {
    let has =
        |figure: &Figure| figure.name().split_once(' ').is_some_and(|(first, rest)| first == name || rest == name);
    let figures: Vec<Figure> = Figure::all().filter(has).collect();
    let first = metric(*figures.first()?, engines);
    let (_, is) = first.facts.into_iter().find(|(heading, _)| *heading == "is")?;
    let names: Vec<String> = figures.iter().map(|figure| figure.name()).collect();
    let is = if first.name.starts_with(name) { format!("a statistic; {}: {is}", first.name) } else { is };
    Some(Explained {
        name: name.to_owned(),
        kind: "part of the names of metrics".into(),
        facts: vec![
            ("is", is),
            ("metrics", names.join(", ")),
            ("source", format!("docs/reference/definitions.md, docs/reference/{}", METRICS_PAGE.0)),
        ],
    })
}

/// A value of settings, such as `cubic`.
fn value(name: &str, keys: &Keys) -> Option<Explained> {
    let takes = |kind: &Kind| match kind {
        Kind::Choice(of) | Kind::SizeListOr(of) => of.names().contains(&name),
        _ => false,
    };
    let of: Vec<String> =
        keys.iter().filter(|key| takes(&key.kind)).map(|key| format!("`{}`: {}", key.name, key.help)).collect();
    (!of.is_empty()).then(|| Explained {
        name: name.to_owned(),
        kind: "a value".into(),
        facts: vec![("of", of.join("\n")), ("source", "docs/README.md has the pages of settings".to_owned())],
    })
}

fn absent(name: &str) -> Option<Explained> {
    let (_, is, nearest) = ABSENT.iter().find(|(names, ..)| names.contains(&name))?;
    let facts = vec![
        ("is", (*is).to_owned()),
        ("nearest", nearest.replace("docs/", "to write one: docs/")),
        ("source", "docs/reference/limits.md, docs/compare.md".to_owned()),
    ];
    Some(Explained { name: name.to_owned(), kind: "not modelled".into(), facts })
}
