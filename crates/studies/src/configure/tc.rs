//! Batches of Linux' `tc`: strict bands of `ets`, each with `red` as a step.

use crate::configure::{Plan, Refused, in_order};
use std::fmt::Write;

/// `red` takes thresholds of 32 bits; its limit has to hold four of them.
const THRESHOLDS: (u64, u64) = (1_500, (1 << 30) - 1);

/// `red` takes a rate of at most 32 bits of bytes a second, and only to let its average fall while the line is idle.
const MOST_RATE_BPS: u64 = 34_000_000_000;

/// A full packet.
const PACKET: u64 = 1_500;

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    plan.check_thresholds(THRESHOLDS)?;
    let data = plan.dscps.len();
    // Linux numbers bands from the first served: it has as many as are wanted, up to 16. The network's control is first.
    let control = Some((plan.control(), u8::MAX)).filter(|(dscps, _)| !dscps.is_empty());
    let kept = in_order(plan.others.kept.iter().cloned().chain(control).collect());
    let bands = data + kept.len();
    if bands > 16 {
        return Err(Refused::Queues { data, most: 16 - kept.len(), more: "" });
    }
    let mut text = String::from(
        "# Strict bands and marks by band, from Flowsieve: tc -batch tc.batch\n\
         # The first band is for DSCP 46, 48 and 56, unless they are kept elsewhere. Packets of no filter have the band of the\n\
         # map.\n",
    );
    if plan.marks_alone() {
        text = String::from("# Marks by the length of the queue, from Flowsieve: tc -batch tc.batch\n");
    }
    // Bands are numbered from 0 here.
    let unmarked = plan.unmarked + kept.len();
    for port in &plan.ports {
        let (name, (k, to, per_cent)) = (&port.name, plan.marks.around(port.marks_from_bytes));
        let priomap = vec![unmarked.to_string(); 16].join(" ");
        let (limit, burst) = ((4 * to).max(2_000_000), k.div_ceil(PACKET));
        let probability = f64::from(per_cent) / 100.0;
        let rate = port.rate_bps.min(MOST_RATE_BPS).div_ceil(1_000);
        let red = format!(
            "red limit {limit} min {k} max {to} avpkt {PACKET} burst {burst} probability {probability:.1} bandwidth {rate}kbit ecn nodrop"
        );
        if plan.marks_alone() {
            let _ = writeln!(text, "qdisc replace dev {name} root handle 1: {red}");
            continue;
        }
        let _ = writeln!(
            text,
            "qdisc replace dev {name} root handle 1: ets bands {bands} strict {bands} priomap {priomap}"
        );
        for band in kept.len() + 1..=bands {
            let _ = writeln!(text, "qdisc replace dev {name} parent 1:{band:x} handle {:x}: {red}", 0x10 + band);
        }
        let of_kept = kept.iter().map(|(dscps, _)| &dscps[..]);
        let of_band = (1..).zip(of_kept.chain(plan.dscps.chunks(1)));
        let filters = of_band.flat_map(|(band, dscps)| dscps.iter().map(move |dscp| (band, dscp)));
        // A filter with a number is replaced by a second load. The first table of a root is 800, the next 801.
        for (number, (band, dscp)) in (1..).zip(filters) {
            // The DSCP is the upper six bits of the byte.
            let (byte, number): (u8, u32) = (dscp << 2, number);
            let _ = writeln!(
                text,
                "filter replace dev {name} parent 1: protocol ip prio 1 handle 800::{number:x} u32 match ip tos {byte:#04x} \
                 0xfc flowid 1:{band:x}\n\
                 filter replace dev {name} parent 1: protocol ipv6 prio 2 handle 801::{number:x} u32 match ip6 priority \
                 {byte:#04x} 0xfc flowid 1:{band:x}"
            );
        }
    }
    Ok(text)
}
