//! Makes the runs of a bundle or a result again, and says whether they give the same bytes.

use crate::bundle::{self, Unpacked, failed};
use crate::engine::Engines;
use crate::error::Error;
use crate::execute::{How, Show, execute};
use crate::experiment_text::ExperimentText;
use crate::folder::Folder;
use crate::model::{MODEL, changed_since};
use crate::plan::{Changes, Plan};
use crate::scale::Scale;
use crate::source::Source;
use flowsieve_results::{COMMIT, Digests, Experiment, PointInfo, ResultDir};
use flowsieve_settings::files::builtin;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An experiment with what its result has to be.
#[derive(Debug)]
pub struct Verifiable {
    /// Its runs.
    pub plan: Plan,
    expected: Digests,
}

impl Verifiable {
    /// Reads a bundle, or the folder of a result. The files that a result names are looked for from the current folder on.
    ///
    /// # Errors
    /// Fails if it is damaged, holds no digests, or cannot be planned here.
    pub fn read(path: &Path, engines: &Engines) -> Result<Verifiable, Error> {
        let cannot = |problem: String| Error::File { path: path.display().to_string(), problem };
        if !path.is_dir() {
            let bundle::Unbundled { source, expected } = bundle::unpack(path)?;
            let Some(expected) = expected else {
                let expected = "expected one of `flowsieve pack EXPERIMENT --result DIR`";
                return Err(cannot(format!("holds no digests of a result; {expected}")));
            };
            return Ok(Verifiable { plan: source.plan(engines)?, expected });
        }
        let result = ResultDir::open(path)?;
        Ok(Verifiable { plan: planned_again(&result, engines)?, expected: Digests::of(&result)? })
    }

    /// Says which other program made the result, and what has changed since; nothing if it is of this version and commit.
    pub fn made_by_another(&self, engines: &Engines) -> Vec<String> {
        let version = |name: &str| self.expected.versions.get(name).map_or("unknown", String::as_str);
        let here = |name: &str| match name {
            COMMIT => engines.commit().unwrap_or("unknown"),
            name => self.plan.experiment.versions.get(name).map_or("unknown", String::as_str),
        };
        let names = ["flowsieve", "model", COMMIT];
        if names.iter().all(|name| version(name) == here(name)) {
            return Vec::new();
        }
        let said = |of: &dyn Fn(&str) -> String| names.map(|name| format!("{name} {}", of(name))).join(", ");
        let (theirs, ours) = (said(&|name| version(name).to_owned()), said(&|name| here(name).to_owned()));
        let mut lines = vec![format!("it was made by {theirs}; this is {ours}")];
        if let Ok(model) = version("model").parse().map(|model: u32| model.min(MODEL)) {
            lines.extend(changed_since(model));
        }
        lines
    }

    /// Makes all runs, in the folder `out` or in one that is removed, and says where the result differs: nothing if its bytes
    /// are the same.
    ///
    /// # Errors
    /// Fails if a run does.
    pub fn differences(
        &self,
        engines: &Engines,
        out: Option<&Path>,
        how: How,
        show: Show<'_>,
    ) -> Result<Vec<String>, Error> {
        let kept = Unpacked::new().map_err(failed(&std::env::temp_dir()))?;
        let inner = kept.below(1);
        let made = execute(&self.plan, engines, out.unwrap_or(&inner), How { fresh: true, ..how }, show);
        let made = made.map_err(|error| match error {
            Error::Simulation { .. } | Error::NotValid { .. } => Error::Input(format!("cannot be verified: {error}")),
            error => error,
        })?;
        Ok(self.expected.differences(&Digests::of(&made)?))
    }

    /// Names the files that are compared.
    pub fn files(&self) -> String {
        self.expected.files.keys().cloned().collect::<Vec<_>>().join(", ")
    }
}

/// Plans the experiment of a result again. The files that it names are looked for from the current folder on, and of an
/// experiment that is built in next to that.
fn planned_again(result: &ResultDir, engines: &Engines) -> Result<Plan, Error> {
    planned_in(PathBuf::new(), result, engines).or_else(|error| {
        let builtin = builtin::folder_of_text(&result.manifest().experiment.text);
        builtin.and_then(|folder| planned_in(folder, result, engines).ok()).ok_or(error)
    })
}

fn planned_in(folder: PathBuf, result: &ResultDir, engines: &Engines) -> Result<Plan, Error> {
    let path = result.path();
    let cannot = |problem: String| Error::File { path: path.display().to_string(), problem };
    let found = &result.manifest().experiment;
    if found.missing_runs > 0 {
        return Err(cannot(format!("lacks {} of its runs; expected a whole result", found.missing_runs)));
    }
    let source = Source::new(
        ExperimentText::new("the result's experiment", &found.text),
        Folder::at(folder).with_schemes(&found.scheme_files),
    );
    let mut plan = source.with(&changes(found)).plan(engines)?;
    // Without a title of its own an experiment has that of its file's name, which a result does not hold.
    plan.experiment.title.clone_from(&found.title);
    for (point, info) in found.points.iter().enumerate().take(plan.points.len()) {
        plan.raise_seeds(point, info.parts.len());
    }
    if plan.experiment.versions == found.without_commit().versions && plan.experiment.points != found.points {
        let problem = format!("cannot be made again here: {}", differs(&plan.experiment, found));
        return Err(cannot(format!("{problem}; expected the files that it names, from the current folder on")));
    }
    Ok(plan)
}

