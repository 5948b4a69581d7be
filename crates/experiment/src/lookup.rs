//! Where experiments are found: in files, or among those that the program carries.
//!
//! A path that is there is the file. Otherwise a name is that of a built-in experiment: its path in the catalogue without the
//! extension, such as `quickstart` or `nos2/fig06`.

use crate::error::Error;
use flowsieve_builtin::ROOT;
pub use flowsieve_builtin::is_builtin;
use flowsieve_schemes::settings::{Origin, SettingsError};
use std::path::{Path, PathBuf};

/// Where catalogues are looked for first: in the current directory.
const FOLDER: &str = "experiments";

/// Folders within folders are searched for experiments this deep.
const DEPTH: usize = 3;

/// The file of the experiment that somebody names.
///
/// # Errors
/// Where there is neither such a file nor such a built-in experiment.
pub fn experiment(named: &Path) -> Result<PathBuf, Error> {
    if named.exists() || flowsieve_builtin::is_file(named) {
        return Ok(named.to_owned());
    }
    let inner = Path::new(ROOT).join(named);
    let with_extension = PathBuf::from(format!("{}.toml", inner.display()));
    if let Some(found) = [with_extension, inner].into_iter().find(|path| flowsieve_builtin::contents(path).is_some()) {
        return Ok(found);
    }
    let names: Vec<String> = found(Path::new(ROOT)).iter().map(|path| name(path)).collect();
    let given = named.strip_prefix(FOLDER).unwrap_or(named).with_extension("").display().to_string();
    let problem = format!("there is no file {}, and no built-in experiment of that name", named.display());
    Err(SettingsError::new(Origin::Default, problem)
        .expected("an experiment file, or a built-in one (see `flowsieve list experiments --folder built-in:`)")
        .names(given, names)
        .into())
}

/// Where the catalogue is: in the folder that is given, else in `experiments`, else built in.
pub fn catalogue(given: Option<&Path>) -> PathBuf {
    let folder = given.unwrap_or(Path::new(FOLDER));
    if given.is_some() || folder.is_dir() { folder.to_owned() } else { ROOT.into() }
}

/// The experiment files below a folder, sorted.
pub fn found(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, DEPTH, &mut found);
    found.sort();
    found
}

/// What an experiment is called where it is to be run: its path, or its name if it is built in.
pub fn name(path: &Path) -> String {
    match path.strip_prefix(ROOT) {
        Ok(inner) => inner.with_extension("").display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in flowsieve_builtin::entries(folder) {
        if flowsieve_builtin::is_dir(&path) && depth > 1 {
            collect(&path, depth - 1, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}
