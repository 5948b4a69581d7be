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

use crate::entry::Context;
use crate::parts::QUEUES;
use crate::pias;
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, SettingsError};

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
    /// What is known of a size.
    static CLIMBS: Setting<SizeKnowledge> = Setting::choice(
        Section::Scheme,
        "climbs",
        &[
            ("bounds", SizeKnowledge::Bounds),
            ("size", SizeKnowledge::Size),
            ("predicted", SizeKnowledge::PredictedSize),
            ("predicted, once", SizeKnowledge::PredictedSizeOnce),
        ],
        "tagger = \"climb\": up to a lower bound of the size, up to the size or a predicted one, or at once to the priority of a \
         predicted one",
    )
    .with_default(SizeKnowledge::Bounds)
    .silent();
}

/// Builds what hosts write.
pub(crate) fn tagger(context: &Context<'_>) -> Result<TaggerSpec, SettingsError> {
    let scope = &context.scope;
    let knows = scope.read(&CLIMBS)?;
    Ok(TaggerSpec::Climb(ClimbParams {
        thresholds: pias::thresholds(context, scope.read(&QUEUES)? as usize, false)?,
        // Only a lower bound may be below the size.
        slack: if knows == SizeKnowledge::Bounds { scope.read(&SLACK)? } else { 0 },
        knows,
        unseen: if knows == SizeKnowledge::Size { Unseen::Pias } else { scope.read(&UNSEEN)? },
        retransmissions_first: scope.read(&RETRANSMISSION_PRIORITY)?,
    }))
}

/// Reads the time that a host needs for bounds or sizes.
pub(crate) fn inference(scope: &Scope<'_>) -> Result<Time, SettingsError> {
    scope.read(&INFERENCE).map(Time)
}
