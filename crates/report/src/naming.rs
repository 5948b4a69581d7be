//! How a text calls schemes: by the names that commands and files take, or by those that papers print.

use flowsieve_results::{Dimension, Experiment};

/// What a text calls schemes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Naming {
    /// For a terminal, whose reader types them: `pfabric`.
    Names,
    /// For a page or a figure: `pFabric`.
    Labels,
}

impl Naming {
    /// A scheme.
    pub fn scheme<'a>(self, experiment: &'a Experiment, name: &'a str) -> &'a str {
        match self {
            Naming::Names => name,
            Naming::Labels => experiment.label_of(name),
        }
    }

    /// A value of a swept key; that of any other key stays as it is.
    pub(crate) fn value(self, experiment: &Experiment, dimension: &Dimension, value: String) -> String {
        match dimension {
            Dimension::Scheme => self.scheme(experiment, &value).to_owned(),
            Dimension::Load | Dimension::Key(_) => value,
        }
    }
}
