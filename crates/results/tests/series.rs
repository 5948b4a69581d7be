//! What was sampled over time comes back from the file of a result.

use crate::made::{Made, made};
use flowsieve_record::{PointResult, Series};

#[test]
fn series__of_the_first_seed_as_they_were_with_what_pauses_in_stretches() {
    let folder = tempfile::tempdir().unwrap();
    let run = |_: &str, _: f64, seed: u64, run: &mut PointResult| {
        let series = |of: &str, first_step: u64, values: &[f64]| Series {
            name: "window (packets)".into(),
            of: of.into(),
            first_step,
            step_ps: 10,
            values: values.iter().map(|value| value * seed as f64).collect(),
        };
        run.series = vec![series("flow 1", 0, &[1.0, 2.0]), series("flow 1", 7, &[3.0]), series("flow 2", 8, &[4.0])];
    };
    let dir = made(folder.path(), &Made { run, flows: 20, ..Made::default() });
    let first_seed = dir.manifest().runs[0].seed as f64;
    let mut asked = 0;
    let read = dir.series(|point, series| {
        asked += 1;
        point == 1 && series.of == "flow 1"
    });
    let read: Vec<(u32, u64, Vec<f64>)> =
        read.unwrap().into_iter().map(|(point, series)| (point, series.first_step, series.values)).collect();
    assert_eq!(read, [(1, 0, vec![first_seed, 2.0 * first_seed]), (1, 7, vec![3.0 * first_seed])]);
    // For each point the three that follow from flows, too.
    assert_eq!(asked, dir.manifest().experiment.points.len() * 6);
}
