//! Homa (Montazeri et al., SIGCOMM 2018): receivers grant, the message with the fewest bytes left first. Packets carry the priority
//! that the receiver chose, and ports serve strictly by it. The transport and what it leaves out: [`flowsieve_transport::homa`].
//!
//! By default, RTTbytes is what the path of each pair of hosts carries during its base round trip, with the transmission of a full
//! packet and its grant; cutoffs are computed with the largest. The number of scheduled levels is the overcommitment; that of the authors' workloads is
//! from `homaTransportConfig.ini` of PlatformLab/HomaSimulation. For other workloads, it is what the share of unscheduled bytes
//! leaves (§3.4). Cutoffs are computed from the workload before the run, as in the authors' simulations.
//!
//! With `cutoffs = "seen"` a receiver computes them from the messages that it has seen, as in the paper. Until then they divide RTTbytes
//! into equal parts.
//!
//! Not stated in the paper: when a receiver computes its cutoffs, how many requests are many (§3.6), the buffers of its simulations (here as for other schemes), how long a host waits before RESEND (a few
//! milliseconds; here 5, as in Homa's Linux module), how often it does (20, as the module's 100 ticks), predicted sizes.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use flowsieve_core::Time;
use flowsieve_sim::round_trip::{Exchange, RoundTrip};
use flowsieve_sim::topology::{Fabric, Node};
use flowsieve_transport::homa::levels::{Cut, SizeShare, equal_bytes, unscheduled_levels};
use flowsieve_transport::homa::seen::MOST_CUTOFFS;
use flowsieve_transport::homa::{ByPair, HomaEndpoint, HomaRules, IncastRules, Levels, Sizes};
use flowsieve_transport::{Amount, Awaits, Constants, HostSite, Named, TransportFacts, TransportSpec, Wait};

use crate::entry::{Context, Follows};
use crate::fabric_values;
use crate::parameters::{Reference, wire_overhead};
use crate::parts::{self, OUTLIVED, Own, QUEUES, TAGGER, TaggerName};
use crate::thresholds::{self, THRESHOLDS};
use flowsieve_settings::declare;
use flowsieve_settings::units::format_size;
use flowsieve_settings::{MAX_TIME_PS, Place, Section, Setting, SettingsError};
use flowsieve_sim::scheme::Scheme;

/// How long Homa's Linux module waits before it asks again.
const RESEND_AFTER_OF_LINUX: Time = Time::from_us(5_000);

/// From which messages cutoffs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutoffsOf {
    /// From the workload's law, before the run.
    Workload,
    /// From those that each receiver has seen.
    Seen,
}

