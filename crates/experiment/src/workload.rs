//! The `[workload]` of a point: which flows it sends, and how many of them.
//!
//! Everything is read from what holds for all schemes, so that schemes get the same flows. Loads are of the host
//! links; the arrival rate comes from the mean of the very distribution that is drawn from, unless the experiment names
//! its source's mean.

mod crossings;
mod files;
mod pattern;
mod sizes;
mod traffic;

pub use files::Files;
pub use sizes::formula;

use crate::error::Error;
use files::List;
use flowsieve_schemes::WorkloadFacts;
use flowsieve_schemes::declare;
use flowsieve_schemes::parameters::{self, ParameterSet};
use flowsieve_schemes::settings::{Key, MAX_TIME_PS, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_sim::topology::{Fabric, Node};
use flowsieve_workload::flow_list::Extras;
use flowsieve_workload::{ClosedLoop, Flow, Framing, Generator, SizeDistribution};
use sizes::Reader;
use std::path::Path;
use std::sync::Arc;
use traffic::Drawn;

pub(crate) use sizes::{CDF, SIZES};
pub use traffic::LOAD;
pub(crate) use traffic::{ARRIVALS, CHANGE_AT};

declare! {
    /// How many flows arrive.
    pub static FLOWS: Setting<u64> = Setting::count(
        Section::Workload, "flows", 1, 50_000_000, "how many flows arrive",
    );
    pub(crate) static DURATION: Setting<u64> = Setting::time(
        Section::Workload, "duration", 1, MAX_TIME_PS, "for how long flows arrive, instead of a number of flows",
    );
    static LIST: Setting<String> = Setting::file(
        Section::Workload, "list",
        "a flow list to replay instead: CSV rows of start_s,src,dst,bytes and optionally deadline_s and coflow",
    );
    /// Whether it is a window.
    static MEASURE: Setting<bool> = Setting::choice(
        Section::Run,
        "measure",
        &[("all", false), ("window", true)],
        "count every flow and drain, or the flows that start in a window under load",
    )
    .with_default(false);
    pub(crate) static WINDOW: Setting<Vec<u64>> = Setting::times(
        Section::Run, "window", "start and end of the measuring window",
    );
}

/// Every setting of a workload, by the part that declares it.
pub(crate) const WORKLOAD_SETTINGS: &[&[&Key]] = &[sizes::SETTINGS, traffic::SETTINGS, pattern::SETTINGS, SETTINGS];

/// Which flows of a run there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many arrive; all count, and the fabric drains.
    Flows(u64),
    /// They arrive until this time; all count, and the fabric drains.
    Until(u64),
    /// They arrive until all that started from the first time to before the second have finished; these count.
    Window(u64, u64),
}

/// What a workload must know of the hosts.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The rate in bit/s that a load of 1 fills: that of the hosts' links, the slowest where they differ.
    pub bps: u64,
    /// By host, the number of its rack: of hosts with the same number a switch is the nearest.
    pub racks: Arc<[u32]>,
}

impl Hosts {
    /// Those of a fabric. A host that is linked to no switch is a rack of its own.
    pub fn of(fabric: &Fabric) -> Hosts {
        let uplinks = || fabric.host_uplink.iter().map(|link| &fabric.links[*link as usize]);
        let rack = |(host, node): (u32, Node)| match node {
            Node::Switch(switch) => switch,
            Node::Host(_) => fabric.switches.len() as u32 + host,
        };
        Hosts {
            bps: uplinks().map(|link| link.rate.bps()).min().unwrap_or(0),
            racks: (0..).zip(uplinks().map(|link| link.to)).map(rack).collect(),
        }
    }
}

/// Where flows come from.
#[derive(Debug, Clone)]
enum Origin {
    Drawn(Box<Drawn>),
    Listed(Arc<List>),
}

/// The workload of a point.
#[derive(Debug, Clone)]
pub struct Workload {
    origin: Origin,
    /// Which flows there are.
    pub extent: Extent,
    /// How packets lie on the wire, as the load counts them.
    pub framing: Framing,
}

impl WorkloadFacts for Workload {
    fn distribution(&self) -> Option<&str> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.builtin,
            Origin::Listed(_) => None,
        }
    }

    fn load(&self) -> Option<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.load,
            Origin::Listed(_) => None,
        }
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        match &self.origin {
            Origin::Drawn(drawn) => Some(drawn.traffic.from_start.quantile(p)),
            Origin::Listed(list) => list.quantile(p),
        }
    }
}

