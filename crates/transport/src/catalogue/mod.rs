//! The built-in transports: the one list of them. A new one is a folder here and a line in the list.

mod desk;
pub mod homa;
pub mod ndp;
pub mod nscc;
pub mod open_loop;
mod pieces;
pub mod tcp;

use std::fmt;
use std::sync::Arc;

use flowsieve_core::catalogue::catalogue;
use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Site, Tagger, Time};

use crate::constants::Constants;
use crate::endpoint::{
    BaseRoundTrips, Effects, Endpoint, HostSite, Observed, Out, Timer, TransportFacts, TransportRules, Turn,
};
use crate::packet::{Packet, Said};

catalogue! {
    $ each
    /// How to build the endpoints of a class of flow.
    pub TransportSpec =>
    /// Every endpoint as one type, so that a host calls it without indirection.
    // TCP's is the largest, and nearly every host has it. With a separate tag byte, each packet finds the variant by one
    // load.
    #[allow(clippy::large_enum_variant)]
    #[repr(u8)]
    pub HostEndpoint
    Custom(CustomTransport) => Box<dyn Endpoint>;
    /// TCP and its kin.
    Tcp(Arc<tcp::TcpRules>) => tcp::TcpEndpoint;
    /// Sending without answers.
    OpenLoop(Arc<open_loop::OpenLoopRules>) => open_loop::OpenLoopEndpoint;
}

/// Builds the custom endpoint of a host.
pub type MakeEndpoint = dyn Fn(&HostSite<'_>) -> Box<dyn Endpoint> + Send + Sync;

/// How a custom transport is built.
#[derive(Clone)]
pub struct CustomTransport {
    /// What is known of it before it runs.
    pub facts: TransportFacts,
    /// Its constants that have to fit the fabric.
    pub constants: Constants,
    /// How to build its endpoints.
    pub make: Arc<MakeEndpoint>,
    /// The rules that were chosen, as text: `Debug` shows by them how two schemes differ.
    pub rules: String,
}

impl fmt::Debug for CustomTransport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "custom, {:?}, {:?}{}", self.facts, self.constants, self.rules)
    }
}

impl TransportSpec {
    /// Wraps a custom transport, with what is known of it before it runs, and the constants that have to fit its fabric;
    /// `make` builds the endpoint of a host.
    pub fn custom<E: Endpoint + 'static>(
        facts: TransportFacts,
        constants: Constants,
        make: impl Fn(&HostSite<'_>) -> E + Send + Sync + 'static,
    ) -> TransportSpec {
        let make = Arc::new(move |site: &HostSite<'_>| -> Box<dyn Endpoint> { Box::new(make(site)) });
        TransportSpec::Custom(CustomTransport { facts, constants, make, rules: String::new() })
    }

    /// Adds a custom transport's choices among its rules to what [`fmt::Debug`] shows.
    #[must_use]
    pub fn with_rules(self, rules: &impl fmt::Debug) -> TransportSpec {
        match self {
            TransportSpec::Custom(own) => {
                TransportSpec::Custom(CustomTransport { rules: format!(", {rules:?}"), ..own })
            }
            built_in => built_in,
        }
    }

    /// Returns what is known of it before it runs.
    pub fn facts(&self) -> TransportFacts {
        each!(rules self, rules => rules.facts(), own => own.facts)
    }

    /// Returns the constants that have to fit the fabric.
    pub fn constants(&self) -> Constants {
        each!(rules self, rules => rules.constants(), own => own.constants.clone())
    }

    /// As [`TransportRules::wants_round_trips`].
    pub fn wants_round_trips(&self) -> bool {
        each!(rules self, rules => rules.wants_round_trips(), _ => false)
    }

    /// Builds the endpoint of a host, which may pause ([`HostSite::pauses`]), for a class of flow. `round_trips` are given
    /// if they are wanted. `site` is called only for custom transports.
    pub fn build(
        &self,
        class: u8,
        pauses: bool,
        round_trips: Option<Box<BaseRoundTrips>>,
        site: impl FnOnce() -> Site,
    ) -> HostEndpoint {
        each!(make self, rules => rules.build(pauses, round_trips), own => {
            (own.make)(&HostSite { site: &site(), class, pauses })
        })
    }
}

/// What [`HostEndpoint::receive`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Handled {
    /// Nothing, the usual case. It includes the first timer, so that one call completes such a packet.
    Nothing {
        /// As [`Endpoint::next_timer`].
        timer: Time,
    },
    /// These effects.
    Asks(Effects),
}

