//! A host's endpoint: every sender and receiver of one host and one class of flow, as one state machine without I/O, clock
//! or randomness, in the shape of quinn-proto's and smoltcp's.
//!
//! The host calls it with what happened ([`Endpoint::begin`], [`Endpoint::receive`], [`Endpoint::on_departure`],
//! [`Endpoint::on_timer`]), then does what the call asks for ([`Effects`]), in this order, and last asks for the next timer:
//!
//! | where [`Effects`] say | the host calls |
//! | --- | --- |
//! | `events` | [`Endpoint::poll_event`] until `None` |
//! | `turns` | [`Endpoint::poll`] while [`Endpoint::turns`] says so and its port has room, and again when it has room |
//!
//! # The contract
//! - *Departures:* a transport that wants them ([`TransportFacts::hears_departures`]) hears when the host's line begins to
//!   send each packet ([`Endpoint::on_departure`]), at that instant. It hears nothing of a packet that the host's port drops.
//! - *Packets* go to an [`Out`]. Answers (ACKs, SYN-ACKs, grants) leave from within the call that causes them, whatever the
//!   port's backlog, and so does everything of an open loop. Data leaves in a turn. Where hosts never pause
//!   ([`HostSite::pauses`]) an endpoint may send its data from within the call instead.
//! - *Turns:* a host that pauses gives a turn to each that wants one, round and round, a packet a turn. Which of its connections
//!   an endpoint sends from in a turn is its own choice ([`crate::tcp::NicOrder`]). TCP wants one for each
//!   connection that may send; an endpoint that ranks all its messages itself wants one for all.
//! - *One thing a call:* [`Endpoint::on_timer`] handles one due timer and [`Endpoint::poll`] sends one packet at most, so that
//!   what one causes is done before the next. Both may be called too early and too often; then they do nothing.
//! - *The order at one instant* is that of [`Timer::order`], over all classes of a host, after its port.
//! - *Events:* the endpoint tells its tagger in their place among the packets that it tags. The host hears the same events a
//!   little later, when it asks.
//! - *Between sender and receiver* there are packets and nothing else: the two ends of a message share no memory.

use std::num::NonZeroU32;
use std::sync::Arc;

use flowsieve_core::hop::Trail;
use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Site, Tagger, Time};

use crate::constants::Constants;
use crate::packet::{Packet, Said};

/// What a call asks the host to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Effects {
    /// There are events.
    pub events: bool,
    /// A connection or message may want a turn that wanted none before.
    pub turns: bool,
}

impl Effects {
    /// Nothing.
    pub const NONE: Effects = Effects { events: false, turns: false };
}

/// When a timer is due. Timers of one instant run in the order of `order`, over all endpoints of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// The instant; [`Time::NEVER`]: no timer.
    pub at: Time,
    /// The order within one instant: senders before receivers, each by flow. It never depends on a slot in memory.
    pub order: u64,
}

impl Timer {
    /// No timer.
    pub const NEVER: Timer = Timer { at: Time::NEVER, order: u64::MAX };

    /// Returns a timer of the host itself. It comes after all alarms of its instant, since what they send may take the NIC's room;
    /// of several the one with the larger `rank` is last.
    pub(crate) fn of_host(at: Time, rank: u64) -> Timer {
        if at == Time::NEVER { Timer::NEVER } else { Timer { at, order: u64::MAX - 4 + rank } }
    }

    /// Returns the order of the timer of a flow's sender.
    pub fn sender(flow: u32) -> u64 {
        flow.into()
    }

    /// Returns the order of the timer of a flow's receiver.
    pub fn receiver(flow: u32) -> u64 {
        1 << 32 | u64::from(flow)
    }
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A packet was sent.
    Sent,
    /// The one whose turn it was has nothing to send now. The next one may have.
    Unused,
    /// Nothing is sent before this instant. The host then polls again without being asked.
    NotBefore(Time),
}

/// The destination of packets: the host's port.
pub trait Out {
    /// Takes a packet.
    fn send(&mut self, packet: Packet);

    /// Returns what switches have written into the packet that is being handled, or into that which it answers
    /// ([`flowsieve_core::hop`]); `None`: no switch writes anything.
    #[inline(always)]
    fn trail(&self) -> Option<&Trail> {
        None
    }
}

/// The site of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct HostSite<'a> {
    /// The host.
    pub site: &'a Site,
    /// The class of flow.
    pub class: u8,
    /// Whether the host's port has a bounded backlog, so that data has to wait for its turn.
    pub pauses: bool,
}