impl Workload {
    /// Reads the workload for these hosts. Paths are relative to `folder`; `files` keeps what is read from them.
    pub fn read(settings: &Settings, hosts: &Hosts, files: &Files, folder: &Path) -> Result<Workload, Error> {
        let scope = settings.common();
        let set = ParameterSet::read(&scope)?;
        let framing = framing(&scope, set)?;
        if let Some(path) = scope.optional(&LIST)? {
            refuse_beside(&scope, &LIST, &[&SIZES, &CDF, &LOAD, &FLOWS, &DURATION])?;
            let list = files.list(&scope, &folder.join(path), hosts.racks.len() as u32)?;
            settings.note("workload.list.digest", &list.digest);
            // The list itself says how many; all of it counts.
            let extent = Extent::Flows(list.flows.len() as u64);
            return Ok(Workload { origin: Origin::Listed(list), extent, framing });
        }
        let reader = Reader { settings, scope: &scope, payload: framing.payload_bytes, files, folder };
        let drawn = traffic::read(&reader, hosts, &framing, set)?;
        Ok(Workload { origin: Origin::Drawn(Box::new(drawn)), extent: extent(&scope)?, framing })
    }

    /// The flows in the order of their starts: without end, or all of a list.
    pub fn flows(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        match &self.origin {
            Origin::Drawn(drawn) if drawn.closed.is_some() => {
                Err("the flows of a closed loop start when others have finished, which only a run tells".to_owned())
            }
            Origin::Drawn(drawn) => {
                let flows = Generator::of(&drawn.traffic, seed).map_err(|error| error.to_string())?;
                Ok(match drawn.deadlines {
                    None => Box::new(flows),
                    Some(deadlines) => Box::new(flows.map(move |flow| deadlines.put_on(flow, seed))),
                })
            }
            Origin::Listed(list) => {
                let list = Arc::clone(list);
                Ok(Box::new((0..list.flows.len()).map(move |index| list.flows[index])))
            }
        }
    }

    /// The closed loops, where flows wait for others to finish; those are not known before they run.
    pub fn closed_loop(&self, seed: u64) -> Option<ClosedLoop> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        let flows = match self.extent {
            Extent::Flows(flows) => u32::try_from(flows).unwrap_or(u32::MAX),
            // More than any run has.
            Extent::Until(_) | Extent::Window(..) => u32::MAX,
        };
        // An error would have shown while the workload was read.
        drawn.closed_loop(flows, seed).ok().flatten()
    }

    /// Which optional columns a list of its flows needs.
    pub fn extras(&self) -> Extras {
        match &self.origin {
            Origin::Drawn(drawn) => Extras { deadlines: drawn.deadlines.is_some(), coflows: false },
            Origin::Listed(list) => list.extras,
        }
    }

    /// About how many flows a run has.
    pub fn expected_flows(&self) -> f64 {
        let drawn = match &self.origin {
            Origin::Drawn(drawn) => drawn,
            Origin::Listed(list) => return list.flows.len() as f64,
        };
        match self.extent {
            Extent::Flows(flows) => flows as f64,
            // Arrivals go on a little after the window; how long depends on its last flows.
            Extent::Until(end) | Extent::Window(_, end) => drawn.flows_until(end),
        }
    }

    /// About how many flows of a run start in a stretch of time.
    pub fn expected_flows_within(&self, from_ps: u64, to_ps: u64) -> f64 {
        let before = |end_ps: u64| match &self.origin {
            Origin::Drawn(drawn) => drawn.flows_until(end_ps).min(self.expected_flows()),
            Origin::Listed(list) => list.flows.partition_point(|flow| flow.start_ps < end_ps) as f64,
        };
        before(to_ps) - before(from_ps)
    }

    /// About how many packets a flow takes, data and ACKs.
    pub fn packets_per_flow(&self) -> f64 {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.mean_of(self.expected_flows(), |sizes| {
                let cost = self.framing.cost(sizes);
                cost.data_packets + cost.acks
            }),
            Origin::Listed(list) => {
                let payload = u64::from(self.framing.payload_bytes.get());
                let data: u64 = list.flows.iter().map(|flow| flow.bytes.div_ceil(payload)).sum();
                let acks = data as f64 / f64::from(self.framing.data_packets_per_ack.max(1));
                (data as f64 + acks) / list.flows.len().max(1) as f64
            }
        }
    }

    /// The bit/s that data and ACKs of all hosts take on each link of a flow's way, framing included; none for a list or
    /// closed loops.
    /// Of a workload that changes, the heavier part.
    pub fn offered_bps(&self) -> Option<f64> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        if drawn.closed.is_some() {
            return None;
        }
        Some(drawn.heaviest_bps(|sizes| {
            let cost = self.framing.cost(sizes);
            cost.data_bytes + cost.ack_bytes
        }))
    }

    /// How many links of each class a packet crosses on average, in the order of the fabric's classes. Of a flow list
    /// nothing is known, and it counts as all-to-all.
    pub fn crossings(&self, fabric: &Fabric, seed: u64) -> Vec<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let offer = &drawn.traffic.from_start;
                let bytes = |sizes: &SizeDistribution| self.framing.cost(sizes).data_bytes;
                let each = [&offer.sizes, offer.mix.as_ref().map_or(&offer.sizes, |mix| &mix.sizes)].map(bytes);
                crossings::crossings(&drawn.traffic.pattern, fabric, seed, |pair| offer.mean_of_pair(pair, each))
            }
            Origin::Listed(_) => fabric.class_shares().iter().map(|share| share.crossing).collect(),
        }
    }
}

