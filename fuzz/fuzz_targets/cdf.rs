//! Any text is a distribution whose quantiles rise, or an error.
#![no_main]

use flowsieve_workload::{Reading, Rounding, SizeDistribution};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for reading in [Reading::Stepped, Reading::Interpolated] {
        if let Ok(sizes) = SizeDistribution::parse("fuzz.csv", text, reading, Rounding::Bytes) {
            let quantiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sizes.quantile(p));
            assert!(quantiles.is_sorted() && quantiles[0] >= 1);
            assert!(sizes.mean_bytes() >= 1.0 && sizes.mean_bytes() <= sizes.max_bytes() as f64 * 1.000_001);
        }
    }
});
