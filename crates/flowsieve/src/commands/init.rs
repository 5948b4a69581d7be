//! `flowsieve init`: a first experiment, one on a fabric of today, or a crate for a custom scheme.

use clap::{Args, ValueHint};
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_experiment::{Error, lookup};
use flowsieve_settings::files::{Existing, check_new, folder_of};
use flowsieve_settings::{Origin, SettingsError, one_of};
use std::fs;
use std::path::{Path, PathBuf};

use crate::output::{print, tell};

/// Flowsieve's own repository.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The scheme of docs/extend/scheme.md, its name there, and its experiment.
const SCHEME: &str = include_str!("../../examples/own_scheme/shortest_first.rs");
const SCHEME_NAME: &str = "shortest-first";
const EXPERIMENT: &str = include_str!("../../examples/own_scheme/comparison.toml");

/// The other files of the crate; `NAME` stands for the scheme's name.
const MANIFEST: &str = include_str!("init/Cargo.toml.in");
const MAIN: &str = include_str!("init/main.rs.in");
const SCHEME_TEST: &str = include_str!("init/scheme_test.rs.in");
const COMMAND_TEST: &str = include_str!("init/command_test.rs.in");

/// The versions with which this command was tested.
const LOCK: &str = include_str!("../../../../Cargo.lock");

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve init
      a first experiment with comments, first.toml
  flowsieve init --fabric 25-100
      an experiment on a leaf-spine fabric of today, with its sources: also 100-400 and 400-800
  flowsieve init --scheme nearest-first
      a crate in flowsieve-nearest-first: a scheme, an experiment and tests. Its binary is this command with the scheme in it

Nothing is overwritten. A crate is built with Rust's cargo and needs Flowsieve's source, which is not on crates.io.")]
pub(crate) struct Init {
    /// Where to write it [default: the current folder; for a crate flowsieve- and the scheme's name]
    #[arg(value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Write an experiment on a fabric of today: the speeds of its hosts and uplinks in Gbit/s, such as 25-100
    #[arg(long, value_name = "SPEEDS", conflicts_with = "scheme")]
    fabric: Option<String>,
    /// Write a crate for a scheme of this name
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// Where the crate takes Flowsieve from: a folder with its source, or the address of a git repository [default: the
    /// source in which the current folder lies, else Flowsieve's repository]
    #[arg(long, value_name = "SOURCE", requires = "scheme")]
    flowsieve: Option<String>,
}

pub(crate) fn init(args: &Init) -> Result<(), Error> {
    match (&args.scheme, &args.fabric) {
        (Some(name), _) => scheme_crate(name, args),
        (None, Some(speeds)) => experiment(&fabric(speeds)?, args),
        (None, None) => experiment("first", args),
    }
}

/// The names of the built-in experiments on fabrics of today begin with this.
const FABRICS: &str = "fabrics/leaf-spine-";

/// Returns the name of the experiment on the fabric of these speeds.
fn fabric(speeds: &str) -> Result<String, Error> {
    let names: Vec<String> = lookup::found(Path::new(lookup::ROOT)).iter().map(|path| lookup::name(path)).collect();
    let known: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(FABRICS)).collect();
    let asked = speeds.strip_prefix("leaf-spine-").unwrap_or(speeds);
    if known.contains(&asked) {
        return Ok(format!("{FABRICS}{asked}"));
    }
    let origin = Origin::CommandLine(format!("--fabric {speeds}").into());
    let error = SettingsError::new(origin, format!("there is no fabric `{speeds}`"));
    Err(error.expected(one_of(&known)).names(asked, known).into())
}

/// Writes a built-in experiment.
fn experiment(name: &str, args: &Init) -> Result<(), Error> {
    let text = lookup::text(name)?;
    let dir = args.dir.as_deref().unwrap_or(Path::new(""));
    let path = dir.join(Path::new(name).file_name().unwrap_or_default()).with_extension("toml");
    write_all(&[(path.clone(), text)])?;
    print(&format!("Wrote {0}. It runs with\n\n    flowsieve run {0}\n", path.display()))
}

