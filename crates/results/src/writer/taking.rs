//! Parts that were made elsewhere: taken from other folders, or from archives.
//!
//! An archive is a tar file without compression, so that it cannot grow when it is unpacked. It holds only the files of one
//! part, each under its own name, with no times, owners or links: the same part is the same archive everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path};

use super::ResultWriter;
use super::parts::{POINT, Part};
use crate::ResultError;
use crate::decode::MOST_TABLE_BYTES;
use crate::files::{partial_folder, read_json, read_text};
use crate::manifest::RUN_SCHEMA;

/// More files than a part has, including those of its packet trace, one capture per host.
const MOST_FILES: usize = 100_000;

impl ResultWriter {
    /// Takes the part of this key from another folder of parts; returns whether it existed. A part that is already here has to
    /// be the same.
    ///
    /// # Errors
    /// If it is damaged, was made by another version or model, or differs from the one that is here.
    pub fn take_part(&self, from: &Path, key: &str) -> Result<bool, ResultError> {
        let (here, there) = (self.part_folder(key)?, from.join(key));
        if !there.try_exists().map_err(ResultError::io("read", &there))? {
            return Ok(false);
        }
        let (part, _) = Part::open(&there, key)?;
        self.refuse_others(&there, &part.versions)?;
        if here.exists() {
            Part::open(&here, key)?;
            // The description has the checksums of its files, so equal descriptions mean equal files.
            if read_text(&here.join(POINT))? == read_text(&there.join(POINT))? {
                return Ok(true);
            }
            return Err(ResultError::Unequal { path: there, other: here });
        }
        let partial = self.partial_part()?;
        for file in part.files() {
            let (source, target) = (there.join(&file), partial.path().join(&file));
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder).map_err(ResultError::io("create the folder", folder))?;
            }
            // A hard link needs no copy, if both are on one disk.
            if fs::hard_link(&source, &target).is_err() {
                fs::copy(&source, &target).map_err(ResultError::io("write", &target))?;
            }
        }
        self.place(partial.path(), key)?;
        Ok(true)
    }

    /// Takes a part out of its archive. A part that is already here has to be the same.
    ///
    /// # Errors
    /// If the archive holds anything but this part, and as [`ResultWriter::take_part`].
    pub fn take_archive(&self, key: &str, archive: impl Read) -> Result<(), ResultError> {
        self.part_folder(key)?;
        let unpacked = partial_folder().tempdir_in(&self.parts);
        let unpacked = unpacked.map_err(ResultError::io("create a folder in", &self.parts))?;
        unpack(archive, &unpacked.path().join(key))?;
        if self.take_part(unpacked.path(), key)? { Ok(()) } else { Err(ResultError::invalid("an empty archive")) }
    }

    /// Writes the part of this key as an archive.
    ///
    /// # Errors
    /// If it is not here or damaged, and those of writing to `out`.
    pub fn write_archive(&self, key: &str, out: impl Write) -> Result<(), ResultError> {
        let folder = self.part_folder(key)?;
        let (part, _) = Part::open(&folder, key)?;
        let mut archive = tar::Builder::new(out);
        for name in part.files() {
            let path = folder.join(&name);
            let mut append = || {
                let mut file = flowsieve_settings::files::open(&path, MOST_TABLE_BYTES)?;
                let mut header = tar::Header::new_ustar();
                header.set_size(file.metadata()?.len());
                header.set_mode(0o644);
                archive.append_data(&mut header, &name, &mut file)
            };
            append().map_err(ResultError::io("archive", &path))?;
        }
        archive.into_inner().and_then(|mut out| out.flush()).map_err(ResultError::io("archive", &folder))
    }

    /// Refuses a folder that has a part which another version or model made, apart from these keys: it may be of the same
    /// experiment, under another key.
    ///
    /// # Errors
    /// If there is one.
    pub fn refuse_other_makers(&self, from: &Path, keys: &BTreeSet<&str>) -> Result<(), ResultError> {
        /// The relevant part of a part's description.
        #[derive(serde::Deserialize)]
        struct Head {
            #[serde(default)]
            versions: BTreeMap<String, String>,
        }
        let entries = fs::read_dir(from).map_err(ResultError::io("read", from))?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names.iter().filter(|name| name.to_str().is_some_and(|name| !keys.contains(name))) {
            let folder = from.join(name);
            if let Ok(head) = read_json::<Head>(&folder.join(POINT), RUN_SCHEMA) {
                self.refuse_others(&folder, &head.versions)?;
            }
        }
        Ok(())
    }

    fn refuse_others(&self, path: &Path, versions: &BTreeMap<String, String>) -> Result<(), ResultError> {
        let said = |versions: &BTreeMap<String, String>| {
            versions.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
        };
        // Earlier parts have no versions; their key still names the model.
        if versions.is_empty() || self.versions.is_empty() || *versions == self.versions {
            return Ok(());
        }
        Err(ResultError::OtherVersion { path: path.into(), found: said(versions), expected: said(&self.versions) })
    }
}

/// Unpacks the files of a part into its new folder.
fn unpack(archive: impl Read, folder: &Path) -> Result<(), ResultError> {
    let broken =
        |error: std::io::Error| ResultError::invalid(format!("an archive of a part that is cut or damaged: {error}"));
    let mut archive = tar::Archive::new(archive);
    for (count, entry) in flowsieve_settings::files::regular_entries(&mut archive).map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        let name = entry.path().map_err(broken)?.into_owned();
        let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || count >= MOST_FILES {
            let name = name.display();
            return Err(ResultError::invalid(format!(
                "an archive of a part that holds {name:?}, which is no file of a part"
            )));
        }
        let path = folder.join(&name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(ResultError::io("create the folder", parent))?;
        let mut file = File::create_new(&path).map_err(ResultError::io("write", &path))?;
        std::io::copy(&mut entry, &mut file).map_err(ResultError::io("write", &path))?;
    }
    Ok(())
}
