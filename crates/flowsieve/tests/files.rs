//! Files that a person names: what is written replaces nothing unasked, and what is read is a file that ends.
#![cfg(unix)]

use crate::command::{Output, SMALL, bytes, flowsieve, folder, small_result};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A file of a terabyte of holes.
fn sparse(path: &Path) {
    File::create(path).unwrap().set_len(1 << 40).unwrap();
}

fn refused(done: &Output, name: &str) {
    assert_eq!(done.status, 2, "{name}: {}{}", done.out, done.err);
    assert!(done.err.contains(name) && !done.err.contains("panicked"), "{name}: {}", done.err);
}

#[test]
fn pack__replaces_no_file_unasked_and_the_experiment_never() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let pack =
        |out: &str, more: &[&str]| flowsieve(folder.path(), &[&["pack", "small.toml", "-o", out], more].concat());
    for more in [&[][..], &["--replace"]] {
        refused(&pack("small.toml", more), "small.toml");
        assert_eq!(fs::read_to_string(at("small.toml")).unwrap(), SMALL);
    }
    fs::write(at("there"), "kept").unwrap();
    refused(&pack("there", &[]), "there");
    assert_eq!(fs::read(at("there")).unwrap(), b"kept");
    assert_eq!(pack("there", &["--replace"]).status, 0);
    assert_eq!(flowsieve(folder.path(), &["plan", "there"]).status, 0);
    let names: Vec<String> = bytes(folder.path()).into_keys().collect();
    assert_eq!(names, ["small.toml", "there"]);
}

#[test]
fn pack__replaces_nothing_but_regular_files() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fifo(&at("fifo"));
    fs::create_dir(at("dir")).unwrap();
    std::os::unix::fs::symlink("small.toml", at("link")).unwrap();
    for out in ["fifo", "dir", "link", "/dev/null", "/dev/stdout"] {
        for more in [&[][..], &["--replace"]] {
            refused(&flowsieve(folder.path(), &[&["pack", "small.toml", "-o", out], more].concat()), out);
        }
    }
    assert!(fs::metadata(at("fifo")).unwrap().file_type().is_fifo());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(fs::read_to_string(at("small.toml")).unwrap(), SMALL);
}

#[test]
fn pack__is_as_open_to_others_as_any_file() {
    let folder = folder();
    let command = assert_cmd::cargo::cargo_bin("flowsieve");
    for mask in ["022", "077", "002"] {
        let script = format!("umask {mask}; \"$0\" pack small.toml -o {mask}.flowsieve && : > {mask}");
        let done = Command::new("sh").current_dir(folder.path()).args(["-c", &script]).arg(&command).output().unwrap();
        assert!(done.status.success());
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode(&format!("{mask}.flowsieve")), mode(mask));
    }
}

#[test]
fn reproduce__a_page_that_is_there_is_refused_before_any_run() {
    let folder = folder();
    fs::write(folder.path().join("page.md"), "kept").unwrap();
    let done = flowsieve(folder.path(), &["reproduce", "nos2/fig06", "--scale", "smoke", "--page", "page.md"]);
    refused(&done, "page.md");
    assert_eq!(fs::read(folder.path().join("page.md")).unwrap(), b"kept");
    assert!(!folder.path().join("results/nos2/parts").exists());
}

#[test]
fn file_limit__is_an_error_with_a_message() {
    let folder = small_result();
    let command = assert_cmd::cargo::cargo_bin("flowsieve");
    // In units of 512 bytes (POSIX).
    let limited = |rest: &str| {
        let script = format!("ulimit -f 16; exec \"$0\" {rest}");
        Command::new("sh").current_dir(folder.path()).args(["-c", &script]).arg(&command).output().unwrap()
    };
    let run = limited("run small.toml --out limited");
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("limited/") && said.contains("ulimit -f"), "{said}");
    let flows = limited("flows pagerank-like > flows.csv");
    let said = String::from_utf8(flows.stderr).unwrap();
    assert_eq!(flows.status.code(), Some(2), "{said}");
    assert!(said.contains("the output: "), "{said}");
}

