//! The catalogue of a paper: its experiments, one file per figure, run together and compared with the paper's claims.
//!
//! Figures share runs: the same point with the same seed is run once, by the first figure that asks for it. An
//! interrupted reproduction continues where it was. Measured values may be stored next to the experiments, to be read
//! back when a reproduction continues.
//!
//! ```text
//! papers/PAPER/FIGURE.toml
//! papers/PAPER/measured/FIGURE.quick.json    what was measured of its runs at a scale
//! papers/PAPER/summary.md                    what holds, in a few sentences: the beginning of the page
//! papers/PAPER/checks.md                     what was checked where a claim and the measured value disagree
//! ```

use crate::claim::{Checked, Claim, Claims};
use crate::kept::Kept;
use crate::resolve::{Open, Resolving, left_out, open_claims};
use crate::why;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::lookup::is_builtin;
use flowsieve_experiment::machine::HOPS_PER_SECOND;
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_experiment::{Error, experiment_text};
use flowsieve_results::files::read_text as read_file;
use flowsieve_results::looks::LOOKS;
use flowsieve_results::measured::Measured;
use flowsieve_results::{Experiment, ResultDir, ResultError, refuse_other_model};
use flowsieve_settings::{Origin, SettingsError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The file in a paper's folder that begins its page: what a reader can take from it, in plain words, before any count.
pub const SUMMARY: &str = "summary.md";

/// The file in a paper's folder that ends its page: what was checked where a claim and the measured value disagree.
pub const CHECKS: &str = "checks.md";

/// The folder of experiments with real packets. Their claims repeat those of papers, as `PAPER/CLAIM`, for a column of the
/// papers' pages.
pub const LINUX: &str = "lab";

/// The subfolder of a paper's folder for measured values.
pub const MEASURED: &str = "measured";

/// One experiment of the catalogue.
#[derive(Debug)]
pub struct Figure {
    /// Its file's name without the extension.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// The plan of its runs.
    pub plan: Plan,
    /// Those of the runs that test the causes of its claims.
    pub tests: Vec<Plan>,
    /// Its claims.
    pub claims: Claims,
    /// Measured values of its runs.
    pub kept: Kept,
    /// The file of the measured values.
    pub kept_in: PathBuf,
}

/// The experiments of a paper that are to be run.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper: the name of its folder.
    pub paper: String,
    /// Its figures by name.
    pub figures: Vec<Figure>,
    /// The measured figures of [`LINUX`], unless this is it.
    pub on_linux: Vec<Figure>,
    /// The text of [`SUMMARY`] in its folder; empty if there is none.
    pub summary: String,
    /// The text of [`CHECKS`] in its folder, about claims that measurements do not confirm; empty if there is none.
    pub checks: String,
}

/// The cost of a reproduction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Points of all figures.
    pub points: usize,
    /// Number of runs that they ask for.
    pub runs: usize,
    /// Number of runs to make, each once, without those that exist.
    pub left: usize,
    /// Estimated packet-hops of these.
    pub packet_hops: f64,
    /// Number of runs that were measured before.
    pub kept: usize,
}

impl Estimate {
    /// Estimates the time with `jobs` runs at a time, in seconds.
    pub fn seconds(&self, jobs: usize) -> f64 {
        self.packet_hops / HOPS_PER_SECOND / jobs.clamp(1, self.left.max(1)) as f64
    }
}

/// Which measured values are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// None: all runs are made again.
    None,
    /// Those of this program's model, to which runs may be added.
    OfThisModel,
    /// Those of any model, to be shown.
    OfAny,
}