/// Packets on the wire, as they are without a scheme's own settings.
fn framing(scope: &Scope<'_>, set: ParameterSet) -> Result<Framing, SettingsError> {
    let header = parameters::header(scope)?;
    Ok(Framing {
        payload_bytes: parameters::segment(scope)?.into(),
        header_bytes: header.into(),
        overhead_bytes: set.wire_overhead(scope)?.into(),
        ack_bytes: header.into(),
        data_packets_per_ack: set.ack_every(scope)?,
    })
}

fn extent(scope: &Scope<'_>) -> Result<Extent, SettingsError> {
    if scope.read(&MEASURE)? {
        refuse_beside(scope, &MEASURE, &[&FLOWS, &DURATION])?;
        let times = scope.optional(&WINDOW)?;
        return match times.as_deref() {
            Some([start, end]) if start < end => Ok(Extent::Window(*start, *end)),
            _ => Err(scope.invalid(&WINDOW, "its start and its end, such as window = [\"10ms\", \"60ms\"]")),
        };
    }
    match (scope.optional(&FLOWS)?, scope.optional(&DURATION)?) {
        (Some(flows), None) => Ok(Extent::Flows(flows)),
        (None, Some(duration)) => Ok(Extent::Until(duration)),
        (Some(_), Some(_)) => Err(scope.error(&DURATION, "`duration` beside `flows`").expected("one of the two")),
        (None, None) => Err(scope.invalid(&FLOWS, "`flows` or `duration` in [workload]")),
    }
}

