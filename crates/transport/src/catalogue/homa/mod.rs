//! Homa (Montazeri, Li, Alizadeh and Ousterhout, SIGCOMM 2018): receivers schedule. A sender sends the first round trip of a
//! message at once; the rest waits for grants of the receiver, which gives them to the messages with the fewest bytes left.
//! Switches serve strictly by the priority in the packet, and the receiver chooses it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`rules`] | what holds for all hosts |
//! | [`endpoint`] | a host's endpoint: packets, timers and events of its messages |
//! | `sender` | outgoing messages: the one with the fewest bytes left sends (§3.2) |
//! | `receiver` | incoming messages: grants (§3.3), overcommitment (§3.5), RESEND (§3.7) |
//! | [`requests`] | requests and their answers, for incast (§3.6) |
//! | [`seen`] | cutoffs from what a receiver has seen (§3.4) |
//! | `ranking` | incoming messages in the order of grants, one of each sender |
//! | [`levels`] | priorities of unscheduled and scheduled packets (§3.4) |
//! | `sizes` | how much of a message is left, by its true or predicted size |
//! | `line` | how many packets the NIC holds (§3.2) |
//! | `arrived` | which packets of a message have arrived |
//! | `gaps` | which packets of a message are to be sent again |
//! | `header` | the content of packets |
//!
//! # From the authors' simulator
//! Where the paper leaves a choice, this follows the authors' simulator (PlatformLab/HomaSimulation, `HomaTransport.cc`,
//! `PriorityResolver.cc` and `WorkloadEstimator.cc`): grants go to one message of each sender, in the order of the bytes not yet granted, and an
//! unscheduled packet's level follows the bytes that its message has left.
//!
//! # Differences
//! - Messages are one-way. In an RPC the response tells the client that its request has arrived, and a client without one sends
//!   a RESEND for it. Here, a sender that has heard nothing for as long asks ([`HomaRules::asks`]). The receiver says
//!   BUSY, with whether it has the whole message, or RESEND if it knows nothing of it.
//! - Messages are cut into full packets, so that the unscheduled part and what a receiver keeps granted are whole packets,
//!   rounded up.
//! - A request and its answer are two messages of one coflow (`requests`). With [`HomaRules::replies`], the answer of any other message is a
//!   packet without payload.
//! - The number of scheduled levels is given. In the paper it follows the traffic, as the cutoffs do.
//! - Left out: the cost of CPUs.

pub(super) mod arrived;
pub mod endpoint;
mod gaps;
mod header;
pub mod levels;
pub(super) mod line;
mod ranking;
mod receiver;
pub mod requests;
pub mod rules;
pub mod seen;
mod sender;
mod sizes;

pub use endpoint::HomaEndpoint;
pub use levels::Levels;
pub use requests::IncastRules;
pub use rules::{ByPair, HomaRules};
pub use sizes::Sizes;
