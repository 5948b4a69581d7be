//! Settings that are refused although each is valid by itself: they would have no effect, take unlimited memory, or
//! never end.

use flowsieve_core::{BalancerSpec, ControllerKind, ControllerSpec, Time};
use flowsieve_experiment::{Error, Point};
use flowsieve_record::PointResult;
use flowsieve_schemes::coflows::COFLOW_ORDER;
use flowsieve_schemes::parts::LOAD_BALANCING;
use flowsieve_schemes::scheme::Class;
use flowsieve_schemes::{Scheme, afq, pcoflow, qcluster};
use flowsieve_settings::{Key, Place, Scope, Settings, SettingsError, units};
use flowsieve_sim::MOST_SEGMENTS;
use flowsieve_sim::sample::MOST_VALUES;
use flowsieve_sim::topology::{Fabric, Link, Node, events};
use flowsieve_workload::Flow;
use flowsieve_workload::coflow_trace::OwnRack;

use super::MAX_TIME;
use crate::setup::Setup;
use crate::watch::SAMPLE_INTERVAL;
use crate::workload::{
    ARRIVALS, CDF, CHANGE_AT, COMPUTE_GAP, Extent, LOAD, OWN_RACK, QUERIES, SIZES, THINK_TIME, Workload,
    key_of_collectives,
};

/// The largest memory of the sketches of all ports, in bytes.
const MOST_SKETCH_BYTES: u64 = 4_000_000_000;

/// Returns the memory of the sketches of all ports, in bytes.
pub(crate) fn sketch_bytes(scheme: &Scheme, fabric: &Fabric) -> u64 {
    let of_port = |link: &Link| scheme.ports.at(fabric.place_of(link.from)).kind.sketch_bytes();
    fabric.links.iter().map(of_port).sum()
}

pub(crate) fn refuse_huge_sketches(scope: &Scope<'_>, scheme: &Scheme, fabric: &Fabric) -> Result<(), SettingsError> {
    let bytes = sketch_bytes(scheme, fabric);
    if bytes <= MOST_SKETCH_BYTES {
        return Ok(());
    }
    let counts: [&Key; 3] = [&qcluster::SKETCH_BUCKETS, &afq::COLUMNS, &pcoflow::PCOFLOW_SLOTS];
    let key = counts.into_iter().find(|key| scope.is_given(key)).unwrap_or(&qcluster::SKETCH);
    let (ports, took) = (fabric.links.len(), units::format_size(bytes));
    let most = units::format_size(MOST_SKETCH_BYTES);
    Err(scope
        .error(key, format!("the sketches of {ports} ports take {took}"))
        .expected(format!("at most {most} in all")))
}

/// Refuses a timer of a transport that fires before the sender's line has sent a packet: all packets would be sent again
/// and again, or asked for.
pub(crate) fn refuse_hasty_timers(point: &Point, Setup { scheme, fabric, .. }: &Setup) -> Result<(), SettingsError> {
    let scope = point.settings.scheme(&point.variant.name);
    let lines = fabric.links.iter().filter(|link| matches!(link.from, Node::Host(_)));
    let Some(slowest) = lines.map(|link| link.rate).min_by_key(|rate| rate.bps()) else { return Ok(()) };
    for transport in scheme.classes.iter().map(|class| &class.transport) {
        let facts = transport.facts();
        let takes = slowest.byte_time().serialise(u32::from(facts.segment) + u32::from(facts.header));
        for wait in transport.constants().waits.into_iter().filter(|wait| wait.time < takes) {
            let Some(key) = point.settings.find(wait.key).filter(|key| scope.is_given(key)) else { continue };
            let problem = format!("a timeout of {} is shorter than a full packet takes on a host's link", wait.time);
            return Err(scope.error(key, problem).expected(format!("at least {takes}")));
        }
    }
    Ok(())
}