/// What must be an error of the file in an instant: nothing waits for a FIFO, or reads a device or the holes of a file.
const ENDLESS: [fn(&Path); 4] =
    [fifo, sparse, |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(), |path| fs::create_dir(path).unwrap()];

#[test]
fn input__of_a_result_is_a_file_that_ends() {
    let folder = small_result();
    let result = folder.path().join("results/small");
    for name in ["manifest.json", "run.json", "flows.parquet", "series.parquet", "summary.csv"] {
        let (path, kept) = (result.join(name), result.join("kept"));
        fs::rename(&path, &kept).unwrap();
        for endless in ENDLESS {
            endless(&path);
            for command in ["report", "compare", "doctor", "export"] {
                refused(&flowsieve(folder.path(), &[command, "results/small"]), name);
            }
            if path.is_dir() { fs::remove_dir(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
        fs::rename(&kept, &path).unwrap();
    }
    assert_eq!(flowsieve(folder.path(), &["report", "results/small"]).status, 0);
}

#[test]
fn input__a_result_is_a_folder() {
    let folder = folder();
    fifo(&folder.path().join("fifo"));
    for named in ["small.toml", "fifo"] {
        let done = flowsieve(folder.path(), &["report", named]);
        refused(&done, named);
        assert!(done.err.contains("this is a file, and a result is a folder"), "{}", done.err);
    }
}

#[test]
fn input__of_a_part_is_a_file_that_ends() {
    let folder = small_result();
    let part = fs::read_dir(folder.path().join("results/small/parts")).unwrap().next().unwrap().unwrap().path();
    for name in ["point.json", "flows.parquet"] {
        for endless in ENDLESS {
            let path = part.join(name);
            if path.is_dir() {
                fs::remove_dir(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            endless(&path);
            // Another's part is not taken, and one's own is made again.
            let join = ["join", "small.toml", "--parts", "results/small", "--out", "joined"];
            refused(&flowsieve(folder.path(), &join), name);
            let run = flowsieve(folder.path(), &["run", "small.toml"]);
            assert_eq!(run.status, 0, "{name}: {}", run.err);
            assert!(run.err.contains("is made again"), "{name}: {}", run.err);
        }
    }
}

#[test]
fn input__that_a_person_names_is_a_file_that_ends() {
    let folder = small_result();
    let with = |name: &str, line: &str| {
        let text = SMALL.replace("sizes = \"web-search\"\nflows = 40", line);
        fs::write(folder.path().join(name), text.replace("load = [0.5, 0.8]\n", "")).unwrap();
    };
    with("listed.toml", "list = \"x\"");
    with("sized.toml", "cdf = \"x\"\nload = 0.5\nflows = 40");
    with("arrived.toml", "sizes = \"web-search\"\nflows = 40\narrivals = \"trace\"\narrival_trace = \"x\"\nload = 0.5");
    with("coflows.toml", "coflows = \"x\"");
    let edges = "[topology]\nkind = \"custom\"\nfile = \"x\"\n[workload]\nsizes = \"web-search\"\nflows = 4\nload = 0.5\n\
                 [sweep]\nscheme = [\"dctcp\"]\n";
    fs::write(folder.path().join("edges.toml"), edges).unwrap();
    let path = folder.path().join("x");
    for endless in ENDLESS {
        endless(&path);
        for command in [
            &["run", "x"][..],
            &["plan", "x"],
            &["plan", "listed.toml"],
            &["plan", "sized.toml"],
            &["plan", "arrived.toml"],
            &["plan", "coflows.toml"],
            &["plan", "edges.toml"],
            &["run", "small.toml", "--keys", "x", "--out", "keyed"],
            &["thresholds", "--sizes", "x"],
            &["thresholds", "--cdf", "x"],
            &["coflows", "x"],
            &["convert", "flux", "x", "-o", "flux.csv"],
        ] {
            let done = flowsieve(folder.path(), command);
            assert!(done.status == 2, "{command:?}: {}{}", done.out, done.err);
            let why = ["regular file", "expected 16000000000 at most", " bytes; expected ", "is not a file", "folder"];
            assert!(why.iter().any(|why| done.err.contains(why)), "{command:?}: {}", done.err);
        }
        if path.is_dir() { fs::remove_dir(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
    }
}

#[test]
fn bundle__a_folder_for_it_that_is_not_there_is_no_damage() {
    let folder = folder();
    assert_eq!(flowsieve(folder.path(), &["pack", "small.toml", "-o", "x.flowsieve"]).status, 0);
    let done = assert_cmd::Command::cargo_bin("flowsieve")
        .unwrap()
        .current_dir(folder.path())
        .env("TMPDIR", "/none/of/these")
        .args(["plan", "x.flowsieve"])
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("/none/of/these") && said.contains("TMPDIR") && !said.contains("damaged"), "{said}");
}

/// A terminal would obey what a forged result has in its names.
#[test]
fn names__of_a_forged_result_lead_no_terminal() {
    let folder = small_result();
    let manifest = folder.path().join("results/small/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    // One without its hash is taken, as that of before is.
    let (body, _) = text.rsplit_once(",\n  \"blake3\": ").unwrap();
    let leads = "\\u001b[2J\\u001b]0;x\\u0007\\u009b2J\\u202e";
    let mut forged = body.replace("\"pias\"", &format!("\"pi{leads}as\""));
    for link in ["host-up", "host-down"] {
        forged = forged.replace(&format!("\"{link}\""), &format!("\"{link}{leads}\""));
    }
    assert_ne!(forged, body);
    fs::write(&manifest, forged + "\n}\n").unwrap();
    let obeyed =
        |text: &str| text.contains(|letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}'));
    let mut shown = false;
    for command in [
        &["report", "results/small"][..],
        &["report", "results/small", "--json"],
        &["doctor", "results/small"],
        &["doctor", "results/small", "--json"],
        &["compare", "results/small"],
        &["compare", "results/small", "--json"],
        &["compare", "results/small", "none", "pias"],
        &["export", "results/small", "--format", "latex"],
    ] {
        let done = flowsieve(folder.path(), command);
        assert!(!obeyed(&done.out) && !obeyed(&done.err), "{command:?}: {:?} {:?}", done.out, done.err);
        shown |= done.out.contains("pi\u{fffd}[2J");
    }
    assert!(shown);
}

#[test]
fn names__of_files_and_settings_lead_no_terminal() {
    let folder = folder();
    let leads = "a\u{1b}[2J\u{9b}2J\u{202e}b";
    let file = format!("{leads}.toml");
    fs::write(folder.path().join(&file), SMALL).unwrap();
    fs::write(folder.path().join(format!("wrong{file}")), "colour = 1\n").unwrap();
    let set = format!("load={leads}");
    for command in [
        &["plan", &file][..],
        &["plan", &format!("wrong{file}")],
        &["plan", &format!("none{file}")],
        &["plan", "small.toml", "--set", &set],
        &["plan", "small.toml", "--set", leads],
        &["plan", "small.toml", "--seeds", leads],
        &[leads],
        &["explain", leads],
        &["report", leads],
        &["pack", "small.toml", "-o", &file],
        &["run", &file, "--set", "flows=4", "--seeds", "1", "--out", leads],
    ] {
        let done = flowsieve(folder.path(), command);
        for text in [&done.out, &done.err] {
            let obeyed = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
            assert!(!text.contains(obeyed), "{command:?}: {text:?}");
        }
    }
}

#[test]
fn export__safe_csv_has_no_formulas() {
    let folder = small_result();
    let manifest = folder.path().join("results/small/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let (body, _) = text.rsplit_once(",\n  \"blake3\": ").unwrap();
    fs::write(&manifest, body.replace("\"pias\"", "\"=cmd|'/C calc'!A0\"") + "\n}\n").unwrap();
    for what in ["table", "flows", "figure"] {
        let export = |more: &[&str]| {
            let done = flowsieve(
                folder.path(),
                &[&["export", "results/small", "--what", what, "--format", "csv"], more].concat(),
            );
            assert_eq!(done.status, 0, "{}", done.err);
            done.out
        };
        let (plain, safe) = (export(&[]), export(&["--safe-csv"]));
        assert!(plain.contains("=cmd|") && !plain.contains("'=cmd|"), "{what}");
        assert_eq!(safe.matches("'=cmd|").count(), plain.matches("=cmd|").count(), "{what}");
        // Nothing else is another.
        assert_eq!(safe.replace("'=cmd|", "=cmd|"), plain, "{what}");
    }
    let other = flowsieve(folder.path(), &["export", "results/small", "--format", "latex", "--safe-csv"]);
    refused(&other, "--safe-csv");
}

/// A header of this type and name, which says this many bytes.
fn header(kind: u8, name: &str, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_size(bytes);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_cksum();
    header
}

#[test]
fn bundle__of_other_headers_than_those_of_files_is_refused_before_their_bytes() {
    use std::io::Write;
    let folder = folder();
    for kind in *b"xgLK12S" {
        let mut file = File::create(folder.path().join("x.flowsieve")).unwrap();
        file.write_all(header(kind, "bundle.json", 1_500_000_000).as_bytes()).unwrap();
        // Holes: a reader that keeps them takes as much memory.
        file.set_len(1_500_001_024).unwrap();
        let done = flowsieve(folder.path(), &["plan", "x.flowsieve"]);
        refused(&done, "x.flowsieve");
        assert!(done.err.contains("a header of type"), "{}", done.err);
    }
}

/// A bundle whose list has these files, as paths with what they say of their bytes; all are the same file of 32 bytes.
fn bundle(path: &Path, files: &[(&str, u64)]) {
    let content = b"size_bytes,cdf\n1000,0.5\n20000,1\n";
    let hash = blake3::hash(content).to_hex();
    let files: Vec<String> = files
        .iter()
        .map(|(path, bytes)| format!("{{\"path\": \"{path}\", \"blake3\": \"{hash}\", \"bytes\": {bytes}}}"))
        .collect();
    let list = format!(
        "{{\"schema\": 1, \"name\": \"t.toml\", \"sets\": [], \"seeds\": null, \"scale\": \"paper\", \"resolve\": false, \
         \"files\": [{}]}}",
        files.join(", ")
    );
    let text = SMALL.replace("sizes = \"web-search\"", "cdf = \"a.csv\"");
    let mut archive = tar::Builder::new(File::create(path).unwrap());
    for (name, bytes) in [("bundle.json", list.as_bytes()), ("experiment.toml", text.as_bytes()), (&hash, content)] {
        archive.append(&header(b'0', name, bytes.len() as u64), bytes).unwrap();
    }
    archive.finish().unwrap();
}

#[test]
fn bundle__the_bytes_of_each_copy_are_checked_and_count() {
    let folder = folder();
    let path = folder.path().join("x.flowsieve");
    let plan = || flowsieve(folder.path(), &["plan", "x.flowsieve"]);
    bundle(&path, &[("a.csv", 32), ("b/c.csv", 32)]);
    assert_eq!(plan().status, 0, "{}", plan().err);
    // A path that says fewer bytes than its file has would not count.
    for (first, second) in [(32, 0), (32, 33), (0, 32), (33, 32)] {
        bundle(&path, &[("a.csv", first), ("b/c.csv", second)]);
        refused(&plan(), "x.flowsieve");
    }
    let most = 16_000_000_000 / 2 + 1;
    bundle(&path, &[("a.csv", most), ("b/c.csv", most)]);
    refused(&plan(), "x.flowsieve");
    assert!(plan().err.contains("at most 16000000000"), "{}", plan().err);
}
