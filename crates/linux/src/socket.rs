//! What the kernel says of a TCP connection (tcp(7), `TCP_INFO`).
#![allow(unsafe_code)]

use std::io::Result;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use crate::system::check;

/// A part of `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments that its sender has sent again.
    pub retransmitted: u32,
    /// Whether both ends agreed on explicit congestion notification.
    pub ecn: bool,
    /// Whether its segments carry timestamps.
    pub timestamps: bool,
    /// The largest segment that it sends, in bytes of payload.
    pub segment: u32,
    /// Its sender's congestion window, in segments.
    pub window: u32,
}

/// Asks for the state of a connection.
///
/// # Errors
/// Fails if the descriptor is no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> Result<TcpInfo> {
    // SAFETY: `tcp_info` consists of integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes to `info`, and both outlive the call.
    check(unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut size) })?;
    let has = |option: u8| info.tcpi_options & option != 0;
    Ok(TcpInfo {
        retransmitted: info.tcpi_total_retrans,
        ecn: has(8),
        timestamps: has(1),
        segment: info.tcpi_snd_mss,
        window: info.tcpi_snd_cwnd,
    })
}
