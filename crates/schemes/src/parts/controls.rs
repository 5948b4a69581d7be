//! The congestion controls that have a pace, from the settings. Rates are shares of the rate of the fabric's fastest host, and
//! times follow its largest base round trip, so that a control keeps its proportions in another fabric.

use flowsieve_core::Time;
use flowsieve_transport::tcp::congestion::dcqcn::DcqcnRules;
use flowsieve_transport::tcp::congestion::hpcc::HpccRules;
use flowsieve_transport::tcp::congestion::swift::SwiftRules;
use flowsieve_transport::tcp::{Coalescing, CongestionSpec};

use super::TransportName;
use crate::entry::Context;
use crate::parameters::{Reference, header, segment, wire_overhead};
use flowsieve_settings::declare;
use flowsieve_settings::units::format_time;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, SettingsError};

/// What a control reads of what switches write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Nothing,
    /// How many they are.
    Hops,
    /// Their telemetry.
    Stamps,
}

impl TransportName {
    /// Returns what it reads.
    pub(super) fn reads(self) -> Reads {
        match self {
            TransportName::Hpcc => Reads::Stamps,
            TransportName::Swift => Reads::Hops,
            _ => Reads::Nothing,
        }
    }

    /// Returns whether it reacts to marks.
    pub(super) fn reads_marks(self) -> bool {
        use TransportName::{Cubic, D2tcp, Dcqcn, Dctcp, OpenLoop, Tcp};
        matches!(self, Tcp | Dctcp | D2tcp | Cubic | Dcqcn | OpenLoop)
    }

    /// Returns whether it needs an answer to each packet: it measures each, or counts their marks.
    pub(super) fn measures_each_packet(self) -> bool {
        self.reads() != Reads::Nothing || self == TransportName::Dcqcn
    }

    /// Returns whether a flow begins at the rate of its line.
    pub(super) fn begins_at_line_rate(self) -> bool {
        matches!(self, TransportName::Hpcc | TransportName::Dcqcn)
    }
}

/// Of what notifications coalesce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotifyBy {
    Connection,
    Host,
    Port,
}

