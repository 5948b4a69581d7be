//! The keys of `[workload]` that say what is drawn: sizes, load, arrivals, pattern, a mix and a change.

use crate::error::Error;
use crate::workload::Hosts;
use crate::workload::sizes::{Reader, Sizes};
use flowsieve_schemes::settings::{Scope, SettingsError};
use flowsieve_workload::{
    Arrivals, ClosedLoop, DeadlineRule, Deadlines, Framing, Generator, GeneratorError, ListedPair, LoadCounts, Mix,
    MixPairs, Offer, Pattern, PatternError, SizeDistribution, Think, Traffic, arrival_rate, counted_bytes,
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
    /// Set where flows follow others of the traffic's sizes and hosts; its rate is then that of an idle fabric.
    pub(super) closed: Option<Loops>,
    /// Which flows have deadlines.
    pub(super) deadlines: Option<Deadlines>,
}

/// Closed loops of every host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loops {
    pub(super) outstanding: u32,
    pub(super) think: Think,
}

impl Loops {
    /// Flows that a host starts per second where each takes as long as its bytes take on the host's link.
    fn idle_rate(&self, bps: u64, mean_bytes: f64) -> f64 {
        let seconds = 8.0 * mean_bytes / bps.max(1) as f64;
        let (Think::Fixed(ps) | Think::Exponential(ps)) = self.think;
        (f64::from(self.outstanding) / (seconds + ps as f64 / 1e12)).min(1.0 / seconds)
    }
}

/// When flows arrive.
enum When {
    /// At a rate that the load decides, or at the trace's own in flows per second.
    Open(Arrivals, Option<f64>),
    Closed(Loops),
}

/// Reads them all; the load counts bytes as `counts` says.
pub(super) fn read(reader: &Reader<'_>, hosts: &Hosts, framing: &Framing, counts: &str) -> Result<Drawn, Error> {
    let scope = reader.scope;
    let (arrivals, own_rate) = match arrivals(reader)? {
        When::Open(arrivals, own_rate) => (arrivals, own_rate),
        When::Closed(loops) => return closed(reader, hosts, loops),
    };
    let pattern = pattern(reader, hosts)?;
    let sizes = reader.of_workload()?;
    let mix = mix(reader, &pattern, hosts)?;
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
        let second = mix.as_ref().map_or(sizes, |(second, _)| second);
        let each = counts.map(|counts| [sizes, second].map(|sizes| counted(sizes, counts)));
        let mut offer = Offer {
            sizes: sizes.distribution.clone(),
            mix: mix.as_ref().map(|(other, which)| {
                which.of(other, each.unwrap_or([sizes, second].map(|sizes| sizes.distribution.mean_bytes())))
            }),
            rate_per_host: 0.0,
        };
        offer.rate_per_host = match (load, each, own_rate) {
            (Some(load), Some([first, second]), _) => {
                let rate = |bytes| arrival_rate(load, hosts.bps, bytes);
                let share = offer.mix.as_ref().map_or(0.0, |mix| mix.share);
                match pattern.busiest(|pair| offer.mean_of_pair(pair, [first, second])) {
                    None => rate((1.0 - share) * first + share * second),
                    Some(bytes) => rate(bytes).map(|all| all / f64::from(hosts.racks.len() as u32)),
                }
                .map_err(|error| scope.error(key, error.to_string()))?
            }
            (_, _, Some(arrivals_per_second)) => {
                arrivals_per_second * pattern.flows_per_arrival() / f64::from(hosts.racks.len() as u32)
            }
            _ => return Err(scope.invalid("load", "a load of the host links, in [workload] or [sweep]").into()),
        };
        Ok(offer)
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
    let deadlines = deadlines(scope)?;
    let builtin = if mix.is_some() { None } else { sizes.builtin };
    let drawn = Drawn {
        traffic: Traffic { hosts, pattern, arrivals, from_start, change },
        load,
        builtin,
        closed: None,
        deadlines,
    };
    // Whether flows can be drawn at all does not depend on the seed.
    Generator::of(&drawn.traffic, 0).map_err(|error| impossible(reader, &drawn.traffic, error))?;
    Ok(drawn)
}

