//! Schemes of the user's own, in files beside the experiment.

use flowsieve_engines::built_in;
use flowsieve_experiment::bundle::{pack, unpack};
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_experiment::verify::{Proof, Verifiable};
use flowsieve_experiment::{Error, Scale};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;

const EXPERIMENT: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[workload]\nsizes = \"web-search\"\n\
                          load = 0.5\nflows = 20\n";

/// LAS on SP-PIFO, as a file.
const FILE: &str = "base = \"dctcp\"\nlabel = \"SP-PIFO by bytes sent\"\nsummary = \"least attained service, nearly\"\n\n\
                    discipline = \"sp-pifo\"\nqueues = 8\ntagger = \"attained\"\n";

/// A folder with an experiment over these schemes, and with these files of schemes.
fn folder(schemes: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("e.toml"), format!("{EXPERIMENT}{schemes}")).unwrap();
    fs::create_dir(folder.path().join("schemes")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(format!("schemes/{name}.toml")), text).unwrap();
    }
    folder
}

fn planned(folder: &Path) -> Result<Plan, Error> {
    plan::read(&folder.join("e.toml"), &Changes::default(), &built_in())
}

fn keys(plan: &Plan) -> Vec<&str> {
    plan.runs.iter().map(|run| run.key.as_str()).collect()
}

#[test]
fn file__is_found_by_its_name_and_is_what_the_same_lines_in_a_table_are() {
    let of_file = folder("[sweep]\nscheme = [\"sp-pifo-las\"]\n", &[("sp-pifo-las", FILE)]);
    let table = "[schemes.mine]\nbase = \"dctcp\"\ndiscipline = \"sp-pifo\"\nqueues = 8\ntagger = \"attained\"\n[sweep]\nscheme = [\"mine\"]\n";
    let of_file = planned(of_file.path()).unwrap();
    assert_eq!(keys(&of_file), keys(&planned(folder(table, &[]).path()).unwrap()));
    let experiment = &of_file.experiment;
    assert_eq!(experiment.scheme_files["sp-pifo-las"], FILE);
    let info = &experiment.schemes[0];
    assert_eq!(
        (info.label.as_str(), info.summary.as_str()),
        ("SP-PIFO by bytes sent", "least attained service, nearly")
    );
    assert_eq!(experiment.points[0].settings["scheme.base"], "dctcp");
}

#[test]
fn file__builds_on_another_and_a_table_changes_it() {
    let files = [("first", FILE), ("second", "base = \"first\"\nqueues = 4\n[nic]\nqueues = 2\n")];
    let plan = planned(
        folder(
            "[schemes.third]\nbase = \"second\"\nbuffer = \"100pkt\"\n[sweep]\nscheme = [\"second\", \"third\"]\n",
            &files,
        )
        .path(),
    );
    let plan = plan.unwrap();
    let setting =
        |point: usize, name: &str| plan.experiment.points[point].settings.get(name).cloned().unwrap_or_default();
    assert_eq!([0, 1].map(|point| setting(point, "scheme.leaf.queues")), ["4", "4"]);
    assert_eq!([0, 1].map(|point| setting(point, "scheme.nic.queues")), ["2", "2"]);
    assert_eq!([0, 1].map(|point| setting(point, "scheme.leaf.buffer")), ["360KB", "150KB"]);
    assert_eq!([0, 1].map(|point| setting(point, "scheme.base")), ["dctcp", "dctcp"]);
    // What is given for all comes before what a scheme has for one place.
    let given = folder("[network]\nqueues = 3\n[sweep]\nscheme = [\"second\"]\n", &files);
    assert_eq!(planned(given.path()).unwrap().experiment.points[0].settings["scheme.nic.queues"], "3");
}

#[test]
fn file__that_says_what_a_scheme_is_beyond_settings_has_other_runs() {
    // A word that is not part of the configuration of a built-in scheme is part of a user's.
    let files = [("model", "base = \"awafs\"\npercentiles_by = \"model\"\n"), ("as-it-is", "base = \"awafs\"\n")];
    let plan = planned(folder("[sweep]\nscheme = [\"awafs\", \"as-it-is\", \"model\"]\n", &files).path()).unwrap();
    let [known, same, other] = keys(&plan)[..] else { panic!("{:?}", plan.runs) };
    assert!(known == same && same != other);
}

#[test]
fn file__in_units_of_the_fabric() {
    let files = [("windows", "base = \"dctcp\"\necn_threshold = \"bdp\"\nmax_window = \"2bdp\"\n")];
    let plan = planned(folder("[sweep]\nscheme = [\"windows\"]\n", &files).path()).unwrap();
    let settings = &plan.experiment.points[0].settings;
    let packets = settings["scheme.max_window"].parse::<u64>().unwrap();
    assert_eq!(settings["scheme.leaf.ecn_threshold"], flowsieve_settings::units::format_size(packets / 2 * 1_500));
}

