//! Any bytes are vectors or are refused, and what is read can be written and read again.
#![no_main]

use flowsieve_lab::vectors::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut written = Vec::new();
    let mut count = 0;
    for line in Reader::new(bytes) {
        let Ok(line) = line else { break };
        serde_json::to_writer(&mut written, &line).expect("memory takes it");
        written.push(b'\n');
        count += 1;
    }
    let again = Reader::new(&written[..]).map(|line| line.expect("what was written"));
    assert_eq!(again.count(), count);
});
