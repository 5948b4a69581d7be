//! YAPS, pFabric's simulator: traces, listings and run files.
//!
//! A trace with nine columns counts packets in column 5. The format that YAPS itself writes, and its first readers
//! read, has eight, with packets in column 4. Today's reader, given eight, takes the integer part of the duration for
//! the size.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::convert::error::{ConvertError, Kind, excerpt};
use crate::convert::flows::{Ids, Row, Rows};
use crate::convert::options::{Options, SizeUnit};
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal, whole};
use crate::convert::units::{format_rate, format_time};

/// The payload of YAPS's packets, in bytes.
const PAYLOAD: u32 = 1_460;
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Returns whether all rows have this many numbers, with whole ones at `whole_at`.
fn has_columns(source: &Source<'_>, columns: usize, whole_at: &[usize]) -> bool {
    let is_row = |row: At<'_>| {
        let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
        words.len() == columns
            && words.iter().all(|word| decimal(word).is_some())
            && whole_at.iter().all(|at| whole(words[*at]).is_some())
    };
    let mut rows = source.rows().map(is_row).peekable();
    rows.peek().is_some() && rows.all(|is| is)
}

pub(crate) fn fit_trace(source: &Source<'_>) -> Fit {
    let nine = has_columns(source, 9, &[0, 4, 7, 8]);
    if nine || has_columns(source, 8, &[0, 3, 6, 7]) { Fit::Sure } else { Fit::No }
}

pub(crate) fn read_trace(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let unit = options.size_unit.unwrap_or(SizeUnit::Packets(PAYLOAD));
    let mut rows = Rows::new(*source);
    let (mut columns, mut finer) = (None, 0);
    for row in source.rows() {
        let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
        let (size, src) = match (*columns.get_or_insert(words.len()), words.len()) {
            (9, 9) => (4, 7),
            (8, 8) => (3, 6),
            (_, found) => {
                let problem = format!("this row has {found} columns");
                return Err(source.wrong(row.line, problem, "9, or 8 as YAPS writes them, the same in all rows"));
            }
        };
        let field = |what, text, most| source.whole(row.line, what, text, most);
        rows.add(Row {
            line: row.line,
            start_ps: source.scaled(row.line, "the start", words[1], PS_PER_SECOND, &mut finer)?,
            bytes: field("the size", words[size], u64::MAX)?.saturating_mul(unit.bytes()),
            src: field("the source", words[src], u32::MAX.into())?,
            dst: field("the destination", words[src + 1], u32::MAX.into())?,
        })?;
    }
    notes.say(format!("sizes are {}", unit.in_words()));
    notes.count(finer, "starts were finer than a picosecond and are rounded");
    rows.finish(Ids::Hosts, options, notes).map(What::Flows)
}

/// Recognises a listing. ConWeave's records have five columns, too, but start with a count.
pub(crate) fn fit_listing(source: &Source<'_>) -> Fit {
    if has_columns(source, 5, &[0, 1, 2, 3]) { Fit::Possible } else { Fit::No }
}

pub(crate) fn read_listing(
    source: &Source<'_>,
    options: &Options<'_>,
    notes: &mut Notes,
) -> Result<What, ConvertError> {
    let mut rows = Rows::new(*source);
    let mut finer = 0;
    for row in source.rows() {
        let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
        let [_, bytes, src, dst, start] = words[..] else {
            let problem = format!("this row has {} columns", words.len());
            return Err(source.wrong(row.line, problem, "5: id bytes src dst start"));
        };
        let field = |what, text, most| source.whole(row.line, what, text, most);
        rows.add(Row {
            line: row.line,
            start_ps: source.scaled(row.line, "the start", start, 1_000_000, &mut finer)?,
            bytes: field("the size", bytes, u64::MAX)?,
            src: field("the source", src, u32::MAX.into())?,
            dst: field("the destination", dst, u32::MAX.into())?,
        })?;
    }
    notes.count(finer, "starts were finer than a picosecond and are rounded");
    rows.finish(Ids::Hosts, options, notes).map(What::Flows)
}

pub(crate) fn fit_config(source: &Source<'_>) -> Fit {
    let has =
        |key: &str| source.rows().any(|row| row.text.split_once(':').is_some_and(|(found, _)| found.trim() == key));
    if ["bandwidth", "propagation_delay", "flow_type"].into_iter().all(has) { Fit::Sure } else { Fit::No }
}

