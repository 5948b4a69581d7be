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
    /// Bytes of packets of which it is the first news.
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
    /// Bytes of which marks are ignored after it: those that were under way.
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
