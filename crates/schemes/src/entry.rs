//! What a scheme gives of itself to be built by name: [`Entry`], and what it gets for that.

use crate::file::SchemeFile;
use crate::registry;
use flowsieve_settings::{Keys, Scope, SettingsError};
use flowsieve_sim::scheme::Scheme;
use flowsieve_sim::topology::Fabric;

/// What a scheme must know of a flow in addition to its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// Nothing: it can be deployed unchanged.
    Nothing,
    /// The size of each message as it begins, which networks and most hosts do not know.
    Size,
    /// Predicted bounds of the size of each message.
    Bounds,
    /// The predicted size of each message.
    PredictedSize,
    /// The size of each message and its deadline.
    Deadline,
    /// The coflow of each message.
    Coflow,
}

impl Knows {
    /// Every kind of knowledge, by the name that files of schemes use.
    pub const ALL: [(&'static str, Knows); 6] = [
        ("nothing", Knows::Nothing),
        ("size", Knows::Size),
        ("bounds", Knows::Bounds),
        ("predicted-size", Knows::PredictedSize),
        ("deadline", Knows::Deadline),
        ("coflow", Knows::Coflow),
    ];

    /// Returns a description for reports.
    pub fn in_words(self) -> &'static str {
        match self {
            Knows::Nothing => "nothing",
            Knows::Size => "flow sizes",
            Knows::Bounds => "predicted bounds of flow sizes",
            Knows::PredictedSize => "predicted flow sizes",
            Knows::Deadline => "flow sizes and deadlines",
            Knows::Coflow => "coflows",
        }
    }
}

/// What a scheme may use while it is built.
pub struct Context<'a> {
    /// The variant's settings.
    pub scope: Scope<'a>,
    /// The workload of the point, for thresholds that depend on it.
    pub workload: &'a dyn WorkloadFacts,
}

/// Which messages of a workload begin when others have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// None.
    #[default]
    Nothing,
    /// In closed loops, a host's next message, when the one before has ended for it.
    ClosedLoops,
    /// Answers to a client's requests, and its next requests.
    Queries,
}

/// The facts from which thresholds may be computed.
pub trait WorkloadFacts {
    /// Returns the built-in distribution's name, if it is one.
    fn distribution(&self) -> Option<&str>;

    /// Returns the nominal load, if there is one.
    fn load(&self) -> Option<f64>;

    /// Returns the size in bytes that a share `p` (0 to 1) of the flows do not exceed, from a distribution, a mix of two, a
    /// formula or a flow list; before any change of the workload. `None` if nothing is known of sizes.
    fn quantile_bytes(&self, p: f64) -> Option<u64>;

    /// Returns which messages begin when others have ended.
    fn follows(&self) -> Follows {
        Follows::Nothing
    }

    /// Returns the fabric that carries it: its rates, and the base round trip of any path ([`Fabric::base_rtt`],
    /// [`Fabric::round_trip`]). `None` if a scheme is built for no particular fabric.
    fn fabric(&self) -> Option<&Fabric> {
        None
    }
}

/// Builds a scheme by code of its own, from what its file says: as [`crate::parts::build`] with parts of its own.
pub type Build = fn(&Context<'_>) -> Result<Scheme, SettingsError>;

/// A scheme with code: what an author gives of it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name in an experiment.
    pub name: &'static str,
    /// The text of its file ([`mod@crate::file`]).
    pub file: &'static str,
    /// Its own code. `None`: that of its base.
    pub own: Option<Build>,
}

impl Entry {
    /// Reads its file; `keys` are the settings that it may have values for, `find` finds its base.
    ///
    /// # Errors
    /// Fails if the file is wrong.
    pub fn read(&self, keys: &Keys, find: &dyn Fn(&str) -> Option<SchemeFile>) -> Result<SchemeFile, SettingsError> {
        SchemeFile::read(self.name, self.file, self.own, keys, find)
    }

    /// Builds the scheme on a built-in one.
    ///
    /// # Errors
    /// As [`SchemeFile::scheme`], or if the file is wrong.
    pub fn scheme(&self, context: &Context<'_>) -> Result<Scheme, SettingsError> {
        self.read(context.scope.declared(), &|name| registry::find(name).cloned())?.scheme(context)
    }
}
