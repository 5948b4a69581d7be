//! The built-in controllers: the one list of them. A new one is a file here and a line in the list.
//!
//! Controllers are called seldom, so they are boxed.

pub mod awafs;
pub mod coordinator;
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

catalogue! {
    $ each
    /// What controllers of one kind are, with what they are set to.
    ControllerKind
    Custom(CustomController);
    /// At each host the thresholds of its own queues (NOS2).
    OwnThresholds(thresholds::OwnParams);
    /// At each host AWAFS's Sensor and Actuator.
    Actuators(awafs::HostActuators);
    /// The thresholds by which hosts tag packets for the network (NOS2).
    NetworkThresholds(thresholds::NetworkParams);
    /// A coordinator of coflows.
    Coordinator(coordinator::CoordinatorParams);
}

/// How controllers of the user's own are made.
#[derive(Clone)]
pub enum CustomController {
    /// One at each host, which hears of its host alone.
    AtHosts(Arc<MakeAtHost>),
    /// One for the whole fabric.
    Central(Arc<MakeCentral>),
}

/// Makes a controller of the user's own for a host.
pub type MakeAtHost = dyn Fn(&Site) -> Box<dyn Controller> + Send + Sync;

/// Makes a controller of the user's own for the whole fabric.
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
    /// At each host a controller of the user's own, which hears of its host alone.
    pub fn at_hosts<C: Controller + 'static>(make: impl Fn(&Site) -> C + Send + Sync + 'static) -> ControllerKind {
        ControllerKind::Custom(CustomController::AtHosts(Arc::new(move |site| Box::new(make(site)))))
    }

    /// One controller of the user's own for the whole fabric.
    pub fn central<C: Controller + 'static>(make: impl Fn(&FabricSite) -> C + Send + Sync + 'static) -> ControllerKind {
        ControllerKind::Custom(CustomController::Central(Arc::new(move |fabric| Box::new(make(fabric)))))
    }

    /// Whether there is one at each host, which hears of its host alone.
    pub fn is_at_hosts(&self) -> bool {
        fn is_at_hosts<R: ControllerRules>(_: &R) -> bool {
            R::AT_HOSTS
        }
        each!(rules self, rules => is_at_hosts(rules), own => matches!(own, CustomController::AtHosts(_)))
    }

    /// The controllers: of each host by number, or one. `site` is called only for those of the user's own.
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
