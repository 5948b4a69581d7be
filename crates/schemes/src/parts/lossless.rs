//! What switches do beyond queueing, from the settings: stamps for transports that read them, and pauses.

use flowsieve_core::hop::{HopSpec, MOST_STAMPS};
use flowsieve_core::hops;
use flowsieve_core::hops::pfc::{Headroom, PRIORITIES, Pfc, Threshold};
use flowsieve_core::hops::stamps::Stamps;

use super::LOAD_BALANCING;
use super::controls::Reads;
use super::port::{QUEUES, SHARED_BUFFER};
use super::sending::TRANSPORT;
use crate::entry::Context;
use crate::parameters::wire_overhead;
use flowsieve_settings::declare;
use flowsieve_settings::units::format_size;
use flowsieve_settings::{MTU, Scope, Section, Setting, SettingsError};
use flowsieve_sim::topology::{Fabric, Node, Sites};

/// The rules for headroom by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadroomName {
    Exact,
    Sonic,
}

const MOST_BYTES: u64 = 1_000_000_000_000;

declare! {
    static PFC: Setting<bool> = Setting::flag(
        Section::Network, "pfc",
        "whether switches pause what sends to them, priority by priority, so that nothing is lost (IEEE 802.1Qbb)",
    );
    static PFC_CLASSES: Setting<Vec<u64>> = Setting::counts(
        Section::Network, "pfc_classes", "pfc: the priorities, 0 to 7, that are lossless; not given: all",
    );
    static PFC_XOFF: Setting<u64> = Setting::size(
        Section::Network, "pfc_xoff", 0, MOST_BYTES,
        "pfc: bytes of an ingress and priority above which it is paused; not given: `pfc_alpha` of the free memory",
    );
    static PFC_XON: Setting<u64> = Setting::size(
        Section::Network, "pfc_xon", 0, MOST_BYTES, "pfc: with `pfc_xoff`, bytes at which a pause ends",
    )
    .computed("two full packets below `pfc_xoff`");
    static PFC_ALPHA: Setting<f64> = Setting::number_above(
        Section::Network, "pfc_alpha", 0.0, 64.0,
        "pfc: an ingress and priority may hold this many times the free memory of `shared_buffer`; a pause ends two full packets \
         below that",
    )
    .with_default(0.125);
    static PFC_HEADROOM: Setting<u64> = Setting::size(
        Section::Network, "pfc_headroom", 1, MOST_BYTES,
        "pfc: bytes for what an ingress and priority receives after its threshold; not given: by `pfc_headroom_rule`",
    );
    static PFC_HEADROOM_RULE: Setting<HeadroomName> = Setting::choice(
        Section::Network, "pfc_headroom_rule",
        &[("exact", HeadroomName::Exact), ("sonic", HeadroomName::Sonic)],
        "pfc: headroom by each port's line, as much as can arrive, or as the switches' system SONiC computes it",
    )
    .with_default(HeadroomName::Exact);
    static PFC_CELL: Setting<u64> = Setting::size(
        Section::Network, "pfc_cell", 1, 4_096, "pfc, \"sonic\": a cell of the switch's memory",
    )
    .with_default(144);
    static PFC_SMALL: Setting<f64> = Setting::number(
        Section::Network, "pfc_small", 0.0, 1.0, "pfc, \"sonic\": share of packets that are small",
    )
    .with_default(1.0);
}

/// Returns what switches do. `reads`: what the transport reads; `trails`: packets need them otherwise.
pub(super) fn on_hop(context: &Context<'_>, reads: Reads, trails: bool) -> Result<Vec<HopSpec>, SettingsError> {
    let stamps = match reads {
        Reads::Nothing => None,
        Reads::Hops => Some(Stamps { telemetry: false }),
        Reads::Stamps => {
            refuse_long_paths(context)?;
            Some(Stamps { telemetry: true })
        }
    };
    let pfc = pfc(context)?;
    let carried = trails.then(hops::trails);
    Ok(stamps.map(Stamps::spec).into_iter().chain(pfc.map(Pfc::spec)).chain(carried).collect())
}

/// Refuses stamps on a path with more switches than a trail holds.
fn refuse_long_paths(context: &Context<'_>) -> Result<(), SettingsError> {
    let links = context.workload.fabric().map(|fabric| fabric.reaches().iter().map(|reach| reach.links).max());
    let switches = links.flatten().map_or(0, |links| links.saturating_sub(1));
    if switches as usize > MOST_STAMPS {
        let problem = format!("a path has {switches} switches, and a packet carries the telemetry of {MOST_STAMPS}");
        return Err(context.scope.error(&TRANSPORT, problem).expected("\"swift\", or shorter paths"));
    }
    Ok(())
}

/// Refuses telemetry of packets that take a path each: it compares two packets of one way.
pub(super) fn refuse_spray(scope: &Scope<'_>, reads: Reads, sprays: bool) -> Result<(), SettingsError> {
    if reads == Reads::Stamps && sprays {
        let problem =
            "HPCC compares the telemetry of two packets that went the same way, and each packet is sent another way";
        return Err(scope.error(&LOAD_BALANCING, problem).expected("\"ecmp\", \"flowlet\" or \"hula\""));
    }
    Ok(())
}

