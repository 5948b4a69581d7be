//! Any text is a flow list that reads back from its own writing, or an error.
#![no_main]

use flowsieve_workload::flow_list;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(flows) = flow_list::parse("fuzz.csv", text, 1_000) {
        let mut written = Vec::new();
        flow_list::write(&mut written, flow_list::Extras::of(&flows), flows.iter().copied()).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(flow_list::parse("written.csv", &written, 1_000).unwrap(), flows);
    }
});