declare! {
    /// RTTbytes. In `[transport]` it also says which packets need grants for a load that counts grants.
    pub static RTT_BYTES: Setting<u64> = Setting::size(
        Section::Transport, "rtt_bytes", 1, 1_000_000_000,
        "Homa: payload that needs no grant, and that a receiver keeps granted and not received; not given: what the \
         path of each pair of hosts carries in its base round trip",
    );
    static OVERCOMMITMENT: Setting<u64> = Setting::count(
        Section::Transport, "overcommitment", 1, 63,
        "Homa: messages to which a receiver grants at once, and levels of scheduled packets; not given: the authors' number for \
         their workloads, or what the share of unscheduled bytes leaves",
    );
    static CUTOFFS: Setting<CutoffsOf> = Setting::choice(
        Section::Transport, "cutoffs",
        &[("workload", CutoffsOf::Workload), ("seen", CutoffsOf::Seen)],
        "Homa: whether cutoffs between the levels of unscheduled packets follow from the workload before the run, or from the messages \
         that each receiver has seen",
    );
    static CUTOFFS_AFTER: Setting<u64> = Setting::count(
        Section::Transport, "cutoffs_after", 1, 1_000_000,
        "Homa, cutoffs = \"seen\": messages after which a receiver computes its cutoffs again; what it saw before then counts half",
    )
    .with_default(1_000);
    static INCAST: Setting<bool> = Setting::flag(
        Section::Transport, "incast",
        "Homa: whether a host that has many requests out marks new ones, so that less of their answers needs no grant",
    );
    static INCAST_REQUESTS: Setting<u64> = Setting::count(
        Section::Transport, "incast_requests", 0, 65_535, "Homa, incast = true: requests that a host has out without marking new ones",
    )
    .with_default(16);
    static INCAST_BYTES: Setting<u64> = Setting::size(
        Section::Transport, "incast_bytes", 1, 1_000_000_000,
        "Homa, incast = true: payload of an answer to a marked request that needs no grant, rounded up to full packets",
    )
    .with_default(400);
    static REPLIES: Setting<bool> = Setting::flag(
        Section::Transport, "replies",
        "Homa: whether a receiver answers a whole message by a packet without payload, as an RPC's shortest response; closed loops \
         need it, and have it unless it is false",
    )
    .computed("true in closed loops, else false");
    /// How many packets a host hands to its NIC.
    pub(crate) static NIC_PACKETS: Setting<u64> = Setting::count(
        Section::Transport, "nic_packets", 1, 1_000, "Homa, NDP, NSCC: most full packets in the NIC, with the one on the line",
    )
    .with_default(2);
    static RESEND_AFTER: Setting<u64> = Setting::time(
        Section::Transport, "resend_after", 1, MAX_TIME_PS,
        "Homa: silence after which a receiver asks for packets again, and a sender asks what has arrived",
    );
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

/// Builds the scheme. What orders messages is its file's tagger; a port may serve by it instead of by priorities.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let sizes = match scope.usual(&TAGGER)? {
        Some(TaggerName::Predicted) => Sizes::Predicted(scope.read(&OUTLIVED)?),
        _ => Sizes::True,
    };
    let asks = scope.read(&ASKS)?;
    let facts = TransportFacts {
        acknowledges: false,
        sets_priorities: true,
        ..parts::packet_facts(scope, asks.then_some(NonZeroU32::MIN))?
    };
    let overhead = wire_overhead(scope)?;
    let (rtt_bytes, by_pair) = rtt_bytes(context, facts, overhead)?;
    let (segment, header) = (facts.segment, facts.header);
    let beside = u32::from(header) + u32::from(overhead);
    let rtt_packets = u32::try_from(rtt_bytes.div_ceil(segment.into())).unwrap_or(u32::MAX);
    // If not given, they are not part of the configuration.
    let cutoffs_of = scope.optional(&CUTOFFS)?.unwrap_or(CutoffsOf::Workload);
    let seen = match cutoffs_of {
        CutoffsOf::Workload => None,
        CutoffsOf::Seen => Some(u32::try_from(scope.read(&CUTOFFS_AFTER)?).unwrap_or(u32::MAX)),
    };
    let planned = levels(context, Cut { segment, beside, rtt_packets }, seen.map(|_| rtt_bytes))?;
    let rules = HomaRules {
        segment,
        header,
        overhead,
        rtt_bytes,
        by_pair,
        overcommitment: planned.start.scheduled_count(),
        levels: planned.start.clone(),
        seen,
        nic_packets: u32::try_from(scope.read(&NIC_PACKETS)?).unwrap_or(u32::MAX),
        silence: Time(scope.read_or(&RESEND_AFTER, fabric_values::timer(context, RESEND_AFTER_OF_LINUX)?.0)?),
        attempts: u32::try_from(scope.read(&RESEND_ATTEMPTS)?).unwrap_or(u32::MAX),
        asks,
        replies: replies(context, asks)?,
        incast: incast(context)?,
        sizes,
    };
    let constants = constants(&rules);
    // Cutoffs take longer than all else of a scheme, which may never run.
    let made: OnceLock<Arc<HomaRules>> = OnceLock::new();
    let make = move |site: &HostSite<'_>| {
        let with_levels = || Arc::new(HomaRules { levels: planned.levels(), ..rules.clone() });
        HomaEndpoint::new(made.get_or_init(with_levels), site)
    };
    let transport = TransportSpec::custom(facts, constants, make).with_rules(&cutoffs_of);
    parts::build(context, Own { transport: Some(transport), ..Own::default() })
}

