//! The lab on this machine. It needs root, and each test says so where it is skipped. Traffic stays in the network namespaces
//! that the lab makes.
#![cfg(target_os = "linux")]

mod machine;

use assert_cmd::Command;
use machine::{flowsieve, machine};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// The programs of the machine that these tests call.
const NEEDS: [&str; 1] = ["ip"];

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
    }
    assert!(output.status.success(), "{told}");
    Some(said)
}

fn written(folder: &Path, text: &str) -> std::path::PathBuf {
    let file = folder.join("second.toml");
    fs::write(&file, text).expect("a file");
    file
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
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (written(folder.path(), SECOND), folder.path().join("out"));
    let Some(_) = printed(flowsieve().args(["lab", "run"]).arg(&file).arg("--out").arg(&out)) else { return };
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
    let folder = tempfile::tempdir().expect("a folder");
    let text = SECOND.split("[sweep]").next().expect("a text").to_owned()
        + r#"
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
"#;
    let out = folder.path().join("out");
    let file = written(folder.path(), &text);
    let Some(_) = printed(flowsieve().args(["lab", "run"]).arg(&file).arg("--out").arg(&out)) else { return };
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

/// What the machine permits, and what two hosts carry.
#[test]
fn lab_doctor__says_what_the_machine_carries() {
    let Some(_machine) = machine("lab_doctor__says_what_the_machine_carries", &NEEDS) else { return };
    let said = flowsieve().args(["lab", "doctor"]).assert().success().get_output().stdout.clone();
    let said = String::from_utf8(said).expect("text");
    assert!(said.starts_with("network namespaces and veth devices: yes\nsockets for frames: yes\n"), "{said}");
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
    let long = SECOND.replace("flows = 150", "flows = 5_000");
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
    let long = SECOND.replace("flows = 150", "flows = 5_000");
    let mut lab = begun(&written(folder.path(), &long), &folder.path().join("out"));
    assert!(!namespaces_of(lab.id()).is_empty());
    let interrupt = std::process::Command::new("kill").args(["-INT", &lab.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|status| status.success()));
    assert!(!lab.wait().expect("its end").success());
    assert!(namespaces_of(lab.id()).is_empty());
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
