//! The points of a distribution function, as they stand in a file.
//!
//! A row `size_bytes,cdf` says which share of the flows has at most that size. Sizes and shares never fall from row to
//! row and the last share is 1. Two rows with the same size are a point mass there; a first row above 0 is a point mass
//! at its size.

use crate::MAX_BYTES;
use crate::error::{InputError, Problem, excerpt};
use crate::rows::{Columns, Rows, whole_number};

const COLUMNS: Columns = Columns::all(&["size_bytes", "cdf"]);

/// Rows that a file may have; the finest published distribution has 843.
const MAX_POINTS: usize = 1_000_000;

/// How far from 1 the last value may be: whoever adds up shares in floating point ends a little beside it.
const SUMMATION_ERROR: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CdfPoint {
    /// In bytes.
    pub(crate) size: u64,
    /// Share of the flows up to this size, 0 to 1.
    pub(crate) cdf: f64,
}

/// The points of `text`, which errors call `name`; at least one, and the last has cdf 1.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<CdfPoint>, InputError> {
    let mut rows = Rows::new(name, text.as_bytes(), COLUMNS, MAX_POINTS);
    let mut points = Vec::new();
    let mut before = CdfPoint { size: 0, cdf: 0.0 };
    loop {
        before = match rows.next() {
            Ok(None) => break,
            Ok(Some(row)) => {
                let point = point(row.fields(), before);
                point.map_err(|problem| rows.error_in_row(with_nearest(problem, rows.line())))?
            }
            Err(InputError { file, line, problem: problem @ Problem::Columns { .. } }) => {
                return Err(InputError { file, line, problem: with_nearest(problem, rows.line()) });
            }
            Err(error) => return Err(error),
        };
        points.push(before);
    }
    if before.cdf < 1.0 - SUMMATION_ERROR {
        return Err(rows.error_in_row(Problem::CdfEndsEarly { found: before.cdf }));
    }
    // The ones at the end are now exact, so that no draw falls behind them.
    points.iter_mut().filter(|point| point.cdf >= before.cdf).for_each(|point| point.cdf = 1.0);
    Ok(points)
}

fn point([size, cdf]: [&str; 2], before: CdfPoint) -> Result<CdfPoint, Problem> {
    let size = whole_number("size_bytes", size, 0..=MAX_BYTES)?;
    let cdf = share(cdf)?;
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

/// A problem of a line, with the row that it may have meant: blanks or semicolons between its fields, percentages.
fn with_nearest(problem: Problem, line: &str) -> Problem {
    let fields: Vec<&str> = line.split([',', ';', ' ', '\t']).filter(|field| !field.is_empty()).collect();
    let (size, share, sure) = match fields[..] {
        [size, share, "%"] => (size, share, true),
        [size, share] => (size, share.trim_end_matches('%'), share.ends_with('%')),
        _ => return problem,
    };
    let (Ok(size), Ok(value)) = (whole_number("size_bytes", size, 0..=MAX_BYTES), share.parse::<f64>()) else {
        return problem;
    };
    let row = match value {
        0.0..=1.0 if !sure => format!("{size},{share}"),
        0.0..=100.0 => format!("{size},{}", of_percent(value, share)),
        _ => return problem,
    };
    // Of what is wrong with a row of the right form it says nothing.
    let is_new = row != line.replace(' ', "");
    let if_per_cent = !sure && value > 1.0;
    if is_new { Problem::Near { problem: Box::new(problem), row, if_per_cent } } else { problem }
}

/// A hundredth of a value, with the two decimals more that its text has not.
fn of_percent(value: f64, text: &str) -> String {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len()) + 2;
    let share = format!("{:.decimals$}", value / 100.0);
    share.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn share(field: &str) -> Result<f64, Problem> {
    let accepted = field.parse().ok().filter(|share| (0.0..=1.0 + SUMMATION_ERROR).contains(share));
    accepted.map(|share: f64| share.min(1.0)).ok_or_else(|| Problem::Number {
        column: "cdf".into(),
        found: excerpt(field),
        expected: "a share from 0 to 1 of the flows".to_string(),
    })
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
        assert_eq!(refused("5,1.1"), "sizes.csv:1 value cdf");
        assert_eq!(refused("5,-0.1"), "sizes.csv:1 value cdf");
        assert_eq!(refused("5,NaN"), "sizes.csv:1 value cdf");
        assert_eq!(refused("5,"), "sizes.csv:1 value cdf");
    }

    #[test]
    fn parse__names_the_nearest_row_of_other_ways_to_write_them() {
        let near = |text: &str| parse("sizes.csv", text).unwrap_err().problem.nearest_row().map(str::to_owned);
        let is = |row: &str| Some(row.to_owned());
        assert_eq!(near("1000 0.15"), is("1000,0.15"));
        assert_eq!(near("0,0\n\n1000\t;  15%\n"), is("1000,0.15"));
        assert_eq!(near("1000,50%\n"), is("1000,0.5"));
        assert_eq!(near("1e3, 1.1 %\n"), is("1000,0.011"));
        assert_eq!(near("10,100%\n"), is("10,1"));
        assert_eq!(near("0,0\n10000,0.5\n20000,20\n"), is("20000,0.2"));
        assert_eq!(near("0 0\n"), is("0,0"));
        for without in ["1000,0.5\n900,1", "10,150%", "10,0.5,1", "10 KB,1", "0,0.5\n1,1", "10,-5%", "1000", "10,nan%"]
        {
            assert_eq!(near(without), None, "{without}");
        }
        let whole = "sizes.csv:2 columns";
        assert_eq!(refused("# of a script\n1000 15%"), whole);
        // Blanks around values and between lines are none of these.
        assert_eq!(parse("f", " 10 , 0.5 \n\n\t20 ,1\n").unwrap().len(), 2);
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
