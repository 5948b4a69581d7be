//! TCP and its kin: NewReno with SACK, DCTCP, D2TCP, pFabric's transport.
//!
//! | module | models |
//! | --- | --- |
//! | [`endpoint`] | a host's connections of one class of flow: which one a message takes, handshakes, turns, timers |
//! | [`sender`] | the sender of a connection |
//! | [`congestion`] | its congestion control: NewReno, DCTCP, D2TCP, and the contract for others |
//! | [`receiver`] | its receiver: ACKs, delayed ACKs, the echo of marks |
//! | [`rules`] | the rules that hold at every host |
//! | [`params`] | the parameters of a connection: today's standards, Linux's, or the ns-2 lineage of the papers |
//! | [`messages`] | which segments of a connection belong to which message |
//! | [`steps`] | how long messages were in the steps of QCLIMB, if measured |
//! | [`header`] | the content of packets between the two ends |
//!
//! Sequence numbers count segments; windows are in segments. A path's maximum segment is known, and hosts have enough
//! memory and processor time. The end of a connection is not signalled: its sender drops it.

mod alarms;
mod asked;
mod board;
pub mod congestion;
mod deviation;
pub mod endpoint;
pub mod header;
mod line;
pub mod messages;
mod notifications;
pub mod params;
mod priority_gaps;
mod probe;
mod rack;
pub mod receiver;
mod receivers;
mod reduction;
mod ring;
mod rto;
pub mod rules;
pub mod sender;
mod senders;
mod spurious;
pub mod steps;
mod waiting;

pub use congestion::CongestionSpec;
pub use endpoint::TcpEndpoint;
pub use header::{HEADER_BYTES, Header};
pub use line::NicOrder;
pub use messages::{Messages, Span};
pub use notifications::Coalescing;
pub use params::TcpParams;
pub use receiver::Receiver;
pub use rules::{Connections, Handshake, TcpRules};
pub use sender::TcpSender;
