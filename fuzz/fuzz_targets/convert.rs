//! Any text is a value or an error, whatever format it is taken for; lists and distributions are read back.
#![no_main]

use flowsieve_workload::convert::{Gives, Opt, Options, SizeUnit, Source, TimeUnit, What, advice, convert, formats};
use flowsieve_workload::{Reading, Rounding, SizeDistribution, flow_list};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = Source { name: "fuzz", text };
    let _ = advice(&source, Gives::Flows);
    for format in formats() {
        let reads = |option| format.options.contains(&option);
        let options = Options {
            size_unit: reads(Opt::SizeUnit).then_some(SizeUnit::Packets(1_460)),
            time_unit: reads(Opt::TimeUnit).then_some(TimeUnit::Us),
            shift_start: reads(Opt::ShiftStart),
            with: None,
            hosts_first: reads(Opt::HostsFirst),
            leave_out: reads(Opt::LeaveOut),
            sampled: reads(Opt::Sampled).then_some(10),
        };
        for options in [options, Options { with: reads(Opt::With).then_some(source), ..options }] {
            let Ok(outcome) = convert(&source, format, &options) else { continue };
            let mut written = Vec::new();
            outcome.write("fuzz", &mut written).unwrap();
            let written = String::from_utf8(written).unwrap();
            match outcome.what {
                What::Flows(flows) => {
                    assert_eq!(flow_list::parse("written.csv", &written, 65_536).unwrap().flows, flows.flows);
                }
                What::Sizes(_) => {
                    SizeDistribution::parse("written.csv", &written, Reading::Interpolated, Rounding::Bytes).unwrap();
                }
                What::Topology(_) | What::Samples(_) | What::Experiment(_) => {}
            }
        }
    }
});
