//! A sentence that says what Flowsieve lacks is bound to its answers: on the day that it comes, a test fails.
//!
//! Such a sentence has a comment in its paragraph, list item or table row, `<!-- absent: explain drill, command serve -->`.
//! `explain` has to answer "not modelled" to each of these names, and each of these commands has to be unknown.

use assert_cmd::Command;
use flowsieve_engines::built_in;
use flowsieve_studies::explain::{Detail, absent_names, explain};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How pages say that Flowsieve lacks something. If a heading of a table or what introduces a list says so, it says it
/// of each row or item.
const WORDS: [&str; 5] = ["flowsieve lacks", "flowsieve has no", "does not yet", "not built in", "not modelled"];

/// A page's paragraphs, list items and table rows, each on one line with the number of its first. Code is left out.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for (line, number) in page.lines().zip(1..) {
        let fence = line.starts_with("```");
        fenced ^= fence;
        if fenced || fence || line.trim().is_empty() || line.starts_with('#') || line.starts_with("    ") && !open {
            open = false;
            continue;
        }
        if !open || line.starts_with(['|', '-']) {
            blocks.push((number, String::new()));
        }
        open = true;
        blocks.last_mut().unwrap().1 += &format!("{} ", line.trim());
    }
    blocks
}

/// What a block is bound to: `explain drill`, for example.
fn bound(block: &str) -> impl Iterator<Item = &str> {
    let comment = block.split("<!-- absent: ").nth(1).map_or("", |rest| rest.split(" -->").next().unwrap());
    comment.split(", ").filter(|one| !one.is_empty())
}

/// The lines of a page at which a sentence of absence has no comment.
fn unbound(page: &str) -> Vec<usize> {
    let blocks = blocks(page);
    let mut wrong = Vec::new();
    let mut introduced = false;
    for (index, (line, block)) in blocks.iter().enumerate() {
        let says = WORDS.iter().any(|word| block.to_lowercase().contains(word));
        let part = block.starts_with(['|', '-']) && !block.starts_with("| ---");
        let heads_table = blocks.get(index + 1).is_some_and(|(_, next)| next.starts_with("| ---"));
        if heads_table || !part && block.ends_with(": ") {
            introduced = says;
            continue;
        }
        introduced &= block.starts_with(['|', '-']);
        if (says || part && introduced) && bound(block).next().is_none() {
            wrong.push(*line);
        }
    }
    wrong
}

/// The pages of a folder: name and text.
fn pages(path: &Path, found: &mut BTreeMap<String, String>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| pages(&entry.unwrap().path(), found));
    } else if path.extension().is_some_and(|extension| extension == "md") {
        found.insert(path.display().to_string(), std::fs::read_to_string(path).unwrap());
    }
}

fn hand_written() -> BTreeMap<String, String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut found = BTreeMap::new();
    ["README.md", "CONTRIBUTING.md", "docs"].iter().for_each(|name| pages(&root.join(name), &mut found));
    assert!(found.len() > 60, "{} pages", found.len());
    found
}

fn is_absent(what: &str) -> bool {
    match what.split_once(' ').unwrap_or((what, "")) {
        ("explain", name) => explain(name, Detail::Short, &built_in())
            .is_ok_and(|meanings| meanings.iter().all(|one| one.kind == "not modelled")),
        ("command", name) => {
            let done = Command::cargo_bin("flowsieve").unwrap().args([name, "--help"]).output().unwrap();
            String::from_utf8_lossy(&done.stderr).contains("unrecognized subcommand")
        }
        _ => panic!("a sentence cannot be bound to `{what}`"),
    }
}

#[test]
fn absence__each_sentence_is_bound_to_what_is_not_there() {
    let mut named = BTreeSet::new();
    for (page, text) in hand_written() {
        assert_eq!(unbound(&text), [0; 0], "{page}: at these lines, a comment `absent` is missing");
        for what in blocks(&text).iter().flat_map(|(_, block)| bound(block)) {
            assert!(is_absent(what), "{page} says that this is not there: {what}");
            named.insert(what.to_owned());
        }
    }
    for names in absent_names() {
        let some = names.iter().any(|name| named.contains(&format!("explain {name}")));
        assert!(some, "`explain` calls these absent, and no page says so: {names:?}");
    }
}

#[test]
fn absence__what_is_there_or_not_bound_is_found() {
    let absent = ["explain drill", "command serve", "explain cubic", "explain homa", "explain nothing", "command run"];
    assert_eq!(absent.map(is_absent), [true, true, false, false, false, false]);
    let page = "It is not\nmodelled. <!-- absent: explain pfc -->\n\nNDP is not built in.\n\n- Flowsieve lacks\n  it.\n- fine\n\n\
        | a | Flowsieve lacks |\n| --- | --- |\n| b | c |\n| d | e <!-- absent: explain ndp --> |\n\n```\nnot built in\n```\n\
        `pias` is there, and Flowsieve has no such part:\n\n- one\n- two <!-- absent: explain bbr -->\n\nAnd then.\n\n- three\n";
    assert_eq!(unbound(page), [4, 6, 12, 20]);
}
