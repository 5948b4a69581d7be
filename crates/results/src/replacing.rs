//! The existing result of a folder: it is not replaced unasked if runs would be lost.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ResultError;
use crate::files::read_json;
use crate::manifest::{Experiment, PointInfo, SCHEMA};

/// Settings that a message names.
const NAMED: usize = 3;
/// The setting that names the program of the user's own scheme.
const PROGRAM: &str = "scheme.program.digest";

/// Refuses a folder with a result if this experiment would not have all of its runs. More loads, schemes or seeds replace
/// nothing, and neither does replacing an unreadable result.
pub fn refuse_loss(folder: &Path, experiment: &Experiment) -> Result<(), ResultError> {
    /// The relevant part of a manifest.
    #[derive(serde::Deserialize)]
    struct Head {
        experiment: Experiment,
    }
    let path = folder.join("manifest.json");
    if !path.is_file() {
        return Ok(());
    }
    let there = match read_json::<Head>(&path, SCHEMA) {
        Ok(head) => head.experiment,
        Err(ResultError::Damaged { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let new: BTreeSet<_> = experiment.points.iter().flat_map(runs).collect();
    let settings: BTreeSet<_> = experiment.points.iter().map(settings_of).collect();
    let lost_of = |point: &PointInfo| -> usize {
        // If seeds are added until all is resolved, those added before are found again.
        if experiment.looks && settings.contains(&settings_of(point)) {
            return 0;
        }
        runs(point).filter(|run| !new.contains(run)).count()
    };
    let lost = there.points.iter().map(lost_of).sum();
    if lost == 0 {
        return Ok(());
    }
    let differs =
        there.points.iter().find(|point| lost_of(point) > 0).map(|point| difference(point, &there, experiment));
    Err(ResultError::WouldReplace {
        path: folder.into(),
        title: there.title.clone(),
        lost,
        all: there.points.iter().map(|point| point.parts.len()).sum(),
        differs: differs.unwrap_or_default(),
    })
}

/// The settings of a point apart from the program that makes its runs: the user's own scheme stays the same when it is compiled
/// again.
fn settings_of(point: &PointInfo) -> Vec<(&str, &str)> {
    let given = point.settings.iter().filter(|(name, _)| *name != PROGRAM);
    [("scheme", point.scheme.as_str())]
        .into_iter()
        .chain(given.map(|(name, value)| (name.as_str(), value.as_str())))
        .collect()
}

fn runs(point: &PointInfo) -> impl Iterator<Item = (Vec<(&str, &str)>, u64)> {
    let settings = settings_of(point);
    point.parts.iter().map(move |part| (settings.clone(), part.seed))
}

/// How an existing point differs from the new one most like it.
fn difference(point: &PointInfo, there: &Experiment, new: &Experiment) -> String {
    let likeness = |other: &&PointInfo| {
        (
            other.scheme == point.scheme,
            other.settings.iter().filter(|(key, value)| point.settings.get(*key) == Some(value)).count(),
        )
    };
    let Some(other) = new.points.iter().max_by_key(likeness) else { return String::new() };
    let names: BTreeSet<&String> = point.settings.keys().chain(other.settings.keys()).collect();
    let value =
        |point: &PointInfo, name: &String| point.settings.get(name).cloned().unwrap_or_else(|| "not set".into());
    let mut differs: Vec<String> = names
        .into_iter()
        .filter(|name| *name != PROGRAM && point.settings.get(*name) != other.settings.get(*name))
        .map(|name| format!("{name} is {} there and {} here", value(point, name), value(other, name)))
        .collect();
    if differs.is_empty() {
        return if other.scheme == point.scheme {
            "it has other seeds".into()
        } else {
            format!("it has the scheme {}", point.scheme)
        };
    }
    let changed =
        new.scheme_files.iter().filter(|(name, text)| there.scheme_files.get(*name).is_some_and(|was| was != *text));
    let changed: Vec<String> = changed.map(|(name, _)| format!("schemes/{name}.toml was changed")).collect();
    if differs.len() > NAMED {
        let more = differs.len() - NAMED;
        differs.truncate(NAMED);
        differs.push(format!("{more} more settings differ"));
    }
    changed.into_iter().chain(differs).collect::<Vec<_>>().join(", ")
}
