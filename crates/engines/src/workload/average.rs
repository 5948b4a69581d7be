//! Averages over the flows of a workload, if known before any is drawn.

use super::{Extent, Origin, Workload};
use flowsieve_results::Controls;
use flowsieve_results::controls::LARGE_BYTES;
use flowsieve_workload::{Arrivals, SizeDistribution};

/// The sizes at which a distribution is drawn: ten a decade, in equal factors, from a byte to 10 GB.
const DRAWN: usize = 101;
const FACTOR: f64 = 1.258_925_411_794_167_3;

impl Workload {
    /// Returns the share of its flows that are not larger than each of some sizes, from the last without any to the first with
    /// all of them; none for several workloads.
    pub(crate) fn shares(&self) -> Vec<(u64, f64)> {
        let sizes =
            std::iter::successors(Some(1.0), |bytes| Some(bytes * FACTOR)).take(DRAWN).map(|bytes| bytes as u64);
        let shares: Vec<(u64, f64)> = sizes.map(|bytes| (bytes, self.cdf(bytes))).collect();
        let from = shares.iter().rposition(|(_, share)| *share == 0.0).unwrap_or(0);
        let to = shares.iter().position(|(_, share)| *share == 1.0).unwrap_or(from);
        shares.get(from..=to).unwrap_or_default().to_vec()
    }

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
