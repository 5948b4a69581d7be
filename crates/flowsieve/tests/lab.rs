//! The lab on this machine. It needs root, and each test says so where it is skipped. Traffic stays in the network namespaces
//! that the lab makes.
#![cfg(target_os = "linux")]

use crate::machine::{flowsieve, machine};
use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// The programs of the machine that these tests call.
const NEEDS: [&str; 1] = ["ip"];
/// What the lab's DCTCP needs, too, apart from headers of libbpf and the kernel's permission.
const NEEDS_OF_DCTCP: [&str; 2] = ["ip", "clang"];

/// Three hosts of 20 Mbit/s, small flows, a second.
const SECOND: &str = r#"
title = "A second on Linux"

[topology]
kind = "single-switch"
hosts = 3
host_link = "20Mbps"
link_delay = "250us"
host_delay = "20us"

[network]
nic = "scheme"
buffer = "60KB"
ecn_threshold = "15KB"

[transport]
ack_every = 1
handshake = "none"
connections = "warm"
rto_min = "10ms"

[workload]
sizes = "fixed(20KB)"
load = 0.5
flows = 150

[run]
parameters = "rfc"
fct_end = "arrival"

[sweep]
scheme = ["fifo", "pias"]

[schemes.fifo]
base = "dctcp"
transport = "tcp"

[schemes.pias]
transport = "tcp"
queues = 2
thresholds = ["5KB"]

[lab]
connections_per_pair = 8
"#;

/// Returns what a lab printed; `None`, with a line that says so, if the machine was too busy for a valid run.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().expect("an answer");
    let [told, said] = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).into_owned());
    // An error says it if no scheme had a valid run. If only some had one, the result says which had none.
    for text in [&told, &said] {
        if text.contains("more than 1 ms late") || text.contains("lost before they were received") {
            eprintln!("skipped: this machine is too busy: {text}");
            return None;
        }
        if text.contains("this machine does not permit DCTCP") {
            eprintln!("skipped: {text}");
            return None;
        }
    }
    assert!(output.status.success(), "{told}");
    Some(said)
}

fn written(folder: &Path, text: &str) -> std::path::PathBuf {
    let file = folder.join("second.toml");
    fs::write(&file, text).expect("a file");
    file
}

/// A second on Linux with other schemes.
fn second_with(schemes: &str) -> String {
    SECOND.split("[sweep]").next().expect("a text").to_owned() + schemes
}

/// What was measured of each point.
fn measured(out: &Path) -> Vec<serde_json::Value> {
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let runs = manifest["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["measured"].clone()).collect()
}

/// The namespaces of a process's lab.
fn namespaces_of(process: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("flowsieve-lab-{process}-"))).collect()
}

/// Every flow of the kernel's TCP finishes, and takes at least its ideal time. Frames and packets are accounted for.
#[test]
fn lab_run__all_flows_finish() {
    let Some(_machine) = machine("lab_run__all_flows_finish", &NEEDS) else { return };
    let Some((_folder, out)) = ran(SECOND) else { return };
    for scheme in ["fifo", "pias"] {
        assert_eq!(value(&out, scheme, "all", "flows"), 150.0);
        assert!(value(&out, scheme, "all", "slowdown_mean") > 1.0);
    }
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    assert!(manifest.contains("rto_min 10ms initcwnd 10 quickack 1"), "{manifest}");
}

/// The built-in demonstration: short messages overtake bulk transfers where ports have priorities.
#[test]
fn lab_run__the_demonstration() {
    let Some(_machine) = machine("lab_run__the_demonstration", &NEEDS) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut command = flowsieve();
    command.args(["lab", "run", "lab/demonstration", "--scale", "smoke", "--set", "scheme=fifo,pias,qc-las"]);
    let Some(_) = printed(command.arg("--out").arg(&out)) else { return };
    let p50 = |scheme: &str| value(&out, scheme, "0-1KB", "fct_p50_us");
    // The bar is 15; a median of 50 messages beside other work has room.
    assert!(p50("fifo") > 5.0 * p50("pias") && p50("fifo") > 5.0 * p50("qc-las"));
}