declare! {
    static HPCC_TARGET: Setting<f64> = Setting::number_above(
        Section::Transport, "hpcc_target", 0.0, 1.0, "HPCC: eta, the utilisation to which senders keep",
    )
    .with_default(0.95);
    static HPCC_STAGES: Setting<u64> = Setting::count(
        Section::Transport, "hpcc_stages", 0, 1_000,
        "HPCC: maxStage, increases by addition before one by multiplication; the authors simulated 0, and their paper prints 5",
    )
    .with_default(0);
    static HPCC_FLOWS: Setting<f64> = Setting::number_above(
        Section::Transport, "hpcc_flows", 0.0, 1_000_000.0,
        "HPCC: N, flows of a link for which W_AI = (1 - eta)/N of the first window is small enough",
    )
    .with_default(100.0);
    static HPCC_ROUND_TRIP: Setting<u64> = Setting::time(
        Section::Transport, "hpcc_round_trip", 1, MAX_TIME_PS, "HPCC: T, the base round trip of the network",
    )
    .computed("the largest base round trip of the fabric");
    static HPCC_LEAST: Setting<f64> = Setting::number(
        Section::Transport, "hpcc_least", 0.0, 1.0,
        "HPCC: least rate as a share of the host's; the authors simulated 0.01, and their paper has none",
    )
    .with_default(0.0);
    static SWIFT_TARGET: Setting<u64> = Setting::time(
        Section::Transport, "swift_target", 1, MAX_TIME_PS, "Swift: target delay of a path without switches",
    )
    .computed("1.43 of the largest base round trip, as htsim's 20 us are of its 14");
    static SWIFT_HOP: Setting<u64> = Setting::time(
        Section::Transport, "swift_hop", 0, MAX_TIME_PS, "Swift: what each switch adds to the target",
    )
    .computed("as in htsim, `swift_target`/6.55");
    static SWIFT_RANGE: Setting<u64> = Setting::time(
        Section::Transport, "swift_range", 0, MAX_TIME_PS, "Swift: the most that many flows add to the target",
    )
    .computed("5 of `swift_target`, as in htsim");
    static SWIFT_RANGE_FROM: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_range_from", 0.0, 1_000.0, "Swift: window in packets at which the whole range is added",
    )
    .with_default(0.1);
    static SWIFT_RANGE_TO: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_range_to", 0.0, 1_000_000.0, "Swift: window in packets from which nothing is added",
    )
    .with_default(100.0);
    static SWIFT_ADDITIVE: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_additive", 0.0, 1_000.0, "Swift: packets added to the window in a round trip",
    )
    .with_default(1.0);
    static SWIFT_BETA: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_beta", 0.0, 1.0, "Swift: beta, how strongly the window falls",
    )
    .with_default(0.8);
    static SWIFT_DECREASE: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_decrease", 0.0, 1.0, "Swift: the most that one decrease takes of the window",
    )
    .with_default(0.5);
    static SWIFT_LEAST: Setting<f64> = Setting::number_above(
        Section::Transport, "swift_least", 0.0, 1.0, "Swift: least window in packets; below 1 it is a pace",
    )
    .with_default(0.01);
    static DCQCN_GAIN: Setting<f64> = Setting::number_above(
        Section::Transport, "dcqcn_gain", 0.0, 1.0, "DCQCN: g, weight of the newest period in alpha",
    )
    .with_default(1.0 / 256.0);
    static DCQCN_ALPHA_TIMER: Setting<u64> = Setting::time(
        Section::Transport, "dcqcn_alpha_timer", 1_000, MAX_TIME_PS, "DCQCN: time without a CNP after which alpha falls",
    )
    .with_default(Time::from_us(55).0);
    static DCQCN_NOTIFY: Setting<u64> = Setting::time(
        Section::Transport, "dcqcn_notify", 0, MAX_TIME_PS, "DCQCN: least time between two CNPs",
    )
    .with_default(Time::from_us(50).0);
    static DCQCN_NOTIFY_BY: Setting<NotifyBy> = Setting::choice(
        Section::Transport,
        "dcqcn_notify_by",
        &[("connection", NotifyBy::Connection), ("host", NotifyBy::Host), ("port", NotifyBy::Port)],
        "DCQCN: of what a receiver sends one CNP in `dcqcn_notify`: of a connection, of a sending host, or of all that its port receives",
    )
    .with_default(NotifyBy::Connection);
    static DCQCN_TIMER: Setting<u64> = Setting::time(
        Section::Transport, "dcqcn_timer", 1_000, MAX_TIME_PS, "DCQCN: T, the timer of increases",
    )
    .with_default(Time::from_us(55).0);
    static DCQCN_BYTES: Setting<u64> = Setting::size(
        Section::Transport, "dcqcn_bytes", 0, 1_000_000_000_000, "DCQCN: B, bytes after which the rate rises; 0: only the timer",
    )
    .with_default(10_000_000);
    static DCQCN_RECOVERIES: Setting<u64> = Setting::count(
        Section::Transport, "dcqcn_recoveries", 1, 1_000, "DCQCN: F, increases towards the rate before the cut",
    )
    .with_default(5);
    static DCQCN_ADDITIVE: Setting<f64> = Setting::number_above(
        Section::Transport, "dcqcn_additive", 0.0, 1.0, "DCQCN: R_AI as a share of the host's rate; 40 Mbit/s at 40 Gbit/s",
    )
    .with_default(0.001);
    static DCQCN_HYPER: Setting<f64> = Setting::number_above(
        Section::Transport, "dcqcn_hyper", 0.0, 1.0, "DCQCN: R_HAI as a share of the host's rate; 100 Mbit/s at 40 Gbit/s",
    )
    .with_default(0.002_5);
    static DCQCN_LEAST: Setting<f64> = Setting::number_above(
        Section::Transport, "dcqcn_least", 0.0, 1.0, "DCQCN: least rate as a share of the host's",
    )
    .with_default(0.001);
}

pub(super) fn hpcc(context: &Context<'_>) -> Result<CongestionSpec, SettingsError> {
    let (scope, reference) = (&context.scope, Reference::read(context)?);
    let base_round_trip = Time(scope.read_or(&HPCC_ROUND_TRIP, reference.round_trip.0)?);
    // Without a fabric the reference is another network's.
    if context.workload.fabric().is_some() && base_round_trip < reference.round_trip {
        let least = format_time(reference.round_trip.0);
        return Err(scope.invalid(
            &HPCC_ROUND_TRIP,
            format!("at least {least}, the largest base round trip: windows hold no more"),
        ));
    }
    let target = scope.read(&HPCC_TARGET)?;
    let most = Reference { round_trip: base_round_trip, ..reference }.bdp_bytes() as f64;
    let rules = HpccRules {
        base_round_trip,
        host_bps: reference.host_bps,
        target,
        max_stage: scope.read(&HPCC_STAGES)? as u32,
        additive_bytes: most * (1.0 - target) / scope.read(&HPCC_FLOWS)?,
        least_bytes: (most * scope.read(&HPCC_LEAST)?).max(1.0),
    };
    Ok(rules.spec())
}

