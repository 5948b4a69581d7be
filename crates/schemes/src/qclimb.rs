//! QCLIMB (Li et al., NSDI 2024): hosts tag packets by predicted bounds of their flow's size. A flow climbs through strict
//! priorities towards its lower bound, and is demoted beyond it (§3.1, Appendix C). A gap within one priority is a loss,
//! and one between two is not (§3.2). The transport is DCTCP (§5.1), and a flow keeps to one path.
//!
//! The variants of §5 differ in what is known of a size. `qclimb-ps` (§5.1) knows the size itself. `qclimb-pp` and
//! `qclimb-fp` (§5.2.1) know a predicted size: a flow climbs towards it, or all its packets have the one priority of that
//! size.
//!
//! Not stated: the thresholds ("the same as the PIAS paper for all workloads"). Here they are PIAS's own default, so that
//! both use the same in a sweep.

use flowsieve_core::taggers::climb::{ClimbParams, SizeKnowledge, Unseen};
use flowsieve_core::{TaggerSpec, Time};

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, BalancingName, DisciplineName, Part, Parts, QUEUES, ReorderingName};
use crate::pias;
use crate::scheme::Scheme;
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Section, Setting, SettingsError};

declare! {
    static SLACK: Setting<u64> = Setting::size(
        Section::Scheme, "slack", 0, 1_000_000_000_000_000,
        "QCLIMB: bytes beyond its lower bound for which a flow keeps the highest priority",
    )
    .with_default(100_000);
    static INFERENCE: Setting<u64> = Setting::time(
        Section::Scheme, "inference", 0, MAX_TIME_PS,
        "QCLIMB: time that a host needs for a flow's bounds or predicted size; it delays the flow's start",
    )
    .with_default(0);
    static UNSEEN: Setting<Unseen> = Setting::choice(
        Section::Scheme,
        "unseen",
        &[("pias", Unseen::Pias), ("lowest", Unseen::Lowest)],
        "QCLIMB: treatment of a flow without a prediction: it is demoted by the bytes that it sent, or has the lowest priority",
    )
    .with_default(Unseen::Pias);
    /// Whether retransmissions come first.
    static RETRANSMISSION_PRIORITY: Setting<bool> = Setting::choice(
        Section::Scheme,
        "retransmission_priority",
        &[("first", true), ("offset", false)],
        "QCLIMB: priority of retransmitted packets: the highest, or that of their place in the flow",
    )
    .with_default(true);
}

/// With predicted bounds.
pub const ENTRY: Entry = Entry {
    name: "qclimb",
    label: "QCLIMB",
    summary: "flows climb strict priorities up to a lower bound of their size, and are demoted beyond it",
    paper: "Li et al., NSDI 2024",
    knows: Knows::Bounds,
    build: |context| build(context, SizeKnowledge::Bounds),
};

/// With precise sizes.
pub const PRECISE: Entry = Entry {
    name: "qclimb-ps",
    label: "QCLIMB-PS",
    summary: "QCLIMB with precise sizes: priority by the bytes left",
    paper: "Li et al., NSDI 2024",
    knows: Knows::Size,
    build: |context| build(context, SizeKnowledge::Size),
};

/// Climbing towards a predicted size.
pub const PROMOTED: Entry = Entry {
    name: "qclimb-pp",
    label: "QCLIMB-PP",
    summary: "QCLIMB by a predicted size: priority by the bytes left of it, the lowest beyond it",
    paper: "Li et al., NSDI 2024",
    knows: Knows::PredictedSize,
    build: |context| build(context, SizeKnowledge::PredictedSize),
};

/// With one priority per flow.
pub const FIXED: Entry = Entry {
    name: "qclimb-fp",
    label: "QCLIMB-FP",
    summary: "QCLIMB by a predicted size: one priority for all packets of a flow",
    paper: "Li et al., NSDI 2024",
    knows: Knows::PredictedSize,
    build: |context| build(context, SizeKnowledge::PredictedSizeOnce),
};

/// QCLIMB's parts.
const PARTS: Parts = Parts {
    port: Part::Named(DisciplineName::StrictPriority),
    queues: 8,
    tagger: Parts::TAGGED_LATER,
    balancer: Some(Part::Named(BalancingName::Ecmp)),
    reordering: ReorderingName::ByPriority,
    ..Parts::DEFAULT
};

fn build(context: &Context<'_>, knows: SizeKnowledge) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let mut scheme = parts::build(context, &PARTS)?;
    let queues = scope.read_or(&QUEUES, PARTS.queues)? as usize;
    let bounded = knows == SizeKnowledge::Bounds;
    let params = ClimbParams {
        thresholds: pias::thresholds(context, queues, None)?,
        // Only a lower bound may be below the size.
        slack: if bounded { scope.read(&SLACK)? } else { 0 },
        knows,
        unseen: if knows == SizeKnowledge::Size { Unseen::Pias } else { scope.read(&UNSEEN)? },
        retransmissions_first: scope.read(&RETRANSMISSION_PRIORITY)?,
    };
    let inference = Time(scope.read(&INFERENCE)?);
    for class in &mut scheme.classes {
        class.tagger = TaggerSpec::Climb(params.clone());
        class.inference = inference;
    }
    Ok(scheme)
}