impl Handled {
    /// Returns the effects that are requested.
    pub fn effects(self) -> Effects {
        match self {
            Handled::Nothing { .. } => Effects::NONE,
            Handled::Asks(effects) => effects,
        }
    }
}

/// The methods of [`Endpoint`], which built-in endpoints have for any [`Out`].
impl HostEndpoint {
    /// As [`Endpoint::begin`].
    #[inline]
    pub fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out, message: &Message) -> Effects {
        each!(part self, endpoint => endpoint.begin(now, tagger, out, message))
    }

    /// As [`Endpoint::receive`]. Each arm takes the packet separately, since a shared one would have to be in memory.
    #[inline(always)]
    pub fn receive<O: Out>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        take: impl FnOnce(&mut O) -> Packet,
    ) -> Handled {
        each!(part self, endpoint => {
            let packet = take(out);
            match endpoint.receive(now, tagger, out, &packet) {
                Effects::NONE => Handled::Nothing { timer: endpoint.next_timer().at },
                effects => Handled::Asks(effects),
            }
        })
    }

    /// As [`Endpoint::on_timer`].
    #[inline]
    pub fn on_timer(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out) -> Effects {
        each!(part self, endpoint => endpoint.on_timer(now, tagger, out))
    }

    /// As [`Endpoint::on_departure`]; no built-in endpoint hears departures.
    pub fn on_departure(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out, packet: &Packet) -> Effects {
        match self {
            HostEndpoint::Custom(own) => own.on_departure(now, tagger, out, packet),
            _ => Effects::NONE,
        }
    }

    /// As [`Endpoint::on_table`].
    pub fn on_table(&mut self, now: Time, tagger: &Tagger) {
        each!(part self, endpoint => endpoint.on_table(now, tagger));
    }

    /// As [`Endpoint::next_timer`].
    #[inline(always)]
    pub fn next_timer(&mut self) -> Timer {
        each!(part self, endpoint => endpoint.next_timer())
    }

    /// As [`Endpoint::turns`].
    #[inline]
    pub fn turns(&self) -> u32 {
        each!(part self, endpoint => endpoint.turns())
    }

    /// As [`Endpoint::poll`].
    #[inline]
    pub fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out) -> Turn {
        each!(part self, endpoint => endpoint.poll(now, tagger, out))
    }

    /// As [`Endpoint::poll_event`].
    #[inline]
    pub fn poll_event(&mut self) -> Option<FlowEvent> {
        each!(part self, endpoint => endpoint.poll_event())
    }

    /// As [`Endpoint::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        each!(part self, endpoint => endpoint.observe(see));
    }

    /// As [`Endpoint::readings`]; the counts of built-in endpoints travel with their messages.
    pub fn readings(&self, see: &mut dyn FnMut(Reading)) {
        if let HostEndpoint::Custom(own) = self {
            own.readings(see);
        }
    }

    /// As [`Endpoint::acknowledged`].
    pub fn acknowledged(&self) -> Option<u64> {
        each!(part self, endpoint => endpoint.acknowledged())
    }

    /// As [`Endpoint::connection`]; that of built-in endpoints is the packets' flow.
    pub fn connection(&self, packet: &Packet) -> u32 {
        match self {
            HostEndpoint::Custom(own) => own.connection(packet),
            _ => packet.flow,
        }
    }

    /// As [`Endpoint::describe`].
    pub fn describe(&self, packet: &Packet) -> Said {
        each!(part self, endpoint => endpoint.describe(packet))
    }
}
