//! Simulates the recommended thresholds and one queue, with the same transport and the same flows.
//!
//! The models know no transport: a single queue fed by DCTCP's hosts does not grow as theirs does. So the
//! recommendation is simulated. The comparison is short by construction: a fixed number of packet-hops limits its
//! flows.

use super::advice::Marking;
use super::{Asked, Wanted};
use crate::fabric_file::FabricFile;
use crate::parallel::in_parallel;
use flowsieve_core::Place;
use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::further::Tables;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText, Folder};
use flowsieve_results::Ratio;
use flowsieve_schemes::marking_rule::ecn_threshold_bytes;
use flowsieve_settings::units::{format_rate, format_size, format_time};
use flowsieve_sim::topology::{Fabric, Node};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of hosts at the switch, if no fabric is given.
const HOSTS: u32 = 16;

/// Number of seeds; each has one run with the thresholds and one with a single queue.
const SEEDS: u64 = 5;

/// Approximate packet-hops of a run: half a second of processor time.
const PACKET_HOPS: f64 = 4e6;

/// The limits of a run's number of flows, if it follows from [`PACKET_HOPS`].
const FLOWS: (f64, f64) = (200.0, 4_000.0);

/// Flows up to this size are small.
const SMALL_BYTES: u64 = 100_000;

/// Bytes of a full packet: the simulator's default.
pub(super) const MTU: u64 = 1_500;

/// The buffer of a port in proportion to its K: 240 packets to 65 (PIAS, §5.2; pFabric, §5).
pub(crate) const BUFFER_PER_K: (u64, u64) = (240, 65);

/// The network that the thresholds are for.
#[derive(Debug, Clone)]
pub enum Network {
    /// Hosts at one switch.
    Switch {
        /// Rate of the hosts' links, followed by further rates for which to compute a marking threshold.
        rates_bps: Vec<u64>,
        /// Round trip without queues and serialisation.
        rtt_ps: u64,
    },
    /// The `[topology]` of this file, which may have these further tables.
    Fabric(PathBuf, Option<Tables>),
}

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// Number of flows of a run; by default as many as take about a second.
    pub flows: Option<u64>,
    /// Runs at a time, at least one. It does not affect results.
    pub jobs: usize,
}

/// The result of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    /// The network in words.
    pub network: String,
    /// Seeds, each with the same flows for both.
    pub seeds: u64,
    /// Number of flows of a run.
    pub flows: u64,
    /// Mean FCT with the thresholds divided by that with one queue.
    pub all: Option<Paired>,
    /// The same ratio for flows up to 100 KB.
    pub small: Option<Paired>,
    /// Whether the thresholds do better: one of the two intervals is below 1, and that of all flows is not above.
    pub helps: bool,
}

/// A ratio of mean completion times, paired by seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// Below 1 the thresholds are better.
    pub ratio: f64,
    /// Ends of the 95 % interval.
    pub interval: Option<(f64, f64)>,
}

/// Judges the ratios of all flows and of the small ones.
pub(super) fn helps(all: Option<Paired>, small: Option<Paired>) -> bool {
    let is_below = |of: Option<Paired>| of.and_then(|of| of.interval).is_some_and(|(_, high)| high < 1.0);
    let is_above = |of: Option<Paired>| of.and_then(|of| of.interval).is_some_and(|(low, _)| low > 1.0);
    (is_below(all) || is_below(small)) && !is_above(all)
}

impl Paired {
    /// Describes the change from one queue with its interval, or says that it is not resolved.
    pub(super) fn in_words(&self) -> String {
        let change = |ratio: f64| match 100.0 * (ratio - 1.0) {
            change if change < 0.0 => format!("{:.1} % below", -change),
            change => format!("{change:.1} % above"),
        };
        let Some((low, high)) = self.interval else { return format!("{} that of one queue", change(self.ratio)) };
        let ends = format!("95 % interval: {} to {}", change(low), change(high));
        match low > 1.0 || high < 1.0 {
            true => format!("{} that of one queue ({ends})", change(self.ratio)),
            false => format!("not resolved: {} to {} that of one queue (95 % interval)", change(low), change(high)),
        }
    }
}

/// The links for which marking thresholds are computed.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    /// Rate of the hosts' links.
    pub(crate) host_bps: u64,
    /// All rates, rising.
    pub(crate) rates_bps: Vec<u64>,
    pub(crate) rtt_ps: u64,
    /// By place of switches: the rates of the links there, rising.
    pub(crate) at: Vec<(Place, Vec<u64>)>,
}

