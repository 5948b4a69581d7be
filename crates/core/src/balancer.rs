//! Balancers: a balancer chooses which of several equally short paths a packet takes at a switch. The built-in ones are in
//! [`crate::balancers`]. A custom balancer is a switch's [program](crate::program).

use rand_core::Rng;

use crate::meta::Meta;
use crate::program::{SwitchProgram, Watches};
use crate::site::Site;
use crate::units::Time;

/// A balancer.
pub trait ChooseWay {
    /// Chooses one of `ways` ≥ 2 equal uplinks, numbered from 0, of next-hop group `group`. `None`: the switch asks its program.
    fn choose(&mut self, meta: &Meta, group: usize, ways: usize, now: Time, random: &mut dyn Rng) -> Option<usize>;

    /// Notes the path that the switch's program has chosen for a packet.
    fn chosen(&mut self, _meta: &Meta, _group: usize, _way: usize, _now: Time) {}

    /// Forgets which flows take a path of a group.
    fn forget(&mut self, _group: usize, _way: usize) {}
}

/// What a balancer knows about its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancerSite {
    /// Groups of next hops.
    pub groups: usize,
    /// Differs by switch, so that choices along a path are independent.
    pub salt: u64,
    /// What the switch's program watches, if there is one.
    pub watches: Watches,
}

/// A balancer's settings, from which every switch builds its own balancer.
pub trait BalancerRules {
    /// The balancer.
    type Balancer: ChooseWay;

    /// Builds the balancer of a switch.
    fn build(&self, site: &BalancerSite) -> Self::Balancer;

    /// Returns whether the packets of one flow may take several paths at once.
    fn splits_flows(&self) -> bool {
        true
    }

    /// Returns whether switches have a program.
    fn is_program(&self) -> bool {
        false
    }

    /// Returns the program of a switch, if there is one. The site is requested only then.
    fn program(&self, _site: &mut dyn FnMut() -> Site) -> Option<Box<dyn SwitchProgram>> {
        None
    }
}
