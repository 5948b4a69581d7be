//! Lines for Cisco NX-OS on Nexus 9000.

use crate::configure::{Plan, Port, Refused, Speed};
use std::fmt::Write;

/// Groups of a system, each with its queue.
const FREE: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Kilobytes are what `random-detect` takes without rounding twice; the largest is our bound, of the largest buffer.
const THRESHOLDS: (u64, u64) = (1_000, 256_000_000);

/// The line is for the whole switch, with policies that are not ours, so it is the operator's.
const BEGIN: &str = "\
! Packets without ECN are dropped above a threshold. If hosts send such, put this line first; it is for the whole switch:\n\
! congestion-control random-detect forward-nonecn\n\
! Paste it at the prompt, once: a second time saves these settings as the checkpoint.\n\
checkpoint flowsieve\nconfigure terminal\n";

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    plan.check_thresholds(THRESHOLDS)?;
    if plan.marks_alone() {
        return Ok(marks_alone(plan));
    }
    let queues = plan.queues(&FREE, &[], "")?;
    let mut text = String::from(
        "! Strict priorities and marks by queue for Cisco NX-OS (Nexus 9000), from Flowsieve.\n\
         ! Thresholds are whole kilobytes, rounded up. How many strict levels a model has, and whether it marks in a strict\n\
         ! class, is for `show queuing interface` to tell.\n",
    );
    text += plan.loses();
    text += BEGIN;
    let mut classes = Vec::new();
    for kept in &queues.kept {
        let dscps: Vec<String> = kept.dscps.iter().map(u8::to_string).collect();
        classes.push((format!("FS-KEPT-{}", kept.queue), dscps.join(","), kept.queue));
    }
    for (at, (dscp, &queue)) in plan.dscps.iter().zip(&queues.data).enumerate() {
        classes.push((format!("FS-{at}"), dscp.to_string(), queue));
    }
    for (class, dscps, _) in &classes {
        let _ = writeln!(text, "class-map type qos match-any {class}\n  match dscp {dscps}");
    }
    let _ = writeln!(text, "policy-map type qos FS-IN");
    for (class, _, queue) in &classes {
        let _ = writeln!(text, "  class {class}\n    set qos-group {queue}");
    }
    let _ = writeln!(text, "  class class-default\n    set qos-group {}", queues.data[plan.unmarked]);
    let speeds = plan.by_speed();
    for (of, _) in &speeds {
        let _ = writeln!(text, "policy-map type queuing {}", policy(of));
        for (level, (.., queue)) in (1..).zip(&classes) {
            let _ = writeln!(text, "  class type queuing {}\n    priority level {level}", class_of(*queue));
            if queues.data.contains(queue) {
                let _ = writeln!(text, "    {}", random_detect(of));
            }
        }
        // A policy names all eight queues of a port.
        for queue in FREE.iter().rev().filter(|queue| !classes.iter().any(|(.., used)| used == *queue)) {
            let _ = writeln!(text, "  class type queuing {}\n    bandwidth remaining percent 0", class_of(*queue));
        }
    }
    for (of, ports) in &speeds {
        for port in ports {
            let _ = writeln!(
                text,
                "interface {}\n  service-policy type qos input FS-IN\n  service-policy type queuing output {}",
                port.name,
                policy(of)
            );
        }
    }
    Ok(text)
}

/// Marks in the queue of all traffic that no class takes. A policy names all eight queues of a port.
fn marks_alone(plan: &Plan) -> String {
    let mut text = String::from(
        "! Marks in the default queue for Cisco NX-OS (Nexus 9000), from Flowsieve. Thresholds are whole kilobytes, rounded up.\n",
    );
    text += BEGIN;
    for (of, ports) in plan.by_speed() {
        let _ = writeln!(text, "policy-map type queuing {}", policy(of));
        for queue in (1..8).rev() {
            let _ = writeln!(text, "  class type queuing {}\n    bandwidth remaining percent 0", class_of(queue));
        }
        let _ = writeln!(
            text,
            "  class type queuing c-out-8q-q-default\n    bandwidth remaining percent 100\n    {}",
            random_detect(of)
        );
        for port in ports {
            let _ = writeln!(text, "interface {}\n  service-policy type queuing output {}", port.name, policy(of));
        }
    }
    text
}

/// The system's class of a queue.
fn class_of(queue: u8) -> String {
    if queue == 0 { "c-out-8q-q-default".to_owned() } else { format!("c-out-8q-q{queue}") }
}

/// A step at K.
fn random_detect(of: &Port) -> String {
    let kilobytes = of.marks_from_bytes.div_ceil(1_000);
    format!(
        "random-detect minimum-threshold {kilobytes} kbytes maximum-threshold {kilobytes} kbytes drop-probability 100 weight 0 \
         ecn"
    )
}

fn policy(of: &Port) -> String {
    format!("FS-{}-{}", Speed(of.rate_bps), of.marks_from_bytes)
}
