//! Options of calls that are not made from the command line: read by its parsers, with its messages in one line.

use flowsieve::options::{ChangeOptions, JoinOptions, RunOptions, parsed};
use std::ffi::OsString;

fn refused<T: clap::Args + std::fmt::Debug>(words: &[&str]) -> String {
    parsed::<T>(words.iter().map(OsString::from)).unwrap_err().to_string()
}

#[test]
fn parsed__has_defaults_and_what_is_given() {
    let none: RunOptions = parsed([]).unwrap();
    assert!(!none.replace && !none.make.fresh && none.make.jobs.jobs.is_none());
    let some: RunOptions = parsed(["--jobs=3", "--replace"].map(OsString::from)).unwrap();
    let of_two: RunOptions = parsed(["--threads=2"].map(OsString::from)).unwrap();
    assert_eq!((none.make.threads.count(), of_two.make.threads.count()), (None, Some(2)));
    assert_eq!(of_two.how().jobs, (none.how().jobs / 2).max(1), "each thread has a core");
    assert_eq!((some.how().jobs, some.how().replace, some.how().fresh), (3, true, false));
}

#[test]
fn parsed__says_what_is_wrong_in_one_line() {
    for threads in ["0", "1025", "some"] {
        let said = refused::<RunOptions>(&[&format!("--threads={threads}")]);
        assert!(said.ends_with(": expected a whole number from 1 to 1024, or all"), "{said}");
    }
    assert_eq!(refused::<RunOptions>(&["--jobs=0"]), "--jobs 0: 0 is not in 1..=1024");
    assert_eq!(refused::<ChangeOptions>(&["--scale=huge"]), "--scale \"huge\": expected smoke, quick, paper");
    assert_eq!(
        refused::<JoinOptions>(&["--partial", "--run-missing"]),
        "the argument '--partial' cannot be used with '--run-missing'"
    );
    let both = refused::<JoinOptions>(&["--jobs=2"]);
    assert!(both.contains("--run-missing") && !both.contains('\n'), "{both}");
    assert!(refused::<RunOptions>(&["--colour=red"]).contains("--colour"));
}