/// Plans the experiment of a result again, for runs that are those of the result.
///
/// # Errors
/// Fails if it lacks runs, cannot be planned here, or was made by another model.
pub fn plan_of(result: &ResultDir, engines: &Engines) -> Result<Plan, Error> {
    let plan = planned_again(result, engines)?;
    let model = |of: &Experiment| of.versions.get("model").cloned().unwrap_or_else(|| "unknown".to_owned());
    let (theirs, ours) = (model(&result.manifest().experiment), model(&plan.experiment));
    if theirs != ours {
        let problem = format!("was made by model {theirs}, and this is model {ours}, which makes other runs");
        let problem = format!("{problem}; expected the program that made it, or to make it again");
        return Err(Error::File { path: result.path().display().to_string(), problem });
    }
    Ok(plan)
}

/// What a bundle carries so that its result can be verified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Proof<'a> {
    /// The commit of the program that packs.
    pub commit: Option<&'a str>,
    /// The plan's result.
    pub result: Option<&'a ResultDir>,
}

impl Proof<'_> {
    /// The digests of the result, which has to be the plan's.
    pub(crate) fn expected(&self, plan: &Plan) -> Result<Option<Digests>, Error> {
        let Some(result) = self.result else { return Ok(None) };
        let found = &result.manifest().experiment;
        if found.without_commit() != plan.experiment {
            return Err(Error::File {
                path: result.path().display().to_string(),
                problem: format!(
                    "is not the result of this plan: {}; expected what `flowsieve run` makes of it with the same file, --set, \
                     --seeds and --scale",
                    differs(&plan.experiment, found)
                ),
            });
        }
        Ok(Some(Digests::of(result)?))
    }
}

/// How the experiment of a result differs from a planned one, in words.
fn differs(plan: &Experiment, found: &Experiment) -> String {
    let versions = |of: &Experiment| {
        let all = of.versions.iter().filter(|(name, _)| *name != COMMIT);
        all.map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
    };
    let points = |of: &Experiment| of.points.iter().map(PointInfo::in_words).collect::<Vec<_>>().join("; ");
    let seeds = |of: &Experiment| of.points.iter().map(|point| point.parts.len()).sum::<usize>().to_string();
    for (what, of) in [("versions", &versions as &dyn Fn(&Experiment) -> String), ("points", &points), ("runs", &seeds)]
    {
        if of(plan) != of(found) {
            return format!("its {what} are {}, and not {}", of(found), of(plan));
        }
    }
    for (point, other) in plan.points.iter().zip(&found.points) {
        let names = point.settings.keys().chain(other.settings.keys());
        if let Some(name) = names.into_iter().find(|name| point.settings.get(*name) != other.settings.get(*name)) {
            let value = |of: &PointInfo| of.settings.get(name).cloned().unwrap_or_else(|| "not set".to_owned());
            return format!("{name} is {} in {}, and not {}", value(other), other.in_words(), value(point));
        }
    }
    "its text or its changes are others".to_owned()
}

/// The changes that a result's manifest lists.
fn changes(found: &Experiment) -> Changes {
    let mut changes = Changes::default();
    for change in &found.changes {
        let scales = [Scale::Smoke, Scale::Quick];
        match change.split_once('=') {
            Some(("seeds", seeds)) if seeds.parse::<u64>().is_ok() => changes.seeds = seeds.parse().ok(),
            Some(("scale", name)) if scales.iter().any(|scale| scale.name() == name) => {
                changes.scale = scales.into_iter().find(|scale| scale.name() == name).unwrap_or_default();
            }
            None if change == "resolve" => changes.resolve = true,
            _ => changes.sets.push(change.clone()),
        }
    }
    changes
}

/// What somebody reads who unpacks a bundle, with these files by path and digest.
pub(crate) fn readme(
    experiment: &Experiment,
    versions: &BTreeMap<String, String>,
    proves: bool,
    files: &[(&str, &str)],
) -> String {
    let version = |name: &str| versions.get(name).map_or("unknown", String::as_str);
    let (points, runs) =
        (experiment.points.len(), experiment.points.iter().map(|point| point.parts.len()).sum::<usize>());
    let proof = if proves {
        "It has digests of the result. `flowsieve verify` with this file makes the runs again and says whether they give the \
         same bytes."
    } else {
        "It has no digests of a result. `flowsieve pack --result` adds them."
    };
    let files: String = files.iter().map(|(path, digest)| format!("- `{path}` is `{digest}`\n")).collect();
    let files = if files.is_empty() { String::new() } else { format!("\nFiles that it names:\n\n{files}") };
    format!(
        "# {}\n\nAn experiment of Flowsieve: {points} points, {runs} runs. `flowsieve run` with this file makes its result.\n\
         {proof}\n\nPacked by flowsieve {}, model {}, commit {}. Another model gives other results.\n{files}",
        experiment.title,
        version("flowsieve"),
        version("model"),
        version(COMMIT)
    )
}
