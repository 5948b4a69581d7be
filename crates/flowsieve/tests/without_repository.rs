//! The command alone, in a folder of its own: it carries experiments, claims and what was measured.

use assert_cmd::Command;
use flowsieve::papers::TABLES;
use flowsieve_engines::built_in;
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_experiment::{Scale, lookup};
use flowsieve_papers::reproduce::{self, Take};
use std::path::Path;

struct Output {
    status: i32,
    out: String,
    err: String,
}

fn flowsieve(folder: &Path, arguments: &[&str]) -> Output {
    let done = Command::cargo_bin("flowsieve").unwrap().current_dir(folder).args(arguments).output().unwrap();
    Output {
        status: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

#[test]
fn run__a_built_in_experiment_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let done = flowsieve(folder.path(), &["run", "quickstart", "--scale", "smoke"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out.contains("results/quickstart-smoke/report.html"), "{}", done.out);
    // With the list of flows next to it.
    let done = flowsieve(folder.path(), &["run", "nos2/fig01"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(folder.path().join("results/fig01/report.html").is_file());
}

#[test]
fn run__what_is_wrong_names_the_built_in_file() {
    let folder = tempfile::tempdir().unwrap();
    let none = flowsieve(folder.path(), &["run", "nos2/fig01", "--set", "list=none.csv"]);
    assert_eq!(none.status, 2);
    assert!(none.err.contains("built-in:/nos2/none.csv: is not built in"), "{}", none.err);
    let queues = flowsieve(folder.path(), &["run", "first", "--set", "schemes.pias-2.queues=4"]);
    assert_eq!(queues.status, 2);
    assert!(queues.err.contains("built-in:/first.toml:"), "{}", queues.err);
    // A file of one's own by its whole path.
    let list = folder.path().join("own.csv");
    std::fs::write(&list, "start_s,src,dst,bytes\n0,0,1,1000\n").unwrap();
    let own = flowsieve(folder.path(), &["run", "nos2/fig01", "--set", &format!("list={}", list.display())]);
    assert_eq!(own.status, 0, "{}", own.err);
    let unknown = flowsieve(folder.path(), &["run", "experiments/quickstart.toml"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("did you mean `quickstart`?"), "{}", unknown.err);
}

#[test]
fn list__experiments_are_those_of_the_folder_or_else_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let of = |arguments: &[&str]| {
        let done = flowsieve(folder.path(), &[&["list", "experiments"], arguments].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        done.out
    };
    let built_in = of(&[]);
    assert!(built_in.contains("  quickstart ") && built_in.contains("  nos2/fig06 "), "{built_in}");
    assert!(!built_in.contains("not an experiment"), "{built_in}");
    let data: serde_json::Value = serde_json::from_str(&of(&["--json"])).unwrap();
    assert_eq!(data.as_array().unwrap().len(), built_in.lines().count());
    std::fs::create_dir(folder.path().join("experiments")).unwrap();
    std::fs::write(folder.path().join("experiments/own.toml"), "title = \"My own\"\n").unwrap();
    assert_eq!(of(&[]), "  experiments/own.toml  My own\n");
    // A folder `papers` may be of other papers.
    std::fs::create_dir_all(folder.path().join("papers/nos2")).unwrap();
    assert_eq!(of(&[]), "  experiments/own.toml  My own\n");
    std::fs::write(folder.path().join("papers/nos2/fig.toml"), "title = \"A figure\"\n").unwrap();
    assert_eq!(of(&[]), "  experiments/own.toml  My own\n  papers/nos2/fig.toml  A figure\n");
    assert_eq!(of(&["--folder", "built-in:"]), built_in);
    let refused = flowsieve(folder.path(), &["reproduce", "nos2/fig06"]);
    assert!(refused.err.contains("there is no figure `fig06` in papers/nos2"), "{}", refused.err);
    assert!(of(&["quickstart", "--folder", "built-in:"]).starts_with("  quickstart "));
}

#[test]
fn reproduce__a_built_in_paper_with_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let done = flowsieve(folder.path(), &["reproduce", "nos2", "--scale", "quick", "--from-measured"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("were measured before; none is made"), "{}", done.err);
    let done = flowsieve(folder.path(), &["reproduce", "nos2/fig01", "--scale", "smoke"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out.contains("\nnos2-01: "), "{}", done.out);
    let unknown = flowsieve(folder.path(), &["reproduce", "nso2"]);
    assert!(unknown.status == 2 && unknown.err.contains("did you mean `nos2`?"), "{}", unknown.err);
}

#[test]
fn reproduce__has_no_folder_to_keep_into() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--keep"][..], &["--keep", "--folder", "built-in:"]] {
        let done = flowsieve(folder.path(), &[&["reproduce", "nos2/fig01"], arguments].concat());
        assert_eq!(done.status, 2);
        assert!(done.err.contains("so there is no folder to keep measurements in"), "{}", done.err);
        assert!(done.err.contains("expected --folder with a folder"), "{}", done.err);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// At a scale, a setting that nothing reads is a warning; a run as the file is refuses it.
#[test]
fn plan__of_each_built_in_experiment_as_it_is() {
    // Two say in their first lines that they need a trace which is not part of the project.
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.txt");
    std::fs::write(&trace, "150 1\n1 0 1 9 1 2:3\n").unwrap();
    let with_trace = Changes { sets: vec![format!("coflows={}", trace.display())], ..Changes::default() };
    let refused = lookup::found(Path::new(lookup::ROOT)).into_iter().filter_map(|path| {
        let needs_trace = ["coflows/coflowsim.toml", "coflows/facebook.toml"].iter().any(|name| path.ends_with(name));
        let changes = if needs_trace { &with_trace } else { &Changes::default() };
        let planned = plan::read(&path, changes, &built_in().reading(TABLES));
        planned.err().map(|error| format!("{}: {error}", path.display()))
    });
    assert_eq!(refused.collect::<Vec<_>>(), [""; 0]);
}

/// Experiments with files next to them: lists, coflow traces and predictions, also of other folders.
#[test]
fn plan__of_a_built_in_experiment_is_that_of_its_file() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let changes = Changes { scale: Scale::Smoke, ..Changes::default() };
    let keys = |plan: Plan| plan.runs.into_iter().map(|run| run.key).collect::<Vec<_>>();
    for (folder, name) in [
        ("experiments", "quickstart"),
        ("papers", "nos2/fig01"),
        ("papers", "coflows/fidelity"),
        ("papers", "stand-ins"),
        ("papers", "qclimb/fig26"),
        ("papers", "pcoflow/fig01-02"),
    ] {
        let carried = plan::read(&lookup::experiment(Path::new(name)).unwrap(), &changes, &built_in().reading(TABLES));
        let file =
            plan::read(&root.join(format!("{folder}/{name}.toml")), &changes, &built_in().reading(TABLES)).unwrap();
        assert_eq!(keys(carried.unwrap()), keys(file), "{name}");
    }
    let read = |folder: &Path| {
        let changes = Changes { scale: Scale::Quick, ..Changes::default() };
        reproduce::read(folder, "nos2", &changes, Take::OfAny, &built_in().reading(TABLES)).unwrap()
    };
    let (built_in, file) = (read(Path::new("built-in:")), read(&root.join("papers")));
    assert!(built_in.checks == file.checks && !file.checks.is_empty());
    assert_eq!(built_in.page(&str::to_owned), file.page(&str::to_owned));
}
