//! The distribution of flow sizes from which thresholds are computed.

use crate::thresholds::ThresholdError;

/// The largest flow, in bytes: 1 PB.
const MAX_BYTES: u64 = 1_000_000_000_000_000;

/// Number of equal shares of the flows at whose ends a quantile function is first evaluated.
const CELLS: u32 = 1 << 10;

/// A share of the flows that is not divided further.
const FINEST: f64 = 1.0 / (1u64 << 44) as f64;

/// Sizes are not distinguished if they differ by less than this share of the larger one, and their bytes by less than
/// the share below.
const CLOSE: f64 = 0.01;
const NEGLIGIBLE: f64 = 1e-7;

/// The largest distance of a quantile function from a line at its midpoint, as a share of its rise.
const STRAIGHT: f64 = 0.001;

/// A distribution of flow sizes in bytes, with a distribution function of straight lines and steps.
///
/// It is built once from observed sizes or from a quantile function; every query is then a binary search. Flows without
/// a byte count as flows of one byte.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeLaw {
    /// Rising, without overlap, each with a share above 0.
    pieces: Vec<Piece>,
    /// By piece, and at the end: the means of X and X², with only smaller flows counted.
    before: Vec<[f64; 2]>,
}

/// Flows with sizes uniform from `from` to `to`, or all `to` if the two are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: u64,
    to: u64,
    /// Share of all flows.
    share: f64,
    /// Share of the flows of at most `to`, and of the larger ones; the latter keeps its digits when it is small.
    up_to: f64,
    beyond: f64,
}

/// Sums over flows up to a size.
struct UpTo {
    /// Share of the larger flows.
    beyond: f64,
    /// Means of X and X², with only flows up to the size counted.
    moments: [f64; 2],
}

