//! The engines that carry out experiments, and the settings that they read: packets in the simulator, rates of flows, and
//! real packets on Linux.
//!
//! [`built_in`] returns all for [`flowsieve_experiment`], which knows an engine by its trait; [`with`] adds custom
//! schemes and settings. The modules turn a point's settings into a fabric, a [`workload`], classes of flows with their
//! schemes, predictions, and observations of the run.

mod classes;
mod coflow_weights;
mod drawn;
mod flow_level;
pub mod follow;
mod foreign;
#[cfg(target_os = "linux")]
pub mod linux;
mod memory;
mod predictions;
mod setup;
mod simulator;
mod times;
mod users;
mod usual;
mod watch;
pub mod workload;

use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_results::SchemeInfo;
use flowsieve_schemes::{Entry, SchemeFile};
use flowsieve_settings::Key;
use flowsieve_sim::topology::FABRIC_SETTINGS;

pub use drawn::{Drawn, DrawnLink};
pub use flow_level::FlowRates;
pub use setup::Setup;
pub use simulator::{Packets, PortFacts, check_name, flows, port_facts};
pub use usual::WORKLOAD as USUAL_WORKLOAD;

/// Describes a scheme for experiments.
fn info(scheme: &SchemeFile) -> SchemeInfo {
    SchemeInfo {
        name: scheme.name.clone(),
        label: scheme.label.clone(),
        paper: scheme.paper.clone(),
        summary: scheme.summary.clone(),
        knows: scheme.knows.in_words().to_owned(),
    }
}

/// Returns every setting that the built-in engines read.
fn keys() -> Vec<&'static Key> {
    let own: &[&[&Key]] = &[
        simulator::SETTINGS,
        watch::SETTINGS,
        predictions::SETTINGS,
        classes::SETTINGS,
        coflow_weights::SETTINGS,
        times::SETTINGS,
    ];
    [FABRIC_SETTINGS, workload::WORKLOAD_SETTINGS, own, flowsieve_schemes::SETTINGS].concat().concat()
}

/// Builds the settings of a point, with none given yet.
#[cfg(test)]
fn none_given() -> flowsieve_settings::Settings {
    built_in().keys().none_given()
}

/// Returns the engines, with built-in schemes only.
pub fn built_in() -> Engines {
    match with(&[], &[]) {
        Ok(engines) => engines,
        Err(error) => unreachable!("{error}"),
    }
}

/// Returns the engines, with custom schemes and the settings that these declare.
///
/// # Errors
/// Fails if a name is taken, or cannot be used in an experiment.
pub fn with(schemes: &[Entry], settings: &'static [&'static Key]) -> Result<Engines, Error> {
    of(Packets::new(schemes, settings)?)
}

/// Returns the engines, with packets carried by this engine.
///
/// # Errors
/// Fails if two settings have the same name.
pub fn of(packets: Packets) -> Result<Engines, Error> {
    Engines::new(vec![
        #[cfg(target_os = "linux")]
        Box::new(linux::Linux::new(packets.clone())),
        Box::new(packets),
        Box::new(FlowRates),
    ])
}
