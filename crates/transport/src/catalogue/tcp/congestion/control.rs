//! The contract of a congestion control: what a sender reports to it, and what the sender asks for.
//!
//! One congestion control belongs to one connection. It has no clock and sends nothing.
//!
//! | the sender calls | when |
//! | --- | --- |
//! | [`CongestionControl::on_trail`] | just before `on_ack`, where switches write into packets |
//! | [`CongestionControl::on_ack`] | an ACK arrives on an open connection, marked or not |
//! | [`CongestionControl::on_loss`] | a loss comes to light before the timer, at most once a window of data |
//! | [`CongestionControl::on_timeout`] | the retransmission timer fires |
//! | [`CongestionControl::remember`] | before the first loss or timeout of a window of data, if cuts can be undone |
//! | [`CongestionControl::undo`] | an ACK proves that the cuts since then were spurious |
//! | [`CongestionControl::on_lost_handshake`] | the connection opens, and its first SYN was not answered in time |
//! | [`CongestionControl::on_restart`] | a message begins after an idle time longer than the timeout |
//! | [`CongestionControl::on_sent`] | a segment leaves |
//! | [`CongestionControl::on_time`] | the sender is about to decide whether a segment may leave |
//! | [`CongestionControl::window`], [`CongestionControl::pacing_rate`] | it decides |
//!
//! Windows count segments, times are picoseconds, rates are bits per second, all integers. The built-in controls keep
//! fractions of a segment internally, as RFC 5681 needs them.

use std::num::NonZeroU64;

use flowsieve_core::Time;
use flowsieve_core::hop::Trail;

use crate::endpoint::Observed;
use crate::tcp::messages::Messages;
use crate::tcp::params::TcpParams;

/// The name of the congestion window of a connection with a message under way.
pub const WINDOW: &str = "congestion window (packets)";
/// The name of DCTCP's estimate, if there is one.
pub const ALPHA: &str = "dctcp alpha";

/// The content of one ACK.
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
    /// Only the window has held the sender back since the previous ACK.
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
    /// The time since the packet that caused it was sent, in whole nanoseconds.
    pub round_trip: Time,
    /// The unfinished messages of the connection.
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

/// The congestion control of one connection. See the module for when the sender calls each method.
pub trait CongestionControl: Send {
    /// Hears what switches wrote into the packet that the ACK is for, before [`CongestionControl::on_ack`]. Called only where
    /// switches write.
    fn on_trail(&mut self, _trail: &Trail) {}

    /// Handles an ACK.
    fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams);

    /// Handles a loss that came to light before the timer; fast recovery begins.
    fn on_loss(&mut self, loss: &Lost, params: &TcpParams);

    /// Handles the retransmission timer: everything in flight is taken for lost. `again`: it has fired before since the
    /// cumulative edge moved.
    fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams);

    /// Keeps what [`CongestionControl::undo`] restores.
    fn remember(&mut self) {}

    /// Restores what was kept, at least: losses and timeouts since then were none (RFC 5682, RFC 3708).
    fn undo(&mut self, _params: &TcpParams) {}

    /// Handles the opening of a connection whose first SYN was not answered in time.
    fn on_lost_handshake(&mut self, _params: &TcpParams) {}

    /// Handles the beginning of a message after an idle time longer than the timeout.
    fn on_restart(&mut self, _params: &TcpParams) {}

    /// Handles a segment that leaves.
    fn on_sent(&mut self, _sent: &Sent, _params: &TcpParams) {}

    /// Catches up with the clock. Returns when the pace next changes by itself; a segment that waits for its pace is looked at
    /// again then.
    fn on_time(&mut self, _now: Time) -> Time {
        Time::NEVER
    }

    /// Returns how many segments may be in the network. The sender uses at least 1 and at most [`TcpParams::max_window`].
    fn window(&self) -> u32;

    /// Returns the rate in bit/s at which payload may leave. After a segment, the next one leaves no earlier than the
    /// segment's bytes take at this rate; if the rate changes meanwhile, that holds with the new one. `None`: only the window
    /// decides.
    fn pacing_rate(&self) -> Option<NonZeroU64> {
        None
    }

    /// Returns whether a mark or a loss has cut the window, and it has not returned to its limit. Time that the sender
    /// waits for an uncut window counts as [`window`](flowsieve_core::message::Waits::window).
    fn is_cut(&self, _params: &TcpParams) -> bool {
        false
    }

    /// Reports names with their values, for samples over time.
    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[(WINDOW, self.window().into())]);
    }
}

/// A built-in control's settings, from which every connection builds its own control.
pub(crate) trait CongestionRules {
    /// The control.
    type Control: CongestionControl;

    /// Builds the control of a new connection.
    fn build(&self, params: &TcpParams) -> Self::Control;
}
