//! Homa (Montazeri et al., SIGCOMM 2018): receivers grant, the message with the fewest bytes left first. Packets carry the priority
//! that the receiver chose, and ports serve strictly by it. The transport and what it leaves out: [`flowsieve_transport::homa`].
//!
//! By default, RTTbytes is what a host's line carries during the base round trip of the two hosts that are farthest apart, with the
//! transmission of a full packet and its grant. The number of scheduled levels is the overcommitment; that of the authors' workloads is
//! from `homaTransportConfig.ini` of PlatformLab/HomaSimulation. For other workloads, it is what the share of unscheduled bytes
//! leaves (§3.4). Cutoffs are computed from the workload before the run, as in the authors' simulations.
//!
//! Not stated in the paper: the buffers of its simulations (here as for other schemes), how long a host waits before RESEND (a few
//! milliseconds; here 5, as in Homa's Linux module), how often it does (20, as the module's 100 ticks), predicted sizes.

use std::num::NonZeroU32;
use std::sync::Arc;

use flowsieve_core::taggers::bytes::Bytes;
use flowsieve_core::{TaggerSpec, Time};
use flowsieve_fabric::round_trip::Exchange;
use flowsieve_transport::homa::levels::{Cut, SizeShare, equal_bytes, unscheduled_levels};
use flowsieve_transport::homa::{HomaEndpoint, HomaRules, Levels, Sizes};
use flowsieve_transport::{TransportFacts, TransportSpec};

use crate::entry::{Context, Entry, Knows};
use crate::parameters::{ParameterSet, Reference};
use crate::parts::{self, DisciplineName, MarkingName, Part, Parts, QUEUES};
use crate::pfabric::OUTLIVED;
use crate::scheme::Scheme;
use crate::thresholds::{self, THRESHOLDS};
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Place, Section, Setting, SettingsError};

declare! {
    static RTT_BYTES: Setting<u64> = Setting::size(
        Section::Transport, "rtt_bytes", 1, 1_000_000_000,
        "Homa: payload that needs no grant, and that a receiver keeps granted and not received; not given: what a host's line \
         carries in a round trip",
    );
    static OVERCOMMITMENT: Setting<u64> = Setting::count(
        Section::Transport, "overcommitment", 1, 63,
        "Homa: messages to which a receiver grants at once, and levels of scheduled packets; not given: the authors' number for \
         their workloads, or what the share of unscheduled bytes leaves",
    );
    static NIC_PACKETS: Setting<u64> = Setting::count(
        Section::Transport, "nic_packets", 1, 1_000, "Homa: most full packets in the NIC, with the one on the line",
    )
    .with_default(2);
    static RESEND_AFTER: Setting<u64> = Setting::time(
        Section::Transport, "resend_after", 1, MAX_TIME_PS,
        "Homa: silence after which a receiver asks for packets again, and a sender asks what has arrived",
    )
    .with_default(Time::from_us(5_000).0);
    static RESEND_ATTEMPTS: Setting<u64> = Setting::count(
        Section::Transport, "resend_attempts", 0, 1_000, "Homa: how often a host asks in vain before it gives a message up",
    )
    .with_default(20);
    static ASKS: Setting<bool> = Setting::flag(
        Section::Transport, "asks",
        "Homa: whether a sender that hears nothing of a message asks its receiver; false: a message of which every first packet \
         is lost never finishes, and no flow can follow another",
    )
    .with_default(true);
}

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "homa",
    label: "Homa",
    summary: "receivers grant to the messages with the fewest bytes left, and choose the priorities of packets",
    paper: "Montazeri et al., SIGCOMM 2018",
    knows: Knows::Size,
    build: |context: &Context<'_>| build(context, Sizes::True),
};

/// By predicted sizes.
pub const PREDICTED: Entry = Entry {
    name: "homa-predicted",
    label: "Homa (predicted)",
    summary: "Homa by the bytes left of a predicted size",
    paper: "Montazeri et al., SIGCOMM 2018; Li et al., NSDI 2024",
    knows: Knows::PredictedSize,
    build: |context: &Context<'_>| build(context, Sizes::Predicted(context.scope.read(&OUTLIVED)?)),
};

/// The authors' number of scheduled levels, of 8.
const PUBLISHED: [(&[&str], u8); 9] = [
    (&["homa-w1", "qcluster-w1"], 1),
    (&["homa-w2", "qcluster-w2"], 3),
    (&["homa-w3", "qcluster-w3"], 4),
    (&["homa-w4", "qcluster-w4"], 7),
    (&["homa-w5", "qcluster-w6"], 7),
    (&["fb-web-server"], 6),
    (&["fb-cache-follower"], 7),
    (&["homa-heavy-head"], 2),
    (&["homa-heavy-middle"], 4),
];

