//! Tables of docs/reference that follow from declarations. A table stands below a line `<!-- make generate: NAME -->`. Its
//! two lines of heading, and the cells that no declaration has, are written by hand.

use super::{options, read, root};
use flowsieve_engines::built_in;
use flowsieve_record::{FlowRow, Sums};
use flowsieve_settings::{Key, Section};
use flowsieve_workload::{SOURCE_MEAN, builtins};
use std::collections::BTreeMap;

const MARK: &str = "<!-- make generate: ";

/// Cells of a row; those that are written by hand are `None`.
type Row = Vec<Option<String>>;

/// The pages as they have to be, and what is to be written by hand.
#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) pages: BTreeMap<String, String>,
    pub(crate) faults: Vec<String>,
}

/// Fills every table.
pub(crate) fn filled() -> Filled {
    let mut filled = Filled::default();
    for entry in std::fs::read_dir(root().join("docs/reference")).unwrap() {
        let path = format!("docs/reference/{}", entry.unwrap().file_name().to_str().unwrap());
        let text = read(&path);
        if text.contains(MARK) {
            filled.pages.insert(path, text);
        }
    }
    let mut tables = settings();
    tables.extend(options_of(&flowsieve::options::command(), ""));
    tables.extend([
        ("columns of flows".to_owned(), columns_of_flows()),
        ("formats".to_owned(), formats()),
        ("distributions".to_owned(), distributions()),
        ("means of sources".to_owned(), source_means()),
    ]);
    let marks = |text: &str| text.matches(MARK).count();
    let found: usize = filled.pages.values().map(|text| marks(text)).sum();
    let placed: usize = tables.iter().map(|(name, rows)| filled.fill(name, rows)).sum();
    if placed != found {
        filled.faults.push(format!("{found} tables of docs/reference are marked, but {placed} have a declaration"));
    }
    filled
}

impl Filled {
    /// Fills the tables of a name; returns their number. Where there are several, rows stay where they are, and new ones
    /// come into the first.
    fn fill(&mut self, name: &str, rows: &[Row]) -> usize {
        let mark = format!("{MARK}{name} -->");
        let places: Vec<String> =
            self.pages.iter().filter(|(_, text)| text.contains(&mark)).map(|(path, _)| path.clone()).collect();
        if places.is_empty() {
            self.faults.push(format!("docs/reference has no table below a line {mark}"));
        }
        let mut left: Vec<&Row> = rows.iter().collect();
        for (at, path) in places.iter().enumerate().rev() {
            let text = &self.pages[path];
            let (before, rest) = text.split_once(&format!("{mark}\n")).unwrap();
            let table: Vec<&str> = rest.lines().take_while(|line| line.starts_with('|')).collect();
            let after: String = rest.split_inclusive('\n').skip(table.len()).collect();
            let (heading, old) = table.split_at(2);
            let old: BTreeMap<&str, Vec<&str>> = old.iter().map(|line| (key(cells(line)[0]), cells(line))).collect();
            let is_here = |row: &&Row| at == 0 || old.contains_key(key(row[0].as_deref().unwrap()));
            let here: Vec<&Row> = left.iter().copied().filter(is_here).collect();
            left.retain(|row| !is_here(row));
            let mut filled = format!("{before}{mark}\n{}\n", heading.join("\n"));
            for row in here {
                let name = row[0].as_deref().unwrap();
                let kept =
                    |cell: usize| old.get(key(name)).and_then(|cells| cells.get(cell)).copied().unwrap_or_default();
                let cells: Vec<&str> =
                    row.iter().enumerate().map(|(at, cell)| cell.as_deref().unwrap_or_else(|| kept(at))).collect();
                if let Some(empty) = (0..row.len()).find(|&at| row[at].is_none() && cells[at].is_empty()) {
                    self.faults.push(format!("{path}: write cell {} of the row of {name} by hand", empty + 1));
                }
                filled += &format!("| {} |\n", cells.join(" | "));
            }
            self.pages.insert(path.clone(), filled + &after);
        }
        places.len()
    }
}

/// The cells of a row.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim_start_matches('|').strip_suffix('|').unwrap_or(line);
    inner.split(" | ").map(str::trim).collect()
}

