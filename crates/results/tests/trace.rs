//! Traces as files: every byte of the table, and captures as another parser of packets reads them.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
use flowsieve_record::{Ends, PacketEvent, PacketKind, PacketRow, PointResult, TraceSink};
use flowsieve_results::{ResultWriter, TraceFiles, TraceFormats, TracedLink};

const BOTH: TraceFormats = TraceFormats { csv: true, pcap: true };

/// Both directions of one cable, and one of another.
fn links() -> Vec<TracedLink> {
    let link = |name: &str, cable: &str| TracedLink { name: name.into(), cable: cable.into() };
    vec![
        link("host0 to leaf0", "host0+leaf0"),
        link("leaf0 to host0", "host0+leaf0"),
        link("leaf0 to spine1", "leaf0+spine1"),
    ]
}

fn row(at_ps: u64, link: u32, kind: PacketKind) -> PacketRow {
    let carries = matches!(kind, PacketKind::Data { .. });
    let answers = matches!(kind, PacketKind::Ack { .. } | PacketKind::SynAck);
    let (src, dst) = if answers { (300, 0) } else { (0, 300) };
    PacketRow {
        at_ps,
        link,
        event: PacketEvent::Sent,
        what: Some((Ends { connection: 16_384 + 7, src, dst }, kind)),
        payload: if carries { 1_460 } else { 0 },
        length: if carries { 1_500 } else { 40 },
        priority: 0,
        queue: Some(0),
        rank: 0,
        ecn: if carries { 2 } else { 0 },
    }
}

fn data(segment: u32, byte: u64) -> PacketKind {
    PacketKind::Data { flow: 9, segment, byte, last: false, retransmission: false }
}

/// One of each kind.
fn rows() -> Vec<PacketRow> {
    let sack = PacketKind::Ack { segment: 1, byte: 1_460, sack: Some((2, 4)), echo: true, duplicate: false };
    let last = PacketKind::Data { flow: 9, segment: 3, byte: 6_000_000_000, last: true, retransmission: true };
    vec![
        row(0, 0, PacketKind::Syn),
        row(1_999, 1, PacketKind::SynAck),
        row(2_500_000_000_123, 0, data(0, 0)),
        PacketRow {
            event: PacketEvent::DroppedBuffer,
            queue: None,
            ecn: 3,
            ..row(2_500_000_000_124, 2, data(1, 1_460))
        },
        PacketRow { priority: 70, queue: Some(7), rank: 21, ecn: 3, ..row(2_500_000_000_125, 2, last) },
        PacketRow { event: PacketEvent::DroppedLoss, queue: None, ..row(2_500_000_000_126, 2, last) },
        PacketRow { event: PacketEvent::DroppedEvicted, ..row(2_500_000_000_127, 2, PacketKind::Probe) },
        row(2_500_000_000_127, 1, sack),
        row(2_500_000_000_128, 0, PacketKind::Probe),
        PacketRow { what: None, length: 64, ..row(2_500_000_000_129, 2, PacketKind::Probe) },
    ]
}

fn write(folder: &Path, formats: TraceFormats, rows: &[PacketRow]) {
    let mut files = TraceFiles::new(folder, formats, links());
    files.begin();
    assert!(rows.iter().all(|row| files.packet(row).is_continue()));
    files.finish().unwrap();
}

/// The names of a folder's files, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn table__a_line_a_row() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), TraceFormats { pcap: false, ..BOTH }, &rows());
    assert_eq!(names(folder.path()), ["packets.csv"]);
    insta::assert_snapshot!(fs::read_to_string(folder.path().join("packets.csv")).unwrap());
}

fn le(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// A packet of a capture: instant in ns, its length, what is said.
fn packets(file: &[u8]) -> Vec<(u64, u32, String)> {
    assert_eq!([le(file), le(&file[4..]), le(&file[16..]), le(&file[20..])], [0xa1b2_3c4d, 0x0004_0002, 65_535, 101]);
    let (mut packets, mut rest) = (Vec::new(), &file[24..]);
    while !rest.is_empty() {
        let at = u64::from(le(rest)) * 1_000_000_000 + u64::from(le(&rest[4..]));
        let (captured, length) = (le(&rest[8..]) as usize, le(&rest[12..]));
        let ip = Ipv4HeaderSlice::from_slice(&rest[16..]).unwrap();
        assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        assert_eq!((ip.protocol().0, ip.slice().len(), u32::from(ip.total_len())), (6, 20, length));
        let tcp = TcpHeaderSlice::from_slice(&rest[16 + 20..16 + captured]).unwrap();
        assert_eq!(20 + tcp.slice().len(), captured);
        let flags = [("syn", tcp.syn()), ("ack", tcp.ack()), ("psh", tcp.psh()), ("ece", tcp.ece())];
        let flags: Vec<&str> = flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect();
        let said = format!(
            "{}:{} > {}:{} {} seq {} ack {} dscp {} ecn {}",
            ip.source_addr(),
            tcp.source_port(),
            ip.destination_addr(),
            tcp.destination_port(),
            flags.join("+"),
            tcp.sequence_number(),
            tcp.acknowledgment_number(),
            ip.dcp().value(),
            ip.ecn().value(),
        );
        packets.push((at, length, said));
        rest = &rest[16 + captured..];
    }
    packets
}

#[test]
fn capture__both_directions_of_a_cable_as_ip_and_tcp() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), TraceFormats { csv: false, ..BOTH }, &rows());
    assert_eq!(names(folder.path()), ["host0+leaf0.pcap", "leaf0+spine1.pcap"]);
    let of = |name: &str| packets(&fs::read(folder.path().join(name)).unwrap());
    // Flow 16,391 opened the connection: ports 49,152 + 7 and 49,152 + 1. Host 300 is 10.0.1.45.
    let (there, back) = ("10.0.0.1:49159 > 10.0.1.45:49153", "10.0.1.45:49153 > 10.0.0.1:49159");
    let expected = [
        (0, 40, format!("{there} syn seq 0 ack 0 dscp 0 ecn 0")),
        (1, 40, format!("{back} syn+ack seq 0 ack 1 dscp 0 ecn 0")),
        (2_500_000_000, 1_500, format!("{there} ack seq 1 ack 1 dscp 0 ecn 2")),
        (2_500_000_000, 40, format!("{back} ack+ece seq 1 ack 1461 dscp 0 ecn 0")),
        (2_500_000_000, 40, format!("{there} ack seq 1 ack 1 dscp 0 ecn 0")),
    ];
    assert_eq!(of("host0+leaf0.pcap"), expected);
    // Of what was lost on the line this side of it is there; six billion are 1,705,032,704 beyond 2^32.
    let last = format!("{there} ack+psh seq 1705032705 ack 1 dscp 63 ecn 3");
    assert_eq!(of("leaf0+spine1.pcap"), [(2_500_000_000, 1_500, last)]);
}

