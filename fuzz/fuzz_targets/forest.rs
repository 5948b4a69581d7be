//! Any bytes are a forest that bounds every flow, or an error; also as the rest of a file whose length and checksum are right.
#![no_main]

use flowsieve_core::forest::Forest;
use libfuzzer_sys::fuzz_target;

const LENGTH: std::ops::Range<usize> = 16..24;
const CHECKSUM: usize = blake3::OUT_LEN;

fn apply(bytes: &[u8]) {
    let Ok(forest) = Forest::parse(bytes) else { return };
    for value in [0, 1, 1 << 24, u64::MAX] {
        let features = vec![value; forest.features().len()];
        let (bounds, predicted) = (forest.bounds(&features), forest.predicted(&features));
        assert!(1 <= bounds.lower && bounds.lower <= predicted.get() && predicted <= bounds.upper);
    }
}

fuzz_target!(|bytes: &[u8]| {
    apply(bytes);
    // A checksum cannot be guessed.
    let mut whole = bytes.to_vec();
    if whole.len() >= LENGTH.end + CHECKSUM {
        whole[..12].copy_from_slice(b"FSFOREST\x01\0\0\0");
        let length = (whole.len() as u64).to_le_bytes();
        whole[LENGTH].copy_from_slice(&length);
        let (body, checksum) = whole.split_at_mut(bytes.len() - CHECKSUM);
        checksum.copy_from_slice(blake3::hash(body).as_bytes());
        apply(&whole);
    }
});
