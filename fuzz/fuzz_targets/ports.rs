//! Any text is ports of one system, whose names can stand in its files, or an error.
#![no_main]

use flowsieve_studies::configure::Listed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for rate in [None, Some(25_000_000_000)] {
        let Ok(listed) = Listed::read(text, rate) else { continue };
        assert!(listed.systems.len() == 1 && listed.ports.iter().all(|(_, bps)| *bps > 0));
        assert!(Listed::of(listed.ports).is_ok_and(|list| list.systems.contains(&listed.systems[0])));
    }
});
