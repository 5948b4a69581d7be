//! The catalogue of a paper: its experiments, one file a figure, run together and held against what the paper claims.
//!
//! Figures share runs: the same point with the same seed is run once, whichever of them asks first. An interrupted
//! reproduction goes on where it was.

use crate::engine::Engine;
use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::plan::{self, Changes, Plan};
use flowsieve_results::ResultDir;
use flowsieve_schemes::settings::{Origin, SettingsError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Packet-hops per second of one core that estimates of time assume: somewhat less than the event loop makes.
const HOPS_PER_SECOND: f64 = 10e6;

/// The file of a paper's folder that the page ends with: what was checked where a claim and the measured value disagree.
pub const CHECKS: &str = "checks.md";

/// One experiment of the catalogue.
#[derive(Debug)]
pub struct Figure {
    /// Its file's name without the extension.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// What it runs.
    pub plan: Plan,
}

/// The experiments of a paper that are to be run.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper: the name of its folder.
    pub paper: String,
    /// Its figures by name.
    pub figures: Vec<Figure>,
    /// What its folder says, in [`CHECKS`], of claims that measurements do not bear out; empty if it says nothing.
    pub checks: String,
}

/// What a reproduction takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Points of all figures.
    pub points: usize,
    /// Runs that they ask for.
    pub runs: usize,
    /// Runs to make, each once, without those that are there.
    pub left: usize,
    /// About how many packet-hops these take.
    pub packet_hops: f64,
}

impl Estimate {
    /// About how long that takes with so many runs at a time, in seconds.
    pub fn seconds(&self, jobs: usize) -> f64 {
        self.packet_hops / HOPS_PER_SECOND / jobs.clamp(1, self.left.max(1)) as f64
    }
}

/// Plans `PAPER` or `PAPER/FIGURE` of the catalogue in `folder`; everything is checked before anything runs.
pub fn read(folder: &Path, what: &str, changes: &Changes, engine: &dyn Engine) -> Result<Reproduction, Error> {
    let (paper, figure) = what.split_once('/').map_or((what, None), |(paper, figure)| (paper, Some(figure)));
    let papers = entries(folder, |path| path.is_dir());
    if !papers.iter().any(|(name, _)| name == paper) {
        return Err(unknown(folder, what, "paper", paper, papers));
    }
    let files = entries(&folder.join(paper), |path| path.extension().is_some_and(|extension| extension == "toml"));
    let wanted: Vec<_> = files.iter().filter(|(name, _)| figure.is_none_or(|figure| figure == name)).cloned().collect();
    if wanted.is_empty() {
        return Err(unknown(&folder.join(paper), what, "figure", figure.unwrap_or("*"), files));
    }
    let plan_of = |(name, file): (String, PathBuf)| {
        let plan = plan::read(&file, changes, engine)?;
        Ok(Figure { name, file, plan })
    };
    let figures = wanted.into_iter().map(plan_of).collect::<Result<Vec<_>, Error>>()?;
    let checks = folder.join(paper).join(CHECKS);
    let checks = if checks.exists() { ExperimentText::read(&checks)?.text.to_string() } else { String::new() };
    Ok(Reproduction { paper: paper.to_owned(), figures, checks })
}

/// The names, without extension, of what a folder holds, sorted.
fn entries(folder: &Path, is: impl Fn(&Path) -> bool) -> Vec<(String, PathBuf)> {
    // A folder that cannot be read holds nothing that could be run.
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    let mut found: Vec<_> = found.filter(|path| is(path)).filter_map(named).collect();
    found.sort();
    found
}

fn unknown(folder: &Path, what: &str, kind: &str, name: &str, there: Vec<(String, PathBuf)>) -> Error {
    let names: Vec<String> = there.into_iter().map(|(name, _)| name).collect();
    let listed = if names.is_empty() { "nothing is there".to_owned() } else { names.join(", ") };
    let problem = format!("there is no {kind} `{name}` in {}", folder.display());
    SettingsError::new(Origin::CommandLine(format!("reproduce {what}").into()), problem)
        .expected(format!("PAPER or PAPER/FIGURE: {listed}"))
        .names(name, names)
        .into()
}

impl Reproduction {
    /// What it takes, with the runs that `parts` has already.
    pub fn estimate(&self, parts: &Path) -> Estimate {
        let mut estimate = Estimate { points: 0, runs: 0, left: 0, packet_hops: 0.0 };
        let mut seen = BTreeSet::new();
        for plan in self.figures.iter().map(|figure| &figure.plan) {
            estimate.points += plan.points.len();
            estimate.runs += plan.runs.len();
            for run in plan.runs.iter().filter(|run| seen.insert(&run.key)) {
                if !parts.join(&run.key).exists() {
                    estimate.left += 1;
                    estimate.packet_hops += run.packet_hops;
                }
            }
        }
        estimate
    }

    /// The results of its figures as a page of Markdown.
    pub fn page(&self, results: &[ResultDir]) -> String {
        let figures: Vec<_> = self.figures.iter().map(|figure| figure.name.as_str()).zip(results).collect();
        flowsieve_report::reproduction(&self.paper, &figures, &self.checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulator;

    #[test]
    fn read__unknown_papers_and_figures_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pias")).unwrap();
        std::fs::write(folder.path().join("pias/fig-9.toml"), "title = \"x\"\n").unwrap();
        let refused =
            |what: &str| read(folder.path(), what, &Changes::default(), &Simulator).unwrap_err().render(false);
        assert!(refused("pais").contains("did you mean `pias`?"), "{}", refused("pais"));
        assert!(refused("pias/fig-8").contains("did you mean `fig-9`?"), "{}", refused("pias/fig-8"));
        assert!(refused("..").contains("there is no paper"), "{}", refused(".."));
        assert!(refused("pias/fig-9").contains("fig-9.toml"), "{}", refused("pias/fig-9"));
    }
}
