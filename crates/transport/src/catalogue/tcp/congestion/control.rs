//! The contract of a congestion control: what a sender tells it, and what the sender asks of it.
//!
//! One congestion control belongs to one connection. It has no clock and sends nothing.
//!
//! | the sender calls | when |
//! | --- | --- |
//! | [`CongestionControl::on_ack`] | an ACK arrives on an open connection, marked or not |
//! | [`CongestionControl::on_loss`] | a loss comes to light before the timer, at most once a window of data |
//! | [`CongestionControl::on_timeout`] | the retransmission timer fires |
//! | [`CongestionControl::on_lost_handshake`] | the connection opens, and its first SYN was not answered in time |
//! | [`CongestionControl::on_restart`] | a message begins after an idle time longer than the timeout |
//! | [`CongestionControl::on_sent`] | a segment leaves |
//! | [`CongestionControl::window`], [`CongestionControl::pacing_rate`] | the sender decides whether a segment may leave |
//!
//! Windows count segments, times are picoseconds, rates are bits per second: all of them integers. The built-in controls keep
//! fractions of a segment inside, as RFC 5681 needs them.

use std::num::NonZeroU64;

use flowsieve_core::Time;

use crate::endpoint::Observed;
use crate::tcp::messages::Messages;
use crate::tcp::params::TcpParams;

/// The name under which a connection with a message under way shows its congestion window.
pub const WINDOW: &str = "congestion window (packets)";
/// The name under which it shows DCTCP's estimate, if it has one.
pub const ALPHA: &str = "dctcp alpha";

/// What one ACK brought.
#[derive(Clone, Copy, Debug)]
pub struct Acked<'a> {
    /// When it arrived.
    pub now: Time,
    /// Segments newly known to have arrived.
    pub delivered: u32,
    /// Whether the cumulative edge moved.
    pub advanced: bool,
    /// Whether it echoes a mark.
    pub marked: bool,
    /// The window, and nothing else, held the sender back since the ACK before.
    pub limited: bool,
    /// The sender repairs losses in fast recovery.
    pub recovering: bool,
    /// The oldest segment that is not cumulatively acknowledged.
    pub una: u32,
    /// The next new segment.
    pub nxt: u32,
    /// Segments believed to be in the network.
    pub in_flight: u32,
    /// Segments from `una` on that are selectively acknowledged.
    pub sacked: u32,
    /// How long ago the packet that caused it was sent, in whole nanoseconds.
    pub round_trip: Time,
    /// The messages of the connection that are not finished.
    pub messages: &'a Messages,
}

/// A loss, or a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it came to light.
    pub now: Time,
    /// The oldest segment that is not cumulatively acknowledged.
    pub una: u32,
    /// The next new segment. The repair ends when everything below it is acknowledged.
    pub nxt: u32,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Its payload.
    pub bytes: u16,
    /// Segments believed to be in the network, with this one.
    pub in_flight: u32,
}

/// The congestion control of one connection. The module says when the sender calls what.
pub trait CongestionControl: Send {
    /// An ACK arrived.
    fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams);

    /// A loss came to light before the timer, and fast recovery begins.
    fn on_loss(&mut self, loss: &Lost, params: &TcpParams);

    /// The retransmission timer fired: everything in flight is taken for lost. `again`: not for the first time since the
    /// cumulative edge moved.
    fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams);

    /// The connection opens, and its first SYN was not answered in time.
    fn on_lost_handshake(&mut self, _params: &TcpParams) {}

    /// A message begins after an idle time longer than the timeout.
    fn on_restart(&mut self, _params: &TcpParams) {}

    /// A segment leaves.
    fn on_sent(&mut self, _sent: &Sent, _params: &TcpParams) {}

    /// Segments that may be in the network. The sender takes at least 1 and at most [`TcpParams::max_window`].
    fn window(&self) -> u32;

    /// The rate in bit/s at which payload may leave. After a segment the next one leaves no earlier than its bytes take at
    /// this rate. `None`: the window alone decides.
    fn pacing_rate(&self) -> Option<NonZeroU64> {
        None
    }

    /// Whether a mark or a loss has cut the window, and it has not come back to its limit. What the sender waits for a window
    /// that is not cut counts as [`window`](flowsieve_core::message::Waits::window).
    fn is_cut(&self, _params: &TcpParams) -> bool {
        false
    }

    /// Shows names with their values, for samples over time.
    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[(WINDOW, self.window().into())]);
    }
}
