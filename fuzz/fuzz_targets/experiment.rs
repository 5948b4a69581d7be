//! Any text is an experiment or an error that can be shown.
#![no_main]

use flowsieve_experiment::{ExperimentText, document};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = document::parse(&ExperimentText::new("fuzz.toml", text)) {
        assert!(!error.render(false).is_empty());
    }
});
