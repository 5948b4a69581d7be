//! What senders and receivers do in addition to today's standards, from the settings: mostly what Linux does.

use flowsieve_settings::declare;
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError};
use flowsieve_transport::tcp::CongestionSpec;
use flowsieve_transport::tcp::params::{Halves, Reduction, WindowRule};

use crate::sets::{ParameterSet, Silent};

declare! {
    static HALVES: Setting<Halves> = Setting::choice(
        Section::Transport,
        "halves",
        &[("flight", Halves::Flight), ("window", Halves::Window)],
        "of what a loss leaves half: of what is not acknowledged, or of the window",
    );
    static REDUCTION: Setting<Reduction> = Setting::choice(
        Section::Transport,
        "reduction",
        &[("at-once", Reduction::AtOnce), ("proportional", Reduction::Proportional)],
        "how the window falls after a mark or a loss: at once, or over a round trip (RFC 9937) and without growing",
    );
    static WHOLE_WINDOWS: Setting<bool> = Setting::flag(
        Section::Transport, "whole_windows",
        "whether windows are whole segments: then a mark's cut of less than a segment does nothing under DCTCP",
    );
    static UNDO: Setting<bool> = Setting::flag(
        Section::Transport, "undo",
        "whether the sender takes back cuts that F-RTO (RFC 5682) or D-SACKs prove spurious",
    );
    static RECEIVE_WINDOW: Setting<u64> = Setting::size(
        Section::Transport, "receive_window", 1, 1_000_000_000_000,
        "bytes from the oldest missing one on for which a receiver has room; not given: enough",
    );
    static QUICK_ACKS: Setting<u64> = Setting::count(
        Section::Transport, "quick_acks", 0, 1_000_000,
        "ack_every above 1: first data packets of a connection that are acknowledged one by one",
    );
    static ECN_ACKS: Setting<bool> = Setting::flag(
        Section::Transport, "ecn_acks", "whether ports may mark ACKs, too, to which no sender reacts",
    );
}

/// How a sender repairs losses.
pub(super) struct Repair {
    pub(super) halves: Halves,
    pub(super) reduction: Reduction,
    pub(super) whole_windows: bool,
    pub(super) undo: bool,
}

impl Repair {
    /// Reads it for a sender with this congestion control.
    pub(super) fn read(
        scope: &Scope<'_>,
        set: &ParameterSet,
        congestion: &CongestionSpec,
    ) -> Result<Repair, SettingsError> {
        Ok(Repair {
            halves: halves(scope, set.silent, congestion)?,
            reduction: reduction(scope, set.silent, congestion)?,
            whole_windows: whole_windows(scope, set.silent, congestion)?,
            // If none is said, it is not part of the configuration; and so with the others.
            undo: scope.optional(&UNDO)?.unwrap_or(false),
        })
    }
}

/// Returns whether windows follow ns-2's rules.
fn is_ns2(silent: Silent) -> bool {
    silent.window == WindowRule::FromCumulative
}

/// Refuses a setting, if it is given, for a congestion control of the user's own.
fn not_for_own(scope: &Scope<'_>, setting: &Key) -> Result<(), SettingsError> {
    if scope.is_given(setting) {
        let expected =
            format!("no `{}` with a congestion control of one's own, which has its own window", setting.name);
        return Err(scope.invalid(setting, expected));
    }
    Ok(())
}

/// Reads of what a loss leaves half.
fn halves(scope: &Scope<'_>, silent: Silent, congestion: &CongestionSpec) -> Result<Halves, SettingsError> {
    if matches!(congestion, CongestionSpec::Custom(_)) {
        return not_for_own(scope, &HALVES).map(|()| Halves::Flight);
    }
    if is_ns2(silent) && scope.is_given(&HALVES) {
        let expected =
            "no `halves` under the rules of ns-2, in which it is the window; parameters = \"rfc\" or \"linux\"";
        return Err(scope.invalid(&HALVES, expected));
    }
    Ok(scope.optional(&HALVES)?.unwrap_or(Halves::Flight))
}

/// Reads how the window falls. In ns-2's rules it is cut at once.
fn reduction(scope: &Scope<'_>, silent: Silent, congestion: &CongestionSpec) -> Result<Reduction, SettingsError> {
    if matches!(congestion, CongestionSpec::Custom(_)) {
        return not_for_own(scope, &REDUCTION).map(|()| Reduction::AtOnce);
    }
    let reduction = scope.optional(&REDUCTION)?.unwrap_or(Reduction::AtOnce);
    if reduction == Reduction::Proportional && is_ns2(silent) {
        let expected = "\"at-once\" under the rules of ns-2; parameters = \"rfc\" or \"linux\"";
        return Err(scope.invalid(&REDUCTION, expected));
    }
    Ok(reduction)
}

/// Reads whether windows are whole segments. In ns-2 they are not.
fn whole_windows(scope: &Scope<'_>, silent: Silent, congestion: &CongestionSpec) -> Result<bool, SettingsError> {
    if matches!(congestion, CongestionSpec::Custom(_)) {
        return not_for_own(scope, &WHOLE_WINDOWS).map(|()| false);
    }
    let whole = scope.optional(&WHOLE_WINDOWS)?.unwrap_or(false);
    if whole && is_ns2(silent) {
        let expected = "false under the rules of ns-2, whose windows have fractions; parameters = \"rfc\" or \"linux\"";
        return Err(scope.invalid(&WHOLE_WINDOWS, expected));
    }
    Ok(whole)
}

/// Reads the receiver's window, in whole segments.
pub(super) fn receive_window(scope: &Scope<'_>, segment: u16) -> Result<Option<u32>, SettingsError> {
    let Some(bytes) = scope.optional(&RECEIVE_WINDOW)? else { return Ok(None) };
    match u32::try_from(bytes / u64::from(segment)).unwrap_or(u32::MAX) {
        0 => Err(scope.invalid(&RECEIVE_WINDOW, format!("at least a segment, {segment} B"))),
        segments => Ok(Some(segments)),
    }
}

/// Reads how many packets of a young connection are acknowledged one by one; Linux has up to 16 (`TCP_MAX_QUICKACKS`).
pub(super) fn quick_acks(scope: &Scope<'_>, ack_every: u32) -> Result<u32, SettingsError> {
    match (ack_every, scope.is_given(&QUICK_ACKS)) {
        (1, false) => Ok(0),
        (1, true) => {
            Err(scope.invalid(&QUICK_ACKS, "no `quick_acks` with `ack_every` = 1, which acknowledges every packet"))
        }
        _ => Ok(scope.optional(&QUICK_ACKS)?.unwrap_or(0) as u32),
    }
}

/// Reads whether ACKs can be marked; `of_set`: the set's can where the control needs marks, as DCTCP does. If it is neither given
/// nor the set's, it is not part of the configuration.
pub(super) fn ecn_acks(
    scope: &Scope<'_>,
    ecn: bool,
    of_set: bool,
    congestion: &CongestionSpec,
) -> Result<bool, SettingsError> {
    let needs_marks = matches!(congestion, CongestionSpec::Dctcp(_) | CongestionSpec::D2tcp(_));
    let marked = match ecn && of_set {
        true => scope.read_or(&ECN_ACKS, needs_marks)?,
        false => scope.optional(&ECN_ACKS)?.unwrap_or(false),
    };
    if marked && !ecn {
        return Err(scope.invalid(&ECN_ACKS, "false, since `ecn` is: ACKs are marked where data is"));
    }
    Ok(marked)
}
