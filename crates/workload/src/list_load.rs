//! A list of flows at a load: the factor of its gaps, in whole numbers, so that every machine gets the same starts.

use crate::load::{Framing, LoadCounts};
use crate::{Flow, LoadError};
use thiserror::Error;

/// The longest time from a scaled list's beginning to its last start: 196 days, before a run's clock ends.
pub const MAX_SPAN_PS: u64 = 17_000_000_000_000_000_000;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// The factor of the gaps between the flows of a list: the ratio of two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Start of the first flow, which stays.
    pub first_ps: u64,
    /// The time from the first start to the last in the list; at least 1.
    pub was_ps: u64,
    /// The same at the load; at least 1.
    pub now_ps: u64,
}

/// Why a list cannot have a load.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PaceError {
    /// No number of hosts, or no load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No time passes between the first start and the last.
    #[error("all flows start at once, so there are no gaps to set a load with")]
    AtOnce,
    /// The last flow would start too late.
    #[error("at this load the last flow starts after more than 196 days")]
    TooLong,
    /// The numbers are too long to be multiplied.
    #[error("a load of {0} has too many digits for a list of this size")]
    Digits(f64),
}

impl Framing {
    /// The bytes that flows count towards the load, all together, as a fraction.
    pub fn counted_of(&self, counts: LoadCounts, flows: &[Flow]) -> (u128, u128) {
        let payload = u64::from(self.payload_bytes.get());
        let header = u128::from(self.header_bytes) + u128::from(self.overhead_bytes);
        let ack = u128::from(self.ack_bytes) + u128::from(self.overhead_bytes);
        let bytes = || flows.iter().map(|flow| u128::from(flow.bytes)).sum::<u128>();
        let data =
            || flows.iter().map(|flow| u128::from(flow.bytes) + u128::from(flow.bytes.div_ceil(payload)) * header);
        let acks = |flow: &Flow| match u64::from(self.data_packets_per_ack) {
            0 => 0,
            each => u128::from(flow.bytes.div_ceil(payload).div_ceil(each)) * ack,
        };
        let grants =
            |flow: &Flow| u128::from(flow.bytes.div_ceil(payload).saturating_sub(self.ungranted_packets.into())) * ack;
        match counts {
            LoadCounts::Payload => (bytes(), 1),
            LoadCounts::Wire => (data().sum(), 1),
            LoadCounts::WireAcks => (data().sum::<u128>() + flows.iter().map(acks).sum::<u128>(), 1),
            LoadCounts::WireGrants => (data().sum::<u128>() + flows.iter().map(grants).sum::<u128>(), 1),
            LoadCounts::Ns2 => (bytes() * (u128::from(payload) + u128::from(self.header_bytes)), payload.into()),
        }
    }
}

impl Pace {
    /// The pace at which flows, in the order of their starts, offer a mean `load` of the `hosts`' links, each of `link_bps`,
    /// from the first start to the last.
    ///
    /// # Errors
    /// If there is no such pace.
    pub fn of(
        flows: &[Flow],
        (load, counts): (f64, LoadCounts),
        framing: &Framing,
        (hosts, link_bps): (u32, u64),
    ) -> Result<Pace, PaceError> {
        if !(load.is_finite() && load > 0.0) {
            return Err(LoadError::Load(load).into());
        }
        if link_bps == 0 || hosts == 0 {
            return Err(LoadError::Link.into());
        }
        let starts = flows.first().zip(flows.last()).map(|(first, last)| (first.start_ps, last.start_ps));
        let (first_ps, was_ps) = starts.map_or((0, 0), |(first, last)| (first, last - first));
        if was_ps == 0 {
            return Err(PaceError::AtOnce);
        }
        let digits = PaceError::Digits(load);
        let (bytes, of_bytes) = framing.counted_of(counts, flows);
        let (load, of_load) = decimal(load).ok_or(digits)?;
        // Bits over bit/s, in ps. Common factors of both sides of the fraction are cancelled first, so that it fits.
        let product = |factors: [u128; 4]| factors.into_iter().try_fold(1u128, u128::checked_mul);
        let above = product([8, PS_PER_SECOND, of_load, 1]).ok_or(digits)?;
        let below = product([of_bytes, hosts.into(), link_bps.into(), load]).ok_or(digits)?;
        let common = gcd(above, below).max(1);
        let (above, below) = (above / common, below / common);
        let common = gcd(bytes, below).max(1);
        let (bytes, below) = (bytes / common, below / common);
        let now = rounded(bytes.checked_mul(above).ok_or(digits)?, below).max(1);
        let now_ps =
            u64::try_from(now).ok().filter(|now| first_ps.checked_add(*now).is_some_and(|last| last <= MAX_SPAN_PS));
        Ok(Pace { first_ps, was_ps, now_ps: now_ps.ok_or(PaceError::TooLong)? })
    }

    /// The flow with its start at this pace, to the nearest picosecond.
    pub fn put_on(&self, flow: Flow) -> Flow {
        let since = u128::from(flow.start_ps.saturating_sub(self.first_ps)) * u128::from(self.now_ps);
        let start_ps = self.first_ps.saturating_add(rounded(since, self.was_ps.into()) as u64);
        Flow { start_ps, ..flow }
    }

