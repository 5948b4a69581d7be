//! What a balancer is: it chooses which of several equally short ways a packet takes at a switch. The built-in ones are in
//! [`crate::balancers`]. One of the user's own is a switch's [program](crate::program).

use rand_core::Rng;

use crate::meta::Meta;
use crate::program::{SwitchProgram, Watches};
use crate::site::Site;
use crate::units::Time;

/// A balancer.
pub trait ChooseWay {
    /// One of `ways` ≥ 2 equal uplinks, numbered from 0, of next-hop group `group`; `None`: the switch's program is to be
    /// asked.
    fn choose(&mut self, meta: &Meta, group: usize, ways: usize, now: Time, random: &mut dyn Rng) -> Option<usize>;

    /// The switch's program has chosen this way for a packet.
    fn chosen(&mut self, _meta: &Meta, _way: usize, _now: Time) {}
}

/// What a balancer is told of its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancerSite {
    /// Groups of next hops.
    pub groups: usize,
    /// Differs by switch, so that choices along a path are independent.
    pub salt: u64,
    /// What the switch's program watches, if there is one.
    pub watches: Watches,
}

/// What a balancer is set to, of which every switch makes its own.
pub trait BalancerRules {
    /// The balancer.
    type Balancer: ChooseWay;

    /// The balancer of a switch.
    fn build(&self, site: &BalancerSite) -> Self::Balancer;

    /// Whether the packets of one flow may take several ways at once.
    fn splits_flows(&self) -> bool {
        true
    }

    /// Whether switches have a program.
    fn is_program(&self) -> bool {
        false
    }

    /// The program of a switch, if there is one; its site is asked for then.
    fn program(&self, _site: &mut dyn FnMut() -> Site) -> Option<Box<dyn SwitchProgram>> {
        None
    }
}
