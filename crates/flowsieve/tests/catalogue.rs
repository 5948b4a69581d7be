//! The catalogue of a paper: every claim of it is there once, figures share their runs, and all of it runs.

use assert_cmd::Command;
use flowsieve_experiment::plan::Changes;
use flowsieve_experiment::reproduce::{self, Figure, Reproduction};
use flowsieve_experiment::{Scale, Simulator};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn experiments() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments"))
}

fn planned(scale: Scale) -> Reproduction {
    let changes = Changes { scale, ..Changes::default() };
    reproduce::read(&experiments(), "qcluster", &changes, &Simulator).unwrap_or_else(|error| panic!("{error}"))
}

/// The claims of a figure that are measured, and those that are listed alone.
fn ids(figure: &Figure) -> impl Iterator<Item = String> {
    let experiment = &figure.plan.experiment;
    let measured = experiment.claims.iter().map(|claim| claim.id.clone());
    let listed = experiment.unmeasured.iter().map(|claim| claim.id.clone());
    measured.chain(listed).collect::<Vec<_>>().into_iter()
}

/// The 67 claims of the paper's section 6 and Table 4, in their order.
const QCLUSTER: std::ops::RangeInclusive<u32> = 1..=67;

#[test]
fn qcluster__has_each_claim_once() {
    let catalogue = planned(Scale::Paper);
    let mut found: Vec<String> = catalogue.figures.iter().flat_map(ids).collect();
    found.sort();
    let mut distinct = found.clone();
    distinct.dedup();
    assert_eq!(found, distinct);
    // A claim may have others beside it, of the same words: `qcluster-64-code`.
    let own: Vec<&str> = found.iter().map(String::as_str).filter(|id| id.len() == "qcluster-01".len()).collect();
    assert_eq!(own, QCLUSTER.map(|number| format!("qcluster-{number:02}")).collect::<Vec<_>>());
    for beside in found.iter().filter(|id| !own.contains(&id.as_str())) {
        assert!(own.iter().any(|id| beside.starts_with(&format!("{id}-"))), "{beside}");
    }
}

#[test]
fn qcluster__figures_share_runs_at_every_scale() {
    for scale in [Scale::Smoke, Scale::Quick, Scale::Paper] {
        let catalogue = planned(scale);
        let keys = |name: &str| -> BTreeSet<&str> {
            let figure = catalogue.figures.iter().find(|figure| figure.name == name).expect(name);
            figure.plan.runs.iter().map(|run| run.key.as_str()).collect()
        };
        let within = [
            ("fig11", "fig10"),
            ("fig12", "fig10"),
            ("fig13", "fig13-14"),
            ("fig14", "fig13-14"),
            ("fig17", "fig14"),
            ("fig18", "fig14"),
            ("fig19", "fig14"),
            ("fig20", "fig13"),
            ("fig21", "fig14"),
            ("fig22", "fig13"),
            ("fig27", "fig26"),
        ];
        for (part, whole) in within {
            assert!(keys(part).is_subset(&keys(whole)), "{part} and {whole} at {scale:?}");
        }
        // QC-LAS on W4 and W6, and QC-SRPT on them.
        for (one, other) in [("fig16", "fig13"), ("fig23", "fig13"), ("fig24", "fig13")] {
            assert!(!keys(one).is_disjoint(&keys(other)), "{one} and {other} at {scale:?}");
        }
        for figure in &catalogue.figures {
            let seeds = if scale == Scale::Smoke { 2 } else { 3 };
            assert_eq!(figure.plan.runs.len(), figure.plan.points.len() * seeds, "{}", figure.name);
            // W1 and W2 have short packets: the papers' load does not count headers.
            let other = figure.plan.warnings.iter().find(|warning| !warning.contains("of their rate"));
            assert_eq!(other, None, "{}", figure.name);
        }
    }
}

#[test]
fn qcluster__runs_at_smoke_scale_and_judges_every_claim() {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::cargo_bin("flowsieve")
        .unwrap()
        .current_dir(folder.path())
        .args(["reproduce", "qcluster", "--scale", "smoke", "--out", "out", "--folder"])
        .arg(experiments())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let page = std::fs::read_to_string(folder.path().join("out/reproduction.md")).unwrap();
    for id in planned(Scale::Smoke).figures.iter().flat_map(ids) {
        let row =
            page.lines().find(|line| line.starts_with(&format!("| {id} |"))).unwrap_or_else(|| panic!("{id}: {page}"));
        let cells: Vec<&str> = row.split(" | ").collect();
        let &[.., measured, verdict] = cells.as_slice() else { panic!("{row}") };
        if id == "qcluster-67" {
            assert!(verdict.starts_with("not measured: "), "{row}");
            continue;
        }
        assert!(["agrees", "disagrees", "not resolved"].iter().any(|known| verdict.starts_with(known)), "{row}");
        // Two seeds: a value with an interval, or as many values as there are schemes.
        assert!(measured.contains(" to ") || measured.contains(", "), "{row}");
    }
}
