//! Load balancing, from the settings.

use flowsieve_core::balancers::conga::CongaParams;
use flowsieve_core::balancers::ecmp::Ecmp;
use flowsieve_core::balancers::flowlet::Flowlet;
use flowsieve_core::balancers::hula::HulaParams;
use flowsieve_core::balancers::spray::{SprayRandom, SprayRoundRobin};
use flowsieve_core::{BalancerSpec, Time};

use crate::parameters::TEN_GBPS;
use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, Place, Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::{ByPlace, Places};

names! {
    /// How a switch chooses among equal paths, by the names that settings use.
    BalancingName of &Scope<'_> => BalancerSpec;
    /// By flow.
    Ecmp "ecmp" => |_| Ok(BalancerSpec::Ecmp(Ecmp));
    /// Round robin, packet by packet.
    Spray "spray" => |_| Ok(BalancerSpec::SprayRoundRobin(SprayRoundRobin));
    /// A random path for each packet.
    SprayRandom "spray-random" => |_| Ok(BalancerSpec::SprayRandom(SprayRandom));
    /// By flow, with a new path after a pause.
    Flowlet "flowlet" => |scope| Ok(BalancerSpec::Flowlet(Flowlet { gap: Time(scope.read(&FLOWLET_GAP)?) }));
    /// By flowlet, on the paths that probes report to be used least.
    Hula "hula" => |scope| Ok(BalancerSpec::Hula(hula(scope)?));
    /// By flowlet, on the paths that the far leaf reports to be least congested.
    Conga "conga" => |scope| Ok(BalancerSpec::Conga(conga(scope)?));
}

/// The range of HULA's interval in ps: probes come often, and multiples of the interval fit into a time.
const INTERVAL_PS: (u64, u64) = (Time::from_us(1).0, MAX_TIME_PS);

declare! {
    /// How a switch chooses among equal paths.
    pub static LOAD_BALANCING: Setting<BalancingName> = Setting::choice(
        Section::Network,
        "load_balancing",
        BalancingName::ALL,
        "how a switch chooses among equal paths",
    );
    static FLOWLET_GAP: Setting<u64> = Setting::time(
        Section::Network, "flowlet_gap", 1, MAX_TIME_PS, "idle time after which a flow may take another path",
    )
    .with_default(Time::from_us(500).0)
    .stated_for(TEN_GBPS);
    static PROBE_INTERVAL: Setting<u64> = Setting::time(
        Section::Network, "probe_interval", INTERVAL_PS.0, INTERVAL_PS.1, "HULA: time between two probes of a leaf",
    )
    .with_default(Time::from_us(200).0)
    .stated_for(TEN_GBPS);
    static HULA_AGE: Setting<u64> = Setting::time(
        Section::Network, "hula_age", INTERVAL_PS.0, MAX_TIME_PS,
        "HULA: time without a probe after which any other path replaces the best path to a leaf",
    )
    .computed("three of `probe_interval`");
    static HULA_MEMORY: Setting<u64> = Setting::time(
        Section::Network, "hula_memory", INTERVAL_PS.0, MAX_TIME_PS, "HULA: time over which a link's utilisation is taken",
    )
    .computed("two of `probe_interval`");
    static CONGA_INTERVAL: Setting<u64> = Setting::time(
        Section::Network, "conga_interval", INTERVAL_PS.0, MAX_TIME_PS,
        "CONGA: T, after which the estimate of a line's congestion shrinks",
    )
    .with_default(Time::from_us(32).0)
    .stated_for(TEN_GBPS);
    static CONGA_ALPHA: Setting<f64> = Setting::number_above(
        Section::Network, "conga_alpha", 0.0, 1.0, "CONGA: alpha, by how much it shrinks; T/alpha is its memory",
    )
    .with_default(0.2);
    static CONGA_AGE: Setting<u64> = Setting::time(
        Section::Network, "conga_age", INTERVAL_PS.0, MAX_TIME_PS, "CONGA: time for which a report of congestion counts",
    )
    .with_default(Time::from_us(10_000).0);
    static HULA_PROBE_PRIORITY: Setting<u64> = Setting::count(
        Section::Network, "hula_probe_priority", 0, 255,
        "HULA: priority of probes, 0 is the highest; at a port with fewer queues they join the last one",
    )
    .with_default(0);
}

/// Reads the balancers of all places.
pub(super) fn balancers(
    scope: &Scope<'_>,
    there: Places,
    own: Option<&BalancerSpec>,
) -> Result<ByPlace<BalancerSpec>, SettingsError> {
    let balancers = ByPlace::at_places(there, |place| match place {
        // A host has one port, and no choice.
        Place::Nic => Ok(BalancerSpec::Ecmp(Ecmp)),
        place => balancer(&scope.at(place), own),
    })?;
    let of_switches = [Place::Leaf, Place::Spine, Place::Core];
    let talks = |place: Place| match balancers.at(place) {
        BalancerSpec::Hula(_) | BalancerSpec::Conga(_) => Some(format!("{:?}", balancers.at(place))),
        _ => None,
    };
    match of_switches.into_iter().find(|&place| talks(place) != talks(Place::Leaf)) {
        None => Ok(balancers),
        Some(place) => {
            let problem = format!("what switches tell each other at places `leaf` and `{}` differs", place.name());
            let expected = "\"hula\" or \"conga\" with the same times at all places or at none";
            let at = [place, Place::Leaf].map(|place| scope.at(place));
            let given = at.iter().find(|at| at.is_given(&LOAD_BALANCING)).unwrap_or(scope);
            Err(given.error(&LOAD_BALANCING, problem).expected(expected))
        }
    }
}

fn balancer(scope: &Scope<'_>, own: Option<&BalancerSpec>) -> Result<BalancerSpec, SettingsError> {
    match own {
        None => scope.read(&LOAD_BALANCING)?.make(scope),
        Some(_) if scope.is_given(&LOAD_BALANCING) => {
            let expected =
                format!("no `load_balancing` for `{}`, whose switches choose paths themselves", scope.variant());
            Err(scope.invalid(&LOAD_BALANCING, expected))
        }
        Some(own) => Ok(own.clone()),
    }
}

fn conga(scope: &Scope<'_>) -> Result<CongaParams, SettingsError> {
    Ok(CongaParams {
        interval: Time(scope.read(&CONGA_INTERVAL)?),
        alpha: scope.read(&CONGA_ALPHA)?,
        flowlet_gap: Time(scope.read(&FLOWLET_GAP)?),
        age: Time(scope.read(&CONGA_AGE)?),
    })
}

fn hula(scope: &Scope<'_>) -> Result<HulaParams, SettingsError> {
    let interval = scope.read(&PROBE_INTERVAL)?;
    let intervals = |setting: &Setting<u64>, count: u64, least: u64, expected: &str| {
        let time = scope.read_or(setting, count.saturating_mul(interval).min(MAX_TIME_PS))?;
        let key: &Key = setting;
        if time < least { Err(scope.invalid(key, expected)) } else { Ok(Time(time)) }
    };
    Ok(HulaParams {
        interval: Time(interval),
        flowlet_gap: Time(scope.read(&FLOWLET_GAP)?),
        age: intervals(&HULA_AGE, 3, interval, "at least `probe_interval`, or every path is forgotten at once")?,
        memory: intervals(&HULA_MEMORY, 2, interval, "at least `probe_interval`, after which it is read")?,
        probe_priority: scope.read(&HULA_PROBE_PRIORITY)? as u8,
    })
}
