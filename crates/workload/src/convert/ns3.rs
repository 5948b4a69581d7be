//! Flow files of HPCC and its forks: a count N, then N records separated by white space. Their readers ignore line
//! ends, and do not read what follows the records.
//!
//! The dialects differ only in their columns. A count that is too large repeats the last record in HPCC, whose reader
//! does not check for the end of the file; here it is an error. HPCC's `traffic_gen.py` overwrites an estimate of N
//! without clearing it, so that 998 over 1000 leaves 9980.

use crate::convert::error::{ConvertError, Kind};
use crate::convert::flows::{Ids, Row, Rows};
use crate::convert::options::{Options, SizeUnit};
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal, whole};
use crate::flow_list::MAX_FLOWS;

/// The columns of a dialect, by their positions from 0.
#[derive(Debug)]
pub(crate) struct Dialect {
    columns: usize,
    src: usize,
    size: usize,
    start: usize,
    stop: Option<usize>,
    /// The other fields of a record, in words.
    others: &'static str,
    in_packets: bool,
    /// The size that 0 stands for, if it stands for one.
    zero_is: Option<u64>,
}

pub(crate) static HPCC: Dialect = Dialect {
    columns: 6,
    src: 0,
    size: 4,
    start: 5,
    stop: None,
    others: "priority groups and ports",
    in_packets: false,
    zero_is: None,
};
pub(crate) static HPCC_STOP: Dialect = Dialect { columns: 7, stop: Some(6), ..HPCC };
pub(crate) static CONWEAVE: Dialect =
    Dialect { columns: 5, size: 3, start: 4, others: "priority groups", zero_is: Some(1), ..HPCC };
pub(crate) static RDMA: Dialect =
    Dialect { columns: 6, size: 3, start: 4, stop: Some(5), others: "priority groups", in_packets: true, ..HPCC };
pub(crate) static PARSIMON: Dialect =
    Dialect { columns: 7, src: 1, size: 5, start: 6, others: "ids, priority groups and ports", ..HPCC };

/// Recognises the dialect by the columns of the first rows. Two dialects have six columns and two have seven. They
/// differ in whether a stop comes after its start and sizes are whole.
pub(crate) fn fit(source: &Source<'_>, dialect: &Dialect) -> Fit {
    let mut rows = source.rows();
    let Some(count) = rows.next().and_then(|first| whole(first.text)) else { return Fit::No };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut records = rows.take(count).map(|row| row.text.split_ascii_whitespace().collect::<Vec<_>>()).peekable();
    let Some(columns) = records.peek().map(Vec::len) else { return Fit::No };
    // A count that is too large, or text after the records, does not hide the dialect.
    let records: Vec<Vec<&str>> = records.take_while(|record| record.len() == columns).collect();
    let others: Vec<&Dialect> = [&HPCC, &HPCC_STOP, &CONWEAVE, &RDMA, &PARSIMON]
        .into_iter()
        .filter(|other| !std::ptr::eq(*other, dialect) && reads(other, &records))
        .collect();
    match (reads(dialect, &records), others.is_empty()) {
        (false, _) => Fit::No,
        (true, true) => Fit::Sure,
        (true, false) => Fit::Possible,
    }
}

/// Returns whether all of these can be records of the dialect.
fn reads(dialect: &Dialect, records: &[Vec<&str>]) -> bool {
    let is_record = |record: &Vec<&str>| {
        if record.len() != dialect.columns {
            return false;
        }
        let start = decimal(record[dialect.start]);
        [dialect.src, dialect.src + 1, dialect.size].iter().all(|at| is_whole(record[*at]))
            && start.is_some()
            && dialect.stop.is_none_or(|stop| decimal(record[stop]).is_some_and(|stop| start <= Some(stop)))
    };
    records.iter().all(is_record)
}

/// Returns whether the text has only digits.
fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

const PS_PER_SECOND: u64 = 1_000_000_000_000;

