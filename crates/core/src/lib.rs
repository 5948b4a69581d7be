//! What a scheduler decides, and nothing else.
//!
//! Here are the parts of hosts, ports and switches that make a scheme: taggers, port schedulers (classifier, admission,
//! discipline and marker as one value), balancers, switches' programs and controllers. They run unchanged in a simulator and
//! on real packets. So they have no clock (time is an argument), no randomness of their own (a generator is an argument) and
//! no I/O. They see packets as [`Meta`] and never own one.
//!
//! Banks of FIFO queues allocate nothing on the packet path after set-up. Ports that sort packets or keep state by flow do
//! so when they hold more packets or flows than ever before, and so do taggers and controllers with state by message or
//! flow.
//!
//! Times are [`Time`] in integer picoseconds, sizes are bytes, priority 0 is the highest.

pub mod admission;
pub mod balancer;
pub mod climb;
pub mod coflow;
pub mod controller;
pub mod deadline_first;
pub mod discipline;
pub mod fifo;
pub mod forest;
mod hash;
pub mod hula;
mod intake;
pub mod levels;
pub mod marker;
pub mod message;
pub mod message_gap;
pub mod meta;
pub mod observed;
pub mod ports;
pub mod predicted;
pub mod program;
pub mod readings;
pub mod scheduler;
pub mod site;
pub mod solver;
pub mod steps;
pub mod tag;
pub mod tagger;
pub mod units;

pub use controller::Controller;
pub use message::{FlowEvent, Message};
pub use meta::{Kind, Meta, NONE};
pub use ports::*;
pub use program::{ProgramPacket, SwitchPorts, SwitchProgram};
pub use scheduler::{PortContext, PortScheduler, Verdict, Victims};
pub use site::{Node, Place, Site};
pub use tag::Tag;
pub use units::{ByteTime, Rate, Time};
