//! The law: how many bytes a sender may have under way (Ultra Ethernet Specification 1.0, §3.6.13, as uet-htsim has it).
//!
//! An answer tells of the delay of its packet beyond the base round trip, and of a mark. Their four combinations decide:
//!
//! | | delay below the target | above |
//! | --- | --- | --- |
//! | no mark | grows in proportion to what is missing to the target; at once if there has been no delay for a window | grows by a fair share |
//! | mark | nothing: another path will do | falls with the average delay, once a base round trip |
//!
//! Where packets are cut, or come very late, and few bytes arrive, the window becomes what arrived in a round trip (quick adapt).

use flowsieve_core::Time;
use flowsieve_core::units::Rate;

/// The network for which constants are stated: 100 Gbit/s, 12 us.
const REFERENCE_BYTES: f64 = 150_000.0;
const REFERENCE_TRIP: f64 = 12e6;
/// Gains, in segments of payload for a window that is acknowledged.
const FAIR: f64 = 5.0;
const PROPORTIONAL: f64 = 4.0;
const EACH_TRIP: f64 = 0.15;
/// Share of acknowledged bytes by which the window grows at once, and the delay that counts as none.
const FAST: f64 = 0.25;
const NO_DELAY: Time = Time::from_us(1);
/// Strength of a decrease, and the most that it leaves and takes.
const GAMMA: f64 = 0.8;
const LEAST_LEFT: f64 = 0.5;
/// Weight of a sample in the average delay. A long delay without a mark counts as this share of the base round trip.
const WEIGHT: f64 = 0.0125;
const UNMARKED: f64 = 0.25;
/// The largest window, in bandwidth-delay products.
const MOST: f64 = 1.5;
/// Quick adapt: the delay in targets, and the share of the largest window below which few bytes arrive.
const LATE: f64 = 4.0;
const FEW: f64 = 1.0 / 8.0;
/// Full packets after which the window takes what it has gained.
const TAKES_AFTER: f64 = 8.0;

/// The law's constants for a host and its network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// Bytes a picosecond of the host's line.
    rate: f64,
    /// Bytes of a full packet.
    full: f64,
    /// The network's largest base round trip.
    trip: Time,
    /// The delay in queues that is aimed at.
    target: Time,
    /// Bytes squared by which the window grows for each byte acknowledged, times the window.
    fair: f64,
    /// The same for each picosecond that is missing to the target.
    proportional: f64,
    /// Bytes that are added each round trip.
    each_trip: f64,
    /// Bytes for each byte acknowledged without any delay.
    fast: f64,
}

impl Law {
    /// Computes the constants of a host of this rate and full packets of this payload and header.
    pub(super) fn new(rate: Rate, (segment, header): (u16, u16), trip: Time, target: Time) -> Law {
        let rate = rate.bps() as f64 / 8e12;
        let a = rate * trip.0 as f64 / REFERENCE_BYTES;
        let payload = f64::from(segment);
        Law {
            rate,
            full: payload + f64::from(header),
            trip,
            target,
            fair: FAIR * payload * a,
            // The target's share of the reference's round trip, for each picosecond of the target.
            proportional: PROPORTIONAL * payload * a / REFERENCE_TRIP,
            each_trip: EACH_TRIP * payload * a,
            fast: FAST * a,
        }
    }
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Bytes of the packets that no answer has told of before.
    pub(super) bytes: f64,
    /// Delay of the packet that it answers, beyond the base round trip.
    pub(super) delay: Time,
    /// Whether that had a mark.
    pub(super) marked: bool,
    /// Bytes that are under way after it.
    pub(super) under_way: f64,
}