/// What names a row: the first thing in its first cell.
fn key(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap_or(cell)
}

fn known(text: impl Into<String>) -> Option<String> {
    Some(text.into())
}

/// What a setting takes, without the units that every quantity of its kind has: experiment-file.md lists these once.
fn takes(key: &Key) -> String {
    [
        " with a unit (B, KB, MB, GB, KiB, MiB, GiB or pkt)",
        " with a unit (ps, ns, us, ms or s)",
        " with a unit (bps, Kbps, Mbps or Gbps)",
    ]
    .iter()
    .fold(key.kind.expects(), |text, units| text.replace(units, ""))
}

/// Settings by section: name, what it does and takes, and its default, by hand unless other settings decide it.
fn settings() -> Vec<(String, Vec<Row>)> {
    let engines = built_in();
    let of = |section: Section| {
        let rows = engines.keys().iter().filter(|key| key.section == section).map(|key| {
            vec![
                known(format!("`{}`", key.name)),
                known(format!("{}<br>*{}*", key.help, takes(key))),
                key.computed.and_then(known),
            ]
        });
        (format!("settings of {}", section.path()), rows.collect())
    };
    Section::ALL.map(of).into()
}

/// The options of a command and of those below it.
fn options_of(command: &clap::Command, above: &str) -> Vec<(String, Vec<Row>)> {
    let of = |command: &clap::Command| {
        let name = format!("{above} {}", command.get_name());
        let (rows, below) = (options::rows(command), options_of(command, &name));
        let own = (!rows.is_empty()).then(|| (format!("options of{name}"), rows));
        own.into_iter().chain(below).collect::<Vec<_>>()
    };
    command.get_subcommands().flat_map(of).collect()
}

fn columns_of_flows() -> Vec<Row> {
    let of = |column: &flowsieve_record::Column<FlowRow>| {
        // Results, unlike their parts, name it so: in a summary a class is a size class.
        let name = if column.name == "class" { "traffic_class" } else { column.name };
        let sums = match column.sums {
            Sums::None => "",
            Sums::Run => "by run",
            Sums::Class => "by run, by class",
        };
        vec![known(format!("`{name}`")), known(column.unit), known(column.about), known(sums)]
    };
    FlowRow::columns().iter().map(of).collect()
}

/// Formats of other simulators: name, what a file has, what it becomes, by hand whether it is recognised, and what is lost.
fn formats() -> Vec<Row> {
    let of = |format: &flowsieve_workload::convert::Format| {
        assert!(!format.lost.is_empty() && !format.summary.is_empty(), "{}", format.name);
        let becomes = format.gives.in_words();
        vec![known(format!("`{}`", format.name)), known(format.summary), known(becomes), None, known(format.lost)]
    };
    flowsieve_workload::convert::formats().iter().map(of).collect()
}

fn distributions() -> Vec<Row> {
    let of = |builtin: &flowsieve_workload::Builtin| {
        let sizes = builtin.distribution().unwrap();
        let names: Vec<String> =
            std::iter::once(&builtin.name).chain(builtin.aliases).map(|name| format!("`{name}`")).collect();
        let reading = format!("{}, {}", builtin.reading, builtin.rounding);
        let mean = format!("{:.1}", sizes.mean_bytes());
        let quantiles = [0.5, 0.9, 0.99, 1.0].map(|p| known(sizes.quantile(p).to_string()));
        let before = [known(names.join(", ")), known(builtin.summary), known(reading), known(mean)];
        before.into_iter().chain(quantiles).chain([known(builtin.provenance)]).collect()
    };
    builtins().iter().map(of).collect()
}

fn source_means() -> Vec<Row> {
    let of = |builtin: &flowsieve_workload::Builtin| {
        let mean = builtin.source_mean?;
        let share = builtin.distribution().unwrap().mean_bytes() / mean * 100.0;
        let name = format!("`{}{SOURCE_MEAN}`", builtin.name);
        Some(vec![known(name), known(format!("{mean} B")), known(format!("{share:.1} %"))])
    };
    builtins().iter().filter_map(of).collect()
}