impl SizeLaw {
    /// Builds the law from observed sizes with their counts, in any order.
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Result<SizeLaw, ThresholdError> {
        let mut counts: Vec<(u64, u64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        counts.sort_unstable();
        let total: u128 = counts.iter().map(|(_, count)| u128::from(*count)).sum();
        let share = |count: u128| count as f64 / total as f64;
        let mut seen = 0;
        let mut pieces: Vec<Piece> = Vec::with_capacity(counts.len());
        for (bytes, count) in counts {
            let size = bounded(bytes)?;
            seen += u128::from(count);
            let piece = Piece {
                from: size,
                to: size,
                share: share(count.into()),
                up_to: share(seen),
                beyond: share(total - seen),
            };
            add(&mut pieces, piece);
        }
        SizeLaw::of(pieces)
    }

    /// Builds the law from `quantile`, which returns for a share from 0 to 1 the size that it does not exceed. It must
    /// not fall. Cells of the share are halved until their sizes lie on a line, or differ by less than 1 % and a
    /// ten-millionth of all bytes, or belong to only 2⁻⁴⁴ of the flows.
    ///
    /// An unbounded `quantile`, such as that of a distribution with infinite mean, is refused because of its value at
    /// 1.
    pub fn from_quantiles(quantile: &dyn Fn(f64) -> Option<u64>) -> Result<SizeLaw, ThresholdError> {
        let at = |share: f64| bounded(quantile(share).ok_or(ThresholdError::Empty)?);
        let ends = (0..=CELLS).map(|cell| f64::from(cell) / f64::from(CELLS));
        let ends: Vec<(f64, u64)> = ends.map(|share| Ok((share, at(share)?))).collect::<Result<_, _>>()?;
        let mean = ends.iter().map(|(_, size)| *size as f64).sum::<f64>() / f64::from(CELLS);
        let mut pieces = Vec::new();
        let mut from = ends[0];
        for end in &ends[1..] {
            // Ends of cells that are still to be handled, the next one last.
            let mut ends = vec![*end];
            while let Some(&to) = ends.last() {
                if to.1 < from.1 {
                    return Err(ThresholdError::Falls { share: to.0, before: from.1, found: to.1 });
                }
                let (share, rise) = (to.0 - from.0, (to.1 - from.1) as f64);
                if share > FINEST && (rise > CLOSE * to.1 as f64 || share * rise > NEGLIGIBLE * mean) {
                    let middle = (from.0 + to.0) / 2.0;
                    let size = at(middle)?;
                    let line = from.1 as f64 + rise / 2.0;
                    if (size as f64 - line).abs() > STRAIGHT * rise {
                        ends.push((middle, size));
                        continue;
                    }
                }
                let piece = Piece { from: from.1, to: to.1, share, up_to: to.0, beyond: 1.0 - to.0 };
                add(&mut pieces, piece);
                from = to;
                ends.pop();
            }
        }
        SizeLaw::of(pieces)
    }

    fn of(pieces: Vec<Piece>) -> Result<SizeLaw, ThresholdError> {
        if pieces.is_empty() {
            return Err(ThresholdError::Empty);
        }
        let mut before = vec![[0.0; 2]];
        let mut sums = [0.0; 2];
        for piece in &pieces {
            let added = piece.moments_up_to(piece.to as f64);
            sums = [sums[0] + added[0], sums[1] + added[1]];
            before.push(sums);
        }
        Ok(SizeLaw { pieces, before })
    }

    /// Returns E\[X\], in bytes.
    pub fn mean(&self) -> f64 {
        self.before[self.pieces.len()][0]
    }

    /// Returns the largest size.
    pub fn max(&self) -> u64 {
        self.pieces[self.pieces.len() - 1].to
    }

    /// Returns 1 − F(a): the share of the flows of more than `bytes`, with all its digits if it is small.
    pub fn share_beyond(&self, bytes: u64) -> f64 {
        self.up_to(bytes).beyond
    }

    /// Returns E\[X; X ≤ a\]: the mean of the sizes with larger ones counted as 0, in bytes.
    pub fn mean_of_up_to(&self, bytes: u64) -> f64 {
        self.up_to(bytes).moments[0]
    }

    /// Returns E\[min(X, a)\]: the mean of what a flow sends before the offset `bytes`, in bytes.
    pub fn mean_up_to(&self, bytes: u64) -> f64 {
        let up_to = self.up_to(bytes);
        up_to.moments[0] + bytes as f64 * up_to.beyond
    }

    /// Returns the shares of all bytes that PIAS sends at each level, the highest first: those before the first threshold,
    /// between the first and the second, and so on. Thresholds are rising.
    pub fn shares_of_bytes(&self, thresholds: &[u64]) -> Vec<f64> {
        let up_to = thresholds.iter().map(|&threshold| self.mean_up_to(threshold)).chain([self.mean()]);
        let mut before = 0.0;
        up_to.map(|up_to| (up_to - std::mem::replace(&mut before, up_to)) / self.mean()).collect()
    }

    /// Returns E\[min(X, a)²\], in bytes².
    pub fn second_moment_up_to(&self, bytes: u64) -> f64 {
        let up_to = self.up_to(bytes);
        up_to.moments[1] + bytes as f64 * (bytes as f64 * up_to.beyond)
    }

    /// Returns a function of an offset that sums over the flows up to it, if a flow of *x* bytes has the weight 1 / (x +
    /// `idle`): their weights, and their weighted bytes. `idle` must be above 0.
    pub(super) fn weighed(&self, idle: f64) -> impl Fn(u64) -> [f64; 2] {
        let mut before = vec![[0.0; 2]];
        let mut sums = [0.0; 2];
        for piece in &self.pieces {
            let [weight, bytes] = piece.weighed_up_to(piece.to as f64, idle);
            sums = [sums[0] + weight, sums[1] + bytes];
            before.push(sums);
        }
        move |offset| {
            let whole = self.pieces.partition_point(|piece| piece.to <= offset);
            let [weight, bytes] = match self.pieces.get(whole) {
                Some(piece) if piece.from < offset => piece.weighed_up_to(offset as f64, idle),
                _ => [0.0; 2],
            };
            [before[whole][0] + weight, before[whole][1] + bytes]
        }
    }

    /// Returns the smallest size that a share `p` of the flows, 0 to 1, does not exceed.
    pub fn quantile(&self, p: f64) -> u64 {
        let index = self.pieces.partition_point(|piece| piece.up_to < p);
        let piece = self.pieces[index.min(self.pieces.len() - 1)];
        let part = (1.0 - (piece.up_to - p) / piece.share).clamp(0.0, 1.0);
        piece.from + (part * (piece.to - piece.from) as f64).ceil() as u64
    }

    /// Returns the smallest offset before which flows send a share of all bytes, 0 to 1: where E\[min(X, a)\] reaches
    /// it.
    pub fn offset_of(&self, share_of_bytes: f64) -> u64 {
        let wanted = share_of_bytes * self.mean();
        let (mut below, mut offset) = (0, self.max());
        while below + 1 < offset {
            let middle = below + (offset - below) / 2;
            if self.mean_up_to(middle) < wanted { below = middle } else { offset = middle }
        }
        offset
    }

    /// Returns sizes that flows have exactly; if there are many, an even selection of fewer than twice `most`.
    pub(super) fn steps(&self, most: usize) -> impl Iterator<Item = u64> {
        let steps = || self.pieces.iter().filter(|piece| piece.from == piece.to).map(|piece| piece.to);
        steps().step_by((steps().count() / most).max(1))
    }

    fn up_to(&self, bytes: u64) -> UpTo {
        let whole = self.pieces.partition_point(|piece| piece.to <= bytes);
        let moments = self.before[whole];
        let beyond = whole.checked_sub(1).map_or(1.0, |last| self.pieces[last].beyond);
        match self.pieces.get(whole) {
            Some(piece) if piece.from < bytes => {
                let part = (bytes - piece.from) as f64 / (piece.to - piece.from) as f64 * piece.share;
                let added = piece.moments_up_to(bytes as f64);
                UpTo {
                    beyond: piece.beyond + (piece.share - part),
                    moments: [moments[0] + added[0], moments[1] + added[1]],
                }
            }
            _ => UpTo { beyond, moments },
        }
    }
}

impl Piece {
    /// Returns the means of X and X² over its flows of at most `to`, with others counted as 0.
    fn moments_up_to(&self, to: f64) -> [f64; 2] {
        if self.from == self.to {
            return [self.share * to, self.share * to * to];
        }
        let from = self.from as f64;
        let share = self.share * (to - from) / (self.to - self.from) as f64;
        [share * (from + to) / 2.0, share * (from * from + from * to + to * to) / 3.0]
    }

