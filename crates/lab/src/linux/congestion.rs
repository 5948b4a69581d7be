//! The congestion control of hosts' connections: the kernel's own, or DCTCP, which the lab brings along.
//!
//! Kernels of distributions often lack DCTCP. The lab has one of its own as a program of BPF (`struct_ops`), in `bpf/`. It is
//! compiled when it is needed and registered by a process that holds it: when the lab ends, however it ends, the kernel lets
//! go of it. The name of a congestion control is the kernel's and not the namespace's, so it carries the process's number.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, Child, Command, Stdio};

use crate::error::{Doing, LabError};

const PROGRAM: &str = include_str!("../../bpf/dctcp.bpf.c");
const HOLDER: &str = include_str!("../../bpf/hold.c");
/// What is needed to compile them.
const NEEDED: &str = "clang and the headers of libbpf (Debian: apt install clang libbpf-dev)";

/// A congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// NewReno, the kernel's.
    Reno,
    /// CUBIC, the kernel's.
    Cubic,
    /// DCTCP, the lab's.
    Dctcp(DctcpWindow),
}

impl Congestion {
    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Congestion::Reno => "reno",
            Congestion::Cubic => "cubic",
            Congestion::Dctcp(_) => "dctcp",
        }
    }
}

/// How the window of the lab's DCTCP differs from the RFC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DctcpWindow {
    /// Packets by which it grows in a round trip without marks, in 1024ths.
    pub growth: u32,
    /// The largest window, in packets.
    pub most: u32,
    /// The smallest window that marks leave, in packets; the kernel keeps two in any case.
    pub least: u32,
}

impl DctcpWindow {
    /// The RFC's growth, by one packet.
    pub const ONE: u32 = 1_024;
    /// The RFC's growth, and a window that nothing but the network limits.
    pub const RFC: DctcpWindow = DctcpWindow { growth: DctcpWindow::ONE, most: u32::MAX, least: 2 };

    /// Returns a growth in packets as a whole number of 1024ths, at least one; a growth beyond what fits is the largest.
    pub fn growth_of(packets: f64) -> u32 {
        (packets * f64::from(DctcpWindow::ONE)).round().max(1.0) as u32
    }
}

/// A congestion control that is there as long as this lives.
pub(super) struct Registered {
    /// Its name for sockets.
    pub(super) name: String,
    holder: Option<Child>,
}

impl Registered {
    pub(super) fn new(congestion: Congestion) -> Result<Registered, LabError> {
        match congestion {
            Congestion::Reno | Congestion::Cubic => Ok(Registered { name: congestion.name().to_owned(), holder: None }),
            Congestion::Dctcp(window) => dctcp(window),
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            // The end of its input ends it.
            drop(holder.stdin.take());
            drop(holder.wait());
        }
    }
}

fn dctcp(window: DctcpWindow) -> Result<Registered, LabError> {
    // At most 15 bytes.
    let name = format!("fsl{:x}dctcp", process::id());
    let folder = tempfile::tempdir().doing(|| "make a temporary folder".to_owned())?;
    let at = |file: &str| folder.path().join(file);
    let written = [("dctcp.bpf.c", PROGRAM), ("hold.c", HOLDER)];
    for (file, text) in written {
        fs::write(at(file), text).doing(|| format!("write {file}"))?;
    }
    // The kernel's headers of the machine, which a compiler for another target does not look for.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let defined = format!("-DNAME=\"{name}\"");
    let parameters = [
        format!("-DGROWTH={}u", window.growth),
        format!("-DMAX_WINDOW={}u", window.most),
        format!("-DMIN_WINDOW={}u", window.least),
    ];
    let defined = [&headers, &defined, &parameters[0], &parameters[1], &parameters[2]].map(String::as_str);
    let for_bpf = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", "dctcp.bpf.c", "-o", "dctcp.o"];
    clang(folder.path(), &[for_bpf.as_slice(), &defined].concat())?;
    clang(folder.path(), &["-O2", "hold.c", "-o", "hold", "-lbpf"])?;
    let mut command = Command::new(at("hold"));
    command.arg(at("dctcp.o")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut holder = command.spawn().doing(|| "start the holder of DCTCP".to_owned())?;
    let mut line = String::new();
    if let Some(output) = holder.stdout.take() {
        BufReader::new(output).read_line(&mut line).doing(|| "register DCTCP".to_owned())?;
    }
    let wanted = format!("ready {} {} {}", window.growth, window.most, window.least);
    if line.trim() == wanted {
        return Ok(Registered { name, holder: Some(holder) });
    }
    if line.starts_with("ready") {
        drop(holder.stdin.take());
        drop(holder.wait());
        return Err(LabError::failed("set DCTCP up", format!("the kernel has `{}`, not `{wanted}`", line.trim())));
    }
    let output = holder.wait_with_output().doing(|| "register DCTCP".to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::NotPermitted {
        what: "DCTCP as a program of BPF".to_owned(),
        problem: said.trim().replace('\n', "; "),
        expected: "the capability CAP_BPF, and a kernel with BTF and struct_ops (6.4 or later)".to_owned(),
    })
}

fn clang(folder: &Path, arguments: &[&str]) -> Result<(), LabError> {
    let missing = |problem: String| LabError::NotPermitted {
        what: "DCTCP, which is compiled here".to_owned(),
        problem,
        expected: NEEDED.to_owned(),
    };
    let output = Command::new("clang").args(arguments).current_dir(folder).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(missing(said.lines().next().unwrap_or("clang failed").to_owned()))
        }
        Err(error) => Err(missing(format!("clang: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of__whole_1024ths() {
        assert_eq!([1.0, 1.25, 8.375].map(DctcpWindow::growth_of), [DctcpWindow::ONE, 1_280, 8_576]);
        assert_eq!([1e-9, 1e9].map(DctcpWindow::growth_of), [1, u32::MAX], "never none");
    }
}
