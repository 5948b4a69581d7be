//! Transports: senders and receivers as state machines without I/O, clock or randomness.
//!
//! Sequence numbers count segments ([`header`]); windows are in segments; times are
//! [`flowsieve_core::Time`]. A connection carries messages one after the other ([`messages`]); which connection a
//! message takes is its host's business.

mod congestion;
pub mod header;
pub mod messages;
pub mod params;
mod rack;
pub mod receiver;
mod ring;
mod rto;
pub mod tcp;

pub use header::{HEADER_BYTES, Header};
pub use messages::{Message, Messages, Span};
pub use params::TcpParams;
pub use receiver::Receiver;
pub use tcp::TcpSender;
