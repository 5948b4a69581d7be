//! Rules of nftables by which a host writes code points: by the bytes that its side of a connection has sent.

use crate::configure::{Plan, Refused};
use std::fmt::Write;

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    if plan.marks_alone() {
        return Err(Refused::Plan("one queue needs no code points".to_owned()));
    }
    let interfaces: Vec<String> = plan.ports.iter().map(|port| format!("\"{}\"", port.name)).collect();
    let mut text = format!(
        "# DSCPs by the bytes of a connection, from Flowsieve: nft -f nftables.conf\n\
         # Needs net.netfilter.nf_conntrack_acct = 1 before connections begin; others have no bytes, and are left alone. So is\n\
         # every packet that has a DSCP. Counted are whole packets of one direction, retransmissions too. A connection is one\n\
         # flow here: messages that share one are not told apart.\n\
         table inet flowsieve\n\
         delete table inet flowsieve\n\
         table inet flowsieve {{\n\
         \tchain tag {{\n\
         \t\ttype filter hook postrouting priority mangle; policy accept;\n\
         \t\toifname != {{ {} }} accept\n",
        interfaces.join(", ")
    );
    let from = [1].into_iter().chain(plan.thresholds_bytes.iter().copied());
    let to = plan.thresholds_bytes.iter().map(|bytes| Some(bytes - 1)).chain([None]);
    // A threshold of one byte leaves the first queue none.
    let ranges = from.zip(to).zip(&plan.dscps).filter(|((from, to), _)| to.is_none_or(|to| *from <= to));
    for ((from, to), dscp) in ranges {
        let bytes = to.map_or(format!(">= {from}"), |to| format!("{from}-{to}"));
        for direction in ["original", "reply"] {
            for family in ["ip", "ip6"] {
                let _ = writeln!(
                    text,
                    "\t\tmeta l4proto tcp {family} dscp 0 ct direction {direction} ct {direction} bytes {bytes} {family} dscp \
                     set {dscp}"
                );
            }
        }
    }
    Ok(text + "\t}\n}\n")
}