/// The number of levels for which those were published.
const PUBLISHED_LEVELS: u8 = 8;

fn build(context: &Context<'_>, sizes: Sizes) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let asks = scope.read(&ASKS)?;
    let facts = TransportFacts {
        acknowledges: false,
        sets_priorities: true,
        ..parts::packet_facts(scope, asks.then_some(NonZeroU32::MIN))?
    };
    let overhead = ParameterSet::read(scope)?.wire_overhead(scope)?;
    let rtt_bytes = rtt_bytes(context, facts, overhead)?;
    let (segment, header) = (facts.segment, facts.header);
    let beside = u32::from(header) + u32::from(overhead);
    let rtt_packets = u32::try_from(rtt_bytes.div_ceil(segment.into())).unwrap_or(u32::MAX);
    let levels = levels(context, Cut { segment, beside, rtt_packets })?;
    let rules = HomaRules {
        segment,
        header,
        overhead,
        rtt_bytes,
        overcommitment: levels.scheduled_count(),
        levels,
        nic_packets: u32::try_from(scope.read(&NIC_PACKETS)?).unwrap_or(u32::MAX),
        silence: Time(scope.read(&RESEND_AFTER)?),
        attempts: u32::try_from(scope.read(&RESEND_ATTEMPTS)?).unwrap_or(u32::MAX),
        asks,
        sizes,
    };
    let rules = Arc::new(rules);
    let transport = TransportSpec::custom(facts, move |site| HomaEndpoint::new(&rules, site));
    let parts = Parts {
        transport: Part::Own(transport),
        // What orders messages; a port may serve by it instead of by priorities.
        tagger: Part::Own(match sizes {
            Sizes::True => TaggerSpec::Bytes(Bytes::Remaining),
            Sizes::Predicted(outlived) => TaggerSpec::Predicted(outlived),
        }),
        port: Part::Named(DisciplineName::StrictPriority),
        queues: PUBLISHED_LEVELS.into(),
        marking: MarkingName::Off,
        ..Parts::DEFAULT
    };
    parts::build(context, &parts)
}

/// Reads RTTbytes. All that the line carries in a round trip counts as payload, so that a message alone never waits for a grant.
fn rtt_bytes(context: &Context<'_>, facts: TransportFacts, overhead: u16) -> Result<u64, SettingsError> {
    let carried = |bps: u64, round_trip: Time| {
        let bits = u128::from(bps) * u128::from(round_trip.0) / 1_000_000_000_000;
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX).max(1)
    };
    let default = match context.workload.fabric() {
        Some(fabric) => {
            let exchange = Exchange::new(facts.segment, facts.header, overhead);
            let farthest = fabric.reaches().iter().map(|reach| fabric.round_trip(reach.from, reach.to, exchange).time);
            carried(Reference::of(fabric).host_bps, farthest.max().unwrap_or(Time::ZERO))
        }
        None => carried(Reference::PAPERS.host_bps, Reference::PAPERS.round_trip),
    };
    context.scope.read_or(&RTT_BYTES, default)
}

/// Reads the levels: as many as ports have queues.
fn levels(context: &Context<'_>, cut: Cut) -> Result<Levels, SettingsError> {
    let scope = &context.scope;
    let count = scope.at(Place::Leaf).read_or(&QUEUES, PUBLISHED_LEVELS.into())? as u8;
    if count < 2 {
        return Err(
            scope.invalid(&QUEUES, "at least 2 for Homa: one level is for scheduled packets, one for unscheduled ones")
        );
    }
    let given = scope.optional(&OVERCOMMITMENT)?;
    if let Some(too_many) = given.filter(|&given| given >= count.into()) {
        let problem = format!("`overcommitment` = {too_many}, but there are {count} queues");
        let expected = format!("at most {}: each message needs a level, and unscheduled packets need one", count - 1);
        return Err(scope.error(&OVERCOMMITMENT, problem).expected(expected));
    }
    let given = given.map(|given| given as u8);
    let cutoffs = match thresholds::sizes(scope)? {
        Some(cutoffs) => {
            let rising = cutoffs.is_sorted_by(|before, after| before < after);
            let expected = given.map(|given| usize::from(count - given - 1));
            if !rising
                || cutoffs.len() + 1 >= count.into()
                || expected.is_some_and(|expected| cutoffs.len() != expected)
            {
                let number = expected.map_or_else(|| format!("at most {}", count - 2), |expected| expected.to_string());
                let expected = format!("{number} rising sizes: cutoffs between the levels of unscheduled packets");
                return Err(scope.invalid(&THRESHOLDS, expected));
            }
            cutoffs
        }
        None => {
            let sizes = size_shares(context)?;
            let published = || {
                let name = context.workload.distribution().filter(|_| count == PUBLISHED_LEVELS)?;
                PUBLISHED.iter().find(|(names, _)| names.contains(&name)).map(|&(_, scheduled)| count - scheduled)
            };
            let default = published().unwrap_or_else(|| unscheduled_levels(&sizes, cut, count));
            let unscheduled = count - scope.read_or(&OVERCOMMITMENT, (count - default).into())? as u8;
            let mut cutoffs = equal_bytes(&sizes, cut, unscheduled);
            // Sizes that do not divide so finely leave levels empty, not to scheduled packets.
            let largest = cutoffs.last().copied().unwrap_or(0);
            cutoffs.extend((1..).map(|more| largest + more).take(usize::from(unscheduled) - 1 - cutoffs.len()));
            cutoffs
        }
    };
    Levels::new(count, cutoffs).map_err(|_| scope.invalid(&THRESHOLDS, format!("at most {} sizes", count - 2)))
}

