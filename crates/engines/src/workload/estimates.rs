//! Estimates of a workload before any of it is drawn: flows, packets, time, and the load of links.

use flowsieve_sim::topology::Fabric;

use super::{Extent, Origin, Screen, Workload, crossings, listed};

impl Workload {
    /// Estimates the number of flows of a run.
    pub fn expected_flows(&self) -> f64 {
        let drawn = match &self.origin {
            Origin::Drawn(drawn) => drawn,
            Origin::Collective(collective) => return collective.messages(),
            Origin::Listed(list) => return list.flows().len() as f64,
            Origin::Several(several) => return several.expected_flows(),
        };
        let share = self.screen.map_or(1.0, Screen::share);
        match self.extent {
            Extent::Flows(flows) => flows as f64 * share,
            // Arrivals continue a little after the window; how long depends on its last flows.
            Extent::Until(end) | Extent::Window(_, end) => drawn.flows_until(end) * share,
            Extent::Queries => self.asked.as_ref().map_or(0.0, |asked| asked.messages() + asked.flows_beside(drawn)),
            Extent::Collectives | Extent::Others | Extent::Entries { .. } => f64::INFINITY,
        }
    }

    /// Estimates how long flows arrive, in ps; `None` if only the run shows it.
    pub fn arrivals_span_ps(&self) -> Option<f64> {
        match (&self.origin, self.extent) {
            (Origin::Listed(list), _) => list.flows().last().map(|flow| flow.start_ps as f64),
            (Origin::Several(several), _) => Some(several.span_ps()),
            (Origin::Collective(_), _) => None,
            (Origin::Drawn(drawn), _) if drawn.closed.is_some() => None,
            (_, Extent::Until(end) | Extent::Window(_, end)) => Some(end as f64),
            (Origin::Drawn(drawn), Extent::Flows(flows)) => Some(drawn.span_ps(flows)),
            (Origin::Drawn(_), Extent::Queries | Extent::Collectives | Extent::Others | Extent::Entries { .. }) => None,
        }
    }

    /// Estimates the least time that a run takes in which flows begin after others, in ps; `None` for all others.
    pub(crate) fn following_span_ps(&self) -> Option<f64> {
        match (&self.origin, &self.asked, self.extent) {
            (Origin::Collective(collective), ..) => Some(collective.span_ps()),
            (Origin::Drawn(_), Some(asked), _) => Some(asked.span_ps()),
            (Origin::Drawn(drawn), None, Extent::Flows(flows)) if drawn.closed.is_some() => Some(drawn.span_ps(flows)),
            (Origin::Drawn(drawn), None, Extent::Until(end) | Extent::Window(_, end)) if drawn.closed.is_some() => {
                Some(end as f64)
            }
            _ => None,
        }
    }

    /// Estimates the number of flows of a run that start in a span of time.
    pub fn expected_flows_within(&self, from_ps: u64, to_ps: u64) -> f64 {
        let before = |end_ps: u64| match &self.origin {
            Origin::Drawn(drawn) => match &self.asked {
                None => {
                    let share = self.screen.map_or(1.0, Screen::share);
                    (drawn.flows_until(end_ps) * share).min(self.expected_flows())
                }
                Some(asked) => drawn.flows_until(end_ps).min(asked.flows_beside(drawn)) + asked.messages_until(end_ps),
            },
            Origin::Collective(collective) => collective.messages_until(end_ps),
            Origin::Listed(list) => list.flows().partition_point(|flow| flow.start_ps < end_ps) as f64,
            Origin::Several(several) => several.expected_flows_before(end_ps),
        };
        before(to_ps) - before(from_ps)
    }

