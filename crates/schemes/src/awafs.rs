//! AWAFS (S. A. Gutiérrez Betancur's thesis): demotion thresholds follow percentiles of the sizes of completed flows, in
//! each port of a switch or at each host (§4.3.2); the transport is DCTCP with marks per port (§5.1).
//!
//! The numbers are those of the large-scale experiments (§5.4): eight queues, percentiles from 0.1 in steps of 0.1, first
//! thresholds from 7 KB in steps of 7 KB, an update each 200 ms over a window of 250 ms. For what the thesis leaves open,
//! see [docs/reference/awafs.md](../../../docs/reference/awafs.md).

use flowsieve_core::awafs::actuator::WHOLE;
use flowsieve_core::awafs::completed::{ENTRY_BYTES, LARGEST};
use flowsieve_core::awafs::{ActuatorParams, AwafsParams, FlowEnds};
use flowsieve_core::controller::Hears;
use flowsieve_core::controllers::awafs::HostActuators;
use flowsieve_core::taggers::awafs::HostParams;
use flowsieve_core::taggers::ends::Ends;
use flowsieve_core::taggers::plain::Plain;
use flowsieve_core::{ControllerKind, ControllerSpec, PortKind, TaggerSpec, Time};
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::Connections;

use crate::adaptation::Rule;
use crate::entry::Context;
use crate::parts::{self, Own, QUEUES};
use crate::thresholds::{self, THRESHOLDS};
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::{PortSpec, Scheme};
use flowsieve_sim::topology::host_rate;

/// How a switch learns of a flow's end, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndsName {
    Marked,
    Fin,
    Idle,
}

declare! {
    /// Whether hosts have the thresholds.
    static PLACE_OF_THRESHOLDS: Setting<bool> = Setting::choice(
        Section::Scheme,
        "place_of_thresholds",
        &[("switch", false), ("host", true)],
        "AWAFS: whether each port of a switch has thresholds, or each host",
    )
    .with_default(false);
    static UPDATE_PERIOD: Setting<u64> = Setting::time(
        Section::Scheme, "update_period", 1, MAX_TIME_PS,
        "AWAFS: T_schedule, the time between two updates of the thresholds",
    )
    .with_default(Time::from_us(200_000).0);
    static UPDATE_WINDOW: Setting<u64> = Setting::time(
        Section::Scheme, "update_window", 1, MAX_TIME_PS,
        "AWAFS: W_update, the time for which a completed flow counts; at least update_period",
    )
    .with_default(Time::from_us(250_000).0);
    static PERCENTILES: Setting<Vec<f64>> = Setting::numbers(
        Section::Scheme, "percentiles", 0.0, 1.0,
        "AWAFS: percentile of the completed flows' sizes that each threshold follows, rising",
    )
    .computed("0.1, 0.2 …; equal shares of more than 10 queues");
    /// Whether percentiles are chosen by the traffic, the thesis's future work (§6.2).
    static PERCENTILES_BY: Setting<bool> = Setting::choice(
        Section::Scheme,
        "percentiles_by",
        &[("setting", false), ("model", true)],
        "AWAFS: whether `percentiles` says them, or a model chooses them from the sizes and the load that it sees",
    )
    .with_default(false)
    .silent();
    /// Whether percentiles are of the distinct sizes.
    static PERCENTILE_OF: Setting<bool> = Setting::choice(
        Section::Scheme,
        "percentile_of",
        &[("flows", false), ("sizes", true)],
        "AWAFS: whether percentiles are of the completed flows, or of their distinct sizes, each counted once",
    )
    .with_default(false);
    static FLOW_ENDS: Setting<EndsName> = Setting::choice(
        Section::Scheme,
        "flow_ends",
        &[("marked", EndsName::Marked), ("fin", EndsName::Fin), ("idle", EndsName::Idle)],
        "AWAFS: how a switch learns a flow's end and bytes: from the host, or by its own count until a connection's \
         last packet or an idle time",
    )
    .with_default(EndsName::Marked);
    static FLOW_IDLE: Setting<u64> = Setting::time(
        Section::Scheme, "flow_idle", 1, MAX_TIME_PS, "AWAFS: idle time that ends a flow under flow_ends = \"idle\"",
    )
    .with_default(Time::from_us(10_000).0);
    static FLOW_TABLE: Setting<u64> = Setting::count(
        Section::Scheme, "flow_table", 1, 1_000_000, "AWAFS: flows that a port can count at once, if it counts them itself",
    )
    .with_default(4_096);
    static LIST_MEMORY: Setting<u64> = Setting::size(
        Section::Scheme, "list_memory", 12, 1_000_000,
        "AWAFS: memory of a list of completed flows, at 12 bytes per flow",
    )
    .with_default(4_096);
    static BOOST: Setting<u64> = Setting::time(
        Section::Scheme, "boost", 1, MAX_TIME_PS,
        "AWAFS: time between two priority boosts, at which all waiting packets move to the first queue; not given: none",
    );
}

