//! The schemes, the registry, and the settings from which schemes are built. Each scheme is one file in `schemes`, which
//! lists its parts and holds its paper's parameters ([`mod@file`]).

mod adaptation;
pub mod afq;
pub mod awafs;
pub mod bare;
pub mod coflows;
mod entry;
mod fabric_values;
pub mod feeds;
pub mod file;
pub mod flow_level;
pub mod homa;
pub mod marking_rule;
pub mod messages;
pub mod ndp;
pub mod nscc;
pub mod own;
pub mod parameters;
pub mod parts;
pub mod pcoflow;
pub mod pias;
pub mod qclimb;
pub mod qcluster;
pub mod registry;
pub mod sets;
#[cfg(test)]
mod tests;
pub mod thresholds;

/// Every setting that schemes read, by the part that declares it.
pub const SETTINGS: &[&[&flowsieve_settings::Key]] = &[
    flowsieve_settings::SETTINGS,
    sets::SETTINGS,
    parameters::SETTINGS,
    parts::PORT_SETTINGS,
    afq::SETTINGS,
    parts::TAGGING_SETTINGS,
    parts::SETTINGS,
    parts::BALANCING_SETTINGS,
    parts::SENDING_SETTINGS,
    parts::CONTROL_SETTINGS,
    parts::LOSSLESS_SETTINGS,
    parts::HOST_PORT_SETTINGS,
    parts::REPAIR_SETTINGS,
    messages::SETTINGS,
    homa::SETTINGS,
    ndp::SETTINGS,
    nscc::SETTINGS,
    pias::SETTINGS,
    thresholds::SETTINGS,
    adaptation::SETTINGS,
    own::SETTINGS,
    awafs::SETTINGS,
    qclimb::SETTINGS,
    coflows::SETTINGS,
    flow_level::SETTINGS,
    pcoflow::SETTINGS,
    qcluster::SETTINGS,
    qcluster::GROUP_SETTINGS,
];

pub use entry::{Build, Context, Entry, Follows, Knows, WorkloadFacts};
pub use file::SchemeFile;
pub use flowsieve_sim::scheme::{self, Scheme};
pub use registry::REGISTRY;
