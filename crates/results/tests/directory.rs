//! A result directory from its parts to its statistics, and what becomes of it when something goes wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use flowsieve_record::{Drops, FlowRow, LinkClass, PeriodicPart, PointResult};
use flowsieve_results::{
    Axis, CallCost, CoflowClassBounds, Experiment, Further, Metric, PartId, PointInfo, Record, ResultDir, ResultError,
    ResultWriter, RunInfo, SchemeInfo, SizeClasses, Statistic,
};

const SEEDS: [u64; 3] = [1, 2, 3];
const LOADS: [f64; 2] = [0.6, 0.8];
const SCHEMES: [&str; 2] = ["dctcp", "pias"];

/// Forty flows of sizes from 1 KB to 20 MB; "pias" takes half the time, and leaves the last flow unfinished.
fn result(scheme: &str, load: f64, seed: u64) -> PointResult {
    let flow = |flow: u32| {
        let bytes = 1_000 + u64::from(flow) * 500_000;
        let ideal_ps = bytes * 800;
        let slow = if scheme == "pias" { 1.0 } else { 2.0 };
        let fct_ps = (ideal_ps as f64 * slow / (1.0 - load)) as u64 + seed * 1_000 * u64::from(flow % 7);
        FlowRow {
            flow,
            src: flow % 4,
            dst: (flow + 1) % 4,
            class: 0,
            bytes,
            start_ps: u64::from(flow) * 1_000_000,
            fct_ps: (scheme != "pias" || flow != 39).then_some(fct_ps),
            ideal_ps,
            retransmissions: flow % 3,
            ..FlowRow::default()
        }
    };
    PointResult {
        flows: (0..40).map(flow).collect(),
        links: vec![LinkClass {
            name: "host-up".into(),
            links: 4,
            rate_bps: 10_000_000_000,
            offered_load: load * 1.1,
            utilisation: load,
            packets: 1_000,
            bytes: 1_500_000,
            drops: Drops { buffer: 3, ..Drops::default() },
            marks: 17,
            packets_by_queue: if scheme == "pias" { vec![1_000, 0] } else { vec![1_000] },
            packets_by_priority: vec![1_000],
            max_backlog_bytes: 90_000,
            found_bytes_by_priority: vec![],
            paused: None,
        }],
        periodic: vec![PeriodicPart { name: "thresholds".into(), period_ps: 1_000_000_000, ticks: 3 }],
        simulated_ps: 5_000_000_000,
        longest_ideal_ps: 16_000_000_000,
        packet_hops: 4_000,
        ..PointResult::default()
    }
}

fn key(scheme: &str, load: f64, seed: u64) -> String {
    format!("{scheme}-{}-{seed}", (load * 10.0) as u32)
}

fn experiment() -> Experiment {
    let point = |load: f64, scheme: &str| PointInfo {
        scheme: scheme.into(),
        load: Some(load),
        axes: vec![Axis { key: "topology.rtt".into(), value: "81.6us".into() }],
        settings: BTreeMap::from([("network.queues".to_string(), "8".to_string())]),
        thresholds_bytes: vec![],
        shorter: Vec::new(),
        average: None,
        fabric: "h - s - h".into(),
        parts: SEEDS.map(|seed| PartId { seed, key: key(scheme, load, seed) }).into(),
    };
    let scheme = |name: &str| SchemeInfo {
        name: name.into(),
        label: String::new(),
        paper: "a paper".into(),
        summary: "does something".into(),
        knows: "nothing".into(),
    };
    Experiment {
        title: "Two schemes".into(),
        text: "title = \"Two schemes\"\n".into(),
        changes: vec![],
        versions: BTreeMap::from([("flowsieve".to_string(), "0.1.0".to_string())]),
        classes: SizeClasses::default(),
        coflow_classes: CoflowClassBounds::default(),
        scheme_files: BTreeMap::new(),
        record: Record::Full,
        looks: false,
        further: Further::default(),
        missing_runs: 0,
        not_valid: Vec::new(),
        schemes: SCHEMES.map(scheme).into(),
        points: LOADS.iter().flat_map(|&load| SCHEMES.map(|scheme| point(load, scheme))).collect(),
    }
}

