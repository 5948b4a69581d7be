//! Transports: what hosts send when, to which host, and what receivers answer, as state machines without I/O, clock or
//! randomness.
//!
//! | module | holds |
//! | --- | --- |
//! | [`endpoint`] | the contract between a host and its endpoints |
//! | [`constants`] | the constants of a transport that have to fit its fabric |
//! | [`packet`] | a packet as its two ends see it |
//! | [`catalogue`] | the built-in transports: the one list of them |
//! | [`tcp`] | TCP NewReno with SACK, DCTCP, D2TCP, pFabric's transport |
//! | [`open_loop`] | sending without any answer |
//! | [`homa`] | Homa: receivers grant |
//!
//! A new transport is a folder in the catalogue's folder, and a line in the list.

pub mod catalogue;
pub mod constants;
pub mod endpoint;
pub mod packet;

pub use catalogue::*;
pub use constants::{Amount, Awaits, Constants, Named, Wait};
pub use endpoint::{Effects, Endpoint, HostSite, Out, Timer, TransportFacts, TransportRules, Turn};
pub use packet::{Packet, Said};
