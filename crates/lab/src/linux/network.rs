//! Network namespaces: one for each host and one for the switches' side of all their devices.
//!
//! All names carry the lab's own prefix, and the number and the start of the process. Nothing else is touched, and traffic cannot
//! leave: the devices are pairs between these namespaces, and no namespace has a way out.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, process, thread};

use super::named::{is_gone, start_of};
use super::{NAMESPACES, enter};
use crate::carrier::address_of;
use crate::error::{Doing, LabError};

/// The first part of all names.
const PREFIX: &str = "flowsieve-lab-";
/// Hosts' addresses, of the range for benchmarks (RFC 2544, appendix C.2.2).
const NETWORK: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// Their addresses of IPv6, of the range for benchmarks (RFC 5180, section 8).
const NETWORK_V6: u128 = 0x2001_0002 << 96;
/// Whether a namespace lacks IPv6.
const DISABLE_V6: &str = "ipv6/conf/all/disable_ipv6";
/// The congestion control of sockets that do not choose.
const CONGESTION: &str = "ipv4/tcp_congestion_control";
/// The name of a host's device in its own namespace.
const DEVICE: &str = "eth0";

/// What is set in every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// The most bytes of an IP packet.
    pub mtu: u16,
    /// The least retransmission timeout, which the kernel rounds to whole milliseconds.
    pub rto_min: Duration,
    /// The initial window in segments.
    pub initial_window: u32,
    /// Whether connections use explicit congestion notification.
    pub ecn: bool,
    /// Whether lines lose packets: then a SYN that is lost is sent again with its offer of congestion notification.
    pub lossy: bool,
    /// Whether the window falls to the initial one after the connection was idle for a timeout.
    pub slow_start_after_idle: bool,
}

impl HostSettings {
    /// Returns settings of the kernel's TCP, by their names below /proc/sys/net.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let flag = |on: bool| u8::from(on).to_string();
        let mut variables = vec![
            (DISABLE_V6, "1".to_owned()),
            (CONGESTION, "reno".to_owned()),
            ("ipv4/tcp_ecn", flag(self.ecn)),
            // Segments are then 12 bytes longer.
            ("ipv4/tcp_timestamps", "0".to_owned()),
            ("ipv4/tcp_no_metrics_save", "1".to_owned()),
            ("ipv4/tcp_autocorking", "0".to_owned()),
            ("ipv4/tcp_slow_start_after_idle", flag(self.slow_start_after_idle)),
        ];
        if self.lossy {
            variables.push(("ipv4/tcp_ecn_fallback", "0".to_owned()));
        }
        variables
    }

    /// Returns the payload of a full segment: no header has options.
    pub(super) fn segment(&self) -> u32 {
        u32::from(self.mtu) - 40
    }

    /// Returns the attributes of a host's route to all others.
    fn route(&self) -> String {
        format!("rto_min {}ms initcwnd {} quickack 1", self.rto_min.as_millis(), self.initial_window)
    }

    /// Returns all that is set, in words for the effective configuration.
    pub fn in_words(&self) -> Vec<(String, String)> {
        // The sockets of the lab, and routes where programs send, choose their congestion control by themselves.
        let variables = self.variables().into_iter().filter(|(name, _)| *name != CONGESTION);
        let variables = variables.map(|(name, value)| (name.replace('/', "."), value));
        let others = [("route", self.route()), ("mtu", self.mtu.to_string()), ("offloads", "off".to_owned())];
        variables.chain(others.map(|(name, value)| (name.to_owned(), value))).collect()
    }
}

/// Who sends from the hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Senders<'a> {
    /// The lab's own, which chooses its sockets' congestion control, over IPv4.
    Lab,
    /// Programs of one's own, whose routes name the congestion control: `/proc/sys` of a namespace takes only those that any user
    /// may choose.
    Programs(&'a str),
}

impl Senders<'_> {
    /// Returns a route's further attributes.
    fn route(self) -> String {
        match self {
            Senders::Lab => String::new(),
            Senders::Programs(congestion) => format!(" congctl {congestion}"),
        }
    }
}

/// The namespaces of a lab. They go when it is dropped.
pub(super) struct Network {
    /// When this process was started.
    start: u64,
    hosts: u16,
}

