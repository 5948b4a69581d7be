//! What the documentation says is what the command does.

use assert_cmd::Command;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn flowsieve(arguments: &[&str]) -> String {
    let done = Command::cargo_bin("flowsieve").unwrap().current_dir(root()).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The rows of `docs/reference/settings-*.md`: section → name → row.
fn documented() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut section = String::new();
    let settings = pages().into_iter().filter(|(name, _)| name.starts_with("docs/reference/settings-"));
    for line in settings.map(|(_, text)| text).collect::<String>().lines() {
        if let Some(title) = line.strip_prefix("### [") {
            section = title.trim_matches(['[', ']']).to_owned();
        } else if let Some(row) = line.strip_prefix("| `") {
            let name = row.split('`').next().unwrap();
            sections.entry(section.clone()).or_default().insert(name.to_owned(), line.to_owned());
        }
    }
    sections
}

/// Reads as many settings as one file can, and gives none that has a default.
const DEFAULTS: &str = r#"
[workload]
sizes = "web-search"
flows = 1
load = 0.1
[sweep]
kind = ["leaf-spine", "fat-tree", "three-tier"]
parameters = ["ns2", "rfc"]
scheme = ["dctcp", "pias", "pfabric", "dupack", "delaying", "shared", "red", "flowlet", "hula", "conga", "qc-las", "qc-srpt", "nos2", "awafs", "idle", "qclimb", "pfabric-predicted", "hpcc", "swift", "dcqcn", "lossless", "nscc"]
[schemes.dupack]
base = "dctcp"
loss_detection = "dupack"
[schemes.delaying]
base = "dctcp"
ack_every = 2
[schemes.shared]
base = "dctcp"
[schemes.shared.leaf]
admission = "shared"
[schemes.red]
base = "dctcp"
marking = "red"
[schemes.lossless]
base = "dcqcn"
pfc_headroom_rule = "sonic"
[schemes.idle]
base = "awafs"
flow_ends = "idle"
[schemes.flowlet]
base = "dctcp"
load_balancing = "flowlet"
[schemes.conga]
base = "dctcp"
load_balancing = "conga"
[schemes.hula]
base = "dctcp"
load_balancing = "hula"
[schemes.qclimb]
bounds = "law"
[schemes.pfabric-predicted]
bounds = "exact"
"#;

/// What settings are under a parameter set when they are not given: (set, name) → values, over fabrics and places, with the
/// first scheme of the sweep that reads the setting.
fn defaults(out: &Path) -> BTreeMap<(String, String), (String, BTreeSet<String>)> {
    let manifest = std::fs::read(out.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut defaults = BTreeMap::new();
    let experiment = &manifest["experiment"];
    for scheme in experiment["schemes"].as_array().unwrap().iter().map(|info| text(&info["name"])) {
        let points = experiment["points"].as_array().unwrap();
        for point in points.iter().filter(|point| text(&point["scheme"]) == scheme) {
            for (path, value) in point["settings"].as_object().unwrap() {
                let name = path.rsplit('.').next().unwrap().to_owned();
                let key = (text(&point["settings"]["run.parameters"]), name);
                let (first, values) = defaults.entry(key).or_insert((scheme.clone(), BTreeSet::new()));
                if *first == scheme {
                    values.insert(text(value));
                }
            }
        }
    }
    defaults
}

#[test]
fn reference__states_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("defaults.toml"), DEFAULTS).unwrap();
    let out = folder.path().join("out");
    flowsieve(&["run", folder.path().join("defaults.toml").to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let defaults = defaults(&out);
    let mut checked = 0;
    for (name, row) in documented().into_values().flatten() {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        // `a / b`: of ns2, of rfc; words after them are for readers.
        let values: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if !cell.starts_with('`') || values.is_empty() {
            continue;
        }
        let both = if cell.contains("` / `") { [values[0], values[1]] } else { [values[0]; 2] };
        let mut read = false;
        for (set, value) in ["ns2", "rfc"].into_iter().zip(both) {
            let Some((scheme, found)) = defaults.get(&(set.to_owned(), name.clone())) else { continue };
            assert!(found.contains(value), "`{name}` of {scheme} with {set} is {found:?}, not {value}");
            read = true;
        }
        assert!(read, "nothing read `{name}`");
        checked += 1;
    }
    assert!(checked > 40, "{checked} defaults");
}

#[test]
fn first_experiment__runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let shown = flowsieve(&["run", "experiments/first.toml", "--scale", "smoke", "--out", out.to_str().unwrap()]);
    assert!(shown.contains("pias-2") && shown.contains("report.html"), "{shown}");
}

/// Every document below a folder.
fn documents(folder: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap()) {
        let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            documents(&name, names);
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
}

/// The pages that people read: name and text. Older sections of the changelog may name what is gone.
fn pages() -> Vec<(String, String)> {
    let mut names: Vec<String> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).into();
    documents("docs", &mut names);
    assert!(names.len() > 60, "{names:?}");
    names.sort();
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    for (document, text) in pages() {
        let folder = root().join(&document).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let path = target.split('#').next().unwrap();
            let there = path.is_empty() || path.starts_with("https://") || folder.join(path).exists();
            assert!(there, "{document}: there is no {target}");
        }
    }
}

