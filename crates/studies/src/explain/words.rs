//! Words that people ask for and that are no single setting, scheme or metric: parts of metrics' names, and what is not
//! modelled.

use super::{Explained, METRICS_PAGE, metric};
use flowsieve_results::claims::Figure;

/// What Flowsieve does not model: names, what they are, and what comes nearest.
const ABSENT: [(&[&str], &str, &str); 12] = [
    (&["pfc", "pause", "lossless"], "priority flow control, with which a switch pauses its neighbour", "switches drop"),
    (&["roce", "rdma"], "remote memory access over Ethernet", "messages over TCP, DCTCP or pFabric's transport"),
    (&["dcqcn", "timely", "swift", "hpcc", "powertcp"], "a rate-based congestion control", "`transport = \"dctcp\"`"),
    (&["cubic", "bbr", "vegas"], "a congestion control of the Internet", "`transport = \"tcp\"`, NewReno"),
    (&["ndp", "phost", "eqds"], "a transport driven by its receivers", "`homa`, `pfabric`; or a transport of your own"),
    (&["fastpass"], "a central arbiter of every packet", "`coordinator` schemes order coflows, not packets"),
    (
        &["conga", "letflow", "hermes", "clove", "presto"],
        "load balancing",
        "`load_balancing = \"hula\"` or `\"flowlet\"`",
    ),
    (&["mptcp"], "a transport over several paths", "`load_balancing = \"spray\"`"),
    (&["pie", "codel", "fq-codel"], "active queue management", "`marking = \"red\"`, or a port of your own"),
    (&["pacing"], "packets that a host spaces out", "a congestion control of your own may pace"),
    (&["failure", "flapping"], "links that fail during a run", "links that are down, slower or lossy from the start"),
    (&["qos", "shaping", "policer"], "rates for tenants", "`min_rate` of `qc-min-rate`"),
];

/// Explains a word, in lower case.
pub(super) fn word(name: &str) -> Option<Explained> {
    part_of_metrics(name).or_else(|| absent(name))
}

/// Every word that can be explained and is no name of its own.
pub(super) fn words() -> impl Iterator<Item = String> {
    ABSENT.iter().flat_map(|(names, ..)| *names).map(|&name| name.to_owned())
}

/// Explains the first word of metrics' names, such as `p99`, or what follows it, such as `fct`.
fn part_of_metrics(name: &str) -> Option<Explained> {
    let has =
        |figure: &Figure| figure.name().split_once(' ').is_some_and(|(first, rest)| first == name || rest == name);
    let figures: Vec<Figure> = Figure::all().filter(has).collect();
    let first = metric(*figures.first()?);
    let (_, is) = first.facts.into_iter().find(|(heading, _)| *heading == "is")?;
    let names: Vec<String> = figures.iter().map(|figure| figure.name()).collect();
    let is = if first.name.starts_with(name) { format!("a statistic; {}: {is}", first.name) } else { is };
    Some(Explained {
        name: name.to_owned(),
        kind: "part of the names of metrics",
        facts: vec![
            ("is", is),
            ("metrics", names.join(", ")),
            ("source", format!("docs/reference/definitions.md, docs/reference/{}", METRICS_PAGE.0)),
        ],
    })
}

fn absent(name: &str) -> Option<Explained> {
    let (_, is, nearest) = ABSENT.iter().find(|(names, ..)| names.contains(&name))?;
    let facts = vec![
        ("is", (*is).to_owned()),
        ("nearest", (*nearest).to_owned()),
        ("source", "docs/reference/limits.md, docs/compare.md".to_owned()),
    ];
    Some(Explained { name: name.to_owned(), kind: "not modelled", facts })
}
