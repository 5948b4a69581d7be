//! Lists of flows as CSV: replay of recorded or generated traffic, and its export.
//!
//! A row is `start_s,src,dst,bytes[,deadline_s][,coflow]`: decimal seconds since the start of the run (kept to the
//! picosecond), sending and receiving host from 0, payload; and, where the list has them, how many seconds after its
//! start the flow should have finished, and the number of its coflow. An empty field of these two is a flow without.
//! Rows may stand in any order; flows that start together keep theirs. The header is optional and may name the last two
//! columns in any order, `#` starts a comment line.
//!
//! Left out: a flow's class, which a list does not carry; flows that are read have class 0.

use crate::error::{InputError, Problem, excerpt};
use crate::rows::{Columns, Rows, whole_number};
use crate::seconds::{self, format_ps, parse_ps};
use crate::{Flow, MAX_BYTES};
use std::io::{self, BufRead, Write};
use std::num::NonZeroU64;

const COLUMNS: Columns = Columns { required: &["start_s", "src", "dst", "bytes"], optional: &["deadline_s", "coflow"] };

/// Flows that a list may have; they are kept in memory, 2.4 GB at most.
pub const MAX_FLOWS: usize = 50_000_000;

/// The flows of `text` in the order of their starts, for a fabric of `hosts`; errors call the text `name`.
pub fn parse(name: &str, text: &str, hosts: u32) -> Result<Vec<Flow>, InputError> {
    read(name, text.as_bytes(), hosts)
}

/// As [`parse`], from a file that is read line by line.
pub fn read(name: &str, reader: impl BufRead, hosts: u32) -> Result<Vec<Flow>, InputError> {
    let mut rows = Rows::new(name, reader, COLUMNS, MAX_FLOWS);
    let mut flows = Vec::new();
    while let Some(row) = rows.next()? {
        flows.push(flow(row.fields(), hosts).map_err(|problem| rows.error_in_row(problem))?);
    }
    // Most lists are in order, and sorting takes memory of its own.
    if !flows.is_sorted_by_key(|flow| flow.start_ps) {
        flows.sort_by_key(|flow| flow.start_ps);
    }
    flows.iter_mut().zip(0..).for_each(|(flow, id)| flow.id = id);
    Ok(flows)
}

/// Which of the optional columns a list is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `deadline_s`.
    pub deadlines: bool,
    /// `coflow`.
    pub coflows: bool,
}

impl Extras {
    /// Those that any of the flows needs.
    pub fn of(flows: &[Flow]) -> Extras {
        Extras {
            deadlines: flows.iter().any(|flow| flow.deadline_ps.is_some()),
            coflows: flows.iter().any(|flow| flow.coflow.is_some()),
        }
    }
}