fn jobs() -> Vec<(&'static str, f64, u64)> {
    let seeds = |scheme, load| SEEDS.map(|seed| (scheme, load, seed));
    LOADS.iter().flat_map(|&load| SCHEMES.into_iter().flat_map(move |scheme| seeds(scheme, load))).collect()
}

fn write(folder: &Path, jobs: &[(&str, f64, u64)]) -> ResultWriter {
    let writer = ResultWriter::create(folder).unwrap();
    for &(scheme, load, seed) in jobs {
        writer.write_part(&key(scheme, load, seed), seed, &result(scheme, load, seed)).unwrap();
    }
    writer
}

fn finished(folder: &Path) -> ResultDir {
    write(folder, &jobs()).join(experiment()).unwrap()
}

/// Every file below a folder but locks, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_string_lossy().ends_with(".lock") {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn open__gives_back_what_was_joined() {
    let folder = tempfile::tempdir().unwrap();
    let written = finished(folder.path());
    let read = ResultDir::open(folder.path()).unwrap();
    assert_eq!(read.manifest(), written.manifest());
    assert_eq!(read.summary(), written.summary());
    let mut runs = Vec::new();
    read.for_each_run(|run, flows| runs.push((run.point, run.seed, flows))).unwrap();
    assert_eq!(runs.len(), 12);
    assert_eq!(runs[4], (1, 2, result("pias", 0.6, 2).flows));
}

#[test]
fn join__same_bytes_whatever_the_order_of_the_parts() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    finished(one.path());
    let backwards: Vec<_> = jobs().into_iter().rev().collect();
    write(other.path(), &backwards).join(experiment()).unwrap();
    let (one, other) = (files(one.path()), files(other.path()));
    assert!(one.contains_key("flows.parquet") && one.contains_key("manifest.json") && one.contains_key("summary.csv"));
    assert_eq!(one, other);
}

#[test]
fn join__resumed_gives_the_bytes_of_an_uninterrupted_run() {
    let (whole, resumed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    finished(whole.path());
    let first = write(resumed.path(), &jobs()[..5]);
    let missing = first.join(experiment()).unwrap_err();
    assert!(missing.to_string().contains("point.json"), "{missing}");
    let unfinished = ResultDir::open(resumed.path()).unwrap_err();
    assert!(matches!(unfinished, ResultError::Unfinished { .. }), "{unfinished}");
    // What another process writes is left alone; this one ends.
    fs::create_dir(resumed.path().join("parts/.partial-abc")).unwrap();
    ResultWriter::create(resumed.path()).unwrap();
    assert!(resumed.path().join("parts/.partial-abc").exists());
    drop(first);
    fs::write(resumed.path().join(".partial-xyz"), "half").unwrap();

    let second = ResultWriter::create(resumed.path()).unwrap();
    let mut found = 0;
    for (scheme, load, seed) in jobs() {
        let key = key(scheme, load, seed);
        if second.finished(&key).unwrap() {
            found += 1;
        } else {
            second.write_part(&key, seed, &result(scheme, load, seed)).unwrap();
        }
    }
    assert_eq!(found, 5);
    second.join(experiment()).unwrap();
    assert_eq!(files(whole.path()), files(resumed.path()));
}

#[test]
fn write_part__twice_keeps_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let writer = write(folder.path(), &jobs()[..1]);
    let before = files(folder.path());
    writer.write_part(&key("dctcp", 0.6, 1), 1, &result("pias", 0.6, 1)).unwrap();
    assert_eq!(files(folder.path()), before);
}

#[test]
fn write_part__refuses_what_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultWriter::create(folder.path()).unwrap();
    let mut wrong = result("dctcp", 0.6, 1);
    wrong.flows[3].ideal_ps = 0;
    let error = writer.write_part("key", 1, &wrong).unwrap_err();
    assert_eq!(error.to_string(), "not a result: flow 3 has a size, an FCT or an ideal FCT of zero");
    let mut wrong = result("dctcp", 0.6, 1);
    wrong.links[0].utilisation = f64::NAN;
    assert!(writer.write_part("key", 1, &wrong).is_err());
    for key in ["", "../up", "a/b", "a b", &"x".repeat(129)] {
        assert!(matches!(writer.finished(key), Err(ResultError::Invalid { .. })), "{key:?}");
    }
    assert!(files(folder.path()).is_empty());
}

