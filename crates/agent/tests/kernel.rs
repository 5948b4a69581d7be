//! The programs in this machine's kernel, as root. Each test runs in a process with network and mount namespaces of its own, so
//! that nothing of it stays; traffic is between two further namespaces in it. Where BPF is not permitted a line says so.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use flowsieve_agent::maps::{Conf, Counts, RULES};
use flowsieve_agent::{Bins, Class, Device, Kind, Pinned, Side, Tagging};
use flowsieve_core::packet_flow::MessageEnd;
use flowsieve_core::taggers::demotion::level;
use flowsieve_lab::calls::{BATCH, Frames, PacketSocket, Received};
use flowsieve_lab::linux::enter;

/// Says to a process that it is alone.
const ALONE: &str = "FLOWSIEVE_AGENT_ALONE";
const THRESHOLDS: [u64; 3] = [20_000, 100_000, 400_000];
const DSCPS: [u8; 4] = [34, 26, 18, 10];
const PORT: u16 = 7_001;
/// The server's device, at which the agent is.
const DEVICE: &str = "s0";

/// Returns whether this process is alone. If not, it runs the test in one that is, or says why not.
fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let may = Command::new("unshare").args(["--mount", "--net", "sh", "-c", SET_UP, "true"]).output();
    let problem = match may {
        Ok(done) if done.status.success() => None,
        Ok(done) => Some(String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or("no").to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        println!("{test}: skipped: needs root with BPF, unshare and ip: {problem}");
        return false;
    }
    let own = std::env::current_exe().expect("a program");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "sh", "-c", SET_UP]).arg(own);
    let done = command
        .args(["--exact", &format!("kernel::{test}"), "--nocapture", "--include-ignored"])
        .env(ALONE, "1")
        .output();
    let done = done.expect("it runs");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert!(text.contains("1 passed"), "{text}");
    print!("{text}");
    false
}

/// A place for names and pins that nothing else sees, and two hosts, s and c.
const SET_UP: &str = "set -e
mount -t tmpfs none /run
mount -t bpf none /sys/fs/bpf
ip netns add s
ip netns add c
ip link add s0 netns s type veth peer name c0 netns c
for x in s:1 c:2; do
    n=${x%:*}
    ip -n $n addr add 198.18.0.${x#*:}/24 dev ${n}0
    ip -n $n addr add 2001:2::${x#*:}/48 dev ${n}0 nodad
    ip -n $n link set ${n}0 up
    ip -n $n link set lo up
done
exec \"$0\" \"$@\"";

/// Runs a command line, which must succeed.
fn shell(line: &str) {
    let done = Command::new("sh").args(["-c", line]).output().expect("a shell");
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Runs something in a host.
fn within<T: Send>(host: &str, what: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            enter(host).expect("a host");
            what()
        });
        run.join().expect("it ends well")
    })
}

fn device() -> Device {
    Device::find(DEVICE).expect("the device")
}

fn conf(end: MessageEnd) -> Conf {
    Conf { thresholds: THRESHOLDS.to_vec(), dscps: DSCPS.to_vec(), end, percent: 100, dry: false, middle: true }
}

/// Attaches `tag` at the server.
fn tag(conf: &Conf) -> Tagging {
    within("s", || flowsieve_agent::tag(&device(), Kind::Tag, conf).expect("it attaches"))
}

fn counts() -> Counts {
    within("s", || flowsieve_agent::status(&device(), Kind::Tag).expect("it is there").counts)
}

