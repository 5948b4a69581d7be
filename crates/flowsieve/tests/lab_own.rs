//! Labs that stay, for programs of one's own. They need root, and each test says so where it is skipped. Traffic stays in the
//! network namespaces that the labs make.
#![cfg(target_os = "linux")]

use crate::machine::{flowsieve, machine};
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// The programs of the machine that these tests call.
const NEEDS: [&str; 2] = ["ip", "python3"];

/// Three hosts of 50 Mbit/s, and nothing that sends.
const FABRIC: &str = r#"
title = "A fabric for programs"

[topology]
kind = "single-switch"
hosts = 3
host_link = "50Mbps"
link_delay = "250us"

[network]
nic = "scheme"
buffer = "150KB"

[transport]
ack_every = 1
rto_min = "10ms"

[sweep]
scheme = "pias"

[run]
parameters = "rfc"

[schemes.pias]
transport = "cubic"
ecn = false
queues = 2
thresholds = ["20KB"]
"#;

/// Receives all of a connection on port 7, and says how many bytes there were.
const RECEIVE: &str = "import socket
own = socket.create_server(('', 7))
print('listens', flush=True)
peer, _ = own.accept()
total = 0
while data := peer.recv(65536):
    total += len(data)
print(total, flush=True)";

/// Sends 300,000 bytes to host 0.
const SEND: &str = "import socket
with socket.create_connection(('198.18.0.1', 7)) as own:
    own.sendall(bytes(300000))";

/// Asks an address for echoes of 1,400 bytes, and fails unless each comes back within a second.
const PING: &str = "import socket, struct, sys
v6 = ':' in sys.argv[1]
family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
own = socket.socket(family, socket.SOCK_RAW, protocol)
own.settimeout(1)
for number in range(int(sys.argv[2])):
    text = struct.pack('!BBHHH', 128 if v6 else 8, 0, 0, 7, number) + bytes(1400)
    total = sum(struct.unpack('!704H', text))
    total = (total & 0xffff) + (total >> 16)
    own.sendto(text[:2] + struct.pack('!H', 0xffff - total) + text[4:], (sys.argv[1], 0))
    while own.recv(2000)[0 if v6 else 20] != (129 if v6 else 0):
        pass";

/// Says which VLAN tag a frame of the protocol 0x88b5, which is for experiments, has: the kernel takes it out of the frame.
const HEAR_TAG: &str = "import socket, struct
own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
own.setsockopt(263, 8, 1) # SOL_PACKET, PACKET_AUXDATA
print('listens', flush=True)
while True:
    frame, beside, _, _ = own.recvmsg(2000, 200)
    if frame[12:14] == b'\\x88\\xb5':
        print(hex(struct.unpack('IIIHHHH', beside[0][2])[5]), flush=True)
        break";

/// Sends such a frame from host 1 to host 0.
const SEND_TAG: &str = "import socket
own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
own.bind(('eth0', 0))
own.send(b'\\x02\\0\\0\\0\\0\\x01\\x02\\0\\0\\0\\0\\x02\\x81\\0\\x60\\x05\\x88\\xb5' + bytes(100))";

/// A folder with the fabric, and labs that are ended with it, whatever happens.
struct Labs {
    folder: tempfile::TempDir,
    names: Vec<&'static str>,
}

impl Labs {
    fn new(text: &str) -> Labs {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("fabric.toml"), text).expect("a file");
        Labs { folder, names: Vec::new() }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds a lab of this name; returns what it said.
    fn up(&mut self, name: &'static str, more: &[&str]) -> String {
        self.names.push(name);
        let mut command = flowsieve();
        command.args(["lab", "up"]).arg(self.folder.path().join("fabric.toml")).args(["--name", name]);
        command.arg("--out").arg(self.out(name)).args(more);
        said(&mut command)
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        for name in &self.names {
            // Most are down already.
            let _ = flowsieve().args(["lab", "down", "--lab", name]).output();
        }
        let _ = flowsieve().args(["lab", "clean"]).output();
    }
}

