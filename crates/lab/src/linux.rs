//! The lab on this machine: hosts are network namespaces, their senders the kernel's TCP.

mod congestion;
mod counters;
mod descriptors;
mod devices;
pub mod doctor;
mod generator;
pub mod named;
mod network;
mod programs;
pub mod requests;
mod session;
mod sockets;
mod stay;
mod tallies;

pub use crate::calls::new_session;
pub use congestion::{Congestion, DctcpWindow};
pub use descriptors::{most_descriptors, room_for_connections};
pub use generator::{Finished, Order, Sent, Source};
pub use network::{HostSettings, clean, remove_own};
pub use session::{Outcome, Plan, WithSource, run};
pub use tallies::LinkTally;

use std::fs::File;
use std::path::Path;

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Doing, LabError};

/// Where `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";

/// Has the calling thread enter a network namespace.
///
/// # Errors
/// Fails if it is not there, or if the thread may not.
pub fn enter(namespace: &str) -> Result<(), LabError> {
    let what = || format!("enter the network namespace {namespace}");
    let file = File::open(Path::new(NAMESPACES).join(namespace)).doing(what)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).doing(what)
}
