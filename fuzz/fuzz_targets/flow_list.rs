//! Any text is a flow list that reads back from its own writing, or an error.
#![no_main]

use flowsieve_workload::flow_list;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(list) = flow_list::parse("fuzz.csv", text, 1_000) {
        let mut written = Vec::new();
        let rows = list.flows.iter().map(|flow| list.row(*flow));
        flow_list::write(&mut written, &flow_list::Extras::of(&list), rows).unwrap();
        let written = String::from_utf8(written).unwrap();
        let again = flow_list::parse("written.csv", &written, 1_000).unwrap();
        assert_eq!((again.flows, again.features), (list.flows, list.features));
        assert_eq!(again.predictions, list.predictions);
    }
});