#[test]
fn create__refuses_other_peoples_folders() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "\\begin{document}").unwrap();
    let error = ResultWriter::create(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with("it holds other files than results; name an empty or a new folder"));
    let below_a_file = folder.path().join("thesis.tex/out");
    let error = ResultWriter::create(below_a_file).unwrap_err();
    assert!(error.to_string().contains("cannot create the folder"), "{error}");
}

#[test]
fn summary__pairs_schemes_and_warns() {
    let folder = tempfile::tempdir().unwrap();
    let dir = finished(folder.path());
    let points = &dir.summary().points;
    let experiment = &dir.manifest().experiment;
    assert_eq!([0, 1, 2, 3].map(|point| experiment.baseline_of(point)), [Some(0), Some(0), Some(2), Some(2)]);
    let ratio = points[3].classes[0].ratio(&points[2].classes[0], Metric::Fct, Statistic::Mean).unwrap();
    assert!((ratio.value - 0.5).abs() < 1e-3 && ratio.is_resolved(), "{ratio:?}");
    let warnings: Vec<_> = dir.warnings().into_iter().map(|warning| (warning.points, warning.text)).collect();
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
    assert!(warnings[0].1.starts_with("9 packets were lost") && warnings[0].0 == [0, 1, 2, 3]);
    assert!(warnings[1].1.starts_with("thresholds acted 3 times") && warnings[1].0 == [0, 1, 2, 3]);
    assert!(warnings[2].1.contains("through one of them") && warnings[2].0 == [1, 3]);
    assert!(warnings[3].1.contains("had not finished") && warnings[3].0 == [1, 3]);
}

#[test]
fn warnings__links_that_carried_little_of_their_load() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultWriter::create(folder.path()).unwrap();
    for (scheme, load, seed) in jobs() {
        let mut result = result(scheme, load, seed);
        // Flows arrive over some time, so that there is a load.
        result.arrivals_end_ps = 1_000_000_000;
        if (scheme, load, seed) == ("dctcp", 0.8, 3) {
            result.links[0].utilisation = 0.5;
        }
        writer.write_part(&key(scheme, load, seed), seed, &result).unwrap();
    }
    let warnings = writer.join(experiment()).unwrap().warnings();
    let little = warnings
        .iter()
        .find(|warning| warning.text.contains("carried less than 80 % of the load that these flows offered"))
        .unwrap();
    assert_eq!(little.points, [2]);
}

#[test]
fn summary_csv__a_row_for_each_point_and_class() {
    let folder = tempfile::tempdir().unwrap();
    finished(folder.path());
    let text = fs::read_to_string(folder.path().join("summary.csv")).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn run_json__comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let writer = write(folder.path(), &jobs());
    let dir = writer.join(experiment()).unwrap();
    assert_eq!(dir.run_info().unwrap(), None);
    let run = RunInfo {
        date: "2026-11-21T06:45:47Z".into(),
        machine: "two cores".into(),
        jobs: 2,
        threads: 4,
        wall_seconds: 1.5,
        cpu_seconds: 2.5,
        parts_run: 12,
        parts_found: 0,
        calls: vec![CallCost { name: "mine".into(), calls: 7, seconds: 0.25 }],
    };
    writer.write_run(&run).unwrap();
    assert_eq!(dir.run_info().unwrap(), Some(run));
}

