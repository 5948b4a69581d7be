//! Any text is a formula whose sizes rise with their share, or an error, or no formula.
#![no_main]

use flowsieve_engines::workload::formula;
use flowsieve_workload::Rounding;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(Ok(sizes)) = formula(text, Rounding::Bytes) {
        let quantiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sizes.quantile(p));
        assert!(quantiles.is_sorted() && quantiles[0] >= 1);
        assert!(sizes.mean_bytes() >= 0.999_999 && sizes.mean_bytes() <= sizes.max_bytes() as f64 * 1.000_001);
    }
});
