//! D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP whose cut depends on the deadline of the message.

use flowsieve_core::Time;

use super::control::{Acked, CongestionRules};
use super::dctcp::{Dctcp, DctcpRules};
use super::window::{Additive, Response};
use crate::tcp::params::TcpParams;

/// D2TCP with the parameters of DCTCP's estimate.
#[derive(Clone, Copy, Debug)]
pub struct D2tcpRules(pub DctcpRules);

impl CongestionRules for D2tcpRules {
    type Control = Additive<D2tcp>;

    fn build(&self, params: &TcpParams) -> Additive<D2tcp> {
        Additive::new(D2tcp(Dctcp::new(&self.0)), params)
    }
}

/// DCTCP's estimate, raised to the power of the [`imminence`] of the deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct D2tcp(Dctcp);

impl Response for D2tcp {
    const LOSS_CUTS_AGAIN: bool = Dctcp::LOSS_CUTS_AGAIN;
    const TAKES_WHOLE_SEGMENTS: bool = Dctcp::TAKES_WHOLE_SEGMENTS;

    #[inline]
    fn estimate(&mut self, ack: &Acked<'_>) {
        self.0.estimate(ack);
    }

    fn keep(&self, cwnd: f64, ack: &Acked<'_>) -> f64 {
        let exponent = match ack.messages.of(ack.una) {
            None => 1.0,
            Some(span) => {
                let segments = f64::from((span.end - ack.una).saturating_sub(ack.sacked));
                imminence(segments, cwnd, ack.round_trip, span.message.deadline, ack.now)
            }
        };
        1.0 - libm::pow(self.0.alpha, exponent) / 2.0
    }

    fn alpha(&self) -> Option<f64> {
        self.0.alpha()
    }
}

/// Returns D2TCP's exponent d for a message with `segments_left` to deliver, 0.5 to 2. It is the time to deliver them at
/// three quarters of the window per round trip, a sawtooth's average, over the time left until the deadline. Without a
/// deadline it is 1, DCTCP's. After a deadline that has passed it is also 1; the paper does not define that case.
fn imminence(segments_left: f64, cwnd: f64, round_trip: Time, deadline: Option<Time>, now: Time) -> f64 {
    match deadline.map(|deadline| deadline.since(now)) {
        None | Some(Time::ZERO) => 1.0,
        Some(left) => (segments_left / (0.75 * cwnd) * round_trip.0 as f64 / left.0 as f64).clamp(0.5, 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imminence__time_needed_over_time_left() {
        let (now, round_trip) = (Time::from_us(1_000), Time::from_us(100));
        // 30 segments at 15 a round trip take 200 us.
        let of = |deadline| imminence(30.0, 20.0, round_trip, deadline, now);
        assert_eq!(of(Some(Time::from_us(1_200))), 1.0);
        assert_eq!(of(Some(Time::from_us(1_160))), 1.25);
        assert_eq!(of(Some(Time::from_us(1_250))), 0.8);
        assert_eq!([1_001, 9_000].map(|us| of(Some(Time::from_us(us)))), [2.0, 0.5]);
        assert_eq!([Some(Time::from_us(1_000)), Some(Time::ZERO), None].map(of), [1.0; 3]);
    }
}
