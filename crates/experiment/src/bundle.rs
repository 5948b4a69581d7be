//! Experiments in one file, together with every file that they name: paths mean nothing on another machine.
//!
//! A bundle is a tar file without compression, so that it cannot grow when it is unpacked:
//!
//! ```text
//! bundle.json        the experiment's name, what the command line changed in it, and its files: path as written, hash, bytes;
//!                    which program packed it, and what its result has to be, as digests
//! experiment.toml    its text, verbatim
//! README.md          what to do with it
//! HASH …             each file once, under its BLAKE3
//! ```
//!
//! A bundle is unpacked into its own folder, in which the paths lead to the files. So runs have the same keys, and
//! results the same bytes, as without it. Nothing is written outside of that folder: paths that lead out of it are
//! refused first.

use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::folder::Folder;
use crate::plan::{Changes, Plan};
use crate::points::Point;
use crate::scale::Scale;
use crate::scheme_files;
use crate::source::Source;
use crate::verify::{self, Proof};
use flowsieve_results::{COMMIT, Digests, Experiment};
use flowsieve_settings::files::Existing;
use flowsieve_settings::{Address, Settings, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The first one had no versions, no digests of a result and no README.
const SCHEMA: u32 = 2;
const LIST: &str = "bundle.json";
const TEXT: &str = "experiment.toml";
const README: &str = "README.md";
/// The longest README, in bytes.
const MAX_README_BYTES: u64 = 1 << 20;

/// The longest list of a bundle's files, in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// The largest total size of the files in a bundle, in bytes.
const MAX_BYTES: u64 = 16_000_000_000;
/// The largest bundle: its files, their headers, the list and the text.
const MAX_BUNDLE_BYTES: u64 = MAX_BYTES + 1_000_000_000;
/// The most folders that paths may lead above that of the experiment.
const MAX_ABOVE: usize = 16;

/// Bytes unpacked at a time.
const CHUNK: usize = 1 << 16;

/// `bundle.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    schema: u32,
    /// The name of the experiment's file.
    name: String,
    sets: Vec<String>,
    seeds: Option<u64>,
    scale: String,
    resolve: bool,
    files: Vec<Packed>,
    /// Versions of the program that packed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    versions: BTreeMap<String, String>,
    /// What its result has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<Digests>,
    /// [`Digests::seal`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// A file that an experiment names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed {
    /// The path as the experiment writes it.
    path: String,
    blake3: String,
    bytes: u64,
}

/// A folder that is removed when its last user is dropped.
#[derive(Debug)]
pub(crate) struct Unpacked(TempDir);

/// Folders that a process must remove if it ends early.
static UNPACKED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Unpacked {
    pub(crate) fn new() -> io::Result<Unpacked> {
        let folder = tempfile::Builder::new().prefix("flowsieve-").tempdir()?;
        UNPACKED.lock().unwrap_or_else(PoisonError::into_inner).push(folder.path().to_owned());
        Ok(Unpacked(folder))
    }

    /// Returns the folder of an experiment whose paths lead `above` folders above it.
    pub(crate) fn below(&self, above: usize) -> PathBuf {
        (0..above).fold(self.0.path().to_owned(), |folder, level| folder.join(level.to_string()))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        UNPACKED.lock().unwrap_or_else(PoisonError::into_inner).retain(|folder| folder != self.0.path());
    }
}

/// Removes the folders of unpacked bundles: for a process that is about to end without dropping its plans.
pub fn remove_unpacked() {
    for folder in UNPACKED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // There is no one left to report an error to.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns whether the file begins like the tar file of a bundle.
pub(crate) fn is_bundle(path: &Path) -> bool {
    let mut start = [0; LIST.len()];
    flowsieve_settings::files::open(path, MAX_BUNDLE_BYTES).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == LIST.as_bytes()
}

/// The content of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Number of files, without the experiment itself.
    pub files: usize,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Writes a planned experiment as a bundle to a file, which is complete or absent.
///
/// # Errors
/// Fails as [`pack`] and [`whole_file`] do. The experiment itself and its files are never replaced.
pub fn pack_file(plan: &Plan, proof: &Proof<'_>, path: &Path, existing: Existing) -> Result<Content, Error> {
    let same =
        |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| other == path));
    if same(Path::new(&plan.name)) || named_files(plan).values().any(|source| same(source)) {
        let problem = "is a file of the experiment; expected another name for its bundle".to_owned();
        return Err(Error::File { path: path.display().to_string(), problem });
    }
    whole_file(path, existing, |out| pack(plan, proof, out))
}

