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
fn plain_segment__of_ipv4_without_tags_alone() {
    let is_plain = |v6, tags| plain_segment(&frame(v6, tags, IpEcn::Ect1, 46)).is_some();
    assert!(is_plain(false, 0));
    assert!(!is_plain(false, 1) && !is_plain(true, 0));
    // Padding to the shortest frame of Ethernet is no payload.
    let mut padded = frame(false, 0, IpEcn::Ect0, 0);
    padded.extend([0; 6]);
    assert_eq!(plain_segment(&padded).map(|segment| (segment.len, segment.payload)), Some((140, 100)));
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

/// A hasher that keeps all that it is given.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Hasher for Kept {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Connections that differ in anything, be it the version of an address, are told apart before they are hashed.
#[test]
fn connection__all_that_differs_is_hashed() {
    let v4 = IpAddr::from([10, 0, 0, 1]);
    let ends: Vec<(IpAddr, u16)> = [v4, IpAddr::from([10, 0, 0, 2]), "::ffff:10.0.0.1".parse().expect("an address")]
        .into_iter()
        .flat_map(|address| [(address, 1), (address, 256)])
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for from in &ends {
            for to in &ends {
                let mut kept = Kept::default();
                Connection { protocol, from: *from, to: *to }.hash(&mut kept);
                assert!(seen.insert(kept.0), "{protocol:?} {from:?} {to:?}");
            }
        }
    }
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

    /// The short way to a segment reads what the long one does, or leaves the frame to it.
    #[test]
    fn plain_segment__equals_the_long_way(
        plain in prop::bool::weighted(0.8),
        (dscp, ecn, length) in (0u8..64, 0u8..4, 0usize..160),
        changes in prop::collection::vec((12usize..54, any::<u8>()), 0..4),
    ) {
        let ecn = IpEcn::try_new(ecn).expect("two bits");
        let mut frame = frame(!plain, usize::from(!plain), ecn, dscp);
        frame.resize(length.max(40), 9);
        for (at, byte) in changes {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        if let Some(segment) = plain_segment(&frame) {
            prop_assert_eq!(content(&frame), Some(Content::Tcp(segment)));
        }
    }
}
