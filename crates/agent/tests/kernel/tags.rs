//! What is tagged, packet by packet.

use super::*;

/// Checks every data packet of a connection against the messages that it sent. Returns how many there were, and of them
/// those that were sent again.
fn check(seen: &[Seen], messages: &[u64], thresholds: &[u64]) -> (usize, usize) {
    let data: Vec<&Seen> = seen.iter().filter(|packet| packet.len > 0).collect();
    // Its first packet may be lost: the SYN-ACK is the one before it.
    let first = seen.iter().find(|packet| packet.syn).expect("its SYN-ACK").seq.wrapping_add(1);
    let ends: Vec<u64> = messages
        .iter()
        .scan(0, |sum, &bytes| {
            Some({
                *sum += bytes;
                *sum
            })
        })
        .collect();
    let (mut high, mut again) = (0, 0);
    for packet in &data {
        let at = u64::from(packet.seq.wrapping_sub(first));
        let message = ends.partition_point(|&end| end <= at);
        let before = at - if message == 0 { 0 } else { ends[message - 1] };
        assert_eq!(
            packet.dscp,
            DSCPS[level(thresholds, before)],
            "message {message}, {before} bytes before: {packet:?}"
        );
        assert!(packet.summed, "{packet:?}");
        again += usize::from(at < high);
        high = high.max(at + u64::from(packet.len));
    }
    assert_eq!(high, *ends.last().expect("messages"), "the capture has all bytes");
    (data.len(), again)
}

/// Three messages of one connection without pauses, and what was counted.
fn three_messages(at: IpAddr, set_up: &str) -> (usize, usize, Vec<Seen>) {
    shell(set_up);
    assert_eq!(tag(&conf(MessageEnd::Turn)), Tagging::New);
    let messages = [1_000_000, 700_000, 300_000];
    let server = serve(at);
    let seen = captured(|| {
        let mut stream = connect(server);
        messages.iter().for_each(|&bytes| ask(&mut stream, bytes));
    });
    let (packets, again) = check(&seen, &messages, &THRESHOLDS);
    let counts = counts();
    assert_eq!(counts.begun, 2, "{counts:?}");
    assert_eq!((counts.supers, counts.marked, counts.older), (0, 0, 0), "{counts:?}");
    let bytes: u64 = counts.bytes.iter().sum();
    assert!(bytes >= 2_000_000 && counts.packets.iter().sum::<u64>() >= packets as u64, "{counts:?}");
    println!("{packets} packets right, {again} of them sent again; by queue {:?}", &counts.packets[..4]);
    (packets, again, seen)
}

const ECN: &str = "; for n in s c; do nsenter --net=/run/netns/$n sysctl -qw net.ipv4.tcp_ecn=1; done";

#[test]
fn tag__every_packet_has_the_level_of_core_in_ipv4_and_ecn_bits_stay() {
    if alone(module_path!(), "tag__every_packet_has_the_level_of_core_in_ipv4_and_ecn_bits_stay") {
        let (packets, _, seen) = three_messages(V4, &format!("{SINGLY}{ECN}"));
        let capable = seen.iter().filter(|packet| packet.len > 0 && packet.ecn == 2).count();
        assert!(packets > 1_300 && capable > packets / 2, "{capable} of {packets}");
    }
}

#[test]
fn tag__every_packet_has_the_level_of_core_in_ipv6() {
    if alone(module_path!(), "tag__every_packet_has_the_level_of_core_in_ipv6") {
        three_messages(V6, SINGLY);
    }
}

#[test]
fn tag__every_packet_has_the_level_of_core_where_packets_are_lost() {
    if alone(module_path!(), "tag__every_packet_has_the_level_of_core_where_packets_are_lost") {
        three_messages(V4, &slow("200mbit"));
        assert!(counts().again > 0, "{:?}", counts());
    }
}

#[test]
fn tag__leaves_what_has_a_mark_or_is_not_chosen() {
    if !alone(module_path!(), "tag__leaves_what_has_a_mark_or_is_not_chosen") {
        return;
    }
    shell(SINGLY);
    tag(&conf(MessageEnd::Turn));
    // CS6, EF and AF11, and none.
    let listener = within("c", || TcpListener::bind((IpAddr::from([198, 18, 0, 2]), PORT)).expect("a port"));
    for (field, dscps) in [(0xc0u8, vec![48]), (0xb8, vec![46]), (0x28, vec![10]), (0, vec![26, 34])] {
        let seen = captured_as(
            |frame, len| {
                let data = || len - 34 - u32::from(frame[46] >> 4) * 4;
                let is_own = frame[12..14] == [8, 0] && frame[23] == 6 && frame[29] == 1;
                (is_own && data() > 0).then(|| frame[15] >> 2)
            },
            || {
                within("s", || {
                    let mut stream = TcpStream::connect((IpAddr::from([198, 18, 0, 2]), PORT)).expect("a server");
                    rustix::net::sockopt::set_ip_tos(&stream, field).expect("a mark");
                    stream.write_all(&[7; 60_000]).expect("it takes it");
                    stream.shutdown(Shutdown::Write).expect("an end");
                });
                let mut left = Vec::new();
                listener.accept().expect("a connection").0.read_to_end(&mut left).expect("all");
                assert_eq!(left.len(), 60_000);
            },
        );
        let mut found = seen;
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, dscps, "{field:#x}");
    }
    assert!(counts().marked > 120, "{:?}", counts());
    // Nothing is written when it only counts, and nothing where no socket is chosen.
    let server = serve(V4);
    for (percent, dry) in [(100, true), (0, false)] {
        let before = counts();
        assert_eq!(tag(&Conf { percent, dry, ..conf(MessageEnd::Turn) }), Tagging::Replaced);
        let seen = captured(|| ask(&mut connect(server), 60_000));
        assert!(seen.len() > 40 && seen.iter().all(|packet| packet.dscp == 0), "{seen:?}");
        let after = counts();
        let counted = after.bytes.iter().sum::<u64>() - before.bytes.iter().sum::<u64>();
        assert!(if dry { counted >= 60_000 } else { counted == 0 && after.spared > before.spared + 40 }, "{after:?}");
    }
}

