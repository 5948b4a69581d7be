//! Lines for Linux hosts: DCTCP by route, so that traffic that leaves the fabric keeps its congestion control.

use crate::configure::{Plan, Refused};

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    if plan.hosts_are_dctcp {
        return Err(Refused::Plan("hosts send by DCTCP already".to_owned()));
    }
    Ok("\
# DCTCP inside the fabric, from Flowsieve. Both ends of a connection need it; elsewhere hosts keep what they have.
# PREFIX is the fabric's, GATEWAY and DEVICE those of its route as `ip route show` has it: keep its other options.
modprobe tcp_dctcp
ip route replace PREFIX via GATEWAY dev DEVICE congctl dctcp features ecn

# The route asks for ECN, and net.ipv4.tcp_ecn = 2, the default, accepts it. 0 refuses it: DCTCP then sees no mark.
sysctl net.ipv4.tcp_ecn

# New connections have both: ss -ti shows `dctcp` and `ecnseen`. Those that stand keep what they began with.
"
    .to_owned())
}
