//! The host agent: what a Linux host sends, seen at its devices' egress.
//!
//! [`record`] counts the sizes of messages and changes no packet. [`tag`] writes DSCPs by the bytes that a message has
//! sent, as a recommendation of `flowsieve tune` says. Both run in the kernel, as BPF programs (`bpf/agent.bpf.c`). Their
//! object is committed and needs neither compiler nor libraries. When a message ends is decided as
//! [`flowsieve_core::packet_flow`] does.
//!
//! What stays in the kernel is pinned below [`FOLDER`]: a folder for each device and program. A program is attached by a
//! link of tcx (Linux 6.6), so it goes with its pin or with its device.
//!
//! On other systems only what reads files and computes is there: [`Recommendation`], [`Bins`], [`Judgement`].

mod bins;
mod error;
mod judge;
pub mod maps;
mod recommendation;

pub use bins::{Bin, Bins};
pub use error::AgentError;
pub use judge::Judgement;
pub use recommendation::Recommendation;

#[cfg(target_os = "linux")]
mod attached;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod record;

#[cfg(target_os = "linux")]
pub use attached::{Attached, Kind, Pinned, Tagging, detach, pinned, push, status, tag};
#[cfg(target_os = "linux")]
pub use device::{Device, FOLDER, Other};
#[cfg(target_os = "linux")]
pub use record::{Class, Recording, Side, record};

/// The programs as clang made them of `bpf/agent.bpf.c`.
#[cfg(target_os = "linux")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/agent.bpf.o");