#[test]
fn capture__byte_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [PacketRow { priority: 3, ..row(2_500_000_000_123, 0, data(0, 0)) }];
    write(folder.path(), TraceFormats { csv: false, ..BOTH }, &rows);
    #[rustfmt::skip]
    let expected = [
        0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0,
        // 2 s and 500,000,000 ns, 40 bytes of 1,500.
        2, 0, 0, 0, 0x00, 0x65, 0xcd, 0x1d, 40, 0, 0, 0, 0xdc, 5, 0, 0,
        // IP: DSCP 3 and ECT(0), 1,500 bytes, not to be fragmented, TTL 64, TCP, a checksum by hand.
        0x45, 0x0e, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0x1f, 0xe1, 10, 0, 0, 1, 10, 0, 1, 45,
        // TCP: ports, sequence number 1, acknowledgement 1, five words, ACK, the whole window.
        0xc0, 0x07, 0xc0, 0x01, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,
    ];
    assert_eq!(fs::read(folder.path().join("host0+leaf0.pcap")).unwrap(), expected);
}

#[test]
fn capture__headers_of_another_length() {
    let folder = tempfile::tempdir().unwrap();
    // IP has its own headers and the payload; the frame is as long as the model has it, or as IP needs.
    let rows = [(1_460, 1_520), (1_460, 1_460), (65_535, 65_535)].map(|(payload, length)| PacketRow {
        payload,
        length,
        ..row(0, 0, data(0, 0))
    });
    write(folder.path(), TraceFormats { csv: false, ..BOTH }, &rows);
    let file = fs::read(folder.path().join("host0+leaf0.pcap")).unwrap();
    let lengths: Vec<(u32, u16)> =
        file[24..].chunks(56).map(|record| (le(&record[12..]), u16::from_be_bytes([record[18], record[19]]))).collect();
    assert_eq!(lengths, [(1_520, 1_500), (1_500, 1_500), (65_575, 65_535)]);
}

#[test]
fn begin__anew_leaves_nothing_of_before() {
    let (once, twice) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // More than is held back, so that files are there already.
    let many: Vec<PacketRow> = (0..80_000).map(|n| row(n, 0, data(0, 0))).collect();
    let mut files = TraceFiles::new(twice.path(), BOTH, links());
    for rows in [&many[..], &rows()] {
        files.begin();
        assert!(rows.iter().all(|row| files.packet(row).is_continue()));
    }
    files.finish().unwrap();
    write(once.path(), BOTH, &rows());
    assert_eq!((names(twice.path()), names(once.path()).len()), (names(once.path()), 3));
    for name in names(once.path()) {
        assert!(fs::read(once.path().join(&name)).unwrap() == fs::read(twice.path().join(&name)).unwrap(), "{name}");
    }
    let all = tempfile::tempdir().unwrap();
    write(all.path(), BOTH, &many);
    assert_eq!(packets(&fs::read(all.path().join("host0+leaf0.pcap")).unwrap()).len(), many.len());
}

#[test]
fn packet__breaks_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    for formats in [TraceFormats { csv: false, ..BOTH }, TraceFormats { pcap: false, ..BOTH }] {
        let mut files = TraceFiles::new(&folder.path().join("none"), formats, links());
        files.begin();
        let written = (0..100_000).take_while(|&n| files.packet(&row(n, 0, data(0, 0))) == ControlFlow::Continue(()));
        assert!(written.count() < 100_000);
        let error = files.finish().unwrap_err().to_string();
        assert!(error.contains("cannot write"), "{error}");
    }
}

#[test]
fn part__with_a_trace_is_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ResultWriter::create(folder.path()).unwrap();
    let part = writer.begin_part("key").unwrap();
    write(&part.trace_folder().unwrap(), BOTH, &rows());
    assert!(!writer.finished("key").unwrap());
    drop(part);
    assert_eq!(fs::read_dir(folder.path().join("parts")).unwrap().count(), 0);
    let part = writer.begin_part("key").unwrap();
    write(&part.trace_folder().unwrap(), BOTH, &rows());
    part.finish(1, PointResult::default()).unwrap();
    assert!(writer.finished("key").unwrap());
    let table = folder.path().join("parts/key/trace/packets.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, &text[1..]).unwrap();
    let error = writer.finished("key").unwrap_err().to_string();
    assert!(error.contains("packets.csv: damaged result: ") && error.contains("bytes, expected"), "{error}");
    fs::remove_file(&table).unwrap();
    assert!(writer.finished("key").is_err());
}
