//! The schemes by name. A new scheme is one file and one line here.

use crate::scheme::Scheme;
use crate::{
    afq, awafs, coflows, d2tcp, dctcp, es8, fair_queueing, las, nos2, parts, pcoflow, pfabric, pias, qclimb, qcluster,
    sp_pifo, textbook,
};
use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::{Scope, SettingsError};

/// What a scheme must know of a flow in addition to its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// Nothing: it can be deployed as it is.
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

/// The facts from which thresholds may be computed.
pub trait WorkloadFacts {
    /// Returns the built-in distribution's name, if it is one.
    fn distribution(&self) -> Option<&str>;

    /// Returns the nominal load, if there is one.
    fn load(&self) -> Option<f64>;

    /// Returns the size in bytes that a share `p` (0 to 1) of the flows do not exceed, from a distribution, a mix of two, a
    /// formula or a flow list; before any change of the workload. `None` if nothing is known of sizes.
    fn quantile_bytes(&self, p: f64) -> Option<u64>;

    /// Returns the fabric that carries it: its rates, and the base round trip of any path ([`Fabric::base_rtt`],
    /// [`Fabric::round_trip`]). `None` if a scheme is built for no particular fabric.
    fn fabric(&self) -> Option<&Fabric> {
        None
    }
}

/// A built-in scheme.
pub struct Entry {
    /// Its name in an experiment.
    pub name: &'static str,
    /// Its description, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it must know.
    pub knows: Knows,
    /// The function that builds it.
    pub build: fn(&Context<'_>) -> Result<Scheme, SettingsError>,
}

impl Entry {
    /// Builds the scheme.
    ///
    /// # Errors
    /// A setting that does not fit, or a part of its own that the scheme has not declared to [`crate::parts::build`].
    pub fn scheme(&self, context: &Context<'_>) -> Result<Scheme, SettingsError> {
        let scheme = (self.build)(context)?;
        parts::refuse_unsaid(&context.scope, &scheme)?;
        Ok(scheme)
    }
}

/// Every built-in scheme.
pub const REGISTRY: &[Entry] = &[
    dctcp::ENTRY,
    pias::ENTRY,
    es8::ENTRY,
    nos2::ENTRY,
    pfabric::ENTRY,
    pfabric::EDF,
    pfabric::PREDICTED,
    sp_pifo::ENTRY,
    afq::ENTRY,
    fair_queueing::BIT_BY_BIT,
    fair_queueing::NAGLE,
    las::PIFO,
    las::PIFO_AND_FIFO,
    d2tcp::ENTRY,
    textbook::FCFS,
    textbook::PS,
    textbook::SRPT,
    textbook::LAS,
    qcluster::LAS,
    qcluster::SRPT,
    qcluster::FQ,
    qcluster::DDL,
    qcluster::SJF,
    qcluster::DDL_LAS,
    qcluster::DDL_SJF,
    qcluster::DDL_FQ,
    qcluster::COFLOW,
    qcluster::MIN_RATE,
    qcluster::TSN,
    awafs::ENTRY,
    awafs::AUTO,
    qclimb::ENTRY,
    qclimb::PRECISE,
    qclimb::PROMOTED,
    qclimb::FIXED,
    coflows::DSRED,
    coflows::ELASTIC,
    coflows::SINCRONIA,
    coflows::SEBF,
    coflows::AALO,
    pcoflow::ECN,
    pcoflow::DROP,
    pcoflow::MOVE,
    pcoflow::SP_PIFO,
];

/// Returns the scheme of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
