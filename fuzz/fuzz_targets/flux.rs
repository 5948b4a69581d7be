//! Any text in a layout of Flux's traces is a flow list that reads back from its own writing, or an error.
#![no_main]

use flowsieve_workload::flow_list;
use flowsieve_workload::flux::{Import, Layout};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let recorded = |drop, scale| Layout::Recorded { drop, scale };
    let column = |name: &str| name.to_owned();
    for layout in [
        recorded(Vec::new(), Vec::new()),
        recorded(vec![column("a")], vec![(column("b"), 1000.0)]),
        Layout::Simulated { predicted: None },
        Layout::Simulated { predicted: Some(1) },
    ] {
        let mut import = Import::new(layout);
        if import.add("fuzz.csv", text.as_bytes()).is_ok() {
            let list = import.list();
            let mut written = Vec::new();
            let rows = list.flows.iter().map(|flow| list.row(*flow));
            flow_list::write(&mut written, &flow_list::Extras::of(&list), rows).unwrap();
            let written = String::from_utf8(written).unwrap();
            let again = flow_list::parse("written.csv", &written, 2).unwrap();
            assert_eq!((again.flows, again.features), (list.flows, list.features));
            assert_eq!(again.predictions, list.predictions);
        }
    }
});
