//! Builds results from parts that were made elsewhere: on other machines, or by other processes.
//!
//! The distribution of the runs does not matter: the result has the same bytes as that of one local run, except
//! `run.json`.

use crate::engine::{Engines, go_on};
use crate::error::Error;
use crate::execute::{How, Show, execute, unfinished};
use crate::plan::Plan;
use flowsieve_results::{ResultDir, ResultError, ResultWriter, refuse_loss};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most missing runs that a message lists.
const NAMED: usize = 20;

/// What to do with runs whose parts are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// List them, and join nothing.
    Refuse,
    /// Join the others, and say so in the result.
    LeaveOut,
    /// Make them here.
    Make,
}

/// Joins a plan's parts, from these folders and from the parts already in `out`. A folder may contain parts or a result
/// that has some.
///
/// # Errors
/// Fails if a part is damaged, was made by another version or model, or exists twice with different content. Also fails
/// if parts are missing, unless they are to be left out or made.
pub fn join(
    plan: &Plan,
    engines: &Engines,
    out: &Path,
    from: &[PathBuf],
    missing: Missing,
    how: How,
    show: Show<'_>,
) -> Result<ResultDir, Error> {
    // Check before any part is taken. With runs left out, the check has to wait until it is known which.
    if !how.replace && missing != Missing::LeaveOut {
        refuse_loss(out, &plan.experiment)?;
    }
    let lacking = gather(plan, out, from)?;
    if lacking.is_empty() || missing == Missing::Make {
        return execute(plan, engines, out, how, show);
    }
    if missing == Missing::Refuse || plan.runs.iter().all(|run| lacking.contains(run.key.as_str())) {
        return Err(lacks(plan, &lacking));
    }
    let mut part = plan.without(|key| lacking.contains(key));
    part.experiment.missing_runs = lacking.len() as u64;
    execute(&part, engines, out, how, show)
}

/// Returns the keys of the runs without parts in the folder `out`, in the plan's order, each once, so that they can be
/// distributed. Damaged parts are removed, and count as missing.
///
/// # Errors
/// Fails if the folder holds another result that would be lost, unless it may be replaced.
pub fn missing(plan: &Plan, out: &Path, replace: bool) -> Result<Vec<String>, Error> {
    if !replace {
        refuse_loss(out, &plan.experiment)?;
    }
    let writer = ResultWriter::create(out)?.of(&plan.experiment);
    Ok(unfinished(plan, &writer, &go_on)?.into_iter().map(|index| plan.runs[index].key.clone()).collect())
}

/// Returns the part of a key in the folder `out`, as an archive.
///
/// # Errors
/// Fails if it is missing or damaged.
pub fn archive(plan: &Plan, out: &Path, key: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    ResultWriter::create(out)?.of(&plan.experiment).write_archive(key, &mut bytes)?;
    Ok(bytes)
}

/// Unpacks the archive of a part into the folder `out`; returns whether it was complete.
///
/// # Errors
/// Fails if it is no part of the plan, was made by another version or model, or differs from the existing part.
pub fn take(plan: &Plan, out: &Path, key: &str, archive: &[u8]) -> Result<bool, Error> {
    if !plan.runs.iter().any(|run| run.key == key) {
        return Err(Error::Input(format!("the plan has no run {key}; expected one of the plan's runs")));
    }
    match ResultWriter::create(out)?.of(&plan.experiment).take_archive(key, archive) {
        Ok(()) => Ok(true),
        Err(error) if error.is_damage() || matches!(error, ResultError::Invalid { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies the available parts of a plan into `out`; returns the keys of the missing ones.
fn gather<'a>(plan: &'a Plan, out: &Path, from: &[PathBuf]) -> Result<BTreeSet<&'a str>, Error> {
    let writer = ResultWriter::create(out)?.of(&plan.experiment);
    let folders: Vec<PathBuf> = from.iter().map(|folder| parts_of(folder)).collect::<Result<_, _>>()?;
    let mut lacking = BTreeSet::new();
    for key in plan.distinct().map(|(_, run)| run.key.as_str()) {
        let mut found = writer.finished(key)?;
        // The folder that it has just been taken from.
        let mut source: Option<&PathBuf> = None;
        for folder in &folders {
            match writer.take_part(folder, key) {
                Ok(taken) => {
                    source = source.or((taken && !found).then_some(folder));
                    found |= taken;
                }
                Err(ResultError::Unequal { path, other }) => {
                    // It is unknown which of the two is right: neither stays.
                    let other = match source {
                        Some(folder) => {
                            writer.remove_part(key)?;
                            folder.join(key)
                        }
                        None => other,
                    };
                    return Err(ResultError::Unequal { path, other }.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !found {
            lacking.insert(key);
        }
    }
    if !lacking.is_empty() {
        let keys: BTreeSet<&str> = plan.runs.iter().map(|run| run.key.as_str()).collect();
        for folder in &folders {
            writer.refuse_other_makers(folder, &keys)?;
        }
    }
    Ok(lacking)
}

fn parts_of(folder: &Path) -> Result<PathBuf, Error> {
    let inner = folder.join("parts");
    if inner.is_dir() {
        return Ok(inner);
    }
    if folder.is_dir() {
        return Ok(folder.to_owned());
    }
    let problem = "is not a folder; expected a folder of parts or a result".to_owned();
    Err(Error::File { path: folder.display().to_string(), problem })
}

fn lacks(plan: &Plan, lacking: &BTreeSet<&str>) -> Error {
    let first = plan.distinct().filter(|(_, run)| lacking.contains(run.key.as_str()));
    let mut lines: Vec<String> = first
        .take(NAMED)
        .map(|(_, run)| format!("  {}, seed {}: {}", plan.points[run.point].label(), run.seed, run.key))
        .collect();
    if lacking.len() > NAMED {
        lines.push(format!("  and {} more", lacking.len() - NAMED));
    }
    Error::Input(format!(
        "{} of {} runs are missing; expected their parts in --parts, or --run-missing to make them here, or --partial for a result \
         without them\n{}",
        lacking.len(),
        plan.distinct().count(),
        lines.join("\n")
    ))
}
