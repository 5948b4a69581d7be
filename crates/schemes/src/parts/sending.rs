//! How hosts send, from the settings: transports.

use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::open_loop::OpenLoopRules;
use flowsieve_transport::tcp::NicOrder;
use flowsieve_transport::tcp::congestion::cubic::CubicRules;
use flowsieve_transport::tcp::congestion::d2tcp::D2tcpRules;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::params::{Gaps, LossDetection, MOST_DOUBLINGS, Restart, RtoRule};
use flowsieve_transport::tcp::{CongestionSpec, Connections, Handshake, TcpParams, TcpRules};

use super::repair::{self, Repair};
use super::{Own, controls, port};
use crate::entry::Context;
use crate::parameters::{Reference, ack_every, answers_each, header, segment};
use crate::sets::{Losses, ParameterSet};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, MTU, Scope, Section, Setting, SettingsError};

/// The transports by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportName {
    /// NewReno.
    Tcp,
    /// DCTCP.
    Dctcp,
    /// D2TCP.
    D2tcp,
    /// CUBIC.
    Cubic,
    /// HPCC.
    Hpcc,
    /// Swift.
    Swift,
    /// DCQCN.
    Dcqcn,
    /// pFabric's, with probes.
    Pfabric,
    /// Everything at once.
    OpenLoop,
}

/// What a gap in the arrivals means, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReorderingName {
    /// Decided by `loss_detection`.
    Tcp,
    /// A loss, if the priorities on both sides are equal.
    ByPriority,
}

/// What finds a loss, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DetectionName {
    Off,
    DupAck,
    Rack,
    RackTlp,
    GoBack,
    /// By load balancing.
    Auto,
}

/// The retransmission timer, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RtoName {
    Constant,
    Rfc6298,
    Linux,
}

/// No timeout is longer than 60 s, whatever it is estimated from.
const LONGEST_RTO_PS: u64 = 60_000_000_000_000;

