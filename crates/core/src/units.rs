//! Time and rate.
//!
//! One picosecond resolves a bit at 800 Gbit/s (1.25 ps) and a `u64` of them lasts 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant since the start of a run, or a span; in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of a run; an empty span.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// Builds a span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }

    /// Builds a span of whole microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// Returns the span from `earlier` to `self`; zero if `earlier` is the later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// Converts to seconds, for statistics and display.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

impl fmt::Display for Time {
    /// Writes the largest unit that keeps at least one digit before the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (ps, "ps"),
            1_000..1_000_000 => (ps / 1e3, "ns"),
            1_000_000..1_000_000_000 => (ps / 1e6, "us"),
            1_000_000_000..1_000_000_000_000 => (ps / 1e9, "ms"),
            _ => (ps / 1e12, "s"),
        };
        let digits = format!("{value:.3}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{digits} {unit}")
    }
}

/// The time of a byte on the wire, in fixed point: picoseconds times 2^20, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime(u64);

impl ByteTime {
    // 2^-20 ps a byte of rounding is an eighth of a picosecond over Rate::MAX_BYTES; 8e6 ps a byte at Rate::MIN_BPS,
    // times 2^20, times MAX_BYTES stays under 2^61.
    const SHIFT: u32 = 20;

    /// Returns how long `bytes` take: ceil(bits · 10^12 / rate) picoseconds, at most one picosecond more.
    #[inline]
    pub const fn serialise(self, bytes: u32) -> Time {
        Time((bytes as u64 * self.0 + ((1 << Self::SHIFT) - 1)) >> Self::SHIFT)
    }
}

/// A link's rate, 1 Mbit/s to 800 Gbit/s, with its serialisation time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    bps: u64,
    byte_time: ByteTime,
}

impl Rate {
    /// The slowest link that the fixed point is made for, in bit/s.
    pub const MIN_BPS: u64 = 1_000_000;
    /// The fastest, in bit/s.
    pub const MAX_BPS: u64 = 800_000_000_000;
    /// The largest packet whose serialisation is exact to 1 ps, in bytes.
    pub const MAX_BYTES: u32 = 1 << 17;

    /// Builds a rate in bit/s; `None` outside [`Rate::MIN_BPS`]..=[`Rate::MAX_BPS`].
    pub fn new(bps: u64) -> Option<Rate> {
        let per_byte = (8_000_000_000_000u128 << ByteTime::SHIFT).div_ceil(u128::from(bps).max(1));
        let byte_time = ByteTime(per_byte as u64);
        (Self::MIN_BPS..=Self::MAX_BPS).contains(&bps).then_some(Rate { bps, byte_time })
    }

    /// Returns the rate in bit/s.
    pub const fn bps(self) -> u64 {
        self.bps
    }

    /// Returns how long a byte takes.
    pub const fn byte_time(self) -> ByteTime {
        self.byte_time
    }

    /// As [`ByteTime::serialise`].
    pub const fn serialise(self, bytes: u32) -> Time {
        self.byte_time.serialise(bytes)
    }

    /// Returns the bytes that the line carries in a span of time, rounded up.
    pub fn bytes_in(self, span: Time) -> u64 {
        let bits = u128::from(span.0) * u128::from(self.bps);
        u64::try_from(bits.div_ceil(8_000_000_000_000)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bps {
            b if b % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", b / 1_000_000_000),
            b if b < 1_000_000_000 => write!(f, "{} Mbit/s", b as f64 / 1e6),
            b => write!(f, "{} Gbit/s", b as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn serialise__textbook_values() {
        let gbps = |g: u64| Rate::new(g * 1_000_000_000).unwrap();
        assert_eq!(gbps(10).serialise(1500), Time(1_200_000));
        assert_eq!(gbps(40).serialise(40), Time(8_000));
        assert_eq!(gbps(800).serialise(1), Time(10));
        assert_eq!(Rate::new(1_000_000).unwrap().serialise(1), Time(8_000_000));
        assert_eq!([0, 1, 1_200_000, 1_200_001].map(|ps| gbps(10).bytes_in(Time(ps))), [0, 1, 1_500, 1_501]);
    }

    #[test]
    fn new__refuses_what_the_fixed_point_cannot_hold() {
        assert_eq!(Rate::new(0), None);
        assert_eq!(Rate::new(Rate::MIN_BPS - 1), None);
        assert_eq!(Rate::new(Rate::MAX_BPS + 1), None);
    }

    #[test]
    fn display__picks_the_unit() {
        assert_eq!(Time(81_600_000).to_string(), "81.6 us");
        assert_eq!(Time(0).to_string(), "0 ps");
        assert_eq!(Time::from_us(2_000).to_string(), "2 ms");
    }

    proptest! {
        #[test]
        fn serialise__within_a_picosecond_of_exact(bps in Rate::MIN_BPS..=Rate::MAX_BPS, bytes in 1..=Rate::MAX_BYTES) {
            let exact = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(bps)) as u64;
            let got = Rate::new(bps).unwrap().serialise(bytes).0;
            prop_assert!(got == exact || got == exact + 1, "{got} against {exact}");
        }
    }
}