/// The window of a flow, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    law: Law,
    /// The shortest round trip.
    base: Time,
    bytes: f64,
    most: f64,
    /// What it has gained, times the window.
    gain: f64,
    /// Bytes that arrived since it took its gain, and when that was.
    received: f64,
    taken_at: Time,
    /// The average delay in picoseconds.
    average: f64,
    /// Bytes without delay, and whether they were a window.
    undelayed: f64,
    grows_fast: bool,
    /// When it fell last.
    fell_at: Time,
    /// Quick adapt: the end of a round, bytes that arrived in it, and whether a packet was cut.
    round_ends: Option<Time>,
    achieved: f64,
    was_cut: bool,
    /// Bytes that were under way when the window was cut. Marks of these are ignored.
    ignores: f64,
}

impl Window {
    /// Builds that of a flow that begins: the largest.
    pub(super) fn new(now: Time, law: Law) -> Window {
        let most = MOST * law.rate * law.trip.0 as f64;
        Window {
            law,
            base: law.trip,
            bytes: most,
            most,
            gain: 0.0,
            received: 0.0,
            taken_at: now,
            average: 0.0,
            undelayed: 0.0,
            grows_fast: false,
            fell_at: now,
            round_ends: None,
            achieved: 0.0,
            was_cut: false,
            ignores: 0.0,
        }
        .bounded()
    }

    /// Returns how many bytes may be under way.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Returns the average delay.
    pub(super) fn average(&self) -> Time {
        Time(self.average as u64)
    }

    fn bounded(mut self) -> Window {
        self.bound();
        self
    }

    fn bound(&mut self) {
        self.bytes = self.bytes.min(self.most).max(self.law.full);
    }

    /// Takes the round trip of a packet that was sent once; returns its delay.
    pub(super) fn measure(&mut self, round_trip: Time) -> Time {
        if round_trip < self.base {
            self.base = round_trip;
            self.most = MOST * self.law.rate * round_trip.0 as f64;
        }
        round_trip.since(self.base)
    }

    /// Has a delay count in the average.
    pub(super) fn observe(&mut self, delay: Time, marked: bool) {
        let long = delay > self.law.target && !marked;
        let sample = if long { UNMARKED * self.base.0 as f64 } else { delay.0 as f64 };
        self.average += WEIGHT * (sample - self.average);
    }

    /// Takes an acknowledgement.
    pub(super) fn on_ack(&mut self, now: Time, acked: Acked) {
        let Acked { bytes, delay, marked, under_way } = acked;
        self.received += bytes;
        self.achieved += bytes;
        self.ignores -= bytes;
        if self.adapts(now, marked, delay, under_way) {
            return;
        }
        let law = self.law;
        match (marked, delay < law.target) {
            (false, false) => self.gain += law.fair * bytes,
            (false, true) if self.without_delay(delay, bytes) => self.bytes += law.fast * bytes,
            (false, true) => self.gain += law.proportional * bytes * law.target.since(delay).0 as f64,
            (true, false) => self.fall(now),
            (true, true) => {}
        }
        self.bound();
        let since = now.since(self.taken_at);
        if self.received > TAKES_AFTER * law.full || since > law.trip {
            self.bytes += self.gain / self.bytes;
            if since >= law.trip {
                self.bytes += law.each_trip;
                self.taken_at = now;
            }
            (self.gain, self.received) = (0.0, 0.0);
            self.bound();
        }
    }

    /// Returns whether there has been no delay for a window of bytes.
    fn without_delay(&mut self, delay: Time, bytes: f64) -> bool {
        if delay < NO_DELAY {
            self.undelayed += bytes;
            self.grows_fast |= self.undelayed > self.bytes;
        } else {
            (self.undelayed, self.grows_fast) = (0.0, false);
        }
        self.grows_fast
    }

    fn fall(&mut self, now: Time) {
        (self.undelayed, self.grows_fast) = (0.0, false);
        let target = self.law.target.0 as f64;
        if self.average > target && now.since(self.fell_at) > self.base {
            self.bytes *= (1.0 - GAMMA * (self.average - target) / self.average).max(LEAST_LEFT);
            self.fell_at = now;
        }
    }

