//! DCTCP's steady state in the simulator: each case is an ordinary experiment whose senders and bottleneck are sampled.

use super::dctcp::{Line, Link, Observed, Sample, compare};
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_record::{PointResult, Series};
use flowsieve_sim::sample::{LEAST_BACKLOG, MOST_BACKLOG};
use flowsieve_transport::tcp::congestion::{ALPHA, WINDOW};
use std::fmt::Write;
use std::path::Path;

/// Bytes of a full packet.
const PACKET_BYTES: f64 = 1_500.0;
/// Marking threshold in packets: the paper's for 10 Gbit/s with unpaced packets.
const THRESHOLD: u32 = 40;
/// Packets that an ACK releases when it opens the window.
const BURST: f64 = 2.0;
/// Time from the flows' start that is left out.
const WARM_UP_US: u64 = 40_000;
/// Duration of the steady state.
const STEADY_US: u64 = 200_000;
/// The last instant at which a flow starts.
const START_US: u64 = 60_000;

/// The result for a number of flows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SteadyOutcome {
    /// Number of long flows.
    pub(super) flows: u32,
    /// The comparison, line by line.
    pub(super) lines: Vec<Line>,
}

impl SteadyOutcome {
    /// Returns whether the simulation agrees with the analysis.
    pub(super) fn passes(&self) -> bool {
        self.lines.iter().all(|line| line.passes)
    }
}

/// Runs a case. An error means a bug in the engine, which does not reach a steady state.
pub(super) fn steady(flows: u32) -> Result<SteadyOutcome, Error> {
    let input = ExperimentText::new("DCTCP", &experiment(flows));
    let plan = plan::plan(&input, Path::new(""), &Changes::default(), &built_in())?;
    let result = built_in().run(&plan.points[0], 1, &mut go_on, None)?;
    let link = link(flows);
    let in_period = (link.steady().period * 1e6 / interval_us(flows) as f64).round() as usize;
    let observed = Observed::of(&samples(&result, flows), in_period).ok_or_else(|| Error::Simulation {
        point: format!("{flows} flows under DCTCP"),
        problem: "they were not active together for two periods".to_owned(),
    })?;
    Ok(SteadyOutcome { flows, lines: compare(&link, &observed, BURST) })
}

/// Returns the interval of samples: short to follow the sawtooth of two flows. With many flows only the largest queue
/// matters, which samples cannot miss.
fn interval_us(flows: u32) -> u64 {
    if flows <= 2 { 10 } else { 100 }
}

/// Returns a link of 10 Gbit/s, 100 us: there and back over two links with 1.2 us for a packet and 0.032 us for an ACK,
/// the rest delay.
fn link(flows: u32) -> Link {
    let packets_per_second = 10e9 / (8.0 * PACKET_BYTES);
    Link { flows, packets_per_second, round_trip: 100e-6, threshold: f64::from(THRESHOLD) }
}

/// Writes the experiment: one host receives a flow from each other host at once. The flows outlast the run, and no
/// buffer is full.
fn experiment(flows: u32) -> String {
    let hosts = flows + 1;
    let end_us = START_US + WARM_UP_US + STEADY_US;
    let bytes = u64::from(10_000 * end_us as u32 / 8) * 3 / 2 / u64::from(flows);
    let links: Vec<String> = (0..hosts).map(|host| format!("\"switch0 to host{host}\"")).collect();
    format!(
        "title = \"DCTCP: {flows} long flows over one link\"\n\
         [topology]\n\
         kind = \"single-switch\"\n\
         hosts = {hosts}\n\
         rtt = \"97.536us\"\n\
         [workload]\n\
         pattern = \"incast\"\n\
         fan_in = {flows}\n\
         flows = {flows}\n\
         arrivals = \"fixed\"\n\
         load = 10\n\
         sizes = \"fixed({bytes}B)\"\n\
         [network]\n\
         nic = \"backpressure\"\n\
         buffer = \"10000pkt\"\n\
         ecn_threshold = \"{THRESHOLD}pkt\"\n\
         [transport]\n\
         initial_window = 10\n\
         max_window = 10000\n\
         handshake = \"none\"\n\
         [run]\n\
         max_time = \"{end_us}us\"\n\
         sample_interval = \"{}us\"\n\
         sample_links = [{}]\n\
         [sweep]\n\
         scheme = [\"dctcp\"]\n",
        interval_us(flows),
        links.join(", ")
    )
}

/// Returns the samples after the warm-up, as long as every flow is under way, at the link with the longest queue.
fn samples(result: &PointResult, flows: u32) -> Vec<Sample> {
    let of = |name| result.series.iter().filter(move |series| series.name == name);
    let most = |series: &&Series| series.values.iter().copied().fold(0.0, f64::max);
    let Some(longest) = of(MOST_BACKLOG).max_by(|a, b| most(a).total_cmp(&most(b))) else { return Vec::new() };
    let Some(least) = of(LEAST_BACKLOG).find(|series| series.of == longest.of) else { return Vec::new() };
    let (windows, alphas): (Vec<&Series>, Vec<&Series>) = (of(WINDOW).collect(), of(ALPHA).collect());
    if windows.len() != flows as usize || alphas.len() != windows.len() {
        return Vec::new();
    }
    let begin = windows.iter().map(|series| series.first_step).max().unwrap_or(0);
    let begin = begin + WARM_UP_US * 1_000_000 / longest.step_ps;
    let at = |series: &Series, step: u64| series.values.get((step - series.first_step) as usize).copied();
    let all = |series: &[&Series], step| series.iter().map(|series| at(series, step)).collect::<Option<Vec<f64>>>();
    let sample = |step| {
        let queue = (at(least, step)? / PACKET_BYTES, at(longest, step)? / PACKET_BYTES);
        Some(Sample { windows: all(&windows, step)?, alphas: all(&alphas, step)?, queue })
    };
    (begin..).map_while(sample).collect()
}

/// Formats one row per line of the comparisons, and the number that pass.
pub(super) fn table(outcomes: &[SteadyOutcome]) -> String {
    let mut text =
        String::from("DCTCP in its steady state, in packets: long flows over 10 Gbit/s with 100 µs and K = 40.\n\n");
    let _ = writeln!(text, "{:<5} {:>5}  {:<22} {:>9} {:>10}", "", "flows", "", "analysis", "simulated");
    for outcome in outcomes {
        for line in &outcome.lines {
            let verdict = if line.passes { "PASS" } else { "FAIL" };
            let _ = writeln!(
                text,
                "{:<5} {:>5}  {:<22} {:>9.3} {:>10.3}  {verdict}",
                "dctcp", outcome.flows, line.what, line.analysis, line.observed
            );
        }
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passes()).count();
    let _ = writeln!(text, "\n{passed} of {} numbers of flows pass", outcomes.len());
    text
}
