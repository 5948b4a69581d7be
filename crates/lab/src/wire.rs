//! Frames of Ethernet as they are on a device: what a port must know of them, and the mark that it may leave.
//!
//! A frame is hostile: anything may be in it. What is no whole TCP segment or UDP datagram over IPv4 or IPv6, with VLAN tags or
//! without, passes as [`Content::Other`], so that ARP and neighbour discovery work. Only a frame that is longer than a link takes
//! is refused: offloads are left on.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;

use ahash::RandomState;
use etherparse::{IpEcn, NetSlice, SlicedPacket, TransportSlice};
use flowsieve_core::Kind;
use flowsieve_core::meta::Ecn;

/// Bytes of a frame before its IP packet, without VLAN tags.
const ETHERNET: usize = 14;
/// Bytes of a VLAN tag.
const VLAN: usize = 4;
/// The most VLAN tags.
const MOST_TAGS: usize = 2;

/// A frame that is longer than its link takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {len} bytes, where {most} are the most: an offload (TSO, GSO, GRO or LRO) is on at its sender")]
pub struct TooLong {
    /// Bytes of the frame.
    pub len: usize,
    /// Bytes that fit the link's MTU.
    pub most: usize,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// Anything else: another protocol, a fragment, a frame that is cut short.
    Other,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP, whose connections are the datagrams between two ports.
    Udp,
}

/// A connection in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its protocol.
    pub protocol: Protocol,
    /// The sender's address and port.
    pub from: (IpAddr, u16),
    /// The receiver's.
    pub to: (IpAddr, u16),
}

impl Connection {
    /// Returns the other direction.
    #[must_use]
    pub fn back(self) -> Connection {
        Connection { from: self.to, to: self.from, ..self }
    }
}

/// One word of 16 bytes for IPv4. A derived hash would add the length and the kind of every part, which takes longer than all
/// the rest.
impl Hash for Connection {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Connection { protocol, from, to } = self;
        let is_udp = *protocol == Protocol::Udp;
        let kinds = u64::from(is_udp) << 2 | u64::from(from.0.is_ipv6()) << 1 | u64::from(to.0.is_ipv6());
        let first = kinds << 32 | u64::from(from.1) << 16 | u64::from(to.1);
        match (from.0, to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let addresses = u64::from(from.to_bits()) << 32 | u64::from(to.to_bits());
                state.write_u128(u128::from(first) << 64 | u128::from(addresses));
            }
            (from, to) => {
                let bits = |address| match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
                    IpAddr::V6(v6) => v6.to_bits(),
                };
                state.write_u64(first);
                state.write_u128(bits(from));
                state.write_u128(bits(to));
            }
        }
    }
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its connection.
    pub connection: Connection,
    /// Bytes of the IP packet.
    pub len: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// Its sequence number.
    pub sequence: u32,
    /// What it acknowledges, if it does.
    pub acknowledges: Option<u32>,
    /// It opens a connection, in one direction.
    pub syn: bool,
    /// It ends a connection, in one direction.
    pub fin: bool,
    /// Its ECN field.
    pub ecn: Ecn,
}

impl Segment {
    /// Returns what the packet is for.
    pub fn kind(&self) -> Kind {
        match (self.payload, self.syn || self.fin) {
            (1.., _) => Kind::Data,
            (0, true) => Kind::Control,
            (0, false) => Kind::Ack,
        }
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its connection.
    pub connection: Connection,
    /// Bytes of the IP packet.
    pub len: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// Reads a frame of a link whose IP packets have at most `mtu` bytes.
///
/// # Errors
/// Fails if the frame is longer, with up to two VLAN tags.
pub fn read(frame: &[u8], mtu: u16) -> Result<Content, TooLong> {
    let most = most_bytes(mtu);
    if frame.len() > most {
        return Err(TooLong { len: frame.len(), most });
    }
    if let Some(segment) = plain_segment(frame) {
        return Ok(Content::Tcp(segment));
    }
    Ok(content(frame).unwrap_or(Content::Other))
}

/// Returns the most bytes of a frame, with all VLAN tags, whose IP packet has at most `mtu`.
pub(crate) fn most_bytes(mtu: u16) -> usize {
    ETHERNET + MOST_TAGS * VLAN + usize::from(mtu)
}

/// Bytes of the headers of a plain frame: of Ethernet, IPv4 and TCP.
const PLAIN: usize = ETHERNET + 20 + 20;

/// Reads what most frames carry: a whole TCP segment over IPv4, without VLAN tags and IP options. `None`: [`content`] has to
/// look, which reads every protocol and takes several times as long. A test holds both equal.
#[inline]
fn plain_segment(frame: &[u8]) -> Option<Segment> {
    let header: &[u8; PLAIN] = frame.first_chunk()?;
    let byte = |at: usize| header[at];
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let double = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let address = |at: usize| IpAddr::V4(double(at).into());
    let ip = ETHERNET;
    let tcp = ip + 20;
    // IPv4 with a header of five words (RFC 791 §3.1), no fragment, TCP.
    let is_plain = word(12) == 0x0800 && byte(ip) == 0x45 && word(ip + 6) & 0x3fff == 0 && byte(ip + 9) == 6;
    let len = word(ip + 2);
    // RFC 9293 §3.1: its header has at least five words.
    let headers = 20 + 4 * u16::from(byte(tcp + 12) >> 4);
    if !is_plain || headers < 40 || len < headers || usize::from(len) > frame.len() - ip {
        return None;
    }
    let flags = byte(tcp + 13);
    let has = |flag: u8| flags & flag != 0;
    Some(Segment {
        connection: Connection {
            protocol: Protocol::Tcp,
            from: (address(ip + 12), word(tcp)),
            to: (address(ip + 16), word(tcp + 2)),
        },
        len,
        payload: len - headers,
        sequence: double(tcp + 4),
        acknowledges: has(0x10).then(|| double(tcp + 8)),
        syn: has(0x02),
        fin: has(0x01),
        ecn: match byte(ip + 1) & ECN {
            0b00 => Ecn::NotCapable,
            ECN => Ecn::Marked,
            _ => Ecn::Capable,
        },
    })
}

/// Reads a whole TCP segment or UDP datagram.
fn content(frame: &[u8]) -> Option<Content> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (from, to, header, payload, ecn) = match packet.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            let addresses = (IpAddr::V4(header.source_addr()), IpAddr::V4(header.destination_addr()));
            (addresses.0, addresses.1, header.slice().len(), ip.payload(), header.ecn())
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses = (IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()));
            // Extension headers are between the header and its payload.
            let extensions = usize::from(header.payload_length()).saturating_sub(ip.payload().payload.len());
            (addresses.0, addresses.1, header.slice().len() + extensions, ip.payload(), header.ecn())
        }
        NetSlice::Arp(_) => return None,
    };
    if payload.fragmented {
        return None;
    }
    let len = u16::try_from(header + payload.payload.len()).ok()?;
    let ecn = match ecn {
        IpEcn::NotEct => Ecn::NotCapable,
        IpEcn::Ect0 | IpEcn::Ect1 => Ecn::Capable,
        IpEcn::CongestionExperienced => Ecn::Marked,
    };
    let between = |protocol, ports: (u16, u16)| Connection { protocol, from: (from, ports.0), to: (to, ports.1) };
    match packet.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => Some(Content::Tcp(Segment {
            connection: between(Protocol::Tcp, (tcp.source_port(), tcp.destination_port())),
            len,
            payload: u16::try_from(tcp.payload().len()).ok()?,
            sequence: tcp.sequence_number(),
            acknowledges: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            ecn,
        })),
        TransportSlice::Udp(udp) => Some(Content::Udp(Datagram {
            connection: between(Protocol::Udp, (udp.source_port(), udp.destination_port())),
            len,
            payload: u16::try_from(udp.payload().len()).ok()?,
            ecn,
        })),
        _ => None,
    }
}