/// Runs an experiment in the lab. Returns its folder, which lasts as long as that is kept, and the folder of its result.
fn ran(text: &str) -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (written(folder.path(), text), folder.path().join("out"));
    printed(flowsieve().args(["lab", "run"]).arg(file).arg("--out").arg(&out))?;
    Some((folder, out))
}

/// A value of `summary.csv`.
fn value(out: &Path, scheme: &str, class: &str, name: &str) -> f64 {
    let summary = fs::read_to_string(out.join("summary.csv")).expect("a summary");
    let mut rows = csv::Reader::from_reader(summary.as_bytes());
    let headers = rows.headers().expect("a header").clone();
    let column = |name: &str| headers.iter().position(|header| header == name).expect(name);
    let row = rows.records().map(|row| row.expect("a row"));
    let row = row.into_iter().find(|row| &row[column("scheme")] == scheme && &row[column("size_class")] == class);
    row.expect("a row of the scheme and class")[column(name)].parse().expect("a number")
}

/// Controllers learn from the messages of real connections, and their tables reach hosts.
#[test]
fn lab_run__controllers_act() {
    let Some(_machine) = machine("lab_run__controllers_act", &NEEDS) else { return };
    let text = second_with(
        r#"
[sweep]
scheme = ["nos2", "awafs"]

[schemes.nos2]
transport = "tcp"
controller = "equal-split"
controller_period = "100ms"
controller_delay = "1ms"

[schemes.awafs]
transport = "tcp"
place_of_thresholds = "host"
update_period = "100ms"
update_window = "500ms"
"#,
    );
    let Some((_folder, out)) = ran(&text) else { return };
    for scheme in ["nos2", "awafs"] {
        assert_eq!(value(&out, scheme, "all", "flows"), 150.0);
        assert_eq!(value(&out, scheme, "all", "unfinished"), 0.0);
    }
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    for part in ["threshold controller", "thresholds of hosts"] {
        let ticks = manifest.rsplit(&format!("\"{part}\"")).next().and_then(|rest| rest.split("\"ticks\":").nth(1));
        let ticks = ticks.and_then(|rest| rest.trim().split([',', '}']).next()).expect(part);
        assert!(ticks.trim().parse::<u64>().expect("a number") >= 1, "{part}: {ticks}");
    }
}

/// Sieve over the lab's own DCTCP. Messages of one size are not demoted by the tables that its controller publishes; by the
/// initial thresholds a twentieth of their packets are of the first level.
#[test]
fn lab_run__sieve_learns_its_thresholds() {
    let Some(_machine) = machine("lab_run__sieve_learns_its_thresholds", &NEEDS_OF_DCTCP) else { return };
    let text = second_with(
        r#"
[sweep]
scheme = "sieve"

[schemes.sieve]
nic_order = "tag, then age"
controller_period = "50ms"
observe_least = 20
"#,
    );
    let Some((_folder, out)) = ran(&text) else { return };
    assert_eq!((value(&out, "sieve", "all", "flows"), value(&out, "sieve", "all", "unfinished")), (150.0, 0.0));
    let measured = &measured(&out)[0];
    assert!(measured["periodic"][0]["ticks"].as_u64() >= Some(1), "{}", measured["periodic"]);
    let by_priority = measured["links"][0]["packets_by_priority"].as_array().expect("counts");
    let counts: Vec<u64> = by_priority.iter().map(|count| count.as_u64().expect("a count")).collect();
    // Half of all packets are ACKs.
    assert!(10 * counts[0] > 7 * counts.iter().sum::<u64>(), "{counts:?}");
    let widest = measured["counts"]["lab widest window at the end"].as_u64();
    // Two bandwidth-delay products: 20 Mbit/s for 2.37 ms are 5,932 bytes.
    assert!(widest.is_some_and(|window| window <= 8), "two bandwidth-delay products are eight packets: {widest:?}");
}

/// A flow of a second, alone, over a link of 34 packets that marks from 20 on.
const ALONE: &str = r#"
title = "A long flow"

