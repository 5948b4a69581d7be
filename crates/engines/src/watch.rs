//! Observations of a run in addition to its result: samples and packet traces.

use crate::workload::Extent;
use flowsieve_core::Time;
use flowsieve_results::{TraceFormats, TracedLink};
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Scaled, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_sim::sample::Sampling;
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::trace::Tracing;
use std::collections::{BTreeMap, BTreeSet};

declare! {
    pub(crate) static SAMPLE_INTERVAL: Setting<u64> = Setting::time(
        Section::Run, "sample_interval", 1, MAX_TIME_PS,
        "how often congestion windows, DCTCP's alpha and the backlogs of sample_links are written to series.parquet; not given: never",
    );
    static SAMPLE_LINKS: Setting<Vec<String>> = Setting::texts(
        Section::Run, "sample_links",
        "the links whose backlog is sampled, each by its ends, such as [\"leaf0 to host3\"], or all of a class, such as [\"host-down\"]",
    )
    .needs("`sample_interval`, which turns sampling on");
    static SAMPLE_UTILISATION: Setting<Vec<String>> = Setting::texts(
        Section::Run, "sample_utilisation",
        "the links whose utilisation is sampled: the share of each interval in which the line was busy; named as in sample_links",
    )
    .needs("`sample_interval`, which turns sampling on");
    static SAMPLE_FLOWS: Setting<Vec<f64>> = Setting::numbers(
        Section::Run, "sample_flows", 0.0, 4_294_967_295.0,
        "the flows whose goodput is sampled, by their numbers: payload that arrived for the first time in each interval",
    )
    .needs("`sample_interval`, which turns sampling on");
    static TRACE: Setting<TraceFormats> = Setting::choice(
        Section::Run,
        "trace",
        &[
            ("csv", TraceFormats { csv: true, pcap: false }),
            ("pcap", TraceFormats { csv: false, pcap: true }),
            ("both", TraceFormats { csv: true, pcap: true }),
        ],
        "write every packet of trace_links as a table, as captures for Wireshark, or both; not given: none",
    );
    static TRACE_LINKS: Setting<Vec<String>> = Setting::texts(
        Section::Run, "trace_links", "the links whose packets are traced, named as in sample_links; not given: all",
    );
    pub(crate) static TRACE_SPAN: Setting<Vec<u64>> = Setting::times(
        Section::Run, "trace_span", "start and end of the traced time; not given: the whole run",
    )
    .scaled(Scaled::Amount);
    static TRACE_PACKETS: Setting<u64> = Setting::count(
        Section::Run, "trace_packets", 1, 1_000_000_000,
        "largest number of traced packets in a run, counted at each link",
    )
    .with_default(1_000_000);
}

/// A requested packet trace.
pub(crate) struct Trace {
    pub(crate) tracing: Tracing,
    pub(crate) formats: TraceFormats,
    /// The names of the traced links.
    pub(crate) links: Vec<TracedLink>,
    /// By class, the share of its links that is traced.
    pub(crate) share_of_classes: Vec<f64>,
}

/// Reads what to sample, if anything.
pub(crate) fn sampling(
    settings: &Settings,
    fabric: &Fabric,
    extent: Extent,
) -> Result<Option<Sampling>, SettingsError> {
    let scope = settings.common();
    let Some(interval) = scope.optional(&SAMPLE_INTERVAL)? else { return Ok(None) };
    let links = links(&scope, &SAMPLE_LINKS, fabric)?.unwrap_or_default();
    let utilised = self::links(&scope, &SAMPLE_UTILISATION, fabric)?.unwrap_or_default();
    let flows = scope.optional(&SAMPLE_FLOWS)?.unwrap_or_default();
    if flows.iter().any(|flow| flow.fract() != 0.0) {
        return Err(scope.invalid(&SAMPLE_FLOWS, "numbers of flows, such as [0, 17]"));
    }
    if let Extent::Flows(many) = extent
        && let Some(flow) = flows.iter().find(|flow| **flow >= many as f64)
    {
        let error = scope.error(&SAMPLE_FLOWS, format!("there is no flow {flow}"));
        return Err(error.expected(format!("numbers from 0 to {}", many.saturating_sub(1))));
    }
    let flows = flows.into_iter().map(|flow| flow as u32).collect();
    Ok(Some(Sampling { interval: Time(interval), links, utilised, flows }))
}

/// Reads what to trace, if anything.
pub(crate) fn trace(settings: &Settings, fabric: &Fabric) -> Result<Option<Trace>, SettingsError> {
    let scope = settings.common();
    let Some(formats) = scope.optional(&TRACE)? else { return Ok(None) };
    let numbers = links(&scope, &TRACE_LINKS, fabric)?.unwrap_or_else(|| (0..fabric.links.len() as u32).collect());
    if numbers.is_empty() {
        return Err(scope.invalid(&TRACE_LINKS, "at least one link, or no `trace_links` for all links"));
    }
    let span = match scope.optional(&TRACE_SPAN)?.as_deref() {
        None => Time::ZERO..Time::NEVER,
        Some([from, to]) if from < to => Time(*from)..Time(*to),
        Some(_) => {
            let expected = "its start and its end, such as trace_span = [\"10ms\", \"12ms\"]";
            return Err(scope.invalid(&TRACE_SPAN, expected));
        }
    };
    let mut share_of_classes = vec![0.0; fabric.classes.len()];
    for &number in &numbers {
        let class = usize::from(fabric.links[number as usize].class);
        share_of_classes[class] += 1.0 / f64::from(fabric.class_shares()[class].links.max(1));
    }
    let links = numbers.iter().map(|&number| traced_link(fabric, number)).collect();
    let tracing = Tracing { links: numbers, span, most: scope.read(&TRACE_PACKETS)? };
    Ok(Some(Trace { tracing, formats, links, share_of_classes }))
}

fn traced_link(fabric: &Fabric, number: u32) -> TracedLink {
    let link = &fabric.links[number as usize];
    let (a, b) = (link.from.min(link.to), link.from.max(link.to));
    // Names contain no plus sign.
    TracedLink { name: fabric.link_name(number), cable: format!("{}+{}", fabric.name(a), fabric.name(b)) }
}

/// Returns the links that a key names, one by one or by class, ascending.
fn links(
    scope: &Scope<'_>,
    setting: &Setting<Vec<String>>,
    fabric: &Fabric,
) -> Result<Option<Vec<u32>>, SettingsError> {
    let Some(wanted) = scope.optional(setting)? else { return Ok(None) };
    let mut numbers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (link, number) in fabric.links.iter().zip(0..) {
        numbers.entry(fabric.ends_name(number)).or_default().push(number);
        if link.nth > 0 {
            numbers.entry(fabric.link_name(number)).or_default().push(number);
        }
        numbers.entry(fabric.classes[usize::from(link.class)].to_owned()).or_default().push(number);
    }
    let mut links = BTreeSet::new();
    for name in wanted {
        let Some(found) = numbers.get(&name) else {
            let error = scope.error(setting, format!("the fabric has no link {name:?}"));
            let expected = "its ends, such as \"leaf0 to host3\", or a class of links, such as \"host-down\"";
            return Err(error.expected(expected).names(name, numbers.into_keys()));
        };
        links.extend(found);
    }
    Ok(Some(links.into_iter().collect()))
}