/// The `[topology]`, with what is needed to read it.
pub(super) struct Site {
    text: String,
    folder: Folder,
    pub(super) links: Links,
    name: String,
}

impl Site {
    pub(super) fn open(network: &Network) -> Result<Site, Error> {
        match network {
            Network::Switch { rates_bps, rtt_ps } => {
                let host_bps = rates_bps.first().copied().unwrap_or_default();
                let text = format!(
                    "[topology]\nkind = \"single-switch\"\nhosts = {HOSTS}\nhost_link = \"{}\"\nrtt = \"{}\"\n",
                    format_rate(host_bps),
                    format_time(*rtt_ps)
                );
                let mut rates_bps = rates_bps.clone();
                rates_bps.sort_unstable();
                rates_bps.dedup();
                let at = vec![(Place::Leaf, vec![host_bps])];
                Ok(Site {
                    text,
                    folder: Folder::default(),
                    links: Links { host_bps, rates_bps, rtt_ps: *rtt_ps, at },
                    name: format!("{HOSTS} hosts of {} at one switch", format_rate(host_bps)),
                })
            }
            Network::Fabric(path, tables) => {
                let FabricFile { mut document, fabric, .. } = FabricFile::read(path, *tables)?;
                document.retain(|name, _| name == "topology");
                Ok(Site {
                    text: document.to_string(),
                    folder: Folder::default(),
                    links: Links::of(&fabric),
                    name: format!("the {} fabric of {} hosts of {}", fabric.kind, fabric.hosts, path.display()),
                })
            }
        }
    }
}

impl Links {
    pub(crate) fn of(fabric: &Fabric) -> Links {
        let rates: BTreeSet<u64> = fabric.links.iter().map(|link| link.rate.bps()).collect();
        let of_hosts = fabric.links.iter().filter(|link| matches!(link.from, Node::Host(_)));
        let at = |place: Place| {
            let rates: Vec<u64> = fabric.rates_at(place).into_iter().map(|rate| rate.bps()).collect();
            (!rates.is_empty()).then_some((place, rates))
        };
        Links {
            host_bps: of_hosts.map(|link| link.rate.bps()).min().unwrap_or_default(),
            rates_bps: rates.into_iter().collect(),
            rtt_ps: fabric.base_rtt().0,
            at: [Place::Leaf, Place::Spine, Place::Core].into_iter().filter_map(at).collect(),
        }
    }

    /// Returns K for a rate.
    pub(crate) fn ecn_threshold_bytes(&self, bps: u64) -> u64 {
        ecn_threshold_bytes(bps, self.rtt_ps, MTU)
    }
}

/// Runs the thresholds and one queue. `show` receives the number of finished runs and their total.
pub(super) fn compare(
    (wanted, asked, thresholds_bytes): (&Wanted, &Asked, &[u64]),
    (site, marking): (&Site, Marking),
    trial: Trial,
    show: &(dyn Fn(usize, usize) + Sync),
) -> Result<Simulated, Error> {
    let folder = tempfile::tempdir().map_err(|error| Error::Input(format!("a folder for the comparison: {error}")))?;
    let sizes = sizes(wanted, asked, folder.path())?;
    let plan = |flows: u64| -> Result<Plan, Error> {
        let text = experiment(site, marking, (&sizes, asked.load, flows), thresholds_bytes);
        Source::new(ExperimentText::new("thresholds", &text), site.folder.clone()).plan(&built_in())
    };
    let flows = match trial.flows {
        Some(flows) => flows,
        None => {
            let few = FLOWS.0 as u64;
            let hops = plan(few)?.runs.first().map_or(0.0, |run| run.packet_hops) / FLOWS.0;
            (PACKET_HOPS / hops).clamp(FLOWS.0, FLOWS.1) as u64
        }
    };
    let plan = plan(flows)?;
    let means = run_all(&plan, trial.jobs, show)?;
    let paired = |of: fn(&Means) -> Option<f64>| {
        let pairs: Vec<(f64, f64)> = means.chunks(2).filter_map(|pair| Some((of(&pair[0])?, of(&pair[1])?))).collect();
        Ratio::paired(&pairs).map(|ratio| Paired { ratio: ratio.value, interval: ratio.interval })
    };
    let (all, small) = (paired(|means| means.all), paired(|means| means.small));
    Ok(Simulated { network: site.name.clone(), seeds: SEEDS, flows, all, small, helps: helps(all, small) })
}