[topology]
kind = "single-switch"
hosts = 2
host_link = "50Mbps"
link_delay = "2ms"
host_delay = "20us"

[network]
nic = "scheme"
buffer = "1MB"
ecn_threshold = "30KB"

[transport]
ack_every = 1
handshake = "none"
connections = "warm"
rto_min = "10ms"

[workload]
sizes = "fixed(6MB)"
load = 0.5
flows = 1

[run]
parameters = "rfc"
fct_end = "arrival"

[sweep]
scheme = ["by-1", "by-32", "narrow"]

[schemes.by-1]
base = "dctcp"
window_growth = 1

[schemes.by-32]
base = "dctcp"
window_growth = 32

[schemes.narrow]
base = "dctcp"
max_window = 25

[lab]
connections_per_pair = 2
"#;

/// A window that grows fast overshoots the threshold by as much in each round trip, and is marked several times as often. One
/// that ends below the threshold stays at its end.
#[test]
fn lab_run__the_window_grows_and_ends_as_asked() {
    let Some(_machine) = machine("lab_run__the_window_grows_and_ends_as_asked", &NEEDS_OF_DCTCP) else { return };
    let Some((_folder, out)) = ran(ALONE) else { return };
    let of = |measured: serde_json::Value| {
        let widest = measured["counts"]["lab widest window at the end"].as_u64().expect("a window");
        (measured["links"][0]["marks"].as_u64().expect("a count"), widest)
    };
    let [(by_1, _), (by_32, _), narrow] = measured(&out).into_iter().map(of).collect::<Vec<_>>()[..] else {
        panic!("three runs")
    };
    assert!(by_1 > 0 && by_32 > 2 * by_1, "{by_1} and {by_32} marks");
    assert_eq!(narrow, (0, 25));
}

/// What the machine permits, and what two hosts carry.
#[test]
fn lab_doctor__says_what_the_machine_carries() {
    let Some(_machine) = machine("lab_doctor__says_what_the_machine_carries", &NEEDS) else { return };
    let said = flowsieve().args(["lab", "doctor"]).assert().success().get_output().stdout.clone();
    let said = String::from_utf8(said).expect("text");
    assert!(said.contains("network namespaces and veth devices: yes\nsockets for frames: yes\n"), "{said}");
    assert!(said.contains("kernel: Linux ") && said.contains("open files: at most "), "{said}");
    assert!(said.contains("give host_delay = ") && said.contains(" hosts at "), "{said}");
}

/// The simulator and Linux, flow by flow.
#[test]
fn lab_compare__has_every_flow_three_times() {
    let Some(_machine) = machine("lab_compare__has_every_flow_three_times", &NEEDS) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (written(folder.path(), SECOND), folder.path().join("out"));
    let Some(said) = printed(flowsieve().args(["lab", "compare"]).arg(&file).arg("--out").arg(&out)) else { return };
    assert!(said.contains("mean FCT over that of fifo") && said.contains("correlation"), "{said}");
    let flows = fs::read_to_string(out.join("flows.csv")).expect("flows");
    assert_eq!(flows.lines().count(), 1 + 2 * 150);
}

/// A lab that is killed leaves namespaces, and `lab clean` removes them, and those of no lab that lives.
#[test]
fn lab_clean__removes_what_a_killed_lab_has_left() {
    let Some(_machine) = machine("lab_clean__removes_what_a_killed_lab_has_left", &NEEDS) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let long = SECOND.replace("flows = 150", "flows = 50_000");
    let (file, out) = (written(folder.path(), &long), folder.path().join("out"));
    let mut lab = begun(&file, &out);
    assert!(!namespaces_of(lab.id()).is_empty());
    let cleaned = || flowsieve().args(["lab", "clean"]).assert().success().get_output().stdout.clone();
    let said = String::from_utf8(cleaned()).expect("text");
    assert!(!said.contains(&format!("flowsieve-lab-{}-", lab.id())), "{said}");
    lab.kill().expect("a kill");
    lab.wait().expect("its end");
    assert_eq!(namespaces_of(lab.id()).len(), 4);
    let said = String::from_utf8(cleaned()).expect("text");
    assert!(said.contains(&format!("removed the network namespace flowsieve-lab-{}-sw", lab.id())), "{said}");
    assert!(namespaces_of(lab.id()).is_empty());
}

