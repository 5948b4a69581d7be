//! Settings that the kernel's TCP cannot honour. Each is named, with what would do.

use std::time::Duration;

use flowsieve_core::{TaggerSpec, Time};
use flowsieve_experiment::{Error, Point};
use flowsieve_lab::linux::{Congestion, DctcpWindow, HostSettings};
use flowsieve_schemes::scheme::{Class, Nic};
use flowsieve_settings::{Key, Origin, Scope, Settings, SettingsError};
use flowsieve_sim::FctEnd;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::congestion::CongestionSpec;
use flowsieve_transport::tcp::params::{LossDetection, Restart, RtoRule, TcpParams};
use flowsieve_transport::tcp::{Connections, Handshake, TcpRules};

use super::Sender;
use crate::setup::Setup;
use crate::simulator::FCT_END;

/// Bytes of the headers of IPv4 and TCP without options.
const HEADERS: u16 = 40;
/// The most hosts: each pair has connections, and each host a namespace.
const MOST_HOSTS: u32 = 64;
/// The kernel's gain of DCTCP's estimate, and the estimate of a new connection.
const DCTCP: (f64, f64) = (1.0 / 16.0, 1.0);

/// The largest window that no setting and no scheme has made smaller. Memory of sockets ends the kernel's about there.
const MOST_WINDOW: u32 = 4_096;

/// Settings of a sender that the kernel decides by itself.
const THE_KERNELS_OWN: [(&str, &str); 16] = [
    ("initial_rto", "it is 1 s"),
    ("max_backoff", "timeouts double up to 120 s"),
    ("loss_detection", "it has RACK, with tail loss probes"),
    ("dupack_threshold", "it has RACK"),
    ("reordering", "it has RACK"),
    ("gaps", "it has RACK"),
    ("delayed_ack", "it acknowledges at once"),
    ("probe_after", "it has tail loss probes"),
    ("nic_backlog", "a host's port is the scheme's"),
    ("halves", "a loss halves the window"),
    ("reduction", "it is proportional"),
    ("whole_windows", "it counts whole segments"),
    ("undo", "it takes spurious cuts back"),
    ("receive_window", "it is limited by the memory of sockets"),
    ("quick_acks", "it acknowledges at once"),
    ("ecn_acks", "ACKs can be marked under DCTCP"),
];

/// Returns how hosts send; refuses what the kernel cannot do. `sends`: the lab sends flows itself, and does not leave that to
/// programs.
pub(super) fn sender(point: &Point, setup: &Setup, sends: bool) -> Result<Sender, Error> {
    let scope = point.settings.scheme(&point.variant.name);
    let scheme = &setup.scheme;
    if setup.fabric.hosts > MOST_HOSTS {
        let problem = format!("engine = \"linux\" with {} hosts", setup.fabric.hosts);
        return Err(Error::Input(format!("{problem}; expected at most {MOST_HOSTS}")));
    }
    refuse_what_is_the_kernels(&scope)?;
    if scheme.classes.iter().any(|class| class.inference > Time::ZERO) {
        return Err(refused(point, "has hosts that take time to predict, which the lab does not have"));
    }
    if !scheme.on_hop.is_empty() {
        return Err(refused(point, "has switches that pause, cut or write into packets, which the lab's do not"));
    }
    if !matches!(scheme.nic, Nic::Scheme) {
        let problem = "hosts' ports push back, which the kernel's TCP does not hear";
        return Err(scope_error(&scope, "nic", problem).expected("nic = \"scheme\" in [network]").into());
    }
    let common = point.settings.common();
    let fct_end = if sends || common.is_given(&FCT_END) { Some(common.read(&FCT_END)?) } else { None };
    if fct_end.is_some_and(|end| end != FctEnd::Arrival) {
        let problem = "the lab measures FCTs at the receiver's last byte";
        return Err(common.error(&FCT_END, problem).expected("fct_end = \"arrival\" in [run]").into());
    }
    let mut sender: Option<Sender> = None;
    for class in &scheme.classes {
        let TransportSpec::Tcp(rules) = &class.transport else {
            return Err(refused(point, "has senders of its own, not the kernel's TCP"));
        };
        let of_class = of_rules(point, setup, &scope, rules, sends)?;
        if sender
            .as_ref()
            .is_some_and(|sender| sender.host != of_class.host || sender.congestion != of_class.congestion)
        {
            return Err(refused(
                point,
                "has classes of flows that send differently, and the lab has one kind of sender",
            ));
        }
        sender = Some(of_class);
    }
    sender.ok_or_else(|| refused(point, "has no senders"))
}