/// Names with their values, as [`Endpoint::observe`] reports them.
pub type Observed<'a> = &'a [(&'static str, f64)];

/// All senders and receivers of one host and one class of flow. See the module for when a host calls each method.
pub trait Endpoint: Send {
    /// Begins to send a message.
    fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, message: &Message) -> Effects;

    /// Handles a packet of the class.
    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects;

    /// Handles one timer, if it is due. An endpoint without timers needs neither this nor [`Endpoint::next_timer`].
    fn on_timer(&mut self, _now: Time, _tagger: &mut Tagger, _out: &mut dyn Out) -> Effects {
        Effects::NONE
    }

    /// Handles the departure of one of its packets: the host's line begins to send it. The packet is as the port sends it,
    /// so it may be marked. Called only if [`TransportFacts::hears_departures`].
    fn on_departure(&mut self, _now: Time, _tagger: &mut Tagger, _out: &mut dyn Out, _packet: &Packet) -> Effects {
        Effects::NONE
    }

    /// Hears that its tagger has taken a controller's table, by which other packets may be the urgent ones.
    fn on_table(&mut self, _now: Time, _tagger: &Tagger) {}

    /// Returns the first timer.
    fn next_timer(&mut self) -> Timer {
        Timer::NEVER
    }

    /// Returns how many want a turn. An endpoint that sends only from within calls needs neither this nor
    /// [`Endpoint::poll`].
    fn turns(&self) -> u32 {
        0
    }

    /// Takes one turn.
    fn poll(&mut self, _now: Time, _tagger: &mut Tagger, _out: &mut dyn Out) -> Turn {
        Turn::Unused
    }

    /// Returns the next event, in the order in which they happened.
    fn poll_event(&mut self) -> Option<FlowEvent>;

    /// Reports the state of each flow with a message under way: `see` takes the flow, and names with their values.
    fn observe(&self, _see: &mut dyn FnMut(u32, Observed<'_>)) {}

    /// Reports its counts of the run, as ports do: results add the counts of all hosts by name. Called at the end.
    fn readings(&self, _see: &mut dyn FnMut(Reading)) {}

    /// Returns a number that changes when something that was sent is acknowledged; `None`: the endpoint does not report it.
    /// Called now and then, to end a run that makes no more progress.
    fn acknowledged(&self) -> Option<u64> {
        None
    }

    /// Returns the connection of a packet of this transport, for traces: its flow, unless senders choose paths by that.
    fn connection(&self, packet: &Packet) -> u32 {
        packet.flow
    }

    /// Returns the content of a packet of this transport, for traces.
    fn describe(&self, _packet: &Packet) -> Said {
        Said::Own
    }
}

/// What is known of a transport before it runs: for offered loads, ideal FCTs, and flows that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportFacts {
    /// Payload of a full packet, in bytes; at least 1.
    pub segment: u16,
    /// Bytes of a packet's headers; an answer is nothing else.
    pub header: u16,
    /// The number of data packets that cause an answer; `None`: nothing is answered.
    pub packets_per_answer: Option<NonZeroU32>,
    /// Whether its endpoints hear when a packet of theirs leaves the host's port.
    pub hears_departures: bool,
    /// Whether its endpoints know a packet whose payload a switch has cut off ([`flowsieve_core::hop::Trail::trimmed`]). For
    /// others the host takes such a packet as lost.
    pub reads_trims: bool,
    /// Whether data is acknowledged as it arrives, so that a flow may end with its last ACK. If not, a sender learns of the
    /// arrival much later, or not at all.
    pub acknowledges: bool,
    /// Whether it writes the priorities of its packets itself, instead of its tagger.
    pub sets_priorities: bool,
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

/// The base round trip to another host: a full packet there and its answer back, in an empty fabric.
pub type BaseRoundTrips = dyn Fn(u16) -> Time + Send;

/// A built-in transport's settings, from which every host builds its own endpoint.
pub trait TransportRules {
    /// The endpoint. It has the methods of [`Endpoint`] for any [`Out`], so that a host calls them without indirection.
    type Endpoint;

    /// Returns what is known of the transport before it runs.
    fn facts(&self) -> TransportFacts;

    /// Returns the constants that have to fit the fabric.
    fn constants(&self) -> Constants;

    /// Returns whether its endpoints need base round trips.
    fn wants_round_trips(&self) -> bool {
        false
    }

    /// Builds the endpoint of a host, which may pause ([`HostSite::pauses`]). `round_trips` are given if they are wanted.
    fn build(self: &Arc<Self>, pauses: bool, round_trips: Option<Box<BaseRoundTrips>>) -> Self::Endpoint;
}
