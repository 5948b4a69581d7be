//! Weights of coflows, for orders that use them: CSV rows of `coflow,weight`.

use std::collections::BTreeMap;
use std::io::BufRead;

use crate::MAX_COFLOW;
use crate::error::{InputError, Problem, excerpt};
use crate::rows::{Columns, Rows, whole_number};

const COLUMNS: Columns = Columns::all(&["coflow", "weight"]);

const MAX_ROWS: usize = 10_000_000;

/// The weights of `reader` by coflow, each above 0 and at most 10^9; errors call it `file`.
pub fn weights(file: &str, reader: impl BufRead) -> Result<BTreeMap<u32, f64>, InputError> {
    let mut rows = Rows::new(file, reader, COLUMNS, MAX_ROWS);
    let mut weights = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let [coflow, weight] = row.fields();
        let read = whole_number("coflow", coflow, 0..=MAX_COFLOW.into()).and_then(|coflow| {
            let accepted = weight.parse::<f64>().ok().filter(|weight| *weight > 0.0 && *weight <= 1e9);
            let refused = || Problem::Number {
                column: "weight".into(),
                found: excerpt(weight),
                expected: "a number above 0 and up to 10^9".to_owned(),
            };
            let (id, weight) = (coflow as u32, accepted.ok_or_else(refused)?);
            if weights.insert(id, weight).is_some() { Err(Problem::RepeatedId { id }) } else { Ok(()) }
        });
        read.map_err(|problem| rows.error_in_row(problem))?;
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights__by_coflow() {
        let found = weights("w.csv", "coflow,weight\n7,2.5\n0,1\n".as_bytes()).unwrap();
        assert_eq!(found, BTreeMap::from([(0, 1.0), (7, 2.5)]));
    }

    #[test]
    fn weights__refused_with_the_line() {
        for (text, expected) in [
            ("1,0\n", "w.csv:1 value weight"),
            ("1,2\n1,3\n", "w.csv:2 twice"),
            ("1,inf\n", "w.csv:1 value weight"),
            ("-1,2\n", "w.csv:1 value coflow"),
            ("1,2,3\n", "w.csv:1 columns"),
            ("", "w.csv empty"),
        ] {
            let refused = weights("w.csv", text.as_bytes()).unwrap_err().fields();
            assert_eq!(refused, expected, "{text:?}");
        }
    }
}
