//! NDP (Handley et al., SIGCOMM 2017): switches cut packets that find no room, and receivers pull. The transport and what it leaves out:
//! [`flowsieve_transport::ndp`]; the switches: [`flowsieve_core::hops::trim`].
//!
//! Ports have a queue for headers, ACKs, NACKs and PULLs, and a lower one for data, of eight full packets each, as in the paper's
//! simulations (§3.1: the same memory for both). The first is served strictly before the second, as in effect in the authors'
//! simulator; the paper's 10 to 1 is `discipline = "wrr"` with `weights = [10, 1]`.
//!
//! The initial window follows fig. 17: 30 packets of 1,500 bytes fill a fabric of 10 Gbit/s; of 9,000 bytes, 15 to 30 do. A fabric
//! whose base round trip carries more needs more, or a message alone would not fill its line.

use std::num::NonZeroU32;

use flowsieve_core::Time;
use flowsieve_core::hops::trim::{Trim, Victim};
use flowsieve_settings::declare;
use flowsieve_settings::{Place, Section, Setting, SettingsError};
use flowsieve_sim::round_trip::{Exchange, RoundTrip};
use flowsieve_sim::scheme::{EVERY_PLACE, Scheme, places};
use flowsieve_transport::ndp::{NdpEndpoint, NdpRules};
use flowsieve_transport::{Amount, Awaits, Constants, HostSite, Named, TransportFacts, TransportSpec, Wait};

use crate::entry::Context;
use crate::homa::NIC_PACKETS;
use crate::parameters::{self, wire_overhead};
use crate::parts::{self, Own, QUEUES, RTO_MIN};

declare! {
    static NDP_WINDOW: Setting<u64> = Setting::count(
        Section::Transport, "ndp_window", 1, 1_000_000,
        "NDP: packets of a message that are sent without a PULL, at the line's rate",
    )
    .computed("30; more if a base round trip carries more");
    static PULL_RATE: Setting<f64> = Setting::number_above(
        Section::Transport, "pull_rate", 0.0, 1.0,
        "NDP: PULLs of a host as a share of those that would fill its line with full packets",
    )
    .with_default(1.0);
    /// Which packet is cut.
    pub(crate) static TRIM_VICTIM: Setting<Victim> = Setting::choice(
        Section::Network,
        "trim_victim",
        &[("either", Victim::Either), ("arriving", Victim::Arriving)],
        "NDP, NSCC: which packet is cut where a data queue is full: by a coin the one that comes or the newest that waits, or always \
         the one that comes",
    )
    .with_default(Victim::Either);
    static TRIM_RETURN: Setting<bool> = Setting::flag(
        Section::Network, "trim_return",
        "NDP: whether a cut packet that finds no room either goes back to its sender, instead of being lost",
    )
    .computed("true; under HULA or CONGA false");
}

/// Refuses what keeps switches from cutting packets for a transport; returns the bytes of a header.
pub(crate) fn refuse_untrimmable(context: &Context<'_>, name: &str) -> Result<u16, SettingsError> {
    let scope = &context.scope;
    let header = parameters::header(scope)?;
    if header == 0 {
        let expected = format!("at least 1 byte for {name}: a cut packet is its header");
        return Err(parameters::refuse_header(scope, &expected));
    }
    parts::refuse_pauses(scope, name)?;
    // Where there is no such switch nothing is read.
    let there = context.workload.fabric().map_or(EVERY_PLACE, places);
    for place in [Place::Leaf, Place::Spine, Place::Core].into_iter().filter(|&place| there[place as usize]) {
        let scope = scope.at(place);
        if scope.read(&QUEUES)? < 2 {
            let expected = format!("at least 2 for {name}: one for headers and control, one for data");
            return Err(scope.invalid(&QUEUES, expected));
        }
    }
    Ok(header)
}

