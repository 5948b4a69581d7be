//! Coflow traces as workloads: read, generated, placed and brought to a load.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flowsieve_settings::declare;
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError};
use flowsieve_workload::coflow_trace::{
    CoflowTrace, Generation, Like, OwnRack, Placed, Placing, PodLocal, Shapes, TraceError,
};
use flowsieve_workload::flow_list::FlowList;
use flowsieve_workload::{Framing, MAX_BYTES};

use super::files::{Files, List};
use super::{Hosts, LOAD};
use flowsieve_experiment::Error;

/// How ports are mapped to hosts, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlacingName {
    Random,
    Modulo,
}

/// Whose link carries the load that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LoadOf {
    /// The mean host's, as for workloads of flows. The few large coflows of a trace load single ports several times as much.
    #[default]
    Mean,
    /// That of the port that the placed coflows load most, in one direction.
    Busiest,
}

declare! {
    pub(crate) static COFLOWS: Setting<String> = Setting::file(
        Section::Workload, "coflows", "a coflow trace to replay, in the format of coflow-benchmark or of Sincronia",
    );
    static COFLOWS_LIKE: Setting<Like> = Setting::choice(
        Section::Workload,
        "coflows_like",
        &[("trace", Like::Trace), ("coflowsim", Like::CoflowSim)],
        "how sizes and arrivals of a trace are read: unchanged, or as CoflowSim reads them",
    )
    .with_default(Like::Trace);
    static COFLOW_HOSTS: Setting<PlacingName> = Setting::choice(
        Section::Workload,
        "coflow_hosts",
        &[("random", PlacingName::Random), ("modulo", PlacingName::Modulo)],
        "how a trace's ports map to hosts if their numbers differ: drawn for each seed, or by number",
    );
    pub(crate) static OWN_RACK: Setting<OwnRack> = Setting::choice(
        Section::Workload,
        "own_rack",
        &[("drop", OwnRack::Drop), ("keep", OwnRack::Keep)],
        "coflows: whether flows from a host to itself are left out or kept; keeping them needs fidelity = \"flow\"",
    )
    .with_default(OwnRack::Drop);
    static SIZE_SCALE: Setting<f64> = Setting::number_above(
        Section::Workload, "size_scale", 0.0, 1e6, "coflows: all sizes are multiplied by this",
    )
    .with_default(1.0);
    static LOAD_OF: Setting<LoadOf> = Setting::choice(
        Section::Workload,
        "load_of",
        &[("mean", LoadOf::Mean), ("busiest", LoadOf::Busiest)],
        "coflows: whether `load` is that of the mean host link or of the busiest one, in one direction; not given: the mean",
    );
    static GENERATED: Setting<u64> = Setting::count(
        Section::Workload, "generated_coflows", 1, 1_000_000,
        "number of coflows to generate, with structures from the trace on drawn ports, instead of replaying it",
    );
    static GENERATED_SHAPES: Setting<Shapes> = Setting::choice(
        Section::Workload,
        "generated_shapes",
        &[("drawn", Shapes::Drawn), ("each-once", Shapes::EachOnce)],
        "generated coflows: draw each structure from the trace, or use every structure once before any repeats; not \
         given: any",
    );
    static FLOW_CAP: Setting<u64> = Setting::size(
        Section::Workload, "flow_cap", 1, MAX_BYTES, "generated coflows: largest size of a flow",
    );
    static MOST_FLOWS: Setting<u64> = Setting::count(
        Section::Workload, "most_flows", 1, 1_000_000, "generated coflows: most flows of a coflow",
    );
    static POD_HOSTS: Setting<u64> = Setting::count(
        Section::Workload, "pod_hosts", 1, 65_535, "generated coflows: hosts of a pod, neighbours by number",
    );
    static POD_LOCAL: Setting<f64> = Setting::number(
        Section::Workload, "pod_local", 0.0, 1.0,
        "generated coflows: share of the bytes that stays inside pods, as closely as coflows allow",
    );
}

/// Returns the keys that mean nothing without `generated_coflows`.
fn of_generated() -> [&'static Key; 5] {
    [&GENERATED_SHAPES, &FLOW_CAP, &MOST_FLOWS, &POD_HOSTS, &POD_LOCAL]
}

/// Returns the keys that mean nothing without `coflows`.
fn of_coflows() -> [&'static Key; 6] {
    [&COFLOWS_LIKE, &COFLOW_HOSTS, &OWN_RACK, &SIZE_SCALE, &LOAD_OF, &GENERATED]
}

