//! Results that are made up, with known differences between two schemes.

use std::collections::BTreeMap;
use std::path::Path;

use flowsieve_record::{Drops, FlowRow, LinkClass, PointResult};
use flowsieve_results::{
    CoflowClassBounds, Experiment, Further, PartId, PointInfo, Record, ResultDir, ResultWriter, SchemeInfo, SizeClasses,
};

pub(crate) const LOADS: [f64; 2] = [0.5, 0.8];
pub(crate) const SCHEMES: [&str; 2] = ["base", "new"];

/// What a test changes: a run by scheme, load and seed; a point; the experiment.
pub(crate) struct Made {
    pub(crate) seeds: u64,
    pub(crate) flows: u32,
    pub(crate) run: fn(&str, f64, u64, &mut PointResult),
    pub(crate) point: fn(&mut PointInfo),
    pub(crate) further: Further,
    pub(crate) looks: bool,
    pub(crate) record: Record,
}

impl Default for Made {
    fn default() -> Made {
        let (run, point) = (|_: &str, _, _, _: &mut PointResult| {}, |_: &mut PointInfo| {});
        Made { seeds: 3, flows: 4_000, run, point, further: Further::default(), looks: false, record: Record::Full }
    }
}

/// "new" takes 0.8 of what "base" takes with flows of up to 100 KB, at load 0.5, and 0.6 at load 0.8; give or take what the seed does
/// to it. Larger flows are the same under both.
fn result(made: &Made, scheme: &str, load: f64, seed: u64) -> PointResult {
    let flow = |flow: u32| {
        let bytes = 1_000 + u64::from(flow) * 37 % 4_000 * 1_000;
        let ideal_ps = 10_000_000 + bytes * 800;
        let factor = match (scheme, bytes <= 100_000, load) {
            ("new", true, 0.5) => 0.8,
            ("new", true, _) => 0.6,
            _ => 1.0,
        };
        let sign = if seed > 3 { -1.0 } else { 1.0 };
        let wobble = 1.0 + 0.001 * (seed as f64) * if scheme == "new" { sign } else { 0.0 };
        FlowRow {
            flow,
            src: 0,
            dst: 1,
            class: 0,
            bytes,
            start_ps: u64::from(flow) * 100_000_000,
            fct_ps: Some((ideal_ps as f64 * 4.0 * factor * wobble * (1.0 + f64::from(flow % 13))) as u64),
            ideal_ps,
            retransmissions: 0,
            ..FlowRow::default()
        }
    };
    let mut result = PointResult {
        flows: (0..made.flows).map(flow).collect(),
        links: vec![LinkClass {
            name: "host-up".into(),
            links: 2,
            rate_bps: 10_000_000_000,
            offered_load: load,
            utilisation: load,
            packets: 1_000,
            drops: Drops::default(),
            packets_by_queue: vec![900, 100],
            packets_by_priority: vec![900, 100],
            ..LinkClass::default()
        }],
        simulated_ps: u64::from(made.flows) * 100_000_000 + 1_000_000,
        arrivals_end_ps: u64::from(made.flows) * 100_000_000,
        longest_ideal_ps: 3_300_000_000,
        timeouts: if scheme == "new" { 10 + seed } else { 100 + seed },
        ..PointResult::default()
    };
    (made.run)(scheme, load, seed, &mut result);
    result
}

pub(crate) fn made(folder: &Path, made: &Made) -> ResultDir {
    let experiment = experiment(made);
    let writer = ResultWriter::create(folder).unwrap().of(&experiment);
    for point in &experiment.points {
        for part in &point.parts {
            let result = result(made, &point.scheme, point.load.unwrap_or(LOADS[0]), part.seed);
            writer.write_part(&part.key, part.seed, &result).unwrap();
        }
    }
    writer.join(experiment).unwrap()
}

fn experiment(made: &Made) -> Experiment {
    let point = |load: f64, scheme: &str| {
        let mut point = PointInfo {
            scheme: scheme.into(),
            load: Some(load),
            axes: Vec::new(),
            settings: BTreeMap::new(),
            thresholds_bytes: if scheme == "new" { vec![100_000] } else { Vec::new() },
            shorter: Vec::new(),
            average: None,
            fabric: String::new(),
            parts: (1..=made.seeds)
                .map(|seed| PartId { seed, key: format!("{scheme}-{}-{seed}", load * 10.0) })
                .collect(),
        };
        (made.point)(&mut point);
        point
    };
    let scheme = |name: &str| SchemeInfo {
        name: name.into(),
        label: String::new(),
        paper: String::new(),
        summary: String::new(),
        knows: "nothing".into(),
    };
    Experiment {
        title: "Made up".into(),
        text: String::new(),
        changes: Vec::new(),
        versions: BTreeMap::new(),
        classes: SizeClasses::default(),
        coflow_classes: CoflowClassBounds::default(),
        scheme_files: BTreeMap::new(),
        record: made.record,
        looks: made.looks,
        further: made.further.clone(),
        missing_runs: 0,
        not_valid: Vec::new(),
        schemes: SCHEMES.map(scheme).into(),
        points: LOADS.iter().flat_map(|&load| SCHEMES.map(|scheme| point(load, scheme))).collect(),
    }
}
