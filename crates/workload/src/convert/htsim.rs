//! htsim's connection matrices and Opera's flow lists.
//!
//! One grammar is used with three units of time: ps in csg-htsim and uet-htsim, us in older versions; Opera's code
//! reads ns where its comment says us. The contents do not show the unit, so `--time-unit` must.

use std::collections::BTreeSet;

use crate::convert::error::{ConvertError, Kind, excerpt};
use crate::convert::flows::{Ids, Row, Rows};
use crate::convert::options::{Options, TimeUnit};
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal, whole};

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let mut rows = source.rows().take(100);
    let starts = rows.next().is_some_and(|row| row.text.starts_with("Nodes "));
    if starts && rows.any(|row| ends(row.text).is_some()) { Fit::Sure } else { Fit::No }
}

/// Returns the ends of `src->dst …`, and what follows.
fn ends(row: &str) -> Option<(u64, u64, &str)> {
    let (pair, rest) = row.split_once(|blank: char| blank.is_ascii_whitespace()).unwrap_or((row, ""));
    let (src, dst) = pair.split_once("->")?;
    Some((whole(src)?, whole(dst)?, rest))
}

/// Returns the given unit; without one, an error that describes what the starts look like.
fn time_unit(source: &Source<'_>, options: &Options<'_>, hint: &str) -> Result<TimeUnit, ConvertError> {
    options.time_unit.ok_or_else(|| {
        let problem = "the file does not say in which unit its starts are";
        source.fault(None, Kind::Option("time-unit"), problem, format!("--time-unit ps, ns or us: {hint}"))
    })
}

/// The counts in the lines before the flows.
#[derive(Default)]
struct Promised {
    nodes: Option<u64>,
    connections: Option<u64>,
    triggers: Option<u64>,
    failures: Option<u64>,
}

/// What was found, including what Flowsieve does not have.
#[derive(Default)]
struct Found {
    connections: u64,
    triggers: BTreeSet<u64>,
    failures: u64,
    waiting: u64,
    endless: u64,
    with_priority: u64,
    finer: u64,
    /// The line of the first flow or failure that Flowsieve does not have.
    lost_line: Option<u64>,
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let has_point = source.rows().any(|row| after(row.text, "start").is_some_and(|start| start.contains('.')));
    let hint = match has_point {
        true => "some starts have a decimal point, as the older programs write us",
        false => "csg-htsim and uet-htsim count ps, older programs us",
    };
    let unit = time_unit(source, options, hint)?;
    let (mut promised, mut found, mut rows) = (Promised::default(), Found::default(), Rows::new(*source));
    for row in source.rows() {
        if let Some((src, dst, rest)) = ends(row.text) {
            connection(source, row, (src, dst), rest, (unit, &promised), &mut found, &mut rows)?;
        } else {
            statement(source, row, &mut promised, &mut found)?;
        }
    }
    let counts = [
        ("Connections", promised.connections, found.connections),
        ("Triggers", promised.triggers, found.triggers.len() as u64),
        ("Failures", promised.failures, found.failures),
    ];
    for (what, promised, found) in counts {
        if promised.unwrap_or(0) != found {
            let promised = promised.map_or("no number".to_owned(), |number| number.to_string());
            let problem = format!("{what}: {promised} promised, {found} found");
            return Err(source.fault(None, Kind::Row, problem, "the promised number; htsim stops here"));
        }
    }
    let lost = [
        (found.waiting, "flows that wait for a trigger"),
        (found.endless, "endless flows (size 0)"),
        (found.failures, "failures of links"),
    ];
    let lost: Vec<String> =
        lost.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")).collect();
    if !lost.is_empty() {
        let lost = lost.join(", ");
        if !options.leave_out {
            let problem = format!("Flowsieve has no {lost}");
            return Err(source.fault(found.lost_line, Kind::Lost, problem, "--leave-out to convert the other flows"));
        }
        notes.say(format!("left out: {lost}"));
    }
    notes.count(found.with_priority, "priorities are not carried over");
    notes.count(found.finer, "starts were finer than a picosecond and are rounded");
    rows.finish(Ids::Hosts, options, notes).map(What::Flows)
}

/// Returns the word after `key` in a row.
fn after<'a>(row: &'a str, key: &str) -> Option<&'a str> {
    let mut words = row.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()
}