/// Builds the scheme. Its hosts write what its thresholds need.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let chooses = scope.read(&PERCENTILES_BY)?;
    let scheme = parts::build(context, Own { tagger: Some(TaggerSpec::Plain(Plain)), ..Own::default() })?;
    if scope.read(&PLACE_OF_THRESHOLDS)? {
        at_hosts(scope, scheme, chooses)
    } else {
        in_switches(scope, scheme, chooses)
    }
}

/// Builds the variant in which each port has thresholds.
fn in_switches(scope: &Scope<'_>, mut scheme: Scheme, chooses: bool) -> Result<Scheme, SettingsError> {
    let flows = |scope: &Scope<'_>| Ok::<_, SettingsError>(scope.read(&FLOW_TABLE)? as usize);
    let (ends, tagger) = match scope.read(&FLOW_ENDS)? {
        EndsName::Marked => (FlowEnds::Marked, TaggerSpec::Ends(Ends { sent: true })),
        EndsName::Fin if scheme.classes.iter().any(|class| shares_connections(&class.transport)) => {
            let expected =
                "\"marked\" or \"idle\": a connection ends with a flow only under connections = \"per-flow\"";
            return Err(scope.invalid(&FLOW_ENDS, expected));
        }
        EndsName::Fin => (FlowEnds::Fin { flows: flows(scope)? }, TaggerSpec::Ends(Ends { sent: false })),
        EndsName::Idle => {
            let after = Time(scope.read(&FLOW_IDLE)?);
            (FlowEnds::Idle { after, flows: flows(scope)? }, TaggerSpec::Plain(Plain))
        }
    };
    for class in &mut scheme.classes {
        class.tagger = tagger.clone();
    }
    let boost = scope.optional(&BOOST)?.map(Time);
    scheme.ports = scheme.ports.try_map(|place, port| {
        let scope = &scope.at(place);
        let Some(queues) = parts::own_queues(scope, port)? else { return Ok(port.clone()) };
        let kind = PortKind::Awafs(AwafsParams { actuator: actuator(scope, queues, chooses)?, ends, boost });
        Ok(PortSpec { kind, ..port.clone() })
    })?;
    Ok(scheme)
}

/// Returns whether a connection carries several messages, so that its end is not theirs.
fn shares_connections(transport: &TransportSpec) -> bool {
    matches!(transport, TransportSpec::Tcp(rules) if rules.connections != Connections::PerFlow)
}

/// Builds the variant in which each host has thresholds, and ports serve by the priorities that it writes.
fn at_hosts(scope: &Scope<'_>, mut scheme: Scheme, chooses: bool) -> Result<Scheme, SettingsError> {
    let queues = scope.read(&QUEUES)? as usize;
    let boost = scope.optional(&BOOST)?.map(Time);
    let rate = host_rate(scope)?;
    let actuator = actuator(scope, queues, chooses)?;
    let initial = actuator.initial.iter().copied().map(u64::from).collect();
    let params = HostParams { initial, boost, rate };
    for (class, number) in scheme.classes.iter_mut().zip(0..) {
        if !class.transport.facts().answers() {
            let expected =
                "\"switch\": a host knows by the last ACK that a flow has completed, and an open loop has none";
            return Err(scope.invalid(&PLACE_OF_THRESHOLDS, expected));
        }
        class.tagger = TaggerSpec::Adaptive(params.clone());
        scheme.controllers.push(ControllerSpec {
            name: "thresholds of hosts",
            period: Some(actuator.period),
            hears: Hears::WhenItDecides(Time::ZERO),
            publishes_after: Time::ZERO,
            kind: ControllerKind::Actuators(HostActuators { class: number, params: actuator.clone() }),
        });
    }
    Ok(scheme)
}

