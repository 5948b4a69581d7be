//! A toy engine: it makes results up from the settings, so that tests see what the machinery around an engine does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowsieve_experiment::engine::{Engine, Engines, OnProgress, Progress, Reading, Threads};
use flowsieve_experiment::{BASE, Error, Point};
use flowsieve_record::{FlowRow, PointResult};
use flowsieve_results::SchemeInfo;
use flowsieve_settings::{Key, Scaled, Section, Setting, Settings, declare};

declare! {
    static FLOWS: Setting<u64> =
        Setting::count(Section::Workload, "flows", 1, 1_000_000, "how many flows there are").scaled(Scaled::Amount);
    static DURATION: Setting<u64> =
        Setting::time(Section::Workload, "duration", 1, 1 << 60, "for how long they arrive").scaled(Scaled::Course);
    static LOAD: Setting<f64> = Setting::number(Section::Workload, "load", 0.0, 1.0, "how busy the line is");
    static CDF: Setting<String> = Setting::file(Section::Workload, "cdf", "a file that is named, and carried along");
    static QUEUES: Setting<u64> = Setting::count(Section::Network, "queues", 1, 8, "queues of the line");
}

/// Counts what is asked of it; the run of `fails` (a scheme's name) fails, and that of `is_late` is not valid.
#[derive(Clone, Default)]
pub(crate) struct Made {
    pub(crate) reads: Arc<AtomicUsize>,
    pub(crate) runs: Arc<AtomicUsize>,
    pub(crate) fails: Option<&'static str>,
    pub(crate) is_late: Option<&'static str>,
}

impl Made {
    /// An experiment may be carried out on it.
    pub(crate) fn engines(&self) -> Engines {
        Engines::new(vec![Box::new(self.clone())]).unwrap()
    }
}

impl Engine for Made {
    fn keys(&self) -> Vec<&'static Key> {
        SETTINGS.to_vec()
    }

    fn schemes(&self) -> Vec<SchemeInfo> {
        let info = |name: &str| SchemeInfo {
            name: name.into(),
            label: String::new(),
            paper: "none".into(),
            summary: "made up".into(),
            knows: "nothing".into(),
        };
        ["dctcp", "pias", "pfabric"].map(info).to_vec()
    }

    fn carries(&self, _: &Settings) -> Result<bool, Error> {
        Ok(true)
    }

    fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let _ = settings.scheme(scheme).read_or(&QUEUES, 8);
    }

    fn read(&self, point: &Point, _: u64) -> Result<Reading, Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        read(point)?;
        Ok(Reading { fabric: "a line".into(), packet_hops: 100.0, memory_bytes: 1_000_000, ..Reading::default() })
    }

    fn run(
        &self,
        point: &Point,
        seed: u64,
        _: Threads,
        hear: OnProgress<'_>,
        _: Option<&Path>,
    ) -> Result<PointResult, Error> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let (flows, slow) = read(point)?;
        let row = |flow: u32| FlowRow {
            flow,
            dst: 1,
            bytes: 1_000 + u64::from(flow) * seed,
            start_ps: u64::from(flow),
            fct_ps: Some(1_000_000 + slow + u64::from(flow)),
            ideal_ps: 1_000_000,
            ..FlowRow::default()
        };
        if self.fails == Some(point.variant.name.as_str()) {
            return Err(Error::Simulation { point: point.label(), problem: "made to fail".into() });
        }
        if self.is_late == Some(point.variant.name.as_str()) {
            return Err(Error::NotValid { point: point.label(), problem: "frames left late".into() });
        }
        if hear(Progress { share: 0.5, packet_hops: 7 }).is_break() {
            return Err(Error::Stopped);
        }
        Ok(PointResult { flows: (0..flows).map(row).collect(), packet_hops: 14, ..PointResult::default() })
    }
}

/// Reads how many flows there are, and how much the line slows them down.
fn read(point: &Point) -> Result<(u32, u64), Error> {
    let scope = point.settings.scheme(&point.variant.name);
    scope.read_or(&BASE, point.variant.base.clone())?;
    let queues = if point.variant.base == "pias" { scope.read_or(&QUEUES, 8)? } else { 1 };
    let common = point.settings.common();
    common.optional(&CDF)?;
    common.optional(&DURATION)?;
    Ok((common.read(&FLOWS)? as u32, (common.read_or(&LOAD, 0.5)? * 1e6) as u64 / queues))
}