#[test]
fn file__that_is_wrong_is_refused_with_its_place() {
    let of = |schemes: &str, files: &[(&str, &str)]| {
        let folder = folder(schemes, files);
        planned(folder.path()).unwrap_err().render(false).replace(&folder.path().display().to_string(), "")
    };
    let mine = "[sweep]\nscheme = [\"mine\"]\n";
    for (schemes, files, expected) in [
        (mine, &[("mine", "base = \"dctcp\"\ndt_alpha = 2.0\n")][..], ["nothing reads `dt_alpha`", "mine.toml:2"]),
        (
            mine,
            &[("mine", "base = \"dctcp\"\n[core]\nlevel_cap = 2.0\n")],
            ["nothing reads `level_cap` at the place `core`", "mine.toml:3"],
        ),
        (mine, &[("mine", "base = \"dctpc\"\n")], ["there is no scheme `dctpc`", "mine.toml:1"]),
        (mine, &[("mine", "base = \"../other\"\n")], ["there is no scheme `../other`", "mine.toml:1"]),
        (
            mine,
            &[("mine", "base = \"b\"\n"), ("b", "base = \"mine\"\n")],
            ["`mine` builds on itself: `mine` on `b` on `mine`", "b.toml:1"],
        ),
        (mine, &[("mine", "queues = 2\n")], ["names no `base`", "mine.toml"]),
        (mine, &[("mine", "base = \"dctcp\"\nqueus = 2\n")], ["there is no setting `queus`", "did you mean `queues`"]),
        (mine, &[("mine", "base = \"dctcp\"\nqueues = 200\n")], ["`queues` = 200 is out of range", "mine.toml:2"]),
        (
            mine,
            &[("mine", "base = \"dctcp\"\nload = 0.5\n")],
            ["`load` is a setting of [workload], not of schemes", "mine.toml:2"],
        ),
        (
            mine,
            &[("mine", "base = \"dctcp\"\nbuffer = \"100B\"\n")],
            ["a buffer of 100B holds no full packet", "mine.toml:2"],
        ),
        (mine, &[("mine", "base = \"dctcp\"\n[rack]\nqueues = 2\n")], ["[rack] is no place of ports", "mine.toml:3"]),
        (
            mine,
            &[("mine", "base = \"qclimb\"\nknows = \"nothing\"\n")],
            ["`qclimb` needs predicted bounds of flow sizes", "mine.toml:2"],
        ),
        // A FIFO reads no tags, and a threshold is none without marks.
        (mine, &[("mine", "base = \"dctcp\"\ntagger = \"attained\"\n")], ["nothing reads `tagger`", "mine.toml:2"]),
        (
            mine,
            &[("mine", "base = \"dctcp\"\nmarking = \"none\"\necn_threshold = \"20pkt\"\n")],
            ["nothing reads `ecn_threshold`", "mine.toml:3"],
        ),
        (
            mine,
            &[("mine", "base = \"dctcp\"\ntransport = \"open-loop\"\nmax_window = 20\n")],
            ["nothing reads `max_window`", "mine.toml:3"],
        ),
        (mine, &[("mine", "base = \"dctcp\"\ninstead = \"`ps`\"\n")], ["`instead` without `only`", "mine.toml:2"]),
        (mine, &[("mine", "base = \"dctcp\"\nown = \"homa\"\n")], ["there is no code `homa`", "mine.toml:2"]),
        (mine, &[("mine", "base = = 1\n")], ["this is not TOML", "mine.toml:1"]),
        (
            "[sweep]\nscheme = [\"pias\"]\n",
            &[("pias", FILE)],
            ["`pias` is a built-in scheme, and", "has the same name"],
        ),
        (
            "[schemes.mine]\nbase = \"pias\"\n[sweep]\nscheme = [\"mine\"]\n",
            &[("mine", FILE)],
            ["`mine` is a table with a `base`, and", "has the same name"],
        ),
        (
            "[sweep]\nscheme = [\"../mine\"]\n",
            &[("mine", FILE)],
            ["there is no scheme `../mine`", "a file schemes/<name>.toml"],
        ),
        (mine, &[("mine", &"#".repeat(70_000))], ["is longer than 65536 bytes", "mine.toml"]),
    ] {
        let error = of(schemes, files);
        assert!(expected.iter().all(|part| error.contains(part)), "{expected:?} in:\n{error}");
    }
}

#[test]
fn pack__takes_the_files_along() {
    let schemes = "[sweep]\nscheme = [\"second\"]\n";
    let folder = folder(schemes, &[("first", FILE), ("second", "base = \"first\"\nqueues = 4\n")]);
    let plan = planned(folder.path()).unwrap();
    let bundle = folder.path().join("e.bundle");
    let content = pack(&plan, &Proof { commit: None, result: None }, fs::File::create(&bundle).unwrap()).unwrap();
    assert_eq!(content.files, 2);
    fs::remove_dir_all(folder.path().join("schemes")).unwrap();
    assert!(planned(folder.path()).is_err(), "the files are gone");
    let unpacked = unpack(&bundle).unwrap().source.plan(&built_in()).unwrap();
    assert_eq!(keys(&unpacked), keys(&plan));
}

