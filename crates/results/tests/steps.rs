//! Flows' time in each step of QCLIMB, from the rows of runs to files and classes. In these results it is measured under
//! "new" alone.

use std::path::Path;

use crate::made::{Made, made};
use flowsieve_record::{FlowRow, PointResult, Step, StepRow};
use flowsieve_results::{Record, ResultDir};

/// Of each flow's FCT 500 ns are inference; the rest of flows of up to 100 KB is climb, of the others demotion.
fn measure(scheme: &str, _: f64, _: u64, run: &mut PointResult) {
    for row in run.flows.iter_mut().filter(|_| scheme == "new") {
        let rest = row.fct_ps.unwrap() / 1_000 - 500;
        let small = row.bytes <= 100_000;
        let (climb_ns, demotion_ns) = if small { (rest, 0) } else { (0, rest) };
        row.steps = Some(StepRow::of_ns([500, climb_ns, 0, demotion_ns, 0]));
    }
}

fn measured(folder: &Path, record: Record) -> ResultDir {
    made(folder, &Made { run: measure, record, ..Made::default() })
}

fn header(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("summary.csv")).unwrap().lines().next().unwrap().to_owned()
}

#[test]
fn files__rows_come_back_with_their_steps() {
    let folder = tempfile::tempdir().unwrap();
    measured(folder.path(), Record::Full);
    let read = ResultDir::open(folder.path()).unwrap();
    let mut rows = 0;
    let mut check = |scheme: &str, flows: Vec<FlowRow>| {
        for row in flows {
            assert_eq!(row.steps.is_some(), scheme == "new");
            let all = row.steps.map(|steps| Step::ALL.iter().map(|&step| steps.get(step)).sum::<u64>());
            assert!(all.is_none_or(|ns| ns == row.fct_ps.unwrap() / 1_000));
            rows += 1;
        }
    };
    let points = &read.manifest().experiment.points;
    read.for_each_run(|run, flows| check(&points[run.point as usize].scheme, flows)).unwrap();
    assert_eq!(rows, 2 * 2 * 3 * 4_000);
    assert!(header(folder.path()).ends_with(",inference_share,climb_share,slack_share,demotion_share,beyond_share"));
}

#[test]
fn files__without_steps_have_no_columns_of_them() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), &Made::default());
    assert!(!header(folder.path()).contains("share"));
    let bytes = std::fs::read(folder.path().join("flows.parquet")).unwrap();
    assert!(!bytes.windows(8).any(|name| name == b"climb_ns"));
    let manifest = std::fs::read_to_string(folder.path().join("manifest.json")).unwrap();
    assert!(!manifest.contains("breakdown") && !manifest.contains("steps"));
}

#[test]
fn summary__shares_by_class_also_of_sketches() {
    let [full, none] = [Record::Full, Record::None].map(|record| {
        let folder = tempfile::tempdir().unwrap();
        let dir = measured(folder.path(), record);
        let reopened = ResultDir::open(folder.path()).unwrap();
        assert_eq!(reopened.summary(), dir.summary());
        let shares = |class: usize| {
            let seeds = &dir.summary().points[1].classes[class].seeds;
            Step::ALL.map(|step| seeds[0].breakdown.share(step).unwrap())
        };
        assert!(dir.summary().points[0].classes[0].seeds[0].breakdown.share(Step::Climb).is_none());
        let csv = std::fs::read_to_string(folder.path().join("summary.csv")).unwrap();
        let of = |scheme: &str| csv.lines().find(|line| line.contains(scheme)).unwrap().to_owned();
        // Flows of "base" have no steps.
        assert!(of(",base,").ends_with(",,,,,") && !of(",new,").ends_with(','));
        [0, 1, 3].map(shares)
    });
    for (full, none) in full.iter().flatten().zip(none.iter().flatten()) {
        assert!((full - none).abs() < 1e-12);
    }
    let [small, middle, all] = full;
    assert!(small[1] > 0.9 && small[3] == 0.0 && middle[1] == 0.0 && middle[3] > 0.99);
    assert!(small.iter().sum::<f64>() == 1.0 && small[0] > all[0] && all[1] > 0.0 && all[3] > all[1]);
}