    /// The factor of the gaps.
    pub fn factor(&self) -> f64 {
        self.now_ps as f64 / self.was_ps as f64
    }
}

/// A number in its decimal form, as a fraction.
fn decimal(number: f64) -> Option<(u128, u128)> {
    let text = number.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let below = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some((format!("{whole}{part}").parse().ok()?, below))
}

/// The nearest whole number, halves up; `below` is at least 1.
fn rounded(above: u128, below: u128) -> u128 {
    let (whole, rest) = (above / below, above % below);
    whole + u128::from(rest >= below - rest)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    const FRAMING: Framing = Framing {
        payload_bytes: NonZeroU32::new(1_460).unwrap(),
        header_bytes: 40,
        overhead_bytes: 38,
        ack_bytes: 40,
        data_packets_per_ack: 2,
        ungranted_packets: 1,
    };

    fn flows(rows: &[(u64, u64)]) -> Vec<Flow> {
        let flow = |(id, (start_ps, bytes)): (u32, &(u64, u64))| Flow {
            id,
            start_ps: *start_ps,
            src: 0,
            dst: 1,
            bytes: *bytes,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        (0..).zip(rows).map(flow).collect()
    }

    #[test]
    fn counted_of__is_whole_packets_and_acks() {
        // One packet and one ACK, then three packets and two ACKs.
        let flows = flows(&[(0, 1_000), (5, 4_000)]);
        let of = |counts| FRAMING.counted_of(counts, &flows);
        assert_eq!(of(LoadCounts::Payload), (5_000, 1));
        assert_eq!(of(LoadCounts::Wire), (5_000 + 4 * 78, 1));
        assert_eq!(of(LoadCounts::WireAcks), (5_000 + 4 * 78 + 3 * 78, 1));
        assert_eq!(of(LoadCounts::WireGrants), (5_000 + 4 * 78 + 2 * 78, 1), "after the first packet of each");
        assert_eq!(of(LoadCounts::Ns2), (5_000 * 1_500, 1_460));
    }

    #[test]
    fn pace__offers_the_load_exactly() {
        // 10,000 bytes of two hosts at 1 Gbit/s: 40 us of each at a load of 1.
        let flows = flows(&[(7_000, 4_000), (8_000, 1_000), (17_000, 5_000)]);
        let of = |load| Pace::of(&flows, (load, LoadCounts::Payload), &FRAMING, (2, 1_000_000_000)).unwrap();
        assert_eq!(of(1.0), Pace { first_ps: 7_000, was_ps: 10_000, now_ps: 40_000_000 });
        assert_eq!([of(0.5).now_ps, of(0.7).now_ps, of(10.0).now_ps], [80_000_000, 57_142_857, 4_000_000]);
        let starts: Vec<u64> = flows.iter().map(|flow| of(0.5).put_on(*flow).start_ps).collect();
        assert_eq!((starts, of(0.5).factor()), (vec![7_000, 7_000 + 8_000_000, 7_000 + 80_000_000], 8_000.0));
    }

    #[test]
    fn pace__what_has_none() {
        let of = |rows: &[(u64, u64)], load| {
            Pace::of(&flows(rows), (load, LoadCounts::Payload), &FRAMING, (2, 1_000_000_000)).unwrap_err()
        };
        assert_eq!(of(&[(3, 10), (3, 10)], 0.5), PaceError::AtOnce);
        assert_eq!(of(&[], 0.5), PaceError::AtOnce);
        assert_eq!(of(&[(0, 1_000_000_000_000_000), (1, 1)], 0.0001), PaceError::TooLong);
        assert_eq!(of(&[(0, 1), (1, 1)], 0.0), PaceError::Load(LoadError::Load(0.0)));
        assert_eq!(of(&[(0, 1), (1, 1)], 1e-60), PaceError::Digits(1e-60));
    }

    proptest! {
        #[test]
        fn pace__keeps_the_order_and_gives_the_load(
            mut rows in prop::collection::vec((0u64..1_000_000_000, 1u64..10_000_000), 2..40), load in 0.001f64..5.0
        ) {
            rows.sort_unstable();
            prop_assume!(rows[0].0 < rows[rows.len() - 1].0);
            let flows = flows(&rows);
            let pace = Pace::of(&flows, (load, LoadCounts::Wire), &FRAMING, (16, 10_000_000_000)).unwrap();
            let scaled: Vec<Flow> = flows.iter().map(|flow| pace.put_on(*flow)).collect();
            prop_assert!(scaled.iter().map(|flow| flow.start_ps).is_sorted());
            let span = scaled[scaled.len() - 1].start_ps - scaled[0].start_ps;
            prop_assert_eq!((scaled[0].start_ps, span), (flows[0].start_ps, pace.now_ps));
            let bits = 8.0 * FRAMING.counted_of(LoadCounts::Wire, &flows).0 as f64;
            let offered = bits / (16.0 * 10e9) / (span as f64 / 1e12);
            // A picosecond more or less.
            prop_assert!((offered / load - 1.0).abs() < 1e-9 + 1.0 / span as f64, "{offered} {load}");
        }
    }
}
