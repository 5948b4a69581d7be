//! The scheme of docs/own-scheme.md beside the built-in ones: `cargo run --release --example own_scheme`.

mod shortest_first;

use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_experiment::{Error, OwnSchemes, machine, report};
use std::path::Path;

fn main() -> Result<(), Error> {
    let engine = OwnSchemes(&[shortest_first::ENTRY]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own_scheme/comparison.toml");
    let plan = plan::read(&file, &Changes::default(), &engine)?;
    // What an earlier version of the scheme gave is not taken for this one's.
    let how = How { jobs: machine::cores(), fresh: true };
    let result = execute(&plan, &engine, Path::new("results/own-scheme"), how, &|_| {})?;
    println!("{}", report::table(&result));
    for comparison in report::compared(&result, Some(("shortest-first", "dctcp")))? {
        println!("{}", comparison.text());
    }
    println!("Report: {}", report::write(&result)?.display());
    Ok(())
}
