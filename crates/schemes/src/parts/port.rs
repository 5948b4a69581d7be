//! Ports, from the settings: discipline, admission, marks.

use flowsieve_core::admission::Admission;
use flowsieve_core::bank::BankRules;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::fair_queueing::BitByBit;
use flowsieve_core::flow_queues::Order;
use flowsieve_core::hops::marks::Marks;
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::marker::{MarkScope, Marker, WHOLE};
use flowsieve_core::pfabric::PoolRules;
use flowsieve_core::pifo::PifoRules;
use flowsieve_core::sp_pifo::SpPifoRules;
use flowsieve_core::{PortKind, Rate};

use crate::afq;
use flowsieve_settings::declare;
use flowsieve_settings::units::{format_rate, format_size, parse_rate, parse_size};
use flowsieve_settings::{MTU, Place, Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::PortSpec;
use flowsieve_sim::topology::Fabric;

names! {
    /// The disciplines by the names that settings use.
    DisciplineName of &PortSettings<'_> => PortKind;
    /// One queue.
    Fifo "fifo" => |_| bank(1, Discipline::StrictPriority);
    /// Queues by priority, the first before the others.
    StrictPriority "sp" => |of| bank(of.queues()?, Discipline::StrictPriority);
    /// Queues by priority, a set number of packets of each in turn.
    WeightedRoundRobin "wrr" => |of| bank(of.queues()?, Discipline::WeightedRoundRobin { weights: weights(of, 1)? });
    /// Queues by priority, a set number of bytes of each in turn.
    DeficitRoundRobin "drr" => |of| bank(of.queues()?, Discipline::DeficitRoundRobin { quanta: weights(of, of.mtu()?)? });
    /// Queues by the host's level, the first before the others.
    Levels "levels" => |of| Ok(PortKind::Host(HostQueueRules { queues: of.queues()? }));
    /// One queue sorted by rank.
    Pifo "pifo" => pifo;
    /// pFabric's pool.
    Pfabric "pfabric" => |_| Ok(PortKind::Pfabric(PoolRules));
    /// Flows in turn, one packet each.
    FlowsInTurn "ps" => |_| Ok(PortKind::Flows(Order::RoundRobin));
    /// The flow of the least rank.
    LeastRank "least-rank" => |_| Ok(PortKind::Flows(Order::LeastRank));
    /// Bit-by-bit round robin.
    FairQueueing "fair-queueing" => |_| Ok(PortKind::Fair(BitByBit));
    /// SP-PIFO's queues.
    SpPifo "sp-pifo" => |of| Ok(PortKind::SpPifo(SpPifoRules { queues: of.queues()? }));
    /// AFQ's calendar.
    Afq "afq" => |of| Ok(PortKind::Afq(afq::rules(of)?));
}

/// What ECN marking compares with its threshold, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkingName {
    /// Nothing is marked.
    Off,
    /// The port's length.
    PerPort,
    /// The queue's length.
    PerQueue,
    /// RED by the port's length.
    Red,
    /// RED by the queue's length.
    RedPerQueue,
    /// RED by the queue's length as the packet leaves.
    RedAtDeparture,
}

/// What the buffer limits, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionName {
    /// The port's length.
    PerPort,
    /// Each queue's length.
    PerQueue,
    /// Queues of the switch, by dynamic thresholds.
    Shared,
    /// Nothing.
    Nothing,
}

const MOST_BYTES: u64 = 1_000_000_000_000;

