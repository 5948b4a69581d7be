//! Connections by a host's kernel: `ss -tin` lists those that are open, bcc's and bpftrace's tcplife those that have ended.

use super::{Found, empty};
use crate::MAX_BYTES;
use crate::convert::source::{At, whole};
use crate::convert::{ConvertError, Fit, Notes, Options, Source, What};
use std::collections::BTreeMap;

/// tcplife counts in KiB and rounds down.
const KIB: u64 = 1024;

pub(crate) fn fit_ss(source: &Source<'_>) -> Fit {
    let has = |name: &str| source.text.contains(name);
    let is_ss = (has(" bytes_acked:") || has(" bytes_received:")) && (has(" cwnd:") || has(" rto:"));
    if is_ss { Fit::Sure } else { Fit::No }
}

/// Returns the two addresses of a socket's first line: those after the lengths of its queues.
fn socket<'a>(row: At<'a>) -> Option<[&'a str; 2]> {
    let words: Vec<&str> = row.text.split_whitespace().collect();
    let queues = words.windows(4).find(|words| whole(words[0]).is_some() && whole(words[1]).is_some())?;
    (queues[2].contains(':') && queues[3].contains(':')).then_some([queues[2], queues[3]])
}

/// Reads sockets. Counts rise as long as a connection lives, so the last of several listings has the most; and a direction
/// that both ends list counts once.
pub(crate) fn read_ss(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let mut directions: BTreeMap<[&str; 2], u64> = BTreeMap::new();
    let (mut current, mut sockets, mut uncounted) = (None, 0, 0u64);
    for row in source.lines() {
        if let Some(ends) = socket(row) {
            uncounted += u64::from(current.is_some());
            (current, sockets) = (Some(ends), sockets + 1);
        }
        let value = |name: &str| {
            let value = row.text.split_whitespace().find_map(|word| word.strip_prefix(name));
            value.map(|value| source.whole(row.line, name.trim_end_matches(':'), value, MAX_BYTES)).transpose()
        };
        let (acked, sent, received) = (value("bytes_acked:")?, value("bytes_sent:")?, value("bytes_received:")?);
        let (Some([local, peer]), Some(_)) = (current, acked.or(sent).or(received)) else { continue };
        // The SYN counts as an acknowledged byte.
        let out = acked.map_or(0, |acked| acked.min(sent.unwrap_or(acked.saturating_sub(1))));
        for (ends, bytes) in [([local, peer], out), ([peer, local], received.unwrap_or(0))] {
            let most = directions.entry(ends).or_default();
            *most = bytes.max(*most);
        }
        current = None;
    }
    if sockets == 0 {
        return Err(empty(source, "no sockets with addresses", "sockets of `ss -tin`"));
    }
    notes.count(sockets, "sockets; bytes are counted since a connection began, and those still open will carry more");
    notes.count(uncounted + u64::from(current.is_some()), "sockets have no counts of bytes and are left out");
    let mut found = Found::default();
    directions.into_values().for_each(|bytes| found.add(bytes));
    found.finish(source, "sockets", notes)
}

/// Splits at commas, as with `tcplife -s`, or at blanks.
fn cells(text: &str) -> Vec<&str> {
    if text.contains(',') { text.split(',').map(str::trim).collect() } else { text.split_whitespace().collect() }
}

fn is_heading(row: &At<'_>) -> bool {
    ["TX_KB", "RX_KB"].iter().all(|name| cells(row.text).contains(name))
}

pub(crate) fn fit_tcplife(source: &Source<'_>) -> Fit {
    if source.rows().take(5).any(|row| is_heading(&row)) { Fit::Sure } else { Fit::No }
}

/// Reads connections. Columns count from the row's end, as a command's name may have blanks. A size is the middle of its
/// KiB.
pub(crate) fn read_tcplife(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let Some(heading) = source.rows().find(is_heading) else {
        return Err(empty(source, "no heading with TX_KB and RX_KB", "connections of tcplife"));
    };
    let names = cells(heading.text);
    let from_end = |name| names.iter().rev().position(|other| *other == name).unwrap_or_default();
    let (sent, received) = (from_end("TX_KB"), from_end("RX_KB"));
    let (mut found, mut small, mut hidden) = (Found::default(), 0, 0);
    for row in source.rows().filter(|row| row.line > heading.line && !is_heading(row)) {
        let cells = cells(row.text);
        if cells.len() < names.len() {
            let problem = format!("columns: {}", cells.len());
            return Err(source.wrong(row.line, problem, format!("{} as in the heading", names.len())));
        }
        let kib = |name, at: usize| source.whole(row.line, name, cells[cells.len() - 1 - at], MAX_BYTES / KIB);
        let both = [kib("TX_KB", sent)?, kib("RX_KB", received)?];
        if both == [0, 0] {
            small += 1;
            found.add(KIB / 2);
            continue;
        }
        for kib in both {
            match kib {
                0 => hidden += 1,
                kib => found.add(kib * KIB + KIB / 2),
            }
        }
    }
    notes.count(small, "connections of less than 1 KiB count as one size of 512 B each: sizes below are not known");
    notes.count(hidden, "directions of less than 1 KiB, next to a larger one, are left out");
    notes.say("sizes are whole KiB, and count as the middle of them");
    found.finish(source, "connections", notes)
}
