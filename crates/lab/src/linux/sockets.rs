//! The sockets of the lab's own connections.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, connect, getsockname, listen, socket_with, sockopt,
};

use super::network::ip_of;

/// The port of every receiver.
pub(super) const PORT: u16 = 5_000;

/// Opens a socket that is reset when it is closed, by whatever end of the process: the kernel would keep its connection for
/// minutes, with the congestion control. A connection inherits this from its listener.
fn socket(congestion: &str) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    sockopt::set_tcp_congestion(&socket, congestion)?;
    // The last part of a message does not wait for an ACK.
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

/// A listener in the thread's namespace. It has the congestion control, too: without one for marks it refuses them.
pub(super) fn listener(host: u16, congestion: &str) -> io::Result<OwnedFd> {
    let socket = socket(congestion)?;
    bind(&socket, &SocketAddrV4::new(ip_of(host), PORT))?;
    listen(&socket, 1_024)?;
    Ok(socket)
}

/// A connection from the thread's namespace: both ends, and the sender's port.
pub(super) fn connected(
    from: u16,
    to: u16,
    congestion: &str,
    listener: &OwnedFd,
) -> io::Result<(OwnedFd, OwnedFd, u16)> {
    let sender = socket(congestion)?;
    bind(&sender, &SocketAddrV4::new(ip_of(from), 0))?;
    connect(&sender, &SocketAddrV4::new(ip_of(to), PORT))?;
    let own = SocketAddr::try_from(getsockname(&sender)?)?;
    let receiver = accept_with(listener.as_fd(), SocketFlags::CLOEXEC)?;
    crate::calls::stamp_received(&receiver)?;
    Ok((sender, receiver, own.port()))
}