declare! {
    /// Number of queues of a port.
    pub static QUEUES: Setting<u64> = Setting::count(
        Section::Network, "queues", 1, 64, "queues of a port; 0 is served first",
    );
    static BUFFER: Setting<u64> = Setting::size(Section::Network, "buffer", 0, MOST_BYTES, "buffer of a port");
    static ADMISSION: Setting<AdmissionName> = Setting::choice(
        Section::Network,
        "admission",
        &[
            ("per-port", AdmissionName::PerPort),
            ("per-queue", AdmissionName::PerQueue),
            ("shared", AdmissionName::Shared),
            ("none", AdmissionName::Nothing),
        ],
        "what the buffer limits: the port's total, each queue, queues of a switch-wide pool with dynamic thresholds, or nothing",
    );
    pub(super) static SHARED_BUFFER: Setting<u64> = Setting::size(
        Section::Network, "shared_buffer", 0, MOST_BYTES, "buffer of a switch when admission is shared",
    )
    .with_default(4_000_000);
    static DT_ALPHA: Setting<f64> = Setting::number_above(
        Section::Network, "dt_alpha", 0.0, 64.0, "dynamic thresholds: a queue may hold this many times the free memory",
    )
    .with_default(1.0);
    static MARKING: Setting<MarkingName> = Setting::choice(
        Section::Network,
        "marking",
        &[
            ("none", MarkingName::Off),
            ("per-port", MarkingName::PerPort),
            ("per-queue", MarkingName::PerQueue),
            ("red", MarkingName::Red),
            ("red-per-queue", MarkingName::RedPerQueue),
            ("red-at-departure", MarkingName::RedAtDeparture),
        ],
        "what ECN marking compares with its threshold; \"red-at-departure\": what a switch's queue holds as the packet leaves",
    );
    static ECN_THRESHOLD: Setting<u64> = Setting::size(
        Section::Network, "ecn_threshold", 0, MOST_BYTES, "ECN marking threshold K",
    );
    static ECN_PACKETS: Setting<u64> = Setting::count(
        Section::Network, "ecn_packets", 0, 1_000_000_000,
        "ECN marking threshold K in packets that are counted, whatever their sizes; instead of `ecn_threshold`, whose \
         `pkt` is the bytes of a full one",
    );
    static ECN_THRESHOLD_AT: Setting<Vec<String>> = Setting::texts(
        Section::Network, "ecn_threshold_at",
        "K by the rate of a port's link, such as [\"25Gbps: 244KB\", \"100Gbps: 975KB\"], before any `ecn_threshold`, which is \
         that of other rates; under RED it is `red_min`, and `red_max` is in proportion",
    );
    static ECN_COUNTS_ARRIVING: Setting<bool> = Setting::flag(
        Section::Network, "ecn_counts_arriving", "whether the arriving packet counts for the marking threshold",
    )
    .with_default(true);
    static RED_MIN: Setting<u64> = Setting::size(
        Section::Network, "red_min", 0, MOST_BYTES, "RED: backlog from which packets are marked at random",
    );
    static RED_MAX: Setting<u64> = Setting::size(
        Section::Network, "red_max", 0, MOST_BYTES, "RED: backlog from which every packet is marked",
    )
    .computed("twice `red_min`");
    static RED_PROBABILITY: Setting<f64> = Setting::number(
        Section::Network, "red_probability", 0.0, 1.0, "RED: marking probability at red_max",
    );
    static RED_AVERAGE: Setting<f64> = Setting::number_above(
        Section::Network, "red_average", 0.0, 1.0,
        "RED: weight of the newest backlog in the average; 1 is instantaneous",
    )
    .with_default(1.0);
    pub(super) static DISCIPLINE: Setting<DisciplineName> = Setting::choice(
        Section::Network,
        "discipline",
        DisciplineName::ALL,
        "which packet leaves next: that of one queue; by strict priority, weighted or deficit round robin over \
         queues; by strict priority of the host's own level; by rank; pFabric's pool; flows in turn; the flow of the \
         lowest rank; bit-by-bit round robin; SP-PIFO's queues; AFQ's calendar",
    );
    static FIFO_FROM: Setting<u64> = Setting::size(
        Section::Network, "fifo_from", 1, 4_000_000_000,
        "pifo: packets of this rank and above are served in order of arrival, after all lower ranks; not given: none",
    );
    static WEIGHTS: Setting<Vec<u64>> = Setting::counts(
        Section::Network, "weights", "weights of the queues under wrr (packets) and drr (packets of credit)",
    );
}

