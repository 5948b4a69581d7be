//! What a folder holds already: a result that would be lost is not replaced unasked.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ResultError;
use crate::files::read_json;
use crate::manifest::{Experiment, PointInfo, SCHEMA};

/// Settings that a message names.
const NAMED: usize = 3;

/// Refuses a folder with a result of which this experiment would not have all runs. More loads, schemes or seeds replace
/// nothing; neither does what cannot be read.
pub fn refuse_loss(folder: &Path, experiment: &Experiment) -> Result<(), ResultError> {
    /// What of a manifest is looked at.
    #[derive(serde::Deserialize)]
    struct Head {
        experiment: Experiment,
    }
    let path = folder.join("manifest.json");
    if !path.try_exists().map_err(ResultError::io("read", &path))? {
        return Ok(());
    }
    let there = match read_json::<Head>(&path, SCHEMA) {
        Ok(head) => head.experiment,
        Err(ResultError::Damaged { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let new: BTreeSet<&str> = keys(experiment).collect();
    let (all, lost) = (keys(&there).count(), keys(&there).filter(|key| !new.contains(key)).count());
    if lost == 0 {
        return Ok(());
    }
    let is_lost = |point: &&PointInfo| point.parts.iter().any(|part| !new.contains(part.key.as_str()));
    let differs = there.points.iter().find(is_lost).map(|point| difference(&there, point, experiment));
    Err(ResultError::WouldReplace {
        path: folder.into(),
        title: there.title.clone(),
        lost,
        all,
        differs: differs.unwrap_or_default(),
    })
}

fn keys(experiment: &Experiment) -> impl Iterator<Item = &str> {
    experiment.points.iter().flat_map(|point| point.parts.iter().map(|part| part.key.as_str()))
}

/// How a point that is there differs from what is most like it.
fn difference(there: &Experiment, point: &PointInfo, new: &Experiment) -> String {
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
        .filter(|name| point.settings.get(*name) != other.settings.get(*name))
        .map(|name| format!("{name} is {} there and {} here", value(point, name), value(other, name)))
        .collect();
    if differs.is_empty() {
        let versions = |experiment: &Experiment| experiment.versions.get("model").cloned().unwrap_or_default();
        let (was, is) = (versions(there), versions(new));
        return if was == is {
            "it has other seeds".into()
        } else {
            format!("its model is {was}, and this one's {is}")
        };
    }
    if differs.len() > NAMED {
        let more = differs.len() - NAMED;
        differs.truncate(NAMED);
        differs.push(format!("{more} more settings differ"));
    }
    differs.join(", ")
}