/// Ctrl-C ends a lab, and nothing is left.
#[test]
fn lab_run__an_interrupt_leaves_nothing() {
    let Some(_machine) = machine("lab_run__an_interrupt_leaves_nothing", &NEEDS) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let long = SECOND.replace("flows = 150", "flows = 50_000");
    let mut lab = begun(&written(folder.path(), &long), &folder.path().join("out"));
    assert!(!namespaces_of(lab.id()).is_empty());
    let interrupt = std::process::Command::new("kill").args(["-INT", &lab.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|status| status.success()));
    assert!(!lab.wait().expect("its end").success());
    assert!(namespaces_of(lab.id()).is_empty());
}

/// What opens and closes connections is no part of a run: 384 connections are opened by three packets and a byte each, and reset
/// from both ends. 150 flows of 20,000 bytes are 14 packets each, and as many ACKs.
#[test]
fn lab_run__what_opens_and_closes_connections_is_not_counted() {
    let Some(_machine) = machine("lab_run__what_opens_and_closes_connections_is_not_counted", &NEEDS) else { return };
    let Some((_folder, out)) = ran(&SECOND.replace("connections_per_pair = 8", "connections_per_pair = 64")) else {
        return;
    };
    for measured in measured(&out) {
        let packets = measured["links"][0]["packets"].as_u64().expect("a count");
        let again = measured["counts"]["kernel RetransSegs"].as_u64().unwrap_or(0);
        assert!((4_100..4_300 + 2 * again).contains(&packets), "{packets} packets, {again} of them again");
        let earlier = measured["warnings"].to_string().matches(" was not valid: ").count() as u64;
        assert_eq!(measured["counts"]["lab attempts"].as_u64(), Some(earlier + 1));
    }
}

/// One connection from each host to each other one, and flows that come faster than it can carry them one by one: their time
/// is from their start, so that it includes the wait.
#[test]
fn lab_run__the_wait_for_a_connection_is_part_of_a_flows_time() {
    let Some(_machine) = machine("lab_run__the_wait_for_a_connection_is_part_of_a_flows_time", &NEEDS) else { return };
    let text = SECOND
        .replace("connections_per_pair = 8", "connections_per_pair = 1")
        .replace("load = 0.5\nflows = 150", "list = \"burst.csv\"")
        .replace("sizes = \"fixed(20KB)\"\n", "");
    let folder = tempfile::tempdir().expect("a folder");
    let flows: String = (0..20).map(|flow| format!("{},0,1,20000\n", 0.1 + f64::from(flow) * 1e-4)).collect();
    fs::write(folder.path().join("burst.csv"), format!("start_s,src,dst,bytes\n{flows}")).expect("a list");
    let (file, out) = (written(folder.path(), &text), folder.path().join("out"));
    let mut command = flowsieve();
    command.args(["lab", "run", "--set", "scheme=fifo"]).arg(file).arg("--out").arg(&out);
    let Some(_) = printed(&mut command) else { return };
    // 20 times 20,000 bytes take 160 ms at 20 Mbit/s, one after the other: half of that in the mean.
    let mean = value(&out, "fifo", "all", "fct_mean_us");
    assert!((80_000.0..400_000.0).contains(&mean), "{mean}");
    let warnings = measured(&out)[0]["warnings"].to_string();
    assert!(
        warnings.contains("19 flows found no idle connection and waited for one, which their FCTs include"),
        "{warnings}"
    );
}