/// Refuses a workload whose messages follow one another under a scheme that does not tell when one has arrived, or that loses
/// packets for good.
pub(crate) fn refuse_unanswered(point: &Point, setup: &Setup, seed: u64) -> Result<(), SettingsError> {
    let Setup { scheme, workload, .. } = setup;
    let answers = |class: &Class| class.transport.facts().answers();
    let (key, why): (&Key, _) = match workload.extent {
        Extent::Queries => (&QUERIES, "a query waits until all its answers have arrived"),
        Extent::Collectives => (key_of_collectives(), "a collective waits until its messages have arrived"),
        _ if workload.closed_loop(seed).is_some() => {
            (&ARRIVALS, "in a closed loop a flow follows the last ACK of another")
        }
        _ => return Ok(()),
    };
    // Which class has these messages is known in a run.
    if scheme.classes.iter().any(answers) {
        return Ok(());
    }
    let problem = format!("{why}, but `{}` has no ACKs and does not retransmit", point.variant.name);
    Err(point.settings.common().error(key, problem).expected("a scheme whose transport does, such as dctcp"))
}

/// Refuses an event at or after the end of the run, if the end is given.
pub(crate) fn refuse_late_events(settings: &Settings, fabric: &Fabric, end: Option<Time>) -> Result<(), SettingsError> {
    let Some(late) = fabric.events.iter().find(|event| end.is_some_and(|end| event.at >= end)) else { return Ok(()) };
    let problem = format!("an event at {}, when the run has ended (`max_time`)", units::format_time(late.at.0));
    events::refuse(settings, &problem, "events before `max_time`")
}

/// Says which instants of the experiment a run has not reached: what they stand for never happened.
pub(crate) fn unreached(settings: &Settings, fabric: &Fabric, span: Option<Time>, result: &PointResult) -> Vec<String> {
    let (ended, arrived) = (result.simulated_ps, result.arrivals_end_ps);
    let never = |what: String, at: u64, end: &str, ended: u64| {
        format!("{what} at {} never happened: {end} at {}", units::format_time(at), units::format_time(ended))
    };
    let events = fabric.events.iter().filter(|event| event.at.0 > ended).map(|event| {
        let link = event.links.first().map_or(String::new(), |link| fabric.ends_name(*link));
        let what = if event.down { "fails" } else { "is back" };
        never(format!("that the link {link} {what}"), event.at.0, "the run ended", ended)
    });
    let change = settings.common().optional(&CHANGE_AT).ok().flatten().filter(|at| *at > arrived);
    let change = change.map(|at| never("the change of the workload".to_owned(), at, "the last flow began", arrived));
    let span = span.filter(|from| from.0 > ended);
    let span = span.map(|from| never("the packet trace that begins".to_owned(), from.0, "the run ended", ended));
    events.chain(change).chain(span).collect()
}

/// Refuses flows of a list with more segments than can be numbered.
pub(crate) fn refuse_huge_flows(scheme: &Scheme, workload: &Workload, seed: u64) -> Result<(), Error> {
    let segment = |class: &Class| u64::from(class.transport.facts().segment);
    let Some(least) = scheme.classes.iter().map(segment).min() else { return Ok(()) };
    for (one, part) in workload.parts() {
        let Some(list) = part.listed().filter(|list| list.largest_bytes() > MOST_SEGMENTS * least) else { continue };
        let of_flow = |flow: &Flow| {
            let class = usize::from(one.map_or(flow.class, |(_, class)| class));
            scheme.classes.get(class).or(scheme.classes.last()).map_or(least, segment)
        };
        let is_huge = |flow: &Flow| flow.bytes > MOST_SEGMENTS * of_flow(flow);
        let flows = part.flows(seed).map_err(Error::Input)?;
        let Some(flow) = flows.filter(is_huge).max_by_key(|flow| flow.bytes) else { continue };
        let segment = of_flow(&flow);
        let most = MOST_SEGMENTS * segment;
        let expected = format!("at most {most}, which are {MOST_SEGMENTS} packets of {segment} B");
        return Err(list.wrong_size(flow.bytes).expected(expected).into());
    }
    Ok(())
}

/// Refuses a distribution if more than one flow in a million could not be sent.
pub(crate) fn refuse_huge_sizes(
    settings: &Settings,
    scheme: &Scheme,
    workload: &Workload,
) -> Result<(), SettingsError> {
    let Some(segment) = scheme.classes.iter().map(|class| u64::from(class.transport.facts().segment)).max() else {
        return Ok(());
    };
    let most = MOST_SEGMENTS * segment;
    for (one, part) in workload.parts() {
        let Some(sizes) = part.drawn_sizes().filter(|sizes| sizes.quantile(1.0 - 1e-6) > most) else { continue };
        let scope = settings.workload(one.map(|(name, _)| name));
        let key: &Key = if scope.is_given(&CDF) { &CDF } else { &SIZES };
        let problem = format!("{} has flows of up to {} bytes", sizes.name(), sizes.max_bytes());
        let expected = format!("at most {most} bytes, which are {MOST_SEGMENTS} packets of {segment} B");
        return Err(scope.error(key, problem).expected(expected));
    }
    Ok(())
}

