//! When flows arrive: the gaps between arrivals, as multiples of their mean.
//!
//! A recorded trace gives its own gaps, repeated over and over. It is read from rows of `start_s`, decimal seconds since the
//! start of the run, in any order. The time before its first start is its first gap, so it has as many gaps as starts and
//! continues after the last one as it began.
//!
//! Left out: gaps that depend on one another in any other way than in a trace.

use crate::error::{InputError, Problem};
use crate::random::{Purpose, Xoshiro256PlusPlus, stream, uniform01};
use crate::rows::{Columns, Rows};
use crate::seconds;
use std::io::BufRead;
use std::sync::Arc;

const COLUMNS: Columns = Columns::all(&["start_s"]);

/// Starts that a trace may have; they take 8 bytes each.
const MAX_STARTS: usize = 50_000_000;

/// When flows arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps: each host's flows are a Poisson process, and so are those of all hosts together.
    Poisson,
    /// Equal gaps between the arrivals of all hosts together.
    Fixed,
    /// The gaps of a trace, in its order, repeated over and over.
    Trace(Arc<Trace>),
}

/// Recorded starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// In picoseconds; at least one.
    gaps: Vec<u64>,
    mean_gap_ps: f64,
}

impl Trace {
    /// Reads rows of `start_s` (header optional, `#` starts a comment line); errors call the file `name`.
    pub fn read(name: &str, reader: impl BufRead) -> Result<Trace, InputError> {
        let mut rows = Rows::new(name, reader, COLUMNS, MAX_STARTS);
        let mut starts = Vec::new();
        while let Some(row) = rows.next()? {
            let [start] = row.fields();
            starts.push(seconds::start(start).map_err(|problem| rows.error_in_row(problem))?);
        }
        if !starts.is_sorted() {
            starts.sort_unstable();
        }
        let last = starts.last().copied().unwrap_or(0);
        if last == 0 {
            return Err(rows.error_in_row(Problem::NoTimePasses));
        }
        let mean_gap_ps = last as f64 / starts.len() as f64;
        let mut before = 0;
        starts.iter_mut().for_each(|start| (*start, before) = (*start - before, *start));
        Ok(Trace { gaps: starts, mean_gap_ps })
    }

    /// Starts per second over the length of the trace.
    pub fn rate(&self) -> f64 {
        1e12 / self.mean_gap_ps
    }

    /// Number of its starts.
    pub fn starts(&self) -> usize {
        self.gaps.len()
    }

    /// Its gaps in picoseconds; a name for its contents is computed from them.
    pub fn gaps_ps(&self) -> &[u64] {
        &self.gaps
    }
}

/// Unlimited gaps.
#[derive(Clone, Debug)]
pub(crate) enum Gaps {
    Poisson(Xoshiro256PlusPlus),
    Fixed,
    Trace { trace: Arc<Trace>, next: usize },
}

impl Gaps {
    pub(crate) fn new(arrivals: &Arrivals, seed: u64) -> Gaps {
        match arrivals {
            Arrivals::Poisson => Gaps::Poisson(stream(seed, Purpose::Arrivals, 0)),
            Arrivals::Fixed => Gaps::Fixed,
            Arrivals::Trace(trace) => Gaps::Trace { trace: Arc::clone(trace), next: 0 },
        }
    }

    /// The next gap, as a multiple of the mean gap.
    pub(crate) fn next(&mut self) -> f64 {
        match self {
            Gaps::Poisson(draws) => -libm::log(1.0 - uniform01(draws)),
            Gaps::Fixed => 1.0,
            Gaps::Trace { trace, next } => {
                let gap = trace.gaps[*next] as f64 / trace.mean_gap_ps;
                *next = (*next + 1) % trace.gaps.len();
                gap
            }
        }
    }

    /// Whether the fraction cut off a gap to make it whole picoseconds is added to the next one, so that it never adds up.
    pub(crate) fn carries(&self) -> bool {
        !matches!(self, Gaps::Poisson(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Trace, String> {
        Trace::read("starts.csv", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn trace__has_the_gaps_of_its_starts_over_and_over() {
        let trace = read("start_s\r\n3e-6\r\n1e-6\r\n4e-6\r\n").unwrap();
        assert_eq!(
            (trace.gaps_ps(), trace.starts(), trace.rate()),
            (&[1_000_000, 2_000_000, 1_000_000][..], 3, 750_000.0)
        );
        let mut gaps = Gaps::new(&Arrivals::Trace(Arc::new(trace)), 9);
        let two_rounds: Vec<f64> = (0..6).map(|_| gaps.next()).collect();
        assert_eq!(two_rounds, [0.75, 1.5, 0.75, 0.75, 1.5, 0.75]);
    }

    #[test]
    fn trace__refuses_what_is_none() {
        assert_eq!(read("start_s\n").unwrap_err(), "starts.csv: no rows; expected at least one row `start_s`");
        assert_eq!(
            read("0\n0\n").unwrap_err(),
            "starts.csv:2: no start is later than 0; expected starts at different times"
        );
        let start = "start_s is `-1`; expected decimal seconds from 0 to 18446744 (213 days)";
        assert_eq!(read("1\n-1\n").unwrap_err(), format!("starts.csv:2: {start}"));
        assert!(read("1,2\n").unwrap_err().starts_with("starts.csv:1: columns: 2; expected 1"));
    }

    proptest! {
        #[test]
        fn read__never_panics(text in "\\PC*|([0-9.e-]{0,9}\r?\n){0,5}") {
            let _ = read(&text);
        }
    }
}