/// Reads the fabric of `run/experiment.cpp`: 144 hosts, 9 racks of 16, 4 cores with links of 16 · bandwidth / 4.
pub(crate) fn read_config(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let mut keys: BTreeMap<&str, At<'_>> = BTreeMap::new();
    for row in source.rows() {
        let Some((key, value)) = row.text.split_once(':') else {
            let problem = format!("`{}` is not `key: value`", excerpt(row.text));
            return Err(source.wrong(row.line, problem, "a run file of YAPS"));
        };
        keys.insert(key.trim(), At { line: row.line, text: value.trim() });
    }
    let mut take = |key: &str| keys.remove(key);
    let missing = |key: &str| source.fault(None, Kind::Row, format!("no `{key}`"), "a run file of YAPS that has it");
    let mut finer = 0;
    let mut scaled = |at: At<'_>, what, per| source.scaled(at.line, what, at.text, per, &mut finer);
    let rate = take("bandwidth").ok_or_else(|| missing("bandwidth"))?;
    let rate_bps = scaled(rate, "bandwidth", 1)?;
    let core_bps =
        rate_bps.checked_mul(4).filter(|bps| (1_000_000..=800_000_000_000).contains(bps) && rate_bps >= 1_000_000);
    let core_bps = core_bps.ok_or_else(|| {
        source.wrong_field(rate.line, "bandwidth", rate.text, "1 Mbit/s to 200 Gbit/s: cores have four times as much")
    })?;
    let delay = take("propagation_delay").ok_or_else(|| missing("propagation_delay"))?;
    let delay_ps = scaled(delay, "propagation_delay", PS_PER_SECOND)?;
    if delay_ps > PS_PER_SECOND {
        return Err(source.wrong_field(delay.line, "propagation_delay", delay.text, "at most 1 s"));
    }
    let mut text = String::from("title = \"A run of YAPS\"\n\n[topology]\n");
    let big_switch = take("big_switch").is_some_and(|at| at.text == "1");
    if big_switch {
        text += "kind = \"single-switch\"\nhosts = 144\n";
    } else {
        text += "kind = \"leaf-spine\"\nleaves = 9\nspines = 4\nhosts_per_leaf = 16\n";
    }
    let _ = writeln!(text, "host_link = \"{}\"", format_rate(rate_bps));
    if !big_switch {
        let _ = writeln!(text, "fabric_link = \"{}\"", format_rate(core_bps));
    }
    let _ = writeln!(text, "link_delay = \"{}\"\nhost_delay = \"0s\"\n\n[workload]", format_time(delay_ps));
    let file = take("flow_trace").ok_or_else(|| missing("flow_trace"))?;
    let is_trace = take("use_flow_trace").is_some_and(|at| at.text == "1");
    let stem = file.text.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let stem: String = stem.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
    let in_bytes = take("bytes_mode").is_some_and(|at| at.text == "1");
    let (load, flows, smooth) = (take("load"), take("num_flow"), take("smooth_cdf"));
    if is_trace {
        let _ = writeln!(text, "list = \"{stem}.csv\"  # flowsieve convert {} -o {stem}.csv", plain(file.text));
        let beside = [load, flows, smooth].into_iter().flatten().count() as u64;
        notes.count(beside, "keys of drawn flows have no effect with a trace");
    } else {
        let unit = if in_bytes { "bytes" } else { "packets:1460" };
        let from = plain(file.text);
        let _ = writeln!(text, "cdf = \"{stem}.csv\"  # flowsieve convert {from} -o {stem}.csv --size-unit {unit}");
        let reading = if smooth.is_some_and(|at| at.text == "0") { "stepped" } else { "interpolated" };
        let _ = writeln!(text, "reading = \"{reading}\"");
        let load = load.ok_or_else(|| missing("load"))?;
        let share = decimal(load.text).filter(|load| !load.is_zero() && *load <= 10.into());
        let share = share.ok_or_else(|| source.wrong_field(load.line, "load", load.text, "a number above 0"))?;
        let flows = flows.ok_or_else(|| missing("num_flow"))?;
        let flows = source.whole(flows.line, "num_flow", flows.text, 50_000_000)?.max(1);
        let _ = writeln!(text, "load = {:?}\nflows = {flows}", f64::try_from(share).unwrap_or(1.0));
        notes.say(
            "YAPS's load counts 1500 B on the wire for 1460 B of payload; `load_counts` says what is counted here",
        );
    }
    if let Some(queue) = take("queue_size") {
        let bytes = source.whole(queue.line, "queue_size", queue.text, u32::MAX.into())?;
        let _ = writeln!(text, "\n[network]\nbuffer = \"{bytes}B\"");
    }
    text += "\n[sweep]\nscheme = [\"pfabric\"]\n";
    notes.say("the scheme is pFabric, for which YAPS was written: set `scheme` in [sweep] for others");
    if !keys.is_empty() {
        let names: Vec<String> = keys.keys().take(20).map(|key| excerpt(key)).collect();
        notes.say(format!("{} keys are not carried over: {}", keys.len(), names.join(", ")));
    }
    Ok(What::Experiment(text))
}

/// Makes a file's name safe inside a comment.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}