/// Marks the IP packet of a frame, if its transport understands marks: writes "congestion experienced" into the ECN field.
/// Returns whether it did.
pub fn mark(frame: &mut [u8]) -> bool {
    let found = traffic_class(frame).filter(|header| header.class & ECN != 0);
    found.is_some_and(|header| header.write(frame, header.class | ECN))
}

/// Writes a code point of differentiated services (RFC 2474) into the IP packet of a frame. Returns whether there is one.
pub fn write_dscp(frame: &mut [u8], dscp: u8) -> bool {
    traffic_class(frame).is_some_and(|header| header.write(frame, dscp << 2 | header.class & ECN))
}

/// The bits of the traffic class that are the ECN field (RFC 3168).
const ECN: u8 = 0b11;

/// The header of an IP packet in a frame.
struct Header {
    is_v4: bool,
    /// Where it begins.
    at: usize,
    /// Its traffic class: the code point, and the ECN field.
    class: u8,
}

fn traffic_class(frame: &[u8]) -> Option<Header> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let at = |header: &[u8]| header.as_ptr().addr() - frame.as_ptr().addr();
    match packet.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            let class = header.dcp().value() << 2 | header.ecn() as u8;
            Some(Header { is_v4: true, at: at(header.slice()), class })
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            Some(Header { is_v4: false, at: at(header.slice()), class: header.traffic_class() })
        }
        NetSlice::Arp(_) => None,
    }
}

impl Header {
    /// Writes another traffic class, and corrects IPv4's checksum for it (RFC 1624, equation 3). Returns whether it did.
    fn write(&self, frame: &mut [u8], class: u8) -> bool {
        let Some(header) = frame.get_mut(self.at..) else { return false };
        let Some([first, second, rest @ ..]) = header.first_chunk_mut::<12>() else { return false };
        if self.is_v4 {
            let before = u16::from_be_bytes([*first, *second]);
            *second = class;
            let after = u16::from_be_bytes([*first, *second]);
            let checksum = u16::from_be_bytes([rest[8], rest[9]]);
            [rest[8], rest[9]] = corrected(checksum, before, after).to_be_bytes();
        } else {
            // It spans two bytes, between the version and the flow label.
            *first = *first & 0xf0 | class >> 4;
            *second = *second & 0x0f | class << 4;
        }
        true
    }
}

/// Returns the checksum of a header one of whose words has changed.
fn corrected(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// Numbers connections by a hash with a secret key, so that a sender cannot choose ports by which two connections share a
/// number. Of 100,000 connections about one pair shares one by chance. The key is drawn from the system when the process
/// begins, and never leaves it.
#[derive(Clone, Debug, Default)]
pub struct FlowKeys<S = RandomState>(S);

impl<S: BuildHasher> FlowKeys<S> {
    /// Numbers connections by this hash.
    pub fn new(hash: S) -> FlowKeys<S> {
        FlowKeys(hash)
    }

    pub(crate) fn hasher(&self) -> &S {
        &self.0
    }

    /// Returns a connection's number; both directions have numbers of their own.
    pub fn of(&self, connection: &Connection) -> u32 {
        self.0.hash_one(connection) as u32
    }
}

#[cfg(test)]
mod tests;
