//! What hosts write into packets, from the settings.

use flowsieve_core::taggers::aged_levels::AgedLevels;
use flowsieve_core::taggers::bytes::Bytes;
use flowsieve_core::taggers::deadline_first::DeadlineFirst;
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::fixed::Fixed;
use flowsieve_core::taggers::plain::Plain;
use flowsieve_core::taggers::predicted::Outlived;

use flowsieve_core::{TaggerSpec, Time};

use crate::entry::Context;
use crate::qclimb;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};
use flowsieve_sim::topology::{host_rate, link_rate};

names! {
    /// The taggers by the names that settings use.
    TaggerName of &TaggerSettings<'_> => TaggerSpec;
    /// Nothing.
    Plain "plain" => |_| Ok(TaggerSpec::Plain(Plain));
    /// One priority.
    Fixed "fixed" => |of| Ok(TaggerSpec::Fixed(Fixed(of.context.scope.read(&FIXED_PRIORITY)? as u8)));
    /// PIAS's priority, by the scheme's thresholds, which are filled in later.
    Demotion "demotion" => |_| Ok(TaggerSpec::Demotion(Demotion::default()));
    /// The same, and a rank by it and by the age of the message.
    DemotionThenAge "demotion, then age" => |_| Ok(TaggerSpec::AgedLevels(AgedLevels::default()));
    /// The rank is the bytes that are not acknowledged.
    Remaining "remaining" => |_| Ok(TaggerSpec::Bytes(Bytes::Remaining));
    /// The rank is the bytes that remain to be sent.
    ToTheEnd "to-the-end" => |_| Ok(TaggerSpec::Bytes(Bytes::ToTheEnd));
    /// The rank is the bytes sent.
    Attained "attained" => |_| Ok(TaggerSpec::Bytes(Bytes::Attained));
    /// The rank is the deadline's.
    Deadline "deadline" => deadline;
    /// The rank is the bytes that remain of a predicted size.
    Predicted "predicted" => |of| Ok(TaggerSpec::Predicted(of.context.scope.read(&OUTLIVED)?));
    /// QCLIMB's priority, by bounds or sizes.
    Climb "climb" => |of| qclimb::tagger(of.context);
    /// The priority of the coflow's place in an order; without an order, nothing.
    Coflow "coflow" => |_| Ok(TaggerSpec::Plain(Plain));
}

declare! {
    pub(crate) static TAGGER: Setting<TaggerName> = Setting::choice(
        Section::Scheme,
        "tagger",
        TaggerName::ALL,
        "what a host writes into packets: nothing; one priority; PIAS's; the same with a rank by it and by the age of the message; a \
         rank by bytes unacknowledged, bytes left to send, bytes sent, deadline, or bytes left of a predicted size; QCLIMB's \
         priority; or that of the coflow's place in an order",
    );
    static FIXED_PRIORITY: Setting<u64> = Setting::count(
        Section::Scheme, "fixed_priority", 0, 63,
        "tagger = \"fixed\": the priority of all packets, such as what a switch's map gives to hosts that mark nothing",
    )
    .with_default(0);
    /// What happens to a flow that is larger than predicted.
    pub(crate) static OUTLIVED: Setting<Outlived> = Setting::choice(
        Section::Scheme,
        "outlived",
        &[("double", Outlived::Double), ("top", Outlived::Top), ("bottom", Outlived::Bottom)],
        "tagger = \"predicted\": treatment of a flow larger than predicted: its prediction is doubled until it exceeds the \
         bytes sent, the flow comes first, or it comes last",
    )
    .with_default(Outlived::Double);
    static EDF_RATE: Setting<u64> = Setting::rate(
        Section::Scheme, "edf_rate",
        "tagger = \"deadline\": rate at which a flow must still be able to meet its deadline; otherwise it comes last",
    )
    .computed("that of `host_link`");
}

/// The settings that a tagger may read.
struct TaggerSettings<'a> {
    context: &'a Context<'a>,
}

/// Who reads what a tagger writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readers {
    /// Some part.
    pub(super) any: bool,
    /// Ports that serve by priority.
    pub(super) priorities: bool,
    /// Hosts' ports, which sort by level and age.
    pub(super) sorts: bool,
}

/// Reads the tagger of a scheme's hosts, unless the scheme has its `own`.
pub(super) fn tagger(
    context: &Context<'_>,
    own: Option<TaggerSpec>,
    readers: Readers,
) -> Result<TaggerSpec, SettingsError> {
    let scope = &context.scope;
    if let Some(own) = own {
        if scope.is_given(&TAGGER) {
            let expected = format!("no `tagger` for `{}`, which writes its own tags into packets", scope.variant());
            return Err(scope.invalid(&TAGGER, expected));
        }
        return Ok(own);
    }
    let usual = match scope.usual(&TAGGER)?.unwrap_or(TaggerName::Plain) {
        TaggerName::Demotion if readers.sorts => TaggerName::DemotionThenAge,
        usual => usual,
    };
    let name = if readers.any { scope.given_or(&TAGGER, usual)? } else { usual };
    let needs = match name {
        _ if name == usual => None,
        TaggerName::Climb | TaggerName::Predicted => Some("another scheme, whose file has it: it needs predictions"),
        TaggerName::Coflow => Some("another scheme, whose file has it: it needs a coordinator"),
        // A scheme that demotes keeps its levels, whatever its ports are changed to.
        TaggerName::Demotion | TaggerName::DemotionThenAge
            if !readers.priorities && !matches!(usual, TaggerName::Demotion | TaggerName::DemotionThenAge) =>
        {
            Some("another tagger, or ports that serve by priority, such as discipline = \"sp\" with several `queues`")
        }
        _ => None,
    };
    if let Some(needs) = needs {
        return Err(scope.invalid(&TAGGER, needs));
    }
    name.make(&TaggerSettings { context })
}

/// Returns how long a host takes for a prediction before it can send.
pub(super) fn inference(scope: &Scope<'_>, tagger: &TaggerSpec) -> Result<Time, SettingsError> {
    if matches!(tagger, TaggerSpec::Climb(_)) { qclimb::inference(scope) } else { Ok(Time::ZERO) }
}

fn deadline(of: &TaggerSettings<'_>) -> Result<TaggerSpec, SettingsError> {
    let scope = &of.context.scope;
    let rate = scope.read_or(&EDF_RATE, host_rate(scope)?.bps())?;
    Ok(TaggerSpec::DeadlineFirst(DeadlineFirst { rate: link_rate(scope, &EDF_RATE, rate)? }))
}
