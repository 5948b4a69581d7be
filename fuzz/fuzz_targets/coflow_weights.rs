//! Any text is a list of coflows' weights above zero, or an error.
#![no_main]

use flowsieve_workload::coflow_trace::weights;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(weights) = weights("fuzz.csv", text.as_bytes()) {
        assert!(weights.values().all(|weight| *weight > 0.0 && weight.is_finite()));
    }
});
