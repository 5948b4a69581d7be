//! Linux's own `tc` reads the batch, in a network namespace.
//!
//! A kernel may lack `ets` and `red`. Then `tc` still parses each line, and the kernel's answer is that the kind is unknown.
//! Filters are checked whole, below a root that nearly every kernel has. Without root or `tc` the test says that it was skipped.

use flowsieve_studies::configure::{Marks, Others, Plan, Port, System};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};

/// Runs a batch in a namespace of its own; `None`: this process may not have one, or there is no `tc`.
fn batch(text: &str) -> Option<Output> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let tc = Command::new("tc").arg("-V").output();
    let has_namespaces = Command::new("unshare").args(["-n", "true"]).output().is_ok_and(|done| done.status.success());
    if !is_root || tc.is_err() || !has_namespaces {
        eprintln!("write__tc_reads_its_batch: skipped: needs tc, and root for a network namespace");
        return None;
    }
    Some(Command::new("unshare").args(["-n", "tc", "-force", "-batch"]).arg(file.path()).output().unwrap())
}

#[test]
fn write__tc_reads_its_batch() {
    let port = |name: &str, gbps: u64, k: u64| Port {
        name: name.to_owned(),
        rate_bps: gbps * 1_000_000_000,
        marks_from_bytes: k,
    };
    // A rate and thresholds at the ends of what `red` takes, and one that is no multiple of a packet.
    for (gbps, k) in [(1, 1_500), (25, 150_001), (800, (1 << 30) - 1)] {
        let plan = Plan {
            dscps: vec![43, 35, 27, 19, 11],
            thresholds_bytes: vec![1_000, 2_000, 3_000, 4_000],
            unmarked: 0,
            ports: vec![port("lo", gbps, k)],
            queues_of_port: None,
            marks: Marks::Step,
            hosts_are_dctcp: false,
            others: Others::default(),
        };
        let text = System::Tc.write(&plan).unwrap();
        let Some(done) = batch(&text) else { return };
        let said = String::from_utf8(done.stderr).unwrap();
        let lacks_kinds = said.contains("Specified qdisc kind is unknown.");
        // What the kernel says of a qdisc that it lacks, and of all that would be below it; never `tc` of a line's words.
        let of_kernel = ["Error: ", "We have an error talking to the kernel", "Command failed "];
        let is_parsed = said.lines().all(|line| of_kernel.iter().any(|begin| line.starts_with(begin)));
        assert!(said.is_empty() || (lacks_kinds && is_parsed), "{gbps} Gbit/s, K {k}:\n{said}");

        let filters: String =
            text.lines().filter(|line| line.starts_with("filter")).map(|line| format!("{line}\n")).collect();
        let mut below = String::from("qdisc add dev lo root handle 1: htb\n");
        (1..=6).for_each(|band| below += &format!("class add dev lo parent 1: classid 1:{band} htb rate 10mbit\n"));
        let done = batch(&format!("{below}{filters}{filters}filter show dev lo\n")).unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        if said.contains("kind is unknown") {
            eprintln!("write__tc_reads_its_batch: skipped: the filters, as this kernel lacks htb");
            return;
        }
        assert_eq!(said, "");
        let shown = String::from_utf8(done.stdout).unwrap();
        // Loaded twice, they are there once: the five DSCPs, and three for the network's own control; IPv4 and IPv6.
        assert_eq!(shown.matches("flowid 1:").count(), 16, "{shown}");
    }
}
