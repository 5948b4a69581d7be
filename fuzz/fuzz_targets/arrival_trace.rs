//! Any text is a trace of starts with a rate, or an error.
#![no_main]

use flowsieve_workload::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(trace) = Trace::read("fuzz.csv", text.as_bytes()) {
        assert!(trace.starts() >= 1 && trace.rate().is_finite() && trace.rate() > 0.0);
    }
});