/// Returns the constants that have to fit the fabric.
fn constants(rules: &HomaRules) -> Constants {
    let amount = if rules.by_pair.is_some() { Amount::RoundTrip } else { Amount::Payload(rules.rtt_bytes) };
    let rtt_bytes = Named { key: RTT_BYTES.name, amount };
    let wait = |awaits, attempts, effect| Wait {
        key: RESEND_AFTER.name,
        time: rules.silence,
        awaits,
        held: Time::ZERO,
        attempts,
        effect,
    };
    let receiver = wait(Awaits::Next, Some(rules.attempts), "packets are asked for and sent again without a loss");
    let sender = wait(Awaits::Answer, None, "senders ask more than once about messages that are under way");
    Constants {
        waits: [receiver].into_iter().chain(rules.asks.then_some(sender)).collect(),
        window: Some(rtt_bytes),
        unasked: Some(rtt_bytes),
        first_answer_held: Time::ZERO,
        reacts_to_marks: false,
    }
}

/// Reads RTTbytes, and what they are for each pair of hosts if they are not given: all that the path carries in a base round
/// trip counts as payload, so that a message alone never waits for a grant. A host that is far from all others changes
/// nothing between them.
fn rtt_bytes(
    context: &Context<'_>,
    facts: TransportFacts,
    overhead: u16,
) -> Result<(u64, Option<ByPair>), SettingsError> {
    if let Some(own) = context.scope.optional(&RTT_BYTES)? {
        let counted = context.scope.common();
        if counted.has_read(&RTT_BYTES) && counted.read(&RTT_BYTES)? != own {
            let problem = "`rtt_bytes` of this scheme is not that of [transport], by which the load counts grants";
            return Err(context.scope.error(&RTT_BYTES, problem).expected("the same in both"));
        }
        return Ok((own, None));
    }
    let Some(fabric) = context.workload.fabric() else { return Ok((Reference::PAPERS.bdp_bytes(), None)) };
    let exchange = Exchange::new(facts.segment, facts.header, overhead);
    let pairs = Pairs { fabric: fabric.clone(), exchange, known: Mutex::default() };
    let largest = fabric.reaches().iter().map(|reach| pairs.carried(reach.from, reach.to)).max().unwrap_or(1);
    context.scope.note("transport.rtt_bytes", format!("of each pair of hosts, at most {}", format_size(largest)));
    Ok((largest, Some(ByPair(Arc::new(move |from, to| pairs.known(from.into(), to.into()))))))
}

/// What paths carry in their base round trips.
struct Pairs {
    fabric: Fabric,
    exchange: Exchange,
    /// Hosts with equal links to the same switches have it in common.
    known: Mutex<BTreeMap<[HostLink; 2], u64>>,
}

/// A host's link, which is the same in both directions: the switch, rate and delay.
type HostLink = (Node, u64, Time);

impl Pairs {
    fn carried(&self, from: u32, to: u32) -> u64 {
        let RoundTrip { time, rate } = self.fabric.round_trip(from, to, self.exchange);
        let bits = u128::from(rate.bps()) * u128::from(time.0) / 1_000_000_000_000;
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX).max(1)
    }

    fn known(&self, from: u32, to: u32) -> u64 {
        let links = [from, to].map(|host| {
            let link = &self.fabric.links[self.fabric.host_uplink[host as usize] as usize];
            (link.to, link.rate.bps(), link.delay)
        });
        // It holds the values of a pure function, which stay right whatever another thread did.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(links).or_insert_with(|| self.carried(from, to))
    }
}

/// Reads whether a receiver answers whole messages.
fn replies(context: &Context<'_>, asks: bool) -> Result<bool, SettingsError> {
    let scope = &context.scope;
    let replies = match context.workload.follows() {
        Follows::ClosedLoops if asks => scope.read_or(&REPLIES, true)?,
        _ => scope.optional(&REPLIES)?.unwrap_or(false),
    };
    if replies && !asks {
        let problem = "`replies` = true with `asks` = false";
        return Err(scope.error(&REPLIES, problem).expected("`asks` = true: a sender asks if the answer is lost"));
    }
    Ok(replies)
}

