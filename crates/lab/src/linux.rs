//! The lab on this machine: hosts are network namespaces, their senders the kernel's TCP.

mod congestion;
mod devices;
pub mod doctor;
mod generator;
mod network;
mod session;

pub use congestion::Congestion;
pub use generator::{Finished, Order, Source};
pub use network::{HostSettings, Leftover, clean, leftovers, remove_own};
pub use session::{LinkTally, Outcome, Plan, WithSource, run};

use std::fs::File;
use std::path::Path;

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Doing, LabError};

/// Where `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";

/// Has the calling thread enter a network namespace.
fn enter(namespace: &str) -> Result<(), LabError> {
    let what = || format!("enter the network namespace {namespace}");
    let file = File::open(Path::new(NAMESPACES).join(namespace)).doing(what)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).doing(what)
}