/// The largest expected number of samples in a run.
const MOST_SAMPLES: f64 = MOST_VALUES as f64;

/// Refuses an interval of samples whose values would exceed what is kept.
pub(crate) fn refuse_endless_samples(settings: &Settings, workload: &Workload) -> Result<(), SettingsError> {
    let scope = settings.common();
    let Some(interval) = scope.optional(&SAMPLE_INTERVAL)? else { return Ok(()) };
    let Some(span_ps) = workload.arrivals_span_ps() else { return Ok(()) };
    let samples = span_ps / interval as f64;
    if samples <= MOST_SAMPLES {
        return Ok(());
    }
    let problem = format!("flows arrive for {}, so a run would be sampled {samples:.0} times", Time(span_ps as u64));
    let least = Time((span_ps / MOST_SAMPLES).ceil() as u64);
    Err(scope.error(&SAMPLE_INTERVAL, problem).expected(format!("at least {least}, for {MOST_SAMPLES:.0} samples")))
}

/// Refuses flows that would begin after the end of simulated time, as far as it can be known before a run.
pub(crate) fn refuse_beyond_time(settings: &Settings, workload: &Workload) -> Result<(), SettingsError> {
    let scope = settings.common();
    let Some(span_ps) = workload.following_span_ps().or(workload.arrivals_span_ps()) else { return Ok(()) };
    let end = Time::NEVER;
    if span_ps < end.0 as f64 || scope.optional(&MAX_TIME)?.is_some() {
        return Ok(());
    }
    let key: &Key = match workload.extent {
        Extent::Collectives => &COMPUTE_GAP,
        Extent::Queries => &QUERIES,
        _ if scope.is_given(&THINK_TIME) => &THINK_TIME,
        _ => &LOAD,
    };
    let problem =
        format!("flows would begin for {:.0} s, but simulated time ends at 2^64 ps, after {end}", span_ps / 1e12);
    let first = settings.workloads().first().map(|(name, _)| name.as_str());
    let expected = "flows that follow each other sooner, fewer of them, or `max_time` in [run]";
    Err(settings.workload(first).error(key, problem).expected(expected))
}

/// Refuses HULA and CONGA if they would have no effect: probes go up and down, and report paths among which switches choose.
pub(crate) fn refuse_probes_without_a_choice(
    scope: &Scope<'_>,
    scheme: &Scheme,
    fabric: &Fabric,
) -> Result<(), SettingsError> {
    let (name, probes) = match scheme.balancers.at(Place::Leaf) {
        BalancerSpec::Hula(_) => ("HULA", true),
        BalancerSpec::Conga(_) => ("CONGA", false),
        _ => return Ok(()),
    };
    let refuse = |problem: String| {
        let expected = "another load_balancing, or a fabric of tiers with several shortest paths";
        Err(scope.at(Place::Leaf).error(&LOAD_BALANCING, problem).expected(expected))
    };
    if fabric.routes.iter().flat_map(|routes| &routes.groups).all(|group| group.len() == 1) {
        return refuse(format!("{name} has nothing to choose: there is only one shortest path between any two hosts"));
    }
    let beside =
        |link: &&Link| !matches!(link.to, Node::Host(_)) && fabric.place_of(link.from) == fabric.place_of(link.to);
    match fabric.links.iter().find(beside).filter(|_| probes) {
        None => Ok(()),
        Some(link) => {
            let [from, to] = [link.from, link.to].map(|node| fabric.name(node));
            refuse(format!("HULA's probes go up and down, but the link between {from} and {to} does neither"))
        }
    }
}

