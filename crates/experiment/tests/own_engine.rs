//! An engine of one's own, by what is public alone: a line that sends flows one after the other.

use flowsieve_experiment::engine::{Engine, Engines, OnProgress, Reading, Threads, go_on};
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{BASE, Error, ExperimentText, Point};
use flowsieve_record::{FlowRow, PointResult};
use flowsieve_results::SchemeInfo;
use flowsieve_settings::{Key, Section, Setting, Settings, declare};
use std::path::Path;

declare! {
    static FLOWS: Setting<u64> = Setting::count(Section::Workload, "flows", 1, 1_000_000, "how many flows there are");
    static HASTE: Setting<u64> = Setting::count(Section::Scheme, "haste", 1, 100, "bytes in a microsecond").with_default(1);
}

struct Line;

impl Engine for Line {
    fn keys(&self) -> Vec<&'static Key> {
        SETTINGS.to_vec()
    }

    fn schemes(&self) -> Vec<SchemeInfo> {
        let text = || "a line".to_owned();
        vec![SchemeInfo { name: "line".to_owned(), label: text(), paper: text(), summary: text(), knows: text() }]
    }

    fn carries(&self, _: &Settings) -> Result<bool, Error> {
        Ok(true)
    }

    fn read_scheme(&self, scheme: &str, settings: &Settings) {
        let _ = settings.scheme(scheme).read(&HASTE);
    }

    fn read(&self, point: &Point, _: u64) -> Result<Reading, Error> {
        flows_and_fct(point)?;
        Ok(Reading { fabric: "a line".to_owned(), ..Reading::default() })
    }

    fn run(
        &self,
        point: &Point,
        _: u64,
        _: Threads,
        _: OnProgress<'_>,
        _: Option<&Path>,
    ) -> Result<PointResult, Error> {
        let (flows, fct_ps) = flows_and_fct(point)?;
        let flow = |flow: u32| FlowRow {
            flow,
            bytes: 1_000,
            start_ps: u64::from(flow) * fct_ps,
            fct_ps: Some(fct_ps),
            ideal_ps: 1_000 * 1_000_000 / 100,
            ..FlowRow::default()
        };
        Ok(PointResult { flows: (0..flows).map(flow).collect(), ..PointResult::default() })
    }
}

fn flows_and_fct(point: &Point) -> Result<(u32, u64), Error> {
    let scope = point.settings.scheme(&point.variant.name);
    scope.read_or(&BASE, point.variant.base.clone())?;
    Ok((point.settings.common().read(&FLOWS)? as u32, 1_000 * 1_000_000 / scope.read(&HASTE)?))
}

fn planned(text: &str, engines: &Engines) -> Result<Plan, Error> {
    plan(&ExperimentText::new("line.toml", text), Path::new(""), &Changes::default(), engines)
}

#[test]
fn engine__of_ones_own_makes_a_result() {
    let engines = Engines::new(vec![Box::new(Line)]).unwrap();
    let text = "[workload]\nflows = 20\n[schemes.hasty]\nbase = \"line\"\nhaste = 10\n[sweep]\nscheme = [\"line\", \"hasty\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let plan = planned(text, &engines).unwrap();
    let result =
        execute(&plan, &engines, folder.path(), How { jobs: 2, threads: None, fresh: true, replace: false }, &go_on)
            .unwrap();
    let mut fcts = Vec::new();
    result.for_each_run(|_, flows| fcts.push((flows.len(), flows[0].fct_ps))).unwrap();
    // 1,000 bytes at 1 and at 10 bytes a microsecond.
    assert_eq!(fcts, [(20, Some(1_000_000_000)), (20, Some(100_000_000))]);
}

#[test]
fn engine__of_ones_own_has_its_settings_checked() {
    let engines = Engines::new(vec![Box::new(Line)]).unwrap();
    let details = |text: &str| planned(text, &engines).unwrap_err().details();
    let wrong = details("[workload]\nflwos = 20\n[sweep]\nscheme = [\"line\"]\n");
    assert_eq!((wrong.line, wrong.nearest.as_deref()), (Some(2), Some("flows")));
    let unknown = details("[workload]\nflows = 2\n[network]\nqueues = 8\n[sweep]\nscheme = [\"line\"]\n");
    assert_eq!((unknown.kind, unknown.line), ("name", Some(4)), "what no engine declares is unknown");
}