    /// Estimates the number of packets of a flow, data and ACKs.
    pub fn packets_per_flow(&self) -> f64 {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let all = self.expected_flows() / self.screen.map_or(1.0, Screen::share);
                let of_drawn = drawn.mean_of(all, |sizes| {
                    let cost = self.framing.cost(sizes);
                    cost.data_packets + cost.acks
                });
                let Some(asked) = &self.asked else { return of_drawn };
                let (messages, beside) = (asked.messages(), asked.flows_beside(drawn));
                (messages * asked.packets_per_message(&self.framing) + beside * of_drawn) / (messages + beside)
            }
            Origin::Collective(collective) => collective.packets_per_message(&self.framing),
            Origin::Listed(list) => {
                let payload = u64::from(self.framing.payload_bytes.get());
                let data: u64 = list.flows().iter().map(|flow| flow.bytes.div_ceil(payload)).sum();
                let acks = data as f64 / f64::from(self.framing.data_packets_per_ack.max(1));
                (data as f64 + acks) / list.flows().len().max(1) as f64
            }
            Origin::Several(several) => several.packets_per_flow(),
        }
    }

    /// Returns the bit/s that data and ACKs of all hosts take on each link of a flow's path, framing included; `None`
    /// for a list at its own pace or closed loops. For a workload that changes, the heavier part counts.
    pub fn offered_bps(&self) -> Option<f64> {
        let drawn = match &self.origin {
            Origin::Drawn(drawn) if drawn.closed.is_none() => drawn,
            Origin::Drawn(_) | Origin::Collective(_) => return None,
            Origin::Listed(_) => return self.paced.as_ref().and_then(|_| self.mean_bps()),
            Origin::Several(several) => return several.offered_bps(),
        };
        Some(drawn.heaviest_bps(|sizes| {
            let cost = self.framing.cost(sizes);
            cost.data_bytes + cost.ack_bytes
        }))
    }

    /// Returns the same, also for a list at its own pace, from its first start to its last.
    pub(super) fn mean_bps(&self) -> Option<f64> {
        match &self.origin {
            Origin::Listed(list) => listed::mean_bps(list, &self.framing),
            _ => self.offered_bps(),
        }
    }

    /// Returns the bit/s of [`Workload::offered_bps`] summed over all links of each class, given the number of links of
    /// each class that a packet crosses.
    pub(crate) fn class_bps(&self, crossings: &[f64], fabric: &Fabric, seed: u64) -> Option<Vec<f64>> {
        if let Origin::Several(several) = &self.origin {
            return several.class_bps(fabric, seed);
        }
        let bps = self.offered_bps()?;
        Some(crossings.iter().map(|crossing| bps * crossing).collect())
    }

    /// Returns the link that is offered the largest share of its rate by the flows next to queries, and that share, if
    /// switches spread traffic evenly.
    pub(crate) fn busiest_link_beside_queries(&self, fabric: &Fabric, seed: u64) -> Option<(u32, f64)> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        self.asked.as_ref()?;
        let bps = self.offered_bps()?;
        let (pattern, bytes) = (&drawn.traffic.pattern, |pair| drawn.bytes_of_pair(pair, &self.framing));
        let crossed = crossings::of_links(pattern, fabric, seed, bytes)?;
        let loads = crossed.iter().zip(&fabric.links).map(|(crossed, link)| bps * crossed / link.rate.bps() as f64);
        (0..).zip(loads).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the share of its flows that are not larger than `bytes`.
    pub(super) fn cdf(&self, bytes: u64) -> f64 {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.traffic.from_start.mean_of(|sizes| sizes.cdf(bytes)),
            Origin::Collective(collective) => collective.cdf(bytes),
            Origin::Listed(list) => list.cdf(bytes),
            // One of several workloads does not itself contain several.
            Origin::Several(_) => 0.0,
        }
    }

    /// Returns the mean number of links of each class that a packet crosses, in the order of the fabric's classes. A
    /// flow list counts as all-to-all.
    pub fn crossings(&self, fabric: &Fabric, seed: u64) -> Vec<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let bytes = |pair| drawn.bytes_of_pair(pair, &self.framing);
                crossings::crossings(&drawn.traffic.pattern, fabric, seed, bytes)
            }
            Origin::Collective(collective) => crossings::of_pairs(fabric, &collective.pairs()),
            Origin::Listed(_) => fabric.class_shares().iter().map(|share| share.crossing).collect(),
            Origin::Several(several) => several.crossings(fabric, seed),
        }
    }
}