/// Builds the scheme.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let header = refuse_untrimmable(context, "NDP")?;
    let facts = TransportFacts {
        reads_trims: true,
        sets_priorities: true,
        ..parts::packet_facts(scope, Some(NonZeroU32::MIN))?
    };
    let overhead = wire_overhead(scope)?;
    let rules = NdpRules {
        segment: facts.segment,
        header,
        overhead,
        window: u32::try_from(scope.read_or(&NDP_WINDOW, usual_window(context, facts, overhead))?).unwrap_or(u32::MAX),
        pull_rate: scope.read(&PULL_RATE)?,
        rto: Time(scope.read(&RTO_MIN)?),
        nic_packets: u32::try_from(scope.read(&NIC_PACKETS)?).unwrap_or(u32::MAX),
    };
    let make = move |site: &HostSite<'_>| NdpEndpoint::new(rules, site);
    let window = Named { key: NDP_WINDOW.name, amount: Amount::Packets(rules.window) };
    let transport = TransportSpec::custom(facts, constants(rules.rto, window, false), make);
    let scheme = parts::build(context, Own { transport: Some(transport), ..Own::default() })?;
    let has_programs = Place::ALL.iter().any(|&place| scheme.balancers.at(place).is_program());
    let returns = scope.read_or(&TRIM_RETURN, !has_programs)?;
    if returns && has_programs {
        return Err(scope.invalid(&TRIM_RETURN, "false: switches that run HULA or CONGA send no packet back"));
    }
    let trim = Trim { header, victim: scope.read(&TRIM_VICTIM)?, returns };
    let on_hop = [vec![trim.spec()], scheme.on_hop].concat();
    Ok(Scheme { on_hop, ..scheme })
}

/// Returns the paper's window, or the full packets that the longest base round trip of the fabric carries, if they are more.
fn usual_window(context: &Context<'_>, facts: TransportFacts, overhead: u16) -> u64 {
    const OF_THE_PAPER: u64 = 30;
    let Some(fabric) = context.workload.fabric() else { return OF_THE_PAPER };
    let exchange = Exchange::new(facts.segment, facts.header, overhead);
    let full = u128::from(facts.segment) + u128::from(facts.header) + u128::from(overhead);
    let packets = |from, to| {
        let RoundTrip { time, rate } = fabric.round_trip(from, to, exchange);
        (u128::from(rate.bps()) * u128::from(time.0)).div_ceil(8_000_000_000_000 * full)
    };
    let most = fabric.reaches().iter().map(|reach| packets(reach.from, reach.to)).max().unwrap_or(0);
    u64::try_from(most).unwrap_or(u64::MAX).clamp(OF_THE_PAPER, 1_000_000)
}

/// Returns the constants that have to fit the fabric. What senders send at once may be more than ports hold: it is cut, and not lost.
pub(crate) fn constants(rto: Time, window: Named, reacts_to_marks: bool) -> Constants {
    let answer = Wait {
        key: RTO_MIN.name,
        time: rto,
        awaits: Awaits::Answer,
        held: Time::ZERO,
        attempts: None,
        effect: "packets are sent again without a loss",
    };
    Constants {
        waits: vec![answer],
        window: Some(window),
        unasked: None,
        first_answer_held: Time::ZERO,
        reacts_to_marks,
    }
}

#[cfg(test)]
mod tests {
    use crate::bare::{Facts, none_given, scheme};
    use flowsieve_settings::Settings;

    fn refused(settings: &Settings) -> (String, String) {
        let error = scheme("ndp", settings, &Facts::NONE).expect_err("settings that do not go together");
        (error.key().unwrap_or_default().to_owned(), error.to_string())
    }

    #[test]
    fn build__refuses_what_cannot_be_cut() {
        let (key, text) = refused(&none_given().with(None, "queues", 1));
        assert!(key == "queues" && text.contains("at least 2 for NDP"), "{text}");
        let (key, text) = refused(&none_given().with(None, "header", "0B"));
        assert!(key == "header" && text.contains("a cut packet is its header"), "{text}");
        let (key, text) = refused(&none_given().with(None, "buffer", "1400B"));
        assert!(key == "buffer" && text.contains("holds no full packet"), "{text}");
        let (key, text) = refused(&none_given().with(None, "mtu", "64B").with(None, "header", "64B"));
        assert!(key == "mtu" && text.contains("more than the headers"), "{text}");
        let (key, text) = refused(&none_given().with(None, "pfc", true));
        assert!(key == "pfc" && text.contains("cut instead"), "{text}");
    }

    #[test]
    fn build__sends_nothing_back_under_hula() {
        let hula = none_given().with(None, "load_balancing", "hula");
        let returns = |settings: &Settings| scheme("ndp", settings, &Facts::NONE).map(|it| it.on_hop[0].returns);
        assert_eq!((returns(&none_given()).ok(), returns(&hula).ok()), (Some(true), Some(false)));
        let (key, text) = refused(&hula.with(None, "trim_return", true));
        assert!(key == "trim_return" && text.contains("HULA"), "{text}");
    }
}
