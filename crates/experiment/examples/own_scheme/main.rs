//! The schemes of docs/own-scheme.md beside built-in ones: `cargo run --release --example own_scheme [NAME]` runs the experiment
//! `NAME.toml` of this folder, `comparison` unless another is named.

mod coflow_order;
mod coflow_turns;
mod credits;
mod emptier_uplink;
mod shortest_first;

use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_experiment::{Error, OwnSchemes, machine, report};
use std::path::Path;

fn main() -> Result<(), Error> {
    let engine = OwnSchemes(&[
        shortest_first::ENTRY,
        emptier_uplink::ENTRY,
        coflow_order::PRIORITY,
        coflow_order::ORDER,
        coflow_turns::ENTRY,
        credits::ENTRY,
    ]);
    let name = std::env::args().nth(1).unwrap_or_else(|| "comparison".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own_scheme");
    let file = folder.join(&name).with_extension("toml");
    let plan = plan::read(&file, &Changes::default(), &engine)?;
    // What an earlier version of the scheme gave is not taken for this one's.
    let how = How { jobs: machine::cores(), fresh: true };
    let result = execute(&plan, &engine, &Path::new("results").join(name), how, &|_| {})?;
    println!("{}", report::table(&result));
    for comparison in report::compared(&result, None)? {
        println!("{}", comparison.text());
    }
    println!("Report: {}", report::write(&result)?.display());
    Ok(())
}
