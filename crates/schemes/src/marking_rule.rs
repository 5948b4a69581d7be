//! One rule for the ECN marking threshold K: by the rate of a port's link and the base round trip.
//!
//! K is the largest of three terms:
//! - `C · RTT / 7`: with less, DCTCP's window oscillation empties the queue (DCTCP, SIGCOMM 2010, §3.4; RFC 8257, §3.1);
//! - 65 full packets at 10 Gbit/s, in proportion to the rate: hosts send bursts, so values in practice are above the first
//!   term (DCTCP §3.5 and §4; PIAS, pFabric and QCluster simulate 65 packets at 10 Gbit/s);
//! - 20 full packets, the same authors' value at 1 Gbit/s.

/// Full packets at 10 Gbit/s.
const PACKETS_AT_10G: u128 = 65;
/// Full packets at 1 Gbit/s and below.
const LEAST_PACKETS: u128 = 20;

/// The terms of the rule, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What the link carries in a seventh of the base round trip.
    pub a_seventh: u64,
    /// 65 full packets at 10 Gbit/s, in proportion to the rate.
    pub bursts: u64,
    /// 20 full packets.
    pub least: u64,
}

/// Returns the terms for a port of `bps` bit/s, a base round trip in picoseconds and full packets of `mtu` bytes. Rounded down.
pub fn terms(bps: u64, round_trip_ps: u64, mtu: u64) -> Terms {
    let (bps, round_trip, mtu) = (u128::from(bps), u128::from(round_trip_ps), u128::from(mtu));
    let whole = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    Terms {
        a_seventh: whole(bps * round_trip / (7 * 8 * 1_000_000_000_000)),
        bursts: whole(PACKETS_AT_10G * mtu * bps / 10_000_000_000),
        least: whole(LEAST_PACKETS * mtu),
    }
}

/// Returns the marking threshold K in bytes, the largest of the [`terms`].
pub fn ecn_threshold_bytes(bps: u64, round_trip_ps: u64, mtu: u64) -> u64 {
    let Terms { a_seventh, bursts, least } = terms(bps, round_trip_ps, mtu);
    a_seventh.max(bursts).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    #[test]
    fn ecn_threshold_bytes__is_what_the_papers_simulate_at_10_gbps() {
        assert_eq!(ecn_threshold_bytes(10_000_000_000, 80 * US, 1_500), 65 * 1_500);
        assert_eq!(ecn_threshold_bytes(1_000_000_000, 80 * US, 1_500), 20 * 1_500);
        assert_eq!(ecn_threshold_bytes(100_000_000_000, 80 * US, 1_500), 650 * 1_500);
    }

    #[test]
    fn ecn_threshold_bytes__is_a_seventh_of_the_bandwidth_delay_product_where_paths_are_long() {
        // 10 Gbit/s in 1 ms are 1.25 MB.
        assert_eq!(ecn_threshold_bytes(10_000_000_000, 1_000 * US, 1_500), 178_571);
        assert_eq!(ecn_threshold_bytes(u64::MAX, u64::MAX, 1_500), u64::MAX);
    }
}
