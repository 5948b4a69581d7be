//! Zeek's conn.log: one connection a row, with the payload of both directions. A `-` is a value that Zeek does not know.

use super::{Found, empty};
use crate::MAX_BYTES;
use crate::convert::source::At;
use crate::convert::{ConvertError, Fit, Notes, Options, Source, What};

/// The columns that are read.
const COLUMNS: [&str; 4] = ["proto", "duration", "orig_bytes", "resp_bytes"];

fn heading<'a>(source: &Source<'a>) -> Option<At<'a>> {
    source.lines().take(50).find(|row| row.text.starts_with("#fields"))
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let is_log = heading(source).is_some_and(|row| row.text.contains("orig_bytes"));
    if is_log { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let Some(heading) = heading(source) else {
        return Err(empty(source, "no line `#fields`", "connections of a conn.log"));
    };
    let names: Vec<&str> = heading.text.split('\t').skip(1).map(str::trim).collect();
    let mut at = [0; COLUMNS.len()];
    for (at, column) in at.iter_mut().zip(COLUMNS) {
        *at = names.iter().position(|name| *name == column).ok_or_else(|| {
            let problem = format!("`#fields` has no {column} between tabs");
            source.wrong(heading.line, problem, "a conn.log with all columns, separated by tabs")
        })?;
    }
    let (mut found, mut unknown, mut others) = (Found::default(), 0, 0);
    for row in source.rows() {
        let cells: Vec<&str> = row.text.split('\t').collect();
        if cells.len() != names.len() {
            let problem = format!("columns: {}", cells.len());
            return Err(source.wrong(row.line, problem, format!("{} as in `#fields`", names.len())));
        }
        let [proto, duration, sent, received] = at.map(|at| cells[at].trim());
        if !["tcp", "udp"].contains(&proto) {
            others += 1;
            continue;
        }
        if duration.starts_with('-') && duration != "-" {
            let problem = format!("the connection ends before it starts: its duration is {duration} s");
            return Err(source.wrong(row.line, problem, "clocks that agree"));
        }
        for (column, cell) in [("orig_bytes", sent), ("resp_bytes", received)] {
            match cell {
                "-" => unknown += 1,
                cell => found.add(source.whole(row.line, column, cell, MAX_BYTES)?),
            }
        }
    }
    notes.count(unknown, "directions whose bytes are `-` (unknown) are left out");
    notes.count(others, "connections of other protocols than TCP and UDP are left out");
    found.finish(source, "connections", notes)
}