/// Says where a scheme's hosts have no order in their ports, although their levels are Sieve's and nothing is said of it.
pub(super) fn unordered(point: &Point, setup: &Setup) -> Option<String> {
    let scope = point.settings.scheme(&point.variant.name);
    let is_silent = key("nic_order").is_some_and(|key| !scope.is_given(key));
    let levels = |class: &Class| matches!(&class.tagger, TaggerSpec::KeptLevels(params) if !params.by_age);
    (is_silent && setup.scheme.classes.iter().any(levels)).then(|| {
        let instead = "nic_order = \"tag, then age\" sorts in them, and \"turns\" says that nothing is to";
        format!("on Linux hosts' ports serve a level of {} in the order of arrival; {instead}", setup.scheme.name)
    })
}

/// Says what of a scheme's senders the kernel's replace.
pub(super) fn replaced(setup: &Setup) -> Option<String> {
    let by_priority = |class: &Class| match &class.transport {
        TransportSpec::Tcp(rules) => matches!(rules.params.loss_detection, LossDetection::ByPriority(_)),
        _ => false,
    };
    let name = &setup.scheme.name;
    let sentence = || format!("on Linux {name} has the kernel's loss recovery, and not its own by priorities");
    setup.scheme.classes.iter().any(by_priority).then(sentence)
}

fn of_rules(point: &Point, setup: &Setup, scope: &Scope<'_>, rules: &TcpRules, sends: bool) -> Result<Sender, Error> {
    let params = &rules.params;
    let congestion = match &params.congestion {
        CongestionSpec::NewReno(_) => Congestion::Reno,
        CongestionSpec::Cubic(_) => Congestion::Cubic,
        CongestionSpec::Dctcp(own) if (own.gain, own.initial_alpha) == DCTCP => {
            let growth = DctcpWindow::growth_of(params.growth.unwrap_or(1.0));
            Congestion::Dctcp(DctcpWindow { growth, most: params.max_window, least: params.min_window })
        }
        CongestionSpec::Dctcp(_) => {
            let problem = "the lab's DCTCP has a gain of 1/16, and an estimate that begins at 1";
            let expected = "parameters = \"rfc\" in [run], and neither `dctcp_g` nor `initial_alpha`";
            return Err(scope_error(scope, "dctcp_g", problem).expected(expected).into());
        }
        CongestionSpec::D2tcp(_) => return Err(refused(point, "has D2TCP, which the kernel does not have")),
        CongestionSpec::Custom(_) => return Err(refused(point, "has a congestion control of its own")),
    };
    if rules.header != HEADERS {
        let problem = format!("packets have {} bytes of headers, and the kernel's have {HEADERS}", rules.header);
        return Err(scope_error(scope, "parameters", &problem).expected("parameters = \"rfc\" in [run]").into());
    }
    let (RtoRule::Rfc6298 { min, .. } | RtoRule::Linux { min, .. }) = params.rto else {
        let problem = "the kernel estimates its timeout";
        return Err(scope_error(scope, "rto", problem).expected("rto = \"linux\" in [transport]").into());
    };
    if min.0 % 1_000_000_000 != 0 || min == Time::ZERO {
        let problem = format!("the least timeout is {min}, and the kernel's are whole milliseconds");
        return Err(scope_error(scope, "rto_min", &problem).expected("whole milliseconds, such as \"10ms\"").into());
    }
    if params.ack_every != 1 {
        let problem = format!("an ACK for {} packets: the kernel decides this by itself from 2 on", params.ack_every);
        return Err(scope_error(scope, "ack_every", &problem).expected("ack_every = 1 in [transport]").into());
    }
    if !matches!(congestion, Congestion::Dctcp(_)) {
        refuse_other_windows(scope, params)?;
    }
    // Programs open connections as they like.
    if sends && !matches!(rules.connections, Connections::Pool | Connections::Warm) {
        let problem = "the lab has connections that are open before the first flow";
        return Err(scope_error(scope, "connections", problem)
            .expected("connections = \"warm\" in [transport]")
            .into());
    }
    if sends && rules.handshake != Handshake::Never {
        let problem = "the lab's connections are open before the first flow";
        return Err(scope_error(scope, "handshake", problem).expected("handshake = \"none\" in [transport]").into());
    }
    let host = HostSettings {
        mtu: params.segment + HEADERS,
        rto_min: Duration::from_nanos(min.0 / 1_000),
        initial_window: params.initial_window,
        ecn: params.ecn,
        lossy: setup.fabric.links.iter().any(|link| link.loss > 0.0),
        slow_start_after_idle: params.restart != Restart::Off,
    };
    Ok(Sender { host, congestion })
}

