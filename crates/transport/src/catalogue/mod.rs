//! The available transports: how each is built, and what is known of it before it runs.

pub mod open_loop;
pub mod tcp;

use std::num::NonZeroU32;
use std::sync::Arc;

use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Site, Tagger, Time};

use crate::endpoint::{Effects, Endpoint, HostSite, Observed, Out, Timer, Turn};
use crate::open_loop::{OpenLoopEndpoint, OpenLoopRules};
use crate::packet::{Packet, Said};
use crate::tcp::{BaseRoundTrips, Connections, TcpEndpoint, TcpRules};

/// What is known of a transport before it runs: for offered loads, ideal FCTs, and flows that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportFacts {
    /// Payload of a full packet, in bytes; at least 1.
    pub segment: u16,
    /// Bytes of a packet's headers; an answer is nothing else.
    pub header: u16,
    /// The number of data packets that cause an answer; `None`: nothing is answered.
    pub packets_per_answer: Option<NonZeroU32>,
}

impl TransportFacts {
    /// Returns whether a sender learns that its message has arrived.
    pub fn answers(&self) -> bool {
        self.packets_per_answer.is_some()
    }

    /// Returns the number of answers to `packets` data packets.
    pub fn answers_to(&self, packets: u64) -> u64 {
        self.packets_per_answer.map_or(0, |every| packets.div_ceil(u64::from(every.get())))
    }
}

/// How to build the endpoints of a class of flow.
#[derive(Clone)]
pub enum TransportSpec {
    /// [`TcpEndpoint`].
    Tcp(Arc<TcpRules>),
    /// [`OpenLoopEndpoint`].
    OpenLoop(Arc<OpenLoopRules>),
    /// A custom transport.
    Custom(CustomTransport),
}

/// Builds the endpoint of a host.
pub type MakeEndpoint = dyn Fn(&HostSite<'_>) -> Box<dyn Endpoint> + Send + Sync;

/// A custom transport.
#[derive(Clone)]
pub struct CustomTransport {
    /// What is known of it before it runs.
    pub facts: TransportFacts,
    /// How to build its endpoints.
    pub make: Arc<MakeEndpoint>,
}

impl TransportSpec {
    /// Returns what is known of it before it runs.
    pub fn facts(&self) -> TransportFacts {
        match self {
            TransportSpec::Tcp(rules) => rules.facts(),
            TransportSpec::OpenLoop(rules) => rules.facts(),
            TransportSpec::Custom(own) => own.facts,
        }
    }

    /// Returns whether its endpoints need base round trips ([`HostEndpoint::tell_round_trips`]).
    pub fn wants_round_trips(&self) -> bool {
        matches!(self, TransportSpec::Tcp(rules) if rules.connections == Connections::Warm)
    }

    /// Builds the endpoint of a host, which may pause ([`HostSite::pauses`]), for a class of flow. `site` is called only
    /// for custom transports.
    pub fn build(&self, class: u8, pauses: bool, site: impl FnOnce() -> Site) -> HostEndpoint {
        match self {
            TransportSpec::Tcp(rules) => HostEndpoint::Tcp(TcpEndpoint::new(Arc::clone(rules), pauses)),
            TransportSpec::OpenLoop(rules) => HostEndpoint::OpenLoop(OpenLoopEndpoint::new(Arc::clone(rules))),
            TransportSpec::Custom(own) => HostEndpoint::Boxed((own.make)(&HostSite { site: &site(), class, pauses })),
        }
    }
}

impl std::fmt::Debug for TransportSpec {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TransportSpec::Tcp(rules) => rules.fmt(out),
            TransportSpec::OpenLoop(rules) => rules.fmt(out),
            TransportSpec::Custom(own) => write!(out, "custom, {:?}", own.facts),
        }
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

/// Every endpoint as one type, so that a host calls it without indirection; `Boxed` holds custom ones.
// TCP's is the largest, and nearly every host has it. With a separate tag byte, each packet finds the variant by one load.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
pub enum HostEndpoint {
    /// TCP and its kin.
    Tcp(TcpEndpoint),
    /// Sending without answers.
    OpenLoop(OpenLoopEndpoint),
    /// A custom endpoint.
    Boxed(Box<dyn Endpoint>),
}

macro_rules! each {
    ($endpoint:expr, $each:ident => $call:expr) => {
        match $endpoint {
            HostEndpoint::Tcp($each) => $call,
            HostEndpoint::OpenLoop($each) => $call,
            HostEndpoint::Boxed($each) => $call,
        }
    };
}

impl HostEndpoint {
    /// Sets the base round trip to each other host: a full packet there and its answer back, in an empty fabric.
    pub fn tell_round_trips(&mut self, to: Box<BaseRoundTrips>) {
        if let HostEndpoint::Tcp(tcp) = self {
            tcp.tell_round_trips(to);
        }
    }
}

/// The methods of [`Endpoint`], which built-in endpoints have for any [`Out`].
impl HostEndpoint {
    /// As [`Endpoint::begin`].
    #[inline]
    pub fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out, message: &Message) -> Effects {
        each!(self, endpoint => endpoint.begin(now, tagger, out, message))
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
        each!(self, endpoint => {
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
        each!(self, endpoint => endpoint.on_timer(now, tagger, out))
    }

    /// As [`Endpoint::next_timer`].
    #[inline(always)]
    pub fn next_timer(&mut self) -> Timer {
        each!(self, endpoint => endpoint.next_timer())
    }

    /// As [`Endpoint::turns`].
    #[inline]
    pub fn turns(&self) -> u32 {
        each!(self, endpoint => endpoint.turns())
    }

    /// As [`Endpoint::poll`].
    #[inline]
    pub fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out) -> Turn {
        each!(self, endpoint => endpoint.poll(now, tagger, out))
    }

    /// As [`Endpoint::poll_event`].
    #[inline]
    pub fn poll_event(&mut self) -> Option<FlowEvent> {
        each!(self, endpoint => endpoint.poll_event())
    }

    /// As [`Endpoint::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        each!(self, endpoint => endpoint.observe(see));
    }

    /// As [`Endpoint::readings`]; the counts of built-in endpoints travel with their messages.
    pub fn readings(&self, see: &mut dyn FnMut(Reading)) {
        if let HostEndpoint::Boxed(own) = self {
            own.readings(see);
        }
    }

    /// As [`Endpoint::acknowledged`].
    pub fn acknowledged(&self) -> Option<u64> {
        each!(self, endpoint => endpoint.acknowledged())
    }

    /// As [`Endpoint::describe`].
    pub fn describe(&self, packet: &Packet) -> Said {
        each!(self, endpoint => endpoint.describe(packet))
    }
}