/// The folders at the root that a path in a document may begin with.
const FOLDERS: [&str; 7] = ["crates/", "docs/", "experiments/", "papers/", "scripts/", "python/", "fuzz/"];

/// Every file below a folder with this ending.
fn sources(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            sources(&entry, ending, found);
        } else if entry.extension().is_some_and(|extension| extension == ending) {
            found.push(entry);
        }
    }
}

/// Whether a path leads to something, up to its first part that stands for several (`PAPER`, `*.toml`, `<name>`). A path
/// that begins with none of [`FOLDERS`] is the end of that of a Rust file.
fn exists(path: &str, sources: &[PathBuf]) -> bool {
    if !FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        return sources.iter().any(|source| source.ends_with(path));
    }
    let is_placeholder = |part: &&str| {
        let name = part.split('.').next().unwrap_or_default();
        part.contains(['*', '<']) || name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    root().join(path.split('/').take_while(|part| !is_placeholder(part)).collect::<PathBuf>()).exists()
}

/// The paths in a document's links and code spans that lead nowhere, each as `document:line: path`. Blocks of code are
/// skipped: they may show the reader's own files. Paths that begin with `../` are links, which have a test of their own.
fn wrong_paths(document: &str, text: &str, sources: &[PathBuf]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut fenced = false;
    for (line, number) in text.lines().zip(1..) {
        fenced ^= line.starts_with("```");
        if fenced || line.starts_with("    ") {
            continue;
        }
        let spans = line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for word in spans.chain(targets) {
            let is_path = FOLDERS.iter().any(|folder| word.starts_with(folder)) || word.ends_with(".rs");
            if is_path && !word.starts_with("../") && !word.contains("://") && !exists(word, sources) {
                wrong.push(format!("{document}:{number}: {word}"));
            }
        }
    }
    wrong
}

#[test]
fn paths_in_documents_lead_somewhere() {
    let mut found = Vec::new();
    for folder in ["crates", "fuzz", "python"] {
        sources(&root().join(folder), "rs", &mut found);
    }
    let newest = |text: String| text.split("\n## ").take(2).collect::<Vec<_>>().join("\n## ");
    let pages = pages()
        .into_iter()
        .map(|(name, text)| (name.clone(), if name == "CHANGELOG.md" { newest(text) } else { text }));
    let wrong: Vec<String> = pages.flat_map(|(name, text)| wrong_paths(&name, &text, &found)).collect();
    assert!(wrong.is_empty(), "these paths lead nowhere:\n{}", wrong.join("\n"));

    let made_up = "In `docs/compare.md`, [docs](docs/gone.md#load), `scripts/venv.sh python` and `papers/PAPER/checks.md`.\n\
        ```\ncrates/fenced/src\n```\n\
        `flowsieve/tests/docs.rs`, `nowhere/docs.rs`, `crates/gone/*.rs` and `x.org/docs/gone.md`.\n\
        \n    flowsieve run experiments/mine.toml\n";
    let expected = ["page.md:1: docs/gone.md", "page.md:5: nowhere/docs.rs", "page.md:5: crates/gone/*.rs"];
    assert_eq!(wrong_paths("page.md", made_up, &found), expected);
}

/// The words of an experiment without its comments, or of a page's blocks and spans of code.
fn words_of_code(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let is_page = path.extension().is_some_and(|ending| ending == "md");
    let mut fenced = false;
    let mut words = BTreeSet::new();
    for line in text.lines() {
        fenced ^= is_page && line.starts_with("```");
        let code = if !is_page {
            line.split('#').next().unwrap().to_owned()
        } else if fenced || line.starts_with("    ") {
            line.to_owned()
        } else {
            line.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(" ")
        };
        let parts = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.extend(parts.map(str::to_owned));
    }
    words
}

/// A setting is worth its place in the program if there is an experiment with it, or a page that says when to set it.
#[test]
fn settings__each_has_a_use() {
    let mut found = Vec::new();
    for folder in ["experiments", "papers"] {
        sources(&root().join(folder), "toml", &mut found);
    }
    for folder in ["docs/guide", "docs/operate", "docs/extend"] {
        sources(&root().join(folder), "md", &mut found);
    }
    let used: BTreeSet<String> = found.iter().flat_map(|path| words_of_code(path)).collect();
    let list: serde_json::Value = serde_json::from_str(&flowsieve(&["list", "settings", "--json"])).unwrap();
    let names = list.as_array().unwrap().iter().map(|setting| setting["name"].as_str().unwrap());
    let without: BTreeSet<&str> = names.filter(|name| !used.contains(*name)).collect();
    assert!(without.is_empty(), "in no experiment and on no page of guide, operate or extend: {without:?}");
}

#[test]
fn readme__is_a_screen_and_a_half() {
    let readme = read("README.md");
    let lines: Vec<&str> = readme.lines().collect();
    assert!(lines.len() <= 80, "the README has {} lines, at most 80", lines.len());
    let long: Vec<&&str> = lines.iter().filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "more than 120 columns: {long:?}");
}