/// Plans `PAPER` or `PAPER/FIGURE` of the catalogue in `folder`, with the measured values of their runs; everything is
/// checked before anything runs.
pub fn read(
    folder: &Path,
    what: &str,
    changes: &Changes,
    take: Take,
    engines: &Engines,
) -> Result<Reproduction, Error> {
    let (paper, figure) = what.split_once('/').map_or((what, None), |(paper, figure)| (paper, Some(figure)));
    let papers = entries(folder, flowsieve_settings::files::builtin::is_dir);
    if !papers.iter().any(|(name, _)| name == paper) {
        return Err(unknown(folder, what, "paper", paper, papers));
    }
    let files = entries(&folder.join(paper), is_experiment);
    let wanted: Vec<_> = files.iter().filter(|(name, _)| figure.is_none_or(|figure| figure == name)).cloned().collect();
    if wanted.is_empty() {
        return Err(unknown(&folder.join(paper), what, "figure", figure.unwrap_or("*"), files));
    }
    if figure.is_none() {
        refuse_orphans(&folder.join(paper).join(MEASURED), &files)?;
    }
    let read_all = |files: Vec<(String, PathBuf)>, changes: &Changes| -> Result<Vec<Figure>, Error> {
        files.into_iter().map(|(name, file)| read_figure(name, file, changes, take, engines)).collect()
    };
    let figures = read_all(wanted, changes)?;
    if figure.is_none() {
        refuse_unread_words(&figures)?;
    }
    let of_lab = entries(&folder.join(LINUX), is_experiment);
    let is_measured =
        |name: &str, file: &Path| flowsieve_settings::files::builtin::is_file(&kept_in(name, file, changes));
    let measured = of_lab.into_iter().filter(|(name, file)| paper != LINUX && is_measured(name, file));
    // To these no seeds are added.
    let on_linux = read_all(measured.collect(), &Changes { resolve: false, ..changes.clone() })?;
    let text = |name: &str| read_text(&folder.join(paper).join(name));
    Ok(Reproduction { paper: paper.to_owned(), figures, on_linux, summary: text(SUMMARY)?, checks: text(CHECKS)? })
}

