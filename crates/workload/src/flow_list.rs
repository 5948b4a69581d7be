//! Lists of flows as CSV: replay of recorded or generated traffic, and its export.
//!
//! A row is `start_s,src,dst,bytes`: decimal seconds since the start of the run (kept to the picosecond), sending and
//! receiving host from 0, payload. Rows may stand in any order; flows that start together keep theirs. The header is
//! optional, `#` starts a comment line.
//!
//! Left out: a flow's class, which a list does not carry; flows that are read have class 0.

use crate::error::{InputError, Problem, excerpt};
use crate::rows::{Rows, whole_number};
use crate::seconds::{format_ps, parse_ps};
use crate::{Flow, MAX_BYTES};
use std::io::{self, BufRead, Write};

const COLUMNS: &str = "start_s,src,dst,bytes";

/// Flows that a list may have; they are kept in memory, 1.6 GB at most.
pub const MAX_FLOWS: usize = 50_000_000;

/// The flows of `text` in the order of their starts, for a fabric of `hosts`; errors call the text `name`.
pub fn parse(name: &str, text: &str, hosts: u32) -> Result<Vec<Flow>, InputError> {
    read(name, text.as_bytes(), hosts)
}

/// As [`parse`], from a file that is read line by line.
pub fn read(name: &str, reader: impl BufRead, hosts: u32) -> Result<Vec<Flow>, InputError> {
    let mut rows = Rows::new(name, reader, COLUMNS, MAX_FLOWS);
    let mut flows = Vec::new();
    while let Some(fields) = rows.next()? {
        flows.push(flow(fields, hosts).map_err(|problem| rows.error_in_row(problem))?);
    }
    flows.sort_by_key(|flow| flow.start_ps);
    flows.iter_mut().zip(0..).for_each(|(flow, id)| flow.id = id);
    Ok(flows)
}

/// Writes `flows` with a header, so that [`read`] gives them back.
pub fn write(out: &mut impl Write, flows: impl IntoIterator<Item = Flow>) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    flows
        .into_iter()
        .try_for_each(|flow| writeln!(out, "{},{},{},{}", format_ps(flow.start_ps), flow.src, flow.dst, flow.bytes))
}