/// The same where flows wait for others.
fn closed(reader: &Reader<'_>, hosts: &Hosts, loops: Loops) -> Result<Drawn, Error> {
    let scope = reader.scope;
    let at_a_rate = ["load", "load_counts", "change_at", "change_sizes", "change_load"];
    if let Some(other) = at_a_rate.iter().find(|other| scope.is_given(other)) {
        let problem = format!("`{other}` says nothing beside arrivals = \"closed-loop\"");
        let expected =
            "no load: flows start as soon as others have finished, which `outstanding` and `think_time` decide";
        return Err(scope.error(other, problem).expected(expected).into());
    }
    let pattern = pattern(reader, hosts)?;
    if matches!(pattern, Pattern::Incast { .. } | Pattern::Listed(_)) {
        let problem = format!("{} with arrivals = \"closed-loop\"", scope.text("pattern", "")?);
        return Err(scope
            .error("pattern", problem)
            .expected("a pattern in which each flow has a sender of its own")
            .into());
    }
    let sizes = reader.of_workload()?;
    let mix = mix(reader, &pattern, hosts)?.map(|(sizes, which)| which.of(&sizes, [1.0; 2]));
    let builtin = if mix.is_some() { None } else { sizes.builtin };
    let mut from_start = Offer { sizes: sizes.distribution, mix, rate_per_host: 0.0 };
    from_start.rate_per_host = loops.idle_rate(hosts.bps, from_start.mean_of(SizeDistribution::mean_bytes));
    let traffic =
        Traffic { hosts: hosts.racks.len() as u32, pattern, arrivals: Arrivals::Poisson, from_start, change: None };
    let drawn = Drawn { traffic, load: None, builtin, closed: Some(loops), deadlines: deadlines(scope)? };
    drawn.closed_loop(1, 0).map_err(|error| impossible(reader, &drawn.traffic, error.into()))?;
    Ok(drawn)
}

fn loops(scope: &Scope<'_>) -> Result<Loops, SettingsError> {
    let think_ps = scope.time("think_time", 0)?;
    let laws = [("fixed", Think::Fixed(think_ps)), ("exponential", Think::Exponential(think_ps))];
    // A pause of nothing has no law.
    let think = if think_ps == 0 { Think::Fixed(0) } else { scope.choice("think_law", &laws, "fixed")? };
    // The key's own limits keep it within 32 bits.
    let outstanding = u32::try_from(scope.count("outstanding", 1)?).unwrap_or(u32::MAX);
    Ok(Loops { outstanding, think })
}

fn arrivals(reader: &Reader<'_>) -> Result<When, Error> {
    let scope = reader.scope;
    let names = ["poisson", "fixed", "trace", "closed-loop"].map(|name| (name, name));
    match scope.choice("arrivals", &names, "poisson")? {
        "poisson" => Ok(When::Open(Arrivals::Poisson, None)),
        "fixed" => Ok(When::Open(Arrivals::Fixed, None)),
        "closed-loop" => Ok(When::Closed(loops(scope)?)),
        _ => {
            let Some(file) = scope.optional_text("arrival_trace")? else {
                return Err(scope.invalid("arrival_trace", "a file of starts beside arrivals = \"trace\"").into());
            };
            let read = reader.files.trace(scope, &reader.folder.join(file))?;
            reader.settings.note("workload.arrival_trace.digest", &read.digest);
            Ok(When::Open(Arrivals::Trace(Arc::clone(&read.trace)), Some(read.trace.rate())))
        }
    }
}

fn pattern(reader: &Reader<'_>, hosts: &Hosts) -> Result<Pattern, SettingsError> {
    let scope = reader.scope;
    let names = ["all-to-all", "incast", "permutation", "rack-local", "listed"].map(|name| (name, name));
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
        "listed" => Ok(Pattern::Listed(listed(scope, hosts)?)),
        _ => Ok(Pattern::AllToAll),
    }
}

/// The listed host pairs.
fn listed(scope: &Scope<'_>, hosts: &Hosts) -> Result<Arc<[ListedPair]>, SettingsError> {
    let expected = "host pairs such as [\"host2 to host0\", \"host1 to host0\"]";
    let Some(texts) = scope.text_list("pairs")? else { return Err(scope.invalid("pairs", expected)) };
    let weights = scope.count_list("pair_weights")?.unwrap_or_else(|| vec![1; texts.len()]);
    if weights.len() != texts.len() {
        return Err(scope.invalid("pair_weights", format!("{} numbers, one for each of `pairs`", texts.len())));
    }
    let pair = |(text, weight): (&String, &u64)| {
        let ends = text.split_once(" to ").ok_or_else(|| scope.invalid("pairs", expected))?;
        let weight = u32::try_from(*weight).map_err(|_| scope.invalid("pair_weights", "numbers below 4.29 billion"))?;
        Ok(ListedPair { src: host(scope, "pairs", ends.0, hosts)?, dst: host(scope, "pairs", ends.1, hosts)?, weight })
    };
    texts.iter().zip(&weights).map(pair).collect()
}

