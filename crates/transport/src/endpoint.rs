//! A host's endpoint: every sender and receiver of one host and one class of flow, as one state machine without I/O, clock
//! or randomness, in the shape of quinn-proto's and smoltcp's.
//!
//! The host calls it with what happened, then does what the call asks for ([`Effects`]), in this order, and asks for the
//! next timer:
//!
//! | where [`Effects`] say | the host calls |
//! | --- | --- |
//! | `events` | [`Endpoint::poll_event`] until `None` |
//! | `sends` | [`Endpoint::poll`] while there are turns and the host's port has room, and again when it has room |
//!
//! Packets go to an [`Out`]: answers and grants from within the call that causes them, whatever the backlog. Taggers are told by
//! the endpoint, in the order in which they see packets; the host's events are for records, closed loops and controllers.
//! What is due at one instant is done one at a time, with all that it asks for, so that what one timer sends does not depend
//! on the next.

use flowsieve_core::Time;
use flowsieve_core::tagger::Tagger;

use crate::messages::Message;
use crate::open_endpoint::{OpenLoopEndpoint, OpenLoopRules};
use crate::packet::Packet;
use crate::tcp_endpoint::{TcpEndpoint, TcpRules};
use std::sync::Arc;

/// What a call asks of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Effects {
    /// There are events.
    pub events: bool,
    /// A sender may want a turn. Where hosts never pause, endpoints send from within the call instead.
    pub sends: bool,
}

impl Effects {
    /// Nothing.
    pub const NONE: Effects = Effects { events: false, sends: false };
}

/// When a timer is due. What is due at one instant at one host is done by `order`, across endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// The instant; [`Time::NEVER`]: there is none.
    pub at: Time,
    /// A number that does not depend on places in memory.
    pub order: u64,
}

impl Timer {
    /// There is none.
    pub const NEVER: Timer = Timer { at: Time::NEVER, order: u64::MAX };
}

/// What happened at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A message begins on a flow.
    Begun {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
    },
    /// Its sender is done with a message.
    Ended {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
        /// How, where its receiver acknowledged all of it.
        acknowledged: Option<Acknowledged>,
    },
    /// All of a message has arrived.
    Delivered {
        /// The message.
        message: u32,
        /// First transmissions that arrived after a later one.
        out_of_order: u32,
    },
    /// A sender waited in vain.
    Timeout {
        /// The flow.
        flow: u32,
    },
}

/// What it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Packets sent again.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
}

/// Congestion window of a connection with a message under way.
pub const WINDOW: &str = "congestion window (packets)";
/// DCTCP's estimate of such a connection that has one.
pub const ALPHA: &str = "dctcp alpha";

/// Where packets go: the host's port.
pub trait Out {
    /// Takes a packet.
    fn send(&mut self, packet: Packet);
}

/// All senders and receivers of one host and one class of flow. Those that are built in have the same methods for any
/// [`Out`].
pub trait Endpoint: Send {
    /// The host wants to send a message to another.
    fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, to: u16, message: &Message) -> Effects;
    /// A packet of the class arrives.
    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects;
    /// The first timer is due. It may turn out to be nobody's any more.
    fn on_timer(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Effects;
    /// The first timer. Asked after all else of a call is done.
    fn next_timer(&mut self) -> Timer;
    /// How many take turns in sending. Hosts of several classes share their port in this proportion.
    fn turns(&self) -> u32;
    /// One turn: sends a packet, or is not used, which says nothing of the next.
    fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out);
    /// What happened, first things first.
    fn poll_event(&mut self) -> Option<HostEvent>;
    /// What there is to see of each flow with a message under way.
    fn observe(&self, see: &mut dyn FnMut(u32, &[(&'static str, f64)]));
}

/// Every built-in endpoint.
pub enum HostEndpoint {
    /// TCP and its kin.
    Tcp(TcpEndpoint),
    /// Nothing is answered.
    OpenLoop(OpenLoopEndpoint),
    /// One of the user's own.
    Boxed(Box<dyn Endpoint>),
}

/// How to make an endpoint for each host.
#[derive(Clone)]
pub enum EndpointSpec {
    /// [`HostEndpoint::Tcp`].
    Tcp(Arc<TcpRules>),
    /// [`HostEndpoint::OpenLoop`].
    OpenLoop(Arc<OpenLoopRules>),
    /// One of the user's own, by host.
    Custom(Arc<dyn Fn(u16) -> Box<dyn Endpoint> + Send + Sync>),
}

impl EndpointSpec {
    /// The endpoint of a host.
    pub fn build(&self, host: u16) -> HostEndpoint {
        match self {
            EndpointSpec::Tcp(rules) => HostEndpoint::Tcp(TcpEndpoint::new(Arc::clone(rules), host)),
            EndpointSpec::OpenLoop(rules) => HostEndpoint::OpenLoop(OpenLoopEndpoint::new(Arc::clone(rules), host)),
            EndpointSpec::Custom(make) => HostEndpoint::Boxed(make(host)),
        }
    }
}

/// Calls a built-in endpoint with the host's own [`Out`] and any other with a `dyn` one.
macro_rules! any {
    ($endpoint:expr, $each:ident => $call:expr) => {
        match $endpoint {
            HostEndpoint::Tcp($each) => $call,
            HostEndpoint::OpenLoop($each) => $call,
            HostEndpoint::Boxed($each) => $call,
        }
    };
}

impl HostEndpoint {
    /// As [`Endpoint::begin`].
    #[inline]
    pub fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out, to: u16, message: &Message) -> Effects {
        any!(self, each => each.begin(now, tagger, out, to, message))
    }

    /// As [`Endpoint::receive`]. Each arm takes the packet for itself, or else it would have to lie in memory for all of them.
    #[inline(always)]
    pub fn receive<O: Out>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        take: impl FnOnce(&mut O) -> Packet,
    ) -> Effects {
        match self {
            HostEndpoint::Tcp(tcp) => {
                let packet = take(out);
                tcp.receive(now, tagger, out, &packet)
            }
            HostEndpoint::OpenLoop(open) => {
                let packet = take(out);
                open.receive(now, tagger, out, &packet)
            }
            HostEndpoint::Boxed(own) => {
                let packet = take(out);
                own.receive(now, tagger, out, &packet)
            }
        }
    }

    /// As [`Endpoint::on_timer`].
    #[inline]
    pub fn on_timer(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out) -> Effects {
        any!(self, each => each.on_timer(now, tagger, out))
    }

    /// As [`Endpoint::next_timer`].
    #[inline(always)]
    pub fn next_timer(&mut self) -> Timer {
        any!(self, each => each.next_timer())
    }

    /// As [`Endpoint::turns`].
    #[inline]
    pub fn turns(&self) -> u32 {
        any!(self, each => each.turns())
    }

    /// As [`Endpoint::poll`].
    #[inline]
    pub fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut impl Out) {
        any!(self, each => each.poll(now, tagger, out));
    }

    /// As [`Endpoint::poll_event`].
    #[inline]
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        any!(self, each => each.poll_event())
    }

    /// As [`Endpoint::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(u32, &[(&'static str, f64)])) {
        any!(self, each => each.observe(see));
    }
}
