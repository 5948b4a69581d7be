//! Any text is a value or an error, whatever format it is taken for; what is written is read back.

use flowsieve_workload::convert::{Gives, Options, SizeUnit, Source, TimeUnit, What, advice, convert, detect, formats};
use proptest::prelude::*;

/// Reads a text as every format, with and without what may be asked for.
fn read_all(text: &str) {
    let source = Source { name: "any", text };
    let _ = (detect(&source), advice(&source, Gives::Flows));
    for format in formats() {
        let reads = |option| format.options.contains(&option);
        use flowsieve_workload::convert::Opt;
        let options = Options {
            size_unit: reads(Opt::SizeUnit).then_some(SizeUnit::Packets(1_460)),
            time_unit: reads(Opt::TimeUnit).then_some(TimeUnit::Us),
            shift_start: reads(Opt::ShiftStart),
            with: reads(Opt::With).then_some(source),
            hosts_first: reads(Opt::HostsFirst),
            leave_out: reads(Opt::LeaveOut),
            sampled: reads(Opt::Sampled).then_some(10),
        };
        for options in [Options::default(), Options { with: None, ..options }, options] {
            let Ok(outcome) = convert(&source, format, &options) else { continue };
            let mut out = Vec::new();
            outcome.write("any", &mut out).unwrap();
            let _ = outcome.summary();
            let written = String::from_utf8(out).unwrap();
            match &outcome.what {
                What::Flows(flows) => {
                    let again = flowsieve_workload::flow_list::parse("f", &written, 65_536).unwrap();
                    assert_eq!(again.flows, flows.flows);
                }
                What::Sizes(_) => {
                    use flowsieve_workload::{Reading, Rounding, SizeDistribution};
                    SizeDistribution::parse("f", &written, Reading::Interpolated, Rounding::Bytes).unwrap();
                }
                What::Topology(_) | What::Samples(_) | What::Experiment(_) => {}
            }
        }
    }
}

/// The samples, and pieces of them.
fn samples() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn convert__never_panics_on_samples_that_are_cut_or_changed() {
    for sample in samples() {
        // Every cut of the short ones, and one sign changed at each place.
        let step = sample.len().div_ceil(60).max(1);
        for at in (0..sample.len()).step_by(step).filter(|at| sample.is_char_boundary(*at)) {
            read_all(&sample[..at]);
            for sign in ["9", "-", ".", " ", "\n", "e", "é", "0000000000000000000000"] {
                let rest = sample.get(at + 1..).unwrap_or_default();
                read_all(&format!("{}{sign}{rest}", &sample[..at]));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn convert__never_panics_on_any_text(
        text in "\\PC{0,200}|(([0-9.e-]{1,6}|Nodes|Connections|Tier|[0-9]->[0-9]|start|size|:|=|,|1Gbps|1us)[ \t\n,]){0,60}"
    ) {
        read_all(&text);
    }
}
