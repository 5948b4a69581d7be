//! Homa's distributions and traces.

use rust_decimal::Decimal;

use crate::MAX_BYTES;
use crate::convert::cdf;
use crate::convert::error::{ConvertError, Kind};
use crate::convert::flows::{Ids, Rows};
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::sizes::Drawn;
use crate::convert::source::{At, Source, decimal, whole};

/// Recognises rows of four numbers, with a fraction as the gap. Other lists with starts in seconds look alike.
pub(crate) fn fit_trace(source: &Source<'_>) -> Fit {
    let is_row = |row: At<'_>| match row.text.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [src, dst, bytes, gap] => [src, dst, bytes].iter().all(|id| whole(id).is_some()) && decimal(gap).is_some(),
        _ => false,
    };
    let mut rows = source.rows().map(is_row).peekable();
    if rows.peek().is_some() && rows.all(|is| is) { Fit::Possible } else { Fit::No }
}

/// Reads a trace. A gap follows the line before in the file, for any host.
pub(crate) fn read_trace(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let (mut rows, mut finer, mut now) = (Rows::new(*source), 0, 0u64);
    for row in source.rows() {
        let [src, dst, bytes, gap] = source.fields(row, "4: src dst bytes gap")?;
        let gap_ps = source.scaled(row.line, "the gap", gap, 1_000_000_000_000, &mut finer)?;
        now = now.checked_add(gap_ps).ok_or_else(|| {
            source.wrong_field(row.line, "the gap", gap, "gaps of at most 18446744 s (213 days) together")
        })?;
        rows.parse(row.line, now, [src, dst, bytes])?;
    }
    notes.count(finer, "gaps were finer than a picosecond and are rounded");
    rows.finish(Ids::Hosts, options, notes).map(What::Flows)
}

/// Recognises a line with one number, then lines with two.
pub(crate) fn fit_dist(source: &Source<'_>) -> Fit {
    let mut rows = source.rows();
    let mean = rows.next().is_some_and(|row| decimal(row.text).is_some());
    let columns = |row: At<'_>| row.text.split_ascii_whitespace().filter(|word| decimal(word).is_some()).count();
    let mut rows = rows.map(columns).peekable();
    if mean && rows.peek().is_some() && rows.all(|columns| columns == 2) { Fit::Sure } else { Fit::No }
}

pub(crate) fn read_dist(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let Some(unit) = options.size_unit else {
        let problem = "the file does not say whether its sizes are bytes or packets";
        let expected = "--size-unit bytes; packets:1442 for Homa's DCTCP distribution";
        return Err(source.fault(None, Kind::Option("size-unit"), problem, expected));
    };
    let Some(first) = source.rows().next() else {
        return Err(source.fault(None, Kind::Row, "the file is empty", "the mean first"));
    };
    let stated = decimal(first.text)
        .and_then(|mean| mean.checked_mul(unit.bytes().into()))
        .ok_or_else(|| source.wrong_field(first.line, "the mean", first.text, "a number alone on the first line"))?;
    let sizes = cdf::points(source, source.rows().skip(1), unit, [0, 1], Drawn::Stepped, notes)?;
    let mean = sizes.stepped_mean();
    // Some files round their mean to the last digit shown.
    let differs = mean.checked_sub(stated).is_none_or(|differs| differs.abs() > stated / Decimal::ONE_THOUSAND);
    if differs {
        notes.say(format!("line {} states a mean of {stated} B, but the steps have {mean} B", first.line));
    }
    Ok(What::Sizes(sizes))
}

/// Recognises the heading that HomaModule writes.
pub(crate) fn fit_rtts(source: &Source<'_>) -> Fit {
    let heading = source.lines().take(20).any(|row| row.text.starts_with('#') && row.text.contains("RTT (usec)"));
    let is_row = |row: At<'_>| row.text.split_ascii_whitespace().filter(|word| decimal(word).is_some()).count() == 2;
    if heading && source.rows().all(is_row) && source.rows().next().is_some() { Fit::Sure } else { Fit::No }
}

pub(crate) fn read_rtts(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let mut sizes = Vec::new();
    for row in source.rows() {
        let [length, _] = source.fields(row, "2: length us")?;
        let bytes = source.whole(row.line, "the length", length, MAX_BYTES)?;
        if bytes == 0 {
            return Err(source.wrong_field(row.line, "the length", length, "at least 1 byte"));
        }
        sizes.push(bytes);
    }
    if sizes.is_empty() {
        return Err(source.fault(None, Kind::Row, "no lengths", "at least one"));
    }
    notes.count(sizes.len() as u64, "round trips are not carried over; there are no hosts and no starts");
    Ok(What::Samples(sizes))
}