/// Lines that lose one packet in fifty: connections open with congestion notification, all flows finish, and bytes that wait for
/// a lost one are not taken for bytes that are read late.
#[test]
fn lab_run__on_lines_that_lose() {
    let Some(_machine) = machine("lab_run__on_lines_that_lose", &NEEDS) else { return };
    let lines = (0..3).map(|host| format!("host{host},switch,20Mbps,250us,0.02\n")).collect::<String>();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("lines.csv"), format!("from,to,rate,delay,loss\n{lines}")).expect("a list");
    let text = SECOND
        .replace("kind = \"single-switch\"\nhosts = 3", "kind = \"custom\"\nfile = \"lines.csv\"")
        .replace("host_link = \"20Mbps\"\nlink_delay = \"250us\"\n", "");
    let (file, out) = (written(folder.path(), &text), folder.path().join("out"));
    let mut command = flowsieve();
    command.args(["lab", "run", "--set", "scheme=fifo"]).arg(file).arg("--out").arg(&out);
    let Some(_) = printed(&mut command) else { return };
    assert_eq!((value(&out, "fifo", "all", "flows"), value(&out, "fifo", "all", "unfinished")), (150.0, 0.0));
    let counts = &measured(&out)[0]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    // 2,100 packets in two links each, of which 84 are lost, nearly all before the last of a flow.
    assert!(count("kernel RetransSegs") > 40, "{counts}");
    assert!(count("lab readings of bytes that had waited for earlier ones") > 20, "{counts}");
}

/// A lab that stands still for 400 ms in the middle is not valid: the run is made again, and says so.
#[test]
fn lab_run__a_stall_is_not_valid() {
    let Some(_machine) = machine("lab_run__a_stall_is_not_valid", &NEEDS) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let text = SECOND.replace("flows = 150", "flows = 600");
    let out = folder.path().join("out");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    command.args(["lab", "run", "--set", "scheme=fifo"]).arg(written(folder.path(), &text)).arg("--out").arg(&out);
    let lab = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a lab");
    until_it_sends(lab.id());
    // The lab's two processors do not go idle, unless it has a quota: each has a thread that gives way to all others.
    let output = std::process::Command::new("nproc").output().expect("the number of processors");
    let processors: usize = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    let has_quota = thread::available_parallelism().map_or(1, usize::from) < processors;
    assert_eq!(threads_of(lab.id(), "5"), if has_quota { 0 } else { processors.min(2) }, "threads of SCHED_IDLE");
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &lab.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    };
    signal("-STOP");
    thread::sleep(Duration::from_millis(400));
    signal("-CONT");
    let output = lab.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(told.contains("more than 1 ms late") && told.contains("3 attempts were made"), "{told}");
        return eprintln!("this machine is too busy for another attempt: {told}");
    }
    let measured = &measured(&out)[0];
    assert!(measured["counts"]["lab attempts"].as_u64() >= Some(2), "{}", measured["counts"]);
    assert!(measured["warnings"].to_string().contains("attempt 1 was not valid: "), "{}", measured["warnings"]);
}

/// Counts the threads of a process that have a scheduling policy (proc(5), field 41 of `stat`).
fn threads_of(process: u32, policy: &str) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    stats.filter(|stat| stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(38)) == Some(policy)).count()
}