/// Reads a line that is not a flow: a count, a trigger or a failure.
fn statement(source: &Source<'_>, row: At<'_>, promised: &mut Promised, found: &mut Found) -> Result<(), ConvertError> {
    let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
    let number = |what: &str, text: &str| source.whole(row.line, what, text, u32::MAX.into());
    match words[..] {
        ["Nodes", count] => promised.nodes = Some(number("Nodes", count)?),
        ["Connections", count] => promised.connections = Some(number("Connections", count)?),
        ["Triggers", count] => promised.triggers = Some(number("Triggers", count)?),
        ["Failures", count] => promised.failures = Some(number("Failures", count)?),
        ["trigger", "id", id, "oneshot" | "multishot"] | ["trigger", "id", id, "barrier", "count", _] => {
            if !found.triggers.insert(number("the trigger's id", id)?) {
                return Err(source.wrong_field(row.line, "the trigger's id", id, "each trigger once"));
            }
        }
        ["failure", ..] => {
            found.failures += 1;
            found.lost_line.get_or_insert(row.line);
        }
        _ => {
            let problem = format!("`{}` is not a line of a connection matrix", excerpt(row.text));
            let expected = "`src->dst key value …`, a count, `trigger id …` or `failure …`";
            return Err(source.wrong(row.line, problem, expected));
        }
    }
    Ok(())
}

fn connection(
    source: &Source<'_>,
    row: At<'_>,
    (src, dst): (u64, u64),
    rest: &str,
    (unit, promised): (TimeUnit, &Promised),
    found: &mut Found,
    rows: &mut Rows<'_>,
) -> Result<(), ConvertError> {
    found.connections += 1;
    for host in [src, dst] {
        if let Some(nodes) = promised.nodes.filter(|nodes| host >= *nodes) {
            return Err(source.wrong(
                row.line,
                format!("there is no node {host}"),
                format!("0 to {}", nodes.saturating_sub(1)),
            ));
        }
    }
    let (mut start, mut size, mut waits) = (None, None, false);
    let mut words = rest.split_ascii_whitespace();
    while let Some(key) = words.next() {
        let Some(value) = words.next() else {
            return Err(source.wrong(row.line, format!("`{}` has no value", excerpt(key)), "a value after each key"));
        };
        if (key == "start" && start.is_some()) || (key == "size" && size.is_some()) {
            return Err(source.wrong(row.line, format!("a second `{key}`"), "each key once"));
        }
        match key {
            "start" => start = Some(source.scaled(row.line, "start", value, unit.ps(), &mut found.finer)?),
            "size" => size = Some(source.whole(row.line, "size", value, i32::MAX as u64)?),
            "trigger" => waits = true,
            "prio" => found.with_priority += 1,
            // Names of flows and triggers, and what is sent on: they have no effect without triggers.
            "id" | "msg" | "addon" | "send_done_trigger" | "recv_done_trigger" => {}
            _ => {
                return Err(source.wrong_field(
                    row.line,
                    "a key",
                    key,
                    "id, start, size, trigger, prio or a done_trigger",
                ));
            }
        }
    }
    let Some(bytes) = size else {
        return Err(source.wrong(row.line, "a flow without `size`", "its bytes"));
    };
    match start {
        _ if waits => found.waiting += 1,
        None => return Err(source.wrong(row.line, "a flow without `start`", "its start, or a trigger")),
        Some(_) if bytes == 0 => found.endless += 1,
        Some(start_ps) => return rows.add(Row { line: row.line, start_ps, src, dst, bytes }),
    }
    found.lost_line.get_or_insert(row.line);
    Ok(())
}

/// Recognises four whole numbers per line, which may be Homa's trace, too.
pub(crate) fn fit_opera(source: &Source<'_>) -> Fit {
    let is_row = |row: At<'_>| {
        let mut words = row.text.split_ascii_whitespace();
        words.clone().count() == 4 && words.all(|word| decimal(word).is_some() && !word.contains(['.', 'e', 'E']))
    };
    let mut rows = source.rows().map(is_row).peekable();
    if rows.peek().is_some() && rows.all(|is| is) { Fit::Possible } else { Fit::No }
}

pub(crate) fn read_opera(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let unit = time_unit(source, options, "Opera's code reads ns, although its comment says us")?;
    let mut rows = Rows::new(*source);
    for row in source.rows() {
        let [src, dst, bytes, start] = source.fields(row, "4: src dst bytes start")?;
        let start = source.whole(row.line, "the start", start, u64::MAX / unit.ps())?;
        rows.parse(row.line, start * unit.ps(), [src, dst, bytes])?;
    }
    rows.finish(Ids::Hosts, options, notes).map(What::Flows)
}
