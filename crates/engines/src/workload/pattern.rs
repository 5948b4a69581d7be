//! The keys of `[workload]` for the traffic pattern: who sends to whom.

use crate::workload::Hosts;
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError};
use flowsieve_workload::{ListedPair, Pattern};
use std::sync::Arc;

/// The pattern, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternName {
    AllToAll,
    Incast,
    Permutation,
    RackLocal,
    Listed,
    AllReduceRing,
    AllReduceTree,
    AllToAllV,
}

declare! {
    pub(super) static PATTERN: Setting<PatternName> = Setting::choice(
        Section::Workload,
        "pattern",
        &[
            ("all-to-all", PatternName::AllToAll),
            ("incast", PatternName::Incast),
            ("permutation", PatternName::Permutation),
            ("rack-local", PatternName::RackLocal),
            ("listed", PatternName::Listed),
            ("all-reduce-ring", PatternName::AllReduceRing),
            ("all-reduce-tree", PatternName::AllReduceTree),
            ("all-to-all-v", PatternName::AllToAllV),
        ],
        "which hosts send to which: any to any other, several to one at once, each to one, a share within the rack, \
         or only listed pairs; or collectives of groups of hosts, in which messages follow others: sums round a ring or up \
         and down a tree, or from each to each other one",
    )
    .with_default(PatternName::AllToAll);
    pub(super) static FAN_IN: Setting<u64> = Setting::count(
        Section::Workload, "fan_in", 1, 65_535, "hosts that answer a request at once under incast",
    );
    pub(super) static INCAST_SHARE: Setting<f64> = Setting::number_above(
        Section::Workload, "incast_share", 0.0, 1.0,
        "share of the flows that are answers under incast; the others are all-to-all",
    )
    .with_default(1.0);
    pub(super) static RACK_LOCAL: Setting<f64> = Setting::number(
        Section::Workload, "rack_local", 0.0, 1.0,
        "share of the flows that stay within their sender's rack under rack-local",
    );
    pub(super) static PAIRS: Setting<Vec<String>> = Setting::texts(
        Section::Workload, "pairs",
        "the host pairs that send under pattern = \"listed\", such as [\"host2 to host0\", \"host1 to host0\"]",
    );
    static PAIR_WEIGHTS: Setting<Vec<u64>> = Setting::counts(
        Section::Workload, "pair_weights", "relative number of flows of each of the listed pairs",
    );
}

/// Reads the pattern.
pub(super) fn pattern(scope: &Scope<'_>, hosts: &Hosts) -> Result<Pattern, SettingsError> {
    match scope.read(&PATTERN)? {
        PatternName::Incast => {
            let fan_in = scope.needed(&FAN_IN, "the number of hosts that answer a request")?;
            let share = scope.read(&INCAST_SHARE)?;
            // The key's own limits keep it within 32 bits.
            Ok(Pattern::Incast { fan_in: u32::try_from(fan_in).unwrap_or(u32::MAX), share })
        }
        PatternName::Permutation => Ok(Pattern::Permutation),
        PatternName::RackLocal => {
            let share = scope.needed(&RACK_LOCAL, "the share of the flows that stay within their rack")?;
            Ok(Pattern::RackLocal { racks: Arc::clone(&hosts.racks), share })
        }
        PatternName::Listed => Ok(Pattern::Listed(listed(scope, hosts)?)),
        PatternName::AllToAll => Ok(Pattern::AllToAll),
        PatternName::AllReduceRing | PatternName::AllReduceTree | PatternName::AllToAllV => {
            Err(scope.error(&PATTERN, "a collective beside other flows").expected("a pattern of single flows"))
        }
    }
}

/// Reads the listed host pairs.
fn listed(scope: &Scope<'_>, hosts: &Hosts) -> Result<Arc<[ListedPair]>, SettingsError> {
    let expected = "host pairs such as [\"host2 to host0\", \"host1 to host0\"]";
    let texts = scope.needed(&PAIRS, expected)?;
    let weights = scope.optional(&PAIR_WEIGHTS)?.unwrap_or_else(|| vec![1; texts.len()]);
    if weights.len() != texts.len() {
        return Err(scope.invalid(&PAIR_WEIGHTS, format!("{} numbers, one for each of `pairs`", texts.len())));
    }
    let pair = |(text, weight): (&String, &u64)| {
        let ends = text.split_once(" to ").ok_or_else(|| scope.invalid(&PAIRS, expected))?;
        let weight = u32::try_from(*weight).map_err(|_| scope.invalid(&PAIR_WEIGHTS, "numbers below 4.29 billion"))?;
        Ok(ListedPair { src: host(scope, &PAIRS, ends.0, hosts)?, dst: host(scope, &PAIRS, ends.1, hosts)?, weight })
    };
    texts.iter().zip(&weights).map(pair).collect()
}

/// Finds the host of a name such as `host3`.
pub(super) fn host(scope: &Scope<'_>, key: &Key, name: &str, hosts: &Hosts) -> Result<u32, SettingsError> {
    hosts.names.find(name).ok_or_else(|| {
        let error = scope.error(key, format!("there is no host {name:?}")).expected(hosts.names.in_words());
        error.names(name, hosts.names.all())
    })
}