/// Reads the bytes of a port's buffer. One that holds no full packet is refused: it would drop every full packet.
pub(super) fn buffer(scope: &Scope<'_>) -> Result<u64, SettingsError> {
    let mtu = scope.read(&MTU)?;
    let bytes = scope.read(&BUFFER)?;
    if bytes < mtu {
        let problem = format!("a buffer of {} holds no full packet, so the run would never end", format_size(bytes));
        return Err(scope
            .error(&BUFFER, problem)
            .expected(format!("at least one packet (mtu = {})", format_size(mtu))));
    }
    Ok(bytes)
}

/// What a port does to what waits too long or too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limits {
    /// Nothing.
    Nothing,
    /// It marks, and takes everything: what sends to it is paused.
    Marks,
    /// It marks, and has a buffer.
    Buffer,
}

/// Builds a port at one place of a fabric; `own`: the scheme's; `reacts`: some transport may react to marks.
pub(super) fn port(
    scope: &Scope<'_>,
    (place, fabric): (Place, Option<&Fabric>),
    own: Option<&PortKind>,
    limits: Limits,
    reacts: bool,
) -> Result<PortSpec, SettingsError> {
    let scope = &scope.at(place);
    let kind = match own {
        Some(own) => own.clone(),
        None => scope.read(&DISCIPLINE)?.make(&PortSettings { scope })?,
    };
    let pool = matches!(kind, PortKind::Pfabric(_));
    if limits == Limits::Nothing || pool && limits == Limits::Marks {
        return Ok(PortSpec::unlimited(kind));
    }
    if pool {
        // A pool evicts by rank, within the port's buffer, and marks nothing.
        let limit = buffer(scope)?;
        return Ok(PortSpec { admission: Admission::PerPort { limit }, ..PortSpec::unlimited(kind) });
    }
    let (marker, marker_at) = if reacts { marker(scope, (place, fabric))? } else { (Marker::Off, Vec::new()) };
    let admission = if limits == Limits::Marks { Admission::Unlimited } else { admission(scope, place)? };
    Ok(PortSpec { kind, admission, marker, marker_at })
}

/// Takes the marks from a port at a place if its switch gives them as packets leave; hosts give none then.
pub(super) fn take_departing(
    scope: &Scope<'_>,
    place: Place,
    port: &mut PortSpec,
) -> Result<Option<(Place, Marks)>, SettingsError> {
    if port.marker == Marker::Off || scope.at(place).read(&MARKING)? != MarkingName::RedAtDeparture {
        return Ok(None);
    }
    let marker = std::mem::replace(&mut port.marker, Marker::Off);
    let marker_at = std::mem::take(&mut port.marker_at);
    Ok((place != Place::Nic).then_some((place, Marks { marker, marker_at })))
}

/// Returns whether a port has queues by priority.
pub(super) fn serves_by_priority(kind: &PortKind) -> bool {
    matches!(kind, PortKind::Bank(rules) if rules.queues > 1)
}

/// Returns whether a port reads the tags that hosts write.
pub(super) fn reads_tags(kind: &PortKind) -> bool {
    match kind {
        PortKind::Bank(rules) => rules.queues > 1,
        PortKind::Flows(order) => *order != Order::RoundRobin,
        PortKind::Fair(_) | PortKind::Afq(_) => false,
        _ => true,
    }
}

/// The settings that a discipline may read.
pub(crate) struct PortSettings<'a> {
    /// The port's settings.
    pub(crate) scope: &'a Scope<'a>,
}

impl PortSettings<'_> {
    /// Reads the number of queues.
    pub(crate) fn queues(&self) -> Result<usize, SettingsError> {
        Ok(self.scope.read(&QUEUES)? as usize)
    }

    /// Reads the bytes of a full packet.
    pub(crate) fn mtu(&self) -> Result<u64, SettingsError> {
        self.scope.read(&MTU)
    }
}

fn bank(queues: usize, discipline: Discipline) -> Result<PortKind, SettingsError> {
    Ok(PortKind::Bank(BankRules { queues, discipline }))
}