/// Writes a file that the user names. The file is complete or absent; an existing one is replaced if that was allowed.
///
/// # Errors
/// Fails if `write` fails, or if the file cannot be written.
pub fn whole_file<T>(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut io::BufWriter<&mut File>) -> Result<T, Error>,
) -> Result<T, Error> {
    flowsieve_settings::files::write_whole(path, existing, |error| failed(path)(error), write)
}

/// Does so with a text.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_text(path: &Path, existing: Existing, text: &str) -> Result<(), Error> {
    whole_file(path, existing, |out| out.write_all(text.as_bytes()).map_err(failed(path)))
}

/// Writes a planned experiment as a bundle, with the changes that were planned.
///
/// # Errors
/// Fails if the experiment names a file by its absolute path, if a file cannot be read, if the result is of another plan,
/// or if the output cannot be written.
pub fn pack(plan: &Plan, proof: &Proof<'_>, out: impl Write) -> Result<Content, Error> {
    let sources = named_files(plan);
    if let Some(path) = sources.keys().find(|path| Path::new(path).is_absolute()) {
        let problem = format!("it names {path} by an absolute path, which other machines do not have");
        return Err(Error::Input(format!("{problem}; expected a path relative to the experiment's folder")));
    }
    let mut files = Vec::new();
    for (path, source) in &sources {
        let (blake3, bytes) = digest(source).map_err(failed(source))?;
        files.push(Packed { path: path.clone(), blake3, bytes });
    }
    let name = Path::new(&plan.name).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let expected = proof.expected(plan)?;
    let mut versions = plan.experiment.versions.clone();
    versions.extend(proof.commit.map(|commit| (COMMIT.to_owned(), commit.to_owned())));
    let list = List {
        schema: SCHEMA,
        name,
        sets: plan.changes.sets.clone(),
        seeds: plan.changes.seeds,
        scale: plan.changes.scale.name().to_owned(),
        resolve: plan.changes.resolve,
        files,
        versions,
        sealed: expected.as_ref().map(Digests::seal),
        expected,
    };
    list.check().map_err(Error::Input)?;
    let content = Content { files: list.files.len(), bytes: list.bytes() };
    write(&list, &plan.experiment, &sources, out)?;
    Ok(content)
}

/// Lists the files that the points of a plan name: as written, and where they are.
fn named_files(plan: &Plan) -> BTreeMap<String, PathBuf> {
    let path = |settings: &Settings, (_, name): &Address, value: &Value| match value {
        Value::Text(path) if settings.find(name)?.kind.is_path(path) => Some(path.clone()),
        _ => None,
    };
    let of_point = |point: &Point| -> Vec<(String, PathBuf)> {
        let given = point.settings.all_given();
        let paths = given.filter_map(|(address, value, _)| path(&point.settings, address, value));
        paths.map(|path| (path.clone(), point.folder.path().join(path))).collect()
    };
    let schemes = |point: &Point| -> Vec<(String, PathBuf)> {
        let path = |name: &str| scheme_files::path(name);
        point.schemes.iter().map(|file| (path(&file.name), point.folder.path().join(path(&file.name)))).collect()
    };
    let sources = plan.points.iter().flat_map(of_point).chain(plan.points.first().into_iter().flat_map(schemes));
    // Some settings also take names of built-in substitutes for a recorded trace.
    sources.filter(|(_, source)| flowsieve_settings::files::builtin::is_file(source)).collect()
}