/// Serves requests of eight bytes, each for as many bytes as it says, on every connection, for as long as the process lives.
fn serve(at: IpAddr) -> SocketAddr {
    let at = SocketAddr::new(at, PORT);
    let listener = within("s", || TcpListener::bind(at).expect("a port"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            thread::spawn(move || {
                let mut wanted = [0; 8];
                while stream.read_exact(&mut wanted).is_ok() {
                    let answer = vec![7; u64::from_le_bytes(wanted) as usize];
                    if stream.write_all(&answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    at
}

fn connect(to: SocketAddr) -> TcpStream {
    within("c", || TcpStream::connect(to).expect("a server"))
}

fn ask(stream: &mut TcpStream, bytes: u64) {
    stream.write_all(&bytes.to_le_bytes()).expect("it asks");
    let mut left = vec![0; bytes as usize];
    stream.read_exact(&mut left).expect("all of the answer");
}

const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 0, 1));
const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1));

/// A data packet of the server.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The port of its peer: a connection.
    peer: u16,
    seq: u32,
    len: u32,
    dscp: u8,
    ecn: u8,
    /// Whether the sum of IPv4's header is right.
    summed: bool,
    syn: bool,
}

/// Reads a frame of TCP over IP from the server's port.
fn packet_of(frame: &[u8], len: u32) -> Option<Seen> {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (field, tcp, summed) = match word(12) {
        0x0800 if frame[23] == 6 => {
            let sum = (14..34).step_by(2).map(|at| u32::from(word(at))).sum::<u32>();
            (frame[15], 34, (sum & 0xffff) + (sum >> 16) == 0xffff)
        }
        0x86dd if frame[20] == 6 => ((word(14) >> 4) as u8, 54, true),
        _ => return None,
    };
    let header = tcp + usize::from(frame[tcp + 12] >> 4) * 4;
    (word(tcp) == PORT).then(|| Seen {
        peer: word(tcp + 2),
        seq: u32::from(word(tcp + 4)) << 16 | u32::from(word(tcp + 6)),
        len: len - header as u32,
        dscp: field >> 2,
        ecn: field & 3,
        summed,
        syn: frame[tcp + 13] & 2 != 0,
    })
}

/// Captures at the client what the server sends while `traffic` runs.
fn captured(traffic: impl FnOnce()) -> Vec<Seen> {
    captured_as(packet_of, traffic)
}

/// The same of all frames that `read` knows.
fn captured_as<T: Send + 'static>(read: fn(&[u8], u32) -> Option<T>, traffic: impl FnOnce()) -> Vec<T> {
    let (end, ends) = channel::<()>();
    let (ready, readies) = channel::<()>();
    let capture = thread::spawn(move || {
        enter("c").expect("a host");
        let mut socket = PacketSocket::open(&["c0"]).expect("a packet socket");
        ready.send(()).expect("it is awaited");
        let mut frames = Frames::new(BATCH);
        let room: Vec<u32> = (0..BATCH as u32).collect();
        let (mut seen, mut quiet) = (Vec::new(), None::<Instant>);
        loop {
            let mut received: Vec<Received> = Vec::new();
            socket.receive(&mut frames, &room, &mut received).expect("frames");
            seen.extend(received.iter().filter_map(|one| read(frames.get_mut(one.frame), one.len)));
            if !received.is_empty() {
                quiet = None;
            } else if ends.try_recv() != Err(TryRecvError::Empty) {
                // What was sent before the end has come after a while without any.
                if quiet.get_or_insert_with(Instant::now).elapsed() > Duration::from_millis(50) {
                    break;
                }
            } else {
                thread::sleep(Duration::from_micros(200));
            }
        }
        assert_eq!(socket.lost().expect("statistics"), 0, "the capture has all");
        seen
    });
    readies.recv().expect("a capture");
    traffic();
    drop(end);
    capture.join().expect("a capture")
}

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

/// No super-packets: every packet has its own tag.
const SINGLY: &str = "ip -n s link set s0 gso_max_segs 1";
const ECN: &str = "; for n in s c; do nsenter --net=/run/netns/$n sysctl -qw net.ipv4.tcp_ecn=1; done";

