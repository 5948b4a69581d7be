//! One rule for the ECN marking threshold K: by the rate of a port's link and the base round trip.
//!
//! K is the largest of three terms:
//! - `C · RTT / 7`: with less, DCTCP's window oscillation empties the queue (DCTCP, SIGCOMM 2010, §3.4; RFC 8257, §3.1);
//! - 65 full packets at 10 Gbit/s, in proportion to the rate: hosts send bursts, so that practice lies above the first
//!   term (DCTCP §3.5 and §4; PIAS, pFabric and QCluster simulate 65 packets at 10 Gbit/s);
//! - 20 full packets, the same authors' value at 1 Gbit/s.

/// Full packets at 10 Gbit/s.
const PACKETS_AT_10G: u128 = 65;
/// Full packets at 1 Gbit/s and below.
const LEAST_PACKETS: u128 = 20;

/// The marking threshold K in bytes for a port of `bps` bit/s, a base round trip in picoseconds and full packets of `mtu`
/// bytes. Rounded down.
pub fn ecn_threshold_bytes(bps: u64, round_trip_ps: u64, mtu: u64) -> u64 {
    let (bps, round_trip, mtu) = (u128::from(bps), u128::from(round_trip_ps), u128::from(mtu));
    let a_seventh = bps * round_trip / (7 * 8 * 1_000_000_000_000);
    let bursts = PACKETS_AT_10G * mtu * bps / 10_000_000_000;
    let least = LEAST_PACKETS * mtu;
    u64::try_from(a_seventh.max(bursts).max(least)).unwrap_or(u64::MAX)
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