/// The longest time between the first arrival and the last: 200 days, within the range of a run's clock.
const MAX_SPAN_PS: f64 = 1.7e19;

/// Facts of a trace placed on these hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedFacts {
    /// The share of its rate that the busiest host's link carries between the first arrival and the last, one way, with
    /// headers and framing; `None` if all arrive at once.
    pub(crate) busiest_load: Option<f64>,
    /// Flows within a host, which are left out.
    pub(crate) left_out: u64,
    /// The number of shapes and the larger number of coflows made of them, if each was to be taken once.
    pub(crate) again: Option<(usize, usize)>,
}

impl PlacedFacts {
    fn of(placed: &Placed, span_ps: u64, hosts: &Hosts, framing: &Framing) -> PlacedFacts {
        let busiest = busiest_bits(placed, framing);
        let carried = span_ps as f64 / 1e12 * hosts.bps as f64;
        PlacedFacts { busiest_load: (span_ps > 0).then_some(busiest / carried), left_out: placed.own_host, again: None }
    }

    /// Adds what you should know of it before it runs: a load to those of the links, and a warning.
    pub(crate) fn say(&self, loads: &mut Vec<(String, f64)>, warnings: &mut Vec<String>) {
        loads.extend(self.busiest_load.map(|load| ("busiest host without ACKs".to_owned(), load)));
        if self.left_out > 0 {
            warnings.push(format!("{} flows from a host to itself are left out", self.left_out));
        }
        if let Some((once, coflows)) = self.again {
            warnings.push(format!(
                "generated_shapes = \"each-once\": the trace has {once} coflows that fit, so some structures repeat \
                    among {coflows}; generated_coflows = {once} takes each once"
            ));
        }
    }
}

/// A trace, with the digest of its contents.
#[derive(Debug)]
pub(crate) struct ReadCoflows {
    pub(crate) trace: CoflowTrace,
    pub(crate) digest: String,
}

/// Reads the flows of the coflow trace that the settings name, if any.
pub(super) fn read(
    scope: &Scope<'_>,
    (hosts, framing, seed): (&Hosts, &Framing, u64),
    files: &Files,
    folder: &Path,
) -> Result<Option<(Arc<List>, PlacedFacts)>, Error> {
    let Some(path) = scope.optional(&COFLOWS)? else {
        return match of_coflows().into_iter().chain(of_generated()).find(|key| scope.is_given(key)) {
            Some(key) => Err(without(scope, key, "coflows").into()),
            None => Ok(None),
        };
    };
    let path = folder.join(path);
    let read = files.coflows(scope, &path, scope.read(&COFLOWS_LIKE)?)?;
    scope.note("workload.coflows.digest", &read.digest);
    let count = hosts.racks.len() as u32;
    let refused = |key: &Key, error: TraceError| {
        let expected = match error {
            TraceError::NoneFits => "more hosts, or more flows of a coflow",
            TraceError::TooManyFlows => "fewer coflows, or narrower ones by `most_flows`",
            TraceError::TooManyBytes => "smaller sizes",
        };
        scope.error(key, format!("{}: {error}", path.display())).expected(expected)
    };
    let generation = generation(scope, count)?;
    let mut trace = match &generation {
        Some(generation) => generation.generate(&read.trace, seed).map_err(|error| refused(&GENERATED, error))?,
        None => read.trace.clone(),
    };
    trace.scale_sizes(scope.read(&SIZE_SCALE)?).map_err(|error| refused(&SIZE_SCALE, error))?;
    let (placing, own_rack) = (placing(scope, &trace, count, seed)?, scope.read(&OWN_RACK)?);
    let load_of = scope.optional(&LOAD_OF)?;
    if let Some(load) = scope.optional(&LOAD)? {
        // Flows within a host that are dropped load no link.
        let placed = trace.place(count, placing, own_rack);
        let (bits, links) = match load_of.unwrap_or_default() {
            LoadOf::Mean => (placed.flows.iter().map(|flow| wire_bits(flow.bytes, framing)).sum(), count),
            LoadOf::Busiest => (busiest_bits(&placed, framing), 1),
        };
        let span_ps = bits / (f64::from(links) * hosts.bps as f64 * load) * 1e12;
        if trace.span_ps() == 0 {
            let problem = "all coflows arrive at once, so there are no gaps to set a load with";
            return Err(scope
                .error(&LOAD, problem)
                .expected("no `load`, or coflows that arrive one after the other")
                .into());
        }
        if span_ps > MAX_SPAN_PS {
            let problem = format!("{}: at this load coflows arrive over more than 196 days", path.display());
            return Err(scope.error(&LOAD, problem).expected("a higher load, or smaller sizes").into());
        }
        trace.scale_span(span_ps.max(1.0) as u64);
    } else if load_of.is_some() {
        return Err(without(scope, &LOAD_OF, LOAD.name).into());
    }
    let placed = trace.place(count, placing, own_rack);
    if placed.flows.is_empty() {
        let problem = format!("{}: no flow is between two hosts", path.display());
        return Err(scope.error(&COFLOWS, problem).expected("flows between ports that are different hosts").into());
    }
    let name = path.display().to_string();
    let once =
        generation.filter(|it| it.shapes == Shapes::EachOnce).map(|it| (it.once(&read.trace), it.coflows as usize));
    let again = once.filter(|(once, coflows)| once < coflows);
    let facts = PlacedFacts { again, ..PlacedFacts::of(&placed, trace.span_ps(), hosts, framing) };
    Ok(Some((Arc::new(List::new(&name, FlowList { flows: placed.flows, ..FlowList::default() })), facts)))
}