    /// Takes the news that a packet was cut, which is still counted as under way.
    pub(super) fn on_cut(&mut self, now: Time, bytes: f64, under_way: f64) {
        self.ignores -= bytes;
        // A queue that cuts holds a bandwidth-delay product: its delay is a round trip.
        self.observe(self.law.trip, true);
        self.was_cut = true;
        if !self.adapts(now, true, Time::ZERO, under_way) {
            self.on_timeout(bytes);
        }
    }

    /// Takes the loss of a packet.
    pub(super) fn on_timeout(&mut self, bytes: f64) {
        self.bytes -= bytes;
        self.bound();
    }

    /// Quick adapt. Returns whether it acts, or ignores what was under way when it did.
    fn adapts(&mut self, now: Time, marked: bool, delay: Time, under_way: f64) -> bool {
        let mut acts = self.ignores > 0.0 && marked;
        if !acts && self.round_ends.is_none_or(|end| now > end) {
            let late = self.was_cut || delay.0 as f64 > LATE * self.law.target.0 as f64;
            if self.round_ends.is_some() && late && self.achieved < self.most * FEW {
                (self.bytes, self.ignores) = (self.achieved, under_way);
                self.bound();
                self.was_cut = false;
                acts = true;
            }
            self.achieved = 0.0;
            self.round_ends = Some(now + self.base + self.law.target);
        }
        if acts {
            (self.gain, self.received) = (0.0, 0.0);
        }
        acts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gbit/s, 4,086 of 4,150 bytes, 14.02272 us, which are 175,284 bytes, and a target of three quarters.
    const TRIP: Time = Time(14_022_720);
    const TARGET: Time = Time(10_517_040);
    const START: Time = Time::from_us(100);

    fn law() -> Law {
        Law::new(Rate::new(100_000_000_000).unwrap(), (4_086, 64), TRIP, TARGET)
    }

    /// A window that has lost so many bytes.
    fn window(lost: f64) -> Window {
        let mut window = Window::new(START, law());
        window.on_timeout(lost);
        window
    }

    fn after(us: u64) -> Time {
        START + Time::from_us(us)
    }

    /// An acknowledgement of a little more than eight packets, after which the window takes its gain.
    fn acked(delay: Time, marked: bool) -> Acked {
        Acked { bytes: 33_201.0, delay, marked, under_way: 50_000.0 }
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-4, "{value}, not {expected}");
    }

    #[test]
    fn law__follows_rate_and_round_trip() {
        let Law { fair, proportional, each_trip, fast, .. } = law();
        // Sa is 1.16856, and Sb 0.87642.
        near(fair, 5.0 * 4_086.0 * 1.16856);
        near(proportional * TARGET.0 as f64, 4.0 * 4_086.0 * 1.16856 * 0.87642);
        near(each_trip, 716.21);
        near(fast, 0.29214);
        // What uet-htsim prints for two tiers: Sa 0.77904.
        let two_tiers = Law::new(Rate::new(100_000_000_000).unwrap(), (4_086, 64), Time(9_348_480), Time(7_011_360));
        near(two_tiers.fair, 15_915.8);
        near(two_tiers.proportional, 0.001_061_05);
        near(two_tiers.each_trip, 477.474);
    }

    #[test]
    fn window__is_at_most_one_and_a_half_products_and_at_least_a_packet() {
        near(window(0.0).bytes(), 262_926.0);
        near(window(262_925.0).bytes(), 4_150.0);
        // A shorter round trip is a smaller product. Longer ones are delays.
        let mut shorter = window(0.0);
        assert_eq!(shorter.measure(Time::from_us(10)), Time::ZERO);
        assert_eq!(shorter.measure(Time::from_us(13)), Time::from_us(3));
        shorter.on_ack(after(1), acked(TARGET, true));
        near(shorter.bytes(), 187_500.0);
    }

