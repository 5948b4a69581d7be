//! Any text is a quantity that reads back from its own writing, or an error.
#![no_main]

use flowsieve_settings::units::{Size, format_rate, format_size, format_time, parse_rate, parse_size, parse_time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(Size::Bytes(bytes)) = parse_size(text) {
        assert_eq!(parse_size(&format_size(bytes)), Ok(Size::Bytes(bytes)));
    }
    if let Ok(ps) = parse_time(text) {
        assert_eq!(parse_time(&format_time(ps)), Ok(ps));
    }
    if let Ok(bps) = parse_rate(text) {
        assert_eq!(parse_rate(&format_rate(bps)), Ok(bps));
    }
});