/// Reads what hosts do about incast.
fn incast(context: &Context<'_>) -> Result<Option<IncastRules>, SettingsError> {
    let scope = &context.scope;
    if !scope.optional(&INCAST)?.unwrap_or(false) {
        return Ok(None);
    }
    if context.workload.follows() != Follows::Queries {
        let problem = "`incast` = true, but no host sends requests";
        return Err(scope.error(&INCAST, problem).expected("`queries` in [workload], or no `incast`"));
    }
    let requests = u32::try_from(scope.read(&INCAST_REQUESTS)?).unwrap_or(u32::MAX);
    Ok(Some(IncastRules { requests, bytes: scope.read(&INCAST_BYTES)? }))
}

/// Levels whose cutoffs are not computed yet.
#[derive(Clone, Debug)]
struct Planned {
    /// They have the right number of cutoffs.
    start: Levels,
    /// The sizes from which cutoffs follow; `None`: those are the cutoffs.
    from: Option<(Vec<SizeShare>, Cut)>,
}

impl Planned {
    fn levels(&self) -> Levels {
        let Some((sizes, cut)) = &self.from else { return self.start.clone() };
        let number = self.start.cutoffs().len();
        let mut cutoffs = equal_bytes(sizes, *cut, number as u8 + 1);
        // Sizes that do not divide so finely leave levels empty, not to scheduled packets.
        let largest = cutoffs.last().copied().unwrap_or(0);
        cutoffs.extend((1..).map(|more| largest + more).take(number - cutoffs.len()));
        self.start.with_cutoffs(cutoffs).unwrap_or_else(|| self.start.clone())
    }
}

