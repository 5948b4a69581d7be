//! The built-in controllers: the one list of them. A new one is a file here and a line in the list.
//!
//! Controllers are called seldom, so they are boxed.

pub mod awafs;
pub mod coordinator;
pub mod survival;
pub mod thresholds;

use std::fmt;
use std::sync::Arc;

use crate::catalogue::catalogue;
use crate::controller::{Controller, ControllerRules, FabricSite, Hears};
use crate::site::Site;
use crate::units::Time;

/// Controllers of one kind.
#[derive(Clone, Debug)]
pub struct ControllerSpec {
    /// Their name in results.
    pub name: &'static str,
    /// They decide once per period; `None`: when they want.
    pub period: Option<Time>,
    /// When they hear what happens at hosts.
    pub hears: Hears,
    /// The delay from a decision to its recipients.
    pub publishes_after: Time,
    /// Their kind and its settings.
    pub kind: ControllerKind,
}

catalogue! {
    $ each
    /// The kinds of controllers, with their settings.
    pub ControllerKind
    Custom(CustomController);
    /// At each host, the thresholds of its own queues (NOS2).
    OwnThresholds(thresholds::OwnParams);
    /// At each host, AWAFS's Sensor and Actuator.
    Actuators(awafs::HostActuators);
    /// The thresholds by which hosts tag packets for the network (NOS2).
    NetworkThresholds(thresholds::NetworkParams);
    /// The same, by what messages have sent, for the whole fabric.
    SurvivalMerged(survival::Merged);
    /// The same, for each host by itself.
    SurvivalAlone(survival::Alone);
    /// A coordinator of coflows.
    Coordinator(coordinator::CoordinatorParams);
}

/// How custom controllers are built.
#[derive(Clone)]
pub enum CustomController {
    /// One at each host, which hears only of its host.
    AtHosts(Arc<MakeAtHost>),
    /// One for the whole fabric.
    Central(Arc<MakeCentral>),
}

/// Builds a custom controller for a host.
pub type MakeAtHost = dyn Fn(&Site) -> Box<dyn Controller> + Send + Sync;

/// Builds a custom controller for the whole fabric.
pub type MakeCentral = dyn Fn(&FabricSite) -> Box<dyn Controller> + Send + Sync;

impl fmt::Debug for CustomController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CustomController::AtHosts(_) => "custom, at hosts",
            CustomController::Central(_) => "custom",
        })
    }
}

impl ControllerKind {
    /// Wraps a custom controller for each host, which hears only of its host.
    pub fn at_hosts<C: Controller + 'static>(make: impl Fn(&Site) -> C + Send + Sync + 'static) -> ControllerKind {
        ControllerKind::Custom(CustomController::AtHosts(Arc::new(move |site| Box::new(make(site)))))
    }

    /// Wraps a single custom controller for the whole fabric.
    pub fn central<C: Controller + 'static>(make: impl Fn(&FabricSite) -> C + Send + Sync + 'static) -> ControllerKind {
        ControllerKind::Custom(CustomController::Central(Arc::new(move |fabric| Box::new(make(fabric)))))
    }

    /// Returns whether there is one at each host, which hears only of its host.
    pub fn is_at_hosts(&self) -> bool {
        fn is_at_hosts<R: ControllerRules>(_: &R) -> bool {
            R::AT_HOSTS
        }
        each!(rules self, rules => is_at_hosts(rules), own => matches!(own, CustomController::AtHosts(_)))
    }

    /// Builds the controllers: one for each host, by number, or a single one. `site` is called only for custom ones.
    pub fn build(&self, fabric: &FabricSite, site: impl Fn(u32) -> Site) -> Vec<Box<dyn Controller>> {
        fn boxed<R: ControllerRules>(rules: &R, fabric: &FabricSite, host: u32) -> Box<dyn Controller> {
            Box::new(rules.build(fabric, host))
        }
        let one = |host: u32| {
            each!(rules self, rules => boxed(rules, fabric, host), own => match own {
                CustomController::AtHosts(make) => make(&site(host)),
                CustomController::Central(make) => make(fabric),
            })
        };
        let count = if self.is_at_hosts() { fabric.hosts.len() as u32 } else { 1 };
        (0..count).map(one).collect()
    }
}
