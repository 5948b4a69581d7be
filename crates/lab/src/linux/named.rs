//! Names of labs that run, so that other processes find them: a file each in a folder of the machine.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};

use crate::error::{Doing, LabError};

/// The folder.
const FOLDER: &str = "/run/flowsieve-lab";
/// The most bytes of a name.
const LONGEST: usize = 40;

/// A lab with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The process that carries its frames.
    pub process: u32,
    /// When the kernel started that process, in its ticks: another one may get the same number later.
    started: u64,
    /// The folder of its result.
    pub out: PathBuf,
    /// Where its messages go, if they have no terminal.
    pub log: Option<PathBuf>,
}

/// A name that is this process's until it is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// The lab.
    pub lab: Named,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // `flowsieve lab clean` tries again.
        let _ = fs::remove_file(&self.path);
    }
}

impl Named {
    /// Returns whether its process is there.
    pub fn runs(&self) -> bool {
        started(self.process) == Some(self.started)
    }

    /// Returns whether its process has not given its name back, as it does when the result is written.
    pub fn has_its_name(&self) -> bool {
        read(&path_of(&self.name)).is_some_and(|lab| lab == *self)
    }
}

/// Returns a new file for messages of a lab that this process is about to start.
///
/// # Errors
/// Fails if the folder cannot be made.
pub fn log() -> Result<PathBuf, LabError> {
    make_folder(|| "keep the messages of a lab".to_owned())?;
    Ok(Path::new(FOLDER).join(format!("{}-{}.log", process::id(), start_of(process::id()))))
}

fn make_folder(what: impl FnOnce() -> String) -> Result<(), LabError> {
    DirBuilder::new().recursive(true).mode(0o700).create(FOLDER).doing(what)
}

/// Takes a name for a lab of this process, whose result goes into a folder and whose messages into a file.
///
/// # Errors
/// Fails if a lab has it, or one that was killed, or if it cannot be the name of a file.
pub fn claim(name: &str, out: &Path, log: Option<&Path>) -> Result<Claim, LabError> {
    let what = || format!("call a lab `{name}`");
    check(name)?;
    make_folder(what)?;
    let (process, started) = (process::id(), started(process::id()).unwrap_or(0));
    let lab = Named { name: name.to_owned(), process, started, out: out.to_owned(), log: log.map(Path::to_owned) };
    let text = serde_json::to_string(&lab).map_err(|error| LabError::failed(what(), error))?;
    let path = path_of(name);
    match File::create_new(&path) {
        Ok(mut file) => {
            let claim = Claim { path, lab };
            file.write_all(text.as_bytes()).doing(what)?;
            Ok(claim)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(LabError::failed(what(), taken(&path))),
        Err(error) => Err(LabError::failed(what(), error)),
    }
}

fn check(name: &str) -> Result<(), LabError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(fits) || name.starts_with('.') {
        let problem = format!("expected at most {LONGEST} letters, digits, `-`, `_` and `.`, and no `.` at the start");
        return Err(LabError::failed(format!("call a lab `{name}`"), problem));
    }
    Ok(())
}

fn taken(path: &Path) -> String {
    match read(path) {
        Some(lab) if lab.runs() => format!(
            "process {} has a lab of that name; expected another name, or `flowsieve lab down --lab {}` first",
            lab.process, lab.name
        ),
        _ => "a lab of that name was killed; expected `flowsieve lab clean` first".to_owned(),
    }
}

/// Returns all labs that have names, those that were killed, too.
pub fn all() -> Vec<Named> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten();
    let mut labs: Vec<Named> = entries.filter_map(|entry| read(&entry.ok()?.path())).collect();
    labs.sort_by(|one, other| one.name.cmp(&other.name));
    labs
}