pub(super) fn swift(context: &Context<'_>) -> Result<CongestionSpec, SettingsError> {
    let scope = &context.scope;
    let times = |of: u64, times: f64| Time((of as f64 * times) as u64);
    let base_target = scope.read_or(&SWIFT_TARGET, times(Reference::read(context)?.round_trip.0, 1.43).0.max(1))?;
    let (from, to) = (scope.read(&SWIFT_RANGE_FROM)?, scope.read(&SWIFT_RANGE_TO)?);
    if from >= to {
        return Err(scope.invalid(&SWIFT_RANGE_FROM, format!("less than `swift_range_to`, {to}")));
    }
    let per_hop = scope.read_or(&SWIFT_HOP, times(base_target, 1.0 / 6.55).0)?;
    if let Some(fabric) = context.workload.fabric() {
        let switches = fabric.reaches().iter().map(|reach| u64::from(reach.links).saturating_sub(1)).max().unwrap_or(0);
        let round_trip = Reference::read(context)?.round_trip.0;
        if base_target.saturating_add(per_hop.saturating_mul(switches)) < round_trip {
            let least = format_time(round_trip.saturating_sub(per_hop.saturating_mul(switches)));
            let expected = format!(
                "at least {least}, so that over {switches} switches the target is a base round trip: no delay is less"
            );
            return Err(scope.invalid(&SWIFT_TARGET, expected));
        }
    }
    let rules = SwiftRules {
        base_target: Time(base_target),
        per_hop: Time(per_hop),
        range: Time(scope.read_or(&SWIFT_RANGE, times(base_target, 5.0).0.min(MAX_TIME_PS))?),
        range_windows: (from, to),
        additive: scope.read(&SWIFT_ADDITIVE)?,
        beta: scope.read(&SWIFT_BETA)?,
        most_decrease: scope.read(&SWIFT_DECREASE)?,
        least_window: scope.read(&SWIFT_LEAST)?,
    };
    Ok(rules.spec())
}

/// Returns the rate of the fastest host, and the share of payload in what a full packet takes on its line.
fn line(context: &Context<'_>) -> Result<(f64, f64), SettingsError> {
    let scope: &Scope<'_> = &context.scope;
    let (segment, beside) = (segment(scope)?.get(), u32::from(header(scope)?) + u32::from(wire_overhead(scope)?));
    let line = Reference::read(context)?.host_bps as f64;
    Ok((line, f64::from(segment) / f64::from(u32::from(segment) + beside)))
}

pub(super) fn dcqcn(context: &Context<'_>) -> Result<CongestionSpec, SettingsError> {
    let (scope, (line, payload_share)) = (&context.scope, line(context)?);
    let rules = DcqcnRules {
        line,
        payload_share,
        gain: scope.read(&DCQCN_GAIN)?,
        alpha_every: Time(scope.read(&DCQCN_ALPHA_TIMER)?),
        notify_every: Time(scope.read(&DCQCN_NOTIFY)?),
        coalescing: coalescing(scope)?,
        raise_every: Time(scope.read(&DCQCN_TIMER)?),
        raise_bytes: scope.read(&DCQCN_BYTES)?,
        recoveries: scope.read(&DCQCN_RECOVERIES)? as u32,
        additive: line * scope.read(&DCQCN_ADDITIVE)?,
        hyper: line * scope.read(&DCQCN_HYPER)?,
        least: line * scope.read(&DCQCN_LEAST)?,
    };
    Ok(rules.spec())
}

/// Reads how receivers coalesce notifications. Those of a connection coalesce at its sender, to the same effect.
fn coalescing(scope: &Scope<'_>) -> Result<Option<Coalescing>, SettingsError> {
    let by = scope.read(&DCQCN_NOTIFY_BY)?;
    let every = Time(scope.read(&DCQCN_NOTIFY)?);
    Ok((by != NotifyBy::Connection).then(|| Coalescing { every, by_host: by == NotifyBy::Host }))
}