impl Network {
    /// Builds the namespaces of this many hosts, sets what they need, and reads back that it holds.
    pub(super) fn build(hosts: u16, settings: &HostSettings, senders: Senders<'_>) -> Result<Network, LabError> {
        let network = Network { start: start_of(process::id()), hosts };
        let all = || (0..hosts).map(|host| network.host(host)).chain([network.switch()]);
        if let Some(taken) = all().find(|name| Path::new(NAMESPACES).join(name).exists()) {
            let problem = format!("there is a network namespace {taken}");
            // It is another's: it stays.
            std::mem::forget(network);
            return Err(LabError::failed("build a lab", format!("{problem}; expected `flowsieve lab clean` first")));
        }
        let lines: String = all().map(|name| format!("netns add {name}\n")).collect();
        ip(None, &lines).map_err(not_permitted)?;
        let switch = network.switch();
        let pair = |host: u16| {
            let (own, address) = (network.host(host), in_words(address_of(host)));
            format!(
                "link add {} type veth peer name {DEVICE} netns {own} address {address}\n\
                 link set {0} up mtu {}\n",
                device(host),
                settings.mtu
            )
        };
        ip(Some(&switch), &(0..hosts).map(pair).collect::<String>())?;
        for host in 0..hosts {
            let neighbours = (0..hosts).filter(|&other| other != host).map(|other| {
                format!(
                    "neigh replace {} lladdr {} nud permanent dev {DEVICE}\n",
                    ip_of(other),
                    in_words(address_of(other))
                )
            });
            let lines = format!(
                "link set lo up\naddr add {}/15 dev {DEVICE}\nlink set {DEVICE} up mtu {}\n\
                 route replace {}/15 dev {DEVICE} scope link src {0} {}\n{}",
                ip_of(host),
                settings.mtu,
                Ipv4Addr::from(NETWORK),
                settings.route() + &senders.route(),
                neighbours.collect::<String>()
            );
            ip(Some(&network.host(host)), &lines)?;
        }
        thread::scope(|scope| {
            // A thread of its own: it stays in the last namespace.
            let set = scope.spawn(|| network.set_variables(settings, senders));
            set.join().unwrap_or_else(|_| Err(LabError::failed("set hosts up", "a thread panicked")))
        })?;
        if senders != Senders::Lab {
            network.speak_v6(settings, senders)?;
        }
        network.read_back(settings, senders)?;
        Ok(network)
    }

    /// Gives hosts addresses of IPv6, and routes like those of IPv4.
    fn speak_v6(&self, settings: &HostSettings, senders: Senders<'_>) -> Result<(), LabError> {
        for host in 0..self.hosts {
            let neighbours = (0..self.hosts).filter(|&other| other != host).map(|other| {
                let address = in_words(address_of(other));
                format!("neigh replace {} lladdr {address} nud permanent dev {DEVICE}\n", ip6_of(other))
            });
            let lines = format!(
                "addr add {}/48 dev {DEVICE} nodad noprefixroute\nroute replace {}/48 dev {DEVICE} {}{}\n{}",
                ip6_of(host),
                Ipv6Addr::from(NETWORK_V6),
                settings.route(),
                senders.route(),
                neighbours.collect::<String>()
            );
            ip(Some(&self.host(host)), &lines)?;
        }
        Ok(())
    }

    fn set_variables(&self, settings: &HostSettings, senders: Senders<'_>) -> Result<(), LabError> {
        for host in 0..self.hosts {
            enter(&self.host(host))?;
            for (name, value) in settings.variables() {
                let value = if name == DISABLE_V6 && senders != Senders::Lab { "0".to_owned() } else { value };
                let path = format!("/proc/sys/net/{name}");
                let what = || format!("set {name} to {value}");
                fs::write(&path, &value).doing(what)?;
                let now = fs::read_to_string(&path).doing(what)?;
                if now.trim() != value {
                    return Err(LabError::failed(what(), format!("it is {}", now.trim())));
                }
            }
            crate::calls::offloads_off(DEVICE).doing(|| format!("set up {}", self.host(host)))?;
        }
        enter(&self.switch())?;
        fs::write(format!("/proc/sys/net/{DISABLE_V6}"), "1").doing(|| "switch IPv6 off".to_owned())?;
        for host in 0..self.hosts {
            crate::calls::offloads_off(&device(host)).doing(|| format!("set up the device of host{host}"))?;
        }
        Ok(())
    }

    fn read_back(&self, settings: &HostSettings, senders: Senders<'_>) -> Result<(), LabError> {
        for host in 0..self.hosts {
            let routes = output(&["-n", &self.host(host), "route", "show", "dev", DEVICE])?;
            // The kernel's least timeout cannot be changed by TCP: `ip` shows that as a lock.
            let words = |text: &str| {
                text.split_whitespace().filter(|word| *word != "lock").map(str::to_owned).collect::<Vec<_>>()
            };
            let route = settings.route() + &senders.route();
            let (now, wanted) = (words(&routes), words(&route));
            if !wanted.chunks(2).all(|pair| now.windows(2).any(|there| there == pair)) {
                let problem = format!("{} has the route {}", self.host(host), routes.trim());
                return Err(LabError::failed(format!("give routes `{route}`"), problem));
            }
        }
        Ok(())
    }

