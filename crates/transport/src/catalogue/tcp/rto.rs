//! The retransmission timeout: RFC 6298, Linux's law, or one constant.
//!
//! Every ACK is a measurement, including those of retransmissions: its timestamp tells which transmission it answers (RFC
//! 6298 §3). Before the first measurement the timeout is the rule's: 1 s in the RFC, another value if hosts know their
//! network. Left out: the smaller gains of RFC 7323 appendix G for several measurements a round trip; the 3 s that the
//! timeout becomes after a lost SYN (RFC 6298 §5.7): here it does not change.

use flowsieve_core::Time;

use crate::tcp::deviation::Deviation;
use crate::tcp::params::{MOST_DOUBLINGS, RtoRule};

/// RFC 6298 §2.5: an upper bound of at least 60 s. Measurements are cut to it, too. Linux has 120 s (`TCP_RTO_MAX`).
pub(crate) const MAX: Time = Time(60_000_000_000_000);
/// RFC 6298 §2.3: the clock granularity G.
const GRANULARITY: Time = Time(1_000_000);

/// What is known of a connection's round trips; zero before the first measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrips {
    pub(crate) smoothed: Time,
    pub(crate) least: Time,
}

/// The timeout estimate of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rto {
    round_trips: RoundTrips,
    variance: Time,
    /// In place of the variance under [`RtoRule::Linux`].
    deviation: Deviation,
    doublings: u32,
    /// The timer has fired since new data was acknowledged.
    fired: bool,
}

