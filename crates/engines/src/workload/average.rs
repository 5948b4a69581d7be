//! Averages over the flows of a workload, if known before any is drawn.

use super::{Extent, Origin, Workload};
use flowsieve_results::Controls;
use flowsieve_results::controls::LARGE_BYTES;
use flowsieve_workload::{Arrivals, SizeDistribution};

impl Workload {
    /// Returns averages for a number of flows of one distribution with Poisson arrivals: the mean size, the share of
    /// large flows, and the sum of the gaps. `None` for any other workload.
    pub(crate) fn average(&self) -> Option<Controls> {
        let (Origin::Drawn(drawn), Extent::Flows(flows)) = (&self.origin, self.extent) else { return None };
        let (traffic, offer) = (&drawn.traffic, &drawn.traffic.from_start);
        let is_plain = traffic.arrivals == Arrivals::Poisson
            && traffic.change.is_none()
            && traffic.pattern.flows_per_arrival() == 1.0
            && offer.mix.is_none()
            && drawn.closed.is_none()
            && self.recorded.is_none()
            && self.asked.is_none()
            && self.screen.is_none();
        let gap_ps = 1e12 / (offer.rate_per_host * f64::from(traffic.hosts));
        is_plain.then(|| Controls {
            mean_bytes: offer.mean_of(SizeDistribution::mean_bytes),
            large_share: 1.0 - offer.mean_of(|sizes| sizes.cdf(LARGE_BYTES)),
            span_ps: flows as f64 * gap_ps,
        })
    }
}
