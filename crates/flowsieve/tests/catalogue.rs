//! The catalogues of papers: every claim of a paper is there once, figures share their runs, and all of it runs.

use assert_cmd::Command;
use flowsieve::papers::TABLES;
use flowsieve_engines::built_in;
use flowsieve_experiment::Scale;
use flowsieve_experiment::plan::Changes;
use flowsieve_papers::reproduce::{self, Figure, Reproduction, Take};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn papers() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers"))
}

fn planned(paper: &str, scale: Scale) -> Reproduction {
    let changes = Changes { scale, ..Changes::default() };
    reproduce::read(&papers(), paper, &changes, Take::None, &built_in().reading(TABLES))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What tells the runs of a figure from others.
fn keys<'a>(catalogue: &'a Reproduction, name: &str) -> BTreeSet<&'a str> {
    let figure = catalogue.figures.iter().find(|figure| figure.name == name).expect(name);
    figure.plan.runs.iter().map(|run| run.key.as_str()).collect()
}

/// The claims of a figure that are measured, and those that are listed alone.
fn ids(figure: &Figure) -> impl Iterator<Item = String> {
    let measured = figure.claims.measured.iter().map(|claim| claim.id.clone());
    let listed = figure.claims.unmeasured.iter().map(|claim| claim.id.clone());
    measured.chain(listed).collect::<Vec<_>>().into_iter()
}

/// Papers, and the numbers of their claims: those of QCluster's section 6 and Table 4, NOS2's Fig 1 and section V, and
/// AWAFS's chapter 5, and all of QCLIMB's and pCoflow's.
const PAPERS: [(&str, u32); 5] = [("qcluster", 67), ("nos2", 12), ("awafs", 53), ("qclimb", 89), ("pcoflow", 17)];

#[test]
fn papers__have_each_claim_once() {
    for (paper, claims) in PAPERS {
        let catalogue = planned(paper, Scale::Paper);
        let mut found: Vec<String> = catalogue.figures.iter().flat_map(ids).collect();
        found.sort();
        let mut distinct = found.clone();
        distinct.dedup();
        assert_eq!(found, distinct);
        // A claim may have others next to it, of the same words: `qcluster-64-code`. AWAFS has no numbers for misuse.
        let number = |id: &&str| id.len() == paper.len() + 3;
        let own: Vec<&str> = found.iter().map(String::as_str).filter(number).collect();
        assert_eq!(own, (1..=claims).map(|number| format!("{paper}-{number:02}")).collect::<Vec<_>>());
        for beside in found.iter().filter(|id| !own.contains(&id.as_str()) && !id.starts_with("awafs-misuse-")) {
            assert!(own.iter().any(|id| beside.starts_with(&format!("{id}-"))), "{beside}");
        }
    }
}

