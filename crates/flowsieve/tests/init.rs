//! `flowsieve init`: what it writes runs unchanged.

use assert_cmd::Command;
use std::path::Path;

struct Output {
    status: i32,
    out: String,
    err: String,
}

fn output(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    Output {
        status: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

fn flowsieve(folder: &Path, arguments: &[&str]) -> Output {
    output(Command::cargo_bin("flowsieve").unwrap().current_dir(folder).args(arguments))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn init__writes_a_first_experiment_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, file) in [(&["init"][..], "first.toml"), (&["init", "a/b"], "a/b/first.toml")] {
        let done = flowsieve(folder.path(), arguments);
        assert_eq!(done.status, 0, "{}", done.err);
        let next = format!("flowsieve run {file}\n");
        assert!(done.out.ends_with(&next), "{}", done.out);
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.starts_with("# A first experiment"), "{text}");
        let run = flowsieve(folder.path(), &["run", file, "--scale", "smoke"]);
        assert_eq!(run.status, 0, "{}", run.err);
        assert!(run.out.contains("pias-2"), "{}", run.out);
    }
}

#[test]
fn init__writes_an_experiment_on_a_fabric_of_today() {
    let folder = tempfile::tempdir().unwrap();
    for (speeds, pool) in [("25-100", "24.7MB"), ("leaf-spine-100-400", "56.6MB"), ("400-800", "164MB")] {
        let done = flowsieve(folder.path(), &["init", "--fabric", speeds]);
        assert_eq!(done.status, 0, "{}", done.err);
        let file = format!("leaf-spine-{}.toml", speeds.trim_start_matches("leaf-spine-"));
        assert!(done.out.ends_with(&format!("flowsieve run {file}\n")), "{}", done.out);
        let text = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        assert!(text.contains(&format!("shared_buffer = \"{pool}\"")), "{text}");
        // Each source is named, and cited; one more belongs to NICs.
        let sources = if speeds == "25-100" { 5 } else { 6 };
        for (number, times) in (1..=sources).map(|number| (number, 2..9)).chain([(sources + 1, 0..1)]) {
            assert!(times.contains(&text.matches(&format!("[{number}]")).count()), "{file} [{number}]");
        }
        // A scale reports settings that nothing reads, and a run as it is told refuses them.
        let plan = flowsieve(folder.path(), &["plan", &file]);
        assert_eq!((plan.status, plan.err.contains("nothing reads")), (0, false), "{}", plan.err);
        let run = flowsieve(folder.path(), &["run", &file, "--set", "flows=100", "--seeds", "1"]);
        assert_eq!(run.status, 0, "{}", run.err);
        assert!(run.out.contains("pias-4"), "{}", run.out);
    }
    let done = flowsieve(folder.path(), &["init", "--fabric", "25-10"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("there is no fabric `25-10`") && done.err.contains("25-100"), "{}", done.err);
}

#[test]
fn init__overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("first.toml"), "mine").unwrap();
    let done = flowsieve(folder.path(), &["init"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("first.toml: already exists"), "{}", done.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("first.toml")).unwrap(), "mine");

    std::fs::create_dir_all(folder.path().join("own/src")).unwrap();
    std::fs::write(folder.path().join("own/src/scheme.rs"), "mine").unwrap();
    let done = flowsieve(folder.path(), &["init", "own", "--scheme", "own"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("scheme.rs: already exists"), "{}", done.err);
    assert_eq!(
        (names(&folder.path().join("own")), names(&folder.path().join("own/src"))),
        (vec!["src".to_owned()], vec!["scheme.rs".to_owned()])
    );
}

