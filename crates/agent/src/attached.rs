//! `tag` and `copy`: programs that stay when the command ends.

use std::borrow::BorrowMut;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aya::maps::{Array, MapData, PerCpuArray};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use crate::device::{FOLDER, refused};
use crate::maps::{CONF_WORDS, COUNT_WORDS, Conf, Counts, VERSION};
use crate::{AgentError, Device, OBJECT, Other};

/// The pin of the link. It is made last, and removed first.
const LINK: &str = "link";
/// The maps that outlive a program: what is configured, counted and known of sockets.
const MAPS: [&str; 3] = ["conf", "counts", "flows"];
/// How long the kernel may take to let a program go.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A program that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It writes the DSCPs of the host's own packets.
    Tag,
    /// It copies them into the outer headers of tunnels.
    Copy,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 2] = [Kind::Tag, Kind::Copy];

    /// Returns its name in a command.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tag => "tag",
            Kind::Copy => "copy",
        }
    }

    /// Returns its name in the kernel.
    fn program(self) -> &'static str {
        match self {
            Kind::Tag => "flowsieve_tag",
            Kind::Copy => "flowsieve_copy",
        }
    }
}

/// What became of a call of [`tag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagging {
    /// The program is new at the device.
    New,
    /// The program of before was replaced, between two packets; what is known of sockets stays.
    Replaced,
    /// As new; pins of a device that is gone were removed.
    AfterGone,
}

/// What is pinned for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// Nothing.
    No,
    /// A program that is at the device, by its number.
    Attached(u32),
    /// Pins whose program is at no device: it is gone, or an attachment was interrupted.
    Dead,
}

/// A program at a device, and what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Which one.
    pub kind: Kind,
    /// What it does.
    pub conf: Conf,
    /// What it has counted.
    pub counts: Counts,
}

/// Returns what is pinned of a kind for a device.
///
/// # Errors
/// Fails if the process may not ask.
pub fn pinned(device: &Device, kind: Kind) -> Result<Pinned, AgentError> {
    let folder = device.folder.join(kind.name());
    if !folder.exists() {
        return Ok(Pinned::No);
    }
    let Some(id) = link_of(&folder)?.and_then(|link| FdLink::from(link).info().ok()).map(|info| info.program_id())
    else {
        return Ok(Pinned::Dead);
    };
    let is_here = device.programs()?.iter().any(|program| program.id == id);
    Ok(if is_here { Pinned::Attached(id) } else { Pinned::Dead })
}

/// Attaches a program to a device, or replaces the one that is there. Packets between the two are tagged by either.
///
/// # Errors
/// Fails if another agent's is there, or the kernel refuses; then all is as before.
pub fn tag(device: &Device, kind: Kind, conf: &Conf) -> Result<Tagging, AgentError> {
    let folder = device.folder.join(kind.name());
    let done = match pinned(device, kind)? {
        Pinned::Attached(_) => {
            // Maps of another layout would be misread.
            drop(read(&folder, kind, device)?);
            let mut loaded = load(&folder, kind)?;
            write(&mut loaded, conf)?;
            let link =
                link_of(&folder)?.ok_or_else(|| AgentError::failed("replace the program", "its pin has gone"))?;
            let link = FdLink::from(link).try_into().map_err(|error| refused("replace the program", &error))?;
            program(&mut loaded, kind)?.attach_to_link(link).map_err(|error| refused("replace the program", &error))?;
            return Ok(Tagging::Replaced);
        }
        Pinned::Dead => Tagging::AfterGone,
        Pinned::No => Tagging::New,
    };
    if let Some(Other { id, name }) = device.programs()?.into_iter().find(|program| program.name == kind.program()) {
        let problem = format!("{}: another agent's program is there already ({name}, {id})", device.name);
        return Err(AgentError::Input(format!("{problem}; expected it to be detached where it was attached")));
    }
    remove(&folder)?;
    fs::create_dir_all(&folder).map_err(|error| refused(format!("make {}", folder.display()), &error))?;
    attach(device, kind, conf, &folder).inspect_err(|_| {
        // What it has left would be dead pins. The first error is the one to tell.
        let _ = remove(&folder);
        remove_empty(device);
    })?;
    Ok(done)
}

