//! The `[workload]` of a point: which flows it sends, and how many of them.
//!
//! Everything is read from what holds for all schemes, so that schemes get the same flows. Loads are of the host
//! links; the arrival rate comes from the mean of the very distribution that is drawn from.

use crate::error::Error;
use flowsieve_schemes::WorkloadFacts;
use flowsieve_schemes::parameters::{self, ParameterSet};
use flowsieve_schemes::settings::{Scope, Settings, SettingsError};
use flowsieve_workload::{
    Flow, Framing, Generator, LoadCounts, Reading, Rounding, SizeDistribution, arrival_rate_per_host, builtin,
    builtins, flow_list,
};
use std::io::{BufReader, Read};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// Longest file of a distribution that is read, in bytes.
const MAX_CDF_BYTES: u64 = 16 << 20;

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

/// Where flows come from.
#[derive(Debug, Clone)]
enum Origin {
    Drawn { sizes: SizeDistribution, load: f64, rate_per_host: f64 },
    Listed(Arc<Vec<Flow>>),
}

/// The workload of a point.
#[derive(Debug, Clone)]
pub struct Workload {
    origin: Origin,
    builtin: Option<&'static str>,
    hosts: u32,
    /// Which flows there are.
    pub extent: Extent,
    /// How packets lie on the wire, as the load counts them.
    pub framing: Framing,
}

impl WorkloadFacts for Workload {
    fn distribution(&self) -> Option<&str> {
        self.builtin
    }

    fn load(&self) -> Option<f64> {
        match &self.origin {
            Origin::Drawn { load, .. } => Some(*load),
            Origin::Listed(_) => None,
        }
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        match &self.origin {
            Origin::Drawn { sizes, .. } => Some(sizes.quantile(p)),
            Origin::Listed(_) => None,
        }
    }
}

impl Workload {
    /// Reads the workload for a fabric of `hosts` whose links have `host_bps`. Paths are relative to `folder`.
    pub fn read(settings: &Settings, hosts: u32, host_bps: u64, folder: &Path) -> Result<Workload, Error> {
        let scope = settings.common();
        let set = ParameterSet::read(&scope)?;
        let framing = framing(&scope, set)?;
        if let Some(path) = scope.optional_text("list")? {
            refuse_beside(&scope, "list", &["sizes", "cdf", "load", "flows", "duration"])?;
            let flows = listed(&scope, &folder.join(path), hosts)?;
            settings.note("workload.list.digest", digest(&flows));
            // The list itself says how many; all of it counts.
            let extent = Extent::Flows(flows.len() as u64);
            return Ok(Workload { origin: Origin::Listed(Arc::new(flows)), builtin: None, hosts, extent, framing });
        }
        scope.choice("arrivals", &[("poisson", ())], "poisson")?;
        scope.choice("pattern", &[("all-to-all", ())], "all-to-all")?;
        let (sizes, builtin) = sizes(settings, &scope, framing.payload_bytes, folder)?;
        let counts = scope.choice("load_counts", LoadCounts::NAMES, set.load_counts())?;
        let Some(load) = scope.optional_number("load")? else {
            return Err(scope.invalid("load", "a load of the host links, in [workload] or [sweep]").into());
        };
        let rate_per_host = arrival_rate_per_host(load, counts, host_bps, &framing, &sizes)
            .map_err(|error| scope.error("load", error.to_string()))?;
        let extent = extent(&scope)?;
        let workload =
            Workload { origin: Origin::Drawn { sizes, load, rate_per_host }, builtin, hosts, extent, framing };
        // Whether flows can be drawn at all does not depend on the seed.
        drop(workload.flows(0).map_err(|problem| scope.error("load", problem))?);
        Ok(workload)
    }

    /// The flows in the order of their starts: without end, or all of a list.
    pub fn flows(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        match &self.origin {
            Origin::Drawn { sizes, rate_per_host, .. } => {
                let generator = Generator::new(sizes.clone(), *rate_per_host, self.hosts, seed);
                Ok(Box::new(generator.map_err(|error| error.to_string())?))
            }
            Origin::Listed(flows) => {
                let flows = Arc::clone(flows);
                Ok(Box::new((0..flows.len()).map(move |index| flows[index])))
            }
        }
    }

    /// About how many flows a run has.
    pub fn expected_flows(&self) -> f64 {
        let rate = match &self.origin {
            Origin::Drawn { rate_per_host, .. } => rate_per_host * f64::from(self.hosts),
            Origin::Listed(flows) => return flows.len() as f64,
        };
        match self.extent {
            Extent::Flows(flows) => flows as f64,
            // Arrivals go on a little after the window; how long depends on its last flows.
            Extent::Until(end) | Extent::Window(_, end) => rate * end as f64 / 1e12,
        }
    }

    /// About how many packets a flow takes, data and ACKs.
    pub fn packets_per_flow(&self) -> f64 {
        match &self.origin {
            Origin::Drawn { sizes, .. } => {
                let cost = self.framing.cost(sizes);
                cost.data_packets + cost.acks
            }
            Origin::Listed(flows) => {
                let payload = u64::from(self.framing.payload_bytes.get());
                let data: u64 = flows.iter().map(|flow| flow.bytes.div_ceil(payload)).sum();
                let acks = data as f64 / f64::from(self.framing.data_packets_per_ack.max(1));
                (data as f64 + acks) / flows.len().max(1) as f64
            }
        }
    }

