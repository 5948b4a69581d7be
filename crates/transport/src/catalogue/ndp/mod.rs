//! NDP (Handley, Raiciu, Agache, Voinescu, Moore, Antichi and Wójcik, SIGCOMM 2017): switches cut packets instead of losing them, and
//! receivers pull.
//!
//! A sender sends the first packets of a message at the rate of its line (§3). What switches cut arrives as a header, so the receiver
//! knows every packet that was sent: it answers each at once by an ACK or a NACK, and queues a PULL. PULLs leave at the pace at which its
//! line takes full packets. A PULL lets one packet come, first one that has to be sent again. So the receiver's line is full, and
//! nothing waits long.
//!
//! | module | holds |
//! | --- | --- |
//! | `endpoint` | a host's endpoint: packets, timers and events of its messages |
//! | `sender` | outgoing messages: the window, what is sent again, timeouts (§3.2) |
//! | `receiver` | incoming messages: answers |
//! | `pulls` | the queue of PULLs of a host, fair to its senders (§3.2) |
//! | `header` | the content of packets |
//!
//! What switches do is [`flowsieve_core::hops::trim`].
//!
//! # Choices
//! - A PULL has the number of those of its message so far, so that one makes good for those before it that were lost.
//! - A packet of which nothing was heard for [`NdpRules::rto`] is sent again without a PULL (§3.2), each time after twice as
//!   long, up to eight times.
//! - A header that came back is sent again at once if no PULL is expected, or if the last answer was an ACK (§3.2.4); else
//!   after a PULL.
//! - A sender that waits for a PULL and has nothing under way asks by a header after as long a silence, and after two of its turns
//!   among senders: the last PULL may be lost. The paper's simulations have no such loss. Where no PULL waits, the receiver answers as
//!   to a cut packet.
//! - PULLs that wait are forgotten when their message is complete, as in the authors' simulator.
//!
//! # Left out
//! Senders' choice of paths and its penalty (§3.2.3): switches spray. Priority among senders (§3.2). The cost of CPUs.

pub mod endpoint;
mod header;
mod pulls;
mod receiver;
mod sender;

use flowsieve_core::Time;

pub use endpoint::NdpEndpoint;

/// The rules of a class of flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdpRules {
    /// Payload of a full packet, in bytes.
    pub segment: u16,
    /// Bytes of a packet's headers; a packet without payload is this long.
    pub header: u16,
    /// Bytes that a packet takes on the wire in addition to its length.
    pub overhead: u16,
    /// Packets of a message that are sent without a PULL (the initial window); at least 1.
    pub window: u32,
    /// PULLs as a share of those that would fill the host's line with full packets; above 0.
    pub pull_rate: f64,
    /// How long a sender waits for the answer to a packet.
    pub rto: Time,
    /// The most full packets that the NIC holds, the one on the line included; at least 1.
    pub nic_packets: u32,
}
