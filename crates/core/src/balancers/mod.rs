//! The built-in balancers: the one list of them. A new one is a file here and a line in the list.

pub mod by_program;
pub mod conga;
pub mod ecmp;
pub mod flowlet;
pub mod hula;
pub mod spray;

use std::sync::Arc;

use rand_core::Rng;

use crate::balancer::{BalancerRules, BalancerSite, ChooseWay};
use crate::catalogue::{Custom, catalogue};
use crate::meta::Meta;
use crate::program::SwitchProgram;
use crate::site::Site;
use crate::units::Time;
use by_program::ByProgram;

catalogue! {
    $ each
    /// How a switch chooses among equal paths, with its settings.
    pub BalancerSpec =>
    /// Every balancer as one type, so that a switch calls it without indirection.
    pub Balancer
    Custom(Custom<MakeProgram>) => by_program::ByProgram;
    /// By a hash of the flow.
    Ecmp(ecmp::Ecmp) => ecmp::HashOfFlow;
    /// Round robin, packet by packet.
    SprayRoundRobin(spray::SprayRoundRobin) => spray::RoundRobin;
    /// A random path for each packet.
    SprayRandom(spray::SprayRandom) => spray::SprayRandom;
    /// By flow, with a new path after a pause.
    Flowlet(flowlet::Flowlet) => flowlet::FlowletTable;
    /// By flowlet, on the paths that probes report to be used least.
    Hula(hula::HulaParams) => by_program::ByProgram;
    /// By flowlet, on the paths that the far leaf reports to be least congested.
    Conga(conga::CongaParams) => by_program::ByProgram;
}

/// Builds a custom program for a switch.
pub type MakeProgram = dyn Fn(&Site) -> Box<dyn SwitchProgram> + Send + Sync;

impl BalancerSpec {
    /// Wraps a custom program, which is built from the switch's site.
    pub fn custom<P: SwitchProgram + 'static>(make: impl Fn(&Site) -> P + Send + Sync + 'static) -> BalancerSpec {
        BalancerSpec::Custom(Custom(Arc::new(move |site| Box::new(make(site)))))
    }

    /// Builds the balancer of a switch.
    pub fn build(&self, site: &BalancerSite) -> Balancer {
        each!(make self, rules => rules.build(site), _ => ByProgram::new(site))
    }

    /// As [`BalancerRules::is_program`].
    pub fn is_program(&self) -> bool {
        each!(rules self, rules => rules.is_program(), _ => true)
    }

    /// As [`BalancerRules::program`].
    pub fn program(&self, mut site: impl FnMut() -> Site) -> Option<Box<dyn SwitchProgram>> {
        each!(rules self, rules => rules.program(&mut site), own => Some((own.0)(&site())))
    }

    /// As [`BalancerRules::splits_flows`].
    pub fn splits_flows(&self) -> bool {
        each!(rules self, rules => rules.splits_flows(), _ => true)
    }
}

/// The methods of [`ChooseWay`].
impl Balancer {
    /// As [`ChooseWay::choose`].
    #[inline(always)]
    pub fn choose(&mut self, meta: &Meta, group: usize, ways: usize, now: Time, random: &mut dyn Rng) -> Option<usize> {
        each!(part self, balancer => balancer.choose(meta, group, ways, now, random))
    }

    /// As [`ChooseWay::chosen`].
    pub fn chosen(&mut self, meta: &Meta, group: usize, way: usize, now: Time) {
        each!(part self, balancer => balancer.chosen(meta, group, way, now));
    }

    /// As [`ChooseWay::forget`].
    pub fn forget(&mut self, group: usize, way: usize) {
        each!(part self, balancer => balancer.forget(group, way));
    }
}
