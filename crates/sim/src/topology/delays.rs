//! The delays of links and hosts, fitted to the base round trip.
//!
//! A packet and its answer cross every link of the path twice and a host four times (out and in, there and back): rtt =
//! 2 · links · link_delay + 4 · host_delay between the two hosts that are farthest apart. If you give `rtt`, one of the
//! two delays is derived from it: `host_delay` unless you give that. An edge list has its own, complete propagation
//! delays: its hosts add nothing unless `host_delay` is given or follows from `rtt`. `rtt` holds before
//! `[[topology.link]]` changes single links.

use flowsieve_core::units::Time;
use flowsieve_settings::declare;
use flowsieve_settings::units::format_time;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, Settings, SettingsError};

use super::plan::Plan;
use super::{Fabric, overrides};

/// Largest delay of a link or a host, in ps: one second. Sums over a path stay far below `u64::MAX`.
pub(super) const MAX_DELAY_PS: u64 = 1_000_000_000_000;
/// The limit in words.
pub(super) const AT_MOST: &str = "at most 1s";

declare! {
    static LINK_DELAY: Setting<u64> = Setting::time(
        Section::Topology, "link_delay", 0, MAX_TIME_PS, "propagation delay of each link, one way",
    )
    .with_default(200_000);
    static HOST_DELAY: Setting<u64> = Setting::time(
        Section::Topology, "host_delay", 0, MAX_TIME_PS, "delay that a host adds at each of its link's ends, one way",
    )
    .with_default(20_000_000);
    static RTT: Setting<u64> = Setting::time(
        Section::Topology, "rtt", 1, MAX_TIME_PS,
        "base round trip between the farthest hosts: propagation and host delays, without serialisation",
    );
}

/// How many times a host adds its delay to a round trip.
const HOST_TIMES: u64 = 4;

/// Sets the links' delays and returns the hosts' delay.
pub(super) fn fit(settings: &Settings, plan: &mut Plan) -> Result<Time, SettingsError> {
    let scope = settings.common();
    let rtt = scope.optional(&RTT)?;
    if rtt.is_some_and(|rtt| rtt > HOST_TIMES * MAX_DELAY_PS) {
        return Err(scope.invalid(&RTT, "at most 4s"));
    }
    let propagation = match plan.hops {
        Some(hops) => {
            let link = link_delay(settings, &scope, rtt, 2 * hops)?;
            plan.edges.iter_mut().for_each(|edge| edge.delay_ps = link);
            2 * hops * link
        }
        // Compute this only if `rtt` is given, because it takes routes.
        None if rtt.is_some() => {
            let bare = Fabric::assemble("custom", plan, Time::ZERO, false);
            bare.map_err(|cut| overrides::explain(cut, plan, settings))?.base_rtt().0
        }
        None => 0,
    };
    let host = host_delay(settings, &scope, rtt, propagation, plan.hops.is_some())?;
    if rtt.is_none() && plan.hops.is_some() {
        settings.note("topology.rtt", format_time(propagation + HOST_TIMES * host));
    }
    Ok(Time(host))
}

/// Reads a delay, given or default, within the limit.
fn delay(scope: &Scope<'_>, setting: &Setting<u64>) -> Result<u64, SettingsError> {
    within(scope, setting, scope.read(setting)?)
}

/// Checks that a delay is within the limit.
fn within(scope: &Scope<'_>, setting: &Setting<u64>, delay: u64) -> Result<u64, SettingsError> {
    if delay > MAX_DELAY_PS { Err(scope.invalid(setting, AT_MOST)) } else { Ok(delay) }
}

fn link_delay(settings: &Settings, scope: &Scope<'_>, rtt: Option<u64>, times: u64) -> Result<u64, SettingsError> {
    let Some(rtt) = rtt.filter(|_| scope.is_given(&HOST_DELAY) && !scope.is_given(&LINK_DELAY)) else {
        return delay(scope, &LINK_DELAY);
    };
    let hosts = HOST_TIMES * delay(scope, &HOST_DELAY)?;
    let link = share(scope, rtt, hosts, "the hosts' delays", times)?;
    settings.note("topology.link_delay", format_time(link));
    Ok(link)
}

fn host_delay(
    settings: &Settings,
    scope: &Scope<'_>,
    rtt: Option<u64>,
    propagation: u64,
    link_delays_set: bool,
) -> Result<u64, SettingsError> {
    let Some(rtt) = rtt else {
        return match link_delays_set {
            true => delay(scope, &HOST_DELAY),
            false => within(scope, &HOST_DELAY, scope.read_or(&HOST_DELAY, 0)?),
        };
    };
    if !scope.is_given(&HOST_DELAY) {
        let host = share(scope, rtt, propagation, "the propagation", HOST_TIMES)?;
        settings.note("topology.host_delay", format_time(host));
        return Ok(host);
    }
    let host = delay(scope, &HOST_DELAY)?;
    let made = propagation + HOST_TIMES * host;
    if made != rtt {
        let links = if link_delays_set { "`link_delay`" } else { "the delays of the edge list" };
        let problem = format!("`rtt` = {} disagrees with {links} and `host_delay`", format_time(rtt));
        return Err(scope.error(&RTT, problem).expected(format!("{}, or one of them left out", format_time(made))));
    }
    Ok(host)
}

/// Divides the round trip, less `known`, over its `times` parts.
fn share(scope: &Scope<'_>, rtt: u64, known: u64, what: &str, times: u64) -> Result<u64, SettingsError> {
    match rtt.checked_sub(known) {
        None => {
            let problem = format!("`rtt` = {} is shorter than {what} in it", format_time(rtt));
            Err(scope.error(&RTT, problem).expected(format!("at least {}", format_time(known))))
        }
        Some(rest) if rest % times != 0 => {
            let problem = format!(
                "`rtt` = {} leaves {} without {what}, which is not a multiple of {}",
                format_time(rtt),
                format_time(rest),
                format_time(times)
            );
            Err(scope.error(&RTT, problem).expected(format!("for example {}", format_time(rtt - rest % times))))
        }
        Some(rest) => Ok(rest / times),
    }
}
