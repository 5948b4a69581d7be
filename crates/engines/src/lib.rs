//! The engines that carry out experiments, and what they read: packets in the simulator, and rates of flows.
//!
//! [`built_in`] gives both to [`flowsieve_experiment`], which knows an engine by its trait; [`with`] adds schemes and settings of the user's
//! own. What a point's settings become on the way is in the modules: a fabric, a [`workload`], classes of flows with their schemes,
//! predictions, and what is watched while it runs.

mod classes;
mod coflow_weights;
mod flow_level;
pub mod follow;
mod foreign;
pub mod forest;
mod memory;
mod predictions;
mod setup;
mod simulator;
mod unacted;
mod usual;
mod watch;
pub mod workload;

use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_fabric::topology::FABRIC_SETTINGS;
use flowsieve_results::SchemeInfo;
use flowsieve_schemes::Entry;
use flowsieve_settings::Key;

pub use flow_level::FlowRates;
pub use setup::Setup;
pub use simulator::{Packets, check_name, flows};
pub use usual::WORKLOAD as USUAL_WORKLOAD;

/// What experiments say of a scheme.
fn info(entry: &Entry) -> SchemeInfo {
    SchemeInfo {
        name: entry.name.to_owned(),
        paper: entry.paper.to_owned(),
        summary: entry.summary.to_owned(),
        knows: entry.knows.in_words().to_owned(),
    }
}

/// Every setting that the built-in engines read.
fn keys() -> Vec<&'static Key> {
    let own: &[&[&Key]] =
        &[simulator::SETTINGS, watch::SETTINGS, predictions::SETTINGS, classes::SETTINGS, coflow_weights::SETTINGS];
    [FABRIC_SETTINGS, workload::WORKLOAD_SETTINGS, own, flowsieve_schemes::SETTINGS].concat().concat()
}

/// The settings of a point to which none is given yet.
#[cfg(test)]
fn none_given() -> flowsieve_settings::Settings {
    built_in().keys().none_given()
}

/// The engines, with what is built in alone.
pub fn built_in() -> Engines {
    match with(&[], &[]) {
        Ok(engines) => engines,
        Err(error) => unreachable!("{error}"),
    }
}

/// The engines, with schemes of the user's own and the settings that these declare.
///
/// # Errors
/// Where a name is taken, or cannot stand in an experiment.
pub fn with(schemes: &'static [Entry], settings: &'static [&'static Key]) -> Result<Engines, Error> {
    of(Packets::new(schemes, settings)?)
}

/// The engines, with packets as this engine carries them.
///
/// # Errors
/// Where two settings have one name.
pub fn of(packets: Packets) -> Result<Engines, Error> {
    Engines::new(vec![Box::new(packets), Box::new(FlowRates)])
}
