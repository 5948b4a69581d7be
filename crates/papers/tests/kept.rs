//! Catalogues and what is kept of their runs, with an engine that makes results up.

use crate::toy::Made;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_papers::reproduce::{Take, read};
use flowsieve_papers::{Claims, Kept};
use std::path::Path;

#[test]
fn kept__what_was_said_of_missing_runs_is_said_until_they_are_there() {
    let text = "[workload]\nflows = 50\n[sweep]\nload = [0.2, 0.6]\nscheme = [\"dctcp\", \"pfabric\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let how = How { jobs: 2, threads: None, fresh: false, replace: true };
    let made = |engine: Made| {
        let input = ExperimentText::new("toy.toml", text);
        let plan = plan(&input, Path::new(""), &Changes::default(), &engine.engines()).unwrap();
        execute(&plan, &engine.engines(), folder.path(), how, &go_on).unwrap()
    };
    let late = made(Made { is_late: Some("pfabric"), ..Made::default() });
    let warnings: Vec<String> = late.warnings().into_iter().map(|warning| warning.text).collect();
    let mut kept = Kept::none(&late.manifest().experiment, &Claims::default());
    kept.add(&late, &[]);
    assert_eq!((kept.count(), kept.lacked()), (2, Some(warnings[0].as_str())));
    kept.add(&made(Made::default()), &[]);
    assert_eq!((kept.count(), kept.lacked()), (4, None));
    assert!(kept.notes().iter().all(|note| !note.contains("not valid")), "{:?}", kept.notes());
}

#[test]
fn read__unknown_papers_and_figures_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("pias")).unwrap();
    std::fs::write(folder.path().join("pias/fig-9.toml"), "title = \"x\"\n").unwrap();
    let engines = Made::default().engines();
    let refused = |what: &str| {
        let read = read(folder.path(), what, &Changes::default(), Take::OfAny, &engines);
        read.unwrap_err().details()
    };
    assert_eq!(refused("pais").nearest.as_deref(), Some("pias"));
    assert_eq!(refused("pias/fig-8").nearest.as_deref(), Some("fig-9"));
    assert_eq!((refused("..").kind, refused("..").nearest), ("name", None));
    assert!(refused("pias/fig-9").file.is_some_and(|file| file.ends_with("fig-9.toml")));
}