impl Rto {
    /// Adds a round trip that an ACK has measured, which left the segments `outstanding`.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Time, rule: RtoRule, outstanding: (u32, u32)) {
        let rtt = rtt.min(MAX);
        let RoundTrips { smoothed, least } = &mut self.round_trips;
        if let RtoRule::Linux { min, .. } = rule {
            *least = if *smoothed == Time::ZERO { rtt } else { rtt.min(*least) };
            *smoothed = self.deviation.sample(rtt, min, outstanding);
        } else if *smoothed == Time::ZERO {
            *smoothed = rtt;
            *least = rtt;
            self.variance = Time(rtt.0 / 2);
        } else {
            self.variance = Time((3 * self.variance.0 + smoothed.0.abs_diff(rtt.0)) / 4);
            *smoothed = Time((7 * smoothed.0 + rtt.0) / 8);
            *least = rtt.min(*least);
        }
    }

    /// Doubles the next timeout, because the timer fired, but no more than `most` times in all.
    pub(crate) fn back_off(&mut self, most: u32) {
        self.fired = true;
        self.doublings = (self.doublings + 1).min(most).min(MOST_DOUBLINGS);
    }

    /// Returns whether the timer has fired since the oldest outstanding segment became the oldest.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.fired
    }

    /// Ends the back-off, because new data was acknowledged.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.doublings = 0;
        self.fired = false;
    }

    /// Returns when a timer that starts now fires.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, rule: RtoRule) -> Time {
        Time(now.0.saturating_add(self.value(rule).0))
    }

    /// Returns the current timeout.
    #[inline]
    pub(crate) fn value(&self, rule: RtoRule) -> Time {
        match rule {
            RtoRule::Constant(value) => value,
            RtoRule::Rfc6298 { min, initial } => {
                self.backed_off(initial, |smoothed| (smoothed + Time(4 * self.variance.0).max(GRANULARITY)).max(min))
            }
            RtoRule::Linux { initial, .. } => {
                self.backed_off(initial, |smoothed| Time(smoothed.0.saturating_add(self.deviation.reserve().0)))
            }
        }
    }

    /// Returns the timeout that `estimate` makes of the smoothed round trip, doubled as often as the timer has fired.
    #[inline]
    fn backed_off(&self, initial: Time, estimate: impl FnOnce(Time) -> Time) -> Time {
        let RoundTrips { smoothed, .. } = self.round_trips;
        let base = if smoothed == Time::ZERO { initial } else { estimate(smoothed) };
        Time((base.min(MAX).0 << self.doublings).min(MAX.0))
    }

    /// Returns whether the rule estimates, and no round trip has been measured.
    pub(crate) fn waits_unanswered(&self, rule: RtoRule) -> bool {
        rule.estimates() && self.round_trips.smoothed == Time::ZERO
    }

    /// Returns the smoothed and the least round trip.
    #[inline]
    pub(crate) fn round_trips(&self) -> RoundTrips {
        self.round_trips
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RtoRule = RtoRule::Rfc6298 { min: Time(1_000_000), initial: RtoRule::RFC_INITIAL };

    #[test]
    fn value__follows_rfc_6298() {
        let mut rto = Rto::default();
        assert_eq!(rto.value(RULE), RtoRule::RFC_INITIAL);
        rto.sample(Time::from_us(100), RULE, (0, 0));
        assert_eq!(rto.value(RULE), Time::from_us(300), "R + 4 · R/2");
        rto.sample(Time::from_us(180), RULE, (0, 0));
        // variance 3/4 · 50 + 1/4 · 80 = 57.5, smoothed 7/8 · 100 + 1/8 · 180 = 110.
        assert_eq!(rto.value(RULE), Time::from_us(340));
        rto.back_off(MOST_DOUBLINGS);
        rto.back_off(MOST_DOUBLINGS);
        assert_eq!(rto.value(RULE), Time::from_us(1360));
        rto.settle();
        assert_eq!(rto.value(RULE), Time::from_us(340));
    }

    #[test]
    fn value__before_any_measurement_is_the_initial_one() {
        let (min, initial) = (Time::from_us(10_000), Time::from_us(1_500));
        let rule = RtoRule::Rfc6298 { min, initial };
        let mut rto = Rto::default();
        assert!(rto.waits_unanswered(rule) && !rto.waits_unanswered(RtoRule::Constant(min)));
        assert_eq!(rto.value(rule), initial, "the least timeout bounds estimates alone");
        rto.back_off(MOST_DOUBLINGS);
        assert_eq!(rto.value(rule), Time::from_us(3_000));
        rto.settle();
        rto.sample(Time::from_us(100), RULE, (0, 0));
        assert!(!rto.waits_unanswered(rule));
        assert_eq!(rto.value(rule), min);
    }

    #[test]
    fn back_off__stops_where_it_is_told() {
        let mut rto = Rto::default();
        rto.sample(Time::from_us(100), RULE, (0, 0));
        let mut after = |most| {
            rto.back_off(most);
            rto.value(RULE)
        };
        let us = [600, 1_200, 1_200, 2_400].map(Time::from_us);
        assert_eq!([after(2), after(2), after(2), after(9)], us);
        rto.settle();
        rto.back_off(0);
        assert_eq!((rto.value(RULE), rto.is_backed_off()), (Time::from_us(300), true), "fired, and not doubled");
    }

    #[test]
    fn value__bounds() {
        let mut rto = Rto::default();
        rto.sample(Time::from_us(10), RULE, (0, 0));
        let rule = |min| RtoRule::Rfc6298 { min, initial: RtoRule::RFC_INITIAL };
        assert_eq!(rto.value(rule(Time::from_us(10_000))), Time::from_us(10_000));
        (0..99).for_each(|_| rto.sample(Time::from_us(10), RULE, (0, 0)));
        assert_eq!(rto.value(RULE), Time::from_us(11), "no variance: the clock's granularity");
        (0..99).for_each(|_| rto.back_off(MOST_DOUBLINGS));
        for min in [Time(1 << 50), Time::NEVER] {
            assert_eq!(rto.value(rule(min)), MAX);
        }
        assert_eq!(rto.value(RtoRule::Constant(Time::from_us(250))), Time::from_us(250), "no back-off");
        assert_eq!(rto.deadline(Time(1), RtoRule::Constant(Time::NEVER)), Time::NEVER);
    }

    #[test]
    fn value__under_linux_the_least_is_above_the_round_trip() {
        let (min, initial) = (Time::from_us(10_000), RtoRule::RFC_INITIAL);
        let [linux, rfc] = [RtoRule::Linux { min, initial }, RtoRule::Rfc6298 { min, initial }];
        for (rule, after) in [(linux, [1_000_000, 19_000, 38_000]), (rfc, [1_000_000, 10_000, 20_000])] {
            let mut rto = Rto::default();
            let first = rto.value(rule);
            (0..400).for_each(|una| rto.sample(Time::from_us(9_000), rule, (una, una + 1)));
            let estimated = rto.value(rule);
            rto.back_off(MOST_DOUBLINGS);
            // The reserve of the first measurement, 18 ms, falls by a quarter a window, to within three picoseconds.
            let us = [first, estimated, rto.value(rule)].map(|time| time.0 / 1_000_000);
            assert_eq!(us, after);
        }
    }
}
