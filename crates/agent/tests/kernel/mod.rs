//! The programs in this machine's kernel, as root. Each test runs in a process with network and mount namespaces of its own, so
//! that nothing of it stays; traffic is between two further namespaces in it. Where BPF is not permitted a line says so.

mod life;
mod tags;

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
fn alone(module: &str, test: &str) -> bool {
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
    // As the test is named in this program.
    let path = format!("{}::{test}", module.split_once("::").map_or(module, |(_, path)| path));
    let own = std::env::current_exe().expect("a program");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "sh", "-c", SET_UP]).arg(own);
    let done = command.args(["--exact", &path, "--nocapture", "--include-ignored"]).env(ALONE, "1").output();
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

/// No super-packets: every packet has its own tag.
const SINGLY: &str = "ip -n s link set s0 gso_max_segs 1";

/// A line that is slower than its senders, with a short queue.
fn slow(rate: &str) -> String {
    format!("{SINGLY}; tc -n s qdisc add dev s0 root tbf rate {rate} burst 20k limit 40k")
}
