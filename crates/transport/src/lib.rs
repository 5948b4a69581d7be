//! Transports: senders and receivers as state machines without I/O, clock or randomness.
//!
//! | module | models |
//! | --- | --- |
//! | [`tcp`] | the sender: TCP NewReno with SACK, DCTCP, pFabric's transport |
//! | [`receiver`] | the receiver: ACKs, delayed ACKs, the echo of marks |
//! | [`open_loop`] | sending without any answer |
//! | [`params`] | what they can be set to: today's standards, or the ns-2 lineage of the papers |
//! | [`messages`] | which segments of a connection are whose |
//! | [`header`] | what the two ends say to one another |
//!
//! Sequence numbers count segments; windows are in segments; times are [`flowsieve_core::Time`]. A connection carries
//! messages one after the other; which connection a message takes is its host's business. A path's maximum segment is
//! known, hosts have memory and processor enough, and connections are never closed: their owner drops them.

mod board;
mod congestion;
mod directory;
pub mod endpoint;
pub mod header;
pub mod messages;
pub mod open_endpoint;
pub mod open_loop;
pub mod packet;
pub mod params;
mod rack;
pub mod receiver;
mod ring;
mod rto;
pub mod tcp;
pub mod tcp_endpoint;

pub use endpoint::{Effects, Endpoint, EndpointSpec, HostEndpoint, HostEvent, Out, Timer};
pub use header::{HEADER_BYTES, Header};
pub use messages::{Message, Messages, Span};
pub use open_loop::OpenLoopReceiver;
pub use packet::{Body, Packet, Said};
pub use params::TcpParams;
pub use receiver::Receiver;
pub use tcp::TcpSender;
pub use tcp_endpoint::{Connections, Handshake};