/// Reads what is adapted for `queues` queues, and how.
fn actuator(scope: &Scope<'_>, queues: usize, chooses: bool) -> Result<ActuatorParams, SettingsError> {
    let period = Time(scope.read(&UPDATE_PERIOD)?);
    let window = Time(scope.read(&UPDATE_WINDOW)?);
    if window < period {
        let expected = format!("at least update_period, {period}: otherwise flows between two updates are left out");
        return Err(scope.invalid(&UPDATE_WINDOW, expected));
    }
    let entries = scope.read(&LIST_MEMORY)? / ENTRY_BYTES;
    Ok(ActuatorParams {
        initial: initial(scope, queues)?,
        percentiles: percentiles(scope, queues)?,
        of_sizes: scope.read(&PERCENTILE_OF)?,
        model: chooses.then_some(&Rule::Optimal),
        period,
        window,
        entries: usize::try_from(entries).unwrap_or(usize::MAX),
    })
}

/// Reads the initial thresholds.
fn initial(scope: &Scope<'_>, queues: usize) -> Result<Vec<u32>, SettingsError> {
    let Some(given) = thresholds::sizes(scope)? else {
        return Ok((1..queues as u32).map(|threshold| 7_000 * threshold).collect());
    };
    let sizes: Option<Vec<u32>> =
        given.iter().map(|&size| u32::try_from(size).ok().filter(|&s| s <= LARGEST)).collect();
    let sizes = sizes.filter(|sizes| sizes.len() + 1 == queues && sizes.is_sorted_by(|a, b| a < b));
    sizes.ok_or_else(|| {
        let expected = format!("{} sizes that rise, each below 4.29 GB, for {queues} queues", queues - 1);
        scope.invalid(&THRESHOLDS, expected)
    })
}