fn without(scope: &Scope<'_>, key: &Key, other: &str) -> SettingsError {
    scope
        .error(key, format!("`{}` has no effect without `{other}`", key.name))
        .expected(format!("`{other}` in [workload]"))
}

fn generation(scope: &Scope<'_>, hosts: u32) -> Result<Option<Generation>, SettingsError> {
    let Some(coflows) = scope.optional(&GENERATED)? else {
        return match of_generated().into_iter().find(|key| scope.is_given(key)) {
            Some(key) => Err(without(scope, key, GENERATED.name)),
            None => Ok(None),
        };
    };
    let pods = match (scope.optional(&POD_LOCAL)?, scope.optional(&POD_HOSTS)?) {
        (None, None) => None,
        (Some(share), Some(pod)) if u64::from(hosts).is_multiple_of(pod) => Some(PodLocal { hosts: pod as u32, share }),
        (Some(_), Some(_)) => return Err(scope.invalid(&POD_HOSTS, format!("a divisor of the {hosts} hosts"))),
        (Some(_), None) => return Err(without(scope, &POD_LOCAL, POD_HOSTS.name)),
        (None, Some(_)) => return Err(without(scope, &POD_HOSTS, POD_LOCAL.name)),
    };
    let (flow_cap, most_flows) = (scope.optional(&FLOW_CAP)?, scope.optional(&MOST_FLOWS)?);
    let shapes = scope.optional(&GENERATED_SHAPES)?.unwrap_or_default();
    Ok(Some(Generation { coflows: coflows as u32, hosts, flow_cap, most_flows, pods, shapes }))
}

fn placing(scope: &Scope<'_>, trace: &CoflowTrace, hosts: u32, seed: u64) -> Result<Placing, SettingsError> {
    match scope.optional(&COFLOW_HOSTS)? {
        Some(PlacingName::Random) => Ok(Placing::Random { seed }),
        Some(PlacingName::Modulo) => Ok(Placing::Modulo),
        None if trace.ports == hosts => Ok(Placing::Same),
        None => {
            let problem = format!("the trace has {} ports, and the fabric {hosts} hosts", trace.ports);
            Err(scope.error(&COFLOWS, problem).expected("equal numbers, or `coflow_hosts` to map ports to hosts"))
        }
    }
}

/// Returns the bits that the busiest host's link carries in one direction.
fn busiest_bits(placed: &Placed, framing: &Framing) -> f64 {
    let mut bits: BTreeMap<(u32, bool), f64> = BTreeMap::new();
    for flow in &placed.flows {
        let of_flow = wire_bits(flow.bytes, framing);
        *bits.entry((flow.src, false)).or_default() += of_flow;
        *bits.entry((flow.dst, true)).or_default() += of_flow;
    }
    bits.into_values().fold(0.0, f64::max)
}

/// Returns the bits of a flow's data on a link: payload, headers and framing.
fn wire_bits(bytes: u64, framing: &Framing) -> f64 {
    let per_packet = u64::from(framing.header_bytes) + u64::from(framing.overhead_bytes);
    let packets = bytes.div_ceil(framing.payload_bytes.get().into());
    8.0 * (bytes as f64 + (packets * per_packet) as f64)
}