#[test]
fn init__refuses_names_and_sources_that_will_not_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused: [(&[&str], &str); 6] = [
        (&["--scheme", "pias"], "there is a built-in scheme `pias`"),
        (&["--scheme", "my scheme"], "cannot name a scheme"),
        (&["--scheme", "../up"], "cannot name a scheme"),
        (&["--scheme", "own", "--flowsieve", "nowhere"], "there is no nowhere/crates/flowsieve"),
        (&["--flowsieve", "nowhere"], "--scheme"),
        (&["--fabric", "25-100", "--scheme", "own"], "cannot be used with"),
    ];
    for (arguments, problem) in refused {
        let done = flowsieve(folder.path(), &[&["init"], arguments].concat());
        assert_eq!(done.status, 2, "{arguments:?}");
        assert!(done.err.contains(problem), "{arguments:?}: {}", done.err);
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn init__takes_flowsieve_from_its_repository_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = |arguments: &[&str], crate_of: &str| {
        let done = flowsieve(folder.path(), &[&["init", "--scheme"], arguments].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        (std::fs::read_to_string(folder.path().join(crate_of).join("Cargo.toml")).unwrap(), done.err)
    };
    let (text, told) = manifest(&["one"], "flowsieve-one");
    assert_eq!(text.matches("git = \"https://github.com/flowsieve/flowsieve\"").count(), 6, "{text}");
    assert!(told.contains("not on crates.io") && told.contains("--flowsieve"), "{told}");
    let (text, _) = manifest(&["two", "--flowsieve", "https://example.org/fork.git"], "flowsieve-two");
    assert_eq!(text.matches("git = \"https://example.org/fork.git\"").count(), 6, "{text}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let (text, told) = manifest(&["three", "dir", "--flowsieve", root], "dir");
    assert!(text.matches("path = ").count() == 6 && told.is_empty(), "{text}{told}");
    // Within the source it is that.
    std::fs::create_dir_all(folder.path().join("crates/flowsieve")).unwrap();
    std::fs::write(folder.path().join("crates/flowsieve/Cargo.toml"), "").unwrap();
    let (text, _) = manifest(&["four"], "flowsieve-four");
    assert!(text.contains("/crates/schemes\""), "{text}");
}

/// A crate as it is written, built by cargo with what is there. It always lies in one place, where its target folder stays: only the
/// first time is long.
#[test]
fn init__of_a_scheme_is_the_whole_command_with_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-scheme");
    let own = folder.join("flowsieve-nearest-first");
    if own.exists() {
        std::fs::remove_dir_all(&own).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let done = flowsieve(&folder, &["init", "--scheme", "nearest-first", "--flowsieve", root]);
    assert_eq!(done.status, 0, "{}", done.err);
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&own).args(arguments);
        command.env("CARGO_TARGET_DIR", folder.join("target"));
        // It needs no debugger, and is built once.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_INCREMENTAL", "false");
        output(&mut command)
    };
    let tested = cargo(&["test", "--offline", "--quiet"]);
    assert_eq!(tested.status, 0, "{}{}", tested.out, tested.err);
    assert!(tested.out.matches("test result: ok").count() == 2, "{}", tested.out);

    let own_command = |arguments: &[&str]| {
        let done = cargo(&[&["run", "--offline", "--quiet", "--"], arguments].concat());
        assert_eq!(done.status, 0, "{arguments:?}: {}", done.err);
        done
    };
    let explained = own_command(&["explain", "nearest-first"]).out;
    assert!(explained.contains("nearest-first: a scheme"), "{explained}");
    let run = [
        "run",
        "experiments/nearest-first.toml",
        "--scale",
        "smoke",
        "--set",
        "load=0.4,0.7",
        "--out",
        "results/nearest-first",
    ];
    assert!(own_command(&run).err.contains("6 points"));
    let compared = own_command(&["compare", "results/nearest-first", "nearest-first", "dctcp"]).out;
    assert!(compared.contains("nearest-first / dctcp"), "{compared}");

    // Results of the scheme are made anew once its code is another, and those of built-in ones stay.
    let again = own_command(&run).err;
    assert!(!again.contains("nearest-first, load 0.4, seed 1"), "{again}");
    let scheme = own.join("src/scheme.rs");
    let text = std::fs::read_to_string(&scheme).unwrap().replace("u8::from(long)", "u8::from(!long)");
    std::fs::write(&scheme, text).unwrap();
    let other = own_command(&run).err;
    assert!(other.contains("nearest-first, load 0.4, seed 1") && !other.contains(": dctcp"), "{other}");
}