/// Mean completion times of a run; `None` for a class without flows.
#[derive(Clone, Copy)]
struct Means {
    all: Option<f64>,
    small: Option<f64>,
}

/// Runs both schemes, seed by seed.
fn run_all(plan: &Plan, jobs: usize, show: &(dyn Fn(usize, usize) + Sync)) -> Result<Vec<Means>, Error> {
    let runs: Vec<(usize, u64)> = (1..=SEEDS).flat_map(|seed| [(0, seed), (1, seed)]).collect();
    let finished = AtomicUsize::new(0);
    let work = |number: usize| {
        let (point, seed) = runs[number];
        let means = run(plan, point, seed);
        show(finished.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
        means
    };
    in_parallel(jobs, runs.len(), work).into_iter().collect()
}

fn run(plan: &Plan, point: usize, seed: u64) -> Result<Means, Error> {
    let result = built_in().run(&plan.points[point], seed, &mut go_on, None)?;
    let mean = |most: u64| {
        let fcts: Vec<f64> = result
            .flows
            .iter()
            .filter(|flow| flow.bytes <= most)
            .filter_map(|flow| flow.fct_ps)
            .map(|fct_ps| fct_ps as f64)
            .collect();
        (!fcts.is_empty()).then(|| fcts.iter().sum::<f64>() / fcts.len() as f64)
    };
    Ok(Means { all: mean(u64::MAX), small: mean(SMALL_BYTES) })
}

/// Writes the lines of `[workload]` for the sizes. A run draws from a distribution: for measured sizes, from steps at
/// their thousandths.
pub(crate) fn sizes(wanted: &Wanted, asked: &Asked, folder: &Path) -> Result<String, Error> {
    let text = |text: &str| toml_edit::Value::from(text).to_string();
    if let Some(name) = &wanted.workload {
        return Ok(format!("sizes = {}", text(name)));
    }
    let named = |path: &Path, problem: String| Error::File { path: path.display().to_string(), problem };
    if let Some(file) = &wanted.cdf {
        let path = std::path::absolute(file).map_err(|error| named(Path::new(file), error.to_string()))?;
        return Ok(format!("cdf = {}", text(&path.to_string_lossy())));
    }
    let path = folder.join("sizes.csv");
    let mut rows = "size_bytes,cdf\n".to_owned();
    for share in 1..=1_000u32 {
        let bytes = asked.source.quantile_bytes(f64::from(share) / 1_000.0).unwrap_or(1);
        let _ = writeln!(rows, "{bytes},{}", f64::from(share) / 1_000.0);
    }
    std::fs::write(&path, rows).map_err(|error| named(&path, error.to_string()))?;
    Ok(format!("cdf = {}\nreading = \"stepped\"", text(&path.to_string_lossy())))
}

/// Writes the experiment, with K and the buffer by place, so that the run has the printed values. Hosts do not drop
/// their own packets.
fn experiment(
    site: &Site,
    marking: Marking,
    (sizes, load, flows): (&str, f64, u64),
    thresholds_bytes: &[u64],
) -> String {
    let threshold = |bps: u64| site.links.ecn_threshold_bytes(bps);
    let buffer = |bps: u64| format_size(threshold(bps) * BUFFER_PER_K.0 / BUFFER_PER_K.1);
    let listed: Vec<String> = thresholds_bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes))).collect();
    // The largest window follows from the buffer of all ports.
    let mut text = format!(
        "title = \"thresholds\"\n\
         [workload]\n{sizes}\nload = {load:?}\nflows = {flows}\n\
         [network]\nnic = \"backpressure\"\nmarking = \"{}\"\nbuffer = \"{}\"\n\
         [schemes.recommended]\nbase = \"pias\"\nqueues = {}\nthresholds = [{}]\n\
         [schemes.one-queue]\nbase = \"dctcp\"\n\
         [sweep]\nscheme = [\"recommended\", \"one-queue\"]\n\
         [run]\nparameters = \"ns2\"\n",
        marking.setting(),
        buffer(site.links.host_bps),
        thresholds_bytes.len() + 1,
        listed.join(", ")
    );
    // A place has one K here: that of its slowest links.
    for (place, bps) in site.links.at.iter().filter_map(|(place, rates)| Some((place, *rates.first()?))) {
        let threshold = format_size(threshold(bps));
        let _ =
            write!(text, "[network.{}]\necn_threshold = \"{threshold}\"\nbuffer = \"{}\"\n", place.name(), buffer(bps));
    }
    text + &site.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::Method;

    fn wanted(workload: &str, load: f64) -> Wanted {
        Wanted {
            workload: Some(workload.into()),
            cdf: None,
            sizes: None,
            loads: vec![load],
            queues: Some(8),
            method: Method::Background,
        }
    }

    fn switch(bps: u64) -> Site {
        Site::open(&Network::Switch { rates_bps: vec![bps], rtt_ps: 80_000_000 }).unwrap()
    }

    #[test]
    fn compare__the_same_for_any_number_of_jobs_and_paired() {
        let wanted = wanted("fb-cache-follower", 0.7);
        let asked = Asked::read(&wanted, 0.7, 8).unwrap();
        let of = |jobs| {
            let trial = Trial { flows: Some(120), jobs };
            let seen = AtomicUsize::new(0);
            let show = |done: usize, of: usize| {
                assert!(done <= of && of == 10);
                seen.fetch_add(1, Ordering::Relaxed);
            };
            let found =
                compare((&wanted, &asked, &[20_000, 500_000]), (&switch(10_000_000_000), Marking::Queue), trial, &show);
            assert_eq!(seen.into_inner(), 10);
            found.unwrap()
        };
        let found = of(1);
        assert_eq!(found, of(3));
        let all = found.all.unwrap();
        let (low, high) = all.interval.unwrap();
        assert!(low <= all.ratio && all.ratio <= high && found.small.is_some(), "{found:?}");
        // A table with one queue equals one queue.
        let trial = Trial { flows: Some(60), jobs: 2 };
        let same = compare(
            (&wanted, &asked, &[1_000_000_000_000]),
            (&switch(10_000_000_000), Marking::Port),
            trial,
            &|_, _| {},
        );
        assert_eq!(same.unwrap().all, Some(Paired { ratio: 1.0, interval: Some((1.0, 1.0)) }));
    }

    #[test]
    fn experiment__has_k_of_each_place_and_the_mode_that_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fabric.toml");
        let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_link = \"10Gbps\"\nfabric_link = \"40Gbps\"\n\
                    [workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 5\n[sweep]\nscheme = [\"dctcp\"]\n";
        std::fs::write(&path, text).unwrap();
        let site = Site::open(&Network::Fabric(path, None)).unwrap();
        assert_eq!(site.links.rates_bps, [10_000_000_000, 40_000_000_000]);
        let rates = |gbps: &[u64]| gbps.iter().map(|gbps| gbps * 1_000_000_000).collect::<Vec<u64>>();
        assert_eq!(site.links.at, [(Place::Leaf, rates(&[10, 40])), (Place::Spine, rates(&[40]))]);
        let text = experiment(&site, Marking::Queue, ("sizes = \"web-search\"", 0.5, 20), &[30_000]);
        let plan = Source::new(ExperimentText::new("t", &text), site.folder.clone()).plan(&built_in()).unwrap();
        let settings = &plan.experiment.points[0].settings;
        let of = |key: &str| settings[key].as_str();
        assert_eq!((of("scheme.leaf.ecn_threshold"), of("scheme.spine.ecn_threshold")), ("97.5KB", "390KB"));
        assert_eq!((of("scheme.leaf.buffer"), of("scheme.spine.buffer")), ("360KB", "1.44MB"));
        assert_eq!((of("scheme.leaf.marking"), of("topology.fabric_link")), ("per-queue", "40Gbps"));
        assert_eq!(of("scheme.leaf.queues"), "2");
    }

    #[test]
    fn in_words__says_what_is_open() {
        let compared = |ratio, interval| Paired { ratio, interval }.in_words();
        assert_eq!(
            compared(0.9, Some((0.85, 0.95))),
            "10.0 % below that of one queue (95 % interval: 15.0 % below to 5.0 % below)"
        );
        assert_eq!(
            compared(0.9, Some((0.7, 1.1))),
            "not resolved: 30.0 % below to 10.0 % above that of one queue (95 % interval)"
        );
    }
}
