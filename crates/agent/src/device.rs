//! Devices, and the folder of what is pinned for them.

use crate::AgentError;
use aya::programs::{SchedClassifier, TcAttachType};
use rustix::fs::statfs;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the agent pins what stays.
pub const FOLDER: &str = "/sys/fs/bpf/flowsieve";
/// The file system that keeps pins (`BPF_FS_MAGIC`).
const BPFFS: u64 = 0xcafe_4a11;

/// A device of the calling thread's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The folder of what is pinned for it.
    pub(crate) folder: PathBuf,
    /// Whether it is gone, and only its pins are left.
    is_gone: bool,
}

/// A program at a device's egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The kernel's number of it.
    pub id: u32,
    /// Its name.
    pub name: String,
}

impl Device {
    /// Looks for a device.
    ///
    /// # Errors
    /// Fails if the machine has no file system for pins, no such device, or one without Ethernet's header.
    pub fn find(name: &str) -> Result<Device, AgentError> {
        // Its type differs from system to system.
        let bpffs = statfs("/sys/fs/bpf").ok().and_then(|of| u64::try_from(of.f_type).ok());
        if bpffs != Some(BPFFS) {
            return Err(AgentError::NotPermitted {
                what: "the agent".to_owned(),
                problem: "/sys/fs/bpf has no bpf file system".to_owned(),
                expected: "`mount -t bpf bpf /sys/fs/bpf` first",
            });
        }
        let device = Device { name: name.to_owned(), folder: Path::new(FOLDER).join(folder_of(name)?), is_gone: false };
        let kind = flowsieve_lab::calls::hardware_type(name)
            .map_err(|error| AgentError::Input(format!("{name}: {error}; expected a device of this host")))?;
        // Ethernet and the loopback device (linux/if_arp.h).
        if ![1, 772].contains(&kind) {
            let problem = format!("{name}: packets without Ethernet's header (type {kind})");
            return Err(AgentError::Input(format!("{problem}; expected an Ethernet device, such as the one below it")));
        }
        device.programs()?;
        Ok(device)
    }

    /// Looks for a device, or for the pins of one that is gone: they can be looked at and removed.
    ///
    /// # Errors
    /// Fails as [`Device::find`] does, if there are no such pins.
    pub fn find_or_pins(name: &str) -> Result<Device, AgentError> {
        Device::find(name).or_else(|error| {
            let folder = Path::new(FOLDER).join(folder_of(name)?);
            let is_gone = flowsieve_lab::calls::hardware_type(name).is_err() && folder.is_dir();
            if is_gone { Ok(Device { name: name.to_owned(), folder, is_gone }) } else { Err(error) }
        })
    }

    /// Returns the programs at its egress, in order.
    ///
    /// # Errors
    /// Fails if the kernel has no tcx, or the process may not ask.
    pub fn programs(&self) -> Result<Vec<Other>, AgentError> {
        if self.is_gone {
            return Ok(Vec::new());
        }
        let (_, programs) = SchedClassifier::query_tcx(&self.name, TcAttachType::Egress)
            .map_err(|error| refused(format!("ask for the programs of {}", self.name), &error))?;
        let other = |info: &aya::programs::ProgramInfo| Other {
            id: info.id(),
            name: info.name_as_str().unwrap_or("?").to_owned(),
        };
        Ok(programs.iter().map(other).collect())
    }
}

/// Returns the name of a device's folder: that of its namespace, and its own. A pin's name has no dot.
fn folder_of(name: &str) -> Result<String, AgentError> {
    if name.is_empty() || name.len() > 15 || name.contains(['/', ':']) || name.contains(char::is_whitespace) {
        return Err(AgentError::Input(format!("{name:?}: expected the name of a device, such as eth0")));
    }
    let namespace = fs::metadata("/proc/thread-self/ns/net")
        .map_err(|error| AgentError::failed("tell the network namespace", error))?;
    Ok(format!("{}-{}", namespace.ino(), name.replace('.', ":")))
}

/// Turns what the kernel refused into one line. What it says of a program is many lines, the first of which is its error.
pub(crate) fn refused(what: impl Into<String>, error: &(dyn std::error::Error + 'static)) -> AgentError {
    let mut errors = vec![error];
    while let Some(source) = errors.last().and_then(|error| error.source()) {
        errors.push(source);
    }
    let innermost = errors.last().copied().unwrap_or(error);
    let os = innermost.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    let what = what.into();
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let mut problem = String::new();
    for text in errors.iter().map(|error| first(error.to_string())) {
        // Some errors say what their sources say.
        if !problem.contains(&text) {
            let between = if problem.is_empty() { "" } else { ": " };
            problem = format!("{problem}{between}{text}");
        }
    }
    let expected = match os {
        // EPERM, EACCES
        Some(1 | 13) => "root, or the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
        // EINVAL
        Some(22) => "Linux 6.6 or later, with CONFIG_BPF_SYSCALL and BTF",
        _ => return AgentError::Failed { what, problem },
    };
    AgentError::NotPermitted { what: format!("to {what}"), problem, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of__has_no_dots() {
        let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        assert_eq!(folder_of("eth0.100"), Ok(format!("{namespace}-eth0:100")));
        for name in ["", "..", "a/b", "a b", "a:b", "sixteen-letters-"] {
            let found = folder_of(name);
            assert!(name == ".." || found.is_err(), "{name}: {found:?}");
        }
    }
}
