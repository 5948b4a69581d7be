//! Lines for Arista EOS.

use crate::configure::{Plan, Refused, Speed};
use std::fmt::Write;

/// Transmit queues of a port.
const FREE: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Bytes that `random-detect ecn` takes.
const THRESHOLDS: (u64, u64) = (1, 256_000_000);

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    plan.check_thresholds(THRESHOLDS)?;
    let alone = plan.marks_alone();
    // The highest queue is the network's own control.
    let queues = plan.queues(if alone { &FREE[..7] } else { &FREE }, &[], "")?;
    let mut text = String::from(
        "! Priorities and marks by queue for Arista EOS, from Flowsieve. Paste it at the prompt of `enable`, once: a second\n\
         ! time saves these settings as the checkpoint.\n\
         ! Chips of the Jericho family say tx-queue where this says uc-tx-queue. Whether a chip takes a step, minimum\n\
         ! equal to maximum, is for `show qos interfaces` to tell. Some count marks only with `hardware counter feature ecn\n\
         ! out` in addition.\n",
    );
    text += plan.loses();
    text += "configure checkpoint save flowsieve\nconfigure session\n";
    let others = (0..64).filter(|dscp| !plan.is_named(*dscp) && !plan.control().contains(dscp)).collect();
    let mut classes = queues.kept.clone();
    classes.extend(plan.dscps.iter().zip(&queues.data).map(|(&dscp, &queue)| (vec![dscp], queue)));
    classes.extend(queues.data.get(plan.unmarked).map(|&queue| (others, queue)));
    for (dscps, queue) in classes.iter().filter(|_| !alone) {
        let dscps: Vec<String> = dscps.iter().map(u8::to_string).collect();
        let _ = writeln!(text, "qos map dscp {} to traffic-class {queue}", dscps.join(" "));
    }
    for queue in queues.data.iter().chain(queues.kept.iter().map(|(_, queue)| queue)).filter(|_| !alone) {
        let _ = writeln!(text, "qos map traffic-class {queue} to tx-queue {queue}");
    }
    for (of, ports) in plan.by_speed() {
        let (profile, (from, to, per_cent)) = (
            format!("FLOWSIEVE-{}-{}", Speed(of.rate_bps), of.marks_from_bytes),
            plan.marks.around(of.marks_from_bytes),
        );
        let _ = writeln!(text, "qos profile {profile}");
        if !alone {
            text += "   qos trust dscp\n";
        }
        for (_, queue) in &queues.kept {
            let _ = writeln!(text, "   uc-tx-queue {queue}\n      priority strict");
        }
        let strict = if alone { "" } else { "      priority strict\n" };
        for queue in &queues.data {
            let _ = writeln!(
                text,
                "   uc-tx-queue {queue}\n{strict}      random-detect ecn minimum-threshold {from} bytes \
                 maximum-threshold {to} bytes max-mark-probability {per_cent} weight 0"
            );
        }
        for port in ports {
            let _ = writeln!(text, "interface {}\n   service-profile {profile}", port.name);
            // Counters are an interface's: a profile does not take them.
            for queue in &queues.data {
                let _ = writeln!(text, "   uc-tx-queue {queue}\n      random-detect ecn count");
            }
        }
    }
    text += "! Then: show session-config diffs, commit timer 00:10:00, and within ten minutes commit.\n";
    Ok(text)
}