/// Reads the percentiles that thresholds follow, in 1 / [`WHOLE`]. The default is tenths, or equal shares if tenths are too few.
fn percentiles(scope: &Scope<'_>, queues: usize) -> Result<Vec<u32>, SettingsError> {
    let default: Vec<f64> = (1..queues).map(|i| i as f64 / queues.max(10) as f64).collect();
    let given = scope.read_or(&PERCENTILES, default)?;
    let percentiles: Vec<u32> = given.iter().map(|share| (share * f64::from(WHOLE)).round() as u32).collect();
    if percentiles.len() + 1 != queues || !percentiles.is_sorted_by(|a, b| a < b) {
        let expected = format!("{} numbers that rise by a millionth or more, for {queues} queues", queues - 1);
        return Err(scope.invalid(&PERCENTILES, expected));
    }
    Ok(percentiles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};
    use flowsieve_core::bank::BankRules;
    use flowsieve_settings::{Origin, Place, Raw, Settings};

    fn scheme(settings: &Settings) -> Result<Scheme, String> {
        let workload = Facts { load: Some(0.9), ..Facts::NONE };
        let context = Context { scope: settings.scheme("awafs"), workload: &workload };
        crate::registry::find("awafs").unwrap().scheme(&context).map_err(|error| error.to_string())
    }

    fn params(settings: &Settings) -> AwafsParams {
        match &scheme(settings).unwrap().ports.at(Place::Spine).kind {
            PortKind::Awafs(params) => params.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn list(items: &[f64]) -> Raw {
        Raw::List(items.iter().map(|&item| (Raw::from(item), Origin::Default)).collect())
    }

    #[test]
    fn switch__the_theses_numbers() {
        let params = params(&none_given());
        let AwafsParams { actuator, ends, boost } = &params;
        assert_eq!(actuator.initial, [7_000, 14_000, 21_000, 28_000, 35_000, 42_000, 49_000]);
        assert_eq!(actuator.percentiles, [100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000]);
        assert_eq!((actuator.period, actuator.window), (Time::from_us(200_000), Time::from_us(250_000)));
        assert_eq!((actuator.entries, *ends, *boost), (341, FlowEnds::Marked, None));
        assert!(!actuator.of_sizes);
        let scheme = scheme(&none_given()).unwrap();
        assert!(matches!(scheme.classes[0].tagger, TaggerSpec::Ends(Ends { sent: true })));
        assert!(format!("{:?}", scheme.ports.at(Place::Leaf)).contains("above: 97500, scope: Port"));
    }

    #[test]
    fn percentile_of__flows_or_sizes() {
        let of = |of: &str| params(&none_given().with(None, "percentile_of", of)).actuator.of_sizes;
        assert_eq!([of("flows"), of("sizes")], [false, true]);
    }

    #[test]
    fn percentiles__rise_whatever_the_number_of_queues() {
        for queues in 1..=64 {
            let params = params(&none_given().with(None, "queues", queues as i64));
            assert_eq!(params.actuator.percentiles.len() + 1, queues);
            assert!(params.actuator.percentiles.iter().all(|&share| share < WHOLE));
        }
    }

    #[test]
    fn flow_ends__what_the_switch_counts_and_hosts_write() {
        let fin = none_given().with(None, "flow_ends", "fin").with(None, "connections", "per-flow");
        assert_eq!(params(&fin).ends, FlowEnds::Fin { flows: 4_096 });
        assert!(matches!(scheme(&fin).unwrap().classes[0].tagger, TaggerSpec::Ends(Ends { sent: false })));
        let idle = none_given().with(None, "flow_ends", "idle").with(None, "flow_idle", "3ms");
        assert_eq!(params(&idle).ends, FlowEnds::Idle { after: Time::from_us(3_000), flows: 4_096 });
        assert!(matches!(scheme(&idle).unwrap().classes[0].tagger, TaggerSpec::Plain(Plain)));
    }

    #[test]
    fn host__ports_read_the_tag() {
        let settings = none_given().with(None, "place_of_thresholds", "host").with(None, "queues", 3);
        let scheme = scheme(&settings).unwrap();
        assert!(matches!(scheme.ports.at(Place::Leaf).kind, PortKind::Bank(BankRules { queues: 3, .. })));
        let TaggerSpec::Adaptive(params) = &scheme.classes[0].tagger else { panic!() };
        assert_eq!((&params.initial[..], params.boost), (&[7_000, 14_000][..], None));
        assert!(matches!(scheme.controllers[0].kind, ControllerKind::Actuators(HostActuators { class: 0, .. })));
    }

    #[test]
    fn misuse__claims_everything_but_the_end_of_a_connection() {
        let taggers = |settings: &Settings| {
            let scheme = scheme(&settings.clone().with(None, "misusing_hosts", 2)).unwrap();
            let tag = |host| {
                let facts = flowsieve_core::tagger::FlowFacts {
                    offset: 99_000,
                    payload: 1_000,
                    size: 100_000,
                    ..Default::default()
                };
                let tag = scheme.taggers(host, |_| unreachable!("a built-in tagger"))[0].tag(|| facts);
                (tag.priority(), tag.rank())
            };
            [tag(1), tag(2)]
        };
        let default = none_given();
        assert_eq!(taggers(&default), [(0, 0), (1, 99_000)]);
        assert_eq!(taggers(&default.clone().with(None, "place_of_thresholds", "host")), [(0, 0), (7, 0)]);
        let fin = default.with(None, "flow_ends", "fin").with(None, "connections", "per-flow");
        assert_eq!(taggers(&fin), [(1, 0), (1, 0)]);
    }

    #[test]
    fn build__refuses_what_does_not_fit() {
        let with = |key: &str, value: Raw| none_given().with(None, "queues", 3).with(None, key, value);
        let sizes = |sizes: [&str; 2]| Raw::from(&sizes[..]);
        for (settings, expected) in [
            (with("percentiles", list(&[0.5, 0.5])), "2 numbers that rise"),
            (with("percentiles", list(&[0.5])), "2 numbers that rise"),
            (with("thresholds", sizes(["2KB", "1KB"])), "2 sizes that rise"),
            (with("thresholds", sizes(["2KB", "5GB"])), "below 4.29 GB"),
            (with("thresholds", Raw::from("published")), "a list of sizes"),
            (with("update_window", Raw::from("199ms")), "at least update_period, 200 ms"),
            (with("flow_ends", Raw::from("fin")), "connections = \"per-flow\""),
            (with("place_of_thresholds", Raw::from("host")).with(None, "transport", "open-loop"), "the last ACK"),
        ] {
            let error = scheme(&settings).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
