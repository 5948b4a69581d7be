//! `record`: sizes of messages, while the command runs. Nothing is pinned: whatever ends the process detaches the program.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use aya::maps::{HashMap, PerCpuArray};
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::{LinkOrder, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use crate::attached::program_named;
use crate::bins::{BINS, Bin};
use crate::device::refused;
use crate::maps::{COUNT_WORDS, Counts, RULES};
use crate::{AgentError, Bins, Device, OBJECT};

/// The name in the kernel.
const PROGRAM: &str = "flowsieve_rec";
/// Keys of ports in the map of classes.
const PORT: u64 = 1 << 62;
/// And of ports of the peer.
const PEER: u64 = 1 << 63;
/// The most names of classes: each takes 24 KB a processor.
const MOST_CLASSES: usize = 64;

/// What a class of messages is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// A TCP port: the socket that has it answers, the other one asks.
    Port(u16),
    /// A cgroup of version 2, by its folder. The processes in it, and not those of groups below it.
    Cgroup(PathBuf),
}

/// Whose messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of the sockets that have the class's port, or of its cgroup.
    Own,
    /// Of the sockets whose peer has the port.
    Peer,
}

/// A running record.
pub struct Recording {
    loaded: Ebpf,
    /// With it the program goes.
    _link: SchedClassifierLink,
    names: Vec<String>,
}

/// Begins to record what leaves by a device. Each class has a name, and a name may have several; what is in no class has the
/// empty name.
///
/// # Errors
/// Fails if a record runs at the device already, a class is wrong, or the kernel refuses.
pub fn record(device: &Device, classes: &[(Class, String)]) -> Result<Recording, AgentError> {
    if let Some(other) = device.programs()?.iter().find(|program| program.name == PROGRAM) {
        let problem = format!("{}: a record runs there already (program {})", device.name, other.id);
        return Err(AgentError::Input(format!("{problem}; expected it to end first")));
    }
    let mut names = vec![String::new()];
    for (_, name) in classes {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.len() > MOST_CLASSES {
        return Err(AgentError::Input(format!("{} classes; expected at most {}", names.len() - 1, MOST_CLASSES - 1)));
    }
    let mut keys = Vec::new();
    for (class, name) in classes {
        // Two for each name: its own messages, and those of its peers.
        let number = 2 * names.iter().position(|known| known == name).unwrap_or_default() as u64;
        match class {
            Class::Port(port) => {
                keys.extend([(PORT | u64::from(*port), number), (PORT | PEER | u64::from(*port), number + 1)]);
            }
            Class::Cgroup(path) => {
                let expected = "expected the folder of a cgroup of version 2";
                let of = fs::metadata(path)
                    .map_err(|error| AgentError::Input(format!("{}: {error}; {expected}", path.display())))?;
                keys.push((of.ino(), number));
            }
        }
    }
    let bins = (2 * names.len() * RULES.len() * BINS) as u32;
    let mut loader = EbpfLoader::new();
    loader.map_max_entries("sizes", bins);
    let mut loaded = loader.load(OBJECT).map_err(|error| refused("load the programs", &error))?;
    let map = loaded.map_mut("classes").ok_or_else(|| AgentError::failed("record", "the object has no classes"))?;
    let mut map: HashMap<_, u64, u64> = map.try_into().map_err(|error| refused("name the classes", &error))?;
    for (key, number) in keys {
        map.insert(key, number, 0).map_err(|error| refused("name the classes", &error))?;
    }
    let program = program_named(&mut loaded, PROGRAM)?;
    program.load().map_err(|error| refused("load the program", &error))?;
    let options = TcAttachOptions::TcxOrder(LinkOrder::default());
    let link = program
        .attach_with_options(&device.name, TcAttachType::Egress, options)
        .and_then(|id| program.take_link(id))
        .map_err(|error| refused(format!("attach to {}", device.name), &error))?;
    Ok(Recording { loaded, _link: link, names })
}

impl Recording {
    /// Returns the names of the classes; the first is empty, for all that is in none.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the sizes of a class's messages that have ended, by each of the rules that are kept.
    ///
    /// # Errors
    /// Fails if the kernel does not give them.
    pub fn sizes(&self, class: usize, side: Side) -> Result<[Bins; 3], AgentError> {
        let what = "read the sizes";
        let map = self.loaded.map("sizes").ok_or_else(|| AgentError::failed(what, "the object has no such map"))?;
        let map: PerCpuArray<_, [u64; 2]> = map.try_into().map_err(|error| refused(what, &error))?;
        let class = 2 * class + usize::from(side == Side::Peer);
        let mut all = <[Bins; 3]>::default();
        for (rule, bins) in all.iter_mut().enumerate() {
            for (at, bin) in bins.0.iter_mut().enumerate() {
                let key = ((class * RULES.len() + rule) * BINS + at) as u32;
                for [messages, bytes] in map.get(&key, 0).map_err(|error| refused(what, &error))?.iter() {
                    *bin = Bin { messages: bin.messages + messages, bytes: bin.bytes + bytes };
                }
            }
        }
        Ok(all)
    }

    /// Returns what was counted.
    ///
    /// # Errors
    /// Fails if the kernel does not give it.
    pub fn counts(&self) -> Result<Counts, AgentError> {
        let what = "read what was counted";
        let map = self.loaded.map("counts").ok_or_else(|| AgentError::failed(what, "the object has no such map"))?;
        let map: PerCpuArray<_, [u64; COUNT_WORDS]> = map.try_into().map_err(|error| refused(what, &error))?;
        let counts = map.get(&0, 0).map_err(|error| refused(what, &error))?;
        Ok(Counts::of(counts.iter()))
    }
}
