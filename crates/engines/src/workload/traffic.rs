//! The keys of `[workload]` for what is drawn: sizes, load, arrivals, pattern, a mix and a change.

use crate::workload::Hosts;
use crate::workload::pattern::{FAN_IN, INCAST_SHARE, PAIRS, PATTERN, RACK_LOCAL, host, pattern};
use crate::workload::sizes::{Reader, Sizes};
use flowsieve_experiment::Error;
use flowsieve_schemes::homa::RTT_BYTES;
use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, Scaled, Scope, Section, Setting, SettingsError};
use flowsieve_workload::{
    Arrivals, ClosedLoop, DeadlineRule, Deadlines, Framing, Generator, GeneratorError, LoadCounts, Mix, MixPairs,
    Offer, Pattern, PatternError, SizeDistribution, Think, Traffic, arrival_rate, counted_bytes,
};
use std::sync::Arc;

/// When flows arrive, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalsName {
    Poisson,
    Fixed,
    Trace,
    ClosedLoop,
}

/// How a closed loop waits, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkName {
    Fixed,
    Exponential,
}

/// Which host pairs have a second workload, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MixName {
    Drawn,
    Rising,
    From,
}

/// The kind of deadlines, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeadlinesName {
    None,
    Fixed,
    Exponential,
    Qcluster,
}

declare! {
    pub(super) static MIX_SIZES: Setting<String> = Setting::text_or_csv(
        Section::Workload, "mix_sizes", "flow sizes for some host pairs instead of `sizes`, in the same form",
    );
    static MIX_PAIRS: Setting<MixName> = Setting::choice(
        Section::Workload,
        "mix_pairs",
        &[("drawn", MixName::Drawn), ("rising", MixName::Rising), ("from", MixName::From)],
        "which host pairs use mix_sizes: a drawn share; those whose sender has a lower number than the receiver; or \
         all of some senders",
    )
    .with_default(MixName::Drawn);
    static MIX_SHARE: Setting<f64> = Setting::number_above(
        Section::Workload, "mix_share", 0.0, 1.0,
        "share of the host pairs that use mix_sizes under mix_pairs = \"drawn\"",
    )
    .with_default(0.5);
    static MIX_FROM: Setting<Vec<String>> = Setting::texts(
        Section::Workload, "mix_from",
        "the senders that use mix_sizes under mix_pairs = \"from\", such as [\"host1\", \"host3\"]",
    );
    pub(crate) static CHANGE_AT: Setting<u64> = Setting::time(
        Section::Workload, "change_at", 1, MAX_TIME_PS, "time at which sizes or load change",
    )
    .scaled(Scaled::Course);
    pub(super) static CHANGE_SIZES: Setting<String> = Setting::text_or_csv(
        Section::Workload, "change_sizes", "flow sizes from change_at on, as in `sizes`",
    );
    static CHANGE_LOAD: Setting<f64> = Setting::number_above(
        Section::Workload, "change_load", 0.0, 10.0, "load from change_at on",
    );
    pub(crate) static ARRIVALS: Setting<ArrivalsName> = Setting::choice(
        Section::Workload,
        "arrivals",
        &[
            ("poisson", ArrivalsName::Poisson),
            ("fixed", ArrivalsName::Fixed),
            ("trace", ArrivalsName::Trace),
            ("closed-loop", ArrivalsName::ClosedLoop),
        ],
        "when flows arrive: after exponential gaps, equal gaps or those of a trace, or when others have finished",
    )
    .with_default(ArrivalsName::Poisson);
    static OUTSTANDING: Setting<u64> = Setting::count(
        Section::Workload, "outstanding", 1, 10_000,
        "flows that each host keeps in progress with arrivals = \"closed-loop\"",
    )
    .with_default(1);
    pub(crate) static THINK_TIME: Setting<u64> = Setting::time(
        Section::Workload, "think_time", 0, MAX_TIME_PS, "how long a closed loop waits before each flow, on average",
    )
    .with_default(0);
    static THINK_LAW: Setting<ThinkName> = Setting::choice(
        Section::Workload,
        "think_law",
        &[("fixed", ThinkName::Fixed), ("exponential", ThinkName::Exponential)],
        "whether a closed loop always waits think_time, or exponential times with this mean",
    )
    .with_default(ThinkName::Fixed);
    pub(super) static ARRIVAL_TRACE: Setting<String> = Setting::file(
        Section::Workload, "arrival_trace",
        "starts for arrivals = \"trace\", repeated as often as needed: CSV rows of start_s",
    );
    /// The offered load of each host link.
    pub static LOAD: Setting<f64> = Setting::number_above(
        Section::Workload, "load", 0.0, 10.0,
        "offered load of each host link; with listed pairs, of the busiest host link",
    );
    static LOAD_COUNTS: Setting<LoadCounts> = Setting::choice(
        Section::Workload, "load_counts", LoadCounts::NAMES, "which bytes the load counts",
    );
    static DEADLINES: Setting<DeadlinesName> = Setting::choice(
        Section::Workload,
        "deadlines",
        &[
            ("none", DeadlinesName::None),
            ("fixed", DeadlinesName::Fixed),
            ("exponential", DeadlinesName::Exponential),
            ("qcluster", DeadlinesName::Qcluster),
        ],
        "which deadlines flows up to deadline_up_to have: deadline_time, exponential ones with this mean, or QCluster's by size",
    )
    .with_default(DeadlinesName::None);
    static DEADLINE_TIME: Setting<u64> = Setting::time(
        Section::Workload, "deadline_time", 1, MAX_TIME_PS,
        "time from a flow's start to its deadline, or the mean of it",
    );
    static DEADLINE_UP_TO: Setting<u64> = Setting::size(
        Section::Workload, "deadline_up_to", 0, 1_000_000_000_000, "largest flow that has a deadline",
    )
    .with_default(100_000);
}