/// Writes what a program at a device is to do from its next packet on; the program stays.
///
/// # Errors
/// Fails if no `tag` is there, or its maps are of another version.
pub fn push(device: &Device, conf: &Conf) -> Result<(), AgentError> {
    let folder = device.folder.join(Kind::Tag.name());
    drop(read(&folder, Kind::Tag, device)?);
    let open = MapData::from_pin(folder.join("conf")).map(aya::maps::Map::Array);
    let map = open.map_err(|error| refused("open what is configured", &error))?;
    let map = Array::try_from(map).map_err(|error| refused("open what is configured", &error))?;
    put(map, conf)
}

/// Attaches a new program, whose pins go into this folder.
fn attach(device: &Device, kind: Kind, conf: &Conf, folder: &Path) -> Result<(), AgentError> {
    let mut loaded = load(folder, kind)?;
    write(&mut loaded, conf)?;
    let to = || format!("attach to {}", device.name);
    let program = program(&mut loaded, kind)?;
    let options = TcAttachOptions::TcxOrder(LinkOrder::default());
    let link = program
        .attach_with_options(&device.name, TcAttachType::Egress, options)
        .and_then(|id| program.take_link(id))
        .map_err(|error| refused(to(), &error))?;
    let link: FdLink = link.try_into().map_err(|error| refused(to(), &error))?;
    link.pin(folder.join(LINK)).map_err(|error| refused("pin the link", &error))?;
    Ok(())
}

