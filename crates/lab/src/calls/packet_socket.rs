//! A socket for whole frames on all devices of a network namespace (packet(7)).
#![allow(unsafe_code)]

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, mmsghdr, sockaddr_ll, timespec};

use crate::calls::device::device_number;
use crate::calls::frames::{FRAME, Frames, Outgoing, Received};
use crate::calls::system::check;

/// The most frames of one call.
pub const BATCH: usize = 64;
/// Bytes that wait in the kernel for one socket, in each direction, if it allows that.
const SOCKET_BUFFER: c_int = 16 << 20;
/// Words of a message beside its frame: a timestamp, and what the kernel says of the frame, each with its header.
const CONTROL_WORDS: usize = 16;
/// Bytes of two addresses of Ethernet, behind which VLAN tags are.
const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag.
const VLAN: usize = 4;

/// One socket for all devices: with one for each, frames of different devices are up to 0.7 ms out of order.
pub struct PacketSocket {
    socket: OwnedFd,
    /// The kernel's number of each device.
    devices: Box<[c_int]>,
    /// By the kernel's number: the device's place in the list.
    places: Box<[Option<u16>]>,
    headers: Box<[mmsghdr]>,
    parts: Box<[libc::iovec]>,
    control: Box<[[u64; CONTROL_WORDS]]>,
    addresses: Box<[sockaddr_ll]>,
}