/// Waits until the first host of a process's lab has received more than what opens connections.
fn until_it_sends(process: u32) {
    let received = || {
        let host = namespaces_of(process).into_iter().find(|name| name.contains("-h0-"))?;
        let output = std::process::Command::new("ip").args(["netns", "exec", &host, "cat", "/proc/net/dev"]).output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        let bytes = text.lines().find_map(|line| line.trim().strip_prefix("eth0:"))?.split_whitespace().next()?.parse();
        bytes.ok().filter(|&bytes: &u64| bytes > 300_000)
    };
    // The lab of two hosts that the machine is measured with comes first, and has the same names.
    for _ in 0..1_200 {
        if namespaces_of(process).len() == 4 && received().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the lab did not send within 12 s");
}

/// A lab that is ended or killed in the middle leaves no sockets, and the next run clears what else is left.
#[test]
fn lab_run__leaves_no_sockets_and_clears_what_a_killed_lab_has_left() {
    let Some(_machine) = machine("lab_run__leaves_no_sockets_and_clears_what_a_killed_lab_has_left", &NEEDS) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let long = SECOND.replace("flows = 150", "flows = 50_000");
    let (file, out) = (written(folder.path(), &long), folder.path().join("out"));
    // Of all namespaces.
    let orphans = || {
        let text = fs::read_to_string("/proc/net/sockstat").expect("counts");
        let of_tcp = text.lines().find_map(|line| line.strip_prefix("TCP:")).expect("those of TCP");
        let count = of_tcp.split_whitespace().skip_while(|word| *word != "orphan").nth(1).expect("a count");
        count.parse::<i64>().expect("a number")
    };
    let before = orphans();
    let end = |signal: &str| {
        let mut lab = begun(&file, &out);
        until_it_sends(lab.id());
        let sent = std::process::Command::new("kill").args([signal, &lab.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert!(!lab.wait().expect("its end").success());
        lab.id()
    };
    for signal in ["-INT", "-TERM", "-HUP"] {
        let process = end(signal);
        assert!(orphans() < before + 20, "{signal}: {} orphans", orphans());
        assert!(namespaces_of(process).is_empty(), "{signal}");
    }
    let killed = end("-KILL");
    assert!(orphans() < before + 20, "{} orphans", orphans());
    assert_eq!(namespaces_of(killed).len(), 4);
    let output = flowsieve()
        .args(["lab", "run"])
        .arg(written(folder.path(), SECOND))
        .arg("--out")
        .arg(folder.path().join("next"))
        .output();
    let told = String::from_utf8(output.expect("an answer").stderr).expect("text");
    assert!(told.contains("removed 4 network namespaces of labs that were killed"), "{told}");
    assert!(namespaces_of(killed).is_empty());
}

/// Without rights, and with too few open files, a line says what is missing, before the first run.
#[test]
fn lab_run__says_which_rights_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), &SECOND.replace("connections_per_pair = 8", "connections_per_pair = 40"));
    let program = env!("CARGO_BIN_EXE_flowsieve");
    let run = |shell: &str| {
        let command =
            format!("{shell} {program} lab run {} --out {}", file.display(), folder.path().join("out").display());
        Command::new("sh").args(["-c", &command]).output().expect("an answer")
    };
    // 480 files, and three listeners.
    let output = run("ulimit -n 400;");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    let line = told.lines().find(|line| line.starts_with("error: ")).expect("an error");
    assert!(
        line.contains("483 more open files") && line.contains("expected connections_per_pair of at most 2"),
        "{line}"
    );
    if std::process::Command::new("unshare").arg("-V").output().is_err() {
        return eprintln!("skipped: there is no unshare");
    }
    let output = run("unshare -U");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    let errors: Vec<&str> = told.lines().filter(|line| line.contains("error: ")).collect();
    assert_eq!(errors.len(), 1, "{told}");
    assert!(errors[0].contains("does not permit network namespaces") && errors[0].contains("expected root"), "{told}");
    Command::new("unshare").args(["-U", program, "lab", "doctor"]).assert().code(2);
}