#[test]
fn open__says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |expected: &str| {
        let message = ResultDir::open(folder.path()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    fails("this is not a result: it has no manifest.json");
    let file = folder.path().join("first.toml");
    fs::write(&file, "title = \"t\"\n").unwrap();
    let message = ResultDir::open(&file).unwrap_err().to_string();
    assert!(message.ends_with("first.toml: this is a file, and a result is a folder"), "{message}");
    fs::remove_file(&file).unwrap();
    finished(folder.path());
    let manifest_path = folder.path().join("manifest.json");
    let sealed = fs::read_to_string(&manifest_path).unwrap();
    fs::write(&manifest_path, sealed.replacen("\"seed\": 1", "\"seed\": 4", 1)).unwrap();
    fails("its bytes are not those that were written");
    // Without its hash, as before schema 2 and by other programs.
    let manifest = format!("{}\n}}\n", sealed.rsplit_once(",\n  \"blake3\"").unwrap().0);
    let flows_path = folder.path().join("flows.parquet");
    let flows = fs::read(&flows_path).unwrap();

    fs::write(&manifest_path, &manifest[..manifest.len() / 2]).unwrap();
    fails("EOF while parsing");
    fs::write(&manifest_path, manifest.replacen("\"schema\": 2", "\"schema\": 3", 1)).unwrap();
    fails("results of schema version 3, expected at most 2");
    fs::write(&manifest_path, manifest.replacen("\"seed\": 1", "\"seed\": 4", 1)).unwrap();
    fails("its runs are not those of its points");
    fs::write(&manifest_path, manifest.replacen("\"flows\": 40", "\"flows\": 41", 1)).unwrap();
    fails("480 flows, expected 481");
    fs::write(&manifest_path, &manifest).unwrap();

    for length in [0, 3, 100, flows.len() / 2, flows.len() - 1] {
        fs::write(&flows_path, &flows[..length]).unwrap();
        fails("flows.parquet: damaged result");
    }
    fs::remove_file(&flows_path).unwrap();
    fails("flows.parquet: cannot read");
}

#[test]
fn open__refuses_the_flows_of_another_experiment() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    finished(one.path());
    let mut fewer = experiment();
    fewer.points.swap(0, 1);
    write(other.path(), &jobs()).join(fewer).unwrap();
    fs::copy(one.path().join("flows.parquet"), other.path().join("flows.parquet")).unwrap();
    let error = ResultDir::open(other.path()).unwrap_err();
    assert!(error.to_string().contains("from another experiment"), "{error}");
}

#[test]
fn open__sees_every_changed_byte() {
    let folder = tempfile::tempdir().unwrap();
    finished(folder.path());
    let path = folder.path().join("flows.parquet");
    let flows = fs::read(&path).unwrap();
    for at in (0..flows.len()).step_by(7) {
        let mut changed = flows.clone();
        changed[at] ^= 0x41;
        fs::write(&path, &changed).unwrap();
        let error = ResultDir::open(folder.path()).unwrap_err();
        assert!(matches!(error, ResultError::Damaged { .. }), "{error}");
    }
}

/// As a program of schema 1 wrote it: traffic classes are called `class`, and rows do not say what their point is.
#[test]
fn open__a_result_of_schema_1() {
    let dir = ResultDir::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1")).unwrap();
    let mean = |point: usize| {
        let classes = &dir.summary().points[point].classes;
        classes.last().unwrap().estimate(Metric::Fct, Statistic::Mean).unwrap().value
    };
    assert_eq!(dir.manifest().runs.iter().map(|run| run.flows).sum::<u64>(), 200);
    assert!(mean(0) > 0.0 && mean(1) > 0.0);
    assert!(dir.run_info().unwrap().is_some());
    // What flows waited for was not counted yet.
    assert!(dir.manifest().runs.iter().all(|run| run.measured.delays.is_none()));
    assert!(dir.findings().iter().all(|finding| !finding.text.contains("beyond their ideal FCTs")));
}

#[test]
fn join__each_row_says_what_its_point_is() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    let folder = tempfile::tempdir().unwrap();
    let mut swept = experiment();
    for point in &mut swept.points {
        point.axes = vec![Axis { key: "network.ecn_threshold".into(), value: format!("{}pkt", point.load.unwrap()) }];
    }
    let dir = write(folder.path(), &jobs()).join(swept).unwrap();
    let file = fs::File::open(folder.path().join("flows.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    let about = metadata.key_value_metadata().unwrap();
    let about = about.iter().find(|entry| entry.key == "flowsieve.columns").unwrap().value.clone().unwrap();
    assert!(
        about.contains("\"fct_ps\":{\"description\":\"flow completion time; empty: not finished\",\"unit\":\"ps\"}")
    );
    let at = |name: &str| metadata.schema_descr().columns().iter().position(|column| column.name() == name).unwrap();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let point = &dir.manifest().experiment.points[row.get_uint(at("point")).unwrap() as usize];
        let (scheme, load) = (row.get_string(at("scheme")).unwrap(), row.get_double(at("load")).unwrap());
        assert_eq!((scheme, load), (&point.scheme, point.load.unwrap()));
        assert_eq!(row.get_string(at("network_ecn_threshold")).unwrap(), &point.axes[0].value);
    }
}