/// Finds the lab of this name, or the only one that runs.
///
/// # Errors
/// Fails if there is none, or if there are several and none is named.
pub fn find(name: Option<&str>) -> Result<Named, LabError> {
    let (running, killed): (Vec<Named>, Vec<Named>) = all().into_iter().partition(Named::runs);
    let names = running.iter().map(|lab| lab.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(name) = name else {
        return match <[Named; 1]>::try_from(running) {
            Ok([only]) => Ok(only),
            Err(several) if several.is_empty() => {
                Err(LabError::failed("find a lab", "none runs; expected `flowsieve lab up FILE` first"))
            }
            Err(_) => Err(LabError::failed("choose a lab", format!("several run; expected --lab with one of {names}"))),
        };
    };
    if let Some(lab) = running.iter().find(|lab| lab.name == name) {
        return Ok(lab.clone());
    }
    let problem = match killed.iter().any(|lab| lab.name == name) {
        true => "it was killed; expected `flowsieve lab clean`, which removes what it has left".to_owned(),
        false if running.is_empty() => "none runs; expected `flowsieve lab up FILE` first".to_owned(),
        false => format!("expected one of {names}"),
    };
    Err(LabError::failed(format!("find a lab `{name}`"), problem))
}

/// Removes the names, sockets and messages of labs whose processes are gone; returns those names.
pub fn forget_killed() -> Vec<String> {
    let labs = all();
    let logs: Vec<&PathBuf> = labs.iter().filter(|lab| lab.runs()).filter_map(|lab| lab.log.as_ref()).collect();
    let mut forgotten = Vec::new();
    for path in fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_of_the_gone = || path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_gone);
        let is_left = match path.extension().and_then(|kind| kind.to_str()) {
            Some("socket") => is_of_the_gone(),
            // One that is about to start has its starter.
            Some("log") => !logs.contains(&&path) && is_of_the_gone(),
            Some("lab") => read(&path).is_some_and(|lab| !lab.runs()),
            _ => false,
        };
        if !is_left {
            continue;
        }
        forgotten.extend(read(&path).map(|lab| lab.name));
        // Somebody else may have done so.
        let _ = fs::remove_file(&path);
    }
    forgotten
}

fn path_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.lab"))
}

/// Returns where a process's lab hears requests.
pub(super) fn socket_of(process: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("{process}-{}.socket", start_of(process)))
}

fn read(path: &Path) -> Option<Named> {
    if path.extension().is_none_or(|end| end != "lab") {
        return None;
    }
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Returns a number that tells a process from earlier ones with its number: when the kernel started it.
pub(super) fn start_of(process: u32) -> u64 {
    started(process).unwrap_or(0)
}

/// Returns whether the process is gone whose number a name begins with, and whose start it ends with; a name of an earlier
/// version has no start.
pub(super) fn is_gone(name: &str) -> bool {
    let (number, rest) = name.split_once('-').unwrap_or((name, ""));
    let Ok(process) = number.parse() else { return false };
    let then: Option<u64> = rest.rsplit('-').next().and_then(|ticks| ticks.parse().ok());
    started(process).is_none_or(|now| then.is_some_and(|then| then != now))
}

/// Returns when the kernel started a process, in its ticks (proc(5), field 22 of `stat`); `None`: there is none.
fn started(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is a name in brackets, with anything in it.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A zombie carries no frames.
    let is_gone = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| !is_gone)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process with the number of one that is gone was started at another time.
    #[test]
    fn is_gone__by_number_and_by_start() {
        let (own, start) = (process::id(), start_of(process::id()));
        for (name, expected) in [
            (format!("{own}-{start}"), false),
            (format!("{own}-h3-{start}"), false),
            (format!("{own}-sw"), false),
            (format!("{own}"), false),
            (format!("{own}-h0-1"), true),
            ("4194999-sw".to_owned(), true),
            ("4194999-h0-7".to_owned(), true),
            ("another".to_owned(), false),
        ] {
            assert_eq!(is_gone(&name), expected, "{name}");
        }
    }
}