/// Writes `flows` with a header, so that [`read`] gives them back; what has no column among `extras` is left out.
pub fn write(out: &mut impl Write, extras: Extras, flows: impl IntoIterator<Item = Flow>) -> io::Result<()> {
    let given = [(extras.deadlines, "deadline_s"), (extras.coflows, "coflow")];
    let names = given.iter().filter(|(given, _)| *given).map(|(_, name)| format!(",{name}"));
    writeln!(out, "{}{}", COLUMNS.required.join(","), names.collect::<String>())?;
    for flow in flows {
        write!(out, "{},{},{},{}", format_ps(flow.start_ps), flow.src, flow.dst, flow.bytes)?;
        if extras.deadlines {
            write!(out, ",{}", flow.deadline_ps.map(|ps| format_ps(ps.get())).unwrap_or_default())?;
        }
        if extras.coflows {
            write!(out, ",{}", flow.coflow.map(|coflow| coflow.to_string()).unwrap_or_default())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The flow of a row, with its id still to be given.
fn flow([start, src, dst, bytes, deadline, coflow]: [&str; 6], hosts: u32) -> Result<Flow, Problem> {
    let start_ps = seconds::start(start)?;
    let host =
        |column, field| whole_number(column, field, 0..=u64::from(hosts.saturating_sub(1))).map(|host| host as u32);
    let (src, dst) = (host("src", src)?, host("dst", dst)?);
    if src == dst {
        return Err(Problem::SameHost { host: src });
    }
    let bytes = whole_number("bytes", bytes, 1..=MAX_BYTES)?;
    let deadline_ps = match deadline {
        "" => None,
        field => Some(parse_ps(field).and_then(NonZeroU64::new).ok_or_else(|| Problem::Number {
            column: "deadline_s",
            found: excerpt(field),
            expected: "nothing, or decimal seconds above 0 and up to 18446744 (213 days)".to_string(),
        })?),
    };
    let coflow = match coflow {
        "" => None,
        field => Some(whole_number("coflow", field, 0..=u64::from(u32::MAX))? as u32),
    };
    Ok(Flow { id: 0, start_ps, src, dst, bytes, class: 0, deadline_ps, coflow })
}

/// The sizes of a list of flows, as a distribution.
#[derive(Clone, Debug)]
pub struct ListedSizes {
    /// In bytes, ascending.
    sorted: Vec<u64>,
}

impl ListedSizes {
    /// The sizes of these flows, 8 bytes each.
    pub fn of(flows: &[Flow]) -> ListedSizes {
        let mut sorted: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        sorted.sort_unstable();
        ListedSizes { sorted }
    }

    /// The smallest size, in bytes, that a share `p` (taken into 0 to 1) of the flows do not exceed; none without flows.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let at_least = (p.clamp(0.0, 1.0) * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(at_least.max(1) - 1).copied()
    }
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
        write(&mut out, Extras::of(flows), flows.iter().copied()).unwrap();
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
    fn read__takes_deadlines_and_coflows_where_there_are_some() {
        let facts = |text: &str| -> Vec<(Option<u64>, Option<u32>)> {
            let flows = parse("f", text, 4).unwrap();
            flows.iter().map(|flow| (flow.deadline_ps.map(NonZeroU64::get), flow.coflow)).collect()
        };
        assert_eq!(facts("0,0,1,1\n"), [(None, None)]);
        assert_eq!(facts("0,0,1,1,2e-6\n0,0,1,1,\n"), [(Some(2_000_000), None), (None, None)]);
        assert_eq!(
            facts("0,0,1,1,,7\r\n0,0,1,1,1,4294967295\r\n"),
            [(None, Some(7)), (Some(1_000_000_000_000), Some(u32::MAX))]
        );
        assert_eq!(facts("start_s,src,dst,bytes,coflow\n0,0,1,1,0\n"), [(None, Some(0))]);
        assert_eq!(facts("start_s,src,dst,bytes,coflow,deadline_s\n0,0,1,1,3,1e-12\n"), [(Some(1), Some(3))]);
    }

    #[test]
    fn read__refuses_impossible_deadlines_and_coflows() {
        let deadline = "expected nothing, or decimal seconds above 0 and up to 18446744 (213 days)";
        for field in ["0", "-1", "1ms", "1e-13"] {
            assert_eq!(
                refused(&format!("0,0,1,1,{field}")),
                format!("flows.csv:1: deadline_s is `{field}`; {deadline}")
            );
        }
        let coflow = "flows.csv:1: coflow is `-1`; expected a whole number from 0 to 4294967295";
        assert_eq!(refused("0,0,1,1,,-1"), coflow);
    }

    #[test]
    fn write__leaves_out_columns_that_nobody_needs() {
        let text = "start_s,src,dst,bytes,deadline_s,coflow\n0,0,1,1460,0.002,\n1.5,3,2,9,,12\n";
        assert_eq!(written(&parse("f", text, 4).unwrap()), text);
        let coflows = "start_s,src,dst,bytes,coflow\n0,0,1,1460,5\n";
        assert_eq!(written(&parse("f", coflows, 4).unwrap()), coflows);
    }

    #[test]
    fn quantile__of_a_list_is_one_of_its_sizes() {
        let flows = parse("f", "0,0,1,30\n0,0,1,10\n0,0,1,20\n0,0,1,20\n", 4).unwrap();
        let sizes = ListedSizes::of(&flows);
        let quantiles = [-1.0, 0.0, 0.25, 0.26, 0.75, 0.76, 1.0, 2.0].map(|p| sizes.quantile(p).unwrap());
        assert_eq!(quantiles, [10, 10, 10, 20, 20, 30, 30, 30]);
        assert_eq!(ListedSizes::of(&[]).quantile(0.5), None);
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
        let columns = "`start_s,src,dst,bytes[,deadline_s][,coflow]`";
        assert_eq!(refused(""), format!("flows.csv: no rows; expected at least one row {columns}"));
        assert_eq!(refused("0,0,1"), format!("flows.csv:1: columns: 3; expected 4 to 6: {columns}"));
        assert_eq!(refused("0,0,1,1\n0,0,1,1,"), "flows.csv:2: columns: 5; expected 4: `start_s,src,dst,bytes`");
        assert!(refused("size_bytes,cdf\n1,1").contains("is not the header of this kind of file"));
    }

    #[test]
    fn write__tells_that_the_disk_is_full() {
        let mut full: &mut [u8] = &mut [0; 30];
        let flows = parse("f", "0,0,1,1\n1,0,1,1", 2).unwrap();
        assert_eq!(write(&mut full, Extras::default(), flows).unwrap_err().kind(), io::ErrorKind::WriteZero);
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
            mut rows in prop::collection::vec((any::<u64>(), 0u32..1_000, 1u32..1_000, 1..=MAX_BYTES), 1..50),
            facts in prop::collection::vec((any::<Option<NonZeroU64>>(), any::<Option<u32>>()), 50)
        ) {
            rows.sort_by_key(|row| row.0);
            let rows = rows.iter().zip(&facts).zip(0..);
            let flows: Vec<Flow> = rows.map(|((&(start_ps, src, step, bytes), &(deadline_ps, coflow)), id)| {
                Flow { id, start_ps, src, dst: (src + step) % 1_000, bytes, class: 0, deadline_ps, coflow }
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