/// What the lab claims is what papers claim, word by word, and their pages show what it measured. Only Sieve's claims about
/// Linux are its own.
#[cfg(target_os = "linux")]
#[test]
fn lab__repeats_claims_of_the_papers() {
    let mut catalogues = BTreeMap::new();
    for figure in planned("lab", Scale::Quick).figures {
        for claim in &figure.claims.measured {
            if figure.name == "sieve" {
                assert!(claim.repeats.is_none() && claim.id.starts_with("sieve-"), "{}", claim.id);
                continue;
            }
            let (paper, id) = claim.repeats.as_deref().and_then(|id| id.split_once('/')).expect("a claim of a paper");
            let catalogue = catalogues.entry(paper.to_owned()).or_insert_with(|| planned(paper, Scale::Smoke));
            let literal = catalogue.figures.iter().flat_map(|figure| &figure.claims.measured);
            let literal = literal.into_iter().find(|literal| literal.id == id).unwrap_or_else(|| panic!("{id}"));
            assert_eq!(claim.expected, literal.expected, "{id}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let mut command = Command::cargo_bin("flowsieve").unwrap();
    command.args(["reproduce", "pcoflow", "--scale", "quick", "--from-measured", "--folder"]).arg(papers());
    command.arg("--out").arg(folder.path()).arg("--page").arg(&page).assert().success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("| claim | where | what | claimed | measured | on Linux | verdict |"), "{page}");
    let of_figure = page.lines().find(|line| line.starts_with("| pcoflow-14 | Fig 6 |")).expect("a row of the figure");
    let cells: Vec<&str> = of_figure.split(" | ").collect();
    assert!(cells[4].contains(" to ") && cells[5].contains(" to "), "{cells:?}");
}

#[test]
fn awafs_and_nos2__figures_share_runs_at_every_scale() {
    for scale in [Scale::Smoke, Scale::Quick, Scale::Paper] {
        let awafs = planned("awafs", scale);
        let same = [
            ("fig05-01", "fig05-09"),
            ("fig05-05", "fig05-06"),
            ("fig05-13", "fig05-14"),
            ("fig05-13", "fig05-15"),
            ("fig05-18", "fig05-19"),
            ("fig05-18", "fig05-20"),
            ("fig05-18", "fig05-21"),
            ("fig05-23", "fig05-24"),
            ("fig05-23", "fig05-25"),
            ("fig05-23", "fig05-26"),
            ("fig05-27", "fig05-28"),
            ("fig05-27", "fig05-29"),
            ("fig05-27", "fig05-30"),
        ];
        for (one, other) in same {
            assert_eq!(keys(&awafs, one), keys(&awafs, other), "{one} and {other} at {scale:?}");
        }
        for part in ["fig05-10", "fig05-11", "fig05-12"] {
            assert!(keys(&awafs, part).is_subset(&keys(&awafs, "fig05-13")), "{part} at {scale:?}");
        }
        for (one, other) in [("fig05-09", "fig05-10"), ("fig05-16", "fig05-13")] {
            assert!(!keys(&awafs, one).is_disjoint(&keys(&awafs, other)), "{one} and {other} at {scale:?}");
        }
        let nos2 = planned("nos2", scale);
        for (figure, parts) in [("fig06", vec!["fig06a", "fig06b", "fig06c"]), ("fig07a", vec!["fig07b", "fig07c"])] {
            assert!(parts.iter().all(|part| keys(&nos2, part) == keys(&nos2, figure)), "{figure} at {scale:?}");
        }
        for figure in awafs.figures.iter().chain(&nos2.figures) {
            assert!(figure.plan.warnings.is_empty(), "{}: {:?}", figure.name, figure.plan.warnings);
        }
    }
}

#[test]
fn qcluster__figures_share_runs_at_every_scale() {
    for scale in [Scale::Smoke, Scale::Quick, Scale::Paper] {
        let catalogue = planned("qcluster", scale);
        let keys = |name: &str| keys(&catalogue, name);
        let within = [
            ("fig11", "fig10"),
            ("fig12", "fig10"),
            ("fig14", "fig13-14"),
            ("fig21", "fig13-14"),
            ("fig20", "fig13"),
            ("fig27", "fig26"),
        ];
        for (part, whole) in within {
            assert!(keys(part).is_subset(&keys(whole)), "{part} and {whole} at {scale:?}");
        }
        // QC-LAS on W4 and W6, and QC-SRPT on them; where a figure is run at both round trips, those of the longer one.
        let common =
            [("fig21", "fig14"), ("fig22", "fig13-14"), ("fig16", "fig22"), ("fig23", "fig22"), ("fig24", "fig13")];
        for (one, other) in common {
            assert!(!keys(one).is_disjoint(&keys(other)), "{one} and {other} at {scale:?}");
        }
        for figure in &catalogue.figures {
            let seeds = if scale == Scale::Smoke { 2 } else { 5 };
            assert_eq!(figure.plan.runs.len(), figure.plan.points.len() * seeds, "{}", figure.name);
            // W1 and W2 have short packets: the papers' load does not count headers.
            let other = figure.plan.warnings.iter().find(|warning| !warning.contains("of their rate"));
            assert_eq!(other, None, "{}", figure.name);
        }
    }
}

/// The page of a paper at smoke scale, with a check of each claim's row: that it is there, and judged.
fn reproduced(paper: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::cargo_bin("flowsieve")
        .unwrap()
        .current_dir(folder.path())
        .args(["reproduce", paper, "--scale", "smoke", "--out", "out", "--folder"])
        .arg(papers())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let page = std::fs::read_to_string(folder.path().join("out/reproduction.md")).unwrap();
    for figure in &planned(paper, Scale::Smoke).figures {
        for claim in &figure.claims.unmeasured {
            let row = row(&page, &claim.id);
            assert!(row.contains("| not measured: "), "{row}");
        }
        for claim in &figure.claims.measured {
            let row = row(&page, &claim.id);
            let cells: Vec<&str> = row.split(" | ").collect();
            let &[.., measured, verdict] = cells.as_slice() else { panic!("{row}") };
            assert!(verdict.starts_with("not judged: "), "{row}");
            // So short a run does not come to flows and times of seconds.
            let late = claim.quantity.only.started_ps.is_some()
                || claim.quantity.series.as_ref().is_some_and(|at| at.at_ps.is_some());
            // And few flows time out: of one seed perhaps none.
            let sparse = ["timeouts", "flows with timeouts", "loss events", "drops", "held bytes"].contains(&claim.quantity.figure.name().as_str())
                // Nor is one query in thousands large.
                || claim.quantity.figure.name().ends_with("cct");
            // Of a rare size there may be no flow at all, whatever a stand-in could tell of it.
            let none = verdict.contains("nothing to compare") || verdict.contains("a stand-in gives no value");
            // In so short a run a mechanism may not have acted yet.
            if measured == "–" && (claim.acts.is_some() || none && claim.stand_in.is_some()) {
                continue;
            }
            // Two seeds: a value with an interval, or as many values as there are schemes.
            assert!(late || sparse || measured.contains(" to ") || measured.contains(", "), "{row}");
        }
    }
    page
}

fn row<'a>(page: &'a str, id: &str) -> &'a str {
    page.lines().find(|line| line.starts_with(&format!("| {id} |"))).unwrap_or_else(|| panic!("{id}: {page}"))
}

