//! A newcomer's path: the commands of docs/guide, one after the other in an empty folder.

use assert_cmd::Command;
use std::path::Path;

/// The pages in the order in which a newcomer reads them.
const PAGES: [&str; 5] = ["first-steps", "experiment", "results", "comparing", "figures"];

/// Runs of many minutes.
const LEFT_OUT: [&str; 3] = [
    "flowsieve run nos2/fig06 --scale quick",
    "flowsieve run quickstart --scale quick --seeds 12",
    "flowsieve run mine.toml --resolve \"mean fct\" --budget 10m",
];

fn page(name: &str) -> String {
    let path = format!("{}/../../docs/guide/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The commands of a page: indented lines that begin with `flowsieve`, with `$` in front if output follows.
fn commands(page: &str) -> Vec<&str> {
    let of = |line| str::strip_prefix(line, "    ").map(|line| line.strip_prefix("$ ").unwrap_or(line));
    page.lines().filter_map(of).filter(|line| line.starts_with("flowsieve ")).collect()
}

/// The arguments of a command, whose file for its output is returned apart. Runs that state no scale get few flows.
fn arguments(command: &str) -> (Vec<String>, Option<String>) {
    let (command, out) = match command.split_once(" > ") {
        Some((command, out)) => (command, Some(out.to_owned())),
        None => (command, None),
    };
    // Quotes keep spaces in an argument.
    let parts = command.split(['"', '\'']).enumerate();
    let mut arguments: Vec<String> = parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .skip(1)
        .collect();
    if arguments[0] == "run" && !arguments.contains(&"--scale".to_owned()) {
        // The folder is named as if the flows were not changed.
        let changes = arguments[2..].join("").replace("--set", "-").replace("--", "-");
        let folder = format!("results/{}{changes}", arguments[1].trim_end_matches(".toml"));
        arguments.extend(["--set".to_owned(), "flows=300".to_owned(), "--out".to_owned(), folder]);
    }
    (arguments, out)
}

/// Writes the files that docs/guide/experiment.md asks the reader to save.
fn save_the_readers_files(folder: &Path) {
    let page = page("experiment");
    let experiment = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    std::fs::write(folder.join("mine.toml"), experiment).unwrap();
    let from = &page[page.find("    size_bytes,cdf\n").unwrap()..];
    let rows: Vec<&str> = from.lines().map_while(|line| line.strip_prefix("    ")).collect();
    std::fs::write(folder.join("sizes.csv"), rows.join("\n") + "\n").unwrap();
}

#[test]
fn guide__every_command_does_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    save_the_readers_files(folder.path());
    let mut run = 0;
    for name in PAGES {
        let page = page(name);
        for command in commands(&page).into_iter().filter(|command| !LEFT_OUT.contains(command)) {
            let (arguments, out) = arguments(command);
            let done = Command::cargo_bin("flowsieve").unwrap().current_dir(folder.path()).args(&arguments).output();
            let done = done.unwrap();
            let error = String::from_utf8_lossy(&done.stderr);
            if page.contains(&format!("{command}\n    error: ")) {
                let shown = page.split_once(&format!("{command}\n    ")).unwrap().1.lines().next().unwrap();
                assert!(!done.status.success() && error.contains(shown), "{name}.md: {command}\n{error}");
            } else {
                assert!(done.status.success(), "{name}.md: {command}\n{error}");
            }
            if let Some(out) = out {
                assert!(!done.stdout.is_empty(), "{name}.md: {command} prints nothing");
                std::fs::write(folder.path().join(out), &done.stdout).unwrap();
            }
            run += 1;
        }
    }
    assert!(run > 20, "{run} commands");
}
