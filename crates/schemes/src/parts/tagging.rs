//! What hosts write into packets, from the settings.

use flowsieve_core::TaggerSpec;
use flowsieve_core::taggers::aged_levels::AgedLevels;
use flowsieve_core::taggers::bytes::Bytes;
use flowsieve_core::taggers::deadline_first::DeadlineFirst;
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::plain::Plain;

use super::{Part, Parts};
use flowsieve_fabric::topology::{host_rate, link_rate};
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};

names! {
    /// The taggers by the names that settings use.
    TaggerName of &TaggerSettings<'_> => TaggerSpec;
    /// Nothing.
    Plain "plain" => |_| Ok(TaggerSpec::Plain(Plain));
    /// PIAS's priority, by the scheme's thresholds.
    Demotion "demotion" => demotion;
    /// The same, and a rank by it and by the age of the message.
    DemotionThenAge "demotion, then age" => aged;
    /// The rank is the bytes that are not acknowledged.
    Remaining "remaining" => |_| Ok(TaggerSpec::Bytes(Bytes::Remaining));
    /// The rank is the bytes that remain to be sent.
    ToTheEnd "to-the-end" => |_| Ok(TaggerSpec::Bytes(Bytes::ToTheEnd));
    /// The rank is the bytes sent.
    Attained "attained" => |_| Ok(TaggerSpec::Bytes(Bytes::Attained));
    /// The rank is the deadline's.
    Deadline "deadline" => deadline;
}

declare! {
    pub(crate) static TAGGER: Setting<TaggerName> = Setting::choice(
        Section::Scheme,
        "tagger",
        TaggerName::ALL,
        "what a host writes into packets: nothing, PIAS's priority, the same with a rank by it and by the age of the message, or a rank by bytes unacknowledged, bytes left to \
         send, bytes sent, or deadline",
    );
    static EDF_RATE: Setting<u64> = Setting::rate(
        Section::Scheme, "edf_rate",
        "tagger = \"deadline\": rate at which a flow must still be able to meet its deadline; otherwise it comes last",
    );
}

/// The settings that a tagger may read.
struct TaggerSettings<'a> {
    scope: &'a Scope<'a>,
    /// Whether the scheme demotes flows.
    demotes: bool,
}

/// Reads the tagger of a scheme's hosts; `tags`: some part reads what it writes; `sorts`: hosts' ports sort by level and age.
pub(super) fn tagger(scope: &Scope<'_>, parts: &Parts, tags: bool, sorts: bool) -> Result<TaggerSpec, SettingsError> {
    let default = match &parts.tagger {
        Part::Named(TaggerName::Demotion) if sorts => TaggerName::DemotionThenAge,
        Part::Named(name) => *name,
        Part::Own(_) if scope.is_given(&TAGGER) => {
            let expected = format!("no `tagger` for `{}`, which writes its own tags into packets", scope.variant());
            return Err(scope.invalid(&TAGGER, expected));
        }
        Part::Own(own) => return Ok(own.clone()),
    };
    let name = if tags { scope.read_or(&TAGGER, default)? } else { default };
    let demotes = matches!(default, TaggerName::Demotion | TaggerName::DemotionThenAge);
    name.make(&TaggerSettings { scope, demotes })
}

/// Returns a demotion without thresholds, which the scheme fills in.
fn demotion(of: &TaggerSettings<'_>) -> Result<TaggerSpec, SettingsError> {
    demoting(of, TaggerSpec::Demotion(Demotion::default()))
}

/// Returns the same, with a rank by age.
fn aged(of: &TaggerSettings<'_>) -> Result<TaggerSpec, SettingsError> {
    demoting(of, TaggerSpec::AgedLevels(AgedLevels::default()))
}

fn demoting(of: &TaggerSettings<'_>, tagger: TaggerSpec) -> Result<TaggerSpec, SettingsError> {
    if of.demotes {
        return Ok(tagger);
    }
    let expected = "another tagger, since only schemes that demote flows, such as `pias`, have thresholds";
    Err(of.scope.invalid(&TAGGER, expected))
}

fn deadline(of: &TaggerSettings<'_>) -> Result<TaggerSpec, SettingsError> {
    let rate = of.scope.read_or(&EDF_RATE, host_rate(of.scope)?.bps())?;
    Ok(TaggerSpec::DeadlineFirst(DeadlineFirst { rate: link_rate(of.scope, &EDF_RATE, rate)? }))
}
