//! The reference run of `docs/reference/performance.md`: 144 hosts, 9 leaves of 16 at 10 Gbit/s, 4 spines at 40 Gbit/s, web search
//! at load 0.6, sprayed, the `ns2` parameters.
//!
//!     cargo bench -p flowsieve-sim --bench reference -- [SCHEME ...] [--flows N] [--runs N] [--fat-tree | --racks-of-8]
//!         [--balancing NAME] [--load PERCENT] [--k K] [--threads N [--groups N]]
//!
//! `--fat-tree` has k = 16 unless `--k` says otherwise.
//!
//! `--racks-of-8` is the fat-tree of HULA's figures: k = 4 with 8 hosts a rack, 10 Gbit/s, 40 Gbit/s between switches.
//!
//! Prints packet-hops per CPU-second of each run, and the median. Several schemes run by turns. One run and nothing else (`--runs 1`) is what
//! callgrind counts. Schemes that schedule by bounds have some within a half and twice the size.
//!
//! `--threads N` cuts runs into stages for N threads, in turn with whole runs, and compares the results and the wall
//! times. A turn counts if its threads had a core each: its processor time is at least 0.9 N times its wall time, but
//! for what threads wait for each other. With one thread (`--threads 1`) only the cut runs are made.

use flowsieve_schemes::{Knows, Scheme, WorkloadFacts, bare, registry};
use flowsieve_settings::Settings;
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Flows, Partitioning, RunSpec, WORTH_A_MEETING};
use flowsieve_workload::{
    BoundsLaw, DrawnBounds, Generator, LoadCounts, Predict, SizeDistribution, arrival_rate_per_host, builtin,
};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

/// That of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct WebSearch {
    load: f64,
    sizes: SizeDistribution,
}

impl WorkloadFacts for WebSearch {
    fn distribution(&self) -> Option<&str> {
        Some("web-search")
    }

    fn load(&self) -> Option<f64> {
        Some(self.load)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Some(self.sizes.quantile(p))
    }
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

struct Options {
    schemes: Vec<String>,
    flows: usize,
    runs: usize,
    fabric: FabricKind,
    balancing: Option<String>,
    load: f64,
    k: i64,
    threads: Option<u32>,
    groups: Option<u32>,
}

impl Options {
    /// How runs are cut, if they are.
    fn stages(&self) -> Option<Partitioning> {
        let threads = self.threads?;
        let groups = self.groups.unwrap_or(threads);
        Some(Partitioning::Stages { groups, threads, worth: WORTH_A_MEETING })
    }
}

enum FabricKind {
    LeafSpine,
    FatTree,
    RacksOf8,
}

fn options() -> Options {
    let mut options = Options {
        schemes: Vec::new(),
        flows: 2_000,
        runs: 5,
        fabric: FabricKind::LeafSpine,
        balancing: None,
        load: 0.6,
        k: 16,
        threads: None,
        groups: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse().ok()).expect("a number after the option");
        match argument.as_str() {
            "--flows" => options.flows = number(),
            "--runs" => options.runs = number(),
            "--fat-tree" => options.fabric = FabricKind::FatTree,
            "--racks-of-8" => options.fabric = FabricKind::RacksOf8,
            "--balancing" => options.balancing = Some(arguments.next().expect("a name after the option")),
            "--k" => options.k = number() as i64,
            "--threads" => options.threads = Some(number() as u32),
            "--groups" => options.groups = Some(number() as u32),
            "--load" => options.load = number() as f64 / 100.0,
            "--bench" => {}
            scheme => options.schemes.push(scheme.to_owned()),
        }
    }
    if options.schemes.is_empty() {
        options.schemes = ["dctcp", "pias", "pfabric", "homa"].map(str::to_owned).to_vec();
    }
    options
}

fn settings(options: &Options) -> Settings {
    let settings = bare::none_given();
    match options.fabric {
        FabricKind::LeafSpine => settings
            .with(None, "kind", "leaf-spine")
            .with(None, "leaves", 9)
            .with(None, "spines", 4)
            .with(None, "hosts_per_leaf", 16)
            .with(None, "host_link", "10Gbps")
            .with(None, "fabric_link", "40Gbps"),
        FabricKind::FatTree => settings
            .with(None, "kind", "fat-tree")
            .with(None, "k", options.k)
            .with(None, "host_link", "100Gbps")
            .with(None, "fabric_link", "100Gbps")
            .with(None, "core_link", "100Gbps"),
        FabricKind::RacksOf8 => settings
            .with(None, "kind", "fat-tree")
            .with(None, "k", 4)
            .with(None, "hosts_per_edge", 8)
            .with(None, "host_link", "10Gbps")
            .with(None, "fabric_link", "40Gbps"),
    }
}