#[test]
fn execute__after_a_change_of_the_file_says_so() {
    let folder = folder("[sweep]\nscheme = [\"mine\"]\n", &[("mine", FILE)]);
    let (out, how) = (folder.path().join("out"), How { jobs: 1, threads: None, fresh: false, replace: false });
    let run = || execute(&planned(folder.path())?, &built_in(), &out, how, &|_| ControlFlow::Continue(()));
    let manifest = run().unwrap();
    assert_eq!(manifest.manifest().experiment.scheme_files["mine"], FILE);
    fs::write(folder.path().join("schemes/mine.toml"), FILE.replace("queues = 8", "queues = 4")).unwrap();
    let error = run().unwrap_err().to_string();
    assert!(error.contains("schemes/mine.toml was changed, scheme.leaf.queues is 8 there and 4 here"), "{error}");
}

/// What the scheme reads by another way than others do counts as read, too.
#[test]
fn file__whose_values_all_act_is_taken() {
    for text in [
        "base = \"dctcp\"\nadmission = \"none\"\n",
        "base = \"dctcp\"\nmax_window = 20\n",
        "base = \"pias\"\nthresholds = [\"10KB\"]\nqueues = 2\n",
        "base = \"pias\"\ncontroller = \"survival\"\ntagger = \"demotion, then age\"\n",
        "base = \"homa\"\nqueues = 4\n",
        "base = \"sincronia\"\ncoflow_order = \"tcf\"\nrates = \"madd\"\n",
        "base = \"pcoflow-ecn\"\npcoflow_queue = \"sp-pifo\"\n",
        "base = \"dctcp\"\nhalves = \"window\"\n",
        "base = \"dctcp\"\nrates = \"equal\"\n",
        "base = \"qclimb\"\nbounds = \"exact\"\n",
    ] {
        // The engine has said so before it looks for what the workload lacks.
        let error = planned(folder("[sweep]\nscheme = [\"mine\"]\n", &[("mine", text)]).path()).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(!error.contains("nothing reads"), "{text}{error}");
    }
}

#[test]
fn file__that_the_command_line_or_a_scale_leaves_out() {
    let folder = folder("[sweep]\nscheme = [\"dctcp\", \"mine\"]\n", &[("mine", FILE), ("other", FILE)]);
    let schemes = |scheme: &str, scale: Scale| {
        let changes = Changes { sets: vec![format!("scheme={scheme}")], scale, ..Changes::default() };
        let plan = plan::read(&folder.path().join("e.toml"), &changes, &built_in()).unwrap();
        plan.experiment.schemes.iter().map(|info| info.name.clone()).collect::<Vec<_>>()
    };
    for scale in [Scale::Paper, Scale::Smoke] {
        assert_eq!(
            (schemes("dctcp", scale), schemes("other", scale)),
            (vec!["dctcp".to_owned()], vec!["other".to_owned()])
        );
    }
}

#[test]
fn file__as_the_scheme_of_a_class_alone() {
    let classes = "[workload]\nclass_share = 0.5\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n[schemes.both]\nbase = \"dctcp\"\n\
                   discipline = \"sp-pifo\"\nqueues = 8\nclasses = [\"mine\", \"tables\"]\n[schemes.tables]\nbase = \"mine\"\n\
                   [sweep]\nscheme = [\"both\"]\n";
    let folder = folder("", &[("mine", FILE)]);
    let text = format!("[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n{classes}");
    fs::write(folder.path().join("e.toml"), text).unwrap();
    let plan = planned(folder.path()).unwrap();
    let settings = &plan.experiment.points[0].settings;
    assert_eq!(["scheme.class0.base", "scheme.class1.base"].map(|name| settings[name].as_str()), ["dctcp", "dctcp"]);
    assert_eq!(settings["scheme.class0.tagger"], "attained");
}

#[test]
fn verify__of_a_result_takes_the_scheme_from_it() {
    let folder = folder("[sweep]\nscheme = [\"mine\"]\n", &[("mine", FILE)]);
    let (out, how) = (folder.path().join("out"), How { jobs: 1, threads: None, fresh: false, replace: false });
    execute(&planned(folder.path()).unwrap(), &built_in(), &out, how, &|_| ControlFlow::Continue(())).unwrap();
    fs::remove_dir_all(folder.path().join("schemes")).unwrap();
    let verifiable = Verifiable::read(&out, &built_in()).unwrap();
    let differences =
        verifiable.differences(&built_in(), None, How { fresh: true, ..how }, &|_| ControlFlow::Continue(()));
    assert_eq!(differences.unwrap(), Vec::<String>::new());
}