    #[test]
    fn no_mark__grows_by_a_fair_share_or_in_proportion() {
        let mut above = window(200_000.0);
        above.on_ack(after(1), acked(TARGET, false));
        near(above.bytes(), 62_926.0 + 23_873.7 * 33_201.0 / 62_926.0);
        let mut below = window(200_000.0);
        below.on_ack(after(1), acked(Time::from_us(5), false));
        near(below.bytes(), 62_926.0 + 16_738.6 * (5_517_040.0 / 10_517_040.0) * 33_201.0 / 62_926.0);
        // What is gained before eight packets have come is kept until then, or for a round trip, which adds 0.15 segments.
        let mut waits = window(200_000.0);
        waits.on_ack(after(1), Acked { bytes: 4_150.0, ..acked(TARGET, false) });
        near(waits.bytes(), 62_926.0);
        waits.on_ack(after(15), Acked { bytes: 0.0, ..acked(TARGET, false) });
        near(waits.bytes(), 62_926.0 + 23_873.7 * 4_150.0 / 62_926.0 + 716.21);
    }

    #[test]
    fn no_delay__for_a_window_grows_at_once() {
        let mut window = window(212_926.0);
        window.on_ack(after(1), acked(Time(999_999), false));
        let before = window.bytes();
        near(before, 50_000.0 + 16_738.6 * (9_517_041.0 / 10_517_040.0) * 33_201.0 / 50_000.0);
        window.on_ack(after(2), acked(Time(999_999), false));
        near(window.bytes(), before + 0.29214 * 33_201.0);
        // A microsecond ends that.
        let before = window.bytes();
        window.on_ack(after(3), acked(Time::from_us(1), false));
        near(window.bytes(), before + 16_738.6 * (9_517_040.0 / 10_517_040.0) * 33_201.0 / before);
    }

    #[test]
    fn mark__falls_with_the_average_once_a_round_trip() {
        let mut window = window(100_000.0);
        // Below the target nothing happens, nor above it while the average is not.
        window.on_ack(after(20), acked(Time::from_us(5), true));
        window.on_ack(after(20), acked(Time::from_us(30), true));
        near(window.bytes(), 162_926.0 + 716.21);
        // 100 samples of 30 us: 30 (1 - 0.9875^100) = 21.472 us; then a long one without a mark, which counts as 3.506 us.
        (0..100).for_each(|_| window.observe(Time::from_us(30), true));
        near(window.average().0 as f64, 21_472_300.0);
        window.observe(Time::from_us(30), false);
        near(window.average().0 as f64, 21_472_300.0 - 0.0125 * (21_472_300.0 - 3_505_680.0));
        let factor = 1.0 - 0.8 * (21_247_700.0 - 10_517_040.0) / 21_247_700.0;
        let before = window.bytes();
        window.on_ack(after(21), acked(Time::from_us(30), true));
        near(window.bytes(), before * factor);
        // 14 us later it is too early. That the window takes its gain once a round trip is another matter.
        window.on_ack(after(35), acked(Time::from_us(30), true));
        near(window.bytes(), before * factor + 716.21);
        window.on_ack(after(36), acked(Time::from_us(30), true));
        near(window.bytes(), (before * factor + 716.21) * factor);
    }

    #[test]
    fn cut__is_taken_from_the_window_and_quick_adapt_follows_what_arrives() {
        let mut window = window(0.0);
        // The first news begins a round of a base round trip and a target, 24.5 us.
        window.on_cut(after(1), 4_150.0, 250_000.0);
        near(window.bytes(), 262_926.0 - 4_150.0);
        near(window.average().0 as f64, 0.0125 * 14_022_720.0);
        window.on_ack(after(2), Acked { bytes: 8_300.0, delay: TARGET, marked: true, under_way: 200_000.0 });
        window.on_cut(after(26), 4_150.0, 100_000.0);
        near(window.bytes(), 8_300.0);
        // It ignores marks of what was under way then, and the next cuts.
        window.on_cut(after(27), 4_150.0, 95_850.0);
        window.on_ack(after(28), Acked { bytes: 4_150.0, delay: Time::from_us(60), marked: true, under_way: 91_700.0 });
        near(window.bytes(), 8_300.0);
        window.on_cut(after(29), 91_700.0, 91_700.0);
        near(window.bytes(), 4_150.0);
    }
}
