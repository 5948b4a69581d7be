//! The keys of `[workload]` for collective operations of groups of hosts.

use super::pattern::{PATTERN, PatternName};
use super::sizes::Reader;
use super::{CDF, Hosts, SIZES, refuse_window};
use flowsieve_experiment::Error;
use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, Origin, Scaled, Scope, Section, Setting, SettingsError};
use flowsieve_workload::{CollectiveError, Collectives, Exchange, Framing, SizeDistribution};
use std::sync::Arc;

/// Which hosts are a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grouping {
    Neighbours,
    Apart,
}

declare! {
    static COLLECTIVES: Setting<u64> = Setting::count(
        Section::Workload, "collectives", 1, 10_000_000,
        "collectives of each group, one after the other: every flow counts, and the fabric drains",
    )
    .scaled(Scaled::Amount)
    .needs("a `pattern` that is a collective");
    static GROUP_SIZE: Setting<u64> = Setting::count(
        Section::Workload, "group_size", 1, 65_535, "collectives: hosts of a group; a divisor of the number of hosts",
    )
    .needs("a `pattern` that is a collective");
    static GROUPING: Setting<Grouping> = Setting::choice(
        Section::Workload,
        "grouping",
        &[("neighbours", Grouping::Neighbours), ("apart", Grouping::Apart)],
        "collectives: whether a group's hosts are neighbours by number, or as far apart as there are groups",
    )
    .with_default(Grouping::Neighbours)
    .needs("a `pattern` that is a collective");
    static GROUP_CLASSES: Setting<bool> = Setting::flag(
        Section::Workload, "group_classes", "collectives: whether each group, as a job, is a class of traffic of its own",
    )
    .needs("a `pattern` that is a collective");
    pub(crate) static COMPUTE_GAP: Setting<u64> = Setting::time(
        Section::Workload, "compute_gap", 0, MAX_TIME_PS,
        "collectives: how long a host computes when it has all of one, before its part of the next",
    )
    .with_default(0)
    .needs("a `pattern` that is a collective");
}

/// Collectives as in the settings.
#[derive(Debug, Clone)]
pub(super) struct Collective {
    of_seed_0: Collectives,
    /// Estimate of the shortest time of one: a host's bytes on its link, and the gap.
    idle_ps: f64,
    /// The gap between two.
    gap_ps: f64,
    /// Where it is said that each group is a class, if it is.
    classes: Option<Origin>,
}

/// Returns the exchange of a pattern that is a collective.
fn exchange(pattern: PatternName) -> Option<Exchange> {
    match pattern {
        PatternName::AllReduceRing => Some(Exchange::Ring),
        PatternName::AllReduceTree => Some(Exchange::Tree),
        PatternName::AllToAllV => Some(Exchange::AllToAllV),
        _ => None,
    }
}

/// Returns whether the pattern that is given is a collective.
pub(super) fn is_given(scope: &Scope<'_>) -> Result<bool, SettingsError> {
    Ok(scope.is_given(&PATTERN) && exchange(scope.read(&PATTERN)?).is_some())
}