fn scheme_crate(name: &str, args: &Init) -> Result<(), Error> {
    flowsieve_engines::check_name(name)?;
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(format!("flowsieve-{name}")));
    let source = Source::read(args.flowsieve.as_deref())?;
    let named = |template: &str| template.replace("NAME", name);
    let of_scheme = |text: &str| text.replace(SCHEME_NAME, name);
    let experiment = format!("experiments/{name}.toml");
    let scheme = of_scheme(SCHEME).replace("docs/extend/scheme.md", "not published");
    let files = [
        ("Cargo.toml", source.fill(&named(MANIFEST))),
        ("Cargo.lock", LOCK.to_owned()),
        (".gitignore", "/target\n/results\n".to_owned()),
        ("src/main.rs", MAIN.to_owned()),
        ("src/scheme.rs", scheme + SCHEME_TEST),
        ("tests/command.rs", named(COMMAND_TEST)),
        (&experiment, of_scheme(EXPERIMENT).replace("Shortest first, with two queues", name)),
    ];
    let files = files.map(|(path, text)| (dir.join(path), text));
    write_all(&files)?;
    if let Source::Git(url) = &source {
        tell(format!(
            "Flowsieve is not on crates.io: the crate takes it from {url}. If you cannot reach it, name a folder with \
             its source by --flowsieve"
        ));
    }
    let (dir, scheme) = (dir.display(), dir.join("src/scheme.rs"));
    print(&format!(
        "Wrote {dir}: the command with the scheme {name} in it. Its code is in {}.\n\n    cd {dir}\n    \
         cargo run --release -- run {experiment}\n    cargo test --release\n",
        scheme.display()
    ))
}

/// The source of the crate's dependencies.
enum Source {
    /// The folder of Flowsieve's crates.
    Crates(PathBuf),
    /// The address of a repository.
    Git(String),
}

impl Source {
    /// Returns the given source, else the one that contains the current folder, else the repository.
    fn read(given: Option<&str>) -> Result<Source, Error> {
        let crates = |folder: &Path| {
            let crates = folder.join("crates");
            Ok(Source::Crates(crates.canonicalize().map_err(failed(&crates))?))
        };
        let is_source = |folder: &Path| folder.join("crates/flowsieve/Cargo.toml").is_file();
        match given {
            Some(folder) if is_source(Path::new(folder)) => crates(Path::new(folder)),
            Some(url) if url.contains("://") => Ok(Source::Git(url.to_owned())),
            Some(other) => Err(Error::Input(format!(
                "--flowsieve {other}: there is no {other}/crates/flowsieve; expected a folder with Flowsieve's source, or \
                 the address of a git repository such as {REPOSITORY}"
            ))),
            None => {
                let here = std::env::current_dir().map_err(failed(Path::new(".")))?;
                let around = here.ancestors().find(|folder| is_source(folder));
                around.map_or_else(|| Ok(Source::Git(REPOSITORY.to_owned())), crates)
            }
        }
    }

    /// Replaces each `SOURCE/<crate>` of the manifest by this source.
    fn fill(&self, manifest: &str) -> String {
        let line = |line: &str| match (line.strip_prefix("SOURCE/"), self) {
            (None, _) => format!("{line}\n"),
            (Some(name), Source::Crates(folder)) => {
                format!("path = {}\n", quoted(&folder.join(name).display().to_string()))
            }
            (Some(_), Source::Git(url)) => format!("git = {}\n", quoted(url)),
        };
        manifest.lines().map(line).collect()
    }
}

/// Quotes a text for TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes new files; none if one of them exists.
fn write_all(files: &[(PathBuf, String)]) -> Result<(), Error> {
    if let Some((path, _)) = files.iter().find(|(path, _)| check_new(path, Existing::Refuse).is_err()) {
        let problem = "already exists and is not overwritten; name another folder, or remove it".to_owned();
        return Err(Error::File { path: path.display().to_string(), problem });
    }
    for (path, text) in files {
        fs::create_dir_all(folder_of(path)).map_err(failed(path))?;
        write_text(path, Existing::Refuse, text)?;
    }
    Ok(())
}