declare! {
    pub(crate) static TRANSPORT: Setting<TransportName> = Setting::choice(
        Section::Scheme,
        "transport",
        &[
            ("tcp", TransportName::Tcp),
            ("dctcp", TransportName::Dctcp),
            ("d2tcp", TransportName::D2tcp),
            ("cubic", TransportName::Cubic),
            ("hpcc", TransportName::Hpcc),
            ("swift", TransportName::Swift),
            ("dcqcn", TransportName::Dcqcn),
            ("pfabric", TransportName::Pfabric),
            ("open-loop", TransportName::OpenLoop),
        ],
        "how a host sends: congestion control, or all at once",
    );
    static INITIAL_WINDOW: Setting<u64> = Setting::count(
        Section::Transport, "initial_window", 1, 1_000_000, "initial congestion window in packets",
    );
    static MAX_WINDOW: Setting<u64> = Setting::count(
        Section::Transport, "max_window", 1, 1_000_000,
        "largest congestion window in packets; at least `initial_window`",
    )
    .computed("4096; with ns2 a packet less than the buffer; none if flows begin at line rate; at least `initial_window`");
    static MIN_WINDOW: Setting<u64> = Setting::count(
        Section::Transport, "min_window", 1, 1_000_000,
        "smallest congestion window in packets that marks leave; not given: 2, as in Linux; \"ns2\": 1",
    );
    static WINDOW_GROWTH: Setting<f64> = Setting::number_above(
        Section::Transport, "window_growth", 0.0, 1_000_000.0,
        "packets by which the window grows in a round trip without marks; not given: 1, where \"ns2\" counts ACKs",
    );
    static RTO: Setting<RtoName> = Setting::choice(
        Section::Transport,
        "rto",
        &[("constant", RtoName::Constant), ("rfc6298", RtoName::Rfc6298), ("linux", RtoName::Linux)],
        "retransmission timer: rto_min always; estimated with back-off; or Linux's, SRTT + max(4 RTTVAR, rto_min)",
    );
    /// The least retransmission timeout.
    pub static RTO_MIN: Setting<u64> = Setting::time(
        Section::Transport, "rto_min", 1, MAX_TIME_PS, "smallest retransmission timeout",
    );
    static INITIAL_RTO: Setting<u64> = Setting::time(
        Section::Transport, "initial_rto", 1, LONGEST_RTO_PS,
        "rto not \"constant\": the timeout of a connection that has measured no round trip yet",
    )
    .computed("1s; with ns2 `rto_min`; at least `rto_min`");
    static MAX_BACKOFF: Setting<u64> = Setting::count(
        Section::Transport, "max_backoff", 1, 1 << MOST_DOUBLINGS,
        "rto not \"constant\": largest multiple of the timeout while nothing is acknowledged, a power of two; not given: up to 60 s",
    );
    static DCTCP_G: Setting<f64> = Setting::number_above(
        Section::Transport, "dctcp_g", 0.0, 1.0, "DCTCP, D2TCP: weight of the newest window in alpha",
    )
    .with_default(1.0 / 16.0);
    static INITIAL_ALPHA: Setting<f64> = Setting::number(
        Section::Transport, "initial_alpha", 0.0, 1.0, "DCTCP, D2TCP: alpha of a new connection",
    );
    static LOSS_DETECTION: Setting<DetectionName> = Setting::choice(
        Section::Transport,
        "loss_detection",
        &[
            ("off", DetectionName::Off),
            ("dupack", DetectionName::DupAck),
            ("rack", DetectionName::Rack),
            ("rack-tlp", DetectionName::RackTlp),
            ("go-back", DetectionName::GoBack),
            ("auto", DetectionName::Auto),
        ],
        "how losses are found without timeouts: by duplicate ACKs; by times, for networks that reorder (RACK); by times and \
        by probes of the tail (all of RFC 8985); by a receiver that keeps nothing out of order (go-back-N, as DCQCN's); or as \
        load balancing requires",
    )
    .with_default(DetectionName::Auto);
    static REORDERING: Setting<ReorderingName> = Setting::choice(
        Section::Transport,
        "reordering",
        &[("tcp", ReorderingName::Tcp), ("by-priority", ReorderingName::ByPriority)],
        "what a gap in a flow's packets means: what loss_detection says, or a loss if the priorities on both sides of the \
        gap are equal",
    );
    static GAPS: Setting<Gaps> = Setting::choice(
        Section::Transport,
        "gaps",
        &[("first", Gaps::First), ("every", Gaps::Every)],
        "reordering = \"by-priority\": an ACK reports the first gap and asks for one packet, or the gap below the packet \
        that it answers and asks for all that is missing there",
    );
    static DUPACK_THRESHOLD: Setting<u64> = Setting::count(
        Section::Transport, "dupack_threshold", 1, 1_000_000, "duplicate ACKs that mean a loss",
    )
    .with_default(3);
    static DELAYED_ACK: Setting<u64> = Setting::time(
        Section::Transport, "delayed_ack", 0, MAX_TIME_PS, "longest time that an ACK waits for a further packet",
    )
    .with_default(Time::from_us(1_000).0);
    static SLOW_START_RESTART: Setting<bool> = Setting::flag(
        Section::Transport, "slow_start_restart", "whether an idle connection starts again from its initial window",
    )
    .with_default(true);
    static PROBE_AFTER: Setting<u64> = Setting::count(
        Section::Transport, "probe_after", 0, 1_000,
        "consecutive timeouts after which pFabric's sender probes; 0: never",
    )
    .with_default(5);
    static HANDSHAKE: Setting<Handshake> = Setting::choice(
        Section::Transport,
        "handshake",
        &[("none", Handshake::Never), ("cold", Handshake::Cold), ("always", Handshake::Always)],
        "which connections begin with a handshake",
    )
    .with_default(Handshake::Cold);
    static CONNECTIONS: Setting<Connections> = Setting::choice(
        Section::Transport,
        "connections",
        &[
            ("per-flow", Connections::PerFlow),
            ("persistent", Connections::Persistent),
            ("pool", Connections::Pool),
            ("warm", Connections::Warm),
        ],
        "how messages of a host pair share connections; \"warm\" is a pool that starts with the base round trip as \
         its first measurement",
    )
    .with_default(Connections::Pool);
    static ECN: Setting<bool> = Setting::flag(
        Section::Transport, "ecn", "whether the transport reacts to marks",
    )
    .computed("true, but not with `transport` = \"pfabric\", \"hpcc\" or \"swift\"");
}