/// Returns what a command printed.
fn said(command: &mut Command) -> String {
    let output = command.assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

/// Returns how a command failed.
fn problem(command: &mut Command) -> String {
    let output = command.assert().code(2).get_output().stderr.clone();
    String::from_utf8(output).expect("text")
}

/// Runs a program in a host of a lab.
fn exec(lab: &str, host: &str, program: &[&str]) -> Command {
    let mut command = flowsieve();
    command.args(["lab", "exec", "--lab", lab, host, "--"]).args(program);
    command
}

/// Asks an address for echoes from a host of a lab.
fn ping(lab: &str, host: &str, address: &str, count: &str) -> Command {
    exec(lab, host, &["python3", "-c", PING, address, count])
}

/// Sends 300,000 bytes from host 1 to host 0, over a connection of TCP, and returns how many arrived.
fn transfer(lab: &str) -> String {
    let mut receiver = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    receiver.args(["lab", "exec", "--lab", lab, "0", "--", "python3", "-c", RECEIVE]).stdout(Stdio::piped());
    let mut receiver = receiver.spawn().expect("a receiver");
    let output = receiver.stdout.take().expect("its output");
    let mut lines = BufReader::new(output).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "listens");
    exec(lab, "host1", &["python3", "-c", SEND]).assert().success();
    let total = lines.next().expect("a line").expect("text");
    receiver.wait().expect("its end");
    total
}

fn view(lab: &str) -> Value {
    serde_json::from_str(&said(flowsieve().args(["lab", "watch", "--json", "--lab", lab]))).expect("JSON")
}

/// The flows of a result: source, destination, bytes and whether they finished.
fn flows(out: &Path) -> Vec<(u64, u64, u64, bool)> {
    let text = said(flowsieve().args(["export"]).arg(out).args(["--what", "flows"]));
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let header = rows.headers().expect("a header").clone();
    let at =
        |name: &str| header.iter().position(|column| column == name).unwrap_or_else(|| panic!("{name}: {header:?}"));
    let [src, dst, bytes, fct] = ["src", "dst", "bytes", "fct_ps"].map(at);
    let number = |row: &csv::StringRecord, place: usize| row[place].parse().expect("a number");
    rows.records()
        .map(|row| row.expect("a row"))
        .map(|row| (number(&row, src), number(&row, dst), number(&row, bytes), !row[fct].is_empty()))
        .collect()
}

/// The counts of a result by name, from its manifest.
fn count(out: &Path, name: &str) -> u64 {
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).expect("a manifest")).expect("JSON");
    find(&manifest, name).and_then(Value::as_u64).unwrap_or(0)
}

fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(name).or_else(|| map.values().find_map(|value| find(value, name))),
        Value::Array(list) => list.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

/// Every frame is accounted for: those received went into the fabric or nowhere, and what went in came out, was dropped, or is
/// inside.
fn assert_accounted(out: &Path) {
    let of = |name: &str| count(out, &format!("lab {name}"));
    let into = of("packets delivered") + of("packets dropped") + of("packets inside at the end");
    assert_eq!(of("frames received"), into + of("frames for no host") + of("frames too long"));
    assert_eq!(of("packets delivered"), of("frames sent") + of("frames not sent"));
}

/// Hosts reach each other by TCP and ICMP, over IPv4, IPv6 and VLANs; a transfer is a flow; the result has it; nothing is left.
#[test]
fn lab_up__programs_of_ones_own() {
    let Some(_machine) = machine("lab_up__programs_of_ones_own", &NEEDS) else { return };
    let mut labs = Labs::new(FABRIC);
    let told = labs.up("own", &[]);
    assert!(told.contains("the lab own runs, with pias\n  host0  198.18.0.1  2001:2::1"), "{told}");
    ping("own", "host1", "198.18.0.1", "3").assert().success();
    ping("own", "host2", "2001:2::1", "2").assert().success();
    // A VLAN tag passes, too: number 5 with priority 3.
    let mut listener = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    listener.args(["lab", "exec", "--lab", "own", "0", "--", "python3", "-c", HEAR_TAG]).stdout(Stdio::piped());
    let mut listener = listener.spawn().expect("a listener");
    let mut lines = BufReader::new(listener.stdout.take().expect("its output")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "listens");
    exec("own", "1", &["python3", "-c", SEND_TAG]).assert().success();
    assert_eq!(lines.next().expect("a line").expect("text"), "0x6005");
    listener.wait().expect("its end");
    // The exit status is the program's; another host, and another program, are named.
    exec("own", "host1", &["sh", "-c", "exit 7"]).assert().code(7);
    assert!(problem(&mut exec("own", "host9", &["true"])).contains("expected one of host0, host1, host2"));
    assert!(problem(&mut exec("own", "host1", &["no-such-program"])).contains("cannot run no-such-program"));
    // Hosts have the experiment's congestion control without a word of their programs.
    assert!(said(&mut exec("own", "0", &["ip", "route"])).contains("rto_min lock 10ms"));
    assert!(said(&mut exec("own", "0", &["ip", "route"])).contains("congctl cubic"));
    assert_eq!(transfer("own"), "300000");
    let table = said(flowsieve().args(["lab", "watch", "--once", "--lab", "own"]));
    let row = table.lines().find(|line| line.starts_with("host1 to ")).expect("the port of the sender");
    assert!(table.starts_with("own: pias, ") && row.contains('%'), "{table}");
    let view = view("own");
    let of_sender = &view["ports"].as_array().expect("ports")[1];
    let by_queue: Vec<u64> =
        of_sender["by_queue"].as_array().expect("queues").iter().filter_map(Value::as_u64).collect();
    // 300,000 bytes are 206 packets of 1,460, and the first 14 begin within 20,000 bytes; acknowledgements and the rest are
    // above.
    assert!(by_queue[0] >= 14 && by_queue[1] >= 192, "{by_queue:?}");
    assert_eq!(of_sender["waiting_by_queue"], serde_json::json!([0, 0]), "all has left");
    let shown = said(flowsieve().args(["lab", "down", "--lab", "own"]));
    assert!(shown.contains("pias"), "{shown}");
    let out = labs.out("own");
    assert!(flows(&out).contains(&(1, 0, 300_000, true)), "{:?}", flows(&out));
    assert_accounted(&out);
    assert!(problem(flowsieve().args(["lab", "watch", "--once", "--lab", "own"])).contains("find a lab `own`"));
}

