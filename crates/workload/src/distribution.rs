//! Distributions of flow sizes: the meaning of a file of points, and everything computed from it.
//!
//! Sizes come from a file of points or from a formula ([`SizeDistribution::exponential`] and others).
//!
//! A file of points leaves two things open, and both change the mean, so both belong to the distribution: how sizes between two
//! points are read ([`Reading`]) and to which unit a size is rounded ([`Rounding`]). Mean, quantile, distribution function and
//! draws all use the same rounded sizes, so an arrival rate computed from the mean offers the requested load.
//!
//! Sizes are bytes of payload. Logarithmic interpolation between points is left out: the generators
//! from which the built-in points come interpolate linearly.

use crate::error::InputError;
use crate::law::{self, Law, LawError};
use crate::points::{self, CdfPoint};
use crate::random::uniform01;
use rand_core::Rng;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// How the sizes between two points of a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Every flow has exactly a size that the file lists; its probability is the step of the cdf there.
    Stepped,
    /// Sizes are uniform between two neighbouring points, as `interpolation_ 2` of ns-2's empirical random variable.
    Interpolated,
}

impl Reading {
    /// The readings by the names that settings and lists use.
    pub const NAMES: &[(&str, Reading); 2] = &[("stepped", Reading::Stepped), ("interpolated", Reading::Interpolated)];
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reading::NAMES.iter().filter(|(_, reading)| reading == self).try_for_each(|(name, _)| f.write_str(name))
    }
}

/// The unit to which the sizes of a reading are rounded up; a flow has at least one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Whole bytes.
    Bytes,
    /// Whole packets, so that every flow is a multiple of the payload, as in PIAS-NS2.
    Packets {
        /// Payload of a full packet, in bytes.
        payload: NonZeroU32,
    },
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rounding::Bytes => f.write_str("whole bytes"),
            Rounding::Packets { payload } => write!(f, "whole packets of {payload} B"),
        }
    }
}

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    name: String,
    /// None if there are no points to read.
    reading: Option<Reading>,
    rounding: Rounding,
    shape: Shape,
    means: Arc<Means>,
}

/// Means of [`SizeDistribution::mean_groups`] by group. Every point of a sweep needs the same few, and each takes a pass over
/// all points of a file.
#[derive(Debug, Default)]
struct Means(Mutex<BTreeMap<u64, f64>>);

/// The cached means do not make a distribution different.
impl PartialEq for Means {
    fn eq(&self, _: &Means) -> bool {
        true
    }
}

/// Sizes before they are rounded.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// At least one, in order of size, each of positive probability, from cdf 0 to 1 without a gap. All points of a sweep share
    /// them: there may be a million.
    Pieces(Arc<[Piece]>),
    /// A formula.
    Law(Law),
}

/// A share of the flows whose unrounded sizes are uniform over (`from`, `to`], or all `to` where the two are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: u64,
    to: u64,
    cdf_from: f64,
    cdf_to: f64,
}

impl SizeDistribution {
    /// Reads rows `size_bytes,cdf` (header optional, `#` starts a comment line), separated by commas, semicolons or blanks;
    /// errors call the text `name`. If the last share is 100 all are per cent.
    ///
    /// Sizes and cdf never fall, the last cdf is 1. Two rows with one size are a point mass, and so is a first row
    /// above 0. Sizes may have an exponent (`1e6`).
    pub fn parse(name: &str, text: &str, reading: Reading, rounding: Rounding) -> Result<SizeDistribution, InputError> {
        let points = points::parse(name, text)?;
        let shape = Shape::Pieces(pieces(&points, reading).into());
        Ok(SizeDistribution { name: name.to_string(), reading: Some(reading), rounding, shape, means: Arc::default() })
    }

    /// Every flow has `bytes`.
    pub fn fixed(bytes: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let bytes = law::size(bytes)?;
        let piece = Piece { from: bytes, to: bytes, cdf_from: 0.0, cdf_to: 1.0 };
        Ok(SizeDistribution::shaped(format!("fixed({bytes})"), rounding, Shape::Pieces([piece].into())))
    }

    /// Every whole number of bytes from `low` to `high` is equally likely.
    pub fn uniform(low: u64, high: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let (low, high) = law::range(low, high)?;
        let piece = Piece { from: low - 1, to: high, cdf_from: 0.0, cdf_to: 1.0 };
        Ok(SizeDistribution::shaped(format!("uniform({low}, {high})"), rounding, Shape::Pieces([piece].into())))
    }

