//! Any text is an experiment or an error that can be shown.
#![no_main]

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::{ExperimentText, document};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static ENGINES: LazyLock<Engines> = LazyLock::new(built_in);

fuzz_target!(|text: &str| {
    if let Err(error) = document::parse(&ExperimentText::new("fuzz.toml", text), &ENGINES) {
        assert!(!error.render(false).is_empty());
    }
});