impl Collective {
    /// Reads the collectives, if the pattern is one.
    pub(super) fn read(reader: &Reader<'_>, hosts: &Hosts, framing: &Framing) -> Result<Option<Collective>, Error> {
        let scope = reader.scope;
        if !is_given(scope)? {
            return Ok(None);
        }
        let Some(exchange) = exchange(scope.read(&PATTERN)?) else { return Ok(None) };
        refuse_window(scope, &PATTERN)?;
        let repeats = scope.needed(&COLLECTIVES, "how many collectives each group makes, such as 10")?;
        let count = hosts.racks.len() as u32;
        let size = scope.read_or(&GROUP_SIZE, u64::from(count))? as u32;
        let groups = count.checked_div(size).unwrap_or(0);
        let members: Arc<[u32]> = match scope.read(&GROUPING)? {
            Grouping::Neighbours => (0..count).collect(),
            Grouping::Apart => (0..groups).flat_map(|group| (0..size).map(move |nth| nth * groups + group)).collect(),
        };
        let classes = scope.optional(&GROUP_CLASSES)?.unwrap_or(false);
        if classes && groups > 256 {
            return Err(scope
                .invalid(&GROUP_CLASSES, format!("false: {groups} groups are more than 256 classes"))
                .into());
        }
        // A rest shows in the number of hosts.
        let members = if count.is_multiple_of(size.max(1)) { members } else { (0..count).collect() };
        let gap_ps = scope.read(&COMPUTE_GAP)?;
        let sizes = reader.of_workload()?.distribution;
        let bytes = framing.cost(&sizes).data_bytes;
        // The keys' own limits keep them within 32 bits.
        let made = Collectives::new(exchange, (members, size), (repeats as u32, gap_ps), sizes, 0);
        let of_seed_0 = made.map_err(|error| match error {
            CollectiveError::Many(_) => scope.error(&COLLECTIVES, error.to_string()),
            _ => {
                scope.error(&GROUP_SIZE, error.to_string()).expected(format!("a divisor of {count} hosts, 2 at least"))
            }
        })?;
        let parts = u64::from(of_seed_0.parts());
        let of_seed_0 = if classes { of_seed_0.with_classes() } else { of_seed_0 };
        // Less than one vector in a million may be smaller.
        let smallest = of_seed_0.sizes().quantile(1e-6);
        if smallest < parts {
            let key: &Key = if scope.is_given(&CDF) { &CDF } else { &SIZES };
            let problem =
                format!("a vector of {smallest} bytes cannot be cut into {parts} chunks, one for each host of a group");
            return Err(scope.error(key, problem).expected(format!("at least {parts} bytes")).into());
        }
        let bits = 8.0 * bytes * of_seed_0.bytes_of_host();
        let gap_ps = gap_ps as f64;
        let idle_ps = bits / hosts.bps.max(1) as f64 * 1e12 + gap_ps;
        let classes = classes.then(|| scope.error(&GROUP_CLASSES, "").origin);
        Ok(Some(Collective { of_seed_0, idle_ps, gap_ps, classes }))
    }

    /// Returns the highest class of its flows if its groups are classes, and the error if that is not allowed.
    pub(super) fn highest_class(&self) -> Option<(u8, Error)> {
        let (class, origin) = (self.of_seed_0.groups() - 1, self.classes.clone()?);
        let error = SettingsError::new(origin, format!("the last of the groups has class {class}"));
        Some((class as u8, error.of_key(GROUP_CLASSES.name).into()))
    }

    /// Returns how many hosts send to one at once.
    pub(super) fn senders(&self) -> u32 {
        self.of_seed_0.senders()
    }

    pub(super) fn with_seed(&self, seed: u64) -> Collectives {
        self.of_seed_0.clone().with_seed(seed)
    }

    /// Returns the number of messages of all collectives.
    pub(super) fn messages(&self) -> f64 {
        f64::from(self.of_seed_0.messages())
    }

    /// Estimates how many of them begin before a time.
    pub(super) fn messages_until(&self, end_ps: u64) -> f64 {
        self.messages() * (end_ps as f64 / self.span_ps().max(1.0)).min(1.0)
    }

    /// Estimates the least time that all of them take, in ps.
    pub(super) fn span_ps(&self) -> f64 {
        self.idle_ps * f64::from(self.of_seed_0.collectives() / self.of_seed_0.groups()) - self.gap_ps
    }

    /// Estimates the number of packets of a message, data and ACKs.
    pub(super) fn packets_per_message(&self, framing: &Framing) -> f64 {
        let cost = framing.cost(self.sizes());
        ((cost.data_packets + cost.acks) / f64::from(self.of_seed_0.parts())).max(2.0)
    }

    /// Returns the distribution that sizes are drawn from.
    pub(super) fn sizes(&self) -> &SizeDistribution {
        self.of_seed_0.sizes()
    }

    /// Returns the size of messages that a share of them does not exceed.
    pub(super) fn quantile(&self, p: f64) -> u64 {
        self.sizes().quantile(p).div_ceil(u64::from(self.of_seed_0.parts()))
    }

    /// Returns the share of the messages that are not larger than `bytes`.
    pub(super) fn cdf(&self, bytes: u64) -> f64 {
        self.sizes().cdf(bytes.saturating_mul(self.of_seed_0.parts().into()))
    }

    /// Returns the pairs of hosts that exchange data, each as often as in a collective.
    pub(super) fn pairs(&self) -> Vec<(u32, u32)> {
        self.of_seed_0.pairs()
    }
}

/// Refuses collectives among several workloads.
pub(super) fn refuse_among_several(scope: &Scope<'_>, expected: &str) -> Result<(), SettingsError> {
    if is_given(scope)? {
        return Err(scope.error(&PATTERN, "a collective among several workloads").expected(expected));
    }
    Ok(())
}

/// Returns the key that makes a workload one of collectives.
pub(crate) fn key() -> &'static Key {
    PATTERN.key()
}
