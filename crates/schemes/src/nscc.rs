//! NSCC, Ultra Ethernet's congestion control at the sender, with the paths that senders choose. The transport and what it leaves out:
//! [`flowsieve_transport::nscc`]; the switches: [`flowsieve_core::hops::trim`].
//!
//! Ports have a queue for headers, ACKs and NACKs, and a lower one for data, of a bandwidth-delay product each. The one for data marks
//! from a fifth of that on, and all above four fifths. Times and rates follow the fabric: its largest base round trip and fastest host.

use flowsieve_core::hops::trim::Trim;
use flowsieve_core::{BalancerSpec, Time};
use flowsieve_settings::declare;
use flowsieve_settings::{Place, Section, Setting, SettingsError};
use flowsieve_sim::scheme::Scheme;
use flowsieve_transport::nscc::{NsccEndpoint, NsccRules, PathChoice, PathRules};
use flowsieve_transport::{Amount, HostSite, Named, TransportFacts, TransportSpec};
use std::num::NonZeroU32;

use crate::entry::Context;
use crate::homa::NIC_PACKETS;
use crate::ndp::{self, TRIM_VICTIM, refuse_untrimmable};
use crate::parameters::{Reference, wire_overhead};
use crate::parts::{self, LOAD_BALANCING, Own, RTO_MIN};

declare! {
    static NSCC_PATHS: Setting<u64> = Setting::count(
        Section::Transport, "nscc_paths", 1, 65_536,
        "NSCC: entropies among which a sender chooses for each packet, a power of two; switches hash them",
    )
    .with_default(64);
    static NSCC_PATH_CHOICE: Setting<PathChoice> = Setting::choice(
        Section::Transport, "nscc_path_choice",
        &[
            ("oblivious", PathChoice::Oblivious),
            ("bitmap", PathChoice::Bitmap),
            ("reps", PathChoice::Reps),
            ("mixed", PathChoice::Mixed),
        ],
        "NSCC: in turn; in turn with penalties for marks, trims and timeouts; those of the last eight answers without marks; or any \
         such answer's, else in turn with penalties",
    )
    .with_default(PathChoice::Mixed);
    static NSCC_TARGET: Setting<f64> = Setting::number_above(
        Section::Transport, "nscc_target", 0.0, 100.0,
        "NSCC: delay in queues that senders aim at, as a share of the largest base round trip",
    )
    .with_default(0.75);
    static NSCC_ACK_BYTES: Setting<u64> = Setting::size(
        Section::Transport, "nscc_ack_bytes", 1, 1_000_000_000, "NSCC: bytes of packets for which a receiver may hold an answer back",
    )
    .computed("16384B; less if a tenth of what a base round trip carries is less");
}

/// Builds the scheme.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let header = refuse_untrimmable(context, "NSCC")?;
    let reference = Reference::read(context)?;
    let ack_bytes = scope.read_or(&NSCC_ACK_BYTES, (reference.bdp_bytes() / 10).clamp(1, 16_384))?;
    let count = scope.read(&NSCC_PATHS)?;
    if !count.is_power_of_two() {
        return Err(scope.invalid(&NSCC_PATHS, "a power of two"));
    }
    let facts = parts::packet_facts(scope, None)?;
    let full = u64::from(facts.segment) + u64::from(header);
    let every = NonZeroU32::new(u32::try_from(ack_bytes.div_ceil(full)).unwrap_or(u32::MAX));
    let facts = TransportFacts { reads_trims: true, sets_priorities: true, ..parts::packet_facts(scope, every)? };
    let rules = NsccRules {
        segment: facts.segment,
        header,
        overhead: wire_overhead(scope)?,
        round_trip: reference.round_trip,
        target: Time((reference.round_trip.0 as f64 * scope.read(&NSCC_TARGET)?).round().max(1.0) as u64),
        ack_bytes: u32::try_from(ack_bytes).unwrap_or(u32::MAX),
        rto: Time(scope.read(&RTO_MIN)?),
        nic_packets: u32::try_from(scope.read(&NIC_PACKETS)?).unwrap_or(u32::MAX),
        paths: PathRules { choice: scope.read(&NSCC_PATH_CHOICE)?, count: count as u32 },
    };
    let make = move |site: &HostSite<'_>| NsccEndpoint::new(rules, site);
    let window = Named { key: "1.5 base round trips", amount: Amount::RoundTrip };
    let transport = TransportSpec::custom(facts, ndp::constants(rules.rto, window, true), make).with_rules(&rules);
    let scheme = parts::build(context, Own { transport: Some(transport), ..Own::default() })?;
    let fabric = context.workload.fabric();
    let chooses = |place: &Place| {
        !matches!(scheme.balancers.at(*place), BalancerSpec::Ecmp(_))
            && fabric.is_none_or(|fabric| fabric.has_choice(*place))
    };
    if let Some(place) = [Place::Leaf, Place::Spine, Place::Core].into_iter().find(chooses) {
        let expected = "\"ecmp\": NSCC's senders choose paths by what switches hash, and others do not keep to that";
        return Err(scope.at(place).invalid(&LOAD_BALANCING, expected));
    }
    let trim = Trim { header, victim: scope.read(&TRIM_VICTIM)?, returns: false };
    let on_hop = [vec![trim.spec()], scheme.on_hop].concat();
    Ok(Scheme { on_hop, ..scheme })
}

#[cfg(test)]
mod tests {
    use crate::bare::{Facts, none_given, scheme};
    use flowsieve_settings::Settings;

    fn refused(settings: &Settings) -> (String, String) {
        let error = scheme("nscc", settings, &Facts::NONE).expect_err("settings that do not go together");
        (error.key().unwrap_or_default().to_owned(), error.to_string())
    }

    #[test]
    fn build__refuses_what_does_not_go_with_it() {
        let (key, text) = refused(&none_given().with(None, "queues", 1));
        assert!(key == "queues" && text.contains("at least 2 for NSCC"), "{text}");
        let (key, text) = refused(&none_given().with(None, "header", "0B"));
        assert!(key == "header" && text.contains("a cut packet is its header"), "{text}");
        let (key, text) = refused(&none_given().with(None, "pfc", true));
        assert!(key == "pfc" && text.contains("cut instead"), "{text}");
        let (key, text) = refused(&none_given().with(None, "nscc_paths", 96));
        assert!(key == "nscc_paths" && text.contains("a power of two"), "{text}");
        for other in ["spray", "spray-random", "flowlet", "hula", "conga"] {
            let (key, text) = refused(&none_given().with(None, "load_balancing", other));
            assert!(key == "load_balancing" && text.contains("senders choose paths"), "{text}");
        }
    }
}