/// Copies the files of a plan into a new folder, in which `added` has the name `name`.
pub(crate) fn beside(plan: &Plan, added: &Path, name: &str) -> Result<Folder, Error> {
    let unpacked = Unpacked::new().map_err(failed(added))?;
    let mut sources = named_files(plan);
    sources.retain(|path, _| Path::new(path) != added);
    let folder = unpacked.below(most_above(sources.keys().map(String::as_str)));
    for (path, source) in sources.iter().filter(|(path, _)| Path::new(path).is_relative()) {
        let copy = || {
            let mut target = File::create_new(place(&folder, path)?)?;
            io::copy(&mut flowsieve_settings::files::builtin::open(source)?, &mut target)
        };
        copy().map_err(failed(source))?;
    }
    let copy = || {
        let mut target = File::create_new(place(&folder, name)?)?;
        io::copy(&mut flowsieve_settings::files::open_text(added, MAX_BYTES)?, &mut target)
    };
    copy().map_err(failed(added))?;
    Ok(Folder::inside(unpacked, folder))
}

fn write(
    list: &List,
    experiment: &Experiment,
    sources: &BTreeMap<String, PathBuf>,
    out: impl Write,
) -> Result<(), Error> {
    let files: Vec<_> = list.files.iter().map(|file| (&*file.path, &*file.blake3)).collect();
    let (text, readme) =
        (&experiment.text, verify::readme(experiment, &list.versions, list.expected.is_some(), &files));
    let mut archive = tar::Builder::new(out);
    let mut append = |name: &str, bytes: u64, content: &mut dyn Read| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content)
    };
    let json = serde_json::to_vec_pretty(list).map_err(|error| Error::Output(error.into()))?;
    append(LIST, json.len() as u64, &mut json.as_slice()).map_err(Error::Output)?;
    append(TEXT, text.len() as u64, &mut text.as_bytes()).map_err(Error::Output)?;
    append(README, readme.len() as u64, &mut readme.as_bytes()).map_err(Error::Output)?;
    let mut written: Vec<&str> = Vec::new();
    for file in &list.files {
        if written.contains(&file.blake3.as_str()) {
            continue;
        }
        written.push(&file.blake3);
        let Some(source) = sources.get(&file.path) else { continue };
        let mut content = flowsieve_settings::files::builtin::open(source).map_err(failed(source))?;
        append(&file.blake3, file.bytes, &mut content).map_err(failed(source))?;
    }
    archive.into_inner().and_then(|mut out| out.flush()).map_err(Error::Output)
}

fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut flowsieve_settings::files::builtin::open(path)?, &mut hasher)?;
    Ok((hasher.finalize().to_hex().to_string(), bytes))
}

/// Builds the error for a file that cannot be read or written.
pub fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::File { path: path.display().to_string(), problem: error.to_string() }
}

impl List {
    fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Checks the list, and describes what is wrong with it.
    fn check(&self) -> Result<(), String> {
        if !(1..=SCHEMA).contains(&self.schema) {
            return Err(format!("it is of schema {}, expected {SCHEMA} at most", self.schema));
        }
        if self.expected.as_ref().map(Digests::seal) != self.sealed {
            return Err("the digests of its result are damaged".to_owned());
        }
        let is_name = |name: &str| Path::new(name).file_name() == Some(name.as_ref()) && name.len() <= 255;
        if !is_name(&self.name) {
            return Err(format!("{:?} is not a file name", self.name));
        }
        if self.bytes() > MAX_BYTES {
            return Err(format!("its files have {} bytes, but at most {MAX_BYTES} are allowed", self.bytes()));
        }
        for file in &self.files {
            let hex = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
            if file.blake3.len() != 64 || !file.blake3.chars().all(hex) {
                return Err(format!("{:?} is not a file hash", file.blake3));
            }
            match depth(&file.path) {
                Some((above, below)) if above <= MAX_ABOVE && below => {}
                _ => {
                    let expected = format!(
                        "expected one relative to the experiment's folder, \
                         at most {MAX_ABOVE} folders above it"
                    );
                    return Err(format!("the path {:?}: {expected}", file.path));
                }
            }
        }
        Ok(())
    }

    /// Returns how many folders its paths lead above that of the experiment.
    fn above(&self) -> usize {
        most_above(self.files.iter().map(|file| file.path.as_str()))
    }
}

