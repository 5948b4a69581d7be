//! Balancing by a switch's [program](crate::program), which chooses for every packet or for the first of each flowlet.

use rand_core::Rng;

use super::flowlet::FlowletTable;
use crate::balancer::{BalancerSite, ChooseWay};
use crate::meta::Meta;
use crate::program::Asked;
use crate::units::Time;

/// The balancer of a switch with a program.
pub struct ByProgram {
    /// The paths of flowlets, if the program chooses only for their first packets.
    flowlets: Option<FlowletTable>,
}

impl ByProgram {
    /// Builds the balancer of a switch whose program has chosen nothing yet.
    pub fn new(site: &BalancerSite) -> ByProgram {
        let flowlets =
            if let Asked::Flowlets(gap) = site.watches.packets { Some(FlowletTable::new(gap)) } else { None };
        ByProgram { flowlets }
    }
}

impl ChooseWay for ByProgram {
    #[inline(always)]
    fn choose(&mut self, meta: &Meta, _: usize, ways: usize, now: Time, _: &mut dyn Rng) -> Option<usize> {
        self.flowlets.as_mut()?.goes_on(meta, ways, now)
    }

    fn chosen(&mut self, meta: &Meta, group: usize, way: usize, now: Time) {
        if let Some(table) = &mut self.flowlets {
            table.begin(meta, (group as u16, way as u16), now);
        }
    }

    fn forget(&mut self, group: usize, way: usize) {
        if let Some(table) = &mut self.flowlets {
            table.end((group as u16, way as u16));
        }
    }
}
