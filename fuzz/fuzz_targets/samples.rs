//! Any bytes are sizes of at least a byte, or an error.
#![no_main]

use flowsieve_workload::{MAX_BYTES, samples};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for column in [None, Some("bytes")] {
        if let Ok(sizes) = samples::read("fuzz.csv", bytes, column) {
            assert!(!sizes.is_empty() && sizes.iter().all(|bytes| (1..=MAX_BYTES).contains(bytes)));
        }
    }
});