#[test]
fn readme_names_the_oldest_rust_that_will_do() {
    let manifest = read("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"')).unwrap();
    assert!(read("README.md").contains(&format!("Rust {version} or later")), "the README does not name Rust {version}");
}

#[test]
fn pages__count_the_schemes_that_there_are() {
    let list: serde_json::Value = serde_json::from_str(&flowsieve(&["list", "schemes", "--json"])).unwrap();
    let count = format!(" {} schemes", list.as_array().unwrap().len());
    for page in ["README.md", "CITATION.cff", "docs/compare.md"] {
        let text = read(page).replace('[', "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&count), "{page}: there are{count}");
    }
}

#[test]
fn reproductions_have_the_totals_of_the_kept_measurements() {
    let readme = read("docs/reproduce/README.md");
    let row_of = |name: &str, counts: &[u32]| {
        format!("| {name} | {} |", counts.iter().map(u32::to_string).collect::<Vec<_>>().join(" | "))
    };
    let mut all = vec![0; 12];
    let folder = tempfile::tempdir().unwrap();
    let quick = ["qcluster", "nos2", "awafs", "qclimb", "pcoflow", "lab", "sieve"].map(|paper| (paper, "quick"));
    for (paper, scale) in quick.into_iter().chain([("homa", "paper")]) {
        let out = folder.path().join(paper);
        let printed =
            flowsieve(&["reproduce", paper, "--scale", scale, "--from-measured", "--out", out.to_str().unwrap()]);
        // "25 claims: agrees 20 (8 of them in runs shorter ...), disagrees 4, not resolved 1."
        let totals = printed.lines().find(|line| line.contains(" claims: agrees ")).unwrap();
        let page = read(&format!("docs/reproduce/{paper}.md"));
        assert!(page.contains(totals), "docs/reproduce/{paper}.md has no line {totals}");
        let (claims, verdicts) = totals.trim_end_matches('.').split_once(" claims: ").unwrap();
        let said = |verdict: &str| {
            verdicts.split(", ").find_map(|one| one.strip_prefix(&format!("{verdict} "))).unwrap_or("0")
        };
        let number = |text: &str| text.split(' ').next().unwrap().parse::<u32>().unwrap();
        let shorter = |verdict: &str| said(verdict).split_once(" (").map_or(0, |(_, rest)| number(rest));
        let mut counts = vec![number(claims)];
        for verdict in ["agrees", "disagrees"] {
            counts.extend([number(said(verdict)), shorter(verdict)]);
        }
        let others = ["same direction", "weaker", "other direction", "not resolved", "not judged", "not tested here"];
        counts.extend(others.into_iter().chain(["not measured"]).map(|verdict| number(said(verdict))));
        if !["lab", "sieve", "homa"].contains(&paper) {
            all = all.iter().zip(&counts).map(|(one, other)| one + other).collect();
        }
        let row = row_of(&format!("[{paper}]({paper}.md)"), &counts);
        // What is known of the causes stands below the totals.
        let causes = printed.lines().find(|line| line.contains("Their causes: ")).unwrap();
        assert!(page.contains(&format!("{totals}\n{causes}\n")), "docs/reproduce/{paper}.md has no line {causes}");
        assert!(readme.contains(&row), "docs/reproduce/README.md has no row {row}");
    }
    let row = row_of("the five papers", &all);
    assert!(readme.contains(&row), "docs/reproduce/README.md has no row {row}");
}

/// The crates of a house by `docs/extend/architecture.md`, which lists each in a table.
fn house(name: &str) -> Vec<String> {
    let page = read("docs/extend/architecture.md");
    let (_, table) = page.split_once(&format!("| {name} | holds |\n")).unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn crates__use_those_of_their_house_and_of_houses_below() {
    let houses = ["engine", "workbench", "papers"].map(house);
    let of = |name: &str| houses.iter().position(|house| house.iter().any(|known| known == name)).expect(name);
    let mut known = 0;
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let (_, used) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
        known += 1;
        for line in used.split("dependencies]").next().unwrap().lines() {
            let Some(other) = line.strip_prefix("flowsieve-").and_then(|rest| rest.split(['.', ' ']).next()) else {
                continue;
            };
            // The command uses what is above it by a feature alone.
            let may = of(other) <= of(&name) || name == "flowsieve" && line.ends_with("optional = true }");
            assert!(may, "{name} uses {other}");
        }
    }
    assert_eq!(known, houses.iter().map(Vec::len).sum::<usize>(), "{houses:?}");
}

#[test]
fn crates__below_papers_know_no_claim() {
    let mut found = Vec::new();
    for name in ["results", "report", "experiment", "engines", "studies"] {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), "rs", &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap().to_lowercase();
            let lines = text.lines().filter(|line| line.contains("claim")).map(str::to_owned);
            found.extend(lines.map(|line| format!("{}: {line}", file.display())));
        }
    }
    // Two fields of results have names from before.
    found.retain(|line| !["\"claimed_series\"", "\"claimed_coflows\""].iter().any(|name| line.contains(name)));
    assert!(found.is_empty(), "{found:#?}");
}
