//! Settings of a device that its driver keeps (`SIOCETHTOOL`, linux/ethtool.h).
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::calls::system::check;

/// The ioctl (linux/sockios.h).
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Offloads: name, command that sets, command that gets.
const OFFLOADS: [(&str, u32, u32); 5] = [
    ("checksums on transmission", 0x17, 0x16),
    ("scatter-gather", 0x19, 0x18),
    ("segmentation of TCP", 0x1f, 0x1e),
    ("generic segmentation", 0x24, 0x23),
    ("generic receive offload", 0x2c, 0x2b),
];

/// Switches a device's offloads off, in the calling thread's network namespace, and reads back that they are. With them a
/// frame may be many packets long, and its checksum may be missing.
///
/// # Errors
/// Fails if there is no such device, if the thread may not change it, or if an offload stays on.
pub fn offloads_off(device: &str) -> Result<()> {
    let socket = datagram_socket()?;
    for (name, set, get) in OFFLOADS {
        ethtool(&socket, device, set, 0)?;
        if ethtool(&socket, device, get, 1)? != 0 {
            return Err(Error::other(format!("{device}: its offload \"{name}\" stays on")));
        }
    }
    Ok(())
}

/// Returns the kernel's number of the device with this name in the calling thread's network namespace.
///
/// # Errors
/// Fails if the name is no device's.
pub(crate) fn device_number(device: &str) -> Result<u32> {
    let name = std::ffi::CString::new(device)?;
    // SAFETY: the name ends with a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index),
    }
}

/// Returns the type of a device's link-layer header, as linux/if_arp.h numbers it, in the calling thread's network namespace.
///
/// # Errors
/// Fails if there is no such device.
pub fn hardware_type(device: &str) -> Result<u16> {
    let socket = datagram_socket()?;
    let mut request = request_for(device)?;
    // SAFETY: the kernel reads the name and writes one address into the request, which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) })?;
    // SAFETY: the kernel has written this field.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

fn datagram_socket() -> Result<OwnedFd> {
    // SAFETY: no pointer is passed.
    let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns a request that names a device.
fn request_for(device: &str) -> Result<libc::ifreq> {
    // SAFETY: `ifreq` consists of integers and pointers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(Error::other(format!("{device}: a device's name has at most 15 bytes")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Carries out a command with a value, and returns the value after it.
fn ethtool(socket: &OwnedFd, device: &str, command: u32, value: u32) -> Result<u32> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        value: u32,
    }
    let mut value = Value { command, value };
    let mut request = request_for(device)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads and writes one `ethtool_value` behind `ifru_data`; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })
        .map_err(|error| Error::new(error.kind(), format!("{device}: {error}")))?;
    Ok(value.value)
}