/// Refuses pauses for a transport whose packets switches cut.
pub(crate) fn refuse_pauses(scope: &Scope<'_>, name: &str) -> Result<(), SettingsError> {
    match pauses(scope)? {
        true => Err(scope.invalid(&PFC, format!("false for {name}: packets that find no room are cut instead"))),
        false => Ok(()),
    }
}

/// Returns whether switches pause.
pub(super) fn pauses(scope: &Scope<'_>) -> Result<bool, SettingsError> {
    // If not given, it is not part of the configuration.
    Ok(scope.optional(&PFC)?.unwrap_or(false))
}

/// Returns whether every packet is lossless, so that ports have no limits of their own.
pub(super) fn is_lossless(scope: &Scope<'_>) -> Result<bool, SettingsError> {
    Ok(pauses(scope)? && scope.optional(&PFC_CLASSES)?.is_none())
}

fn pfc(context: &Context<'_>) -> Result<Option<Pfc>, SettingsError> {
    let scope = &context.scope;
    if !pauses(scope)? {
        for key in [PFC_CLASSES.key(), PFC_XOFF.key(), PFC_XON.key(), PFC_HEADROOM.key()] {
            if scope.is_given(key) {
                let problem = format!("`{}` without pauses", key.name);
                return Err(scope.error(key, problem).expected("pfc = true"));
            }
        }
        return Ok(None);
    }
    let mtu = scope.read(&MTU)?;
    let packet = u32::try_from(mtu + u64::from(wire_overhead(scope)?)).unwrap_or(u32::MAX);
    let threshold = match scope.optional(&PFC_XOFF)? {
        Some(xoff) => {
            let xon = scope.read_or(&PFC_XON, xoff.saturating_sub(2 * mtu))?;
            if xon > xoff {
                return Err(scope.invalid(&PFC_XON, format!("at most `pfc_xoff`, {}", format_size(xoff))));
            }
            Threshold::Bytes { xoff, xon }
        }
        None if scope.is_given(&PFC_XON) => {
            return Err(scope.error(&PFC_XON, "`pfc_xon` without `pfc_xoff`").expected("both, or `pfc_alpha`"));
        }
        None => {
            let alpha_256 = (scope.read(&PFC_ALPHA)? * 256.0).round().max(1.0) as u32;
            Threshold::Share { memory: scope.read(&SHARED_BUFFER)?, alpha_256, below: 2 * mtu }
        }
    };
    let headroom = match scope.optional(&PFC_HEADROOM)? {
        Some(bytes) => Headroom::Bytes(bytes),
        None => match scope.read(&PFC_HEADROOM_RULE)? {
            HeadroomName::Exact => Headroom::Exact { packet },
            HeadroomName::Sonic => Headroom::Sonic {
                packet,
                lossless: packet,
                cell: scope.read(&PFC_CELL)? as u32,
                small_percent: (scope.read(&PFC_SMALL)? * 100.0).round() as u32,
            },
        },
    };
    let pfc = Pfc { threshold, headroom, lossless: classes(scope)? };
    if let (Threshold::Share { memory, .. }, Some(fabric)) = (threshold, context.workload.fabric()) {
        refuse_small_memory(scope, &pfc, memory, fabric)?;
    }
    Ok(Some(pfc))
}

/// Reads the lossless priorities, a bit for each.
fn classes(scope: &Scope<'_>) -> Result<u8, SettingsError> {
    let queues = scope.read(&QUEUES)?;
    if queues > PRIORITIES as u64 {
        let problem = format!("a pause names {PRIORITIES} priorities, and ports have {queues} queues");
        return Err(scope.error(&QUEUES, problem).expected("at most 8 queues"));
    }
    let all: Vec<u64> = (0..queues).collect();
    let given = scope.optional(&PFC_CLASSES)?.unwrap_or(all);
    if given.is_empty() || given.iter().any(|&class| class >= queues) {
        return Err(scope.invalid(&PFC_CLASSES, format!("priorities from 0 to {}", queues - 1)));
    }
    Ok(given.iter().fold(0, |bits, class| bits | 1 << class))
}

/// Refuses a memory that headroom takes whole.
fn refuse_small_memory(scope: &Scope<'_>, pfc: &Pfc, memory: u64, fabric: &Fabric) -> Result<(), SettingsError> {
    let sites = Sites::new(fabric, 0);
    let reserved = |switch: u32| pfc.reserved(&sites.program(switch).ports);
    let most = (0..fabric.switches.len() as u32).map(|switch| (reserved(switch), switch)).max();
    if let Some((reserved, switch)) = most.filter(|(reserved, _)| *reserved >= memory) {
        let problem = format!(
            "headroom takes {} of the memory of {}, {}; lossless priorities at each of its ports: {}",
            format_size(reserved),
            fabric.name(Node::Switch(switch)),
            format_size(memory),
            pfc.lossless.count_ones(),
        );
        let expected = format!("more than {}, fewer `pfc_classes`, or `pfc_xoff`", format_size(reserved));
        return Err(scope.error(&SHARED_BUFFER, problem).expected(expected));
    }
    Ok(())
}
