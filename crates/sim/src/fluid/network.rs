//! The network that flows cross.

use flowsieve_core::units::Time;

/// Links, and the paths of flows over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// By link: its rate in bit/s, above zero.
    pub rates: Vec<f64>,
    /// By host: the link out of it.
    pub up: Vec<u32>,
    /// By host: the link into it.
    pub down: Vec<u32>,
    /// The paths.
    pub paths: Vec<Path>,
}

/// A path from a host to a host: the links that it crosses.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// Each link once; at least the sender's and the receiver's, with share 1.
    pub links: Vec<Crossing>,
}

/// A link of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Index of the link.
    pub link: u32,
    /// The share of the flow that crosses it: above 0 and up to 1.
    pub share: f64,
}

impl Network {
    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.up.len()
    }

    /// Returns how long `bytes` bytes take on a path without other flows, in ps.
    pub fn alone(&self, path: u32, bytes: u64) -> Time {
        span(work(bytes), self.least(path, &self.rates))
    }

    /// Returns the highest rate of a flow on a path, given what is left of each link.
    pub(crate) fn least(&self, path: u32, left: &[f64]) -> f64 {
        // Division is the most expensive operation here, and most flows have one path.
        let of_link = |crossing: &Crossing| {
            let left = left[crossing.link as usize];
            if crossing.share == 1.0 { left } else { left / crossing.share }
        };
        self.paths[path as usize].links.iter().map(of_link).fold(f64::INFINITY, f64::min)
    }

    /// Returns the least value of a path's links.
    pub(crate) fn least_of(&self, path: u32, value: impl Fn(u32) -> f64) -> f64 {
        let links = &self.paths[path as usize].links;
        links.iter().map(|crossing| value(crossing.link)).fold(f64::INFINITY, f64::min)
    }

    /// Subtracts a flow's rate from what is left of its links. A link that it fills has exactly zero left.
    pub(crate) fn take(&self, path: u32, rate: f64, left: &mut [f64]) {
        for crossing in &self.paths[path as usize].links {
            let link = crossing.link as usize;
            let rest = left[link] - rate * crossing.share;
            left[link] = if rest > NOTHING * self.rates[link] { rest } else { 0.0 };
        }
    }

    /// Returns a flow's rate to its links.
    pub(crate) fn give_back(&self, path: u32, rate: f64, left: &mut [f64]) {
        for crossing in &self.paths[path as usize].links {
            let link = crossing.link as usize;
            left[link] = (left[link] + rate * crossing.share).min(self.rates[link]);
        }
    }
}

/// The share of a link's rate that counts as zero: rounding may leave as much.
pub(crate) const NOTHING: f64 = 1e-9;

/// Converts bytes to work.
pub(crate) fn work(bytes: u64) -> f64 {
    bytes as f64 * 8e12
}

/// Converts work to bytes, to the nearest.
pub(crate) fn bytes(work: f64) -> u64 {
    (work / 8e12).round() as u64
}

/// Returns the work of a rate in a span.
pub(crate) fn done(rate: f64, span: Time) -> f64 {
    rate * span.0 as f64
}

/// Returns how long a rate needs for some work, to the nearest ps; [`Time::NEVER`] if it never ends.
pub(crate) fn span(work: f64, rate: f64) -> Time {
    let span = (work.max(0.0) / rate).round();
    // A flow without remaining work is done, even at rate 0.
    if span.is_nan() { Time::ZERO } else { Time(span as u64) }
}

/// Returns the instant a span after another.
pub(crate) fn after(now: Time, span: Time) -> Time {
    Time(now.0.saturating_add(span.0))
}
