//! What a switch does to packets at its ports, beyond queueing: telemetry, pauses, trimming.
//!
//! A switch of a scheme with [`OnHop`]s calls each of them, in the scheme's order, at the instant of what happens at one of its
//! ports:
//!
//! | when | the switch calls |
//! | --- | --- |
//! | a packet comes to a port | [`OnHop::admits`] |
//! | it has joined the port, which may send it at once | [`OnHop::on_queued`] |
//! | the line begins to send it | [`OnHop::on_departure`] |
//! | the port turned it away, or a part did | [`OnHop::on_turned_away`] |
//! | it had joined, and is lost: displaced by another, or its line failed | [`OnHop::on_lost`] |
//!
//! So each packet that joins leaves by exactly one of [`OnHop::on_departure`] and [`OnHop::on_lost`]. Parts that count bytes
//! rely on it. A packet that waits and is cut ([`Fate::TrimNewest`]) is lost at its old length, and comes to the port once more.
//!
//! # Trails
//! In such a run each packet has a [`Trail`], into which switches write. It is empty when a host sends data. What a host
//! sends from within the call that hands it a packet, other than data, goes on with that packet's trail: so an
//! acknowledgement brings the stamps of the data back, and switches may add theirs.
//!
//! Numbers of ports are those of the switch's site. State is by port: the halves of a switch that is simulated in two
//! partitions have an `OnHop` each. Switches exchange pauses alone.

use std::fmt;
use std::sync::Arc;

use arrayvec::ArrayVec;
use rand_core::Rng;

use crate::meta::Meta;
use crate::readings::Reading;
use crate::scheduler::Line;
use crate::site::Site;
use crate::units::{ByteTime, Time};

/// The most stamps of a packet: a way through a fat-tree has five switches.
pub const MOST_STAMPS: usize = 6;

/// Telemetry of a port, as a packet leaves by it.
///
/// What has come to the port's queues, which PowerTCP counts, is what it has sent and what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When the line begins to send the packet.
    pub at: Time,
    /// Bytes put on the line before the packet, with preambles and gaps.
    pub sent_bytes: u64,
    /// The line's rate.
    pub byte_time: ByteTime,
    /// Bytes that wait then at the port, without the packet; no port holds 4 GiB.
    pub backlog: u32,
    /// Those of them that wait in the packet's queue.
    pub in_queue: u32,
}

/// What switches write into a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    /// The port by which it came to the switch that holds it; kept where lines are paused.
    pub ingress: u16,
    /// Switches passed that counted themselves.
    pub hops: u8,
    /// Whether a switch has cut its payload off, and if so whether that was the one before the receiver.
    pub trimmed: Option<bool>,
    /// The way through those switches: equal for equal ways, and hardly ever for others (HPCC's exclusive-or of switches).
    pub way: u16,
    /// Whether a switch has sent it back to the host that it is from.
    pub returned: bool,
    /// What leaves tell each other about paths.
    pub carried: Option<Carried>,
    /// Telemetry.
    pub stamps: ArrayVec<Stamp, MOST_STAMPS>,
}

/// The congestion of a packet's path, and of another one on its way back ([CONGA](crate::balancers::conga)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The rack of the leaf that sent it.
    pub rack: u32,
    /// The port by which it left that leaf.
    pub uplink: u16,
    /// The level of the most congested line so far.
    pub level: u8,
    /// What the far leaf is told of its own uplinks.
    pub report: Option<Report>,
}

/// The congestion that packets had which left a leaf by an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// That leaf's port.
    pub uplink: u16,
    /// The level.
    pub level: u8,
}

impl Trail {
    /// The ingress of a packet that no line brought.
    pub const FROM_HERE: u16 = u16::MAX;
}

impl Default for Trail {
    fn default() -> Trail {
        Trail {
            ingress: Trail::FROM_HERE,
            hops: 0,
            trimmed: None,
            way: 0,
            returned: false,
            carried: None,
            stamps: ArrayVec::new(),
        }
    }
}

/// A pause: from when this reaches the far end of a port's link, these queues there send nothing; 0: all may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The port behind which the sender is.
    pub port: u16,
    /// A bit for each queue of the switch. A sender with fewer holds its last one for those it lacks.
    pub held: u64,
}

/// The most pauses that one call sends.
pub const MOST_SIGNALS: usize = 8;

/// A packet at a port of the switch.
pub struct Hop<'a> {
    /// The instant.
    pub now: Time,
    /// The port.
    pub egress: u16,
    /// The line behind it.
    pub line: Line,
    /// Bytes that wait at the port: in [`OnHop::on_queued`] with the packet, elsewhere without it.
    pub backlog: u64,
    /// Those of them that wait in the packet's queue; `None`: the port does not tell.
    pub in_queue: Option<u32>,
    /// Bytes that the port has put on its line.
    pub sent_bytes: u64,
    /// The packet's trail.
    pub trail: &'a mut Trail,
    /// Pauses to send.
    pub signals: &'a mut ArrayVec<Signal, MOST_SIGNALS>,
    /// The port's random stream.
    pub random: &'a mut dyn Rng,
}