fn pifo(of: &PortSettings<'_>) -> Result<PortKind, SettingsError> {
    let fifo_from = of.scope.optional(&FIFO_FROM)?;
    // Ranks have at most 32 bits.
    Ok(PortKind::Pifo(PifoRules { fifo_from: fifo_from.and_then(|from| u32::try_from(from).ok()) }))
}

/// Reads one weight per queue, times `unit`.
fn weights(of: &PortSettings<'_>, unit: u64) -> Result<Vec<u32>, SettingsError> {
    let (scope, queues) = (of.scope, of.queues()?);
    let given = scope.optional(&WEIGHTS)?.unwrap_or_else(|| vec![1; queues]);
    let weights: Option<Vec<u32>> = given
        .iter()
        .map(|&weight| weight.checked_mul(unit).and_then(|w| u32::try_from(w).ok()).filter(|&w| w > 0))
        .collect();
    match weights {
        Some(weights) if weights.len() == queues => Ok(weights),
        _ => Err(scope.invalid(&WEIGHTS, format!("{queues} weights of at least 1, one for each queue"))),
    }
}

/// Returns the number of queues in a port's place, for a scheme that serves them itself. `None` if the port was given
/// another discipline than queues by priority: it stays unchanged.
pub(crate) fn own_queues(scope: &Scope<'_>, port: &PortSpec) -> Result<Option<usize>, SettingsError> {
    match &port.kind {
        PortKind::Bank(BankRules { queues, discipline: Discipline::StrictPriority }) => Ok(Some(*queues)),
        PortKind::Bank(_) => {
            let name = scope.variant();
            let expected = format!(
                "another discipline, such as \"sp\" in [schemes.{name}], since `{name}` serves its queues itself"
            );
            Err(scope.invalid(&DISCIPLINE, expected))
        }
        _ => Ok(None),
    }
}

fn admission(scope: &Scope<'_>, place: Place) -> Result<Admission, SettingsError> {
    let name = match scope.usual(&ADMISSION)? {
        Some(AdmissionName::Nothing) if !scope.is_given(&ADMISSION) => match scope.is_given(&BUFFER) {
            // A limit that is given is one.
            true => scope.given_or(&ADMISSION, AdmissionName::PerPort)?,
            // A scheme's own lack of limits is not part of the configuration.
            false => {
                scope.note_own(&ADMISSION);
                return Ok(Admission::Unlimited);
            }
        },
        _ => scope.read(&ADMISSION)?,
    };
    match name {
        AdmissionName::Nothing => Ok(Admission::Unlimited),
        AdmissionName::PerPort => Ok(Admission::PerPort { limit: buffer(scope)? }),
        AdmissionName::PerQueue => Ok(Admission::PerQueue { limit: buffer(scope)? }),
        // A host's port has no other port to share with.
        AdmissionName::Shared if place == Place::Nic => Ok(Admission::PerPort { limit: buffer(scope)? }),
        AdmissionName::Shared => {
            Ok(Admission::Shared { alpha_256: (scope.read(&DT_ALPHA)? * 256.0).round().max(1.0) as u32 })
        }
    }
}