fn most_above<'a>(paths: impl Iterator<Item = &'a str>) -> usize {
    paths.filter_map(depth).map(|(above, _)| above).max().unwrap_or(0)
}

/// Returns how many folders a relative path leads up, and whether it ends in a file below that.
fn depth(path: &str) -> Option<(usize, bool)> {
    let (mut above, mut level, mut below) = (0, 0_isize, false);
    for part in Path::new(path).components() {
        below = matches!(part, Component::Normal(_));
        match part {
            Component::Normal(_) => level += 1,
            Component::ParentDir => level -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
        above = above.max(usize::try_from(-level).unwrap_or(0));
    }
    Some((above, below))
}

/// An experiment out of its bundle.
#[derive(Debug)]
pub struct Unbundled {
    /// The experiment, with its files in a new folder.
    pub source: Source,
    /// What its result has to be, if that was packed.
    pub expected: Option<Digests>,
}

/// Unpacks the experiment in a bundle, with its files in a new folder.
///
/// # Errors
/// Fails if the file is not a bundle, or a damaged one.
pub fn unpack(path: &Path) -> Result<Unbundled, Error> {
    let name = path.display().to_string();
    let refuse = |problem: String| Error::File { path: name.clone(), problem: format!("is not a bundle: {problem}") };
    let broken = |error: io::Error| refuse(format!("cut or damaged: {error}"));
    let file = flowsieve_settings::files::open(path, MAX_BUNDLE_BYTES).map_err(failed(path))?;
    if !is_bundle(path) {
        return Err(refuse("it begins otherwise; expected one of `flowsieve pack`".to_owned()));
    }
    let mut archive = tar::Archive::new(io::BufReader::new(file));
    let mut entries = flowsieve_settings::files::regular_entries(&mut archive).map_err(broken)?;
    let mut next = |expected: &str, most: u64| -> Result<Vec<u8>, Error> {
        let entry = entries.next().ok_or_else(|| refuse(format!("it has no {expected}")))?.map_err(broken)?;
        check_entry(&entry, expected, most).map_err(refuse)?;
        let mut bytes = Vec::new();
        let mut entry = entry;
        entry.read_to_end(&mut bytes).map_err(broken)?;
        Ok(bytes)
    };
    let list: List =
        serde_json::from_slice(&next(LIST, MAX_LIST_BYTES)?).map_err(|error| refuse(format!("{LIST}: {error}")))?;
    list.check().map_err(refuse)?;
    let scale = [Scale::Smoke, Scale::Quick, Scale::Paper].into_iter().find(|scale| scale.name() == list.scale);
    let scale = scale.ok_or_else(|| refuse(format!("there is no scale {:?}", list.scale)))?;
    let text = String::from_utf8(next(TEXT, crate::experiment_text::MAX_FILE_BYTES)?)
        .map_err(|_| refuse(format!("{TEXT} is not UTF-8 text")))?;
    if list.schema > 1 {
        next(README, MAX_README_BYTES)?;
    }
    // A lack of space on this machine is not an error in the bundle.
    let no_room = |error: io::Error| {
        let of_paths = [io::ErrorKind::AlreadyExists, io::ErrorKind::NotADirectory, io::ErrorKind::IsADirectory];
        if of_paths.contains(&error.kind()) {
            return broken(error);
        }
        let folder = std::env::temp_dir();
        let problem = format!("cannot be unpacked into {}: {error}", folder.display());
        let expected = format!("expected a folder with {} bytes of space; set TMPDIR to use another one", list.bytes());
        Error::File { path: name.clone(), problem: format!("{problem}; {expected}") }
    };
    let unpacked = Unpacked::new().map_err(no_room)?;
    let folder = unpacked.below(list.above());
    fs::create_dir_all(&folder).map_err(no_room)?;
    let mut wanted: BTreeMap<&str, Vec<&Packed>> = BTreeMap::new();
    for file in &list.files {
        wanted.entry(&file.blake3).or_default().push(file);
    }
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let hash = entry.path().map_err(broken)?.to_string_lossy().into_owned();
        let files =
            wanted.remove(&*hash).ok_or_else(|| refuse(format!("its {hash:?} is not needed, or is there twice")))?;
        check_entry(&entry, &hash, files[0].bytes).map_err(refuse)?;
        if let Some(other) = files.iter().find(|other| other.bytes != entry.size()) {
            let (path, said, has) = (&other.path, other.bytes, entry.size());
            return Err(refuse(format!("{path:?} has {said} bytes in the list, but its file has {has}")));
        }
        let first = place(&folder, &files[0].path).map_err(no_room)?;
        let mut hasher = blake3::Hasher::new();
        let mut out = File::create_new(&first).map_err(no_room)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = entry.read(&mut chunk).map_err(broken)?;
            if count == 0 {
                break;
            }
            hasher.update(&chunk[..count]);
            out.write_all(&chunk[..count]).map_err(no_room)?;
        }
        if hasher.finalize().to_hex().as_str() != hash {
            return Err(refuse(format!("{:?} is damaged", files[0].path)));
        }
        for other in &files[1..] {
            let path = place(&folder, &other.path).map_err(no_room)?;
            // Another name for the same bytes takes no space.
            if !path.exists() && fs::hard_link(&first, &path).is_err() {
                fs::copy(&first, path).map_err(no_room)?;
            }
        }
    }
    if let Some(file) = wanted.values().flatten().next() {
        return Err(refuse(format!("it lacks {:?}", file.path)));
    }
    let changes = Changes { sets: list.sets, seeds: list.seeds, scale, resolve: list.resolve };
    Ok(Unbundled {
        source: Source {
            text: ExperimentText::new(&list.name, &text),
            folder: Folder::inside(unpacked, folder),
            changes,
        },
        expected: list.expected,
    })
}