/// Two labs run at once, and neither sees the other's hosts. A name that is taken is an error, and so is a missing name.
#[test]
fn lab_up__two_at_once() {
    let Some(_machine) = machine("lab_up__two_at_once", &NEEDS) else { return };
    let mut labs = Labs::new(FABRIC);
    labs.up("first", &[]);
    let mut again = flowsieve();
    again.args(["lab", "up"]).arg(labs.folder.path().join("fabric.toml")).args(["--name", "first", "--out"]);
    assert!(problem(again.arg(labs.out("elsewhere"))).contains("has a lab of that name"));
    labs.up(
        "second",
        &["--set", "scheme=qc-las", "--set", "schemes.qc-las.transport=cubic", "--set", "message_gap=5ms"],
    );
    assert!(
        problem(flowsieve().args(["lab", "down"])).contains("several run; expected --lab with one of first, second")
    );
    assert_eq!([transfer("first"), transfer("second")], ["300000", "300000"]);
    for name in ["first", "second"] {
        flowsieve().args(["lab", "down", "--lab", name]).assert().success();
        // On a busy machine a pause may part the transfer into messages.
        let of_sender = flows(&labs.out(name)).into_iter().filter(|flow| (flow.0, flow.1) == (1, 0));
        assert_eq!(of_sender.map(|flow| flow.2).sum::<u64>(), 300_000);
        assert_accounted(&labs.out(name));
    }
}

/// Waits for something that another process does, and fails where it never does.
fn until(mut is_so: impl FnMut() -> bool) {
    const ATTEMPTS: u32 = 1_200;
    for _ in 0..ATTEMPTS {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not happen within a minute");
}

/// Returns whether a process runs the program of this name.
fn is_named(process: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|comm| comm.trim_end() == name)
}

/// Returns whether a process is there, and not a zombie.
fn is_there(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}

/// A lab that is killed is told apart from one that runs, and `lab clean` removes what it has left, programs too.
#[test]
fn lab_up__a_killed_lab_is_cleaned() {
    let Some(_machine) = machine("lab_up__a_killed_lab_is_cleaned", &NEEDS) else { return };
    let mut labs = Labs::new(FABRIC);
    let told = labs.up("killed", &[]);
    let namespace =
        told.lines().find_map(|line| line.strip_prefix("  host0")?.rsplit(' ').next()).expect("a namespace");
    let process = namespace.split('-').nth(2).expect("a process").to_owned();
    let mut sleeper = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    let mut sleeper =
        sleeper.args(["lab", "exec", "--lab", "killed", "0", "--", "sleep", "600"]).spawn().expect("a program");
    until(|| is_named(sleeper.id(), "sleep"));
    Command::new("kill").args(["-KILL", &process]).assert().success();
    until(|| !is_there(&process));
    assert!(problem(&mut exec("killed", "0", &["true"])).contains("it was killed; expected `flowsieve lab clean`"));
    let mut again = flowsieve();
    again.args(["lab", "up"]).arg(labs.folder.path().join("fabric.toml")).args(["--name", "killed"]);
    assert!(problem(&mut again).contains("a lab of that name was killed; expected `flowsieve lab clean` first"));
    let cleaned = said(flowsieve().args(["lab", "clean"]));
    assert!(cleaned.contains("removed the name killed") && cleaned.contains(namespace), "{cleaned}");
    assert!(!Path::new("/run/netns").join(namespace).exists());
    assert!(!sleeper.wait().expect("its end").success());
    labs.up("killed", &[]);
}

