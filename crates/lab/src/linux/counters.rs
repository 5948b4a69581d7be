//! What the kernel's TCP counts in the hosts.

use super::enter;
use super::network::Network;
use crate::error::{Doing, LabError};

/// Counters of the kernel's TCP that say why something was sent again.
const COUNTERS: [&str; 14] = [
    "RetransSegs",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPSpuriousRTOs",
    "TCPDSACKUndo",
    "TCPFullUndo",
    "TCPLossUndo",
    "TCPDSACKRecv",
    "TCPDeliveredCE",
    "TCPRcvCoalesce",
    "TCPSackRecovery",
];

/// Sums these over the hosts. The calling thread stays in the namespace of the last one.
pub(super) fn counters(network: &Network, hosts: u16) -> Result<Vec<(&'static str, u64)>, LabError> {
    let mut sums = COUNTERS.map(|name| (name, 0u64));
    for host in 0..hosts {
        enter(&network.host(host))?;
        for file in ["/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"] {
            let text = std::fs::read_to_string(file).doing(|| format!("read {file}"))?;
            let lines: Vec<&str> = text.lines().collect();
            for (names, values) in lines.chunks_exact(2).map(|pair| (pair[0], pair[1])) {
                for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                    if let Some((_, sum)) = sums.iter_mut().find(|(wanted, _)| *wanted == name) {
                        *sum += value.parse::<u64>().unwrap_or(0);
                    }
                }
            }
        }
    }
    Ok(sums.to_vec())
}
