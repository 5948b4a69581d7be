//! The same ports, switches and balancers as in the simulator, for packets that are not the simulator's own.
//!
//! [`InMemory`] is a fabric without clock and I/O: its owner says what the time is and when a packet is at a host's
//! port, and is told when it arrives at its destination. A test holds it equal to the simulator, departure by departure. [`wire`]
//! reads frames of Ethernet, and marks them.

mod fabric;
pub mod wire;

pub use fabric::{Arrived, Cause, Counts, Event, InMemory, LabError, Observer, PortCounts};
