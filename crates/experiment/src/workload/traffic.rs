//! The keys of `[workload]` that say what is drawn: sizes, load, arrivals, pattern, a mix and a change.

use crate::error::Error;
use crate::workload::Hosts;
use crate::workload::sizes::{Reader, Sizes};
use flowsieve_schemes::settings::SettingsError;
use flowsieve_workload::{
    Arrivals, Framing, Generator, GeneratorError, LoadCounts, Mix, Offer, Pattern, PatternError, SizeDistribution,
    Traffic, arrival_rate, counted_bytes,
};
use std::sync::Arc;

/// What a workload draws from.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) traffic: Traffic,
    /// The load from the start; none where a trace has its own rate.
    pub(super) load: Option<f64>,
    /// The built-in distribution that all flows have at the start, if they have one.
    pub(super) builtin: Option<&'static str>,
}

/// Reads them all; the load counts bytes as `counts` says.
pub(super) fn read(reader: &Reader<'_>, hosts: &Hosts, framing: &Framing, counts: &str) -> Result<Drawn, Error> {
    let scope = reader.scope;
    let (arrivals, own_rate) = arrivals(reader)?;
    let pattern = pattern(reader, hosts)?;
    let sizes = reader.of_workload()?;
    let mix = mix(reader)?;
    let load = scope.optional_number("load")?;
    // A trace at its own rate has nothing to count.
    let counts = match (load, &own_rate) {
        (None, Some(_)) => None,
        _ => Some(scope.choice("load_counts", LoadCounts::NAMES, counts)?),
    };
    let offer = |sizes: &Sizes, (key, load): (&str, Option<f64>)| -> Result<Offer, Error> {
        let counted = |sizes: &Sizes, counts: LoadCounts| {
            let bytes = counted_bytes(counts, framing, &sizes.distribution);
            sizes.rate_mean.map_or(bytes, |mean| bytes * (mean / sizes.distribution.mean_bytes()))
        };
        let rate_per_host = match (load, counts, own_rate) {
            (Some(load), Some(counts), _) => {
                let bytes = match &mix {
                    None => counted(sizes, counts),
                    Some((other, share)) => (1.0 - share) * counted(sizes, counts) + share * counted(other, counts),
                };
                arrival_rate(load, hosts.bps, bytes).map_err(|error| scope.error(key, error.to_string()))?
            }
            (_, _, Some(arrivals_per_second)) => {
                arrivals_per_second * pattern.flows_per_arrival() / f64::from(hosts.racks.len() as u32)
            }
            _ => return Err(scope.invalid("load", "a load of the host links, in [workload] or [sweep]").into()),
        };
        let mix = mix.as_ref().map(|(sizes, share)| Mix { sizes: sizes.distribution.clone(), share: *share });
        Ok(Offer { sizes: sizes.distribution.clone(), mix, rate_per_host })
    };
    let from_start = offer(&sizes, ("load", load))?;
    let change = match scope.optional_time("change_at")? {
        None => None,
        Some(at) => {
            let to =
                scope.optional_text("change_sizes")?.map(|text| reader.of_text("change_sizes", &text)).transpose()?;
            let change_load = scope.optional_number("change_load")?;
            if to.is_none() && change_load.is_none() {
                return Err(scope.invalid("change_at", "`change_sizes`, `change_load` or both beside it").into());
            }
            if change_load.is_some() && load.is_none() {
                let problem = "`change_load` without `load`";
                return Err(scope.error("change_load", problem).expected("a load from the start, too").into());
            }
            let after = change_load.map_or(("load", load), |load| ("change_load", Some(load)));
            Some((at, offer(to.as_ref().unwrap_or(&sizes), after)?))
        }
    };
    let hosts = hosts.racks.len() as u32;
    let builtin = if mix.is_some() { None } else { sizes.builtin };
    let drawn = Drawn { traffic: Traffic { hosts, pattern, arrivals, from_start, change }, load, builtin };
    // Whether flows can be drawn at all does not depend on the seed.
    Generator::of(&drawn.traffic, 0).map_err(|error| impossible(reader, &drawn.traffic, error))?;
    Ok(drawn)
}

