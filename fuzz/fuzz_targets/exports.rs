//! Any bytes are sizes of at least a byte, or an error, whatever export they are taken for; and a load, or an error.
#![no_main]

use flowsieve_workload::MAX_BYTES;
use flowsieve_workload::convert::{Notes, Source, What};
use flowsieve_workload::exports::{counters, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for (column, sampled) in [(None, None), (Some("bytes"), None), (None, Some(1)), (None, Some(10))] {
        let Ok(outcome) = read("fuzz", bytes, column, sampled) else { continue };
        match outcome.what {
            What::Samples(sizes) => {
                assert!(!sizes.is_empty() && sizes.iter().all(|bytes| (1..=MAX_BYTES).contains(bytes)));
            }
            What::Sizes(law) => {
                let ends = [0.0, 1.0].map(|p| law.quantile_bytes(p).unwrap());
                assert!(1 <= ends[0] && ends[0] <= ends[1] && ends[1] <= MAX_BYTES);
            }
            other => panic!("{other:?}"),
        }
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(load) = counters::load(&Source { name: "fuzz", text: &text }, 1_000_000_000, &mut Notes::default()) {
        assert!(load > 0.0 && load < 1.0);
    }
});
