//! The retransmission timeout (RFC 6298), or one constant.

use flowsieve_core::Time;

use crate::params::RtoRule;

/// RFC 6298 §2.1: before any measurement.
const INITIAL: Time = Time(1_000_000_000_000);
/// RFC 6298 §2.5: at least 60 s.
const MAX: Time = Time(60_000_000_000_000);

/// The estimate of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rto {
    smoothed: Time,
    variance: Time,
    least: Time,
    backoff: u32,
}

impl Rto {
    /// A round trip was measured.
    pub(crate) fn sample(&mut self, rtt: Time) {
        if self.smoothed == Time::ZERO {
            self.smoothed = rtt;
            self.variance = Time(rtt.0 / 2);
            self.least = rtt;
        } else {
            let error = self.smoothed.0.abs_diff(rtt.0);
            self.variance = Time((3 * self.variance.0 + error) / 4);
            self.smoothed = Time((7 * self.smoothed.0 + rtt.0) / 8);
            self.least = self.least.min(rtt);
        }
    }

    /// The timer fired: the next one waits twice as long.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(10);
    }

    /// New data was acknowledged.
    pub(crate) fn settle(&mut self) {
        self.backoff = 0;
    }

    /// The timeout now.
    #[inline]
    pub(crate) fn value(&self, rule: RtoRule) -> Time {
        match rule {
            RtoRule::Constant(value) => value,
            RtoRule::Rfc6298 { min } => {
                let base = if self.smoothed == Time::ZERO {
                    INITIAL.max(min)
                } else {
                    self.smoothed + Time(4 * self.variance.0)
                };
                Time((base.max(min).0 << self.backoff).min(MAX.0))
            }
        }
    }

    /// The smoothed and the least round trip; zero before the first sample.
    pub(crate) fn round_trips(&self) -> (Time, Time) {
        (self.smoothed, self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RtoRule = RtoRule::Rfc6298 { min: Time(1_000_000) };

    #[test]
    fn value__follows_rfc_6298() {
        let mut rto = Rto::default();
        assert_eq!(rto.value(RULE), INITIAL);
        rto.sample(Time::from_us(100));
        assert_eq!(rto.value(RULE), Time::from_us(300), "R + 4 · R/2");
        rto.sample(Time::from_us(180));
        // variance 3/4 · 50 + 1/4 · 80 = 57.5, smoothed 7/8 · 100 + 1/8 · 180 = 110.
        assert_eq!(rto.value(RULE), Time::from_us(340));
        rto.back_off();
        rto.back_off();
        assert_eq!(rto.value(RULE), Time::from_us(1360));
        rto.settle();
        assert_eq!(rto.value(RULE), Time::from_us(340));
    }

    #[test]
    fn value__bounds() {
        let mut rto = Rto::default();
        rto.sample(Time::from_us(10));
        assert_eq!(rto.value(RtoRule::Rfc6298 { min: Time::from_us(10_000) }), Time::from_us(10_000));
        (0..99).for_each(|_| rto.back_off());
        assert!(rto.value(RtoRule::Rfc6298 { min: Time(1 << 50) }) <= MAX);
        assert_eq!(rto.value(RtoRule::Constant(Time::from_us(250))), Time::from_us(250), "no back-off");
    }
}
