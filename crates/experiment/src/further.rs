//! A further kind of table at the top level of an experiment file, which is read above this crate. Its rows go into the manifest,
//! and may ask for more to be measured ([`Further`]).

use crate::document::Wrong;
use crate::experiment_text::ExperimentText;
use flowsieve_results::{Experiment, Further};
use flowsieve_settings::{Keys, Origin};
use std::fmt::Debug;
use std::sync::Arc;
use toml_edit::Item;

/// A kind of table that files may have. [`Engines`](crate::engine::Engines) carry it, as they do the settings of a file.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// Its name in files and, for its rows, in words.
    pub name: &'static str,
    /// Reads the tables of a file, by the settings that it may sweep, from the item with its place.
    pub read: Read,
}

/// What reads tables.
pub type Read = fn(&ExperimentText, &Keys, &Item, &Origin) -> Result<Arc<dyn Given>, Wrong>;

/// What a file gives in them.
pub trait Given: Debug + Send + Sync {
    /// Returns it for the manifest. `shorter` is what a scale makes of a time of a run's course.
    fn further(&self, shorter: &dyn Fn(u64) -> u64) -> Further;

    /// Checks that the sweep has what it is about.
    ///
    /// # Errors
    /// Fails with the place of what the sweep has not.
    fn check(&self, experiment: &Experiment) -> Result<(), Wrong>;
}