/// When flows arrive, and the arrivals per second where these have a rate of their own.
fn arrivals(reader: &Reader<'_>) -> Result<(Arrivals, Option<f64>), Error> {
    let scope = reader.scope;
    let name =
        scope.choice("arrivals", &[("poisson", "poisson"), ("fixed", "fixed"), ("trace", "trace")], "poisson")?;
    match name {
        "poisson" => Ok((Arrivals::Poisson, None)),
        "fixed" => Ok((Arrivals::Fixed, None)),
        _ => {
            let Some(file) = scope.optional_text("arrival_trace")? else {
                return Err(scope.invalid("arrival_trace", "a file of starts beside arrivals = \"trace\"").into());
            };
            let read = reader.files.trace(scope, &reader.folder.join(file))?;
            reader.settings.note("workload.arrival_trace.digest", &read.digest);
            Ok((Arrivals::Trace(Arc::clone(&read.trace)), Some(read.trace.rate())))
        }
    }
}

fn pattern(reader: &Reader<'_>, hosts: &Hosts) -> Result<Pattern, SettingsError> {
    let scope = reader.scope;
    let names = ["all-to-all", "incast", "permutation", "rack-local"].map(|name| (name, name));
    match scope.choice("pattern", &names, "all-to-all")? {
        "incast" => {
            let Some(fan_in) = scope.optional_count("fan_in")? else {
                return Err(scope.invalid("fan_in", "the number of hosts that answer a request"));
            };
            let share = scope.number("incast_share", 1.0)?;
            // The key's own limits keep it within 32 bits.
            Ok(Pattern::Incast { fan_in: u32::try_from(fan_in).unwrap_or(u32::MAX), share })
        }
        "permutation" => Ok(Pattern::Permutation),
        "rack-local" => {
            let Some(share) = scope.optional_number("rack_local")? else {
                return Err(scope.invalid("rack_local", "the share of the flows that stay within their rack"));
            };
            Ok(Pattern::RackLocal { racks: Arc::clone(&hosts.racks), share })
        }
        _ => Ok(Pattern::AllToAll),
    }
}

/// The second workload and the share of the host pairs that have it.
fn mix(reader: &Reader<'_>) -> Result<Option<(Sizes, f64)>, Error> {
    let Some(text) = reader.scope.optional_text("mix_sizes")? else { return Ok(None) };
    let sizes = reader.of_text("mix_sizes", &text)?;
    Ok(Some((sizes, reader.scope.number("mix_share", 0.5)?)))
}

/// The error of traffic that cannot be drawn, at the key that decides it.
fn impossible(reader: &Reader<'_>, traffic: &Traffic, error: GeneratorError) -> Error {
    let key = match (error, &traffic.pattern) {
        (GeneratorError::Pattern(PatternError::FanIn { .. }), _) => "fan_in",
        (GeneratorError::Pattern(PatternError::Share(_)), Pattern::Incast { .. }) => "incast_share",
        (GeneratorError::Pattern(_), Pattern::RackLocal { .. }) => "rack_local",
        (GeneratorError::Pattern(_), _) => "pattern",
        (GeneratorError::Rate(_), _) => "load",
    };
    reader.scope.error(key, error.to_string()).into()
}

impl Drawn {
    /// The flows that arrive per second from the start and from a change on.
    fn rates(&self) -> (f64, f64) {
        let of = |offer: &Offer| offer.rate_per_host * f64::from(self.traffic.hosts);
        let first = of(&self.traffic.from_start);
        (first, self.traffic.change.as_ref().map_or(first, |(_, offer)| of(offer)))
    }

    /// About how many flows arrive until `end_ps`.
    pub(super) fn flows_until(&self, end_ps: u64) -> f64 {
        let at = self.traffic.change.as_ref().map_or(u64::MAX, |(at, _)| *at).min(end_ps);
        let (before, after) = self.rates();
        (before * at as f64 + after * (end_ps - at) as f64) / 1e12
    }

    /// The mean over about the first `flows` flows of a `measure` that sizes have.
    pub(super) fn mean_of(&self, flows: f64, measure: impl Fn(&SizeDistribution) -> f64) -> f64 {
        let first = self.traffic.from_start.mean_of(&measure);
        let Some((at, offer)) = &self.traffic.change else { return first };
        let share = (self.rates().0 * *at as f64 / 1e12 / flows.max(1.0)).min(1.0);
        share * first + (1.0 - share) * offer.mean_of(&measure)
    }

    /// The bit/s of `bytes` that sizes take, over all hosts, in the heavier of the times before and after a change.
    pub(super) fn heaviest_bps(&self, bytes: impl Fn(&SizeDistribution) -> f64) -> f64 {
        let (before, after) = self.rates();
        let first = before * self.traffic.from_start.mean_of(&bytes) * 8.0;
        let then = self.traffic.change.as_ref().map_or(0.0, |(_, offer)| after * offer.mean_of(&bytes) * 8.0);
        first.max(then)
    }
}
