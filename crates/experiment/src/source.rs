//! What an experiment is before it is planned: a text, the folder that its paths are relative to, and what is changed in it.

use crate::bundle::{self, Unpacked};
use crate::engine::Engines;
use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::lookup;
use crate::plan::{self, Changes, Plan};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An experiment that can be planned, and planned again with other changes.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its text, with the name that messages and bundles have for it.
    pub text: ExperimentText,
    /// What its paths are relative to.
    pub folder: PathBuf,
    /// What is changed in it.
    pub changes: Changes,
    /// That folder, where it is there for this experiment alone.
    pub(crate) unpacked: Option<Arc<Unpacked>>,
}

impl Source {
    /// A file, a bundle, or a built-in experiment by its name.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    pub fn open(named: &Path) -> Result<Source, Error> {
        let path = lookup::experiment(named)?;
        if bundle::is_bundle(&path) {
            return bundle::unpack(&path);
        }
        let text = ExperimentText::read(&path)?;
        Ok(Source::new(text, path.parent().unwrap_or(Path::new("")).to_path_buf()))
    }

    /// A text that is at hand.
    pub fn new(text: ExperimentText, folder: PathBuf) -> Source {
        Source { text, folder, changes: Changes::default(), unpacked: None }
    }

    /// The same with further changes.
    pub fn with(self, changes: &Changes) -> Source {
        Source { changes: self.changes.and(changes), ..self }
    }

    /// What is to be run.
    ///
    /// # Errors
    /// Where anything of it is wrong.
    pub fn plan(&self, engines: &Engines) -> Result<Plan, Error> {
        let plan = plan::plan(&self.text, &self.folder, &self.changes, engines)?;
        Ok(Plan { unpacked: self.unpacked.clone(), ..plan })
    }

    /// The same with the flow list at `path` as its workload. The list is copied beside the experiment's other files under a name
    /// that says its contents alone, so that runs have the same keys wherever it came from.
    ///
    /// # Errors
    /// Where the experiment does not take it: with the list's line, or the setting that it does not go with.
    pub fn with_list(&self, path: &Path, engines: &Engines) -> Result<Source, Error> {
        let path = std::path::absolute(path).map_err(bundle::unreadable(path))?;
        let given =
            self.clone().with(&Changes { sets: vec![format!("list={}", path.display())], ..Changes::default() });
        let plan = given.plan(engines)?;
        // Of the flows, however a file writes them.
        let digest = plan.experiment.points.first().and_then(|point| point.settings.get("workload.list.digest"));
        let name = format!("flows-{:.16}.csv", digest.map_or("", String::as_str));
        let (folder, unpacked) = bundle::beside(&plan, &path, &name)?;
        let changes = self.changes.and(&Changes { sets: vec![format!("list={name}")], ..Changes::default() });
        Ok(Source { text: self.text.clone(), folder, changes, unpacked: Some(unpacked) })
    }
}
