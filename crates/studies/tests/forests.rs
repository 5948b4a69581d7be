//! The forests of QCLIMB's reproduction, as they are committed, against the table that says how each was trained.

use flowsieve_core::forest::{Forest, Samples};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Bytes of all forests together: they are kept in the repository.
const MOST_BYTES: usize = 8_000_000;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/qclimb/forests"))
}

/// The rows of the table: file, stand-in, calibration, seed of the stand-in, depth, trees.
fn rows() -> Vec<[String; 6]> {
    let text = std::fs::read_to_string(folder().join("forests.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(header, "file,stand_in,calibration,seed,depth,trees");
    let fields = |row: &str| row.split(',').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    rows.lines().map(fields).collect()
}

#[test]
fn forest__is_what_its_row_says() {
    for [file, stand_in, calibration, seed, depth, trees] in rows() {
        let bytes = std::fs::read(folder().join(&file)).unwrap();
        let forest = Forest::parse(&bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
        let training = forest.training();
        // The reader refuses a tree that is deeper than this.
        let found = (forest.trees().to_string(), training.depth.to_string(), training.seed, training.samples);
        assert_eq!(found, (trees, depth, 1, Samples::All), "{file}");
        assert!(flowsieve_workload::stand_ins().iter().any(|known| known.name == stand_in), "{file}: {stand_in}");
        let known = flowsieve_workload::Calibration::ALL.iter().any(|known| known.name() == calibration);
        assert!(known && seed.parse::<u64>().is_ok(), "{file}: {calibration}, seed {seed}");
    }
}

#[test]
fn forest__each_file_has_one_row() {
    let listed: Vec<String> = rows().into_iter().map(|[file, ..]| file).collect();
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|file| file.ends_with(".fsf")).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), files);
    assert_eq!(listed.len(), files.len(), "a file has two rows");
}

#[test]
fn forest__all_together_stay_small() {
    let bytes: usize = rows().iter().map(|[file, ..]| std::fs::read(folder().join(file)).unwrap().len()).sum();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}