fn main() {
    let options = options();
    // The papers' hosts, as in every measurement that docs/reference/performance.md has.
    let mut settings = settings(&options).with(None, "nic", "scheme");
    if let Some(balancing) = &options.balancing {
        settings = settings.with(None, "load_balancing", balancing.as_str());
    }
    let law = BoundsLaw { lower: (0.5, 1.0), upper: (1.0, 2.0), outside: 0.0 };
    let bounds: Arc<dyn Predict> = Arc::new(DrawnBounds { law, seed: 1 });
    let fabric = Fabric::from_settings(&settings).expect("the reference fabric");
    let sizes = builtin("web-search").expect("a built-in").distribution().expect("a distribution");
    let framing = flowsieve_workload::Framing {
        payload_bytes: 1460.try_into().expect("not zero"),
        header_bytes: 40,
        overhead_bytes: 0,
        ack_bytes: 40,
        data_packets_per_ack: 1,
        ungranted_packets: 0,
    };
    let rate_bps = fabric.links[fabric.host_uplink[0] as usize].rate.bps();
    let rate = arrival_rate_per_host(options.load, LoadCounts::Ns2, rate_bps, &framing, &sizes).expect("a rate");
    let web_search = WebSearch { load: options.load, sizes: sizes.clone() };
    let flows = || -> Box<dyn Iterator<Item = _>> {
        let all = Generator::new(sizes.clone(), rate, fabric.hosts, 1).expect("a generator");
        Box::new(all.take(options.flows))
    };
    let built = options.schemes.iter().map(|name| {
        let knows = registry::find(name).expect("a scheme").knows;
        (name, knows == Knows::Bounds, bare::scheme(name, &settings, &web_search).expect("built"))
    });
    let schemes: Vec<(&String, bool, Scheme)> = built.collect();
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); schemes.len()];
    // By turns, so that other work of the machine slows all of them down alike.
    for run in 0..options.runs {
        for ((name, has_bounds, scheme), rates) in schemes.iter().zip(&mut rates) {
            // Flows without ACKs end when they have arrived. That has no part in the event loop.
            let acknowledges = scheme.classes.iter().all(|class| class.transport.facts().acknowledges);
            let run_spec = RunSpec {
                predictions: has_bounds.then_some(&bounds),
                fct_end: if acknowledges { FctEnd::Ack } else { FctEnd::Arrival },
                partitioning: options.stages().unwrap_or(Partitioning::Whole),
                ..RunSpec::new(&fabric, scheme, Flows::Given(&flows))
            };
            if let Some(stages) = options.stages().filter(|_| options.threads > Some(1)) {
                if run == 0 {
                    compare(name, &run_spec, stages, &options);
                }
                continue;
            }
            let before = cpu_seconds();
            let result = flowsieve_sim::run(&run_spec, &mut flowsieve_sim::go_on).expect("a run");
            let seconds = cpu_seconds() - before;
            rates.push(result.packet_hops as f64 / seconds / 1e6);
            if run == 0 {
                let finished = result.flows.iter().filter(|flow| flow.fct_ps.is_some()).count();
                println!(
                    "{name}: {} packet-hops, {} events, {finished} flows, {:.3} ms simulated, {} timeouts, {} retransmissions",
                    result.packet_hops,
                    result.events,
                    result.simulated_ps as f64 / 1e9,
                    result.timeouts,
                    result.retransmissions,
                );
            }
        }
    }
    for ((name, ..), mut rates) in schemes.iter().zip(rates).filter(|(_, rates)| !rates.is_empty()) {
        rates.sort_by(f64::total_cmp);
        let shown: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
        println!("{name}: median {:.2} M packet-hops per CPU-second ({})", rates[rates.len() / 2], shown.join(", "));
    }
}

/// Compares whole runs with runs in stages.
fn compare(name: &str, run_spec: &RunSpec<'_>, stages: Partitioning, options: &Options) {
    let timed = |partitioning| {
        let (cpu, wall) = (cpu_seconds(), std::time::Instant::now());
        let run_spec = RunSpec { partitioning, ..*run_spec };
        let result = flowsieve_sim::run(&run_spec, &mut flowsieve_sim::go_on).expect("a run");
        let wall = wall.elapsed().as_secs_f64();
        (result, wall, (cpu_seconds() - cpu) / wall)
    };
    let threads = f64::from(options.threads.unwrap_or(1));
    let mut ratios = Vec::new();
    for _ in 0..options.runs {
        let (whole, whole_wall, whole_share) = timed(Partitioning::Whole);
        let (cut, wall, share) = timed(stages);
        assert!(whole == cut, "{name}: another result with {stages:?}");
        let mark = if share >= 0.9 * threads && whole_share >= 0.9 { "" } else { " (not free)" };
        println!("{name}: whole {whole_wall:.3} s, {stages:?} {wall:.3} s on {share:.2} cores{mark}");
        if mark.is_empty() {
            ratios.push(whole_wall / wall);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    println!("{name}: median {median:.2} times as fast in {} of {} turns with free cores", ratios.len(), options.runs);
}
