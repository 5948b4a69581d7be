//! Rules of nftables by which a host writes code points: by the bytes that its side of a connection has sent.

use crate::configure::{Plan, Refused};
use std::fmt::Write;

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    if plan.marks_alone() {
        return Err(Refused::Plan("one queue needs no code points".to_owned()));
    }
    let mut text = String::from(
        "# DSCPs by the bytes of a connection, from Flowsieve: nft -f nftables.conf\n\
         # Needs net.netfilter.nf_conntrack_acct = 1 before connections begin. Counted are whole packets of one direction,\n\
         # retransmissions too. A connection is one flow here: messages that share one are not told apart.\n\
         table inet flowsieve\n\
         delete table inet flowsieve\n\
         table inet flowsieve {\n\
         \tchain tag {\n\
         \t\ttype filter hook postrouting priority mangle; policy accept;\n",
    );
    let from = [0].into_iter().chain(plan.thresholds_bytes.iter().copied());
    // A later rule overrides an earlier one.
    for (bytes, dscp) in from.zip(&plan.dscps) {
        for direction in ["original", "reply"] {
            for family in ["ip", "ip6"] {
                let _ = writeln!(
                    text,
                    "\t\tmeta l4proto tcp ct direction {direction} ct {direction} bytes >= {bytes} {family} dscp set {dscp}"
                );
            }
        }
    }
    Ok(text + "\t}\n}\n")
}
