//! Frames of Ethernet as they are on a device: what a port must know of them, and the mark that it may leave.
//!
//! A frame is hostile: anything may be in it. What is no whole TCP segment or UDP datagram over IPv4 or IPv6, with VLAN tags or
//! without, passes as [`Content::Other`], so that ARP and neighbour discovery work. Only a frame that is longer than a link takes
//! is refused: offloads are left on.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    Ok(content(frame).unwrap_or(Content::Other))
}

/// Returns the most bytes of a frame, with all VLAN tags, whose IP packet has at most `mtu`.
pub(crate) fn most_bytes(mtu: u16) -> usize {
    ETHERNET + MOST_TAGS * VLAN + usize::from(mtu)
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
/// number. Of 100,000 connections about one pair shares one by chance.
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
mod tests {
    use super::*;
    use etherparse::{IpDscp, Ipv4Header, PacketBuilder, VlanId};
    use proptest::prelude::*;

    /// A segment of 100 bytes of payload, with this many VLAN tags, and this ECN field.
    fn frame(v6: bool, tags: usize, ecn: IpEcn, dscp: u8) -> Vec<u8> {
        let payload = [7u8; 100];
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let tcp = |ip: etherparse::PacketBuilderStep<etherparse::IpHeaders>| {
            let mut out = Vec::new();
            ip.tcp(80, 5_000, 1_000, 64_000).ack(17).write(&mut out, &payload).expect("a frame");
            out
        };
        let mut v4_header =
            Ipv4Header::new(120, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).expect("a header");
        v4_header.dscp = IpDscp::try_new(dscp).expect("six bits");
        v4_header.ecn = ecn;
        let v6_header = etherparse::Ipv6Header {
            traffic_class: dscp << 2 | ecn as u8,
            hop_limit: 64,
            source: [1; 16],
            destination: [2; 16],
            ..etherparse::Ipv6Header::default()
        };
        let ip = match v6 {
            false => etherparse::IpHeaders::Ipv4(v4_header, Default::default()),
            true => etherparse::IpHeaders::Ipv6(v6_header, Default::default()),
        };
        let id = |id| VlanId::try_new(id).expect("12 bits");
        match tags {
            0 => tcp(builder.ip(ip)),
            1 => tcp(builder.single_vlan(id(5)).ip(ip)),
            _ => tcp(builder.double_vlan(id(5), id(6)).ip(ip)),
        }
    }

    fn read_tcp(frame: &[u8]) -> Segment {
        match read(frame, 1_500) {
            Ok(Content::Tcp(segment)) => segment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn read__segments_of_both_versions_with_and_without_tags() {
        for (v6, tags) in [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1), (true, 2)] {
            let segment = read_tcp(&frame(v6, tags, IpEcn::Ect0, 46));
            let header = if v6 { 40 } else { 20 };
            assert_eq!((segment.len, segment.payload, segment.sequence), (header + 20 + 100, 100, 1_000));
            assert_eq!((segment.acknowledges, segment.syn, segment.fin), (Some(17), false, false));
            assert_eq!((segment.ecn, segment.kind()), (Ecn::Capable, Kind::Data));
            assert_eq!((segment.connection.from.1, segment.connection.to.1), (80, 5_000));
        }
    }

    #[test]
    fn read__datagrams_of_both_versions() {
        let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
        for (builder, header) in
            [(ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64), 20), (ethernet().ipv6([1; 16], [2; 16], 64), 40)]
        {
            let mut frame = Vec::new();
            builder.udp(53, 5_353).write(&mut frame, &[7; 100]).expect("a frame");
            let Ok(Content::Udp(datagram)) = read(&frame, 1_500) else { panic!("no datagram") };
            assert_eq!((datagram.len, datagram.payload, datagram.ecn), (header + 8 + 100, 100, Ecn::NotCapable));
            let Connection { protocol, from, to } = datagram.connection;
            assert_eq!((protocol, from.1, to.1), (Protocol::Udp, 53, 5_353));
        }
    }

    #[test]
    fn read__a_frame_beyond_the_mtu_names_offloads() {
        let mut long = frame(false, 0, IpEcn::NotEct, 0);
        long.resize(14 + 8 + 1_501, 0);
        let error = read(&long, 1_500).expect_err("a byte too many");
        assert!(error.to_string().contains("1523 bytes, where 1522 are the most: an offload"), "{error}");
        assert_eq!(read(&long[..1_522], 1_500), Ok(Content::Tcp(read_tcp(&frame(false, 0, IpEcn::NotEct, 0)))));
    }

    #[test]
    fn read__fragments_and_what_is_cut_short_pass_as_other() {
        let whole = frame(false, 0, IpEcn::Ect0, 0);
        for len in 0..whole.len() {
            assert_eq!(read(&whole[..len], 1_500), Ok(Content::Other), "{len} bytes");
        }
        let mut fragment = whole;
        fragment[14 + 6] |= 0x20; // More fragments.
        assert_eq!(read(&fragment, 1_500), Ok(Content::Other));
    }

    #[test]
    fn mark__congestion_in_the_field_and_a_checksum_that_holds() {
        for (v6, tags) in [(false, 0), (false, 2), (true, 0), (true, 1)] {
            for ecn in [IpEcn::Ect0, IpEcn::Ect1, IpEcn::CongestionExperienced] {
                for dscp in 0..64 {
                    let mut frame = frame(v6, tags, ecn, dscp);
                    let before = read_tcp(&frame);
                    assert!(mark(&mut frame));
                    assert_eq!(read_tcp(&frame), Segment { ecn: Ecn::Marked, ..before });
                    if !v6 {
                        let header = Ipv4Header::from_slice(&frame[14 + 4 * tags..]).expect("a header").0;
                        assert_eq!(header.header_checksum, header.calc_header_checksum());
                        assert_eq!(header.dscp.value(), dscp);
                    }
                }
            }
            let mut plain = frame(v6, tags, IpEcn::NotEct, 0);
            let unmarked = plain.clone();
            assert!(!mark(&mut plain));
            assert_eq!(plain, unmarked);
        }
    }

    #[test]
    fn write_dscp__keeps_the_ecn_field_and_the_flow_label() {
        for (v6, tags) in [(false, 0), (false, 2), (true, 0), (true, 1)] {
            for dscp in [0, 7, 63] {
                let mut written = frame(v6, tags, IpEcn::Ect1, 21);
                assert!(write_dscp(&mut written, dscp));
                assert_eq!(written, frame(v6, tags, IpEcn::Ect1, dscp));
            }
        }
        assert!(!write_dscp(&mut [0; 60], 1));
    }

    /// RFC 1624's own example: 0xDD2F, a word 0x5555 becomes 0x3285.
    #[test]
    fn corrected__as_in_the_rfc() {
        assert_eq!(corrected(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn flow_keys__each_direction_has_its_own_and_another_secret_gives_others() {
        let connection = read_tcp(&frame(false, 0, IpEcn::NotEct, 0)).connection;
        let keys: FlowKeys = FlowKeys::default();
        assert_eq!(keys.of(&connection), keys.of(&connection));
        assert_ne!(keys.of(&connection), keys.of(&connection.back()));
        // Ten secrets that give one number: one in 2^288.
        let of_secrets: Vec<u32> = (0..10).map(|_| <FlowKeys>::default().of(&connection)).collect();
        assert!(of_secrets.iter().any(|&key| key != of_secrets[0]));
    }

    proptest! {
        /// Nothing panics, marks change no length, and a frame without a mark stays as it is.
        #[test]
        fn read_and_mark__any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200, byte: u8) {
            let _ = read(&bytes, 1_500);
            let before = bytes.clone();
            if !mark(&mut bytes) {
                prop_assert_eq!(&bytes, &before);
            }
            // The same with a frame that was right before one of its bytes changed.
            let mut frame = frame(at % 2 == 0, at % 3, IpEcn::Ect0, byte >> 2);
            let at = at % frame.len();
            frame[at] = byte;
            let _ = read(&frame, 1_500);
            mark(&mut frame);
        }
    }
}