/// Builds the transport. `sprayed`: a flow's packets may overtake one another.
pub(super) fn transport(
    context: &Context<'_>,
    own: &Own,
    set: &ParameterSet,
    sprayed: bool,
) -> Result<TransportSpec, SettingsError> {
    let scope = &context.scope;
    if let Some(own) = &own.transport {
        return Ok(own.clone());
    }
    let (segment, header) = (segment(scope)?.get(), header(scope)?);
    let silent = set.silent;
    let name = match own.congestion {
        Some(_) => TransportName::Tcp,
        None => scope.read(&TRANSPORT)?,
    };
    let congestion = match name {
        TransportName::OpenLoop => {
            if reordering(scope)? == ReorderingName::ByPriority {
                return Err(scope.invalid(&REORDERING, "\"tcp\": an open-loop sender does not learn of losses"));
            }
            no_gaps(scope)?;
            return Ok(TransportSpec::OpenLoop(Arc::new(OpenLoopRules { segment, header })));
        }
        TransportName::Tcp | TransportName::Pfabric => {
            own.congestion.clone().unwrap_or(CongestionSpec::NewReno(NewReno))
        }
        TransportName::Cubic => CongestionSpec::Cubic(CubicRules),
        TransportName::Dctcp => CongestionSpec::Dctcp(dctcp(scope)?),
        TransportName::D2tcp => CongestionSpec::D2tcp(D2tcpRules(dctcp(scope)?)),
        TransportName::Hpcc => controls::hpcc(context)?,
        TransportName::Swift => controls::swift(context)?,
        TransportName::Dcqcn => controls::dcqcn(context)?,
    };
    let (initial_window, max_window) = windows(context, name, silent.fits_buffer)?;
    if max_window < initial_window {
        return Err(scope.invalid(&MAX_WINDOW, format!("at least `initial_window`, {initial_window} packets")));
    }
    let ecn = scope.read_or(&ECN, name.reads_marks())?;
    let min_window = min_window(scope, ecn && silent.keeps_two, max_window)?;
    let growth = growth(scope, &congestion)?;
    let loss_detection = loss_detection(scope, name, silent.losses, sprayed)?;
    let rto_min = Time(scope.read(&RTO_MIN)?);
    let rto_name = scope.read(&RTO)?;
    let constant = rto_name == RtoName::Constant;
    let (connections, handshake) = (scope.read(&CONNECTIONS)?, scope.read(&HANDSHAKE)?);
    // A connection of one flow is never idle before it ends.
    let restarts = connections != Connections::PerFlow && scope.read(&SLOW_START_RESTART)?;
    let (ack_every, delayed_ack) = acks(scope, name)?;
    let probe_after = if name == TransportName::Pfabric { scope.read(&PROBE_AFTER)? as u32 } else { 0 };
    let repair = Repair::read(scope, set, &congestion)?;
    let params = TcpParams {
        segment,
        initial_window: initial_window as u32,
        max_window: max_window as u32,
        min_window: min_window as u32,
        growth,
        window: silent.window,
        ecn,
        loss_detection,
        rto: rto(scope, silent.begins_at_rto_min, rto_name, rto_min)?,
        most_doublings: most_doublings(scope, constant)?,
        halves: repair.halves,
        reduction: repair.reduction,
        whole_windows: repair.whole_windows,
        undo: repair.undo,
        receive_window: repair::receive_window(scope, segment)?,
        restart: if restarts { silent.restart } else { Restart::Off },
        ack_every,
        delayed_ack,
        quick_acks: repair::quick_acks(scope, ack_every)?,
        ecn_acks: repair::ecn_acks(scope, ecn, silent.marks_acks, &congestion)?,
        probe_after: Some(probe_after).filter(|timeouts| *timeouts > 0),
        congestion,
    };
    Ok(TransportSpec::Tcp(Arc::new(TcpRules { params, connections, handshake, header, order: NicOrder::Turns })))
}

