//! Lines for Cisco NX-OS on Nexus 9000.

use crate::configure::{Plan, Queues, Refused, Speed};
use std::fmt::Write;

/// Groups of a system, each with its queue.
const FREE: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Kilobytes are what `random-detect` takes without rounding twice; the largest is our bound, of the largest buffer.
const THRESHOLDS: (u64, u64) = (1_000, 256_000_000);

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    plan.check_thresholds(THRESHOLDS)?;
    let mut text = String::from(
        "! Priorities and marks by queue for Cisco NX-OS (Nexus 9000), from Flowsieve. Paste it at the prompt, once: a second\n\
         ! time saves these settings as the checkpoint.\n\
         ! Thresholds are whole kilobytes, rounded up. How many strict levels a model has, and whether it marks in a strict\n\
         ! class, is for `show queuing interface` to tell.\n\
         ! Packets without ECN are dropped above a threshold. If hosts send such, give this command first. It is for the\n\
         ! whole switch: congestion-control random-detect forward-nonecn\n",
    );
    text += plan.loses();
    text += "checkpoint flowsieve\nconfigure terminal\n";
    let alone = plan.marks_alone();
    // Marks alone are for the queue of all traffic that no class takes.
    let queues = match alone {
        true => Queues { data: vec![0], ..Queues::default() },
        false => plan.queues(&FREE, &[], "")?,
    };
    let mut classes = Vec::new();
    for (dscps, queue) in &queues.kept {
        let dscps: Vec<String> = dscps.iter().map(u8::to_string).collect();
        classes.push((format!("FS-KEPT-{queue}"), dscps.join(","), *queue));
    }
    for (at, (dscp, &queue)) in plan.dscps.iter().zip(&queues.data).enumerate() {
        classes.push((format!("FS-{at}"), dscp.to_string(), queue));
    }
    for (class, dscps, _) in &classes {
        let _ = writeln!(text, "class-map type qos match-any {class}\n  match dscp {dscps}");
    }
    if !alone {
        text += "policy-map type qos FS-IN\n";
        for (class, _, queue) in &classes {
            let _ = writeln!(text, "  class {class}\n    set qos-group {queue}");
        }
        let _ = writeln!(text, "  class class-default\n    set qos-group {}", queues.data[plan.unmarked]);
    }
    for (of, ports) in plan.by_speed() {
        let policy = format!("FS-{}-{}", Speed(of.rate_bps), of.marks_from_bytes);
        let _ = writeln!(text, "policy-map type queuing {policy}");
        // A policy names all eight queues of a port.
        for queue in FREE.iter().rev() {
            let class = if *queue == 0 { "c-out-8q-q-default".to_owned() } else { format!("c-out-8q-q{queue}") };
            let served = match classes.iter().position(|(.., used)| used == queue) {
                Some(before) => format!("priority level {}", before + 1),
                None => format!("bandwidth remaining percent {}", if alone && *queue == 0 { 100 } else { 0 }),
            };
            let _ = writeln!(text, "  class type queuing {class}\n    {served}");
            if queues.data.contains(queue) {
                let (from, to, per_cent) = plan.marks.around(of.marks_from_bytes);
                let (from, to) = (from.div_ceil(1_000), to.div_ceil(1_000));
                let _ = writeln!(
                    text,
                    "    random-detect minimum-threshold {from} kbytes maximum-threshold {to} kbytes drop-probability {per_cent} weight \
                     0 ecn"
                );
            }
        }
        for port in ports {
            let _ = writeln!(text, "interface {}", port.name);
            if !alone {
                text += "  service-policy type qos input FS-IN\n";
            }
            let _ = writeln!(text, "  service-policy type queuing output {policy}");
        }
    }
    Ok(text)
}
