//! The meaning of a load: how many flows a second a host starts so that a share of its link is used.
//!
//! Papers count different bytes, so the count is a choice ([`LoadCounts`]), and the true cost of a flow on the wire is computed
//! separately ([`Framing::cost`]). Hosts are equal, and send as much as they receive: each host sends the data of its own flows
//! and the ACKs of as many flows that it receives.
//!
//! Left out: retransmissions, handshakes, probes and credits, which depend on the scheme, and the padding of frames
//! below the least size of Ethernet.

use crate::distribution::SizeDistribution;
use std::num::NonZeroU32;
use thiserror::Error;

/// The bytes of a flow that count towards the load of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadCounts {
    /// Only payload.
    Payload,
    /// Data packets as they occupy the wire: payload, headers, preamble and gap.
    Wire,
    /// The wire, with the ACKs that go the same way.
    WireAcks,
    /// The wire, with the grants that go the same way: one for each packet of a flow after its first ones
    /// ([`Framing::ungranted_packets`]).
    WireGrants,
    /// Payload times (payload + header) / payload of a full packet: the rule of the ns-2 scripts of pFabric, PIAS and QCluster.
    /// It counts too little if flows are shorter than a packet.
    Ns2,
}

impl LoadCounts {
    /// The ways to count by the names that settings use.
    pub const NAMES: &[(&str, LoadCounts); 5] = &[
        ("payload", LoadCounts::Payload),
        ("wire", LoadCounts::Wire),
        ("wire+acks", LoadCounts::WireAcks),
        ("wire+grants", LoadCounts::WireGrants),
        ("ns2", LoadCounts::Ns2),
    ];
}

/// How a flow is cut into packets, and the additions of each; all in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload_bytes: NonZeroU32,
    /// Headers of a data packet, part of its length in queues.
    pub header_bytes: u32,
    /// Additions of every packet only on the wire: preamble and gap between frames.
    pub overhead_bytes: u32,
    /// Length of an ACK with its headers, without the overhead.
    pub ack_bytes: u32,
    /// Data packets that one ACK answers; 0 if the receiver sends none.
    pub data_packets_per_ack: u32,
    /// A flow's first packets, which need no grants. Only [`LoadCounts::WireGrants`] uses it.
    pub ungranted_packets: u32,
}

/// The cost of the mean flow if nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireCost {
    /// Data packets.
    pub data_packets: f64,
    /// Bytes that the data packets occupy on each wire of their path.
    pub data_bytes: f64,
    /// ACKs.
    pub acks: f64,
    /// Bytes that the ACKs occupy on each wire of the way back.
    pub ack_bytes: f64,
}

impl Framing {
    /// The cost of the mean flow of `sizes` on the wire.
    pub fn cost(&self, sizes: &SizeDistribution) -> WireCost {
        let data_packets = sizes.mean_packets(self.payload_bytes);
        let acks = match u64::from(self.data_packets_per_ack) {
            0 => 0.0,
            // ceil(ceil(size / payload) / n) is ceil(size / (payload n)).
            n => sizes.mean_groups(u64::from(self.payload_bytes.get()) * n),
        };
        WireCost {
            data_packets,
            data_bytes: sizes.mean_bytes()
                + data_packets * (f64::from(self.header_bytes) + f64::from(self.overhead_bytes)),
            acks,
            ack_bytes: acks * (f64::from(self.ack_bytes) + f64::from(self.overhead_bytes)),
        }
    }
}

/// A load that gives no arrival rate.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum LoadError {
    /// A load that is not a positive number.
    #[error("the load is {0}; expected a number above 0, where 1 fills the host link")]
    Load(f64),
    /// A link without a rate.
    #[error("the host link has a rate of 0 bit/s; expected a rate above 0")]
    Link,
}

