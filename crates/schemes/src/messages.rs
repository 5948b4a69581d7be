//! How parts that see only packets distinguish the messages of a connection: by idle time.

use flowsieve_core::Time;

use crate::entry::Context;
use crate::parameters::TEN_GBPS;
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, SettingsError};

declare! {
    pub(crate) static MESSAGE_GAP: Setting<u64> = Setting::time(
        Section::Scheme, "message_gap", 1, MAX_TIME_PS,
        "idle time of a connection after which its next packet begins a message, if messages are separated by time; \
         not given: pias counts each message from 0",
    );
}

/// The gaps of QCluster's authors, one per workload (`Appro_Unknown.cc` and its scripts in `qcluster/QCluster`).
const PUBLISHED: [(&[&str], Time); 6] = [
    (&["qcluster-w1", "homa-w1"], Time::from_ns(200)),
    (&["qcluster-w2", "homa-w2"], Time::from_us(4)),
    (&["qcluster-w3", "homa-w3"], Time::from_us(25)),
    (&["qcluster-w4", "homa-w4"], Time::from_us(4_000)),
    (&["qcluster-w5", "data-mining", "data-mining-bytes"], Time::from_us(14_000)),
    (&["qcluster-w6", "web-search", "web-search-bytes"], Time::from_us(3_000)),
];

/// For other workloads: the idle time by which PIAS's kernel module ends a message (`HKUST-SING/PIAS-Software`), on hosts
/// of 1 Gbit/s (NSDI 2015, §5.1).
const ELSEWHERE: (Time, u64) = (Time::from_us(500), 1_000_000_000);

/// Reads the idle time after which a connection's next packet begins a message: the setting, or the value published for the
/// workload.
pub fn message_gap(context: &Context<'_>) -> Result<Time, SettingsError> {
    let name = context.workload.distribution();
    let published = PUBLISHED.iter().find(|(names, _)| name.is_some_and(|name| names.contains(&name)));
    let (gap, stated_for) = published.map_or(ELSEWHERE, |&(_, gap)| (gap, TEN_GBPS));
    Ok(Time(context.scope.read_stated_for(&MESSAGE_GAP, gap.0, stated_for)?))
}

/// Reads the idle time of the settings alone; `None`: it is not given.
pub fn given_message_gap(scope: &Scope<'_>) -> Result<Option<Time>, SettingsError> {
    Ok(scope.optional(&MESSAGE_GAP)?.map(Time))
}
