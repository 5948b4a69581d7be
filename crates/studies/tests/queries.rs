//! Queries to many servers, from an experiment file to coflows.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_record::{FlowRow, PointResult};
use flowsieve_studies::export;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const QUERIES: &str = "queries = 30\nquery_sizes = \"homa-w1\"\nload = 0.4\nsizes = \"web-search\"\n";

fn text(workload: &str, run: &str, scheme: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\n{workload}[run]\n{run}[sweep]\nscheme = [{scheme:?}]\n"
    )
}

fn run_text(text: &str, seed: u64) -> Result<PointResult, Error> {
    let plan = plan(&ExperimentText::new("test.toml", text), Path::new(""), &Changes::default(), &built_in())?;
    built_in().run(&plan.points[0], seed, &mut go_on, None)
}

fn run(workload: &str, scheme: &str, seed: u64) -> Result<PointResult, Error> {
    run_text(&text(workload, "fct_end = \"arrival\"\n", scheme), seed)
}

/// What schemes do not change, by number.
fn planned(rows: &[FlowRow]) -> BTreeMap<u32, (u32, u32, u64)> {
    rows.iter().map(|row| (row.flow, (row.src, row.dst, row.bytes))).collect()
}

#[test]
fn queries__are_the_same_under_every_scheme_and_differ_by_seed() {
    let of = |scheme, seed| run(QUERIES, scheme, seed).unwrap().flows;
    let (first, other, seed) = (of("dctcp", 1), of("pias", 1), of("dctcp", 2));
    let messages = |rows: &[FlowRow]| rows.iter().filter(|row| row.class == 1).cloned().collect::<Vec<_>>();
    assert_eq!(messages(&first).len(), 30 * 2 * 3);
    assert_eq!(planned(&messages(&first)), planned(&messages(&other)));
    assert_ne!(planned(&messages(&first)), planned(&messages(&seed)));
    // Each of thirty coflows has three requests and three answers.
    let sizes = messages(&first).iter().fold(BTreeMap::new(), |mut of, row| {
        *of.entry(row.coflow).or_insert(0) += 1;
        of
    });
    assert!(sizes.len() == 30 && sizes.iter().all(|(coflow, flows)| coflow.is_some() && *flows == 6), "{sizes:?}");
    assert!(messages(&first).iter().filter(|row| row.src == 0).all(|row| row.bytes == 100 && row.flow % 6 < 3));
    // The other flows are the same as far as they go.
    let (first, other) = (planned(&first), planned(&other));
    assert!(first.iter().all(|(number, flow)| other.get(number).is_none_or(|other| other == flow)));
    assert!(first.keys().any(|number| *number >= 180));
}

#[test]
fn queries__by_homa_where_hosts_mark_requests() {
    let of = |incast: &str| {
        let workload =
            format!("{QUERIES}query_sizes = \"fixed(20KB)\"\n").replacen("query_sizes = \"homa-w1\"\n", "", 1);
        let own = format!("[schemes.homa]\nrtt_bytes = \"8KB\"\n{incast}");
        let text = text(&workload, "fct_end = \"arrival\"\n", "homa") + &own;
        let result = run_text(&text, 1).unwrap();
        (result.flows.iter().filter(|row| row.class == 1 && row.fct_ps.is_some()).count(), result.counts["homa_grants"])
    };
    let (plain, marked) = (of(""), of("incast = true\nincast_requests = 1\n"));
    assert_eq!([plain.0, marked.0], [30 * 6; 2]);
    // Of two answers of fourteen packets in each query, five packets more need grants. How many other flows there are depends on the time.
    assert!(marked.1 > plain.1 + 100, "{plain:?} {marked:?}");
}

#[test]
fn queries__of_another_client_to_some_of_the_servers() {
    let workload = format!("{QUERIES}query_client = 3\nquery_servers = 2\nquery_request = \"2KB\"\n");
    let rows = run(&workload, "dctcp", 1).unwrap().flows;
    let messages = || rows.iter().filter(|row| row.class == 1);
    let requests: BTreeSet<_> =
        messages().filter(|row| row.flow % 4 < 2).map(|row| (row.src, row.dst, row.bytes)).collect();
    assert_eq!(requests, BTreeSet::from([(3, 0, 2_000), (3, 1, 2_000)]));
    let answers: BTreeSet<_> = messages().filter(|row| row.flow % 4 >= 2).map(|row| (row.src, row.dst)).collect();
    assert_eq!((answers, messages().count()), (BTreeSet::from([(0, 3), (1, 3)]), 120));
}

#[test]
fn queries__what_they_cannot_be() {
    let fault = |refused: Error| {
        let details = refused.details();
        (details.kind, details.key.unwrap_or_default(), details.expected.is_some())
    };
    let refused = |workload: &str| fault(run(workload, "dctcp", 1).unwrap_err());
    for (key, value) in [
        ("query_client", "4"),
        ("query_servers", "4"),
        ("flows", "10"),
        ("duration", "\"1ms\""),
        ("mix_sizes", "\"homa-w1\""),
        ("class_share", "0.5"),
    ] {
        assert_eq!(refused(&format!("{QUERIES}{key} = {value}\n")), ("value", key.to_owned(), true));
    }
    let wrong = |kind: &'static str, key: &str| (kind, key.to_owned(), true);
    assert_eq!(refused(&QUERIES.replace("load = 0.4", "arrivals = \"closed-loop\"")), wrong("value", "arrivals"));
    assert_eq!(refused(&QUERIES.replace("query_sizes = \"homa-w1\"\n", "")), wrong("missing", "query_sizes"));
    assert_eq!(refused("queries = 3\nlist = \"flows.csv\"\n"), wrong("value", "queries"));
    assert_eq!(refused(&QUERIES.replace("queries = 30", "queries = 10_000_000")), wrong("value", "queries"));
    let window = text(QUERIES, "measure = \"window\"\nwindow = [\"1ms\", \"2ms\"]\n", "dctcp");
    assert_eq!(fault(run_text(&window, 1).unwrap_err()), wrong("value", "measure"));
    let with_acks = text(QUERIES, "fct_end = \"ack\"\n", "dctcp");
    assert_eq!(fault(run_text(&with_acks, 1).unwrap_err()), wrong("value", "fct_end"));
    let unanswered = run(QUERIES, "fcfs", 1).unwrap_err();
    assert!(unanswered.to_string().contains("but `fcfs` has no ACKs"), "{unanswered}");
    assert_eq!(fault(unanswered), wrong("value", "queries"));
    let plan = plan(
        &ExperimentText::new("test.toml", &text(QUERIES, "fct_end = \"arrival\"\n", "dctcp")),
        Path::new(""),
        &Changes::default(),
        &built_in(),
    );
    assert!(export::flows(&plan.unwrap(), 1, &mut Vec::new()).is_err(), "only a run tells when messages begin");
}