    /// Returns the name of a host's namespace.
    pub(super) fn host(&self, host: u16) -> String {
        self.name(&format!("h{host}"))
    }

    /// Returns the name of the switches' namespace.
    pub(super) fn switch(&self) -> String {
        self.name("sw")
    }

    fn name(&self, what: &str) -> String {
        format!("{PREFIX}{}-{what}-{}", process::id(), self.start)
    }

    /// Returns the names of the hosts' namespaces, by host.
    pub(super) fn namespaces(&self) -> Vec<String> {
        (0..self.hosts).map(|host| self.host(host)).collect()
    }

    /// Returns the names of the hosts' devices there, by host.
    pub(super) fn devices(&self) -> Vec<String> {
        (0..self.hosts).map(device).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let names = (0..self.hosts).map(|host| self.host(host)).chain([self.switch()]);
        for name in names.filter(|name| Path::new(NAMESPACES).join(name).exists()) {
            if let Err(error) = delete(&name) {
                eprintln!("warning: {error}; `flowsieve lab clean` tries again");
            }
        }
    }
}

/// Returns the names of all network namespaces.
fn namespaces() -> impl Iterator<Item = String> {
    let entries = fs::read_dir(NAMESPACES).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// Removes the namespaces of labs whose processes are gone; returns their names.
///
/// # Errors
/// Fails if a namespace cannot be removed.
pub fn clean() -> Result<Vec<String>, LabError> {
    let is_left = |name: &String| name.strip_prefix(PREFIX).is_some_and(is_gone);
    let mut left: Vec<String> = namespaces().filter(is_left).collect();
    left.sort();
    super::programs::end_in(&left);
    left.iter().try_for_each(|name| delete(name))?;
    Ok(left)
}

/// Removes the namespaces of this process's own lab, for a process that ends without an unwinding of its threads.
pub fn remove_own() {
    let (own, start) = (format!("{PREFIX}{}-", process::id()), format!("-{}", start_of(process::id())));
    for name in namespaces().filter(|name| name.starts_with(&own) && name.ends_with(&start)) {
        // `flowsieve lab clean` tries again.
        let _ = delete(&name);
    }
}

fn delete(namespace: &str) -> Result<(), LabError> {
    ip(None, &format!("netns del {namespace}\n"))
}

/// Returns a host's IP address.
pub(super) fn ip_of(host: u16) -> Ipv4Addr {
    Ipv4Addr::from(NETWORK + u32::from(host) + 1)
}

/// Returns a host's address of IPv6.
pub(super) fn ip6_of(host: u16) -> Ipv6Addr {
    Ipv6Addr::from(NETWORK_V6 + u128::from(host) + 1)
}

/// Returns the name of a host's device on the switches' side.
fn device(host: u16) -> String {
    format!("h{host}")
}

fn in_words(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// Carries out lines of `ip`, in a namespace if one is named.
fn ip(namespace: Option<&str>, lines: &str) -> Result<(), LabError> {
    let mut command = Command::new("ip");
    if let Some(namespace) = namespace {
        command.args(["-n", namespace]);
    }
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let what = || format!("set up networks with `ip` ({})", lines.lines().next().unwrap_or_default());
    let mut child = command.spawn().map_err(no_ip)?;
    if let Some(mut input) = child.stdin.take() {
        // An early end of the command says more than the pipe.
        let _ = input.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().doing(what)?;
    if output.status.success() {
        return Ok(());
    }
    Err(LabError::failed(what(), String::from_utf8_lossy(&output.stderr).trim()))
}

fn output(arguments: &[&str]) -> Result<String, LabError> {
    let output = Command::new("ip").args(arguments).output().map_err(no_ip)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn no_ip(error: std::io::Error) -> LabError {
    LabError::NotPermitted {
        what: "network namespaces".to_owned(),
        problem: format!("the command `ip`: {error}"),
        expected: "iproute2 (Debian: apt install iproute2)".to_owned(),
    }
}

fn not_permitted(error: LabError) -> LabError {
    let LabError::Failed { problem, .. } = error else { return error };
    LabError::NotPermitted {
        what: "network namespaces".to_owned(),
        // The command's own words, without its last line, which says that it failed.
        problem: problem.lines().next().unwrap_or_default().to_owned(),
        expected: format!("root, as with `sudo`, or {ROOTLESS}"),
    }
}

/// How a process without rights gets those that a lab needs.
const ROOTLESS: &str = "a user namespace: `unshare -Urnm sh -c 'mount -t tmpfs none /run; flowsieve lab run FILE'`";