/// Describes what is wrong with an entry that should be this file, of at most `most` bytes.
fn check_entry(entry: &tar::Entry<'_, impl Read>, expected: &str, most: u64) -> Result<(), String> {
    let name = entry.path().map_err(|error| error.to_string())?;
    if name != Path::new(expected) {
        return Err(format!("it has {:?} in place of the file {expected}", name.display()));
    }
    if entry.size() > most {
        return Err(format!("{expected} has {} bytes, but at most {most} are allowed", entry.size()));
    }
    Ok(())
}

/// Returns the place of a file, and creates the folders on the way.
fn place(folder: &Path, path: &str) -> io::Result<PathBuf> {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packs an experiment with a distribution, and returns the bytes.
    fn bundle(folder: &Path) -> Vec<u8> {
        fs::write(folder.join("c.csv"), "size_bytes,cdf\n1000,0.5\n20000,1\n").unwrap();
        let text = "[workload]\ncdf = \"c.csv\"\nload = 0.4\nflows = 5\n\
                    [sweep]\nscheme = [\"dctcp\"]\n";
        let source = Source::new(ExperimentText::new("t.toml", text), Folder::at(folder));
        let mut bytes = Vec::new();
        let content =
            pack(&source.plan(&crate::toy::Made::default().engines()).unwrap(), &Proof::default(), &mut bytes).unwrap();
        assert_eq!(content, Content { files: 1, bytes: 32 });
        bytes
    }

    #[test]
    fn depth__counts_folders_above_and_whether_a_file_is_below() {
        for (path, expected) in [
            ("a.csv", Some((0, true))),
            ("a/../b.csv", Some((0, true))),
            ("../../a.csv", Some((2, true))),
            ("a/../../../b/c.csv", Some((2, true))),
            ("..", Some((1, false))),
            ("", Some((0, false))),
            ("/etc/passwd", None),
        ] {
            assert_eq!(depth(path), expected, "{path}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn unpack__of_any_bytes_is_an_experiment_or_an_error(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut bytes = bundle(folder.path());
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let path = folder.path().join("x.flowsieve");
            fs::write(&path, bytes).unwrap();
            if let Ok(source) = Source::open(&path) {
                let _ = source.plan(&crate::toy::Made::default().engines());
            }
            let unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner).clone();
            prop_assert!(unpacked.iter().all(|other| other.starts_with(std::env::temp_dir())));
        }
    }
}