/// The flow of a row, with its id still to be given.
fn flow([start, src, dst, bytes]: [&str; 4], hosts: u32) -> Result<Flow, Problem> {
    let start_ps = parse_ps(start).ok_or_else(|| Problem::Number {
        column: "start_s",
        found: excerpt(start),
        expected: "decimal seconds from 0 to 18446744 (213 days)".to_string(),
    })?;
    let host =
        |column, field| whole_number(column, field, 0..=u64::from(hosts.saturating_sub(1))).map(|host| host as u32);
    let (src, dst) = (host("src", src)?, host("dst", dst)?);
    if src == dst {
        return Err(Problem::SameHost { host: src });
    }
    let bytes = whole_number("bytes", bytes, 1..=MAX_BYTES)?;
    Ok(Flow { id: 0, start_ps, src, dst, bytes, class: 0, deadline_ps: None, coflow: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        parse("flows.csv", text, 4).unwrap_err().to_string()
    }

    fn written(flows: &[Flow]) -> String {
        let mut out = Vec::new();
        write(&mut out, flows.iter().copied()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn read__sorts_by_start_and_keeps_the_order_of_equal_starts() {
        let flows =
            parse("f", "start_s,src,dst,bytes\r\n2e-6,0,1,30\r\n0.000001,2,3,10\r\n0.000002,1,0,20\r\n", 4).unwrap();
        let flow = |id, start_ps, src, dst, bytes| Flow {
            id,
            start_ps,
            src,
            dst,
            bytes,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        let expected = [flow(0, 1_000_000, 2, 3, 10), flow(1, 2_000_000, 0, 1, 30), flow(2, 2_000_000, 1, 0, 20)];
        assert_eq!(flows, expected);
    }

    #[test]
    fn read__keeps_the_order_of_many_equal_starts() {
        let text: String = (1..=1_000).map(|bytes| format!("{},0,1,{bytes}\n", bytes % 3)).collect();
        let flows = parse("f", &text, 2).unwrap();
        let in_order = |pair: &[Flow]| (pair[0].start_ps, pair[0].bytes) < (pair[1].start_ps, pair[1].bytes);
        assert!(flows.windows(2).all(in_order));
    }

    #[test]
    fn write__is_what_a_person_would_write() {
        let flows = parse("f", "0,0,1,1460\n1.5,3,2,1e6", 4).unwrap();
        assert_eq!(written(&flows), "start_s,src,dst,bytes\n0,0,1,1460\n1.5,3,2,1000000\n");
    }

    #[test]
    fn read__refuses_unknown_hosts() {
        assert_eq!(refused("0,0,4,1"), "flows.csv:1: dst is `4`; expected a whole number from 0 to 3");
        assert_eq!(refused("0,-1,1,1"), "flows.csv:1: src is `-1`; expected a whole number from 0 to 3");
        assert_eq!(refused("0,1,1,1"), "flows.csv:1: src and dst are both 1; expected two different hosts");
        assert!(parse("f", "0,0,1,1", 0).is_err());
    }

    #[test]
    fn read__refuses_impossible_starts_and_sizes() {
        let bytes = "expected a whole number from 1 to 1000000000000000";
        assert_eq!(refused("0,0,1,5\n0,0,1,0\n"), format!("flows.csv:2: bytes is `0`; {bytes}"));
        assert_eq!(refused("0,0,1,-7"), format!("flows.csv:1: bytes is `-7`; {bytes}"));
        let start = "expected decimal seconds from 0 to 18446744 (213 days)";
        assert_eq!(refused("-1,0,1,1"), format!("flows.csv:1: start_s is `-1`; {start}"));
        assert_eq!(refused("1us,0,1,1"), format!("flows.csv:1: start_s is `1us`; {start}"));
    }

    #[test]
    fn read__refuses_other_files() {
        assert_eq!(refused(""), "flows.csv: no rows; expected at least one row `start_s,src,dst,bytes`");
        assert_eq!(refused("0,0,1"), "flows.csv:1: columns: 3; expected 4: `start_s,src,dst,bytes`");
        assert!(refused("size_bytes,cdf\n1,1").contains("is not the header of this kind of file"));
    }

    #[test]
    fn write__tells_that_the_disk_is_full() {
        let mut full: &mut [u8] = &mut [0; 30];
        let flows = parse("f", "0,0,1,1\n1,0,1,1", 2).unwrap();
        assert_eq!(write(&mut full, flows).unwrap_err().kind(), io::ErrorKind::WriteZero);
    }

    #[test]
    fn read__gives_back_what_the_generator_made() {
        let sizes = crate::builtin("data-mining").unwrap().distribution().unwrap();
        let flows: Vec<Flow> = Generator::new(sizes, 50.0, 144, 3).unwrap().take(1_000).collect();
        assert_eq!(parse("f", &written(&flows), 144).unwrap(), flows);
    }

    proptest! {
        #[test]
        fn read__gives_back_what_was_written(
            mut rows in prop::collection::vec((any::<u64>(), 0u32..1_000, 1u32..1_000, 1..=MAX_BYTES), 1..50)
        ) {
            rows.sort_by_key(|row| row.0);
            let flows: Vec<Flow> = rows.iter().zip(0..).map(|(&(start_ps, src, step, bytes), id)| {
                Flow { id, start_ps, src, dst: (src + step) % 1_000, bytes, class: 0, deadline_ps: None, coflow: None }
            }).collect();
            prop_assert_eq!(parse("f", &written(&flows), 1_000).unwrap(), flows);
        }

        #[test]
        fn parse__never_panics(
            text in "\\PC*|([0-9.e-]{0,9},[0-9]{0,2},[0-9]{0,2},[0-9e-]{0,5}\r?\n){0,5}",
            hosts: u32
        ) {
            let _ = parse("any", &text, hosts);
        }

        #[test]
        fn read__never_panics_on_bytes(bytes: Vec<u8>) {
            let _ = read("any", bytes.as_slice(), 10);
        }
    }
}
