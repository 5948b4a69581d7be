//! The points of a distribution function in a file.
//!
//! A row `size_bytes,cdf` says which share of the flows has at most that size. Sizes and shares never fall from row to
//! row and the last share is 1. Two rows with the same size are a point mass there; a first row above 0 is a point mass
//! at its size.
//!
//! Commas, semicolons and blanks separate alike. If the last share is 100, or has a `%`, all are per cent; only the last row
//! decides.

use crate::MAX_BYTES;
use crate::error::{InputError, Problem, excerpt};
use crate::lines::Lines;
use crate::rows::whole_number;

/// As messages show them.
const COLUMNS: [&str; 2] = ["size_bytes", "cdf"];

/// Rows that a file may have; the finest published distribution has 843.
const MAX_POINTS: usize = 1_000_000;

/// How far from 1 the last value may be: sums of shares in floating point end slightly off.
const SUMMATION_ERROR: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CdfPoint {
    /// In bytes.
    pub(crate) size: u64,
    /// Share of the flows up to this size, 0 to 1.
    pub(crate) cdf: f64,
}

/// A row before it is known whether shares are per cent.
struct Row {
    line: u64,
    size: u64,
    /// Its text, without `%`.
    share: String,
    value: f64,
    is_percent: bool,
}

/// The points of `text`, which errors call `name`; at least one, and the last has cdf 1.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<CdfPoint>, InputError> {
    let mut lines = Lines::new(name, text.as_bytes());
    let (mut layout, mut rows): (Option<Layout>, Vec<Row>) = (None, Vec::new());
    while lines.advance(|| COLUMNS.join(","))? {
        let line = lines.text()?;
        let at = match (&layout, Layout::of_header(line)) {
            (None, Some(header)) => {
                layout = Some(header.map_err(|problem| lines.error_in_line(problem))?);
                continue;
            }
            (Some(layout), _) => layout,
            (None, None) => layout.insert(Layout { size: 0, cdf: 1, columns: 2 }),
        };
        let row = at.row(line, lines.number()).map_err(|problem| lines.error_in_line(problem))?;
        if rows.len() == MAX_POINTS {
            return Err(lines.error_in_line(Problem::TooManyRows { limit: MAX_POINTS }));
        }
        rows.push(row);
    }
    let Some(last) = rows.last() else {
        return Err(lines.error_in_file(Problem::Empty { expected: COLUMNS.join(",") }));
    };
    let error_in = |row: &Row, problem| InputError { file: name.to_owned(), line: Some(row.line), problem };
    let in_percent = rows.iter().any(|row| row.is_percent) || last.value > 1.0 + SUMMATION_ERROR;
    let mut points: Vec<CdfPoint> = Vec::with_capacity(rows.len());
    for row in &rows {
        let before = points.last().copied().unwrap_or(CdfPoint { size: 0, cdf: 0.0 });
        points.push(point(row, before, in_percent).map_err(|problem| error_in(row, problem))?);
    }
    let end = points.last().map_or(0.0, |point| point.cdf);
    if end < 1.0 - SUMMATION_ERROR {
        return Err(error_in(last, Problem::CdfEndsEarly { found: last.value }));
    }
    // Set the ones at the end to exactly 1, so that no draw lies beyond them.
    points.iter_mut().filter(|point| point.cdf >= end).for_each(|point| point.cdf = 1.0);
    Ok(points)
}

/// The places of the two columns.
struct Layout {
    size: usize,
    cdf: usize,
    columns: usize,
}

impl Layout {
    /// The layout of a line that has names; none for a line of numbers.
    fn of_header(line: &str) -> Option<Result<Layout, Problem>> {
        let names = fields(line);
        if !names.iter().any(|name| name.starts_with(char::is_alphabetic)) || names[0].parse::<f64>().is_ok() {
            return None;
        }
        let place = |name: &str| names.iter().position(|other| *other == name);
        // In pandas' tables the index has no name; other columns may mean anything.
        let known = names.iter().all(|name| name.is_empty() || COLUMNS.contains(name));
        Some(match (place(COLUMNS[0]), place(COLUMNS[1])) {
            (Some(size), Some(cdf)) if known => Ok(Layout { size, cdf, columns: names.len() }),
            _ => Err(Problem::Header { found: excerpt(line), expected: COLUMNS.join(",") }),
        })
    }

