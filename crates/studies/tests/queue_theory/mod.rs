//! The simulator against closed forms of queueing theory, and against DCTCP's own analysis.
//!
//! One link behind an unlimited queue is an M/G/1 queue if messages arrive whole, as a Poisson process. Each case is an
//! ordinary experiment ([`Case::experiment`]), planned and run like any other. Its FCTs are compared with the theory's
//! mean response time. docs/reference/queue-theory.md describes the method, and why packets may make a difference.
//!
//! Every run of the tests has 45 of the 120 cases, a minute of work. All of them take 20, and print their tables:
//!
//!     cargo test --release -p flowsieve-studies --test studies_tests -- --ignored --nocapture agrees__all

mod batches;
mod case;
mod dctcp;
mod integrate;
mod law;
mod packets;
mod run;
mod steady;
mod table;
mod theory;

use case::{Extent, cases};
use table::table;
use theory::Discipline;

/// Runs the cases of a discipline. Tests are by discipline, so that cores share them.
fn agrees(discipline: Discipline, extent: Extent, count: usize) {
    let of_it = cases(extent).into_iter().filter(|case| case.discipline == discipline);
    let outcomes: Vec<_> = of_it.map(|case| run::run(&case).expect("a run")).collect();
    let table = table(&outcomes);
    println!("{table}");
    assert_eq!(outcomes.len(), count);
    assert!(outcomes.iter().all(|outcome| outcome.passes()), "{table}");
}

#[test]
fn agrees__fcfs() {
    agrees(Discipline::Fcfs, Extent::Quick, 9);
}

#[test]
fn agrees__ps() {
    agrees(Discipline::Ps, Extent::Quick, 9);
}

#[test]
fn agrees__srpt() {
    agrees(Discipline::Srpt, Extent::Quick, 9);
}

#[test]
fn agrees__las() {
    agrees(Discipline::Las, Extent::Quick, 9);
}

#[test]
fn agrees__rates() {
    agrees(Discipline::Rates, Extent::Quick, 9);
}

#[test]
#[ignore = "all cases take twenty minutes of a core"]
fn agrees__all() {
    Discipline::ALL.into_iter().for_each(|discipline| agrees(discipline, Extent::All, 24));
}

/// DCTCP's steady state: the senders' own windows and estimates, the bottleneck's own queue.
#[test]
fn agrees__dctcp_with_its_analysis() {
    let outcomes = [2, 10, 40].map(|flows| steady::steady(flows).expect("a steady state"));
    let table = steady::table(&outcomes);
    assert!(outcomes.iter().all(|outcome| outcome.passes()), "{table}");
    // Two flows are in step, as the analysis has them; of more, the queue's bound is compared.
    assert_eq!(outcomes.each_ref().map(|outcome| outcome.lines.len()), [4, 1, 1]);
    assert_eq!(table.matches("PASS").count(), 6, "{table}");
}