    /// Exponential sizes with this mean before rounding.
    pub fn exponential(mean: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let law = Law::Exponential { mean: law::size(mean)? as f64 }.checked()?;
        Ok(SizeDistribution::shaped(format!("exponential({mean})"), rounding, Shape::Law(law)))
    }

    /// Sizes from `low` to `high` whose survival function falls with the power `shape` (Crovella, Harchol-Balter and
    /// Murta, "Task assignment in a distributed system", 1998).
    pub fn bounded_pareto(shape: f64, low: u64, high: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let (low, high) = law::range(low, high)?;
        let law = Law::BoundedPareto { shape, low: low as f64, high: high as f64 }.checked()?;
        Ok(SizeDistribution::shaped(format!("bounded-pareto({shape}, {low}, {high})"), rounding, Shape::Law(law)))
    }

    /// Sizes whose natural logarithm is normal, with this median and with `sigma` as the logarithm's standard
    /// deviation.
    pub fn lognormal(median: u64, sigma: f64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let law = Law::Lognormal { median: law::size(median)? as f64, sigma }.checked()?;
        Ok(SizeDistribution::shaped(format!("lognormal({median}, {sigma})"), rounding, Shape::Law(law)))
    }

    fn shaped(name: String, rounding: Rounding, shape: Shape) -> SizeDistribution {
        SizeDistribution { name, reading: None, rounding, shape, means: Arc::default() }
    }

    /// The name given to [`parse`](Self::parse), or the formula with its parameters in bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the points are read; none for a formula.
    pub fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// The unit to which sizes are rounded.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Sizes that are as likely as they are frequent in `sizes`, which has at least one.
    ///
    /// # Panics
    /// If there is none.
    pub fn listed(name: &str, sizes: &[u64]) -> SizeDistribution {
        SizeDistribution::sampled(name, sizes, Rounding::Bytes)
    }

    /// The same with sizes rounded up.
    ///
    /// # Panics
    /// If there is none.
    pub fn sampled(name: &str, sizes: &[u64], rounding: Rounding) -> SizeDistribution {
        assert!(!sizes.is_empty(), "a distribution has a size");
        let mut sorted = sizes.to_vec();
        sorted.sort_unstable();
        let share = |flows: usize| flows as f64 / sorted.len() as f64;
        let (mut pieces, mut before) = (Vec::new(), 0);
        for same in sorted.chunk_by(|a, b| a == b) {
            let to = before + same.len();
            pieces.push(Piece { from: same[0], to: same[0], cdf_from: share(before), cdf_to: share(to) });
            before = to;
        }
        SizeDistribution::shaped(name.to_owned(), rounding, Shape::Pieces(pieces.into()))
    }

