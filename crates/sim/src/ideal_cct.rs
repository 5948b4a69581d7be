//! The ideal CCT: a lower bound on a coflow's CCT under any schedule of its flows.
//!
//! A host's link carries all data of the coflow that the host sends or receives, one packet at a time. The last packet
//! there still has the rest of its path to go, or has already covered it. So the CCT is at least the link's time for
//! these bytes, with headers and framing, plus the least such rest. It is also at least each flow's ideal FCT, from
//! that flow's start. If only hosts' links can be full, a coflow alone takes this long, or little more. In other
//! fabrics it is only a bound.

use std::collections::BTreeMap;

use flowsieve_core::{Rate, Time};

use crate::ideal::Train;

/// What the data of a coflow's flows needs of one host's link.
#[derive(Clone, Copy)]
struct Port {
    data: Time,
    rest: Time,
}

/// A flow as the bound needs it.
pub struct Flow {
    /// Its coflow.
    pub coflow: u32,
    /// Its sender.
    pub src: u32,
    /// Its receiver.
    pub dst: u32,
    /// When it begins.
    pub start: Time,
    /// Its ideal FCT, to its end as the run counts it.
    pub ideal: Time,
    /// The ideal FCT of its last packet alone.
    pub last_ideal: Time,
    /// Its packets.
    pub train: Train,
    /// The rates of the sender's link and of the receiver's.
    pub rates: (Rate, Rate),
}

/// Ideal CCTs, to which flows are added one by one.
#[derive(Default)]
pub struct IdealCcts {
    /// By coflow, host, and whether the host receives.
    ports: BTreeMap<(u32, u32, bool), Port>,
    /// By coflow: the first start, and the latest end of a flow if each flow had the fabric to itself.
    spans: BTreeMap<u32, (Time, Time)>,
}

impl IdealCcts {
    /// Adds a flow. Flows come by start.
    pub fn add(&mut self, flow: &Flow) {
        for (host, receives, rate) in [(flow.src, false, flow.rates.0), (flow.dst, true, flow.rates.1)] {
            let time = flow.train.time_on(rate);
            let rest = flow.last_ideal - rate.serialise(flow.train.last);
            let port = self.ports.entry((flow.coflow, host, receives)).or_insert(Port { data: Time::ZERO, rest });
            port.data = Time(port.data.0.saturating_add(time.0));
            port.rest = port.rest.min(rest);
        }
        let end = Time(flow.start.0.saturating_add(flow.ideal.0));
        let span = self.spans.entry(flow.coflow).or_insert((flow.start, end));
        *span = (span.0.min(flow.start), span.1.max(end));
    }

    /// Returns the bounds by coflow, in ps.
    pub fn finish(self) -> BTreeMap<u32, u64> {
        let own = |(coflow, (start, end)): (u32, (Time, Time))| (coflow, (end - start).0);
        let mut bounds: BTreeMap<u32, u64> = self.spans.into_iter().map(own).collect();
        for ((coflow, ..), port) in self.ports {
            let bound = bounds.entry(coflow).or_default();
            *bound = (*bound).max(port.data.0.saturating_add(port.rest.0));
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_GBPS: u64 = 10_000_000_000;

    /// A packet of 1,250 bytes takes 1 us on a host's link; the rest of its path takes 3 us.
    fn flow(coflow: u32, (src, dst): (u32, u32), packets: u64, start_us: u64) -> Flow {
        let rate = Rate::new(TEN_GBPS).unwrap();
        let train = Train { packets, full: 1_250, last: 1_250 };
        let (start, ideal, last_ideal) = (Time::from_us(start_us), Time::from_us(packets + 3), Time::from_us(4));
        Flow { coflow, src, dst, start, ideal, last_ideal, train, rates: (rate, rate) }
    }

    fn bounds(flows: &[Flow]) -> Vec<(u32, u64)> {
        let mut ccts = IdealCcts::default();
        flows.iter().for_each(|flow| ccts.add(flow));
        ccts.finish().into_iter().map(|(coflow, ps)| (coflow, ps / 1_000_000)).collect()
    }

    #[test]
    fn finish__the_fullest_port_and_the_rest_of_the_way() {
        // One flow: as long as it takes alone.
        assert_eq!(bounds(&[flow(4, (0, 1), 10, 7)]), [(4, 13)]);
        // Host 0 sends 30 packets, host 2 receives 25; the other coflow is counted separately.
        let flows = [flow(1, (0, 1), 10, 0), flow(1, (0, 2), 20, 0), flow(1, (3, 2), 5, 0), flow(9, (0, 2), 1, 0)];
        assert_eq!(bounds(&flows), [(1, 33), (9, 4)]);
        // What a host sends does not wait for what it receives.
        assert_eq!(bounds(&[flow(1, (0, 1), 10, 0), flow(1, (2, 0), 10, 0)]), [(1, 13)]);
    }

    #[test]
    fn finish__a_flow_that_starts_later_ends_later() {
        assert_eq!(bounds(&[flow(1, (0, 1), 10, 5), flow(1, (0, 1), 10, 100)]), [(1, 108)]);
        assert_eq!(bounds(&[flow(1, (0, 1), 10, 5), flow(1, (0, 1), 10, 6)]), [(1, 23)]);
    }
}
