//! What flows cross.

use flowsieve_core::units::Time;

/// Links, and the ways over them that flows take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// By link: its rate in bit/s, above zero.
    pub rates: Vec<f64>,
    /// By host: the link out of it.
    pub up: Vec<u32>,
    /// By host: the link into it.
    pub down: Vec<u32>,
    /// The ways that there are.
    pub paths: Vec<Path>,
}

/// A way from a host to a host: the links that it crosses.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// Each link once; at least the sender's and the receiver's, whole.
    pub links: Vec<Crossing>,
}

/// A link of a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Which.
    pub link: u32,
    /// The share of the flow that crosses it: above 0 and up to 1.
    pub share: f64,
}

impl Network {
    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.up.len()
    }

    /// For how long so many bytes take a path that nobody else uses, in ps.
    pub fn alone(&self, path: u32, bytes: u64) -> Time {
        span(work(bytes), self.least(path, &self.rates))
    }

    /// The highest rate that a flow on a path can have where so much is left of each link.
    pub(crate) fn least(&self, path: u32, left: &[f64]) -> f64 {
        // To divide takes longer than all else here, and most flows have one way.
        let of_link = |crossing: &Crossing| {
            let left = left[crossing.link as usize];
            if crossing.share == 1.0 { left } else { left / crossing.share }
        };
        self.paths[path as usize].links.iter().map(of_link).fold(f64::INFINITY, f64::min)
    }

    /// Takes a flow's rate from what is left of its links. What is left of a link that it fills is exactly nothing.
    pub(crate) fn take(&self, path: u32, rate: f64, left: &mut [f64]) {
        for crossing in &self.paths[path as usize].links {
            let link = crossing.link as usize;
            let rest = left[link] - rate * crossing.share;
            left[link] = if rest > NOTHING * self.rates[link] { rest } else { 0.0 };
        }
    }

    /// Gives a flow's rate back.
    pub(crate) fn give_back(&self, path: u32, rate: f64, left: &mut [f64]) {
        for crossing in &self.paths[path as usize].links {
            let link = crossing.link as usize;
            left[link] = (left[link] + rate * crossing.share).min(self.rates[link]);
        }
    }
}

/// The share of a link's rate that is nothing: what rounding may leave of it.
pub(crate) const NOTHING: f64 = 1e-9;

/// Bytes as work.
pub(crate) fn work(bytes: u64) -> f64 {
    bytes as f64 * 8e12
}

/// What a rate does in a span, as work.
pub(crate) fn done(rate: f64, span: Time) -> f64 {
    rate * span.0 as f64
}

/// For how long a rate needs to do a work, to the nearest ps; [`Time::NEVER`] where it never does.
pub(crate) fn span(work: f64, rate: f64) -> Time {
    let span = (work.max(0.0) / rate).round();
    // A flow that has all and needs nothing more is done.
    if span.is_nan() { Time::ZERO } else { Time(span as u64) }
}

/// The instant a span after another.
pub(crate) fn after(now: Time, span: Time) -> Time {
    Time(now.0.saturating_add(span.0))
}
