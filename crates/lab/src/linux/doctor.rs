//! What this machine permits.

use std::thread;
use std::time::Duration;

use super::congestion::{Congestion, DctcpWindow, Registered};
use super::devices::Devices;
use super::enter;
use super::network::{HostSettings, Network, Senders};
use crate::error::LabError;

/// Something that a lab needs, or is better with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What it is.
    pub what: &'static str,
    /// Why it is not there, if it is not.
    pub problem: Option<String>,
    /// What is missing without it.
    pub without: &'static str,
    /// Whether no lab runs without it.
    pub needed: bool,
}

/// Settings of hosts like any other.
pub fn usual_hosts() -> HostSettings {
    HostSettings {
        mtu: 1_500,
        rto_min: Duration::from_millis(10),
        initial_window: 10,
        ecn: true,
        lossy: false,
        slow_start_after_idle: false,
    }
}

/// Tries what a lab needs. Nothing is left.
pub fn permissions() -> Vec<Permission> {
    let problem = |result: Result<(), LabError>| result.err().map(|error| error.to_string());
    let network = Network::build(2, &usual_hosts(), Senders::Lab);
    let frames = match &network {
        Ok(network) => frames(network),
        Err(_) => Err(LabError::failed("open a socket for frames", "there are no namespaces")),
    };
    let real_time = thread::spawn(crate::calls::may_be_real_time).join();
    let real_time = match real_time {
        Ok(result) => result.map_err(|error| LabError::failed("take real-time priority", error)),
        Err(_) => Err(LabError::failed("take real-time priority", "the thread panicked")),
    };
    vec![
        Permission {
            what: "network namespaces and veth devices",
            problem: problem(network.map(drop)),
            without: "no lab: there are no hosts",
            needed: true,
        },
        Permission {
            what: "sockets for frames",
            problem: problem(frames),
            without: "no lab: there is no fabric",
            needed: true,
        },
        Permission {
            what: "real-time priority",
            problem: problem(real_time),
            without: "frames leave late whenever other programs work",
            needed: false,
        },
        Permission {
            what: "DCTCP as a program of BPF",
            problem: problem(Registered::new(Congestion::Dctcp(DctcpWindow::RFC)).map(drop)),
            without: "schemes with transport = \"tcp\" alone",
            needed: false,
        },
    ]
}

/// Opens a socket as the fabric's thread does, in a thread of its own.
fn frames(network: &Network) -> Result<(), LabError> {
    let open = || {
        enter(&network.switch())?;
        let devices = Devices::open(&network.devices());
        devices.map(drop).map_err(|error| LabError::failed("open a socket for frames", error))
    };
    thread::scope(|scope| scope.spawn(open).join())
        .unwrap_or_else(|_| Err(LabError::failed("open a socket for frames", "the thread panicked")))
}
