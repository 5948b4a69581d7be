//! What the kernel says of a TCP connection (tcp(7), `TCP_INFO`), and when its bytes arrived (socket(7), `SO_TIMESTAMPNS`).
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use crate::calls::packet_socket::{beside, set_option};
use crate::calls::system::check;

/// Words of what the kernel says of the bytes that were received: a timestamp and its header.
const CONTROL_WORDS: usize = 8;

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

/// Has the kernel stamp what a socket receives.
///
/// # Errors
/// Fails if the descriptor is no socket.
pub fn stamp_received(socket: impl AsFd) -> Result<()> {
    set_option(&socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Takes bytes that wait at a TCP socket, at most as many as `room` has, and drops them; `room` stays as it is (tcp(7),
/// `MSG_TRUNC`). Returns how many there were, 0 at the end of the stream, and when the last arrived, in ns of `CLOCK_REALTIME`; 0:
/// the kernel does not say.
///
/// # Errors
/// Fails with `WouldBlock` if none waits, and if the connection has failed.
pub fn discard(socket: impl AsFd, room: &mut [u8]) -> Result<(usize, u64)> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: `msghdr` consists of integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<[u64; CONTROL_WORDS]>() as _;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the header leads to `part`, which leads to `room` and has its length, and to `control`. All outlive the call.
    let count = unsafe { libc::recvmsg(fd, &raw mut header, libc::MSG_DONTWAIT | libc::MSG_TRUNC) };
    let count = usize::try_from(count).map_err(|_| Error::last_os_error())?;
    Ok((count, beside(&header).stamp_ns))
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

/// Asks how many segments a connection has received before earlier ones; `None`: the kernel does not say (before Linux 5.4).
pub fn out_of_order(socket: impl AsFd) -> Option<u32> {
    /// The place of `tcpi_rcv_ooopack` in `struct tcp_info`, in words of four bytes. Its type in `libc` ends before that.
    const PLACE: usize = 56;
    let mut words = [0u32; PLACE + 1];
    let mut size = size_of_val(&words) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes to `words`, and both outlive the call.
    let answer =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, words.as_mut_ptr().cast(), &raw mut size) };
    (answer == 0 && size as usize == size_of_val(&words)).then_some(words[PLACE])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn out_of_order__none_on_a_new_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(out_of_order(listener.accept().unwrap().0), Some(0));
    }
}
