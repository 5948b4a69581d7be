//! A result with any changes of its files, whose hashes are those of the changed files, is read and shown or is an error.
#![no_main]

use flowsieve_engines::built_in;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{ExperimentText, Folder};
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

const EXPERIMENT: &str = "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\nsizes = \"web-search\"\nload = 0.5\n\
                          flows = 10\n[sweep]\nscheme = [\"dctcp\", \"pias\"]\n[run]\nsample_interval = \"10us\"\n";

/// The files that may change. The last has the hashes of the others.
const FILES: [&str; 4] = ["flows.parquet", "series.parquet", "summary.csv", "manifest.json"];

/// The folder of a result, and its files as they were; the manifest without the hash of its own bytes.
fn result() -> &'static (PathBuf, [Vec<u8>; 4]) {
    static RESULT: OnceLock<(PathBuf, [Vec<u8>; 4])> = OnceLock::new();
    RESULT.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("flowsieve-fuzz-{}", std::process::id()));
        let source = Source::new(ExperimentText::new("fuzz.toml", EXPERIMENT), Folder::at(&folder));
        let plan = source.plan(&built_in()).unwrap();
        let how = How { jobs: 1, threads: None, fresh: false, replace: true };
        execute(&plan, &built_in(), &folder, how, &|_| ControlFlow::Continue(())).unwrap();
        let mut files = FILES.map(|name| fs::read(folder.join(name)).unwrap());
        let manifest = String::from_utf8(files[3].clone()).unwrap();
        let (body, _) = manifest.rsplit_once(",\n  \"blake3\": ").unwrap();
        files[3] = format!("{body}\n}}\n").into_bytes();
        (folder, files)
    })
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

// The file, how much of its end is left out, and new bytes at places counted from its end, where Parquet has its footer.
fuzz_target!(|input: (u8, u16, Vec<(u16, u8)>)| {
    let (folder, files) = result();
    let (which, cut, changes) = input;
    let which = usize::from(which) % FILES.len();
    let mut files = files.clone();
    let kept = hash(&files[which]);
    let bytes = &mut files[which];
    bytes.truncate(bytes.len().saturating_sub(usize::from(cut)));
    for (from_end, byte) in changes {
        if let Some(at) = bytes.len().checked_sub(1 + usize::from(from_end)) {
            bytes[at] = byte;
        }
    }
    if which != 3 {
        let changed = hash(&files[which]);
        files[3] = String::from_utf8_lossy(&files[3]).replace(&kept, &changed).into_bytes();
    }
    for (name, bytes) in FILES.iter().zip(&files) {
        fs::write(folder.join(name), bytes).unwrap();
    }
    if let Ok(result) = ResultDir::open(folder) {
        let _ = result.series(|_, _| true);
        if let Ok(layout) = report::Layout::new(&result.manifest().experiment, None) {
            report::table(&result, &layout, false);
            let _ = report::write(&result, &layout, &report::Section::default(), &[]);
        }
        report::doctor(&result);
    }
});