impl Hop<'_> {
    /// Adds the port's telemetry to the trail, unless that is full.
    pub fn stamp(&mut self) {
        let Hop { now: at, backlog, sent_bytes, .. } = *self;
        let (backlog, byte_time) = (backlog as u32, self.line.byte_time);
        let in_queue = self.in_queue.unwrap_or(backlog);
        let _ = self.trail.stamps.try_push(Stamp { at, sent_bytes, byte_time, backlog, in_queue });
    }
}

/// What becomes of a packet that a port turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is lost.
    Gone,
    /// It is cut to `len` bytes and comes to the port once more, with this priority. One that is not longer is lost.
    Trim {
        /// Bytes that are left.
        len: u16,
        /// Priority.
        priority: u8,
    },
    /// The newest longer packet of the queue that it was for is cut instead, and it comes to the port once more, before the other.
    /// Where no such packet waits it is cut itself.
    TrimNewest {
        /// Bytes that are left.
        len: u16,
        /// Priority.
        priority: u8,
    },
    /// It goes back to the host that it is from, as a packet of control with the highest priority. Needs [`HopSpec::returns`]. Where
    /// switches have programs it is lost.
    Return,
}

/// Which calls a part asks for. The others are not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hears {
    /// [`OnHop::admits`].
    pub arrivals: bool,
    /// [`OnHop::on_queued`].
    pub queued: bool,
    /// [`OnHop::on_departure`].
    pub departures: bool,
    /// [`OnHop::on_turned_away`].
    pub turned_away: bool,
    /// [`OnHop::on_lost`].
    pub lost: bool,
}

impl Hears {
    /// No call.
    pub const NOTHING: Hears =
        Hears { arrivals: false, queued: false, departures: false, turned_away: false, lost: false };
    /// Every call.
    pub const ALL: Hears = Hears { arrivals: true, queued: true, departures: true, turned_away: true, lost: true };

    /// Returns the calls that any of two parts asks for.
    #[must_use]
    pub fn or(self, other: Hears) -> Hears {
        Hears {
            arrivals: self.arrivals || other.arrivals,
            queued: self.queued || other.queued,
            departures: self.departures || other.departures,
            turned_away: self.turned_away || other.turned_away,
            lost: self.lost || other.lost,
        }
    }
}

/// What a switch does at its ports. See the module for when each method is called.
pub trait OnHop: Send {
    /// Says which calls it asks for; asked once.
    fn hears(&self) -> Hears {
        Hears::ALL
    }

    /// A packet comes to a port. Returns whether it may go on to the port's own limits.
    fn admits(&mut self, _packet: &Meta, _hop: &mut Hop<'_>) -> bool {
        true
    }

    /// A packet has joined a port. It is the port's now, so nothing of it but its trail can be changed.
    fn on_queued(&mut self, _packet: &Meta, _hop: &mut Hop<'_>) {}

    /// The line begins to send a packet.
    fn on_departure(&mut self, _packet: &mut Meta, _hop: &mut Hop<'_>) {}

    /// A packet was turned away. Of several parts, the first that wants it to live decides.
    fn on_turned_away(&mut self, _packet: &Meta, _hop: &mut Hop<'_>) -> Fate {
        Fate::Gone
    }

    /// A packet that had joined is lost.
    fn on_lost(&mut self, _packet: &Meta, _hop: &mut Hop<'_>) {}

    /// Reports its counts; results add those of all switches by name.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// Builds what a switch does.
pub type MakeHop = dyn Fn(&Site) -> Box<dyn OnHop> + Send + Sync;

/// What every switch of a scheme does at its ports.
#[derive(Clone)]
pub struct HopSpec {
    /// Bytes of a pause on the line, with preamble and gap, if it sends any. Then every line to a switch can be paused, and
    /// each departure there is an event.
    pub pauses: Option<u32>,
    /// Whether it sends packets back ([`Fate::Return`]). Then, as with pauses, a fabric is simulated in one piece.
    pub returns: bool,
    /// How to build it.
    pub make: Arc<MakeHop>,
    /// What it is, as text.
    pub rules: String,
}

impl HopSpec {
    /// Wraps a part that sends no pauses.
    pub fn new<H: OnHop + 'static>(
        rules: impl fmt::Debug,
        make: impl Fn(&Site) -> H + Send + Sync + 'static,
    ) -> HopSpec {
        let make = Arc::new(move |site: &Site| -> Box<dyn OnHop> { Box::new(make(site)) });
        HopSpec { pauses: None, returns: false, make, rules: format!("{rules:?}") }
    }

    /// Wraps one that sends pauses of this many bytes.
    pub fn pausing<H: OnHop + 'static>(
        pause_bytes: u32,
        rules: impl fmt::Debug,
        make: impl Fn(&Site) -> H + Send + Sync + 'static,
    ) -> HopSpec {
        HopSpec { pauses: Some(pause_bytes), ..HopSpec::new(rules, make) }
    }
}

impl fmt::Debug for HopSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.rules)
    }
}