/// Refuses windows that are not the kernel's own.
fn refuse_other_windows(scope: &Scope<'_>, params: &TcpParams) -> Result<(), SettingsError> {
    let given = |name| key(name).is_some_and(|key| scope.is_given(key));
    let refuse = |name, problem: String| {
        let expected = format!("no `{name}`, or transport = \"dctcp\", which the lab brings along");
        Err(scope_error(scope, name, &problem).expected(expected))
    };
    if let Some(growth) = params.growth.filter(|growth| *growth != 1.0) {
        return refuse(
            "window_growth",
            format!("a growth of {growth} packets a round trip, and the kernel's window grows in its own way"),
        );
    }
    if given("max_window") || params.max_window < MOST_WINDOW {
        let problem =
            format!("at most {} packets, and the kernel's window ends with the memory of sockets", params.max_window);
        return refuse("max_window", problem);
    }
    if given("min_window") {
        return refuse("min_window", "the kernel's TCP decides this by itself: it is 2".to_owned());
    }
    Ok(())
}

/// Refuses settings that are given and that the kernel does not ask for.
fn refuse_what_is_the_kernels(scope: &Scope<'_>) -> Result<(), SettingsError> {
    for (name, instead) in THE_KERNELS_OWN {
        let Some(key) = key(name).filter(|key| scope.is_given(key)) else { continue };
        let problem = format!("the kernel's TCP decides this by itself: {instead}");
        return Err(scope.error(key, problem).expected(format!("no `{name}` with engine = \"linux\"")));
    }
    Ok(())
}

/// Takes out of a warning of the plan what the lab refuses of its advice: "…; try KEY = VALUE, or KEY = VALUE".
pub(super) fn without_refused_advice(warning: String, sender: &Sender) -> String {
    const TRY: &str = "; try ";
    let has_own_windows = matches!(sender.congestion, Congestion::Dctcp(_));
    let is_refused = |advice: &&str| match advice.split([' ', '=']).next().unwrap_or_default() {
        "nic" | "parameters" | "rto" => true,
        "max_window" | "min_window" | "window_growth" => !has_own_windows,
        key => THE_KERNELS_OWN.iter().any(|(own, _)| *own == key),
    };
    let Some((finding, advice)) = warning.split_once(TRY) else { return warning };
    let left: Vec<&str> = advice.split(", or ").filter(|advice| !is_refused(advice)).collect();
    if left.is_empty() { finding.to_owned() } else { format!("{finding}{TRY}{}", left.join(", or ")) }
}

/// Takes out of the effective configuration what the simulator's senders would have, and the kernel's have by themselves.
pub(super) fn leave_out_the_kernels(settings: &Settings) {
    let is_the_kernels = |name: &str| name == "rto" || THE_KERNELS_OWN.iter().any(|(own, _)| *own == name);
    settings.leave_out(|name| name.strip_prefix("scheme.").is_some_and(is_the_kernels));
}

/// Builds the error of a setting by its name.
fn scope_error(scope: &Scope<'_>, name: &str, problem: &str) -> SettingsError {
    match key(name) {
        Some(key) => scope.error(key, problem),
        None => SettingsError::new(Origin::Default, problem),
    }
}

/// Returns the setting of schemes with this name.
fn key(name: &str) -> Option<&'static Key> {
    flowsieve_schemes::SETTINGS.iter().copied().flatten().copied().find(|key| key.name == name)
}

fn refused(point: &Point, why: &str) -> Error {
    Error::Input(format!("engine = \"linux\": {} {why}", point.variant.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own__are_settings() {
        for (name, _) in THE_KERNELS_OWN {
            assert!(key(name).is_some(), "{name}");
        }
    }
}