/// Reads the first and the largest window, in packets. Flows that begin at line rate have what the line holds in a base round trip;
/// what limits these is their pace. `fits_buffer`: unless it is given, the largest is a packet less than a port's buffer.
fn windows(context: &Context<'_>, name: TransportName, fits_buffer: bool) -> Result<(u64, u64), SettingsError> {
    let scope = &context.scope;
    if name.begins_at_line_rate() {
        // If not given, it is not part of the configuration.
        let most = scope.optional(&MAX_WINDOW)?.unwrap_or(65_536);
        return Ok((Reference::read(context)?.bdp_bytes().div_ceil(scope.read(&MTU)?).clamp(1, most), most));
    }
    let initial_window = scope.read(&INITIAL_WINDOW)?;
    let largest = match scope.usual(&MAX_WINDOW)? {
        Some(own) => own,
        None if fits_buffer && !scope.is_given(&MAX_WINDOW) => {
            (port::buffer(scope)? / scope.read(&MTU)?).saturating_sub(1)
        }
        None => 4_096,
    };
    Ok((initial_window, scope.given_or(&MAX_WINDOW, largest.max(initial_window))?))
}

/// Reads the smallest window that marks leave; `two`: not given, it is 2, and otherwise 1.
fn min_window(scope: &Scope<'_>, two: bool, max_window: u64) -> Result<u64, SettingsError> {
    let min_window = match two {
        true => scope.read_or(&MIN_WINDOW, max_window.min(2))?,
        false => scope.optional(&MIN_WINDOW)?.unwrap_or(1),
    };
    if min_window > max_window {
        return Err(scope.invalid(&MIN_WINDOW, format!("at most `max_window`, {max_window} packets")));
    }
    Ok(min_window)
}

/// Reads by how much the window grows. If it is neither given nor the scheme's own, it is not part of the configuration.
fn growth(scope: &Scope<'_>, congestion: &CongestionSpec) -> Result<Option<f64>, SettingsError> {
    match congestion {
        CongestionSpec::Cubic(_) | CongestionSpec::Custom(_) if scope.is_given(&WINDOW_GROWTH) => {
            Err(scope.invalid(&WINDOW_GROWTH, "none with a congestion control that grows in its own way"))
        }
        CongestionSpec::Cubic(_) | CongestionSpec::Custom(_) => Ok(None),
        _ => scope.optional(&WINDOW_GROWTH),
    }
}

/// Reads how many data packets an ACK answers, and how long it may wait for them.
fn acks(scope: &Scope<'_>, name: TransportName) -> Result<(u32, Time), SettingsError> {
    let every = if name.measures_each_packet() { answers_each(scope)? } else { ack_every(scope)? };
    let delay = if every == 1 { 0 } else { scope.read(&DELAYED_ACK)? };
    Ok((every, Time(delay)))
}

/// Reads DCTCP's weight of the newest window in alpha, and the initial alpha.
fn dctcp(scope: &Scope<'_>) -> Result<DctcpRules, SettingsError> {
    Ok(DctcpRules { gain: scope.read(&DCTCP_G)?, initial_alpha: scope.read(&INITIAL_ALPHA)? })
}