/// Detaches a program of a device and removes its pins; returns whether it was at the device.
///
/// # Errors
/// Fails if nothing is pinned, or it may not be removed.
pub fn detach(device: &Device, kind: Kind) -> Result<bool, AgentError> {
    let folder = device.folder.join(kind.name());
    let was = pinned(device, kind)?;
    if was == Pinned::No {
        let problem = format!("{}: no agent's {} program is there", device.name, kind.name());
        return Err(AgentError::Input(format!("{problem}; expected one of `flowsieve agent tag`")));
    }
    remove(&folder)?;
    remove_empty(device);
    let Pinned::Attached(id) = was else { return Ok(false) };
    let begun = Instant::now();
    while device.programs()?.iter().any(|program| program.id == id) {
        if begun.elapsed() > GONE_WITHIN {
            return Err(AgentError::failed("detach", format!("program {id} is still at {}", device.name)));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(true)
}

/// Reads what a program at a device does, and has counted.
///
/// # Errors
/// Fails if its maps are of another version, or may not be read.
pub fn status(device: &Device, kind: Kind) -> Result<Attached, AgentError> {
    read(&device.folder.join(kind.name()), kind, device)
}

fn read(folder: &Path, kind: Kind, device: &Device) -> Result<Attached, AgentError> {
    let other = |what: String| {
        let problem = format!("{}: {what}", folder.display());
        AgentError::Input(format!("{problem}; expected `flowsieve agent detach {}` first", device.name))
    };
    let open = |name: &str| {
        let path = folder.join(name);
        MapData::from_pin(&path).map_err(|error| refused(format!("open {}", path.display()), &error))
    };
    let version = || other(format!("maps of another version of flowsieve than this one, {VERSION}"));
    let conf = Array::<_, [u64; CONF_WORDS]>::try_from(aya::maps::Map::Array(open("conf")?)).map_err(|_| version())?;
    let counts = PerCpuArray::<_, [u64; COUNT_WORDS]>::try_from(aya::maps::Map::PerCpuArray(open("counts")?))
        .map_err(|_| version())?;
    let flow = size_of::<flowsieve_core::packet_flow::PacketFlow>() as u32;
    if open("flows")?.info().map_err(|error| refused("read a map", &error))?.value_size() != flow {
        return Err(version());
    }
    let words = |at: u32| conf.get(&at, 0).map_err(|error| refused("read what is configured", &error));
    let [found, active, ..] = words(0)?;
    if found != VERSION {
        return Err(version());
    }
    let active = u32::try_from(active).ok().filter(|active| (1..=2).contains(active)).ok_or_else(version)?;
    let conf = Conf::from_words(&words(active)?).ok_or_else(version)?;
    let counts = counts.get(&0, 0).map_err(|error| refused("read what was counted", &error))?;
    Ok(Attached { kind, conf, counts: Counts::of(counts.iter()) })
}

/// Loads the object into the kernel, with the maps that are pinned in this folder, or pins new ones there.
fn load(folder: &Path, kind: Kind) -> Result<Ebpf, AgentError> {
    let pins: Vec<(&str, PathBuf)> = MAPS.iter().map(|&name| (name, folder.join(name))).collect();
    let mut loader = EbpfLoader::new();
    for (name, path) in &pins {
        loader.map_pin_path(name, path.as_path());
    }
    let mut loaded = loader.load(OBJECT).map_err(|error| refused("load the programs", &error))?;
    program(&mut loaded, kind)?.load().map_err(|error| refused("load the program", &error))?;
    Ok(loaded)
}

fn program(loaded: &mut Ebpf, kind: Kind) -> Result<&mut SchedClassifier, AgentError> {
    program_named(loaded, kind.program())
}

/// Returns a program of the object.
pub(crate) fn program_named<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut SchedClassifier, AgentError> {
    let missing = || AgentError::failed("load the programs", format!("the object has no {name}"));
    loaded.program_mut(name).ok_or_else(missing)?.try_into().map_err(|error| refused("load the programs", &error))
}

/// Writes what is to be done into the slot that does not hold, and then lets it hold.
fn write(loaded: &mut Ebpf, conf: &Conf) -> Result<(), AgentError> {
    let what = "write what is configured";
    let missing = || AgentError::failed(what, "the object has no such map");
    put(loaded.map_mut("conf").ok_or_else(missing)?.try_into().map_err(|error| refused(what, &error))?, conf)
}

fn put(mut map: Array<impl BorrowMut<MapData>, [u64; CONF_WORDS]>, conf: &Conf) -> Result<(), AgentError> {
    let what = "write what is configured";
    let [_, active, ..] = map.get(&0, 0).map_err(|error| refused(what, &error))?;
    let next = if active == 1 { 2 } else { 1 };
    let mut head = [0; CONF_WORDS];
    [head[0], head[1]] = [VERSION, u64::from(next)];
    map.set(next, conf.words(), 0).and_then(|()| map.set(0, head, 0)).map_err(|error| refused(what, &error))
}

fn link_of(folder: &Path) -> Result<Option<PinnedLink>, AgentError> {
    let path = folder.join(LINK);
    if !path.exists() {
        return Ok(None);
    }
    PinnedLink::from_pin(&path).map(Some).map_err(|error| refused(format!("open {}", path.display()), &error))
}

/// Removes the pins of a folder, the link's first, and the folder.
fn remove(folder: &Path) -> Result<(), AgentError> {
    let done = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(AgentError::failed(format!("remove {}", folder.display()), error))
        }
        _ => Ok(()),
    };
    done(fs::remove_file(folder.join(LINK)))?;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        done(fs::remove_file(entry.path()))?;
    }
    done(fs::remove_dir(folder))
}

/// Removes the folders above those of a kind, as far as nothing else has pins in them.
fn remove_empty(device: &Device) {
    for folder in [device.folder.as_path(), Path::new(FOLDER)] {
        // It fails where something is left.
        let _ = fs::remove_dir(folder);
    }
}
