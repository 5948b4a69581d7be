//! An experiment before it is planned: a text, the folder that its paths are relative to, and its changes.

use crate::bundle;
use crate::engine::Engines;
use crate::error::Error;
use crate::experiment_text::{self, ExperimentText};
use crate::folder::Folder;
use crate::lookup;
use crate::plan::{self, Changes, Plan};
use std::path::Path;

/// An experiment that can be planned, and planned again with other changes.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its text, with its name in messages and bundles.
    pub text: ExperimentText,
    /// The folder that its paths are relative to.
    pub folder: Folder,
    /// The changes made to it.
    pub changes: Changes,
}

impl Source {
    /// Opens a file, a bundle, or a built-in experiment by its name.
    ///
    /// # Errors
    /// Fails if there is none, or if it cannot be read.
    pub fn open(named: &Path) -> Result<Source, Error> {
        let path = lookup::experiment(named)?;
        if bundle::is_bundle(&path) {
            return Ok(bundle::unpack(&path)?.source);
        }
        let text = experiment_text::read(&path)?;
        Ok(Source::new(text, Folder::at(path.parent().unwrap_or(Path::new("")))))
    }

    /// Wraps a text that is in memory.
    pub fn new(text: ExperimentText, folder: Folder) -> Source {
        Source { text, folder, changes: Changes::default() }
    }

    /// Adds further changes.
    pub fn with(self, changes: &Changes) -> Source {
        Source { changes: self.changes.and(changes), ..self }
    }

    /// Plans what is to be run.
    ///
    /// # Errors
    /// Fails if any of it is wrong.
    pub fn plan(&self, engines: &Engines) -> Result<Plan, Error> {
        plan::plan_in(&self.text, &self.folder.unread(), &self.changes, engines)
    }

    /// Uses the flow list at `path` as the workload. The list is copied next to the experiment's other files, under a
    /// name that depends only on its contents, so that runs have the same keys wherever it came from.
    ///
    /// # Errors
    /// Fails if the experiment does not accept it, with the list's line, or the setting that conflicts with it.
    pub fn with_list(&self, path: &Path, engines: &Engines) -> Result<Source, Error> {
        let path = std::path::absolute(path).map_err(bundle::failed(path))?;
        let given =
            self.clone().with(&Changes { sets: vec![format!("list={}", path.display())], ..Changes::default() });
        let plan = given.plan(engines)?;
        // The digest of the flows, in any file format.
        let digest = plan.experiment.points.first().and_then(|point| point.settings.get("workload.list.digest"));
        let name = format!("flows-{:.16}.csv", digest.map_or("", String::as_str));
        let folder = bundle::beside(&plan, &path, &name)?;
        let changes = self.changes.and(&Changes { sets: vec![format!("list={name}")], ..Changes::default() });
        Ok(Source { text: self.text.clone(), folder, changes })
    }
}