#[test]
fn qcluster__runs_at_smoke_scale_and_judges_every_claim() {
    reproduced("qcluster");
}

#[test]
fn awafs__runs_at_smoke_scale_and_judges_every_claim() {
    reproduced("awafs");
}

#[test]
fn nos2__runs_at_smoke_scale_and_judges_every_claim() {
    let page = reproduced("nos2");
    // The worked example is of three flows at any scale: 1, 4 and 10 ms, or 3, 7 and 10 by turns.
    assert!(row(&page, "nos2-01").contains("| 5.00 ms ("), "{page}");
    assert!(row(&page, "nos2-02").contains("| 6.65 ms ("), "{page}");
}

#[test]
fn qclimb__runs_at_smoke_scale_and_judges_every_claim() {
    let page = reproduced("qclimb");
    // The worked example is of two flows at any scale: 6.0 and 7.5 units.
    for (claim, found) in [("qclimb-86", "| 9.40 µs ("), ("qclimb-87", "| 11.2 µs (")] {
        assert!(row(&page, claim).contains(found), "{page}");
    }
}

#[test]
fn qclimb__claims_under_other_calibrations_and_readings_repeat_one_of_the_same_words() {
    let catalogue = planned("qclimb", Scale::Paper);
    let claims = || catalogue.figures.iter().flat_map(|figure| &figure.claims.measured);
    let repeats: Vec<_> = claims().filter_map(|claim| Some((claim, claim.repeats.as_ref()?))).collect();
    assert!(!repeats.is_empty());
    for (repeat, id) in repeats {
        let stated = claims().find(|claim| claim.id == *id).unwrap_or_else(|| panic!("{id} of {}", repeat.id));
        assert_eq!(
            (repeat.quantity.figure, &repeat.quantity.class),
            (stated.quantity.figure, &stated.quantity.class),
            "{}",
            repeat.id
        );
        // Of the scheme itself, or of the second reading of its paper.
        let scheme = repeat.scheme.strip_suffix("-gaps").unwrap_or(&repeat.scheme);
        assert_eq!((scheme, &repeat.baselines), (stated.scheme.as_str(), &stated.baselines), "{}", repeat.id);
        assert_eq!(repeat.stand_in, stated.stand_in, "{}", repeat.id);
        assert_eq!(repeat.expected, stated.expected, "{}", repeat.id);
    }
}

/// The seeds that judge a scheme of our own are none of those by which it was chosen, which end at 8.
#[test]
fn sieve__each_claim_once_and_seeds_of_its_own() {
    for scale in [Scale::Quick, Scale::Paper] {
        let catalogue = planned("sieve", scale);
        let found: Vec<String> = catalogue.figures.iter().flat_map(ids).collect();
        assert_eq!(found.len(), found.iter().collect::<BTreeSet<_>>().len(), "{found:?}");
        let mut seeds = catalogue.figures.iter().flat_map(|figure| &figure.plan.runs).map(|run| run.seed);
        assert!(seeds.all(|seed| (101..=110).contains(&seed)));
    }
}