/// Reads the levels: as many as ports have queues. `seen`: receivers see what their cutoffs are; with RTTbytes.
fn levels(context: &Context<'_>, cut: Cut, seen: Option<u64>) -> Result<Planned, SettingsError> {
    let scope = &context.scope;
    let count = scope.at(Place::Leaf).read(&QUEUES)? as u8;
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
    let few = || scope.invalid(&THRESHOLDS, format!("at most {} sizes", count - 2));
    let planned = match thresholds::sizes(scope)? {
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
            Planned { start: Levels::new(count, cutoffs).map_err(|_| few())?, from: None }
        }
        None => {
            let published = || {
                let name = context.workload.distribution().filter(|_| count == PUBLISHED_LEVELS)?;
                PUBLISHED.iter().find(|(names, _)| names.contains(&name)).map(|&(_, scheduled)| count - scheduled)
            };
            let needs_sizes = seen.is_none() || (given.is_none() && published().is_none());
            let unknown = |error: SettingsError| match seen {
                None => error,
                Some(_) => scope.invalid(
                    &OVERCOMMITMENT,
                    "the number of scheduled levels, since the workload's sizes are not known",
                ),
            };
            let sizes = if needs_sizes { size_shares(context).map_err(unknown)? } else { Vec::new() };
            let default = || published().unwrap_or_else(|| unscheduled_levels(&sizes, cut, count));
            let scheduled = scope.read_or(&OVERCOMMITMENT, given.unwrap_or_else(|| count - default()).into())?;
            let unscheduled = count - scheduled as u8;
            // Equal parts of RTTbytes, until others are computed.
            let part = |level: u64| level * seen.unwrap_or(0) / u64::from(unscheduled);
            let start = Levels::new(count, (1..unscheduled.into()).map(part).collect()).map_err(|_| few())?;
            Planned { start, from: if seen.is_none() { Some((sizes, cut)) } else { None } }
        }
    };
    if seen.is_some() && planned.start.cutoffs().len() > MOST_CUTOFFS {
        let expected = format!("\"workload\", or at most {} levels of unscheduled packets", MOST_CUTOFFS + 1);
        return Err(scope.invalid(&CUTOFFS, expected));
    }
    Ok(planned)
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
    use crate::bare::{Facts, none_given};
    use flowsieve_settings::Settings;

    const UNIFORM: Facts = Facts { uniform_to: Some(20_000), ..Facts::NONE };

    fn levels_of(settings: &Settings, facts: &Facts) -> Result<Levels, SettingsError> {
        levels_after(settings, facts, None)
    }

    fn levels_after(settings: &Settings, facts: &Facts, seen: Option<u64>) -> Result<Levels, SettingsError> {
        let cut = Cut { segment: 1_460, beside: 40, rtt_packets: 7 };
        let scope = crate::registry::find("homa").unwrap().scope(settings.scheme("homa"));
        Ok(levels(&Context { scope, workload: facts }, cut, seen)?.levels())
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
    fn levels__equal_parts_until_receivers_have_seen_enough() {
        let of = |settings: &Settings, facts: &Facts| levels_after(settings, facts, Some(9_000));
        let unknown = Facts::NONE;
        let given = none_given().with(None, "overcommitment", 5);
        assert_eq!(of(&given, &unknown).unwrap().cutoffs(), [3_000, 6_000]);
        assert_eq!(of(&none_given(), &UNIFORM).unwrap().scheduled_count(), 2, "as many as from the law");
        let refused = of(&none_given(), &unknown).unwrap_err();
        assert_eq!(refused.key(), Some("overcommitment"), "{refused}");
        let many = given.with(None, "queues", 16);
        assert_eq!(of(&many, &unknown).unwrap_err().key(), Some("cutoffs"), "a packet has room for eight");
    }

    #[test]
    fn replies__for_closed_loops_and_incast__for_queries() {
        let read = |settings: &Settings, follows| {
            let workload = Facts { follows, ..UNIFORM };
            let context = Context { scope: settings.scheme("homa"), workload: &workload };
            Ok::<_, SettingsError>((replies(&context, context.scope.read(&ASKS)?)?, incast(&context)?))
        };
        let refused = |settings: &Settings, follows| read(settings, follows).unwrap_err().key().map(str::to_owned);
        let (plain, incast) = (none_given(), none_given().with(None, "incast", true));
        assert_eq!(read(&plain, Follows::Nothing).unwrap(), (false, None));
        assert_eq!(read(&plain, Follows::ClosedLoops).unwrap(), (true, None));
        let rules = IncastRules { requests: 16, bytes: 400 };
        assert_eq!(read(&incast, Follows::Queries).unwrap(), (false, Some(rules)));
        assert_eq!(refused(&incast, Follows::Nothing).as_deref(), Some("incast"));
        let mute = none_given().with(None, "asks", false);
        assert!(!read(&mute, Follows::ClosedLoops).unwrap().0, "which is refused when it runs");
        assert_eq!(refused(&mute.with(None, "replies", true), Follows::Nothing).as_deref(), Some("replies"));
    }

    #[test]
    fn levels__as_given() {
        let of = |key, value: i64| levels_of(&none_given().with(None, key, value), &UNIFORM);
        assert_eq!(of("overcommitment", 3).unwrap().scheduled_count(), 3);
        assert_eq!(of("queues", 2).unwrap().scheduled_count(), 1);
        assert!(of("queues", 1).unwrap_err().to_string().contains("at least 2"));
        assert!(of("overcommitment", 8).unwrap_err().to_string().contains("at most 7"));
        let given = none_given().with(None, "thresholds", &["300B", "2KB"][..]);
        let unknown = Facts::NONE;
        let levels = levels_of(&given, &unknown).unwrap();
        assert_eq!((levels.scheduled_count(), levels.cutoffs()), (5, &[300, 2_000][..]));
        for wrong in [&["2KB", "300B"][..], &["1B", "2B", "3B", "4B", "5B", "6B", "7B"]] {
            assert!(levels_of(&none_given().with(None, "thresholds", wrong), &unknown).is_err());
        }
        assert!(levels_of(&given.with(None, "overcommitment", 4), &unknown).is_err());
        assert!(levels_of(&none_given(), &unknown).unwrap_err().to_string().contains("are not known"));
    }
}