pub(crate) fn read(
    source: &Source<'_>,
    dialect: &Dialect,
    options: &Options<'_>,
    notes: &mut Notes,
) -> Result<What, ConvertError> {
    let unit = match (dialect.in_packets, options.size_unit) {
        (false, _) => SizeUnit::Bytes,
        (true, Some(unit)) => unit,
        (true, None) => {
            let problem = "sizes are packets, but the file does not give the bytes of a packet";
            let expected = "--size-unit packets:N, where N is the run's PACKET_PAYLOAD_SIZE (1000 by default)";
            return Err(source.fault(None, Kind::Option("size-unit"), problem, expected));
        }
    };
    let mut tokens = source.tokens();
    let Some(first) = tokens.next() else {
        return Err(source.fault(None, Kind::Row, "the file is empty", "the number of flows first"));
    };
    let count = source.whole(first.line, "the number of flows", first.text, MAX_FLOWS as u64)?;
    let mut rows = Rows::new(*source);
    let (mut finer, mut zeros) = (0, 0);
    let mut record: Vec<At<'_>> = Vec::with_capacity(dialect.columns);
    for nth in 0..count {
        record.clear();
        record.extend(tokens.by_ref().take(dialect.columns));
        if record.len() < dialect.columns {
            return Err(too_few(source, first, count, nth));
        }
        let field = |at: usize, what, most| source.whole(record[at].line, what, record[at].text, most);
        let mut size = field(dialect.size, "the size", u64::MAX)?;
        if let (0, Some(stands_for)) = (size, dialect.zero_is) {
            (size, zeros) = (stands_for, zeros + 1);
        }
        let bytes = size.saturating_mul(unit.bytes());
        let start = record[dialect.start];
        rows.add(Row {
            line: record[0].line,
            start_ps: source.scaled(start.line, "the start", start.text, PS_PER_SECOND, &mut finer)?,
            src: field(dialect.src, "the source", u32::MAX.into())?,
            dst: field(dialect.src + 1, "the destination", u32::MAX.into())?,
            bytes,
        })?;
    }
    let rest: Vec<At<'_>> = tokens.collect();
    say_rest(dialect, &rest, notes);
    if dialect.in_packets {
        notes.say(format!("sizes are {}", unit.in_words()));
    }
    notes.count(zeros, "sizes of 0 become 1 byte, as in their reader");
    notes.count(finer, "starts were finer than a picosecond and are rounded");
    let flows = rows.len();
    notes.say(format!("{} of {flows} flows are not carried over", dialect.others));
    if dialect.stop.is_some() {
        notes.say(format!("{flows} stop times are not carried over: a flow ends when all of it has been delivered"));
    }
    rows.finish(Ids::Nodes, options, notes).map(What::Flows)
}

fn too_few(source: &Source<'_>, first: At<'_>, count: u64, found: u64) -> ConvertError {
    let problem = format!("the first number promises {count} flows, but there are {found}");
    let mut expected = format!("{count} records, or {found} as the first number; HPCC would repeat the last record");
    let (count, found) = (count.to_string(), found.to_string());
    if count.len() > found.len() && count.starts_with(&found) {
        expected += "; its generator may leave digits of an older count";
    }
    source.fault(Some(first.line), Kind::Row, problem, expected)
}

/// Reports what follows the records: m3's stop time, further records or text.
fn say_rest(dialect: &Dialect, rest: &[At<'_>], notes: &mut Notes) {
    match rest {
        [] => {}
        [stop] if dialect.src == 1 && decimal(stop.text).is_some() => {
            notes.say(format!("the stop time {} s at the end is not carried over", stop.text));
        }
        rest => {
            let is_number = |at: &&At<'_>| decimal(at.text).is_some();
            let records = rest.iter().take_while(is_number).count() / dialect.columns;
            let lines = rest.iter().map(|at| at.line).collect::<std::collections::BTreeSet<_>>().len();
            let which = if records > 0 { format!(", including {records} further records,") } else { String::new() };
            notes.say(format!("{lines} lines after the promised records{which} are not read, as in HPCC"));
        }
    }
}