    fn row(&self, line: &str, number: u64) -> Result<Row, Problem> {
        let fields = fields(line);
        if fields.len() != self.columns {
            let expected = format!("2: `{}`", COLUMNS.join(","));
            return Err(Problem::Columns { found: fields.len(), expected });
        }
        let size = whole_number(COLUMNS[0], fields[self.size], 0..=MAX_BYTES)?;
        let share = fields[self.cdf];
        let (text, is_percent) = share.strip_suffix('%').map_or((share, false), |text| (text.trim_end(), true));
        let value = text.parse().ok().filter(|value| (0.0..=100.0 * (1.0 + SUMMATION_ERROR)).contains(value));
        let value = value.ok_or_else(|| Problem::Number {
            column: COLUMNS[1].into(),
            found: excerpt(share),
            expected: "a share of the flows, from 0 to 1 or from 0 to 100 per cent".to_owned(),
        })?;
        Ok(Row { line: number, size, share: text.to_owned(), value, is_percent })
    }
}

/// The fields between commas, or else semicolons, or else blanks. A `%` with a blank before it belongs to its number.
fn fields(line: &str) -> Vec<&str> {
    for separator in [',', ';'] {
        if line.contains(separator) {
            return line.split(separator).map(str::trim).collect();
        }
    }
    let Some(numbers) = line.strip_suffix('%').map(str::trim_end) else { return line.split_whitespace().collect() };
    let (before, last) = numbers.rsplit_once(char::is_whitespace).unwrap_or(("", numbers));
    before.split_whitespace().chain([&line[numbers.len() - last.len()..]]).collect()
}

fn point(row: &Row, before: CdfPoint, in_percent: bool) -> Result<CdfPoint, Problem> {
    let (size, cdf) = (row.size, if in_percent { of_percent(row) } else { row.value }.min(1.0));
    if size < before.size {
        return Err(Problem::SizeGoesBack { before: before.size, found: size });
    }
    if cdf < before.cdf {
        return Err(Problem::CdfGoesBack { before: before.cdf, found: cdf });
    }
    if size == 0 && cdf > 0.0 {
        return Err(Problem::EmptyFlows { found: cdf });
    }
    Ok(CdfPoint { size, cdf })
}

