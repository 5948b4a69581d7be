//! Distributions of sizes in two or three columns, separated by blanks, commas or semicolons.
//!
//! The last share decides between fractions (1) and per cent (100), within a thousandth; neither the largest share nor
//! any other row does. Any other last share is an error that names it.

use rust_decimal::Decimal;

use crate::MAX_BYTES;
use crate::convert::error::{ConvertError, Kind};
use crate::convert::options::{Options, SizeUnit};
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::sizes::{Drawn, Point, Sizes};
use crate::convert::source::{At, Source, decimal, nearest};

/// The most rows of a distribution.
const MAX_POINTS: usize = 1_000_000;

const THOUSAND: Decimal = Decimal::ONE_THOUSAND;

/// The heading of Parsimon's digitised curves, whose sizes are KB.
const CURVE: [&str; 2] = ["x", "y"];

fn fields<'a>(row: At<'a>) -> Vec<&'a str> {
    row.text.split([',', ';', ' ', '\t']).filter(|field| !field.is_empty()).collect()
}

/// Returns whether the first row names columns instead of having numbers.
fn is_heading(row: At<'_>) -> bool {
    let fields = fields(row);
    !fields.is_empty() && fields.iter().all(|field| field.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Returns the rows of numbers, without a heading.
fn numbers<'a>(source: &Source<'a>) -> impl Iterator<Item = At<'a>> + Clone + use<'a> {
    let heading = source.rows().next().filter(|row| is_heading(*row)).map(|row| row.line);
    source.rows().filter(move |row| Some(row.line) != heading)
}

/// Returns 1 for fractions and 100 for per cent; `None` if the last share is neither.
fn whole_share(last: Decimal) -> Option<Decimal> {
    let near = |to: Decimal| (to - to / THOUSAND..=to + to / THOUSAND).contains(&last);
    [Decimal::ONE, Decimal::ONE_HUNDRED].into_iter().find(|whole| near(*whole))
}

/// Returns whether every row has this many numbers, with rising sizes in the first column and rising shares in the
/// last.
fn fits(source: &Source<'_>, columns: usize) -> bool {
    let mut rows = numbers(source).peekable();
    let mut last: Option<(Decimal, Decimal)> = None;
    if rows.peek().is_none() {
        return false;
    }
    for row in rows {
        let fields = fields(row);
        let share = |field: &str| decimal(field.strip_suffix('%').unwrap_or(field));
        let (Some(size), Some(share)) =
            (fields.first().and_then(|size| decimal(size)), fields.last().and_then(|field| share(field)))
        else {
            return false;
        };
        let rises = last.is_none_or(|(before, below)| before <= size && below <= share);
        if fields.len() != columns || !rises {
            return false;
        }
        last = Some((size, share));
    }
    last.is_some_and(|(_, share)| whole_share(share).is_some())
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    if fits(source, 2) { Fit::Sure } else { Fit::No }
}

pub(crate) fn fit_three(source: &Source<'_>) -> Fit {
    if fits(source, 3) { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let is_curve = source.rows().next().is_some_and(|row| fields(row) == CURVE);
    let unit = options.size_unit.unwrap_or(if is_curve { SizeUnit::Kilobytes } else { SizeUnit::Bytes });
    notes.say(format!("sizes are {}", unit.in_words()));
    points(source, numbers(source), unit, [0, 1], Drawn::Unsaid, notes).map(What::Sizes)
}

pub(crate) fn read_three(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let Some(unit) = options.size_unit else {
        let problem = "the file does not say whether its sizes are bytes or packets";
        let expected = "--size-unit packets:1460 (as in most of these files) or --size-unit bytes";
        return Err(source.fault(None, Kind::Option("size-unit"), problem, expected));
    };
    notes.say(format!("sizes are {}", unit.in_words()));
    points(source, numbers(source), unit, [0, 2], Drawn::Unsaid, notes).map(What::Sizes)
}

/// Reads the points of rows with size and share in these columns, the share in the last.
pub(crate) fn points<'a>(
    source: &Source<'a>,
    rows: impl Iterator<Item = At<'a>>,
    unit: SizeUnit,
    [size_at, share_at]: [usize; 2],
    drawn: Drawn,
    notes: &mut Notes,
) -> Result<Sizes, ConvertError> {
    let (mut read, mut rounded): (Vec<(u64, Point)>, u64) = (Vec::new(), 0);
    for row in rows {
        let fields = fields(row);
        if fields.len() != share_at + 1 {
            let problem = format!("this row has {} columns", fields.len());
            return Err(source.wrong(row.line, problem, format!("{}: a size first, its share last", share_at + 1)));
        }
        let (size, share) = (fields[size_at], fields[share_at].trim_end_matches('%'));
        let exact = decimal(size).and_then(|size| size.checked_mul(unit.bytes().into()));
        let bytes = exact.and_then(nearest).filter(|bytes| *bytes <= MAX_BYTES);
        let bytes = bytes.ok_or_else(|| {
            source.wrong_field(row.line, "the size", size, format!("a number that makes 0 to {MAX_BYTES} bytes"))
        })?;
        rounded += u64::from(exact.is_some_and(|exact| !exact.fract().is_zero()));
        let share = decimal(share).filter(|share| *share <= Decimal::from(101));
        let share = share.ok_or_else(|| {
            source.wrong_field(row.line, "the share", fields[share_at], "a fraction up to 1 or per cent up to 100")
        })?;
        if let Some((_, before)) = read.last() {
            if bytes < before.bytes {
                let problem = format!("the size goes back from {} to {bytes} bytes", before.bytes);
                return Err(source.wrong(row.line, problem, "sizes that never fall"));
            }
            if share < before.share {
                let problem = format!("the share goes back from {} to {share}", before.share);
                return Err(source.wrong(row.line, problem, "shares that never fall"));
            }
        }
        if read.len() == MAX_POINTS {
            return Err(source.wrong(row.line, "too many rows", format!("at most {MAX_POINTS}")));
        }
        read.push((row.line, Point { bytes, share }));
    }
    let Some((line, last)) = read.last().copied() else {
        return Err(source.fault(None, Kind::Row, "no rows", "at least one"));
    };
    let Some(whole) = whole_share(last.share) else {
        let problem = format!("the last share is {}", last.share);
        return Err(source.wrong(line, problem, "1 or 100, within a thousandth"));
    };
    if whole == Decimal::ONE_HUNDRED {
        notes.say("shares are per cent");
    }
    if last.share != whole {
        notes.say(format!("the last share is {} and counts as {whole}", last.share));
    }
    notes.count(rounded, "sizes are rounded to whole bytes");
    let share = |share: Decimal| if share >= last.share || share >= whole { Decimal::ONE } else { share / whole };
    let points: Vec<Point> =
        read.iter().map(|(_, point)| Point { bytes: point.bytes, share: share(point.share).normalize() }).collect();
    if let Some(((line, _), point)) =
        read.iter().zip(&points).find(|(_, point)| point.bytes == 0 && !point.share.is_zero())
    {
        let problem = format!("a share of {} of the flows has 0 bytes", point.share);
        return Err(source.wrong(*line, problem, "flows of at least 1 byte"));
    }
    notes.say(match drawn {
        Drawn::Stepped => {
            "the distribution is read in steps, as its source draws it: each size is a point mass, in \
            either reading of a CDF"
        }
        Drawn::Unsaid => {
            "the file does not say how its source reads between points: set `reading` in [workload] \
            (interpolated by default)"
        }
    });
    Ok(Sizes { points, drawn })
}
