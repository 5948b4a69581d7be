//! Linux's estimate of how far round trips deviate from their mean (`tcp_rtt_estimator` in `net/ipv4/tcp_input.c`).
//!
//! RFC 6298 bounds the whole timeout from below. Linux bounds the deviation: its timeout is SRTT + max(4 RTTVAR, `rto_min`)
//! (`__tcp_set_rto` in `include/net/tcp.h`), so a queue that a connection has measured never uses up its reserve. The rest
//! differs from RFC 6298 §2.3, too: a round trip below the mean moves the deviation by an eighth of what one above it does,
//! and the estimate falls once a window of data, by a quarter.
//!
//! As in the kernel, the mean is kept times 8 and the deviation times 4. Here both count picoseconds; the kernel counts
//! microseconds.

use flowsieve_core::Time;

/// The estimate of one connection; all zero before the first round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deviation {
    /// The smoothed round trip, times 8 (`srtt_us`).
    mean: i64,
    /// The smoothed deviation, times 4 (`mdev_us`).
    smoothed: i64,
    /// The largest of them in this window of data (`mdev_max_us`).
    most: i64,
    /// What the timeout is above the mean (`rttvar_us`).
    reserve: i64,
    /// A window of data ends when a segment from here on is acknowledged (`rtt_seq`).
    until: u32,
}

impl Deviation {
    /// Adds a round trip, at most an hour. `least`: the least reserve. `una` and `nxt` are those after the ACK. Returns the
    /// smoothed round trip.
    pub(crate) fn sample(&mut self, rtt: Time, least: Time, (una, nxt): (u32, u32)) -> Time {
        let (rtt, least) = (signed(rtt), signed(least));
        if self.mean == 0 {
            self.mean = rtt.max(1) * 8;
            self.smoothed = rtt * 2;
            self.most = self.smoothed.max(least);
            self.reserve = self.most;
            self.until = nxt;
            return self.mean();
        }
        let error = rtt - self.mean / 8;
        self.mean = (self.mean + error).max(1);
        let change = error.abs() - self.smoothed / 4;
        self.smoothed += if error < 0 && change > 0 { change / 8 } else { change };
        if self.smoothed > self.most {
            self.most = self.smoothed;
            self.reserve = self.reserve.max(self.most);
        }
        if una > self.until {
            self.reserve -= (self.reserve - self.most).max(0) / 4;
            self.until = nxt;
            self.most = least;
        }
        self.mean()
    }

    fn mean(&self) -> Time {
        Time((self.mean / 8).max(1) as u64)
    }

    /// Returns what the timeout is above the smoothed round trip.
    pub(crate) fn reserve(&self) -> Time {
        Time(self.reserve.max(0) as u64)
    }
}

fn signed(time: Time) -> i64 {
    // An eighth, for the mean is kept times 8.
    i64::try_from(time.0).unwrap_or(i64::MAX).min(i64::MAX / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In microseconds: the round trip and `una`, then the mean and the reserve. Ten segments are always outstanding.
    fn run(least: u64, steps: &[(u64, u32, f64, f64)]) {
        let mut deviation = Deviation::default();
        for &(rtt, una, mean, reserve) in steps {
            let got = deviation.sample(Time::from_us(rtt), Time::from_us(least), (una, una + 10));
            let is = |time: Time, us: f64| (time.0 as f64 / 1e6 - us).abs() < 1e-5;
            let now = deviation.reserve();
            assert!(is(got, mean) && is(now, reserve), "{got:?}, {now:?} after {rtt} at {una}");
        }
    }

    #[test]
    fn sample__rises_at_once_and_falls_once_a_window() {
        run(
            0,
            &[
                // R, and 4 · R/2.
                (100, 1, 100.0, 200.0),
                // 80 above the mean: 3/4 · 200 + 80 = 230.
                (180, 2, 110.0, 230.0),
                // At the mean: the deviation falls to 172.5, and the reserve stays until the window of 11 is acknowledged.
                (110, 3, 110.0, 230.0),
                (110, 11, 110.0, 230.0),
                // The largest of that window was 230. That of the next, which ends beyond 22, is 72.77.
                (110, 12, 110.0, 230.0),
                (110, 22, 110.0, 230.0),
                (110, 23, 110.0, 190.693_36),
            ],
        );
    }

    #[test]
    fn sample__a_faster_round_trip_moves_it_by_an_eighth() {
        // 80 below the mean of 100: 200 + (80 − 50) / 8 = 203.75. RFC 6298 would have 3/4 · 200 + 80 = 230.
        run(0, &[(100, 1, 100.0, 200.0), (20, 2, 90.0, 203.75)]);
        // Within a quarter of the deviation it falls as any other does: 200 + (20 − 50) = 170.
        run(0, &[(100, 1, 100.0, 200.0), (80, 2, 97.5, 200.0), (97, 12, 97.4375, 200.0)]);
    }

    #[test]
    fn reserve__is_at_least_the_least() {
        run(10_000, &[(100, 1, 100.0, 10_000.0), (100, 2, 100.0, 10_000.0), (9_000, 12, 1_212.5, 10_000.0)]);
        let mut deviation = Deviation::default();
        for una in 0..99 {
            deviation.sample(Time::NEVER, Time::NEVER, (una, una + 1));
            deviation.sample(Time::ZERO, Time::NEVER, (una, una + 1));
        }
        assert!(deviation.reserve() > Time::from_us(1_000_000));
    }
}
