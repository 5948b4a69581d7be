//! What the lab needs of Linux and no safe library has: a socket for whole frames, with many of them in one call; offloads of
//! devices; priorities of threads; what the kernel says of a TCP connection; sessions and ends of processes. And an option of the
//! allocator, on any system.
//!
//! All unsafe code of the project is here. Each function has a safe interface, and an error of the kernel is an
//! [`std::io::Error`]. On other systems only [`Frames`] and [`free_memory_soon`] are there.

mod frames;
mod memory;

pub use frames::{FRAME, Frames, Outgoing, Received};
pub use memory::free_memory_soon;

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod packet_socket;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod thread;

#[cfg(target_os = "linux")]
pub use system::*;

#[cfg(target_os = "linux")]
mod system {
    pub use crate::calls::device::{hardware_type, offloads_off};
    pub use crate::calls::packet_socket::{BATCH, PacketSocket};
    pub use crate::calls::process::{End, end_process, new_session};
    pub use crate::calls::socket::{TcpInfo, discard, out_of_order, stamp_received, tcp_info};
    pub use crate::calls::thread::{idle, may_be_real_time, real_time};

    use std::io::{Error, Result};

    /// Turns the answer of a system call into a result.
    pub(crate) fn check(answer: libc::c_int) -> Result<libc::c_int> {
        if answer < 0 { Err(Error::last_os_error()) } else { Ok(answer) }
    }
}
