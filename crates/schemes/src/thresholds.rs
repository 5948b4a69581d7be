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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_split__rises_where_quantiles_repeat() {
        let point_mass = |p: f64| Some(if p < 0.6 { 1460 } else { 9000 });
        assert_eq!(equal_split(4, point_mass), Some(vec![1460, 1461, 9000]));
        assert_eq!(equal_split(1, point_mass), Some(vec![]));
        assert_eq!(equal_split(3, |_| None), None);
    }
}
