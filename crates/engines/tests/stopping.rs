//! A run of the simulator that is told to stop.

use flowsieve_engines::built_in;
use flowsieve_experiment::execute::{Event, How, execute};
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::{Error, ExperimentText};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn execute__stops_in_the_middle_of_a_run_when_told_to_and_keeps_what_is_finished() {
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 8\n[workload]\nsizes = \"fixed(1MB)\"\nflows = 1_000\n\
                [sweep]\nload = [0.5]\nscheme = [\"dctcp\"]\n[run]\nseeds = 3\n";
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&ExperimentText::new("t.toml", text), Path::new(""), &Changes::default(), &built_in()).unwrap();
    let how = How { jobs: 1, threads: None, fresh: false, replace: false };
    let looks = AtomicUsize::new(0);
    let show = |event: Event| match event {
        Event::Going(1, _) => {
            looks.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let stopped = execute(&plan, &built_in(), folder.path(), how, &show).unwrap_err();
    assert!(matches!(stopped, Error::Stopped), "{stopped}");
    assert_eq!(looks.load(Ordering::Relaxed), 1, "the run ended at once");
    let events = Mutex::new(Vec::new());
    let show = |event: Event| {
        events.lock().unwrap().push(event);
        ControlFlow::Continue(())
    };
    execute(&plan, &built_in(), folder.path(), how, &show).unwrap();
    assert!(matches!(events.into_inner().unwrap()[0], Event::Found(1, _)));
}