/// The bytes that the mean flow of `sizes` counts towards the load.
pub fn counted_bytes(counts: LoadCounts, framing: &Framing, sizes: &SizeDistribution) -> f64 {
    let cost = framing.cost(sizes);
    let payload = f64::from(framing.payload_bytes.get());
    match counts {
        LoadCounts::Payload => sizes.mean_bytes(),
        LoadCounts::Wire => cost.data_bytes,
        LoadCounts::WireAcks => cost.data_bytes + cost.ack_bytes,
        LoadCounts::WireGrants => {
            let grants = sizes.mean_packets_after(framing.ungranted_packets, framing.payload_bytes);
            cost.data_bytes + grants * (f64::from(framing.ack_bytes) + f64::from(framing.overhead_bytes))
        }
        LoadCounts::Ns2 => sizes.mean_bytes() * ((payload + f64::from(framing.header_bytes)) / payload),
    }
}

/// The flows that each host starts per second, so that `load` of its link of `link_bps` is used, when the mean flow counts
/// `counted_bytes` ([`counted_bytes`]; for several workloads together, their mean).
pub fn arrival_rate(load: f64, link_bps: u64, counted_bytes: f64) -> Result<f64, LoadError> {
    if !(load.is_finite() && load > 0.0) {
        return Err(LoadError::Load(load));
    }
    if link_bps == 0 {
        return Err(LoadError::Link);
    }
    Ok(link_bps as f64 * load / (8.0 * counted_bytes))
}

