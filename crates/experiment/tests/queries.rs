//! Queries to many servers, from an experiment file to coflows.

use flowsieve_experiment::engine::Engine;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::{Error, ExperimentText, Simulator, export};
use flowsieve_results::{FlowRow, PointResult};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const QUERIES: &str = "queries = 30\nquery_sizes = \"homa-w1\"\nload = 0.4\nsizes = \"web-search\"\n";

fn text(workload: &str, run: &str, scheme: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\n{workload}[run]\n{run}[sweep]\nscheme = [{scheme:?}]\n"
    )
}

fn run_text(text: &str, seed: u64) -> Result<PointResult, Error> {
    let plan = plan(&ExperimentText::new("test.toml", text), Path::new(""), &Changes::default(), &Simulator)?;
    (Simulator.prepare(&plan.points[0], seed, Path::new(""))?.run)(&mut go_on, None)
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
    let messages = |rows: &[FlowRow]| rows.iter().filter(|row| row.class == 1).copied().collect::<Vec<_>>();
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
    // What goes on beside is the same as far as it goes on.
    let (first, other) = (planned(&first), planned(&other));
    assert!(first.iter().all(|(number, flow)| other.get(number).is_none_or(|other| other == flow)));
    assert!(first.keys().any(|number| *number >= 180));
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
    let refused = |more: &str| run(&format!("{QUERIES}{more}\n"), "dctcp", 1).unwrap_err().to_string();
    let expected = [
        ("query_client = 4", "`query_client` = 4 does not fit here; expected the number of one of the 4 hosts, 0 to 3"),
        ("query_servers = 4", "`query_servers` = 4 does not fit here; expected 1 to 3, the hosts beside the client"),
        ("flows = 10", "`flows` beside `queries`; expected one of the two: flows arrive as long as queries go on"),
        ("duration = \"1ms\"", "`duration` beside `queries`"),
        (
            "mix_sizes = \"homa-w1\"",
            "`mix_sizes` beside `queries`; expected one of the two: messages of queries are class 1",
        ),
        ("class_share = 0.5", "`class_share` beside `queries`"),
    ];
    for (more, problem) in expected {
        let found = refused(more);
        assert!(found.contains(problem), "{more}: {found}");
    }
    let closed = QUERIES.replace("load = 0.4", "arrivals = \"closed-loop\"");
    let found = run(&closed, "dctcp", 1).unwrap_err().to_string();
    assert!(found.contains("`arrivals` beside `queries`; expected arrivals at a rate"), "{found}");
    let found = run(&QUERIES.replace("query_sizes = \"homa-w1\"\n", ""), "dctcp", 1).unwrap_err().to_string();
    assert!(found.contains("`query_sizes` is missing"), "{found}");
    let found = run("queries = 3\nlist = \"flows.csv\"\n", "dctcp", 1).unwrap_err().to_string();
    assert!(found.contains("`queries` says nothing beside `list`"), "{found}");
    let many = QUERIES.replace("queries = 30", "queries = 10_000_000");
    let found = run(&many, "dctcp", 1).unwrap_err().to_string();
    assert!(found.contains("the queries have 60000000 messages; expected at most 50000000"), "{found}");
    let window = text(QUERIES, "measure = \"window\"\nwindow = [\"1ms\", \"2ms\"]\n", "dctcp");
    let found = run_text(&window, 1).unwrap_err().to_string();
    assert!(found.contains("`measure` beside `queries`"), "{found}");
    let found = run_text(&text(QUERIES, "", "dctcp"), 1).unwrap_err().to_string();
    assert!(found.contains("`fct_end` is not given, and its default ack does not fit here"), "{found}");
    let found = run(QUERIES, "fcfs", 1).unwrap_err().to_string();
    assert!(found.contains("class 0 of this scheme sends nothing again that is lost"), "{found}");
    let plan = plan(
        &ExperimentText::new("test.toml", &text(QUERIES, "fct_end = \"arrival\"\n", "dctcp")),
        Path::new(""),
        &Changes::default(),
        &Simulator,
    );
    let listed = export::flows(&plan.unwrap(), 1, &mut Vec::new()).unwrap_err().to_string();
    assert!(listed.contains("which only a run tells"), "{listed}");
}
