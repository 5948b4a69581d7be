//! DCTCP's steady state against its analysis: the senders' own windows and estimates, the bottleneck's own queue.

use flowsieve_studies::validate::{Extent, Picked, steady, steady_table};

#[test]
fn dctcp__agrees_with_its_analysis() {
    let outcomes: Vec<_> = Picked::all(Extent::Quick).flows.iter().map(|&flows| steady(flows).unwrap()).collect();
    let table = steady_table(&outcomes);
    assert!(outcomes.iter().all(|outcome| outcome.passes()), "{table}");
    // Two flows are in step, as the analysis has them; of more, the queue's bound is compared.
    assert_eq!(outcomes.iter().map(|outcome| outcome.lines.len()).collect::<Vec<_>>(), [4, 1, 1]);
    assert_eq!(table.matches("PASS").count(), 6, "{table}");
}