/// A hundredth of a share, as exact as if it had been written so.
fn of_percent(row: &Row) -> f64 {
    format!("{}e-2", row.share).parse().unwrap_or(row.value / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse("sizes.csv", text).unwrap_err().fields()
    }

    #[test]
    fn parse__keeps_every_row() {
        let points = parse("f", "size_bytes,cdf\n0,0\n1e3,0.25\n1e3,0.5\n2000,1.0\n").unwrap();
        let expected = [(0, 0.0), (1000, 0.25), (1000, 0.5), (2000, 1.0)];
        assert_eq!(points, expected.map(|(size, cdf)| CdfPoint { size, cdf }));
    }

    #[test]
    fn parse__takes_any_blank_before_a_share_in_per_cent() {
        let points = |blank: &str| parse("f", &format!("10{blank}50%\n20{blank}100{blank}%\n")).unwrap();
        let expected = [(10, 0.5), (20, 1.0)].map(|(size, cdf)| CdfPoint { size, cdf });
        for blank in [" ", "\t ", "\u{a0}", "\u{3000}"] {
            assert_eq!(points(blank), expected, "{blank:?}");
        }
    }

    #[test]
    fn parse__ends_at_one_exactly() {
        for end in ["0.9999999999", "1.0000000001", "1"] {
            let points = parse("f", &format!("10,0.5\n20,{end}\n30,{end}")).unwrap();
            assert_eq!([points[1].cdf, points[2].cdf], [1.0, 1.0], "{end}");
        }
    }

    #[test]
    fn parse__refuses_a_cdf_that_does_not_rise_to_one() {
        let expected = "sizes.csv:3 ends-early cdf";
        assert_eq!(refused("10,0\n\n20,0.9\n# the end\n"), expected);
    }

    #[test]
    fn parse__refuses_what_goes_back() {
        let size = "sizes.csv:2 falls size_bytes";
        assert_eq!(refused("20,0.5\n10,1\n"), size);
        let cdf = "sizes.csv:3 falls cdf";
        assert_eq!(refused("10,0\r\n20,0.5\r\n30,0.4\r\n40,1\r\n"), cdf);
    }

    #[test]
    fn parse__refuses_impossible_numbers() {
        assert_eq!(refused("-5,1"), "sizes.csv:1 value size_bytes");
        assert_eq!(refused("5.5,1"), "sizes.csv:1 value size_bytes");
        assert_eq!(refused("1e99,1"), "sizes.csv:1 value size_bytes");
        assert_eq!(refused("5,1.1"), "sizes.csv:1 ends-early cdf");
        assert_eq!(refused("5,-0.1"), "sizes.csv:1 value cdf");
        assert_eq!(refused("5,NaN"), "sizes.csv:1 value cdf");
        assert_eq!(refused("5,"), "sizes.csv:1 value cdf");
    }

    #[test]
    fn parse__takes_blanks_semicolons_and_per_cent() {
        let expected = parse("f", "0,0\n1000,0.2\n5000,0.5625\n20000,1\n").unwrap();
        for text in [
            "0 0\n1000 0.2\n5000 0.5625\n20000 1\n",
            "0   0\r\n\r\n# x\r\n1000\t0.2\r\n5000   0.5625\r\n20000 1\r\n",
            "0;0\n1000; 0.2\n5000;0.5625\n20000;1\n",
            "0 0\n1000 20\n5000 56.25\n20000 100\n",
            "0,0%\n1000,20 %\n5000,56.25%\n20000,100%\n",
            "0 0 %\n1000 20%\n5000 56.25  %\n20000 100%\n",
            "size_bytes cdf\n0 0\n1000 0.2\n5000 0.5625\n20000 1\n",
            "cdf,size_bytes\n0,0\n0.2,1000\n0.5625,5000\n1,20000\n",
            ",size_bytes,cdf\n0,0,0\n1,1000,0.2\n2,5000,0.5625\n3,20000,1\n",
        ] {
            assert_eq!(parse("f", text).unwrap(), expected, "{text:?}");
        }
        // Per cent that begin below 1: the last row tells.
        let shares = |text| parse("f", text).unwrap().iter().map(|point| point.cdf).collect::<Vec<_>>();
        assert_eq!(shares("10 0.5\n20 1\n30 100"), [0.005, 0.01, 1.0]);
        assert_eq!(shares("10 1e1\n30 100"), [0.1, 1.0]);
        // As exact as the fraction would be.
        assert_eq!(shares("10 12.34\n20 56.789\n30 100"), [0.1234, 0.56789, 1.0]);
    }

    #[test]
    fn parse__refuses_other_separations() {
        for (text, line) in [
            ("10,0.5,1", 1),
            ("10 KB,1", 1),
            ("1000", 1),
            ("10 0.5\n20 0.7 1", 2),
            ("10,nan%", 1),
            ("10,150%", 1),
            ("10,-5%", 1),
        ] {
            assert_eq!(parse("f", text).unwrap_err().line, Some(line), "{text}");
        }
        for header in ["size,cdf", "size_bytes,cdf,note", "cdf"] {
            let refused = parse("f", &format!("{header}\n10,1\n")).unwrap_err();
            assert!(matches!(refused.problem, Problem::Header { .. }), "{header}: {refused}");
        }
    }

    #[test]
    fn parse__refuses_flows_without_a_byte() {
        let expected = "sizes.csv:1 empty-flows";
        assert_eq!(refused("0,0.5\n10,1"), expected);
    }

    #[test]
    fn parse__refuses_garbage_with_a_short_excerpt() {
        assert_eq!(refused(""), "sizes.csv empty");
        assert_eq!(refused("\0,1"), "sizes.csv:1 value size_bytes");
        assert!(parse("sizes.csv", &"x".repeat(5_000)).unwrap_err().to_string().len() < 200);
    }
}