    /// The size of one flow, in bytes. Takes one draw from `rng` and no memory.
    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        self.quantile(uniform01(rng))
    }

    /// The smallest size, in bytes, that a share `p` of the flows does not exceed; `p` is taken into 0 to 1.
    pub fn quantile(&self, p: f64) -> u64 {
        let p = p.clamp(0.0, 1.0);
        let pieces = match &self.shape {
            Shape::Pieces(pieces) => pieces,
            Shape::Law(law) => return self.round_up(law.quantile(p).ceil() as u64),
        };
        let index = pieces.partition_point(|piece| piece.cdf_to < p);
        let piece = pieces[index.min(pieces.len() - 1)];
        let part = (p - piece.cdf_from) / (piece.cdf_to - piece.cdf_from);
        self.round_up((piece.from as f64 + part * (piece.to - piece.from) as f64).ceil() as u64)
    }

    /// The share of the flows of at most `bytes`.
    pub fn cdf(&self, bytes: u64) -> f64 {
        // Every size that is rounded up to at most `bytes` was at most the last whole unit below.
        let unrounded = bytes / self.unit() * self.unit();
        let pieces = match &self.shape {
            Shape::Pieces(pieces) => pieces,
            Shape::Law(_) if bytes >= self.max_bytes() => return 1.0,
            Shape::Law(_) if unrounded == 0 => return 0.0,
            Shape::Law(law) => return 1.0 - law.survival(unrounded as f64),
        };
        let index = pieces.partition_point(|piece| piece.from <= unrounded);
        let Some(piece) = index.checked_sub(1).map(|last| pieces[last]) else { return 0.0 };
        if piece.to <= unrounded {
            return piece.cdf_to;
        }
        let part = (unrounded - piece.from) as f64 / (piece.to - piece.from) as f64;
        piece.cdf_from + part * (piece.cdf_to - piece.cdf_from)
    }

    /// The largest size that can be drawn, in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.quantile(1.0)
    }

    /// The mean size, in bytes, of what [`sample`](Self::sample) draws.
    pub fn mean_bytes(&self) -> f64 {
        let unit = self.unit();
        self.mean_groups(unit) * unit as f64
    }

    /// The mean number of packets of up to `payload` bytes that a flow takes.
    pub fn mean_packets(&self, payload: NonZeroU32) -> f64 {
        self.mean_groups(u64::from(payload.get()))
    }

    /// The mean number of packets of up to `payload` bytes that a flow has after its first ones: the mean number without the share of
    /// the flows that have a first packet, a second one, and so on.
    pub fn mean_packets_after(&self, first: u32, payload: NonZeroU32) -> f64 {
        let shares = (0..u64::from(first)).map(|before| 1.0 - self.cdf(before * u64::from(payload.get())));
        (self.mean_packets(payload) - shares.take_while(|share| *share > 0.0).sum::<f64>()).max(0.0)
    }

    /// The mean of ceil(size / `group`), where `group` is in bytes and above 0.
    pub(crate) fn mean_groups(&self, group: u64) -> f64 {
        let pieces = match &self.shape {
            Shape::Pieces(pieces) => pieces,
            Shape::Law(law) => return law.mean_groups(self.unit(), group),
        };
        let mut means = self.means.0.lock().unwrap_or_else(PoisonError::into_inner);
        *means.entry(group).or_insert_with(|| self.mean_groups_of(pieces, group))
    }

    fn mean_groups_of(&self, pieces: &[Piece], group: u64) -> f64 {
        let mean_of = |piece: &Piece| match piece.to - piece.from {
            0 => self.round_up(piece.to).div_ceil(group) as f64,
            width => (self.groups_up_to(piece.to, group) - self.groups_up_to(piece.from, group)) as f64 / width as f64,
        };
        pieces.iter().map(|piece| (piece.cdf_to - piece.cdf_from) * mean_of(piece)).sum()
    }

    /// The integral over all unrounded sizes up to `bytes` of ceil(rounded size / `group`): every unit that is filled
    /// counts the groups up to its end, and so does the part of the unit that `bytes` cuts.
    fn groups_up_to(&self, bytes: u64, group: u64) -> u128 {
        let (bytes, group, unit) = (u128::from(bytes), u128::from(group), u128::from(self.unit()));
        let (units, rest) = (bytes / unit, bytes % unit);
        unit * floor_sum(units, unit, unit + group - 1, group) + rest * ((units + 1) * unit).div_ceil(group)
    }

    fn round_up(&self, bytes: u64) -> u64 {
        bytes.max(1).div_ceil(self.unit()) * self.unit()
    }

    /// The unit, in bytes, that divides every size.
    fn unit(&self) -> u64 {
        match self.rounding {
            Rounding::Bytes => 1,
            Rounding::Packets { payload } => u64::from(payload.get()),
        }
    }
}

/// The pieces between neighbouring points, without those of probability zero.
fn pieces(points: &[CdfPoint], reading: Reading) -> Vec<Piece> {
    // Nothing lies below the first point, so a first cdf above 0 is a mass at the first size.
    let before_first = points.first().map(|first| CdfPoint { size: first.size, cdf: 0.0 });
    let lower_ends = before_first.iter().chain(points);
    let between = lower_ends.zip(points).filter(|(lower, upper)| lower.cdf < upper.cdf);
    between
        .map(|(lower, upper)| Piece {
            from: if reading == Reading::Stepped { upper.size } else { lower.size },
            to: upper.size,
            cdf_from: lower.cdf,
            cdf_to: upper.cdf,
        })
        .collect()
}

/// The sum over i in 0..n of floor((a·i + b) / m), by exchanging the axes of the lattice as Euclid's algorithm does
/// (Graham, Knuth and Patashnik, Concrete Mathematics, section 3.5).
fn floor_sum(n: u128, a: u128, b: u128, m: u128) -> u128 {
    if n == 0 {
        return 0;
    }
    let whole = n * (n - 1) / 2 * (a / m) + n * (b / m);
    let top = a % m * n + b % m;
    if top < m { whole } else { whole + floor_sum(top / m, m, top % m, a % m) }
}

#[cfg(test)]
mod tests;