/// Shares of the workload's messages by size, from its quantiles.
fn size_shares(context: &Context<'_>) -> Result<Vec<SizeShare>, SettingsError> {
    const SAMPLES: u32 = 10_000;
    let mut shares: Vec<SizeShare> = Vec::new();
    for sample in 0..SAMPLES {
        let share = (f64::from(sample) + 0.5) / f64::from(SAMPLES);
        let Some(bytes) = context.workload.quantile_bytes(share) else {
            let expected =
                "cutoffs between the levels of unscheduled packets, since the workload's sizes are not known";
            return Err(context.scope.invalid(&THRESHOLDS, expected));
        };
        match shares.last_mut() {
            Some(last) if last.bytes == bytes => last.share += 1.0,
            _ => shares.push(SizeShare { bytes, share: 1.0 }),
        }
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Facts, none_given};
    use flowsieve_settings::Settings;

    const UNIFORM: Facts = Facts { name: None, load: None, uniform_to: Some(20_000) };

    fn levels_of(settings: &Settings, facts: &Facts) -> Result<Levels, SettingsError> {
        let cut = Cut { segment: 1_460, beside: 40, rtt_packets: 7 };
        levels(&Context { scope: settings.scheme("homa"), workload: facts }, cut)
    }

    #[test]
    fn levels__of_the_authors_workloads() {
        let scheduled = |name| {
            let facts = Facts { name: Some(name), ..UNIFORM };
            levels_of(&none_given(), &facts).unwrap().scheduled_count()
        };
        let all = ["homa-w1", "homa-w2", "homa-w3", "homa-w4", "homa-w5"].map(scheduled);
        assert_eq!(all, [1, 3, 4, 7, 7]);
    }

    #[test]
    fn levels__by_the_share_of_unscheduled_bytes() {
        // Of messages up to 20 KB, the first 10,220 bytes are unscheduled: of 10,000 on average, 7,609.
        let levels = levels_of(&none_given(), &UNIFORM).unwrap();
        assert_eq!((levels.scheduled_count(), levels.cutoffs().len()), (2, 5));
        assert!(levels.cutoffs().is_sorted());
    }

    #[test]
    fn levels__as_given() {
        let of = |key, value: i64| levels_of(&none_given().with(None, key, value), &UNIFORM);
        assert_eq!(of("overcommitment", 3).unwrap().scheduled_count(), 3);
        assert_eq!(of("queues", 2).unwrap().scheduled_count(), 1);
        assert!(of("queues", 1).unwrap_err().to_string().contains("at least 2"));
        assert!(of("overcommitment", 8).unwrap_err().to_string().contains("at most 7"));
        let given = none_given().with(None, "thresholds", &["300B", "2KB"][..]);
        let unknown = Facts { name: None, load: None, uniform_to: None };
        let levels = levels_of(&given, &unknown).unwrap();
        assert_eq!((levels.scheduled_count(), levels.cutoffs()), (5, &[300, 2_000][..]));
        for wrong in [&["2KB", "300B"][..], &["1B", "2B", "3B", "4B", "5B", "6B", "7B"]] {
            assert!(levels_of(&none_given().with(None, "thresholds", wrong), &unknown).is_err());
        }
        assert!(levels_of(&given.with(None, "overcommitment", 4), &unknown).is_err());
        assert!(levels_of(&none_given(), &unknown).unwrap_err().to_string().contains("are not known"));
    }
}