/// Refuses keys that say the same as `key`, which is given.
fn refuse_beside(scope: &Scope<'_>, key: &Key, others: &[&Key]) -> Result<(), SettingsError> {
    let name = key.name;
    match others.iter().find(|other| scope.is_given(other)) {
        Some(other) => {
            let problem = format!("`{}` says nothing beside `{name}`", other.name);
            Err(scope.error(other, problem).expected(format!("one of the two: `{name}` decides it")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::none_given;

    fn settings() -> Settings {
        none_given().with(None, "sizes", "web-search").with(None, "load", 0.6).with(None, "flows", 100)
    }

    fn read(settings: &Settings) -> Result<Workload, Error> {
        let hosts = Hosts { bps: 10_000_000_000, racks: (0..144).map(|host| host / 16).collect() };
        Workload::read(settings, &hosts, &Files::default(), Path::new(""))
    }

    fn drawn(workload: &Workload) -> &Drawn {
        match &workload.origin {
            Origin::Drawn(drawn) => drawn,
            Origin::Listed(_) => panic!("a list"),
        }
    }

    fn rate(settings: &Settings) -> f64 {
        drawn(&read(settings).unwrap()).traffic.from_start.rate_per_host
    }

    #[test]
    fn read__web_search_as_ns2() {
        let workload = read(&settings()).unwrap();
        let offer = &drawn(&workload).traffic.from_start;
        let (rate_per_host, sizes) = (offer.rate_per_host, &offer.sizes);
        // The formula of the ns-2 scripts.
        let rate = 10e9 * 0.6 / (sizes.mean_bytes() * 8.0 * 1500.0 / 1460.0);
        assert!((rate_per_host - rate).abs() < 1e-6 * rate, "{rate_per_host} {rate}");
        assert_eq!(workload.extent, Extent::Flows(100));
        assert_eq!(workload.flows(1).unwrap().take(3).count(), 3);
        // Sizes are whole packets, so that the true load is the nominal one and 40 bytes of ACK a packet more.
        let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
        assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
        assert!((workload.packets_per_flow() - 2.0 * sizes.mean_bytes() / 1460.0).abs() < 1e-6);
    }

    #[test]
    fn read__says_what_is_missing_or_double() {
        let message = |settings: Settings| read(&settings).unwrap_err().to_string();
        let none = none_given();
        assert_eq!(message(none), "default: `sizes` is missing; expected `sizes`, `cdf` or `list` in [workload]");
        let both = settings().with(None, "duration", "1s");
        assert_eq!(message(both), "default: `duration` beside `flows`; expected one of the two");
        let window = settings().with(None, "measure", "window");
        assert!(message(window).contains("`flows` says nothing beside `measure`"));
        let tiny = settings().with(None, "mtu", "64B").with(None, "header", "64B");
        assert!(message(tiny).contains("more than the headers"));
    }

    #[test]
    fn flows__depend_on_the_seed_alone() {
        let workload = read(&settings()).unwrap();
        let first = |seed| workload.flows(seed).unwrap().take(50).collect::<Vec<_>>();
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
    }

    #[test]
    fn read__takes_the_rate_from_the_sources_mean_on_request() {
        let source = settings().with(None, "sizes", "web-search-source-mean");
        // The sizes stay, and so does what schemes look up by their name.
        let workload = read(&source).unwrap();
        assert_eq!(workload.distribution(), Some("web-search"));
        let mean = drawn(&workload).traffic.from_start.sizes.mean_bytes();
        assert!((rate(&source) / rate(&settings()) / (mean / 1_661_480.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn read__a_mix_offers_the_load_of_both() {
        let mixed = settings().with(None, "mix_sizes", "fixed(1460B)").with(None, "mix_share", 0.75);
        let workload = read(&mixed).unwrap();
        let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
        assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
        assert_eq!(workload.distribution(), None);
        // Three quarters have one packet, and a little more than a tenth of the others at most ten.
        assert_eq!([0.5, 0.75].map(|p| workload.quantile_bytes(p)), [Some(1_460), Some(1_460)]);
        assert!(workload.quantile_bytes(0.8).unwrap() > 10_000);
    }

    #[test]
    fn read__rising_pairs_have_the_load_on_every_host_link() {
        let mixed = settings().with(None, "mix_sizes", "fixed(14600B)").with(None, "mix_pairs", "rising");
        let workload = read(&mixed).unwrap();
        let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
        assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
        // As many bytes in the one direction as in the other, of whole packets.
        let offer = &drawn(&workload).traffic.from_start;
        let mix = offer.mix.as_ref().unwrap();
        assert!((mix.share * 14_600.0 / ((1.0 - mix.share) * offer.sizes.mean_bytes()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn read__listed_pairs_load_the_busiest_link() {
        let listed = none_given()
            .with(None, "sizes", "fixed(14600B)")
            .with(None, "mix_sizes", "fixed(1460KB)")
            .with(None, "mix_pairs", "from")
            .with(None, "mix_from", &["host1", "host3"][..])
            .with(None, "pattern", "listed")
            .with(None, "pairs", &["host2 to host0", "host1 to host0", "host3 to host0"][..])
            .with(None, "load", 0.5)
            .with(None, "flows", 100);
        let workload = read(&listed).unwrap();
        // Everything goes to host 0: data and ACKs on its link.
        let load = workload.offered_bps().unwrap() / 10e9;
        assert!((load - 0.5 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
        // One pair in three has short flows.
        assert_eq!(drawn(&workload).traffic.from_start.mix.as_ref().unwrap().share, 2.0 / 3.0);
    }

    #[test]
    fn read__a_change_keeps_the_load_or_takes_another() {
        let changing = |with: &[(&str, &str)]| {
            let settings = settings().with(None, "change_at", "35s");
            with.iter().fold(settings, |settings, (name, text)| settings.with(None, name, *text))
        };
        let workload = read(&changing(&[("change_sizes", "data-mining")])).unwrap();
        let (at, after) = drawn(&workload).traffic.change.clone().unwrap();
        assert_eq!(at, 35_000_000_000_000);
        let mining = settings().with(None, "sizes", "data-mining");
        assert_eq!(after.rate_per_host, rate(&mining));
        let louder = changing(&[]).with(None, "change_load", 0.9);
        let (_, after) = drawn(&read(&louder).unwrap()).traffic.change.clone().unwrap();
        assert!((after.rate_per_host / rate(&settings()) - 1.5).abs() < 1e-12);
        let nothing = read(&changing(&[])).unwrap_err().to_string();
        assert!(nothing.contains("`change_sizes`, `change_load` or both"), "{nothing}");
        // 100 flows are over long before the change.
        assert!((workload.packets_per_flow() - read(&settings()).unwrap().packets_per_flow()).abs() < 1e-9);
    }

    #[test]
    fn read__a_trace_has_its_own_rate_or_the_loads() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("starts.csv"), "start_s\n0.001\n0.004\n").unwrap();
        let hosts = Hosts { bps: 10_000_000_000, racks: [0, 0, 1, 1].into() };
        let files = Files::default();
        let of = |settings: &Settings| Workload::read(settings, &hosts, &files, folder.path()).unwrap();
        let trace = |sizes: &str| {
            none_given().with(None, "sizes", sizes).with(None, "flows", 100).with(None, "arrivals", "trace").with(
                None,
                "arrival_trace",
                "starts.csv",
            )
        };
        let own = of(&trace("fixed(1460B)"));
        let starts: Vec<u64> = own.flows(1).unwrap().take(4).map(|flow| flow.start_ps / 1_000_000_000).collect();
        assert_eq!((starts, own.load()), (vec![1, 4, 5, 8], None));
        let loaded = of(&trace("fixed(1460B)").with(None, "load", 0.5));
        assert!((loaded.offered_bps().unwrap() / (4.0 * 10e9) - 0.5 * 1540.0 / 1500.0).abs() < 1e-9);
        // The gaps of the trace, in proportion.
        let starts: Vec<u64> = loaded.flows(1).unwrap().take(2).map(|flow| flow.start_ps).collect();
        assert!(starts[1].abs_diff(4 * starts[0]) <= 4, "{starts:?}");
    }

    #[test]
    fn read__deadlines_change_nothing_but_deadlines() {
        let bare: Vec<Flow> = read(&settings()).unwrap().flows(1).unwrap().take(500).collect();
        for (rule, time) in [("fixed", Some("1ms")), ("exponential", Some("1ms")), ("qcluster", None)] {
            let with = settings().with(None, "deadlines", rule).with(None, "deadline_up_to", "200KB");
            let with = time.iter().fold(with, |with, time| with.with(None, "deadline_time", *time));
            let workload = read(&with).unwrap();
            assert_eq!(workload.extras(), Extras { deadlines: true, coflows: false });
            let due: Vec<Flow> = workload.flows(1).unwrap().take(500).collect();
            for (bare, due) in bare.iter().zip(&due) {
                assert_eq!(*bare, Flow { deadline_ps: None, ..*due });
                assert_eq!(due.deadline_ps.is_some(), due.bytes <= 200_000);
            }
            assert!(due.iter().any(|flow| flow.deadline_ps.is_some()), "{rule}");
        }
        let timeless = read(&settings().with(None, "deadlines", "fixed")).unwrap_err().to_string();
        assert!(timeless.contains("`deadline_time` is missing"), "{timeless}");
    }

    #[test]
    fn read__patterns_say_what_hosts_cannot_do() {
        let message = |settings: Settings| read(&settings).unwrap_err().to_string();
        let incast = settings().with(None, "pattern", "incast");
        assert!(message(incast).contains("the number of hosts that answer a request"));
        let many = settings().with(None, "pattern", "incast").with(None, "fan_in", 144);
        assert!(message(many).contains("144 hosts answer a request; expected 1 to 143"));
        let local = settings().with(None, "pattern", "rack-local");
        assert!(message(local).contains("the share of the flows that stay within their rack"));
        let good = settings().with(None, "pattern", "rack-local").with(None, "rack_local", 1.0);
        assert!(read(&good).unwrap().flows(1).unwrap().take(100).all(|flow| flow.src / 16 == flow.dst / 16));
    }

    #[test]
    fn quantile_bytes__of_a_list_are_its_sizes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flows.csv"), "0,0,1,300,0.5\n0,1,0,100,\n").unwrap();
        let hosts = Hosts { bps: 10_000_000_000, racks: [0, 0].into() };
        let settings = none_given().with(None, "list", "flows.csv");
        let workload = Workload::read(&settings, &hosts, &Files::default(), folder.path()).unwrap();
        assert_eq!([0.5, 1.0].map(|p| workload.quantile_bytes(p)), [Some(100), Some(300)]);
        assert_eq!(workload.extras(), Extras { deadlines: true, coflows: false });
    }
}
