//! Averages over the flows of a workload, if known before any is drawn.

use super::recorded::CALIBRATION;
use super::traffic::MIX_SIZES;
use super::{CDF, COFLOWS, Extent, LIST, Origin, RECORDED, SIZES, Workload};
use flowsieve_experiment::engine::SizeLaw;
use flowsieve_results::Controls;
use flowsieve_results::controls::LARGE_BYTES;
use flowsieve_settings::{Section, Settings, Table};
use flowsieve_workload::{Arrivals, SizeDistribution};

/// The sizes at which a distribution is drawn: ten a decade, in equal factors, from a byte to 10 GB.
const DRAWN: usize = 101;
const FACTOR: f64 = 1.258_925_411_794_167_3;

impl Workload {
    /// Returns the share of its flows that are not larger than each of some sizes, from the last without any to the first with
    /// all of them, and its name in a point's settings; `None` for several workloads, which have several laws.
    pub(crate) fn law(&self, settings: &Settings) -> Option<SizeLaw> {
        if let Origin::Several(_) = self.origin {
            return None;
        }
        let sizes =
            std::iter::successors(Some(1.0), |bytes| Some(bytes * FACTOR)).take(DRAWN).map(|bytes| bytes as u64);
        let all: Vec<(u64, f64)> = sizes.map(|bytes| (bytes, self.cdf(bytes))).collect();
        let from = all.iter().rposition(|(_, share)| *share == 0.0).unwrap_or(0);
        let to = all.iter().position(|(_, share)| *share == 1.0).unwrap_or(DRAWN - 1);
        let given = |name| Some(settings.given(&(Table::Section(Section::Workload), name))?.0.to_string());
        let keys = [SIZES.key(), RECORDED.key(), CDF.key(), LIST.key(), COFLOWS.key()];
        let name = keys.into_iter().find_map(|key| given(key.name))?;
        let others = [CALIBRATION.key(), MIX_SIZES.key()].into_iter().filter_map(|key| given(key.name));
        let name = others.fold(name, |name, other| format!("{name}, {other}"));
        Some(SizeLaw { name, shares: all.get(from..=to)?.to_vec() })
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