#[test]
fn tag__every_packet_has_the_level_of_core_in_ipv4_and_ecn_bits_stay() {
    if alone("tag__every_packet_has_the_level_of_core_in_ipv4_and_ecn_bits_stay") {
        let (packets, _, seen) = three_messages(V4, &format!("{SINGLY}{ECN}"));
        let capable = seen.iter().filter(|packet| packet.len > 0 && packet.ecn == 2).count();
        assert!(packets > 1_300 && capable > packets / 2, "{capable} of {packets}");
    }
}

#[test]
fn tag__every_packet_has_the_level_of_core_in_ipv6() {
    if alone("tag__every_packet_has_the_level_of_core_in_ipv6") {
        three_messages(V6, SINGLY);
    }
}

/// A line that is slower than its senders, with a short queue.
fn slow(rate: &str) -> String {
    format!("{SINGLY}; tc -n s qdisc add dev s0 root tbf rate {rate} burst 20k limit 40k")
}

#[test]
fn tag__every_packet_has_the_level_of_core_where_packets_are_lost() {
    if alone("tag__every_packet_has_the_level_of_core_where_packets_are_lost") {
        three_messages(V4, &slow("200mbit"));
        assert!(counts().again > 0, "{:?}", counts());
    }
}

#[test]
fn tag__leaves_what_has_a_mark_or_is_not_chosen() {
    if !alone("tag__leaves_what_has_a_mark_or_is_not_chosen") {
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
    if !alone("tag__a_share_of_the_sockets") {
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
    if !alone("tag__a_connection_that_stood_before_begins_in_the_lowest_level_that_it_could_be_in") {
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
    if !alone("tag__super_packets_have_the_tag_of_their_middle_or_first_byte") {
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
    if !alone("tag__replaced_five_times_under_an_answer_mistags_no_packet") {
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

/// Returns how a call failed: in one line, which says what was expected.
fn problem<T: std::fmt::Debug>(result: Result<T, flowsieve_agent::AgentError>) -> String {
    let text = result.expect_err("it is refused").to_string();
    assert!(!text.contains('\n') && text.contains("expected"), "{text}");
    text
}

#[test]
fn tag__goes_away_whole() {
    if !alone("tag__goes_away_whole") {
        return;
    }
    let own = conf(MessageEnd::Turn);
    within("s", || {
        let programs = || device().programs().expect("programs").len();
        let pins = || Path::new(flowsieve_agent::FOLDER).read_dir().map_or(0, Iterator::count);
        let attach = |kind| flowsieve_agent::tag(&device(), kind, &own);
        let detach = |kind| flowsieve_agent::detach(&device(), kind);
        assert!(problem(detach(Kind::Tag)).contains("no agent's tag program is there"));
        // Both kinds at one device, and none after.
        assert_eq!((attach(Kind::Tag), attach(Kind::Copy)), (Ok(Tagging::New), Ok(Tagging::New)));
        assert_eq!((programs(), pins()), (2, 1));
        assert_eq!((detach(Kind::Copy), programs(), pins()), (Ok(true), 1, 1));
        assert_eq!((detach(Kind::Tag), programs(), pins()), (Ok(true), 0, 0));

        // Twice is a replacement. What another has attached is refused, and stays.
        assert_eq!((attach(Kind::Tag), attach(Kind::Tag)), (Ok(Tagging::New), Ok(Tagging::Replaced)));
        assert_eq!(programs(), 1);
        std::fs::rename(flowsieve_agent::FOLDER, "/sys/fs/bpf/another").expect("a name");
        assert!(problem(attach(Kind::Tag)).contains("another agent's program is there already (flowsieve_tag, "));
        assert_eq!((programs(), pins()), (1, 0));
        std::fs::rename("/sys/fs/bpf/another", flowsieve_agent::FOLDER).expect("a name");

        // Maps of another version are refused, and stay as they are.
        let folder =
            Path::new(flowsieve_agent::FOLDER).read_dir().expect("a folder").next().expect("a device").expect("it");
        let map = aya::maps::MapData::from_pin(folder.path().join("tag/conf")).expect("a map");
        let mut map = aya::maps::Array::<_, [u64; 16]>::try_from(aya::maps::Map::Array(map)).expect("an array");
        let head = map.get(&0, 0).expect("its head");
        map.set(0, [99; 16], 0).expect("it takes it");
        assert!(problem(attach(Kind::Tag)).contains("maps of another version"));
        assert!(problem(flowsieve_agent::status(&device(), Kind::Tag)).contains("flowsieve agent detach s0"));
        assert_eq!((map.get(&0, 0).expect("its head"), programs()), ([99; 16], 1));
        map.set(0, head, 0).expect("it takes it");

        // The device goes, and another one comes by its name: the pin is dead, is said to be, and is cleared.
        shell("ip -n s link del s0");
        assert!(problem(Device::find(DEVICE)).contains("s0: "));
        shell("ip link add s0 netns s type veth peer name c0 netns c && ip -n s link set s0 up");
        assert_eq!(flowsieve_agent::pinned(&device(), Kind::Tag), Ok(Pinned::Dead));
        assert_eq!((attach(Kind::Tag), programs(), pins()), (Ok(Tagging::AfterGone), 1, 1));
        assert!(matches!(flowsieve_agent::pinned(&device(), Kind::Tag), Ok(Pinned::Attached(_))));
        shell("ip -n s link del s0 && ip link add s0 netns s type veth peer name c0 netns c && ip -n s link set s0 up");
        assert_eq!((detach(Kind::Tag), programs(), pins()), (Ok(false), 0, 0));
    });
}

#[test]
fn find__refuses_devices_without_ethernet_and_machines_without_pins() {
    if !alone("find__refuses_devices_without_ethernet_and_machines_without_pins") {
        return;
    }
    within("s", || {
        assert!(problem(Device::find("no-such")).contains("no-such: "));
        shell("ip -n s tuntap add t0 mode tun");
        assert!(problem(Device::find("t0")).contains("packets without Ethernet's header"));
    });
    shell("umount /sys/fs/bpf");
    assert!(problem(within("s", || Device::find(DEVICE))).contains("mount -t bpf"));
}

/// Eight-octave sizes from 100 B to 800 KB, the same each time.
fn sizes(count: u64) -> Vec<u64> {
    (0..count)
        .map(|at| 100 + (at * 7_919 % 800) * (at * 104_729 % 1_000) * if at % 3 == 0 { 1 } else { 0 } + at % 977)
        .collect()
}

#[test]
fn record__finds_every_message_in_its_bin() {
    if !alone("record__finds_every_message_in_its_bin") {
        return;
    }
    let classes = [(Class::Port(PORT), "web".to_owned())];
    let answers = within("s", || flowsieve_agent::record(&device(), &classes).expect("it records"));
    let requests =
        within("c", || flowsieve_agent::record(&Device::find("c0").expect("it"), &classes).expect("it records"));
    let twice = within("s", || flowsieve_agent::record(&device(), &[]).map(drop));
    assert!(problem(twice).contains("a record runs there already"));
    let (server, sizes) = (serve(V4), sizes(2_000));
    let mut truth = Bins::default();
    sizes.iter().for_each(|&size| truth.add(size));
    thread::scope(|scope| {
        for own in sizes.chunks(250) {
            scope.spawn(move || {
                let mut stream = connect(server);
                own.iter().for_each(|&size| ask(&mut stream, size));
            });
        }
    });
    let begun = Instant::now();
    let found = loop {
        let found = answers.sizes(1, Side::Own).expect("sizes");
        // The last of a connection ends with it.
        if found[0].total().messages >= 2_000 || begun.elapsed() > Duration::from_secs(5) {
            break found;
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(found[0], truth, "by turn");
    assert_eq!(
        requests.sizes(1, Side::Peer).expect("sizes")[0].total(),
        flowsieve_agent::Bin { messages: 2_000, bytes: 16_000 }
    );
    for (of, class, side) in [(&answers, 1, Side::Peer), (&answers, 0, Side::Own), (&requests, 1, Side::Own)] {
        assert_eq!(of.sizes(class, side).expect("sizes")[0], Bins::default(), "the sides are apart");
    }
    let counts = answers.counts().expect("counts");
    assert_eq!((counts.begun_by[0], counts.older, counts.unknown), (2_000, 0, 0), "{counts:?}");
    let by_rule = found.each_ref().map(|bins| bins.total().messages);
    println!("2000 messages without pauses, by {:?}: {by_rule:?} found", RULES);
    assert!(found.iter().all(|bins| bins.total().bytes == truth.total().bytes), "every rule has all bytes");
}

#[test]
fn record__a_peer_that_ends_its_side_sends_no_request_and_older_messages_are_not_sizes() {
    if !alone("record__a_peer_that_ends_its_side_sends_no_request_and_older_messages_are_not_sizes") {
        return;
    }
    shell(&slow("100mbit"));
    let server = serve(V4);
    let mut older = connect(server);
    ask(&mut older, 50_000);
    let record = within("s", || flowsieve_agent::record(&device(), &[]).expect("it records"));
    // Its beginning is not seen; the next one's is.
    ask(&mut older, 60_000);
    ask(&mut older, 70_000);
    drop(older);
    // The end of the client's side comes under the answer of 2 MB.
    let mut half = connect(server);
    half.write_all(&2_000_000u64.to_le_bytes()).expect("it asks");
    let mut left = vec![0; 2_000_000];
    half.read_exact(&mut left[..500_000]).expect("the first part");
    half.shutdown(Shutdown::Write).expect("an end");
    half.read_exact(&mut left[500_000..]).expect("the rest");
    drop(half);
    let mut truth = Bins::default();
    [70_000, 2_000_000].into_iter().for_each(|size| truth.add(size));
    let begun = Instant::now();
    while record.sizes(0, Side::Own).expect("sizes")[0].total().messages < 2 && begun.elapsed() < Duration::from_secs(5)
    {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(record.sizes(0, Side::Own).expect("sizes")[0], truth);
    let counts = record.counts().expect("counts");
    assert_eq!((counts.older, counts.unknown, counts.begun_by[0]), (1, 1, 2), "{counts:?}");
    drop(record);
    assert_eq!(within("s", || device().programs()), Ok(Vec::new()), "it goes when it is dropped");
}

/// Says to a process that it is to record until it is killed.
const CHILD: &str = "FLOWSIEVE_AGENT_CHILD";

#[test]
fn record__goes_with_a_process_that_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        let _record = within("s", || flowsieve_agent::record(&device(), &[]).expect("it records"));
        println!("records");
        thread::sleep(Duration::from_secs(60));
        return;
    }
    if !alone("record__goes_with_a_process_that_is_killed") {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--exact", "kernel::record__goes_with_a_process_that_is_killed", "--nocapture"]);
    let mut child = command.env(CHILD, "1").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut text = String::new();
    let mut output = child.stdout.take().expect("its output");
    while !text.contains("records\n") {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("it says so");
        text.push(char::from(byte[0]));
    }
    let programs = || within("s", || device().programs().expect("programs"));
    assert_eq!(programs().len(), 1);
    // SIGKILL.
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let begun = Instant::now();
    while !programs().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", programs());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn copy__writes_the_inner_dscp_into_the_outer_header() {
    if !alone("copy__writes_the_inner_dscp_into_the_outer_header") {
        return;
    }
    shell(
        "for x in s:1:2 c:2:1; do n=${x%%:*}; i=${x#*:}; own=${i%:*}; peer=${i#*:}
             ip -n $n link add vx0 type vxlan id 7 dev ${n}0 remote 198.18.0.$peer dstport 4789
             ip -n $n addr add 198.19.0.$own/24 dev vx0; ip -n $n link set vx0 up gso_max_segs 1
         done",
    );
    let own = conf(MessageEnd::Turn);
    within("s", || {
        let inside = Device::find("vx0").expect("the tunnel");
        flowsieve_agent::tag(&inside, Kind::Tag, &own).expect("it attaches");
        flowsieve_agent::tag(&device(), Kind::Copy, &own).expect("it attaches");
    });
    let server = serve(IpAddr::from([198, 19, 0, 1]));
    // DSCPs outside and inside of what the server sends.
    let read = |frame: &[u8], _| {
        let is_tunnel = frame[12..14] == [8, 0] && frame[23] == 17 && frame[36..38] == [0x12, 0xb5] && frame[29] == 1;
        (is_tunnel && frame[62..64] == [8, 0] && frame[73] == 6).then(|| (frame[15] >> 2, frame[65] >> 2))
    };
    let seen = captured_as(read, || ask(&mut connect(server), 600_000));
    assert!(seen.len() > 300, "{}", seen.len());
    for dscp in DSCPS {
        assert!(seen.contains(&(dscp, dscp)), "{dscp}");
    }
    // A SYN-ACK has no socket, and no mark.
    assert!(seen.iter().all(|&(outer, inner)| outer == inner), "{seen:?}");
    let counts = within("s", || flowsieve_agent::status(&device(), Kind::Copy).expect("it is there").counts);
    assert!(counts.copied > 300, "{counts:?}");
}

/// What `tag` costs above a program that does nothing, for super-packets: printed, and no bar.
#[test]
#[ignore = "a measurement: run it by its name on a machine at rest"]
fn cost__of_tag_and_record_above_a_program_that_does_nothing() {
    use aya::programs::tc::TcAttachOptions;
    use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
    if !alone("cost__of_tag_and_record_above_a_program_that_does_nothing") {
        return;
    }
    let _stats = aya::sys::enable_stats(aya::sys::Stats::RunTime).expect("statistics");
    let server = serve(V4);
    let run = |kind: &str| {
        let object = aya::include_bytes_aligned!("../bpf/agent.bpf.o");
        let mut loaded = None;
        let mut recording = None;
        within("s", || match kind {
            "tag" => _ = flowsieve_agent::tag(&device(), Kind::Tag, &conf(MessageEnd::Turn)).expect("it attaches"),
            "record" => recording = Some(flowsieve_agent::record(&device(), &[]).expect("it records")),
            _ => {
                let mut all = aya::EbpfLoader::new().load(object).expect("the object");
                let program: &mut SchedClassifier =
                    all.program_mut("flowsieve_empty").expect("it").try_into().expect("it");
                program.load().expect("it loads");
                let options = TcAttachOptions::TcxOrder(LinkOrder::default());
                program.attach_with_options(DEVICE, TcAttachType::Egress, options).expect("it attaches");
                loaded = Some(all);
            }
        });
        ask(&mut connect(server), 500_000_000);
        let (_, programs) = within("s", || SchedClassifier::query_tcx(DEVICE, TcAttachType::Egress).expect("programs"));
        let runs = programs[0].run_count();
        let cost = programs[0].run_time().as_nanos() as f64 / runs as f64;
        if kind == "tag" {
            within("s", || flowsieve_agent::detach(&device(), Kind::Tag).expect("it goes"));
        }
        (cost, 500_000_000.0 / runs as f64)
    };
    let mut costs = [const { Vec::new() }; 3];
    for _ in 0..7 {
        for (costs, kind) in costs.iter_mut().zip(["empty", "tag", "record"]) {
            costs.push(run(kind));
        }
    }
    for (costs, kind) in costs.iter_mut().zip(["empty", "tag", "record"]) {
        costs.sort_by(|one, other| one.0.total_cmp(&other.0));
        println!(
            "{kind}: median {:.0} ns a run of {:.0} bytes ({:.0} to {:.0})",
            costs[3].0, costs[3].1, costs[0].0, costs[6].0
        );
    }
}
