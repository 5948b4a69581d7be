//! The model behind `thresholds = "background"` is what the simulator does, where flows arrive at one link at once: strict
//! priorities, FIFO in each, and hosts that demote by bytes sent.

use flowsieve_core::thresholds::{SizeLaw, background_time};
use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use std::path::Path;

/// Payload of a packet, and its time at 10 Gbit/s.
const PACKET: u64 = 1_500;
const PACKET_S: f64 = 1.2e-6;

const LEVELS: [u64; 2] = [20 * PACKET, 200 * PACKET];

/// Sizes of 10 to 1,000 packets with a heavy tail: shape 1.5.
fn law() -> SizeLaw {
    let (low, ratio) = (10.0 * PACKET as f64, 1e-2);
    let whole = 1.0 - libm::pow(ratio, 1.5);
    SizeLaw::from_quantiles(&|p| Some((low * libm::pow(1.0 - p * whole, -1.0 / 1.5)).ceil() as u64)).unwrap()
}

/// The mean FCT of a seed in seconds, with these thresholds at load 0.7.
fn simulated(thresholds: &str, queues: usize, seed: u64) -> f64 {
    let experiment = format!(
        "title = \"M/G/1 foreground-background\"\n\
         [topology]\n\
         kind = \"single-link\"\n\
         host_link = \"10Gbps\"\n\
         link_delay = \"0ns\"\n\
         host_delay = \"0ns\"\n\
         [workload]\n\
         sizes = \"bounded-pareto(1.5, 15KB, 1500KB)\"\n\
         load = 0.7\n\
         load_counts = \"payload\"\n\
         flows = 20_000\n\
         [network]\n\
         mtu = \"1500B\"\n\
         header = \"0B\"\n\
         wire_overhead = \"0B\"\n\
         queues = {queues}\n\
         [schemes.pias]\n\
         transport = \"open-loop\"\n\
         buffer = \"1TB\"\n\
         thresholds = [{thresholds}]\n\
         [sweep]\n\
         scheme = [\"pias\"]\n\
         [run]\n\
         fct_end = \"arrival\"\n"
    );
    let input = ExperimentText::new("test", &experiment);
    let plan = plan::plan(&input, Path::new(""), &Changes::default(), &built_in()).unwrap();
    let result = built_in().run(&plan.points[0], seed, &mut go_on, None).unwrap();
    let sum: f64 = result.flows.iter().map(|flow| flow.fct_ps.unwrap() as f64 * 1e-12).sum();
    sum / result.flows.len() as f64
}

#[test]
fn background_time__is_that_of_the_simulator() {
    let law = law();
    let seconds = |bytes: f64| bytes / PACKET as f64 * PACKET_S;
    // The packet at a threshold still has the higher priority, so that levels end a byte before it.
    let listed = LEVELS.map(|bytes| format!("\"{}B\"", bytes - 1)).join(", ");
    for (levels, listed, queues) in [(&LEVELS[..], listed.as_str(), 3), (&LEVELS[..1], &listed[..8], 2)] {
        let expected = seconds(background_time(&law, 0.7, levels) * law.mean());
        let means: Vec<f64> = (1..=32).map(|seed| simulated(listed, queues, seed)).collect();
        let mean = means.iter().sum::<f64>() / 32.0;
        let variance = means.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / 31.0;
        // Four standard errors, and the packet on the line that a higher priority has to wait for in each of its levels.
        let allowed = 4.0 * (variance / 32.0).sqrt() + 2.0 * PACKET_S;
        assert!((mean - expected).abs() < allowed && allowed < 0.1 * expected, "{mean} {expected} ± {allowed}");
    }
}
