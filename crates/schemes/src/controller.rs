//! How to make a scheme's controllers, and when they hear and are heard.

use std::fmt;
use std::sync::Arc;

use flowsieve_core::awafs::{ActuatorParams, HostActuator};
use flowsieve_core::coflow::coordinator::{Coordinator, CoordinatorParams};
use flowsieve_core::controller::{Controller, FabricSite, Hears};
use flowsieve_core::levels::{Adaptation, NetworkParams, NetworkThresholds, OwnThresholds};
use flowsieve_core::{Site, Time};

use crate::scheme::Custom;

/// Controllers of one kind.
#[derive(Clone, Debug)]
pub struct ControllerSpec {
    /// What they are called in results.
    pub name: &'static str,
    /// They decide once in such a period; `None`: when they want.
    pub period: Option<Time>,
    /// When they hear what happens at hosts.
    pub hears: Hears,
    /// From a decision to those that it is for.
    pub publishes_after: Time,
    /// What they are, and how many.
    pub kind: ControllerKind,
}

/// Makes a controller of the user's own for the whole fabric.
pub type MakeController = Arc<dyn Fn(&FabricSite) -> Box<dyn Controller> + Send + Sync>;

/// What makes a controller.
#[derive(Clone)]
pub enum ControllerKind {
    /// At each host [`OwnThresholds`] of so many queues.
    OwnThresholds(usize, Adaptation),
    /// At each host a [`HostActuator`] of a class of flow.
    Actuators(u8, Arc<ActuatorParams>),
    /// One [`NetworkThresholds`].
    NetworkThresholds(NetworkParams),
    /// At each host one of the user's own, which hears of its host alone.
    AtHosts(Custom<dyn Controller>),
    /// One [`Coordinator`].
    Coordinator(CoordinatorParams),
    /// One of the user's own.
    Central(MakeController),
}

impl ControllerKind {
    /// Whether there is one at each host, which hears of its host alone.
    pub fn is_at_hosts(&self) -> bool {
        use ControllerKind::{Central, Coordinator, NetworkThresholds};
        !matches!(self, NetworkThresholds(_) | Coordinator(_) | Central(_))
    }

    /// The controllers: of each host by number, or one. `site` gives what one of the user's own is made with.
    pub fn build(&self, fabric: &FabricSite, site: impl Fn(u32) -> Site) -> Vec<Box<dyn Controller>> {
        let hosts = 0..fabric.hosts.len() as u32;
        match self {
            ControllerKind::OwnThresholds(queues, of) => {
                hosts.map(|host| Box::new(OwnThresholds::new(host, *queues, *of)) as Box<dyn Controller>).collect()
            }
            ControllerKind::Actuators(class, params) => {
                hosts.map(|host| Box::new(HostActuator::new(host, *class, params)) as Box<dyn Controller>).collect()
            }
            ControllerKind::NetworkThresholds(params) => {
                let rates = fabric.hosts.iter().flat_map(|host| host.ports.iter()).map(|port| port.rate.bps());
                vec![Box::new(NetworkThresholds::new(params, rates.fold(0, u64::saturating_add)))]
            }
            ControllerKind::Coordinator(params) => vec![Box::new(Coordinator::new(params, fabric))],
            ControllerKind::AtHosts(make) => hosts.map(|host| make(&site(host))).collect(),
            ControllerKind::Central(make) => vec![make(fabric)],
        }
    }
}

impl fmt::Debug for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerKind::OwnThresholds(queues, of) => write!(f, "thresholds of {queues} queues at hosts, {of:?}"),
            ControllerKind::Actuators(class, params) => write!(f, "actuators at hosts of class {class}, {params:?}"),
            ControllerKind::NetworkThresholds(params) => params.fmt(f),
            ControllerKind::Coordinator(params) => params.fmt(f),
            ControllerKind::AtHosts(_) => f.write_str("custom, at hosts"),
            ControllerKind::Central(_) => f.write_str("custom"),
        }
    }
}