/// Reads how ports at a place mark, and those in front of links of some rates.
fn marker(
    scope: &Scope<'_>,
    (place, fabric): (Place, Option<&Fabric>),
) -> Result<(Marker, Vec<(Rate, Marker)>), SettingsError> {
    let (length, red) = match scope.read(&MARKING)? {
        MarkingName::Off => return Ok((Marker::Off, Vec::new())),
        MarkingName::PerPort => (MarkScope::Port, false),
        MarkingName::PerQueue => (MarkScope::Queue, false),
        MarkingName::Red => (MarkScope::Port, true),
        MarkingName::RedPerQueue | MarkingName::RedAtDeparture => (MarkScope::Queue, true),
    };
    let departs = scope.read(&MARKING)? == MarkingName::RedAtDeparture;
    let counts_arriving = !departs && scope.read(&ECN_COUNTS_ARRIVING)?;
    // What counts as a packet is part of what marks.
    let mtu = scope.read(&MTU)?;
    let at = thresholds_at(scope, mtu, fabric)?;
    let is_stated = |rate: Rate| at.iter().any(|(of, _)| *of == rate);
    let has_all = fabric.is_some_and(|fabric| fabric.rates_at(place).into_iter().all(is_stated));
    let threshold = |above: u64| Marker::Threshold { above, scope: length, counts_arriving };
    if !red {
        if let Some(above) = scope.optional(&ECN_PACKETS)? {
            for (name, is_given) in
                [(ECN_THRESHOLD.name, scope.is_given(&ECN_THRESHOLD)), (ECN_THRESHOLD_AT.name, !at.is_empty())]
            {
                if is_given {
                    let problem = format!("`ecn_packets` and `{name}` are both given");
                    return Err(scope.error(&ECN_PACKETS, problem).expected("one of the two"));
                }
            }
            return Ok((Marker::Packets { above, scope: length, counts_arriving }, Vec::new()));
        }
        // What no port has is not part of the configuration.
        let above = match at.first() {
            Some((_, above)) if has_all => *above,
            _ => scope.read(&ECN_THRESHOLD)?,
        };
        return Ok((threshold(above), at.into_iter().map(|(rate, above)| (rate, threshold(above))).collect()));
    }
    let min = scope.read(&RED_MIN)?;
    let max = scope.read_or(&RED_MAX, 2 * min)?;
    if max <= min {
        return Err(scope.invalid(&RED_MAX, "more than red_min"));
    }
    let most = (scope.read(&RED_PROBABILITY)? * f64::from(u32::MAX)).round() as u32;
    let average = if departs { 1.0 } else { scope.read(&RED_AVERAGE)? };
    let weight = (average * f64::from(WHOLE)).round().max(1.0) as u32;
    let ramp = |min, max| Marker::Red { min, max, most, weight, scope: length, counts_arriving };
    let in_proportion = |k: u64| u64::try_from(u128::from(max) * u128::from(k) / u128::from(min.max(1))).ok();
    let ramps = at.into_iter().map(|(rate, k)| (rate, ramp(k, in_proportion(k).unwrap_or(u64::MAX).max(k + 1))));
    Ok((ramp(min, max), ramps.collect()))
}

/// Reads K by rate.
fn thresholds_at(scope: &Scope<'_>, mtu: u64, fabric: Option<&Fabric>) -> Result<Vec<(Rate, u64)>, SettingsError> {
    let mut found: Vec<(Rate, u64)> = Vec::new();
    for text in scope.optional(&ECN_THRESHOLD_AT)?.unwrap_or_default() {
        let entry = text.split_once(':').and_then(|(rate, k)| {
            let rate = Rate::new(parse_rate(rate.trim()).ok()?)?;
            let k = parse_size(k.trim()).ok()?.in_bytes(mtu).filter(|k| *k <= MOST_BYTES)?;
            Some((rate, k))
        });
        let Some((rate, k)) = entry else {
            let problem = format!("`{text}` is no rate with its threshold");
            return Err(scope.error(&ECN_THRESHOLD_AT, problem).expected("such as \"25Gbps: 244KB\""));
        };
        if found.iter().any(|(other, _)| *other == rate) {
            return Err(scope.invalid(&ECN_THRESHOLD_AT, "each rate once"));
        }
        if let Some(fabric) = fabric.filter(|fabric| fabric.links.iter().all(|link| link.rate != rate)) {
            if !scope.is_given(&ECN_THRESHOLD_AT) {
                continue; // a scheme's file has rates for many fabrics
            }
            let mut rates: Vec<u64> = fabric.links.iter().map(|link| link.rate.bps()).collect();
            rates.sort_unstable();
            rates.dedup();
            let rates: Vec<String> = rates.into_iter().map(format_rate).collect();
            let problem = format!("`{text}`: no link has this rate");
            return Err(scope.error(&ECN_THRESHOLD_AT, problem).expected(format!("rates of {}", rates.join(", "))));
        }
        found.push((rate, k));
    }
    Ok(found)
}