/// [`arrival_rate`] of one distribution of sizes, by the count `counts`.
pub fn arrival_rate_per_host(
    load: f64,
    counts: LoadCounts,
    link_bps: u64,
    framing: &Framing,
    sizes: &SizeDistribution,
) -> Result<f64, LoadError> {
    arrival_rate(load, link_bps, counted_bytes(counts, framing, sizes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::builtin;
    use crate::distribution::{Reading, Rounding};
    use proptest::prelude::*;

    const FRAMING: Framing = Framing {
        payload_bytes: NonZeroU32::new(1460).unwrap(),
        header_bytes: 40,
        overhead_bytes: 20,
        ack_bytes: 40,
        data_packets_per_ack: 1,
        ungranted_packets: 0,
    };

    fn flows_of(bytes: u64) -> SizeDistribution {
        SizeDistribution::parse("test", &format!("{bytes},1"), Reading::Stepped, Rounding::Bytes).unwrap()
    }

    fn rate(counts: LoadCounts, sizes: &SizeDistribution) -> f64 {
        arrival_rate_per_host(0.6, counts, 10_000_000_000, &FRAMING, sizes).unwrap()
    }

    #[test]
    fn cost__counts_every_packet_and_ack() {
        // 3 packets: 1460, 1460 and 80 bytes.
        let cost = FRAMING.cost(&flows_of(3_000));
        assert_eq!(cost, WireCost { data_packets: 3.0, data_bytes: 3_180.0, acks: 3.0, ack_bytes: 180.0 });
        let delayed = Framing { data_packets_per_ack: 2, ..FRAMING }.cost(&flows_of(3_000));
        assert_eq!((delayed.acks, delayed.ack_bytes), (2.0, 120.0));
        let silent = Framing { data_packets_per_ack: 0, ..FRAMING }.cost(&flows_of(3_000));
        assert_eq!((silent.acks, silent.ack_bytes), (0.0, 0.0));
    }

    #[test]
    fn arrival_rate__uses_the_bytes_that_count() {
        let sizes = flows_of(3_000);
        let share = 6_000_000_000.0 / 8.0;
        assert_eq!(rate(LoadCounts::Payload, &sizes), share / 3_000.0);
        assert_eq!(rate(LoadCounts::Wire, &sizes), share / 3_180.0);
        assert_eq!(rate(LoadCounts::WireAcks, &sizes), share / 3_360.0);
        assert!((rate(LoadCounts::Ns2, &sizes) / (share / (3_000.0 * 1500.0 / 1460.0)) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn counted_bytes__with_grants_after_the_first_packets() {
        // 3 packets; a grant is 60 bytes on the wire.
        let counted = |ungranted_packets| {
            counted_bytes(LoadCounts::WireGrants, &Framing { ungranted_packets, ..FRAMING }, &flows_of(3_000))
        };
        assert_eq!([0, 1, 2, 3, u32::MAX].map(counted), [3_360.0, 3_300.0, 3_240.0, 3_180.0, 3_180.0]);
        // Sizes up to 3,000 bytes: 1,540 of 3,000 have more than one packet, and 80 have three.
        let uniform = SizeDistribution::uniform(1, 3_000, Rounding::Bytes).unwrap();
        let after = |first| uniform.mean_packets_after(first, FRAMING.payload_bytes) * 3_000.0;
        assert!([(1, 1_620.0), (2, 80.0), (3, 0.0)].iter().all(|&(first, mean)| (after(first) - mean).abs() < 2.0));
    }

    /// Homa's authors multiply the nominal load by these factors to have that of payload (`homaTransportConfig.ini` of
    /// PlatformLab/HomaSimulation). Their packets: 1,442 bytes of payload, 58 of headers, 38 of Ethernet; 9,328 bytes need no grant.
    #[test]
    fn counted_bytes__of_homas_workloads_are_near_the_authors_factors() {
        let framing = Framing {
            payload_bytes: NonZeroU32::new(1_442).unwrap(),
            header_bytes: 58,
            overhead_bytes: 38,
            ack_bytes: 58,
            data_packets_per_ack: 1,
            ungranted_packets: 7,
        };
        let shares = |ack_bytes| {
            ["homa-w1", "homa-w2", "homa-w3", "homa-w4", "homa-w5"].map(|name| {
                let sizes = builtin(name).unwrap().distribution().unwrap();
                sizes.mean_bytes() / counted_bytes(LoadCounts::WireGrants, &Framing { ack_bytes, ..framing }, &sizes)
            })
        };
        let are = |shares: [f64; 5], factors: [f64; 5], within: f64| {
            assert!(shares.iter().zip(factors).all(|(share, factor)| (share - factor).abs() < within), "{shares:?}");
        };
        are(shares(58), [0.6559, 0.7937, 0.8777, 0.8835, 0.8827], 0.000_1);
        // With grants of 68 bytes on the wire, near the authors'.
        are(shares(30), [0.657, 0.796, 0.887, 0.898, 0.898], 0.002);
    }

    #[test]
    fn arrival_rate__of_web_search_is_that_of_the_scripts() {
        // Their mean of 1138 packets leaves the rounding to packets out, 0.3 %.
        let sizes = builtin("web-search").unwrap().distribution().unwrap();
        let scripts = 10e9 * 0.6 / (1138.0 * 1460.0 * 8.0 * 1500.0 / 1460.0);
        assert!((rate(LoadCounts::Ns2, &sizes) / scripts - 1.0).abs() < 0.004);
    }

    #[test]
    fn arrival_rate__of_full_packets_is_the_same_by_ns2_and_by_wire_without_overhead() {
        let framing = Framing { overhead_bytes: 0, ..FRAMING };
        let rate = |counts| arrival_rate_per_host(0.8, counts, 10_000_000_000, &framing, &flows_of(14_600)).unwrap();
        assert!((rate(LoadCounts::Ns2) / rate(LoadCounts::Wire) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn arrival_rate__refuses_what_is_no_load() {
        for load in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            let refused = arrival_rate_per_host(load, LoadCounts::Wire, 1, &FRAMING, &flows_of(1)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!("the load is {load}; expected a number above 0, where 1 fills the host link")
            );
        }
        assert_eq!(arrival_rate_per_host(0.5, LoadCounts::Wire, 0, &FRAMING, &flows_of(1)), Err(LoadError::Link));
    }

    proptest! {
        #[test]
        fn arrival_rate__offers_the_load(bytes in 1u64..1_000_000, load in 0.01..2.0) {
            let sizes = flows_of(bytes);
            let cost = FRAMING.cost(&sizes);
            let rate = arrival_rate_per_host(load, LoadCounts::WireAcks, 1_000_000_000, &FRAMING, &sizes).unwrap();
            let offered = rate * 8.0 * (cost.data_bytes + cost.ack_bytes) / 1e9;
            prop_assert!((offered / load - 1.0).abs() < 1e-12);
        }
    }
}
