//! Any text is thresholds and code points that a host can tag by, or an error.
#![no_main]

use flowsieve_agent::Recommendation;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(Recommendation { thresholds, dscps, .. }) = Recommendation::parse(text) else { return };
    assert!(thresholds.is_sorted_by(|one, next| one < next) && dscps.len() == thresholds.len() + 1);
    assert!(dscps.iter().all(|dscp| (1..64).contains(dscp)));
});