fn is_experiment(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Returns the file with the measured values of an experiment.
fn kept_in(name: &str, file: &Path, changes: &Changes) -> PathBuf {
    file.with_file_name(MEASURED).join(format!("{name}.{}.json", changes.scale.name()))
}

fn read_figure(name: String, file: PathBuf, changes: &Changes, take: Take, engines: &Engines) -> Result<Figure, Error> {
    let mut plan = plan::read(&file, changes, engines)?;
    let claims = Claims::of(&plan.experiment)?;
    let kept_in = kept_in(&name, &file, changes);
    let none = || Ok(Kept::none(&plan.experiment, &claims));
    let mut kept = if take == Take::None { none() } else { read_kept(&kept_in, &plan.experiment, &claims) }?;
    let tests = why::tests(&file, &plan, &claims, changes, engines)?;
    if kept.other_model(&plan.experiment).is_some() {
        match take {
            Take::OfAny => kept.rename(&plan, &tests),
            Take::None | Take::OfThisModel => kept = none()?,
        }
    }
    if changes.resolve {
        take_seeds(&mut plan, &kept);
    }
    Ok(Figure { name, file, plan, tests, claims, kept, kept_in })
}

/// Reads a text for a page; empty if there is no such file.
fn read_text(path: &Path) -> Result<String, Error> {
    if !flowsieve_settings::files::builtin::is_file(path) {
        return Ok(String::new());
    }
    Ok(experiment_text::read(path)?.text.to_string())
}

/// Reads measured values from a file, of the file system or built in; empty if there is none.
fn read_kept(path: &Path, experiment: &Experiment, claims: &Claims) -> Result<Kept, ResultError> {
    let text = match flowsieve_settings::files::builtin::contents(path) {
        Some(contents) => String::from_utf8_lossy(&contents).into_owned(),
        None if !is_builtin(path) && path.try_exists().map_err(ResultError::io("read", path))? => read_file(path)?,
        None => return Ok(Kept::none(experiment, claims)),
    };
    Kept::parse(path, &text, experiment, claims)
}

/// Raises each point's seeds to the number measured without a gap.
fn take_seeds(plan: &mut Plan, kept: &Kept) {
    let most = LOOKS.last().map_or(0, |look| look.seeds);
    for point in 0..plan.points.len() {
        let parts = &plan.experiment.points[point].parts;
        let (Some(first), have) = (parts.first().map(|part| part.seed), parts.len()) else { continue };
        let there = |seeds: &usize| kept.has(&plan.key(point, first + *seeds as u64));
        let seeds = have + (have..most).take_while(there).count();
        plan.raise_seeds(point, seeds);
    }
}

/// Refuses measured values of an experiment that no longer exists.
fn refuse_orphans(measured: &Path, files: &[(String, PathBuf)]) -> Result<(), Error> {
    let is_json = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    for (name, path) in entries(measured, is_json) {
        let experiment = name.rsplit_once('.').map_or(name.as_str(), |(experiment, _)| experiment);
        if !files.iter().any(|(name, _)| name == experiment) {
            let problem = format!(
                "has measurements of `{experiment}`, but there is no {experiment}.toml; remove one or restore the other"
            );
            return Err(Error::File { path: path.display().to_string(), problem });
        }
    }
    Ok(())
}

/// Refuses a claim that repeats one which the paper's experiments do not have, unless it is another paper's.
fn refuse_unread_words(figures: &[Figure]) -> Result<(), Error> {
    let claims = || figures.iter().flat_map(|figure| figure.claims.measured.iter().map(move |claim| (figure, claim)));
    let is_literal =
        |id: &str| id.contains('/') || claims().any(|(_, claim)| claim.id == id && claim.repeats.is_none());
    let lost = |(_, claim): &(&Figure, &Claim)| claim.repeats.as_ref().is_some_and(|id| !is_literal(id));
    let Some((figure, claim)) = claims().find(lost) else { return Ok(()) };
    let id = claim.repeats.as_deref().unwrap_or_default();
    let problem = format!("the claim {:?} repeats {id:?}, but the paper's experiments have no such claim", claim.id);
    Err(Error::File { path: figure.file.display().to_string(), problem })
}

/// Lists the names, without extension, of a folder's entries, sorted.
fn entries(folder: &Path, is: impl Fn(&Path) -> bool) -> Vec<(String, PathBuf)> {
    let named = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    let mut found: Vec<_> = flowsieve_settings::files::builtin::entries(folder)
        .into_iter()
        .filter(|path| is(path))
        .filter_map(named)
        .collect();
    found.sort();
    found
}

fn unknown(folder: &Path, what: &str, kind: &str, name: &str, there: Vec<(String, PathBuf)>) -> Error {
    let names: Vec<String> = there.into_iter().map(|(name, _)| name).collect();
    let listed = if names.is_empty() { "nothing is there".to_owned() } else { names.join(", ") };
    let problem = format!("there is no {kind} `{name}` in {}", folder.display());
    let elsewhere = if is_builtin(folder) { "" } else { "; for the program's own use --folder built-in:" };
    SettingsError::new(Origin::CommandLine(format!("reproduce {what}").into()), problem)
        .expected(format!("PAPER or PAPER/FIGURE: {listed}{elsewhere}"))
        .names(name, names)
        .into()
}

impl Figure {
    /// Its plans: of its own runs, then of those that test causes.
    fn plans(&self) -> impl Iterator<Item = &Plan> + Clone {
        [&self.plan].into_iter().chain(&self.tests)
    }

    /// Returns the runs of each plan whose values are not stored, and those whose parts exist anyway, so that a result has as
    /// much as possible without further runs. Each has a folder's name: that of the figure and of what a test changes.
    pub fn left(&self, parts: &Path) -> Vec<(String, Plan)> {
        let left = self.plans().filter(|plan| !plan.runs.iter().all(|run| self.kept.has(&run.key)));
        let of = |plan: &Plan| plan.without(|key| self.kept.has(key) && !parts.join(key).exists());
        let sets = |plan: &Plan| Changes { sets: plan.changes.sets.clone(), ..Changes::default() }.suffix();
        left.map(|plan| (format!("{}{}", self.name, sets(plan)), of(plan))).collect()
    }

    /// Takes the measured values from the result of one of its plans.
    pub fn take(&mut self, result: &ResultDir, plan: &Plan) -> Result<(), Error> {
        self.kept.add(result, &plan.changes.sets);
        if let Some(run) = result.run_info()? {
            self.kept.was_made(&run);
        }
        Ok(())
    }

    /// Writes the measured values next to the experiment.
    pub fn keep(&mut self) -> Result<(), Error> {
        let plans: Vec<&Plan> = [&self.plan].into_iter().chain(&self.tests).collect();
        self.kept.forget_others(&plans);
        Ok(self.kept.write(&self.kept_in)?)
    }

    /// Returns what says to which of its points seeds have to be added; `is_made` are runs that exist in addition to the kept.
    pub fn resolving<'a>(&'a self, is_made: impl Fn(&str) -> bool + 'a) -> Resolving<'a> {
        let is_made = Box::new(move |key: &str| self.kept.has(key) || is_made(key));
        Resolving { plan: &self.plan, claims: &self.claims, measured: self.measured(), is_made }
    }

    /// Returns the model that made its runs, if it is not the program's own.
    pub(crate) fn other_model(&self) -> Option<&str> {
        self.kept.other_model(&self.plan.experiment)
    }

    /// Returns what the test of a claim's cause shows, if it has one: the claim's check with that change.
    pub(crate) fn tested(&self, claim: &Claim) -> Option<Checked> {
        let set = &claim.why_test.as_ref()?.set;
        let plan = self.tests.iter().find(|plan| why::is_of(plan, &self.plan, set))?;
        Some(claim.check(&plan.experiment, &self.kept.measured(&plan.experiment)))
    }

    /// Returns the values that its claims are compared with.
    pub fn measured(&self) -> Measured {
        self.kept.measured(&self.plan.experiment)
    }
}

impl Reproduction {
    /// Estimates its cost, given the stored values and the existing runs in `parts`.
    pub fn estimate(&self, parts: &Path) -> Estimate {
        let mut estimate = Estimate { points: 0, runs: 0, left: 0, packet_hops: 0.0, kept: 0 };
        let mut seen = BTreeSet::new();
        for figure in &self.figures {
            estimate.points += figure.plans().map(|plan| plan.points.len()).sum::<usize>();
            let runs = figure.plans().flat_map(|plan| &plan.runs);
            estimate.runs += runs.clone().count();
            let (kept, missing): (Vec<_>, Vec<_>) = runs.partition(|run| figure.kept.has(&run.key));
            estimate.kept += kept.len();
            for run in missing.into_iter().filter(|run| seen.insert(&run.key)) {
                if !parts.join(&run.key).exists() {
                    estimate.left += 1;
                    estimate.packet_hops += run.packet_hops;
                }
            }
        }
        estimate
    }

    /// Refuses a folder with results of another model for one of its figures.
    pub fn refuse_other_models(&self, out: &Path) -> Result<(), Error> {
        for figure in &self.figures {
            refuse_other_model(&out.join(&figure.name), &figure.plan.experiment)?;
        }
        Ok(())
    }

    /// The claims that twice their seeds would resolve, cheapest first, if seeds were added to some: the budget ended before
    /// these had them.
    pub fn left_out(&self) -> Vec<Open> {
        let with_looks = self.figures.iter().filter(|figure| figure.plan.experiment.looks);
        let resolving: Vec<Resolving<'_>> = with_looks.map(|figure| figure.resolving(|_| false)).collect();
        left_out(&open_claims(&resolving, None)).cloned().collect()
    }
}
