//! Finds experiments: in files, or among the built-in ones.
//!
//! If the path of a file exists, it means that file. Otherwise a name means a built-in experiment: its path in the
//! catalogue without the extension, such as `quickstart` or `nos2/fig06`.

pub use flowsieve_settings::files::builtin::{ROOT, is_builtin};
use flowsieve_settings::{Origin, SettingsError};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::experiment_text;

/// The first places to look for experiments: in the current directory.
const FOLDERS: [&str; 2] = ["experiments", "papers"];

/// How deep folders are searched for experiments.
const DEPTH: usize = 3;

/// Returns the file of the experiment with this name.
///
/// # Errors
/// Fails if there is neither such a file nor such a built-in experiment.
pub fn experiment(named: &Path) -> Result<PathBuf, Error> {
    let is_folder = named.is_dir();
    if flowsieve_settings::files::builtin::is_file(named) || (named.exists() && !is_folder) {
        return Ok(named.to_owned());
    }
    let inner = Path::new(ROOT).join(named);
    let with_extension = PathBuf::from(format!("{}.toml", inner.display()));
    // A path from the root is no built-in file.
    let is_there = |path: &PathBuf| is_builtin(path) && flowsieve_settings::files::builtin::is_file(path);
    if let Some(found) = [with_extension, inner].into_iter().find(is_there) {
        return Ok(found);
    }
    if is_folder {
        return Err(Error::File { path: named.display().to_string(), problem: "is not a file".to_owned() });
    }
    let names: Vec<String> = found(Path::new(ROOT)).iter().map(|path| name(path)).collect();
    let inner = FOLDERS.iter().find_map(|folder| named.strip_prefix(folder).ok()).unwrap_or(named);
    let given = inner.with_extension("").display().to_string();
    let problem = format!("there is no file {}, and no built-in experiment of that name", named.display());
    Err(SettingsError::new(Origin::Default, problem)
        .expected("an experiment file, or a built-in one (see `flowsieve list experiments --folder built-in:`)")
        .names(given, names)
        .into())
}

/// Returns the text of a built-in experiment.
///
/// # Errors
/// Fails if there is none of that name.
pub fn text(name: &str) -> Result<String, Error> {
    let path = Path::new(ROOT).join(name).with_extension("toml");
    Ok(experiment_text::read(&path)?.text.to_string())
}

/// Returns where experiments are: in the given folder, else in `experiments` and `papers`, else built in. A folder `papers`
/// may be one of other papers: it counts if it holds an experiment.
pub fn folders(given: Option<&Path>) -> Vec<PathBuf> {
    let [experiments, papers] = FOLDERS.map(PathBuf::from);
    let own = experiments.is_dir().then_some(experiments).into_iter();
    let own = own.chain((!found(&papers).is_empty()).then_some(papers));
    let folders: Vec<PathBuf> = given.map_or_else(|| own.collect(), |given| vec![given.to_owned()]);
    if folders.is_empty() { vec![ROOT.into()] } else { folders }
}

/// Returns where the catalogue of `PAPER` or `PAPER/FIGURE` is: the one of [`folders`] that has it, else the last.
pub fn catalogue(given: Option<&Path>, what: &str) -> PathBuf {
    let (mut folders, paper) = (folders(given), what.split('/').next().unwrap_or_default());
    let has = folders.iter().position(|folder| flowsieve_settings::files::builtin::is_dir(&folder.join(paper)));
    folders.swap_remove(has.unwrap_or(folders.len() - 1))
}

/// Lists the experiment files below a folder, sorted.
pub fn found(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, DEPTH, &mut found);
    found.sort();
    found
}

/// Returns the name under which to run an experiment: its path, or its name if it is built in.
pub fn name(path: &Path) -> String {
    match path.strip_prefix(ROOT) {
        Ok(inner) => inner.with_extension("").display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in flowsieve_settings::files::builtin::entries(folder) {
        if flowsieve_settings::files::builtin::is_dir(&path) && depth > 1 {
            collect(&path, depth - 1, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(named: &str) -> Result<PathBuf, String> {
        experiment(Path::new(named)).map_err(|error| error.render(false))
    }

    #[test]
    fn experiment__is_a_file_or_else_a_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("quickstart");
        std::fs::write(&file, "").unwrap();
        assert_eq!(experiment(&file).unwrap(), file);
        let built_in = |name: &str| Ok(Path::new(ROOT).join(name));
        assert_eq!(of("quickstart"), built_in("quickstart.toml"));
        assert_eq!(of("nos2/fig06"), built_in("nos2/fig06.toml"));
        assert_eq!(of("nos2/fig06.toml"), built_in("nos2/fig06.toml"));
        assert_eq!(of("built-in:/nos2/fig06.toml"), built_in("nos2/fig06.toml"));
    }

    #[test]
    fn experiment__that_is_nowhere_is_named_with_the_nearest() {
        for (named, nearest) in [
            ("quickstrat", "quickstart"),
            ("experiments/quickstart.toml", "quickstart"),
            ("papers/nos2/fig6", "nos2/fig06"),
        ] {
            let refused = of(named).unwrap_err();
            assert!(refused.contains(&format!("did you mean `{nearest}`?")), "{refused}");
            assert!(refused.contains(&format!("there is no file {named}")), "{refused}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(experiment(folder.path()).unwrap_err().to_string().ends_with("is not a file"));
        // An absolute path stays unchanged: it names nothing built in.
        let whole = folder.path().join("quickstart");
        assert!(experiment(&whole).is_err());
        std::fs::write(folder.path().join("quickstart.toml"), "").unwrap();
        assert!(experiment(&whole).is_err());
    }

    #[test]
    fn name__can_be_run_again() {
        let all = found(Path::new(ROOT));
        assert!(all.len() > 100);
        for path in all {
            assert_eq!(of(&name(&path)), Ok(path));
        }
        assert_eq!(name(Path::new("experiments/first.toml")), "experiments/first.toml");
    }
}
