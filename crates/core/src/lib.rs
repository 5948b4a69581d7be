//! Everything that a scheduler decides, and nothing else.
//!
//! This crate has the parts of hosts, ports and switches that make a scheme: taggers, port schedulers (classifier,
//! admission, discipline and marker as one value), balancers, switches' programs and controllers. They run unchanged in a
//! simulator and on real packets. So they have no clock (time is an argument), no randomness of their own (a generator is
//! an argument) and no I/O. They see packets as [`Meta`] and never own one.
//!
//! Banks of FIFO queues allocate nothing on the packet path after set-up. Ports that sort packets or keep state by flow
//! allocate when they hold more packets or flows than ever before. So do taggers and controllers with state by message or
//! flow.
//!
//! [`thresholds`] computes demotion thresholds from a distribution of sizes, by models.
//!
//! Times are [`Time`] in integer picoseconds, sizes are bytes, priority 0 is the highest.

pub mod admission;
pub mod balancer;
pub mod balancers;
pub mod buckets;
pub mod catalogue;
pub mod coflow;
pub mod controller;
pub mod controllers;
pub mod discipline;
pub mod fifo;
pub mod hash;
pub mod hop;
pub mod hops;
mod intake;
pub mod marker;
pub mod message;
pub mod meta;
pub mod misuse;
pub mod observed;
pub mod packet_flow;
pub mod ports;
pub mod program;
pub mod readings;
pub mod scheduler;
pub mod site;
pub mod solver;
pub mod steps;
pub mod survival;
pub mod tag;
pub mod tagger;
pub mod taggers;
pub mod thresholds;
pub mod units;

pub use balancers::{Balancer, BalancerSpec};
pub use controller::Controller;
pub use controllers::{ControllerKind, ControllerSpec};
pub use message::{FlowEvent, Message};
pub use meta::{Kind, Meta, NONE};
pub use misuse::Misuse;
pub use ports::*;
pub use program::{ProgramPacket, SwitchPorts, SwitchProgram};
pub use scheduler::{PortContext, PortScheduler, Verdict, Victims};
pub use site::{Node, Place, Site};
pub use tag::Tag;
pub use tagger::TagPackets;
pub use taggers::{Tagger, TaggerSpec};
pub use units::{ByteTime, Rate, Time};