/// Reads the timer. A constant one is `rto_min` from the first packet on. An estimated one begins as the parameter set has it,
/// in Linux with another value if a program sets one (`BPF_SOCK_OPS_TIMEOUT_INIT`).
fn rto(scope: &Scope<'_>, begins_at_min: bool, name: RtoName, min: Time) -> Result<RtoRule, SettingsError> {
    let of_the_set = if begins_at_min { min } else { RtoRule::RFC_INITIAL.max(min) };
    let initial = || scope.read_or(&INITIAL_RTO, of_the_set.0).map(Time);
    Ok(match name {
        RtoName::Constant => RtoRule::Constant(min),
        RtoName::Rfc6298 => RtoRule::Rfc6298 { min, initial: initial()? },
        RtoName::Linux => RtoRule::Linux { min, initial: initial()? },
    })
}

/// Reads how often the timeout may double. A constant one does not.
fn most_doublings(scope: &Scope<'_>, constant: bool) -> Result<u32, SettingsError> {
    if constant {
        return Ok(0);
    }
    let Some(times) = scope.optional(&MAX_BACKOFF)? else { return Ok(MOST_DOUBLINGS) };
    if !times.is_power_of_two() {
        return Err(scope.invalid(&MAX_BACKOFF, "a power of two, since each timeout doubles the next: 64 in ns-2"));
    }
    Ok(times.ilog2())
}

/// Reads what a gap means. If it is neither given nor the scheme's own, it is not part of the configuration.
fn reordering(scope: &Scope<'_>) -> Result<ReorderingName, SettingsError> {
    Ok(scope.optional(&REORDERING)?.unwrap_or(ReorderingName::Tcp))
}

/// Refuses `gaps` if priorities are not compared.
fn no_gaps(scope: &Scope<'_>) -> Result<(), SettingsError> {
    if scope.is_given(&GAPS) {
        return Err(scope.invalid(&GAPS, "no `gaps` without reordering = \"by-priority\""));
    }
    Ok(())
}

fn loss_detection(
    scope: &Scope<'_>,
    transport: TransportName,
    auto: Losses,
    sprayed: bool,
) -> Result<LossDetection, SettingsError> {
    if reordering(scope)? == ReorderingName::ByPriority {
        if sprayed {
            let key: &Key = if scope.is_given(&REORDERING) { &REORDERING } else { &super::LOAD_BALANCING };
            let problem = "if a flow takes several paths, packets of one priority overtake each other, and \
                `reordering` = \"by-priority\" would treat them as lost";
            return Err(scope.error(key, problem).expected("load_balancing = \"ecmp\", or reordering = \"tcp\""));
        }
        if scope.is_given(&LOSS_DETECTION) {
            let expected = "no `loss_detection` with reordering = \"by-priority\", which finds losses in its own way";
            return Err(scope.invalid(&LOSS_DETECTION, expected));
        }
        // If not given, it is not part of the configuration.
        return Ok(LossDetection::ByPriority(scope.optional(&GAPS)?.unwrap_or(Gaps::First)));
    }
    no_gaps(scope)?;
    let name = match scope.read(&LOSS_DETECTION)? {
        // As their papers' network cards do.
        DetectionName::Auto if transport.begins_at_line_rate() && !sprayed => DetectionName::GoBack,
        name => name,
    };
    Ok(match (name, auto, sprayed) {
        (DetectionName::GoBack, _, true) => {
            let expected = "one that keeps what is out of order if a flow takes several paths: \"rack\"";
            return Err(scope.invalid(&LOSS_DETECTION, expected));
        }
        (DetectionName::GoBack, _, false) => LossDetection::GoBack,
        (DetectionName::Off, ..) | (DetectionName::Auto, Losses::ByTimeouts, true) => LossDetection::Off,
        (DetectionName::RackTlp, ..) | (DetectionName::Auto, Losses::ByProbes, _) => LossDetection::RackTlp,
        (DetectionName::Rack, ..) | (DetectionName::Auto, Losses::ByTimes, true) => LossDetection::Rack,
        (DetectionName::DupAck, ..) | (DetectionName::Auto, _, false) => {
            LossDetection::DupAck(scope.read(&DUPACK_THRESHOLD)? as u32)
        }
    })
}
