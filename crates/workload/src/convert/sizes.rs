//! Distributions of flow sizes, and our file of them.

use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use std::io::{self, Write};

/// Points of a distribution function: sizes and shares never fall, and the last share is 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// At least one.
    pub points: Vec<Point>,
    /// How the source draws from them.
    pub drawn: Drawn,
}

/// A size, and the share of the flows up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Size in bytes.
    pub bytes: u64,
    /// Share from 0 to 1.
    pub share: Decimal,
}

/// How a source draws sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// Only listed sizes.
    Stepped,
    /// The file does not say.
    Unsaid,
}

impl Sizes {
    /// Returns the mean in bytes if only listed sizes are drawn.
    pub fn stepped_mean(&self) -> Decimal {
        self.mean(|_, upper| Decimal::from(upper.bytes))
    }

    /// Returns the mean in bytes if sizes between two points are equally likely.
    pub fn interpolated_mean(&self) -> Decimal {
        self.mean(|lower, upper| (Decimal::from(lower.bytes) + Decimal::from(upper.bytes)) / Decimal::TWO)
    }

    /// Returns the mean, with `between` as the size of the flows between two points. Flows below the first point have
    /// its size.
    fn mean(&self, between: impl Fn(Point, Point) -> Decimal) -> Decimal {
        let mut before = self
            .points
            .first()
            .map_or(Point { bytes: 0, share: Decimal::ZERO }, |first| Point { share: Decimal::ZERO, ..*first });
        let mut mean = Decimal::ZERO;
        for point in &self.points {
            mean += (point.share - before.share) * between(before, *point);
            before = *point;
        }
        mean.round_dp(6).normalize()
    }

    /// Returns the quantile on straight lines between the points; `None` if there are no points.
    pub fn quantile_bytes(&self, p: f64) -> Option<u64> {
        let share = Decimal::from_f64(p)?;
        let last = self.points.len().checked_sub(1)?;
        let at = self.points.partition_point(|point| point.share < share).min(last);
        let to = self.points[at];
        let Some(from) = at.checked_sub(1).map(|at| self.points[at]).filter(|from| from.share < to.share) else {
            return Some(to.bytes);
        };
        let part = ((share - from.share) / (to.share - from.share)).to_f64()?.min(1.0);
        Some(from.bytes + ((to.bytes - from.bytes) as f64 * part).round() as u64)
    }

    /// Writes rows of `size_bytes,cdf`. Steps are written as point masses, so that both readings draw the same sizes.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "size_bytes,cdf")?;
        let mut before: Option<Point> = None;
        for point in &self.points {
            match before {
                Some(before) if self.drawn == Drawn::Stepped && point.bytes > before.bytes => {
                    writeln!(out, "{},{}", point.bytes, before.share)?;
                }
                _ => {}
            }
            writeln!(out, "{},{}", point.bytes, point.share)?;
            before = Some(*point);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile__is_between_points() {
        let point = |bytes, share: &str| Point { bytes, share: share.parse().unwrap() };
        let points = vec![point(10, "0"), point(110, "0.5"), point(1_000, "0.5"), point(2_000, "1")];
        let sizes = Sizes { points, drawn: Drawn::Unsaid };
        let at = [0.0, 0.25, 0.5, 0.6, 1.0].map(|p| sizes.quantile_bytes(p));
        assert_eq!(at, [10, 60, 110, 1_200, 2_000].map(Some));
        assert_eq!(Sizes { points: Vec::new(), ..sizes }.quantile_bytes(0.5), None);
    }
}
