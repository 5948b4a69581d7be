//! The folder of a recommendation: whose it is, and which of its files may be written.
//!
//! `request.json` says what was asked. The same question continues there, with the runs that exist. Any other is refused, and
//! so is a file that was changed since it was written, unless the user says to replace it. One process at a time has the folder.

use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_results::Alone;
use flowsieve_settings::files::Existing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that says whose a folder is.
const REQUEST: &str = "request.json";

/// The file of measured sizes.
pub(super) const SIZES: &str = "sizes.csv";

/// The longest such file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Asked {
    /// What was asked, without the effort.
    question: BTreeMap<String, String>,
    /// BLAKE3 of each file as it was written.
    #[serde(default)]
    written: BTreeMap<String, String>,
}

/// A folder that belongs to this question.
#[derive(Debug)]
pub(super) struct Taken {
    path: PathBuf,
    asked: Asked,
    /// Whether the folder was new or empty.
    is_new: bool,
    /// Whether the folder was there.
    was_there: bool,
    alone: Alone,
}

impl Taken {
    /// Takes a new or empty folder, or one of the same question.
    pub(super) fn take(path: &Path, question: BTreeMap<String, String>, replace: bool) -> Result<Taken, Error> {
        let refuse = |problem: String| {
            let expected = "expected another --out, or --replace";
            Err(Error::File { path: path.display().to_string(), problem: format!("{problem}; {expected}") })
        };
        let mut asked = Asked { question, written: BTreeMap::new() };
        let read = || {
            let file = flowsieve_settings::files::open_text(&path.join(REQUEST), MOST_BYTES).ok()?;
            serde_json::from_reader::<_, Asked>(file).ok()
        };
        // A process that has begun there has not written its request yet.
        let is_used = || -> Result<bool, Error> {
            let entries = path.exists().then(|| fs::read_dir(path)).transpose().map_err(failed(path))?;
            Ok(entries.into_iter().flatten().flatten().any(|entry| !Alone::is_lock(&entry.path())))
        };
        let was_there = path.exists();
        if is_used()? && read().is_none() && !Alone::is_used_in(path) && !replace {
            return refuse("it holds other files than a recommendation".to_owned());
        }
        fs::create_dir_all(path).map_err(failed(path))?;
        let alone = Alone::take(path)?;
        let is_new = !is_used()?;
        if !is_new {
            match read() {
                Some(there) if there.question == asked.question => asked.written = there.written,
                Some(there) if !replace => return refuse(format!("it holds {}", asked.differs(&there))),
                None if !replace => return refuse("it holds other files than a recommendation".to_owned()),
                _ => {}
            }
        }
        let taken = Taken { path: path.to_owned(), asked, is_new, was_there, alone };
        if !replace && let Some(name) = taken.changed()? {
            return refuse(format!("{name} was changed since it was written"));
        }
        taken.write_request()?;
        Ok(taken)
    }

    /// Gives a folder back in which nothing was made: one that was new is empty, or gone, as before.
    pub(super) fn give_back(self) {
        if self.is_new {
            // What cannot be removed says no more than that there was a request.
            for name in [REQUEST, SIZES] {
                let _ = fs::remove_file(self.path.join(name));
            }
            self.alone.remove();
            if !self.was_there {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }

    /// Returns a file that is not as it was written.
    fn changed(&self) -> Result<Option<&str>, Error> {
        for (name, digest) in &self.asked.written {
            let path = self.path.join(name);
            match fs::read(&path) {
                Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() != digest => return Ok(Some(name)),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path)(error)),
                _ => {}
            }
        }
        Ok(None)
    }

    fn write_request(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(&self.asked).unwrap_or_default() + "\n";
        write_text(&self.path.join(REQUEST), Existing::Own, &text)
    }

    /// Writes its files, and removes those of an earlier answer that this one does not have.
    pub(super) fn write(mut self, files: &[(String, String)]) -> Result<(), Error> {
        for name in self.asked.written.keys().filter(|name| !files.iter().any(|(other, _)| other == *name)) {
            let path = self.path.join(name);
            if path.is_file() {
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        self.asked.written.clear();
        for (name, text) in files {
            write_text(&self.path.join(name), Existing::Replace, text)?;
            self.asked.written.insert(name.clone(), blake3::hash(text.as_bytes()).to_hex().to_string());
        }
        self.write_request()
    }
}

impl Asked {
    /// Says how another question differs.
    fn differs(&self, there: &Asked) -> String {
        let names = self.question.keys().chain(there.question.keys());
        let value = |of: &Asked, name: &str| of.question.get(name).cloned().unwrap_or_else(|| "not given".to_owned());
        let mut found: Vec<String> = names
            .filter(|name| self.question.get(*name) != there.question.get(*name))
            .map(|name| format!("{name} is {} there and {} here", value(there, name), value(self, name)))
            .collect();
        found.dedup();
        format!("the recommendation for another question: {}", found.first().map_or("", String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(load: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("load".to_owned(), load.to_owned())])
    }

    #[test]
    fn take__the_same_question_goes_on_and_others_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("recommendation");
        let take = |load, replace| Taken::take(&folder, question(load), replace);
        let said = |load| take(load, false).unwrap_err().to_string();
        take("0.6", false)
            .unwrap()
            .write(&[("a.txt".into(), "one\n".into()), ("b.txt".into(), "two\n".into())])
            .unwrap();
        assert!(
            said("0.8").contains("load is 0.6 there and 0.8 here; expected another --out, or --replace"),
            "{}",
            said("0.8")
        );
        // What this answer no longer has is removed.
        take("0.6", false).unwrap().write(&[("a.txt".into(), "three\n".into())]).unwrap();
        assert!(fs::read_to_string(folder.join("a.txt")).unwrap() == "three\n" && !folder.join("b.txt").exists());
        fs::write(folder.join("a.txt"), "mine\n").unwrap();
        assert!(said("0.6").contains("a.txt was changed since it was written"));
        take("0.6", true).unwrap().write(&[("a.txt".into(), "four\n".into())]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "four\n");
        // While one process is at work, another is told so, and not to replace it.
        let first = take("0.6", false).unwrap();
        for load in ["0.6", "0.8"] {
            assert!(said(load).contains("is at work in this folder: run again when that is done"), "{}", said(load));
        }
        // Also before it has written its request.
        let begun = root.path().join("begun");
        fs::create_dir(&begun).unwrap();
        let alone = Alone::take(&begun).unwrap();
        let told = Taken::take(&begun, question("0.6"), false).unwrap_err().to_string();
        assert!(told.contains("is at work in this folder"), "{told}");
        drop((first, alone));
        take("0.6", false).unwrap().give_back();
        assert!(folder.join("a.txt").exists(), "it was no new folder");
        Taken::take(&begun, question("0.6"), false).unwrap().give_back();
        assert_eq!(fs::read_dir(&begun).unwrap().count(), 0);
        // Somebody's own folder stays as it is.
        let other = root.path().join("mine");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("notes.txt"), "x").unwrap();
        let refused = Taken::take(&other, question("0.6"), false).unwrap_err().to_string();
        assert!(refused.contains("it holds other files than a recommendation"), "{refused}");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    }
}
