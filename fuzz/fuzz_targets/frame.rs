//! Any bytes are a frame: a TCP segment, a UDP datagram, something else, or too long. A mark changes no more than the ECN field and the
//! checksum.
#![no_main]

use flowsieve_core::meta::Ecn;
use flowsieve_lab::wire::{Content, mark, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(before) = read(bytes, 1_500) else { return };
    let mut frame = bytes.to_vec();
    let marked = mark(&mut frame);
    assert!(marked || frame == bytes, "a frame without a mark stays as it is");
    match (before, read(&frame, 1_500)) {
        (Content::Tcp(before), Ok(Content::Tcp(after))) => {
            assert_eq!(after.ecn == Ecn::Marked, marked || before.ecn == Ecn::Marked);
            assert_eq!((after.connection, after.len, after.payload), (before.connection, before.len, before.payload));
        }
        (Content::Udp(before), Ok(Content::Udp(after))) => {
            assert_eq!(after.ecn == Ecn::Marked, marked || before.ecn == Ecn::Marked);
            assert_eq!((after.connection, after.len, after.payload), (before.connection, before.len, before.payload));
        }
        (Content::Other, Ok(Content::Other)) => {}
        other => panic!("{other:?}"),
    }
});
