//! Captures in the format of libpcap, with instants in nanoseconds.
//!
//! The headers are made up so that Wireshark follows the transport: IPv4 (RFC 791) and TCP (RFC 9293) without options.
//! Host n has the address 10.0.0.1 + n; a connection has two ports of its own; bytes are numbered from 1 in both
//! directions, after the SYN, whether or not there is one. DSCP is the priority, ECN the packet's field, ECE the mark that
//! an ACK echoes. The payload is cut off: of a packet its headers are there, and how long it was.
//!
//! Left out: SACK blocks, for which the model's headers have no room; the TCP checksum, which is 0, since there is no
//! payload to sum; CWR, windows, timestamps; packets between programs of switches; and what was dropped before the line.

use super::{PacketEvent, PacketKind, PacketRow};

const IP: usize = 20;
const TCP: usize = 20;
const RECORD: usize = 16;

/// Bytes of a packet in the file.
pub(super) const BYTES: usize = RECORD + IP + TCP;

/// The head of a file: the magic number of nanoseconds, version 2.4, the longest packet, and `LINKTYPE_RAW`: packets begin
/// with their IP header, since the model has no Ethernet addresses.
pub(super) const HEADER: [u8; 24] = {
    let mut header = [0; 24];
    put(&mut header, 0, 0xa1b2_3c4d_u32.to_le_bytes());
    put(&mut header, 4, 2_u16.to_le_bytes());
    put(&mut header, 6, 4_u16.to_le_bytes());
    put(&mut header, 16, 65_535_u32.to_le_bytes());
    put(&mut header, 20, 101_u32.to_le_bytes());
    header
};

/// Writes a field's bytes.
const fn put<const FIELD: usize>(bytes: &mut [u8], at: usize, field: [u8; FIELD]) {
    let mut i = 0;
    while i < FIELD {
        bytes[at + i] = field[i];
        i += 1;
    }
}

/// The record of a packet that the line sent.
pub(super) fn record(row: &PacketRow) -> Option<[u8; BYTES]> {
    let (ends, kind) = row.what.filter(|_| row.event == PacketEvent::Sent)?;
    let mut bytes = [0; BYTES];
    // With the model's headers shorter than these, the packet is as long as these make it.
    let ip_length = (IP + TCP) as u32 + u32::from(row.payload);
    put(&mut bytes, 0, ((row.at_ps / 1_000_000_000_000) as u32).to_le_bytes());
    put(&mut bytes, 4, ((row.at_ps % 1_000_000_000_000 / 1_000) as u32).to_le_bytes());
    put(&mut bytes, 8, ((IP + TCP) as u32).to_le_bytes());
    put(&mut bytes, 12, ip_length.max(u32::from(row.length)).to_le_bytes());

    let ip = &mut bytes[RECORD..];
    ip[0] = 0x45;
    ip[1] = row.priority.min(63) << 2 | row.ecn;
    put(ip, 2, u16::try_from(ip_length).unwrap_or(u16::MAX).to_be_bytes());
    put(ip, 6, 0x4000_u16.to_be_bytes()); // do not fragment
    ip[8] = 64;
    ip[9] = 6;
    put(ip, 12, address(ends.src));
    put(ip, 16, address(ends.dst));
    let checksum = checksum(&ip[..IP]);
    put(ip, 10, checksum.to_be_bytes());

    let (sequence, acknowledged, flags) = match kind {
        PacketKind::Data { byte, last, .. } => (number(byte), 1, ACK | if last { PSH } else { 0 }),
        PacketKind::Ack { byte, echo, .. } => (1, number(byte), ACK | if echo { ECE } else { 0 }),
        PacketKind::Syn => (0, 0, SYN),
        PacketKind::SynAck => (0, 1, SYN | ACK),
        PacketKind::Probe | PacketKind::Own => (1, 1, ACK),
    };
    let (opener, other) = (port(ends.connection), port(ends.connection / PORTS));
    let answers = matches!(kind, PacketKind::Ack { .. } | PacketKind::SynAck);
    let (from, to) = if answers { (other, opener) } else { (opener, other) };
    let tcp = &mut ip[IP..];
    put(tcp, 0, from.to_be_bytes());
    put(tcp, 2, to.to_be_bytes());
    put(tcp, 4, sequence.to_be_bytes());
    put(tcp, 8, acknowledged.to_be_bytes());
    tcp[12] = ((TCP / 4) << 4) as u8;
    tcp[13] = flags;
    put(tcp, 14, u16::MAX.to_be_bytes());
    Some(bytes)
}

const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// Ports that no protocol is known by (RFC 6335 §6).
const PORTS: u32 = 1 << 14;

fn port(number: u32) -> u16 {
    (49_152 + number % PORTS) as u16
}

fn address(host: u32) -> [u8; 4] {
    (0x0a00_0001_u32.wrapping_add(host)).to_be_bytes()
}

/// The sequence number of a byte of payload; byte 0 follows the SYN.
fn number(byte: u64) -> u32 {
    byte.wrapping_add(1) as u32
}

/// RFC 1071, of a header whose checksum is 0 so far.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
