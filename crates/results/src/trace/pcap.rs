//! Captures in the format of libpcap, with instants in nanoseconds.
//!
//! The headers are made up so that Wireshark follows the transport: IPv4 (RFC 791) and TCP (RFC 9293) without options. Host n
//! has the address 10.0.0.1 + n; a connection has two ports of its own; bytes are numbered from 1 in both directions, after the
//! SYN, whether or not there is one. DSCP is the priority, ECN the packet's field, ECE the mark that an ACK echoes. The payload
//! is cut off: each packet has its headers and its true length.
//!
//! Left out: SACK blocks, for which the model's headers have no room; the TCP checksum, which is 0, since there is no payload
//! to sum; CWR, windows, timestamps; packets between programs of switches; and packets dropped before the line.

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader};
use flowsieve_record::{PacketEvent, PacketKind, PacketRow};

const RECORD: usize = 16;
const HEADERS: usize = Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN;

/// Bytes of a packet in the file.
pub(super) const BYTES: usize = RECORD + HEADERS;

/// The head of a file: the magic number of nanoseconds, version 2.4, the longest packet, and `LINKTYPE_RAW`: packets begin
/// with their IP header, since the model has no Ethernet addresses.
pub(super) fn header() -> [[u8; 4]; 6] {
    [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 65_535, 101].map(u32::to_le_bytes)
}

/// Appends the record of a packet, if the line sent it.
pub(super) fn write(out: &mut Vec<u8>, row: &PacketRow) {
    let Some((ends, kind)) = row.what.filter(|_| row.event == PacketEvent::Sent) else { return };
    // If the model's headers are shorter than these, the packet is as long as these make it.
    let ip_length = HEADERS as u32 + u32::from(row.payload);
    let (seconds, ns) = (row.at_ps / 1_000_000_000_000, row.at_ps % 1_000_000_000_000 / 1_000);
    let record = [seconds as u32, ns as u32, HEADERS as u32, ip_length.max(row.length.into())];

    let mut ip = Ipv4Header {
        dscp: IpDscp::try_new(row.priority).unwrap_or(IpDscp::MAX),
        ecn: IpEcn::try_new(row.ecn).unwrap_or_default(),
        total_len: u16::try_from(ip_length).unwrap_or(u16::MAX),
        dont_fragment: true,
        time_to_live: 64,
        protocol: IpNumber::TCP,
        source: address(ends.src),
        destination: address(ends.dst),
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();

    let (sequence, acknowledged) = match kind {
        PacketKind::Data { byte, .. } => (number(byte), 1),
        PacketKind::Ack { byte, .. } => (1, number(byte)),
        PacketKind::Syn => (0, 0),
        PacketKind::SynAck => (0, 1),
        PacketKind::Probe | PacketKind::Own | PacketKind::OwnData { .. } => (1, 1),
    };
    let (opener, other) = (port(ends.connection), port(ends.connection / PORTS));
    let answers = matches!(kind, PacketKind::Ack { .. } | PacketKind::SynAck);
    let (from, to) = if answers { (other, opener) } else { (opener, other) };
    let tcp = TcpHeader {
        acknowledgment_number: acknowledged,
        syn: matches!(kind, PacketKind::Syn | PacketKind::SynAck),
        ack: kind != PacketKind::Syn,
        psh: matches!(kind, PacketKind::Data { last: true, .. }),
        ece: matches!(kind, PacketKind::Ack { echo: true, .. }),
        ..TcpHeader::new(from, to, sequence, u16::MAX)
    };
    out.extend_from_slice(record.map(u32::to_le_bytes).as_flattened());
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(&tcp.to_bytes());
}

/// Ports that no protocol has registered (RFC 6335 §6).
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