    /// Returns the sums of [`SizeLaw::weighed`] over its flows of at most `to`.
    fn weighed_up_to(&self, to: f64, idle: f64) -> [f64; 2] {
        let from = self.from as f64;
        let (share, weight) = if self.from == self.to {
            (self.share, self.share / (to + idle))
        } else {
            let density = self.share / (self.to - self.from) as f64;
            (density * (to - from), density * libm::log((to + idle) / (from + idle)))
        };
        [weight, share - idle * weight]
    }
}

fn bounded(bytes: u64) -> Result<u64, ThresholdError> {
    if bytes > MAX_BYTES { Err(ThresholdError::TooLarge(bytes)) } else { Ok(bytes.max(1)) }
}

/// Adds the next piece, merged with the last one if both have the same size.
fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last) if last.from == last.to && last.to == piece.from && piece.from == piece.to => {
            *last = Piece { share: last.share + piece.share, ..piece };
        }
        _ => pieces.push(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::testing::any_law;
    use proptest::prelude::*;

    fn uniform(to: f64) -> SizeLaw {
        SizeLaw::from_quantiles(&|p| Some((p * to).round() as u64)).unwrap()
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
    }

    #[test]
    fn from_counts__by_hand() {
        // A quarter has 100 bytes, half 200, a quarter 1,000; the order does not matter.
        let law = SizeLaw::from_counts([(1_000, 1), (200, 1), (100, 1), (200, 1), (300, 0)]).unwrap();
        assert_eq!((law.mean(), law.max()), (375.0, 1_000));
        assert_eq!([99, 100, 199, 200, 999, 1_000].map(|a| law.share_beyond(a)), [1.0, 0.75, 0.75, 0.25, 0.25, 0.0]);
        assert_eq!([0.0, 0.25, 0.26, 0.75, 1.0].map(|p| law.quantile(p)), [100, 100, 200, 200, 1_000]);
        assert_eq!([50, 150, 500, 5_000].map(|a| law.mean_up_to(a)), [50.0, 137.5, 250.0, 375.0]);
        assert_eq!(law.second_moment_up_to(150), 0.25 * 1e4 + 0.75 * 2.25e4);
        assert_eq!(law.mean_of_up_to(999), 0.25 * 100.0 + 0.5 * 200.0);
        // Of the mean of 375 bytes, all flows send 100 before the first threshold, three quarters 100 more, a quarter the rest.
        assert_eq!(law.shares_of_bytes(&[100, 200, 600]), [100.0, 75.0, 100.0, 100.0].map(|bytes| bytes / 375.0));
        assert_eq!(law.shares_of_bytes(&[]), [1.0]);
        // Of 375 bytes, 137.5 lie before 150.
        assert_eq!(law.offset_of(137.5 / 375.0), 150);
        assert_eq!([law.offset_of(1.0), law.offset_of(0.0)], [1_000, 1]);
    }

    #[test]
    fn from_quantiles__uniform_and_steps() {
        let law = uniform(1e6);
        near(law.mean(), 5e5, 1e-5);
        near(law.mean_up_to(500_000), 375_000.0, 1e-5);
        near(law.second_moment_up_to(u64::MAX), 1e12 / 3.0, 1e-5);
        // A jump of six orders of magnitude in a thousandth of the flows is found to the last bit of its place.
        let steps = |p: f64| Some(if p < 0.9993 { 1_460 } else { 1_000_000_000 });
        let law = SizeLaw::from_quantiles(&steps).unwrap();
        near(law.mean(), 0.9993 * 1_460.0 + 0.0007 * 1e9, 1e-6);
        assert_eq!([0.0, 0.999, 0.9994, 1.0].map(|p| law.quantile(p)), [1_460, 1_460, 1_000_000_000, 1_000_000_000]);
    }

    #[test]
    fn from_quantiles__a_heavy_tail_has_its_mean() {
        // Bounded Pareto of shape 1.1 from 1 KB to 1 TB: shape/(shape−1) · low · (1 − r^(shape−1)) / (1 − r^shape).
        let (shape, low, ratio) = (1.1, 1e3, 1e-9);
        let whole = 1.0 - libm::pow(ratio, shape);
        let quantile = |p: f64| Some((low * libm::pow(1.0 - p * whole, -1.0 / shape)).round() as u64);
        let law = SizeLaw::from_quantiles(&quantile).unwrap();
        let mean = shape / (shape - 1.0) * low * (1.0 - libm::pow(ratio, shape - 1.0)) / whole;
        near(law.mean(), mean, 1e-3);
    }

    #[test]
    fn laws__refuse_what_has_no_sizes_or_no_bound() {
        assert_eq!(SizeLaw::from_counts([]).unwrap_err(), ThresholdError::Empty);
        assert_eq!(SizeLaw::from_counts([(5, 0)]).unwrap_err(), ThresholdError::Empty);
        assert_eq!(SizeLaw::from_quantiles(&|_| None).unwrap_err(), ThresholdError::Empty);
        // Pareto of shape 1/2, whose mean is infinite.
        let pareto = |p: f64| Some((1e3 / ((1.0 - p) * (1.0 - p))) as u64);
        assert_eq!(SizeLaw::from_quantiles(&pareto).unwrap_err(), ThresholdError::TooLarge(u64::MAX));
        let falling = |p: f64| Some(if p < 0.5 { 2_000 } else { 1_000 });
        let falls = ThresholdError::Falls { share: 0.5, before: 2_000, found: 1_000 };
        assert_eq!(SizeLaw::from_quantiles(&falling).unwrap_err(), falls);
        assert_eq!(SizeLaw::from_counts([(0, 3)]).unwrap().mean(), 1.0);
        let many = SizeLaw::from_counts([(7, u64::MAX), (9, u64::MAX)]).unwrap();
        assert_eq!((many.mean(), many.share_beyond(8)), (8.0, 0.5));
    }

    proptest! {
        #[test]
        fn laws__are_consistent(law in any_law(), a in 1u64..3_000_000, step in 1u64..100_000, p in 0.0..=1.0) {
            prop_assert!(law.share_beyond(a) >= law.share_beyond(a + step));
            let (here, further) = (law.mean_up_to(a), law.mean_up_to(a + step));
            // E min(X, a) is the integral of the share beyond, which never rises.
            prop_assert!(further - here >= law.share_beyond(a + step) * step as f64 - 1e-6);
            prop_assert!(further - here <= law.share_beyond(a) * step as f64 + 1e-6);
            prop_assert!(law.second_moment_up_to(a) <= a as f64 * here * (1.0 + 1e-9));
            prop_assert!(law.second_moment_up_to(a) >= here * here * (1.0 - 1e-9));
            prop_assert!((law.mean_up_to(u64::MAX) / law.mean() - 1.0).abs() < 1e-12);
            prop_assert!(law.share_beyond(law.quantile(p)) <= 1.0 - p + 1e-9);
            let offset = law.offset_of(p);
            prop_assert!(law.mean_up_to(offset) >= p * law.mean() * (1.0 - 1e-12));
            prop_assert!(offset == 1 || law.mean_up_to(offset - 1) < p * law.mean());
        }

        #[test]
        fn from_quantiles__of_counts_is_the_law_of_the_counts(
            counts in prop::collection::vec((1u64..100_000, 1u64..50), 1..20),
            a in 1u64..100_000
        ) {
            let counted = SizeLaw::from_counts(counts).unwrap();
            let law = SizeLaw::from_quantiles(&|p| Some(counted.quantile(p))).unwrap();
            prop_assert!((law.mean() / counted.mean() - 1.0).abs() < 0.01);
            prop_assert!((law.mean_up_to(a) / counted.mean_up_to(a) - 1.0).abs() < 0.01);
        }
    }
}
