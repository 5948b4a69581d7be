//! The simulator knows no scheme and no transport by name: none stands as a word in its code.

use crate::by_hand;
use std::path::{Path, PathBuf};

use flowsieve_schemes::REGISTRY;
use flowsieve_settings::Kind;

/// The registry's names, and those of transports in settings, each as one word: `openloop`.
fn names() -> Vec<String> {
    let transport = by_hand::rack(2).find("transport").expect("a setting");
    let Kind::Choice(transports) = transport.kind else { panic!("{transport:?}") };
    let schemes = REGISTRY.iter().map(|entry| entry.name.as_str());
    schemes.chain(transports.names()).map(|name| name.replace('-', "")).collect()
}

/// What of a file is code: its lines without comments and without what is for tests alone.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut code = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code.push((number, without_comment(line).to_owned()));
            continue;
        }
        let (_, item) = lines.next().expect("an item");
        // A file of its own is told by its name.
        if !item.ends_with(';') {
            let indent = line.len() - line.trim_start().len();
            let end = format!("{}}}", &line[..indent]);
            lines.find(|(_, line)| *line == end).expect("the item's end");
        }
    }
    code
}

/// A line up to `//` that stands in no string. A string may begin in an earlier line; none with `//` does.
fn without_comment(line: &str) -> &str {
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' if !escaped && !line[..at].ends_with('\'') => in_string = !in_string,
            b'/' if !in_string && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    line
}

/// The parts of an identifier or of a word in a string, in small letters: `TcpEndpoint` has two, and so has `open-loop`.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let letters: Vec<char> = word.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_uppercase();
        let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if !letter.is_alphanumeric() || letter.is_uppercase() && (after_small || before_small) {
            parts.push(String::new());
        }
        if letter.is_alphanumeric() {
            parts.last_mut().expect("one").extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The words of a line that a name is, or is some parts of.
fn found<'a>(line: &'a str, names: &[String]) -> Vec<&'a str> {
    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
    let named = |word: &&str| {
        let parts = parts(word);
        let runs = (0..parts.len()).flat_map(|from| (from + 1..=parts.len()).map(move |to| from..to));
        runs.map(|run| (parts[run.clone()].concat(), run.len() == parts.len())).any(|(run, whole)| {
            // `delay_ps` has the unit of a time.
            names.contains(&run) && (whole || run != "ps")
        })
    };
    words.filter(named).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let code = entries.filter(|path| path.file_stem().is_some_and(|name| name != "tests"));
    let mut files: Vec<_> = code.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

#[test]
fn simulator__names_no_scheme_and_no_transport() {
    let (root, names) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), names());
    let mut all = Vec::new();
    for file in files(&root) {
        let text = std::fs::read_to_string(&file).expect("a file");
        let place = file.strip_prefix(&root).expect("within").display();
        for (number, line) in code(&text) {
            all.extend(found(&line, &names).iter().map(|word| format!("{place}:{number}: {word}")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn found__every_way_to_write_a_name() {
    let names = names();
    let code = "\
//! DCTCP in a head.
use flowsieve_transport::tcp::TcpEndpoint; // TCP
const OPEN_LOOP: &str = \"open-loop // las\"; // las
fn es_8(ps: u64, delay_ps: u64, last: char) -> Es8 {
    let (a, b) = ('\"', pfabric); // pias
    /// pias
    let class = HostEndpoint::OpenLoop(openloop);
    #[cfg(test)]
    mod tests {
        use dctcp;
    }
}
#[cfg(test)]
use nagle;
fn srpt() {}
";
    let found: Vec<_> = self::code(code)
        .iter()
        .flat_map(|(_, line)| found(line, &names).into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let expected = [
        "tcp",
        "TcpEndpoint",
        "OPEN_LOOP",
        "open-loop",
        "las",
        "es_8",
        "ps",
        "Es8",
        "pfabric",
        "OpenLoop",
        "openloop",
        "srpt",
    ];
    assert_eq!(found, expected);
}