/// Refuses a scheme that orders coflows if there are none.
pub(crate) fn refuse_without_coflows(
    scope: &Scope<'_>,
    scheme: &Scheme,
    workload: &Workload,
) -> Result<(), SettingsError> {
    let orders = |spec: &ControllerSpec| matches!(spec.kind, ControllerKind::Coordinator(_));
    if matches!(workload.extent, Extent::Queries | Extent::Collectives) || !scheme.controllers.iter().any(orders) {
        return Ok(());
    }
    need_coflows(scope, workload)
}

/// Refuses a workload without coflows.
pub(crate) fn need_coflows(scope: &Scope<'_>, workload: &Workload) -> Result<(), SettingsError> {
    if workload.has_coflows() {
        return Ok(());
    }
    let which = match (workload.extras().coflows, workload.extent) {
        (true, Extent::Entries { endless: true }) => "a workload without an end is not known before the run",
        (true, _) => "the requests of incast are not known before the run",
        (false, _) => "this workload has none",
    };
    let problem = format!("`{}` orders coflows, but {which}", scope.variant());
    let expected = "`coflows`, `queries` or a `list` with a column `coflow` in [workload], or coflow_order = \"none\"";
    Err(scope.error(&COFLOW_ORDER, problem).expected(expected))
}

/// Refuses flows from a host to itself, which neither packets nor flow lists can have.
pub(crate) fn refuse_own_rack(settings: &Settings) -> Result<(), SettingsError> {
    let names = settings.workloads().iter().map(|(name, _)| Some(name.as_str()));
    let names: Vec<Option<&str>> = if settings.workloads().is_empty() { vec![None] } else { names.collect() };
    for scope in names.into_iter().map(|name| settings.workload(name)) {
        if scope.optional(&OWN_RACK)? == Some(OwnRack::Keep) {
            let expected = "\"drop\", or fidelity = \"flow\" in [run]: packets and flow lists are between two hosts";
            return Err(scope.invalid(&OWN_RACK, expected));
        }
    }
    Ok(())
}

/// Refuses queries if a single link is offered its rate or more by other flows, which arrive until the last query has ended.
/// Links of a class may have different rates.
pub(crate) fn refuse_overloaded_link(settings: &Settings, setup: &Setup, seed: u64) -> Result<(), SettingsError> {
    let Setup { scheme, fabric, workload, .. } = setup;
    // Others may take traffic away from a slow link.
    let is_even = |&place: &Place| {
        use BalancerSpec::{Ecmp, SprayRandom, SprayRoundRobin};
        matches!(scheme.balancers.at(place), Ecmp(_) | SprayRandom(_) | SprayRoundRobin(_))
    };
    let busiest = Place::ALL.iter().all(is_even).then(|| workload.busiest_link_beside_queries(fabric, seed)).flatten();
    let Some((link, load)) = busiest.filter(|(_, load)| *load >= 1.0) else { return Ok(()) };
    let problem = format!(
        "the link {} is offered {load:.3} of its rate by flows of the mean size, ACKs and framing included",
        fabric.link_name(link)
    );
    Err(settings.common().error(&LOAD, problem).expected(ENDLESS_QUERIES))
}

/// Why flows next to queries may not overload a link.
const ENDLESS_QUERIES: &str = "less than 1: other flows go on arriving until the last query has ended";

/// Checks the most loaded class of links. If its offered load is at least its rate, that is an error if flows arrive
/// until the measured ones have finished, and a warning if the fabric drains.
pub(crate) fn overload(
    settings: &Settings,
    loads: &[(String, f64)],
    extent: Extent,
) -> Result<Option<String>, SettingsError> {
    // The first one of equal loads.
    let worst = loads.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((class, load)) = worst.filter(|(_, load)| *load >= 1.0) else { return Ok(None) };
    let problem = format!(
        "the {class} links are offered {load:.3} of their rate by flows of the mean size, ACKs and framing included"
    );
    let expected = match extent {
        Extent::Window(..) => "less than 1 with measure = \"window\"",
        Extent::Queries => ENDLESS_QUERIES,
        Extent::Entries { endless: true } => {
            "less than 1 if a workload continues until the flows of the others have finished"
        }
        _ => return Ok(Some(format!("{problem}: queues grow as long as flows arrive"))),
    };
    let first = settings.workloads().first().map(|(name, _)| name.as_str());
    Err(settings.workload(first).error(&LOAD, problem).expected(expected))
}
