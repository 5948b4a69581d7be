//! Distributions of flow sizes: what a file of points means, and everything computed from it.
//!
//! Sizes come from a file of points or from a formula ([`SizeDistribution::exponential`] and others).
//!
//! A file of points leaves two things open, and both change the mean, so both belong to the distribution: how sizes
//! between two points are read ([`Reading`]) and to what a size is rounded ([`Rounding`]). Mean, quantile, distribution
//! function and draw all speak of the same rounded sizes, so an arrival rate computed from the mean offers the
//! load that was asked for.
//!
//! Sizes are bytes of payload. Logarithmic interpolation between points is left out: the generators
//! from which the built-in points come interpolate linearly.

use crate::error::InputError;
use crate::law::{self, Law, LawError};
use crate::points::{self, CdfPoint};
use crate::random::uniform01;
use rand_core::Rng;
use std::fmt;
use std::num::NonZeroU32;

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

/// To what the sizes of a reading are rounded up; a flow has at least one of the unit.
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
    /// None where there are no points to read.
    reading: Option<Reading>,
    rounding: Rounding,
    shape: Shape,
}

/// Sizes before they are rounded.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// At least one, in order of size, each of positive probability, from cdf 0 to 1 without a gap.
    Pieces(Vec<Piece>),
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
    /// Reads rows `size_bytes,cdf` (header optional, `#` starts a comment line); errors call the text `name`.
    ///
    /// Sizes and cdf never fall, the last cdf is 1. Two rows with one size are a point mass, and so is a first row
    /// above 0. Sizes may have an exponent (`1e6`).
    pub fn parse(name: &str, text: &str, reading: Reading, rounding: Rounding) -> Result<SizeDistribution, InputError> {
        let points = points::parse(name, text)?;
        let shape = Shape::Pieces(pieces(&points, reading));
        Ok(SizeDistribution { name: name.to_string(), reading: Some(reading), rounding, shape })
    }

    /// Every flow has `bytes`.
    pub fn fixed(bytes: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let bytes = law::size(bytes)?;
        let piece = Piece { from: bytes, to: bytes, cdf_from: 0.0, cdf_to: 1.0 };
        Ok(SizeDistribution::shaped(format!("fixed({bytes})"), rounding, Shape::Pieces(vec![piece])))
    }

    /// Every whole number of bytes from `low` to `high` is equally likely.
    pub fn uniform(low: u64, high: u64, rounding: Rounding) -> Result<SizeDistribution, LawError> {
        let (low, high) = law::range(low, high)?;
        let piece = Piece { from: low - 1, to: high, cdf_from: 0.0, cdf_to: 1.0 };
        Ok(SizeDistribution::shaped(format!("uniform({low}, {high})"), rounding, Shape::Pieces(vec![piece])))
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
        SizeDistribution { name, reading: None, rounding, shape }
    }

    /// The name given to [`parse`](Self::parse), or the formula with its parameters in bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the points are read; none for a formula.
    pub fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// To what sizes are rounded.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Sizes of which each is as likely as it is often among these; there is one at least.
    ///
    /// # Panics
    /// If there is none.
    pub fn listed(name: &str, sizes: &[u64]) -> SizeDistribution {
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
        SizeDistribution::shaped(name.to_owned(), Rounding::Bytes, Shape::Pieces(pieces))
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
        // Whatever is rounded up to at most `bytes` was at most the last whole unit below.
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

    /// The mean of ceil(size / `group`), where `group` is in bytes and above 0.
    pub(crate) fn mean_groups(&self, group: u64) -> f64 {
        let pieces = match &self.shape {
            Shape::Pieces(pieces) => pieces,
            Shape::Law(law) => return law.mean_groups(self.unit(), group),
        };
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

    /// That of which every size is a multiple, in bytes.
    fn unit(&self) -> u64 {
        match self.rounding {
            Rounding::Bytes => 1,
            Rounding::Packets { payload } => u64::from(payload.get()),
        }
    }
}

/// What lies between neighbouring points, without what has no probability.
fn pieces(points: &[CdfPoint], reading: Reading) -> Vec<Piece> {
    // Below the first point lies nothing, so a first cdf above 0 is a mass at the first size.
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
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use proptest::prelude::*;

    const PACKETS_1460: Rounding = Rounding::Packets { payload: NonZeroU32::new(1460).unwrap() };

    fn sizes(text: &str, reading: Reading, rounding: Rounding) -> SizeDistribution {
        SizeDistribution::parse("test", text, reading, rounding).unwrap()
    }

    #[test]
    fn stepped__draws_only_listed_sizes() {
        let sizes = sizes("100,0.25\n300,1", Reading::Stepped, Rounding::Bytes);
        assert_eq!([0.0, 0.25, 0.26, 1.0].map(|p| sizes.quantile(p)), [100, 100, 300, 300]);
        assert_eq!([99, 100, 299, 300].map(|bytes| sizes.cdf(bytes)), [0.0, 0.25, 0.25, 1.0]);
        assert_eq!(sizes.mean_bytes(), 250.0);
    }

    #[test]
    fn interpolated__is_uniform_between_points_and_has_masses_on_them() {
        // A quarter has 100 bytes, half is uniform up to 300, a quarter has 300.
        let sizes = sizes("100,0.25\n300,0.75\n300,1", Reading::Interpolated, Rounding::Bytes);
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sizes.quantile(p)), [100, 100, 200, 300, 300]);
        assert_eq!([99, 100, 200, 299, 300].map(|bytes| sizes.cdf(bytes)), [0.0, 0.25, 0.5, 0.7475, 1.0]);
        // Rounding up adds half a byte to the uniform half.
        assert_eq!(sizes.mean_bytes(), 0.25 * 100.0 + 0.5 * 200.5 + 0.25 * 300.0);
    }

    #[test]
    fn packets__round_every_size_up() {
        let sizes = sizes("1,0.5\n1461,1", Reading::Stepped, PACKETS_1460);
        assert_eq!([sizes.quantile(0.5), sizes.quantile(1.0)], [1460, 2920]);
        assert_eq!([1459, 1460, 2919, 2920].map(|bytes| sizes.cdf(bytes)), [0.0, 0.5, 0.5, 1.0]);
        assert_eq!(sizes.mean_bytes(), 2190.0);
        assert_eq!(sizes.mean_packets(NonZeroU32::new(1460).unwrap()), 1.5);
        assert_eq!(sizes.mean_packets(NonZeroU32::new(1000).unwrap()), 2.5);
    }

    #[test]
    fn formulas__have_their_means_and_quantiles() {
        let fixed = SizeDistribution::fixed(10_000, Rounding::Bytes).unwrap();
        assert_eq!((fixed.mean_bytes(), fixed.quantile(0.0), fixed.max_bytes()), (10_000.0, 10_000, 10_000));
        let uniform = SizeDistribution::uniform(1, 6, Rounding::Bytes).unwrap();
        assert_eq!([0.0, 1.0 / 6.0, 0.5, 1.0].map(|p| uniform.quantile(p)), [1, 1, 3, 6]);
        assert_eq!((uniform.mean_bytes(), uniform.cdf(2)), (3.5, 2.0 / 6.0));
        // Rounded up to whole bytes, half a byte more than the mean of the formula.
        let exponential = SizeDistribution::exponential(100_000, Rounding::Bytes).unwrap();
        assert!((exponential.mean_bytes() - 100_000.5).abs() < 1e-5, "{}", exponential.mean_bytes());
        assert_eq!(exponential.quantile(0.5), 69_315);
        let lognormal = SizeDistribution::lognormal(10_000, 1.0, Rounding::Bytes).unwrap();
        assert!(
            (lognormal.mean_bytes() - (10_000.0 * libm::exp(0.5) + 0.5)).abs() < 1e-5,
            "{}",
            lognormal.mean_bytes()
        );
        assert_eq!([0.5, 0.841_344_746_068_543].map(|p| lognormal.quantile(p)), [10_000, 27_183]);
        let pareto = SizeDistribution::bounded_pareto(1.0, 1_000, 1_000_000, Rounding::Bytes).unwrap();
        let mean = 1e3 * libm::log(1e3) / (1.0 - 1e-3) + 0.5;
        assert!((pareto.mean_bytes() - mean).abs() < 1e-2, "{} {mean}", pareto.mean_bytes());
        assert_eq!([0.0, 1.0].map(|p| pareto.quantile(p)), [1_000, 1_000_000]);
        let names = [fixed, uniform, exponential, lognormal, pareto].map(|sizes| sizes.name().to_owned());
        let expected = [
            "fixed(10000)",
            "uniform(1, 6)",
            "exponential(100000)",
            "lognormal(10000, 1)",
            "bounded-pareto(1, 1000, 1000000)",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn formulas__are_drawn_the_same_for_ever() {
        let law = SizeDistribution::lognormal(10_000, 2.0, Rounding::Bytes).unwrap();
        let mut rng = stream(1, Purpose::Sizes, 0);
        let drawn: Vec<u64> = (0..4).map(|_| law.sample(&mut rng)).collect();
        // Computed by another program from the definitions of the streams and the inverse normal.
        assert_eq!(drawn, [15_769, 2_533, 3_995, 6_483]);
        let unbounded = [law, SizeDistribution::exponential(1_000, PACKETS_1460).unwrap()];
        for sizes in unbounded {
            let n = 200_000;
            let sum: f64 = (0..n).map(|_| sizes.sample(&mut rng) as f64).sum();
            // Four standard errors of the lognormal are 6 %.
            assert!((sum / f64::from(n) / sizes.mean_bytes() - 1.0).abs() < 0.06, "{}", sizes.name());
            assert_eq!((sizes.cdf(sizes.max_bytes()), sizes.cdf(0)), (1.0, 0.0));
        }
    }

    #[test]
    fn quantile__skips_sizes_without_probability() {
        let sizes = sizes("100,0\n200,0.5\n400,0.5\n500,1", Reading::Interpolated, Rounding::Bytes);
        assert_eq!([sizes.quantile(0.5), sizes.quantile(0.501)], [200, 401]);
        assert_eq!([sizes.cdf(200), sizes.cdf(300), sizes.cdf(400)], [0.5, 0.5, 0.5]);
    }

    #[test]
    fn quantile__takes_any_number() {
        let sizes = sizes("0,0\n10,1", Reading::Interpolated, Rounding::Bytes);
        assert_eq!([sizes.quantile(-1.0), sizes.quantile(0.0), sizes.quantile(f64::NAN)], [1, 1, 1]);
        assert_eq!([sizes.quantile(2.0), sizes.quantile(f64::INFINITY)], [10, 10]);
    }

    #[test]
    fn mean__is_exact_at_the_largest_size() {
        let sizes = sizes("0,0\n1e15,1", Reading::Interpolated, Rounding::Bytes);
        assert_eq!(sizes.mean_bytes(), (1e15 + 1.0) / 2.0);
    }

    /// Up to eight steps of at least 1/160, so that a sample sees all of them; with or without a start at zero.
    fn any_text() -> impl Strategy<Value = String> {
        let steps = prop::collection::vec((0u64..20_000, 1u32..=20), 1..=8);
        (steps, prop_oneof!["0,0\n", Just(String::new())]).prop_map(|(steps, start)| {
            let total: u32 = steps.iter().map(|(_, weight)| weight).sum();
            let rows = steps.iter().scan((1, 0), |(size, sum), (growth, weight)| {
                *size += growth;
                *sum += weight;
                Some(format!("{size},{}\n", f64::from(*sum) / f64::from(total)))
            });
            start + &rows.collect::<String>()
        })
    }

    fn any_rounding() -> impl Strategy<Value = Rounding> {
        let packets = (1u32..3_000).prop_map(|n| Rounding::Packets { payload: NonZeroU32::new(n).unwrap() });
        prop_oneof![Just(Rounding::Bytes), packets]
    }

    fn any_sizes() -> impl Strategy<Value = SizeDistribution> {
        let reading = prop_oneof![Just(Reading::Stepped), Just(Reading::Interpolated)];
        let points =
            (any_text(), reading, any_rounding()).prop_map(|(text, reading, rounding)| sizes(&text, reading, rounding));
        let bounded = (1u64..20_000, 1u64..20_000, any_rounding(), 0.3..3.0, 0u8..3).prop_map(
            |(low, width, rounding, shape, which)| match which {
                0 => SizeDistribution::fixed(low, rounding).unwrap(),
                1 => SizeDistribution::uniform(low, low + width, rounding).unwrap(),
                _ => SizeDistribution::bounded_pareto(shape, low, low + width, rounding).unwrap(),
            },
        );
        prop_oneof![3 => points, 1 => bounded]
    }

    /// The mean of `measure` over the quantiles in the middle of `n` equal shares. A quantile function never falls, so
    /// for a `measure` that never falls either, this is within (largest - smallest) / `n` of the mean.
    fn mean_of_quantiles(sizes: &SizeDistribution, n: u32, measure: impl Fn(u64) -> f64) -> f64 {
        let quantile = |i| measure(sizes.quantile((f64::from(i) + 0.5) / f64::from(n)));
        (0..n).map(quantile).sum::<f64>() / f64::from(n)
    }

    proptest! {
        #[test]
        fn mean__is_the_mean_of_the_quantiles(sizes in any_sizes(), payload in 1u32..5_000) {
            let n = 5_000;
            let range = (sizes.max_bytes() - sizes.quantile(0.0)) as f64;
            let bytes = mean_of_quantiles(&sizes, n, |bytes| bytes as f64);
            prop_assert!((sizes.mean_bytes() - bytes).abs() <= range / f64::from(n) + 1e-6, "{bytes}");

            let packets_of = |bytes: u64| bytes.div_ceil(u64::from(payload)) as f64;
            let range = packets_of(sizes.max_bytes()) - packets_of(sizes.quantile(0.0));
            let mean = sizes.mean_packets(NonZeroU32::new(payload).unwrap());
            let packets = mean_of_quantiles(&sizes, n, packets_of);
            prop_assert!((mean - packets).abs() <= range / f64::from(n) + 1e-6, "{mean} {packets}");
        }

        /// No share of a sample is further from the distribution's than the Dvoretzky-Kiefer-Wolfowitz bound, which holds
        /// for any distribution; a bound on the mean would have to know how heavy the tail is that a sample may miss.
        #[test]
        fn sample__has_the_distribution(sizes in any_sizes(), seed: u64) {
            let n = 10_000;
            let mut rng = stream(seed, Purpose::Sizes, 0);
            let mut sampled: Vec<u64> = (0..n).map(|_| sizes.sample(&mut rng)).collect();
            sampled.sort_unstable();
            // Exceeded once in 10^12 samples.
            let bound = (libm::log(2e12) / (2.0 * f64::from(n))).sqrt();
            for (below, &size) in sampled.iter().enumerate() {
                let up_to = sampled.partition_point(|&other| other <= size);
                prop_assert!((up_to as f64 / f64::from(n) - sizes.cdf(size)).abs() <= bound, "{size}");
                // Just below the size no more were drawn than stand before it.
                prop_assert!(sizes.cdf(size - 1) <= (below as f64 + 1.0) / f64::from(n) + bound, "below {size}");
            }
        }

        #[test]
        fn quantile__is_the_smallest_size_that_reaches_the_share(sizes in any_sizes(), p in 0.0..=1.0) {
            let size = sizes.quantile(p);
            prop_assert!(sizes.cdf(size) >= p - 1e-9);
            prop_assert!(sizes.cdf(size - 1) <= p + 1e-9);
        }

        #[test]
        fn cdf__never_falls_and_ends_at_one(sizes in any_sizes(), a in 0u64..200_000, b in 0u64..200_000) {
            prop_assert!(sizes.cdf(a.min(b)) <= sizes.cdf(a.max(b)));
            prop_assert_eq!(sizes.cdf(0), 0.0);
            prop_assert_eq!(sizes.cdf(sizes.max_bytes()), 1.0);
        }

        #[test]
        fn parse__never_panics(text in "\\PC*", stepped: bool) {
            let reading = if stepped { Reading::Stepped } else { Reading::Interpolated };
            let _ = SizeDistribution::parse("any", &text, reading, PACKETS_1460);
        }

        #[test]
        fn parse__refuses_or_gives_a_distribution_that_works(
            mut rows in prop::collection::vec(("(0|1|1e15|[0-9]{1,3}|[0-9]e[0-9])", 0u32..=4), 1..6),
            stepped: bool,
            p in 0.0..=1.0
        ) {
            rows.sort_by_key(|row| row.1);
            let row = |(size, quarters): &(String, u32)| format!("{size},{}\n", f64::from(*quarters) / 4.0);
            let text: String = rows.iter().map(row).collect();
            let reading = if stepped { Reading::Stepped } else { Reading::Interpolated };
            if let Ok(sizes) = SizeDistribution::parse("any", &text, reading, PACKETS_1460) {
                prop_assert!((1460..=sizes.max_bytes()).contains(&sizes.quantile(p)));
                let mean = sizes.mean_bytes() / sizes.max_bytes() as f64;
                prop_assert!(mean > 0.0 && mean <= 1.0 + 1e-12, "{mean}");
            }
        }

        #[test]
        fn floor_sum__is_the_sum(n in 0u128..200, a in 0u128..5_000, b in 0u128..5_000, m in 1u128..5_000) {
            prop_assert_eq!(floor_sum(n, a, b, m), (0..n).map(|i| (a * i + b) / m).sum::<u128>());
        }
    }
}