impl PacketSocket {
    /// Opens a socket that hears all devices of the calling thread's network namespace, and sends to these. Frames pass no
    /// queueing discipline of the kernel, and the socket does not hear what it sends itself.
    ///
    /// # Errors
    /// Fails without the capability `CAP_NET_RAW` in the namespace, or if a device is not there.
    pub fn open<D: AsRef<str>>(devices: &[D]) -> Result<PacketSocket> {
        // Protocol 0: nothing arrives before the socket is bound.
        // SAFETY: no pointer is passed.
        let fd = check(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let numbers = devices.iter().map(|name| device_number(name.as_ref()).map(|index| index as c_int));
        let devices = numbers.collect::<Result<Box<[c_int]>>>()?;
        let mut places = vec![None; devices.iter().max().map_or(0, |&most| most as usize + 1)].into_boxed_slice();
        for (&device, place) in devices.iter().zip(0..) {
            places[device as usize] = Some(place);
        }
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // Beyond the machine's limit only with CAP_NET_ADMIN of the whole machine; up to it for everybody.
        for (beyond, within) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            match set_option(&socket, libc::SOL_SOCKET, beyond, SOCKET_BUFFER) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    set_option(&socket, libc::SOL_SOCKET, within, SOCKET_BUFFER)?;
                }
                done => done?,
            }
        }
        // SAFETY: `sockaddr_ll` consists of integers, for which zero is a value.
        let mut address: sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        let size = size_of::<sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel reads `size` bytes of the address, which outlives the call.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) })?;
        // SAFETY: `mmsghdr` consists of integers and pointers, for which zero is a value.
        let header = || unsafe { zeroed() };
        let part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(PacketSocket {
            socket,
            devices,
            places,
            headers: (0..BATCH).map(|_| header()).collect(),
            parts: vec![part; BATCH].into(),
            control: vec![[0; CONTROL_WORDS]; BATCH].into(),
            addresses: vec![address; BATCH].into(),
        })
    }

    /// Takes frames that wait, one into each place of `room` and at most [`BATCH`], and adds them to `received`.
    ///
    /// # Errors
    /// Fails if a device is gone or down. The next call works if others are there.
    pub fn receive(&mut self, frames: &mut Frames, room: &[u32], received: &mut Vec<Received>) -> Result<()> {
        let room = &room[..room.len().min(BATCH)];
        for (place, &frame) in room.iter().enumerate() {
            self.prepare(place, frames.get_mut(frame).as_mut_ptr().cast(), FRAME);
            let header = &mut self.headers[place].msg_hdr;
            header.msg_control = self.control[place].as_mut_ptr().cast();
            header.msg_controllen = size_of::<[u64; CONTROL_WORDS]>() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every header leads to its own part, control words and address, all in boxes of this socket, and to a frame of
        // `frames`, whose size the part has. All outlive the call, and nothing else uses them during it.
        let count = check(unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::recvmmsg(self.socket.as_raw_fd(), headers, room.len() as _, flags as _, std::ptr::null_mut())
        });
        let count = match count {
            Ok(count) => count as usize,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            Err(error) => return Err(error),
        };
        for (place, &frame) in room.iter().take(count).enumerate() {
            let device = self.places.get(self.addresses[place].sll_ifindex as usize).copied().flatten();
            let header = &self.headers[place];
            let Beside { stamp_ns, tag } = beside(&header.msg_hdr);
            let mut len = header.msg_len;
            if let Some(tag) = tag {
                len = tagged(frames.get_mut(frame), len, tag);
            }
            received.push(Received { frame, device, len, stamp_ns });
        }
        Ok(())
    }

    /// Sends frames, in order and at most [`BATCH`], and returns how many went.
    ///
    /// # Errors
    /// Fails if the first cannot be sent: its device is gone or down, or no room is left in the kernel.
    pub fn send(&mut self, frames: &mut Frames, list: &[Outgoing]) -> Result<usize> {
        let list = &list[..list.len().min(BATCH)];
        for (place, outgoing) in list.iter().enumerate() {
            let len = usize::from(outgoing.len).min(FRAME);
            let Some(&device) = self.devices.get(usize::from(outgoing.device)) else {
                return Err(Error::from(ErrorKind::NotFound));
            };
            self.prepare(place, frames.get_mut(outgoing.frame).as_mut_ptr().cast(), len);
            self.addresses[place].sll_ifindex = device;
        }
        // SAFETY: as in `receive`; the kernel reads only.
        check(unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::sendmmsg(self.socket.as_raw_fd(), headers, list.len() as _, libc::MSG_DONTWAIT as _)
        })
        .map(|count| count as usize)
    }

    /// Returns the bytes that may wait in the kernel before they are received, if the process may not have all that it asks for.
    pub fn narrow_buffer(&self) -> Option<u32> {
        let (mut bytes, mut size): (c_int, _) = (0, size_of::<c_int>() as libc::socklen_t);
        let (fd, value) = (self.socket.as_raw_fd(), (&raw mut bytes).cast());
        // SAFETY: the kernel writes at most `size` bytes to `bytes`, and both outlive the call.
        check(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, value, &raw mut size) }).ok()?;
        // The kernel doubles what it is asked for (socket(7)).
        u32::try_from(bytes / 2).ok().filter(|_| bytes / 2 < SOCKET_BUFFER)
    }

    /// Returns how many frames found no room in the kernel since the last call.
    ///
    /// # Errors
    /// Fails only if the kernel has no such statistics.
    pub fn lost(&self) -> Result<u32> {
        // `struct tpacket_stats`: packets, drops.
        let mut statistics = [0u32; 2];
        let mut size = size_of::<[u32; 2]>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes to `statistics`; both outlive the call.
        check(unsafe {
            let to = (&raw mut statistics).cast();
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut size)
        })?;
        Ok(statistics[1])
    }

    /// Points a header at a frame's bytes and at its address.
    fn prepare(&mut self, place: usize, at: *mut c_void, len: usize) {
        self.parts[place] = libc::iovec { iov_base: at, iov_len: len };
        let header = &mut self.headers[place].msg_hdr;
        header.msg_name = (&raw mut self.addresses[place]).cast();
        header.msg_namelen = size_of::<sockaddr_ll>() as _;
        header.msg_iov = &raw mut self.parts[place];
        header.msg_iovlen = 1;
        header.msg_control = std::ptr::null_mut();
        header.msg_controllen = 0;
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What the kernel says of a frame.
#[derive(Default)]
pub(crate) struct Beside {
    /// When it was received, in ns; 0: unknown.
    pub(crate) stamp_ns: u64,
    /// The outer VLAN tag, which the kernel has taken out of the frame.
    tag: Option<[u8; VLAN]>,
}

/// Returns what is beside a message.
pub(crate) fn beside(header: &libc::msghdr) -> Beside {
    let mut found = Beside::default();
    // SAFETY: the kernel has written the header's control words and their length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: as above; the pointer is null or leads to a header in the control words.
    while let Some(control) = unsafe { next.as_ref() } {
        match (control.cmsg_level, control.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: a message of this type carries a `timespec`, which may not be aligned.
                let at: timespec = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
                found.stamp_ns = (at.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(at.tv_nsec as u64);
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                // SAFETY: a message of this type carries a `tpacket_auxdata`, which may not be aligned.
                let of: libc::tpacket_auxdata = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
                if of.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let ([a, b], [c, d]) = (of.tp_vlan_tpid.to_be_bytes(), of.tp_vlan_tci.to_be_bytes());
                    found.tag = Some([a, b, c, d]);
                }
            }
            _ => {}
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    found
}

/// Puts a VLAN tag back to where it was in a frame of this many bytes; returns how many there are now.
fn tagged(frame: &mut [u8; FRAME], len: u32, tag: [u8; VLAN]) -> u32 {
    let end = (len as usize).min(FRAME - VLAN);
    if end > ADDRESSES {
        frame.copy_within(ADDRESSES..end, ADDRESSES + VLAN);
        frame[ADDRESSES..ADDRESSES + VLAN].copy_from_slice(&tag);
    }
    len.saturating_add(VLAN as u32)
}

pub(crate) fn set_option(socket: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> Result<()> {
    let size = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of the value, which outlives the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size) }).map(drop)
}