/// The host of a name such as `host3`.
fn host(scope: &Scope<'_>, key: &str, name: &str, hosts: &Hosts) -> Result<u32, SettingsError> {
    let number = name.strip_prefix("host").filter(|digits| !digits.starts_with(['+', '0']) || *digits == "0");
    let known = number.and_then(|digits| digits.parse().ok()).filter(|host| (*host as usize) < hosts.racks.len());
    known.ok_or_else(|| {
        let expected = format!("host0 to host{}", hosts.racks.len().saturating_sub(1));
        scope.error(key, format!("there is no host {name:?}")).expected(expected)
    })
}

/// Which host pairs have a second workload, as the settings say it.
struct Which {
    pairs: MixPairs,
    /// Their share of the flows; none under [`MixPairs::Rising`], where it follows from the sizes.
    share: Option<f64>,
}

impl Which {
    /// The mix with `second`, where the mean flows of the two count so many bytes.
    fn of(&self, second: &Sizes, [first_bytes, second_bytes]: [f64; 2]) -> Mix {
        // As many bytes from a pair of the one as from a pair of the other.
        let share = self.share.unwrap_or(first_bytes / (first_bytes + second_bytes));
        Mix { sizes: second.distribution.clone(), pairs: self.pairs.clone(), share }
    }
}

/// The second workload and the host pairs that have it.
fn mix(reader: &Reader<'_>, pattern: &Pattern, hosts: &Hosts) -> Result<Option<(Sizes, Which)>, Error> {
    let scope = reader.scope;
    let Some(text) = scope.optional_text("mix_sizes")? else { return Ok(None) };
    let sizes = reader.of_text("mix_sizes", &text)?;
    let names = ["drawn", "rising", "from"].map(|name| (name, name));
    let which = match scope.choice("mix_pairs", &names, "drawn")? {
        "rising" => Which { pairs: MixPairs::Rising, share: None },
        "from" => {
            let Some(names) = scope.text_list("mix_from")? else {
                return Err(scope.invalid("mix_from", "the senders that have mix_sizes, such as [\"host1\"]").into());
            };
            let senders: Result<Vec<u32>, _> = names.iter().map(|name| host(scope, "mix_from", name, hosts)).collect();
            let senders = senders?;
            let share = MixPairs::share_from(&senders, pattern, hosts.racks.len() as u32);
            Which { pairs: MixPairs::From(senders.into()), share: Some(share) }
        }
        _ => Which { pairs: MixPairs::Drawn, share: Some(scope.number("mix_share", 0.5)?) },
    };
    Ok(Some((sizes, which)))
}

/// Which flows have deadlines, if any.
fn deadlines(scope: &Scope<'_>) -> Result<Option<Deadlines>, SettingsError> {
    let time = || match scope.optional_time("deadline_time")? {
        Some(ps) => Ok(ps),
        None => Err(scope.invalid("deadline_time", "the time from a flow's start to its deadline")),
    };
    let names = ["none", "fixed", "exponential", "qcluster"].map(|name| (name, name));
    let rule = match scope.choice("deadlines", &names, "none")? {
        "none" => return Ok(None),
        "fixed" => DeadlineRule::Fixed(time()?),
        "exponential" => DeadlineRule::Exponential(time()?),
        _ => DeadlineRule::Qcluster,
    };
    Ok(Some(Deadlines { up_to: scope.bytes("deadline_up_to", 100_000)?, rule }))
}

/// The error of traffic that cannot be drawn, at the key that decides it.
fn impossible(reader: &Reader<'_>, traffic: &Traffic, error: GeneratorError) -> Error {
    let key = match (error, &traffic.pattern) {
        (GeneratorError::Pattern(PatternError::FanIn { .. }), _) => "fan_in",
        (GeneratorError::Pattern(PatternError::Share(_)), Pattern::Incast { .. }) => "incast_share",
        (GeneratorError::Pattern(_), Pattern::RackLocal { .. }) => "rack_local",
        (GeneratorError::Pattern(_), Pattern::Listed(_)) => "pairs",
        (GeneratorError::Pattern(_), _) => "pattern",
        (GeneratorError::Rising, _) => "mix_pairs",
        (GeneratorError::Rate(_), _) => "load",
    };
    reader.scope.error(key, error.to_string()).into()
}

impl Drawn {
    /// The closed loops, of `flows` flows in all, if these are such.
    pub(super) fn closed_loop(&self, flows: u32, seed: u64) -> Result<Option<ClosedLoop>, PatternError> {
        let Some(Loops { outstanding, think }) = self.closed else { return Ok(None) };
        let Traffic { hosts, pattern, from_start, .. } = &self.traffic;
        ClosedLoop::new((*hosts, outstanding), pattern, from_start.clone(), think, flows, seed)
            .map(|closed| Some(closed.with_deadlines(self.deadlines)))
    }

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
