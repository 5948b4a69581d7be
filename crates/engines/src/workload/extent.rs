//! How many flows a workload has, and which of them count.

use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, Scaled, Scope, Section, Setting, SettingsError};

use super::recorded::Recorded;
use super::refuse_beside;

declare! {
    /// The number of flows.
    pub static FLOWS: Setting<u64> = Setting::count(
        Section::Workload, "flows", 1, 50_000_000, "how many flows arrive",
    )
    .scaled(Scaled::Amount);
    pub(crate) static DURATION: Setting<u64> = Setting::time(
        Section::Workload, "duration", 1, MAX_TIME_PS, "time for which flows arrive, instead of a number of flows",
    )
    .scaled(Scaled::Course);
    /// Whether a window is measured.
    pub(crate) static MEASURE: Setting<bool> = Setting::choice(
        Section::Run,
        "measure",
        &[("all", false), ("window", true)],
        "which flows count: all, until the fabric is empty, or those that start in a window under load",
    )
    .with_default(false);
    pub(crate) static WINDOW: Setting<Vec<u64>> = Setting::times(
        Section::Run, "window", "start and end of the measuring window",
    )
    .scaled(Scaled::Course)
    .needs("`measure` = \"window\"");
}

/// The number of flows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many arrive; all count, and the fabric drains.
    Flows(u64),
    /// They arrive until this time; all count, and the fabric drains.
    Until(u64),
    /// They arrive until all that started from the first time to before the second have finished; only these count.
    Window(u64, u64),
    /// They arrive until all queries have ended; all count, and the fabric drains.
    Queries,
    /// All messages of the collectives; all count, and the fabric drains.
    Collectives,
    /// For one of several workloads: they arrive until the flows of the others have finished.
    Others,
    /// For several workloads: they arrive as each of them says; all count, and the fabric drains.
    Entries {
        /// Whether any goes on until the flows of the others have finished.
        endless: bool,
    },
}

/// Reads how many flows there are, where they are drawn.
pub(super) fn of(scope: &Scope<'_>, recorded: Option<&Recorded>) -> Result<Extent, SettingsError> {
    let is_window = scope.read(&MEASURE)?;
    // One of several workloads may end within a window, or before it.
    let is_one_of_several = scope.workload().is_some();
    if is_window && !is_one_of_several {
        refuse_beside(scope, &MEASURE, &[&FLOWS, &DURATION])?;
        let (from, to) = window(scope)?;
        return Ok(Extent::Window(from, to));
    }
    match (scope.optional(&FLOWS)?, scope.optional(&DURATION)?) {
        (Some(flows), None) => Ok(Extent::Flows(flows)),
        (None, Some(duration)) => Ok(Extent::Until(duration)),
        (Some(_), Some(_)) => {
            Err(scope.error(&DURATION, "`duration` and `flows` are both given").expected("one of the two"))
        }
        (None, None) if is_window => Ok(Extent::Others),
        (None, None) if recorded.is_some() => Ok(Extent::Flows(recorded.map_or(0, |recorded| recorded.flows as u64))),
        (None, None) if is_one_of_several => Ok(Extent::Others),
        (None, None) => Err(scope.invalid(&FLOWS, "`flows` or `duration` in [workload]")),
    }
}

/// Refuses a measuring window if all flows count, as `key` says. A window that is not given is not read: it changes
/// nothing.
pub(super) fn refuse_window(scope: &Scope<'_>, key: &Key) -> Result<(), SettingsError> {
    let name = key.name;
    let expected = format!("measure = \"all\": with `{name}` every flow counts, and the fabric drains");
    if scope.is_given(&MEASURE) && scope.read(&MEASURE)? {
        let problem = format!("`measure` = window is not possible with `{name}`");
        return Err(scope.error(&MEASURE, problem).expected(expected));
    }
    match scope.is_given(&WINDOW) {
        true => Err(scope
            .error(&WINDOW, format!("`window` is not possible with `{name}`"))
            .expected(format!("no `window`, or {expected}"))),
        false => Ok(()),
    }
}

/// Reads the measuring window.
pub(super) fn window(scope: &Scope<'_>) -> Result<(u64, u64), SettingsError> {
    match scope.optional(&WINDOW)?.as_deref() {
        Some([start, end]) if start < end => Ok((*start, *end)),
        _ => Err(scope.invalid(&WINDOW, "its start and its end, such as window = [\"10ms\", \"60ms\"]")),
    }
}