/// The distributions and rates that a workload is drawn from.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) traffic: Traffic,
    /// The load from the start; `None` if a trace has its own rate.
    pub(super) load: Option<f64>,
    /// The built-in distribution of all flows at the start, if there is one.
    pub(super) builtin: Option<&'static str>,
    /// Set if flows follow others with the traffic's sizes and hosts; its rate is then that of an idle fabric.
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
    /// Returns the flows that a host starts per second if each takes only the time of its bytes on the host's link.
    fn idle_rate(&self, bps: u64, mean_bytes: f64) -> f64 {
        let seconds = 8.0 * mean_bytes / bps.max(1) as f64;
        let (Think::Fixed(ps) | Think::Exponential(ps)) = self.think;
        (f64::from(self.outstanding) / (seconds + ps as f64 / 1e12)).min(1.0 / seconds)
    }
}

/// When flows arrive.
enum When {
    /// At a rate that follows from the load, or at the trace's own in flows per second.
    Open(Arrivals, Option<f64>),
    Closed(Loops),
}

/// Reads all of it.
pub(super) fn read(reader: &Reader<'_>, hosts: &Hosts, framing: &Framing) -> Result<Drawn, Error> {
    let scope = reader.scope;
    let (arrivals, own_rate) = match arrivals(reader)? {
        When::Open(arrivals, own_rate) => (arrivals, own_rate),
        When::Closed(loops) => return closed(reader, hosts, loops),
    };
    let pattern = pattern(scope, hosts)?;
    let sizes = reader.of_workload()?;
    let mix = mix(reader, &pattern, hosts)?;
    let load = scope.optional(&LOAD)?;
    // A trace at its own rate has no load to count.
    let (counts, framing) = match (load, &own_rate) {
        (None, Some(_)) => (None, *framing),
        _ => {
            let (counts, framing) = load_counts(scope, framing)?;
            (Some(counts), framing)
        }
    };
    let offer = |sizes: &Sizes, (key, load): (&Key, Option<f64>)| -> Result<Offer, Error> {
        let counted = |sizes: &Sizes, counts: LoadCounts| {
            let bytes = counted_bytes(counts, &framing, &sizes.distribution);
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
            _ => return Err(scope.invalid(&LOAD, "a load of the host links, in [workload] or [sweep]").into()),
        };
        Ok(offer)
    };
    let from_start = offer(&sizes, (&LOAD, load))?;
    let change = match scope.optional(&CHANGE_AT)? {
        None => None,
        Some(at) => {
            let to = scope.optional(&CHANGE_SIZES)?.map(|text| reader.of_text(&CHANGE_SIZES, &text)).transpose()?;
            let change_load = scope.optional(&CHANGE_LOAD)?;
            if to.is_none() && change_load.is_none() {
                return Err(scope.invalid(&CHANGE_AT, "`change_sizes`, `change_load` or both with it").into());
            }
            if change_load.is_some() && load.is_none() {
                let problem = "`change_load` without `load`";
                return Err(scope.error(&CHANGE_LOAD, problem).expected("a load from the start as well").into());
            }
            let after: (&Key, _) = change_load.map_or((&LOAD, load), |load| (&CHANGE_LOAD, Some(load)));
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

/// Reads which bytes the load counts, and the framing by which it counts them.
pub(super) fn load_counts(scope: &Scope<'_>, framing: &Framing) -> Result<(LoadCounts, Framing), SettingsError> {
    let counts = scope.read(&LOAD_COUNTS)?;
    if counts != LoadCounts::WireGrants {
        return Ok((counts, *framing));
    }
    // One load for all schemes, so that all get the same flows.
    let expected = "the bytes of a flow that need no grant, in [transport], for `load_counts`";
    let bytes = scope.common().needed(&RTT_BYTES, expected)?;
    let packets = bytes.div_ceil(framing.payload_bytes.get().into());
    Ok((counts, Framing { ungranted_packets: u32::try_from(packets).unwrap_or(u32::MAX), ..*framing }))
}

/// Reads the traffic of flows that wait for others.
fn closed(reader: &Reader<'_>, hosts: &Hosts, loops: Loops) -> Result<Drawn, Error> {
    let scope = reader.scope;
    let at_a_rate: [&Key; 5] = [&LOAD, &LOAD_COUNTS, &CHANGE_AT, &CHANGE_SIZES, &CHANGE_LOAD];
    if let Some(other) = at_a_rate.iter().find(|other| scope.is_given(other)) {
        let problem = format!("`{}` has no effect with arrivals = \"closed-loop\"", other.name);
        let expected = "no load: flows start after others, as `outstanding` and `think_time` say";
        return Err(scope.error(other, problem).expected(expected).into());
    }
    let pattern = pattern(scope, hosts)?;
    if matches!(pattern, Pattern::Incast { .. } | Pattern::Listed(_)) {
        let pattern = PATTERN.text_of(&scope.read(&PATTERN)?);
        let problem = format!("{pattern} with arrivals = \"closed-loop\"");
        return Err(scope
            .error(&PATTERN, problem)
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
    let think = match scope.read(&THINK_TIME)? {
        // A pause of zero has no distribution.
        0 => Think::Fixed(0),
        ps => match scope.read(&THINK_LAW)? {
            ThinkName::Fixed => Think::Fixed(ps),
            ThinkName::Exponential => Think::Exponential(ps),
        },
    };
    // The key's own limits keep it within 32 bits.
    let outstanding = u32::try_from(scope.read(&OUTSTANDING)?).unwrap_or(u32::MAX);
    Ok(Loops { outstanding, think })
}

fn arrivals(reader: &Reader<'_>) -> Result<When, Error> {
    let scope = reader.scope;
    match scope.read(&ARRIVALS)? {
        ArrivalsName::Poisson => Ok(When::Open(Arrivals::Poisson, None)),
        ArrivalsName::Fixed => Ok(When::Open(Arrivals::Fixed, None)),
        ArrivalsName::ClosedLoop => Ok(When::Closed(loops(scope)?)),
        ArrivalsName::Trace => {
            let file = scope.needed(&ARRIVAL_TRACE, "a file of starts with arrivals = \"trace\"")?;
            let read = reader.files.trace(scope, &reader.folder.join(file))?;
            scope.note("workload.arrival_trace.digest", &read.digest);
            Ok(When::Open(Arrivals::Trace(Arc::clone(&read.trace)), Some(read.trace.rate())))
        }
    }
}

/// Which host pairs have a second workload, as in the settings.
struct Which {
    pairs: MixPairs,
    /// The second workload's share of the flows. `None` under [`MixPairs::Rising`], where it follows from the sizes.
    share: Option<f64>,
}

impl Which {
    /// Builds the mix with `second`, given the bytes of the two mean flows.
    fn of(&self, second: &Sizes, [first_bytes, second_bytes]: [f64; 2]) -> Mix {
        // As many bytes from a pair of the first as from a pair of the second.
        let share = self.share.unwrap_or(first_bytes / (first_bytes + second_bytes));
        Mix { sizes: second.distribution.clone(), pairs: self.pairs.clone(), share }
    }
}

/// Reads the second workload and the host pairs that have it.
fn mix(reader: &Reader<'_>, pattern: &Pattern, hosts: &Hosts) -> Result<Option<(Sizes, Which)>, Error> {
    let scope = reader.scope;
    let Some(text) = scope.optional(&MIX_SIZES)? else { return Ok(None) };
    let sizes = reader.of_text(&MIX_SIZES, &text)?;
    let which = match scope.read(&MIX_PAIRS)? {
        MixName::Rising => Which { pairs: MixPairs::Rising, share: None },
        MixName::From => {
            let names = scope.needed(&MIX_FROM, "the senders that use mix_sizes, such as [\"host1\"]")?;
            let senders: Result<Vec<u32>, _> = names.iter().map(|name| host(scope, &MIX_FROM, name, hosts)).collect();
            let senders = senders?;
            let share = MixPairs::share_from(&senders, pattern, hosts.racks.len() as u32);
            Which { pairs: MixPairs::From(senders.into()), share: Some(share) }
        }
        MixName::Drawn => Which { pairs: MixPairs::Drawn, share: Some(scope.read(&MIX_SHARE)?) },
    };
    Ok(Some((sizes, which)))
}

/// Reads which flows have deadlines, if any.
fn deadlines(scope: &Scope<'_>) -> Result<Option<Deadlines>, SettingsError> {
    let time = || scope.needed(&DEADLINE_TIME, "the time from a flow's start to its deadline");
    let rule = match scope.read(&DEADLINES)? {
        DeadlinesName::None => return Ok(None),
        DeadlinesName::Fixed => DeadlineRule::Fixed(time()?),
        DeadlinesName::Exponential => DeadlineRule::Exponential(time()?),
        DeadlinesName::Qcluster => DeadlineRule::Qcluster,
    };
    Ok(Some(Deadlines { up_to: scope.read(&DEADLINE_UP_TO)?, rule }))
}

/// Builds the error of traffic that cannot be drawn, at the key that causes it.
fn impossible(reader: &Reader<'_>, traffic: &Traffic, error: GeneratorError) -> Error {
    let key: &Key = match (error, &traffic.pattern) {
        (GeneratorError::Pattern(PatternError::FanIn { .. }), _) => &FAN_IN,
        (GeneratorError::Pattern(PatternError::Share(_)), Pattern::Incast { .. }) => &INCAST_SHARE,
        (GeneratorError::Pattern(_), Pattern::RackLocal { .. }) => &RACK_LOCAL,
        (GeneratorError::Pattern(_), Pattern::Listed(_)) => &PAIRS,
        (GeneratorError::Pattern(_), _) => &PATTERN,
        (GeneratorError::Rising, _) => &MIX_PAIRS,
        (GeneratorError::Rate(_), _) => &LOAD,
    };
    reader.scope.error(key, error.to_string()).into()
}

impl Drawn {
    /// Returns the closed loops, with `flows` flows in all, if there are any.
    pub(super) fn closed_loop(&self, flows: u32, seed: u64) -> Result<Option<ClosedLoop>, PatternError> {
        let Some(Loops { outstanding, think }) = self.closed else { return Ok(None) };
        let Traffic { hosts, pattern, from_start, .. } = &self.traffic;
        ClosedLoop::new((*hosts, outstanding), pattern, from_start.clone(), think, flows, seed)
            .map(|closed| Some(closed.with_deadlines(self.deadlines)))
    }

    /// Returns the flows that arrive per second, from the start and after a change.
    fn rates(&self) -> (f64, f64) {
        let of = |offer: &Offer| offer.rate_per_host * f64::from(self.traffic.hosts);
        let first = of(&self.traffic.from_start);
        (first, self.traffic.change.as_ref().map_or(first, |(_, offer)| of(offer)))
    }

    /// Estimates how many flows arrive until `end_ps`.
    pub(super) fn flows_until(&self, end_ps: u64) -> f64 {
        let at = self.traffic.change.as_ref().map_or(u64::MAX, |(at, _)| *at).min(end_ps);
        let (before, after) = self.rates();
        (before * at as f64 + after * (end_ps - at) as f64) / 1e12
    }

    /// Returns the bytes on the wire of a pair's mean flow.
    pub(super) fn bytes_of_pair(&self, pair: (u32, u32), framing: &Framing) -> f64 {
        let offer = &self.traffic.from_start;
        let bytes = |sizes: &SizeDistribution| framing.cost(sizes).data_bytes;
        let each = [&offer.sizes, offer.mix.as_ref().map_or(&offer.sizes, |mix| &mix.sizes)].map(bytes);
        offer.mean_of_pair(pair, each)
    }

    /// Estimates the time in which so many flows arrive, in ps.
    pub(super) fn span_ps(&self, flows: u64) -> f64 {
        const SECOND_PS: u64 = 1_000_000_000_000;
        flows as f64 / self.flows_until(SECOND_PS) * SECOND_PS as f64
    }

    /// Returns the mean of a `measure` of sizes over about the first `flows` flows.
    pub(super) fn mean_of(&self, flows: f64, measure: impl Fn(&SizeDistribution) -> f64) -> f64 {
        let first = self.traffic.from_start.mean_of(&measure);
        let Some((at, offer)) = &self.traffic.change else { return first };
        let share = (self.rates().0 * *at as f64 / 1e12 / flows.max(1.0)).min(1.0);
        share * first + (1.0 - share) * offer.mean_of(&measure)
    }

    /// Returns the bit/s of `bytes` of each size over all hosts, in the heavier of the times before and after a change.
    pub(super) fn heaviest_bps(&self, bytes: impl Fn(&SizeDistribution) -> f64) -> f64 {
        let (before, after) = self.rates();
        let first = before * self.traffic.from_start.mean_of(&bytes) * 8.0;
        let then = self.traffic.change.as_ref().map_or(0.0, |(_, offer)| after * offer.mean_of(&bytes) * 8.0);
        first.max(then)
    }
}