/// In a user namespace of its own a lab needs no rights, if its senders are the kernel's own.
#[test]
fn lab_run__without_root_in_a_user_namespace() {
    let Some(_machine) = machine("lab_run__without_root_in_a_user_namespace", &["ip", "unshare"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (written(folder.path(), SECOND), folder.path().join("out"));
    let shell = format!(
        "mount -t tmpfs none /run && exec {} lab run {} --out {}",
        env!("CARGO_BIN_EXE_flowsieve"),
        file.display(),
        out.display()
    );
    let Some(_) = printed(Command::new("unshare").args(["-Urnm", "sh", "-c", &shell])) else { return };
    assert_eq!(value(&out, "pias", "all", "flows"), 150.0);
}

/// Begins a lab and waits until it has its namespaces.
fn begun(file: &Path, out: &Path) -> Child {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_flowsieve"));
    command.args(["lab", "run"]).arg(file).arg("--out").arg(out).stdout(Stdio::null()).stderr(Stdio::null());
    let lab = command.spawn().expect("a lab");
    for _ in 0..600 {
        if namespaces_of(lab.id()).len() == 4 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    lab
}

/// What the kernel's TCP does not do is refused, and the setting is named.
#[test]
fn lab_run__refuses_what_the_kernel_cannot_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        ("nic = \"scheme\"", "nic = \"backpressure\"", "nic = \"scheme\" in [network]"),
        ("fct_end = \"arrival\"", "fct_end = \"ack\"", "fct_end = \"arrival\" in [run]"),
        ("ack_every = 1", "ack_every = 2", "ack_every = 1 in [transport]"),
        ("handshake = \"none\"", "handshake = \"always\"", "handshake = \"none\" in [transport]"),
        ("connections = \"warm\"", "connections = \"per-flow\"", "connections = \"warm\" in [transport]"),
        ("rto_min = \"10ms\"", "rto_min = \"1500us\"", "whole milliseconds"),
        ("rto_min = \"10ms\"", "rto_min = \"10ms\"\nrto = \"constant\"", "rto = \"linux\""),
        ("rto_min = \"10ms\"", "rto_min = \"10ms\"\nmax_window = 100", "no `max_window`"),
        ("rto_min = \"10ms\"", "rto_min = \"10ms\"\nloss_detection = \"dupack\"", "no `loss_detection`"),
        ("parameters = \"rfc\"", "parameters = \"ns2\"", "rto = \"linux\""),
        ("hosts = 3", "hosts = 65", "at most 64"),
        ("scheme = [\"fifo\", \"pias\"]", "scheme = \"pfabric\"", "rto = \"linux\""),
        ("transport = \"tcp\"\nqueues", "transport = \"open-loop\"\nqueues", "senders of its own"),
        ("scheme = [\"fifo\", \"pias\"]", "scheme = \"d2tcp\"", "D2TCP"),
        ("rto_min = \"10ms\"", "rto_min = \"10ms\"\nmin_window = 3", "no `min_window`, or transport = \"dctcp\""),
        ("rto_min = \"10ms\"", "rto_min = \"10ms\"\nwindow_growth = 4", "no `window_growth`, or transport = \"dctcp\""),
        ("nic = \"scheme\"", "nic = \"scheme\"\nnic_order = \"tag\"", "\"turns\" or \"tag, then age\""),
        ("nic = \"scheme\"", "nic = \"scheme\"\nnic_backlog = \"3KB\"", "no `nic_backlog`"),
        ("nic = \"scheme\"", "nic = \"scheme\"\npfc = true", "switches that pause, cut or write into packets"),
    ];
    for (given, wrong, expected) in cases {
        let text = SECOND.replace(given, wrong);
        assert_ne!(text, SECOND, "{given}");
        let output = flowsieve().args(["lab", "run"]).arg(written(folder.path(), &text)).output().expect("an answer");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {told}");
        assert!(told.contains(expected), "{wrong}: {told}");
    }
}

/// What Sieve has by itself and the kernel cannot do is refused as if it were given.
#[test]
fn lab_run__refuses_what_the_kernel_cannot_do_for_sieve() {
    let folder = tempfile::tempdir().expect("a folder");
    let sieve = second_with("[sweep]\nscheme = \"sieve\"\n");
    let cases = [
        // A bandwidth-delay product of 133 packets: an ACK for eight of them.
        ("250us", "20ms", "ack_every = 1\n", "", "ack_every = 1 in [transport]"),
        ("hosts = 3", "hosts = 3", "ack_every = 1", "ack_every = 1\ndelayed_ack = \"1ms\"", "no `delayed_ack`"),
        ("250us", "20ms", "scheme = \"sieve\"", "scheme = \"sieve\"\ntransport = \"tcp\"", "no `window_growth`"),
        ("nic = \"scheme\"", "nic = \"backpressure\"", "", "", "nic = \"scheme\" in [network]"),
    ];
    for (given, wrong, second, other, expected) in cases {
        let text = sieve.replacen(given, wrong, 1);
        let text = if second.is_empty() { text } else { text.replacen(second, other, 1) };
        let output = flowsieve().args(["lab", "run"]).arg(written(folder.path(), &text)).output().expect("an answer");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {told}");
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