    /// The bit/s that data and ACKs of all hosts take on each link of a flow's way, framing included; none for a list.
    pub fn offered_bps(&self) -> Option<f64> {
        let Origin::Drawn { sizes, rate_per_host, .. } = &self.origin else { return None };
        let cost = self.framing.cost(sizes);
        Some(rate_per_host * f64::from(self.hosts) * (cost.data_bytes + cost.ack_bytes) * 8.0)
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
    if scope.choice("measure", &[("all", false), ("window", true)], "all")? {
        refuse_beside(scope, "measure", &["flows", "duration"])?;
        let times = scope.time_list("window")?;
        return match times.as_deref() {
            Some([start, end]) if start < end => Ok(Extent::Window(*start, *end)),
            _ => Err(scope.invalid("window", "its start and its end, such as window = [\"10ms\", \"60ms\"]")),
        };
    }
    match (scope.optional_count("flows")?, scope.optional_time("duration")?) {
        (Some(flows), None) => Ok(Extent::Flows(flows)),
        (None, Some(duration)) => Ok(Extent::Until(duration)),
        (Some(_), Some(_)) => Err(scope.error("duration", "`duration` beside `flows`").expected("one of the two")),
        (None, None) => Err(scope.invalid("flows", "`flows` or `duration` in [workload]")),
    }
}

/// Refuses keys that say the same as `name`, which is given.
fn refuse_beside(scope: &Scope<'_>, name: &str, others: &[&str]) -> Result<(), SettingsError> {
    match others.iter().find(|other| scope.is_given(other)) {
        Some(other) => {
            let problem = format!("`{other}` says nothing beside `{name}`");
            Err(scope.error(other, problem).expected(format!("one of the two: `{name}` decides it")))
        }
        None => Ok(()),
    }
}

fn sizes(
    settings: &Settings,
    scope: &Scope<'_>,
    payload: NonZeroU32,
    folder: &Path,
) -> Result<(SizeDistribution, Option<&'static str>), Error> {
    let file = scope.optional_text("cdf")?;
    let chosen = match (&file, scope.optional_text("sizes")?) {
        (Some(_), Some(_)) => return Err(scope.error("cdf", "`cdf` beside `sizes`").expected("one of the two").into()),
        (Some(_), None) => None,
        (None, Some(name)) => match builtin(&name) {
            Some(builtin) => Some(builtin),
            None => {
                let names = builtins().iter().map(|builtin| builtin.name);
                return Err(scope
                    .invalid("sizes", "a built-in distribution (see `flowsieve list workloads`)")
                    .names(name, names)
                    .into());
            }
        },
        (None, None) => return Err(scope.invalid("sizes", "`sizes`, `cdf` or `list` in [workload]").into()),
    };
    let default_reading = chosen.map_or(Reading::Interpolated, |builtin| builtin.reading).to_string();
    let reading = scope.choice("reading", Reading::NAMES, &default_reading)?;
    let rounding = if scope.is_given("rounding") || chosen.is_none() {
        scope.choice("rounding", &[("bytes", Rounding::Bytes), ("packets", Rounding::Packets { payload })], "bytes")?
    } else {
        chosen.map_or(Rounding::Bytes, |builtin| builtin.rounding)
    };
    settings.note("workload.rounding", rounding);
    let (name, text) = match (chosen, file) {
        (Some(builtin), _) => (builtin.name.to_owned(), builtin.text.to_owned()),
        (None, file) => {
            let path = folder.join(file.unwrap_or_default());
            (path.display().to_string(), read_text(scope, &path)?)
        }
    };
    settings.note("workload.sizes.digest", blake3::hash(text.as_bytes()).to_hex());
    let sizes = SizeDistribution::parse(&name, &text, reading, rounding);
    Ok((sizes.map_err(|error| Error::Input(error.to_string()))?, chosen.map(|builtin| builtin.name)))
}

/// The error of a file that a key names and that cannot be read.
fn unreadable(scope: &Scope<'_>, key: &str, path: &Path, problem: impl std::fmt::Display) -> SettingsError {
    let expected = "a file that can be read; its path is relative to the experiment file's folder";
    scope.error(key, format!("{}: {problem}", path.display())).expected(expected)
}

fn read_text(scope: &Scope<'_>, path: &Path) -> Result<String, SettingsError> {
    let file = std::fs::File::open(path).map_err(|error| unreadable(scope, "cdf", path, error))?;
    let mut text = String::new();
    let read = file.take(MAX_CDF_BYTES + 1).read_to_string(&mut text);
    let read = read.map_err(|error| unreadable(scope, "cdf", path, error))?;
    if read as u64 > MAX_CDF_BYTES {
        return Err(unreadable(scope, "cdf", path, format!("is longer than {MAX_CDF_BYTES} bytes")));
    }
    Ok(text)
}

fn listed(scope: &Scope<'_>, path: &Path, hosts: u32) -> Result<Vec<Flow>, Error> {
    let file = std::fs::File::open(path).map_err(|error| unreadable(scope, "list", path, error))?;
    let name = path.display().to_string();
    flow_list::read(&name, BufReader::new(file), hosts).map_err(|error| Error::Input(error.to_string()))
}

/// Names a flow list by its flows, however the file writes them.
fn digest(flows: &[Flow]) -> String {
    let mut hasher = blake3::Hasher::new();
    for flow in flows {
        hasher.update(&flow.start_ps.to_le_bytes());
        hasher.update(&flow.src.to_le_bytes());
        hasher.update(&flow.dst.to_le_bytes());
        hasher.update(&flow.bytes.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::default().with(None, "sizes", "web-search").with(None, "load", 0.6).with(None, "flows", 100)
    }

    fn read(settings: &Settings) -> Result<Workload, Error> {
        Workload::read(settings, 144, 10_000_000_000, Path::new(""))
    }

    #[test]
    fn read__web_search_as_ns2() {
        let workload = read(&settings()).unwrap();
        let Origin::Drawn { rate_per_host, sizes, .. } = &workload.origin else { panic!() };
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
        let none = Settings::default();
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
}
