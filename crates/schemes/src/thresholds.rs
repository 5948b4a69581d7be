//! Demotion thresholds from a distribution of flow sizes.

/// The equal split: the i-th of `queues` − 1 thresholds is the size that a share i / `queues` of the flows do not
/// exceed. `None` where the distribution has no quantiles. Equal quantiles are spread by a byte, so that thresholds
/// always rise.
pub fn equal_split(queues: usize, quantile_bytes: impl Fn(f64) -> Option<u64>) -> Option<Vec<u64>> {
    let mut thresholds: Vec<u64> = Vec::with_capacity(queues);
    for i in 1..queues {
        let size = quantile_bytes(i as f64 / queues as f64)?;
        thresholds.push(thresholds.last().map_or(size, |last| size.max(last + 1)));
    }
    Some(thresholds)
}

/// Points at which sizes are summed.
const GRID: u32 = 1 << 16;

/// Thresholds before which lie these shares, rising and below 1, of the bytes of all flows: a flow of x bytes has
/// min(x, a) of them before the offset a. `None` where the distribution has no quantiles. Equal ones are spread by a
/// byte, as in [`equal_split`].
pub fn by_bytes(shares: &[f64], quantile_bytes: impl Fn(f64) -> Option<u64>) -> Option<Vec<u64>> {
    let at = |i: u32| quantile_bytes((f64::from(i) + 0.5) / f64::from(GRID)).map(|size| size as f64);
    let sizes: Vec<f64> = (0..GRID).map(at).collect::<Option<_>>()?;
    let total: f64 = sizes.iter().sum();
    let mut thresholds: Vec<u64> = Vec::with_capacity(shares.len());
    // Flows that end before the threshold, and their bytes.
    let (mut ended, mut bytes) = (0, 0.0);
    for share in shares {
        // The bytes before an offset a are those of the flows that have ended and a for each other.
        let offset = |ended: usize, bytes: f64| (share * total - bytes) / (sizes.len() - ended) as f64;
        while ended + 1 < sizes.len() && sizes[ended] <= offset(ended, bytes) {
            bytes += sizes[ended];
            ended += 1;
        }
        let threshold = offset(ended, bytes).round() as u64;
        thresholds.push(thresholds.last().map_or(threshold, |last| threshold.max(last + 1)));
    }
    Some(thresholds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_bytes__of_one_size_and_of_two() {
        assert_eq!(by_bytes(&[0.25, 0.5], |_| Some(8_000)), Some(vec![2_000, 4_000]));
        // Of flows of 1,000 and 3,000 bytes a quarter of the bytes lie before 500, three quarters before 2,000.
        let two = |p: f64| Some(if p < 0.5 { 1_000 } else { 3_000 });
        assert_eq!(by_bytes(&[0.25, 0.5, 0.75], two), Some(vec![500, 1_000, 2_000]));
        assert_eq!(by_bytes(&[0.5], |_| None), None);
        assert_eq!(by_bytes(&[0.25, 0.5], |_| Some(1)), Some(vec![0, 1]));
    }

    #[test]
    fn equal_split__rises_where_quantiles_repeat() {
        let point_mass = |p: f64| Some(if p < 0.6 { 1460 } else { 9000 });
        assert_eq!(equal_split(4, point_mass), Some(vec![1460, 1461, 9000]));
        assert_eq!(equal_split(1, point_mass), Some(vec![]));
        assert_eq!(equal_split(3, |_| None), None);
    }
}