/// A device that goes down and comes back, a namespace that vanishes, and a program that ends with the lab: nothing crashes, and
/// every frame is accounted for.
#[test]
fn lab_up__devices_that_fail() {
    let Some(_machine) = machine("lab_up__devices_that_fail", &NEEDS) else { return };
    let mut labs = Labs::new(FABRIC);
    let told = labs.up("fails", &[]);
    let namespace =
        |host: &str| told.lines().find_map(|line| line.strip_prefix(host)?.rsplit(' ').next()).expect("a namespace");
    let switch = namespace("  host0").replace("-h0", "-sw");
    let link = |what: &str| {
        Command::new("ip").args(["-n", &switch, "link", "set", "h0", what]).assert().success();
    };
    let asks = |address: &str| ping("fails", "1", address, "2");
    link("down");
    asks("198.18.0.1").assert().code(1);
    link("up");
    asks("198.18.0.1").assert().success();
    Command::new("ip").args(["netns", "del", namespace("  host2")]).assert().success();
    asks("198.18.0.3").assert().code(1);
    asks("198.18.0.1").assert().success();
    assert!(view("fails")["received"].as_u64().expect("a number") > 0);
    let mut sleeper = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    let mut sleeper = sleeper.args(["lab", "exec", "--lab", "fails", "0", "--", "sleep", "600"]).spawn().expect("one");
    until(|| is_named(sleeper.id(), "sleep"));
    flowsieve().args(["lab", "down", "--lab", "fails"]).assert().success();
    assert!(!sleeper.wait().expect("its end").success());
    let out = labs.out("fails");
    assert!(count(&out, "lab frames not sent") > 0);
    assert_eq!(count(&out, "lab programs ended"), 1);
    assert_accounted(&out);
}

/// Ctrl-C ends a lab in the foreground like `lab down`: with a result, and nothing is left.
#[test]
fn lab_up__ctrl_c_writes_the_result() {
    let Some(_machine) = machine("lab_up__ctrl_c_writes_the_result", &NEEDS) else { return };
    let labs = Labs::new(FABRIC);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    command.args(["lab", "up"]).arg(labs.folder.path().join("fabric.toml"));
    command.args(["--name", "front", "--foreground", "--out"]).arg(labs.out("front")).stdout(Stdio::null());
    let mut lab = command.spawn().expect("a lab");
    let watch = ["lab", "watch", "--once", "--lab", "front"];
    until(|| flowsieve().args(watch).output().is_ok_and(|seen| seen.status.success()));
    ping("front", "1", "198.18.0.1", "1").assert().success();
    Command::new("kill").args(["-INT", &lab.id().to_string()]).assert().success();
    assert!(lab.wait().expect("its end").success());
    assert!(count(&labs.out("front"), "lab frames received") >= 2);
    let left = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let own = format!("flowsieve-lab-{}-", lab.id());
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count(), 0);
}

/// What programs do not tell, schemes must do without; a sweep is no lab.
#[test]
fn lab_up__refuses_what_it_cannot_be() {
    let labs = Labs::new(FABRIC);
    let cases = [
        (
            &["--set", "scheme=qc-srpt", "--set", "schemes.qc-srpt.transport=cubic"][..],
            "do not tell: size of the message",
        ),
        (&["--set", "scheme=pias,qc-las"], "a lab is one run, and this experiment has 2"),
        (&["--set", "nic=backpressure"], "nic = \"scheme\" in [network]"),
        (&["--name", "a/b"], "call a lab `a/b`"),
    ];
    for (more, expected) in cases {
        let mut command = flowsieve();
        command.args(["lab", "up", "--foreground"]).arg(labs.folder.path().join("fabric.toml")).args(more);
        let told = problem(command.arg("--out").arg(labs.out("none")));
        assert!(told.contains(expected), "{more:?}: {told}");
    }
    let mut run = flowsieve();
    run.args(["lab", "run"]).arg(labs.folder.path().join("fabric.toml")).args(["--set", "programs=own", "--out"]);
    assert!(problem(run.arg(labs.out("run"))).contains("expected `flowsieve lab up`"));
    assert!(problem(flowsieve().args(["lab", "exec", "--lab", "nowhere", "host0", "--", "true"])).contains("nowhere"));
}