#[test]
fn tag__a_share_of_the_sockets() {
    if !alone(module_path!(), "tag__a_share_of_the_sockets") {
        return;
    }
    tag(&Conf { percent: 30, ..conf(MessageEnd::Turn) });
    let server = serve(V4);
    let seen = captured(|| (0..200).for_each(|_| ask(&mut connect(server), 3_000)));
    let mut by_socket = std::collections::BTreeMap::<u16, Vec<u8>>::new();
    for packet in seen.iter().filter(|packet| packet.len > 0) {
        by_socket.entry(packet.peer).or_default().push(packet.dscp);
    }
    assert!(by_socket.values().all(|dscps| dscps.iter().all(|dscp| dscp == &dscps[0])), "in or out as a whole");
    let tagged = by_socket.values().filter(|dscps| dscps[0] != 0).count();
    assert!((30..=90).contains(&tagged) && by_socket.len() == 200, "{tagged} of {}", by_socket.len());
}

#[test]
fn tag__a_connection_that_stood_before_begins_in_the_lowest_level_that_it_could_be_in() {
    if !alone(module_path!(), "tag__a_connection_that_stood_before_begins_in_the_lowest_level_that_it_could_be_in") {
        return;
    }
    shell(SINGLY);
    let server = serve(V4);
    let (mut young, mut idle) = (connect(server), connect(server));
    ask(&mut young, 30_000);
    ask(&mut idle, 5_000_000);
    tag(&conf(MessageEnd::Turn));
    let of = |seen: &[Seen], stream: &TcpStream| {
        let port = stream.local_addr().expect("an address").port();
        let own = seen.iter().filter(|packet| packet.peer == port && packet.len > 0);
        own.map(|packet| packet.dscp).collect::<Vec<u8>>()
    };
    // 30,000 and 5,000,000 bytes of before count; then each message begins anew.
    let seen = captured(|| [&mut young, &mut idle].into_iter().for_each(|stream| ask(stream, 2_000)));
    assert_eq!((of(&seen, &young), of(&seen, &idle)), (vec![26; 2], vec![10; 2]));
    let seen = captured(|| [&mut young, &mut idle].into_iter().for_each(|stream| ask(stream, 2_000)));
    assert_eq!((of(&seen, &young), of(&seen, &idle)), (vec![34; 2], vec![34; 2]));
    assert_eq!((counts().older, counts().begun), (2, 2));
}

#[test]
fn tag__super_packets_have_the_tag_of_their_middle_or_first_byte() {
    if !alone(module_path!(), "tag__super_packets_have_the_tag_of_their_middle_or_first_byte") {
        return;
    }
    let server = serve(V4);
    for middle in [true, false] {
        tag(&Conf { middle, ..conf(MessageEnd::Turn) });
        let seen = captured(|| ask(&mut connect(server), 3_000_000));
        let first = seen.iter().find(|packet| packet.syn).expect("its SYN-ACK").seq.wrapping_add(1);
        for packet in seen.iter().filter(|packet| packet.len > 0) {
            let half = if middle && packet.len > 1_448 { packet.len / 2 } else { 0 };
            let at = u64::from(packet.seq.wrapping_sub(first) + half);
            assert_eq!(packet.dscp, DSCPS[level(&THRESHOLDS, at)], "{packet:?}");
        }
        assert!(seen.iter().any(|packet| packet.len > 20_000), "there are super-packets");
    }
    let counts = counts();
    assert!(counts.longest > 20_000 && counts.moved > 0 && counts.supers > 50, "{counts:?}");
}

#[test]
fn tag__replaced_five_times_under_an_answer_mistags_no_packet() {
    if !alone(module_path!(), "tag__replaced_five_times_under_an_answer_mistags_no_packet") {
        return;
    }
    shell(&slow("200mbit"));
    let thresholds = [2_000_000, 10_000_000, 20_000_000];
    let conf = Conf {
        thresholds: thresholds.to_vec(),
        ..conf(MessageEnd::TurnThenIdle(flowsieve_core::units::Time::from_us(1_000)))
    };
    tag(&conf);
    let server = serve(V4);
    let seen = captured(|| {
        let asking = thread::spawn(move || ask(&mut connect(server), 60_000_000));
        for _ in 0..5 {
            // By the bytes that were counted, and not by time.
            let sent = counts().bytes.iter().sum::<u64>();
            while counts().bytes.iter().sum::<u64>() < sent + 3_000_000 {
                assert!(!asking.is_finished(), "it is under the answer");
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(tag(&conf), Tagging::Replaced);
        }
        asking.join().expect("all of it");
    });
    let (packets, again) = check(&seen, &[60_000_000], &thresholds);
    assert_eq!((counts().older, counts().begun), (0, 0));
    println!("{packets} packets right, {again} of them sent again, under five replacements");
}
