//! The two public formats.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::{CoflowTrace, TracedCoflow, TracedFlow};
use crate::error::{InputError, Problem, excerpt};
use crate::flow_list::MAX_FLOWS;
use crate::lines::Lines;
use crate::rows::whole_number;
use crate::{MAX_BYTES, MAX_COFLOW};

/// Bytes of a line: the widest coflow of the Facebook trace would take 300,000 in Sincronia's format.
const MAX_LINE_BYTES: usize = 4_000_000;

/// Ports of a trace: as many as a fabric may have hosts.
const MAX_PORTS: u64 = 65_536;

/// Coflows of a trace.
const MAX_COFLOWS: u64 = 10_000_000;

/// Milliseconds up to which arrivals are read: 200 days, after which a run's clock would end.
const MAX_ARRIVAL_MS: u64 = 17_280_000_000;

const MB: f64 = 1_048_576.0;
const PS_PER_MS: u64 = 1_000_000_000;

/// How to take the sizes and arrivals of the first format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Like {
    /// As they stand.
    #[default]
    Trace,
    /// As CoflowSim takes them, to compare results with its own: a reducer's MB are rounded up to a multiple of its mappers;
    /// milliseconds count as 1/1,024 s; and a coflow starts with the step of 10 s before its arrival.
    CoflowSim,
}

/// The steps of CoflowSim, in 1/1,024 s.
const STEP: u64 = 10_240;

const EXPECTED: &str = "id arrival_ms ...";

/// The coflows of `reader`, which errors call `file`.
pub fn read(file: &str, reader: impl BufRead, like: Like) -> Result<CoflowTrace, InputError> {
    let mut lines = Lines::with_limit(file, reader, MAX_LINE_BYTES);
    let expected = || "ports coflows".to_owned();
    if !lines.advance(expected)? {
        return Err(lines.error_in_file(Problem::Empty { expected: expected() }));
    }
    let (ports, promised) = header(lines.text()?).map_err(|problem| lines.error_in_line(problem))?;
    let mut trace = CoflowTrace { ports: ports as u32, coflows: Vec::new() };
    let mut ids = BTreeSet::new();
    let (mut room, mut bytes) = (MAX_FLOWS, 0u64);
    let mut benchmark = None;
    while lines.advance(|| EXPECTED.to_owned())? {
        let text = lines.text()?;
        let refused = |problem| lines.error_in_line(problem);
        let by_reducer = *benchmark.get_or_insert_with(|| text.contains(':'));
        let mut fields = Fields { fields: text.split_ascii_whitespace(), ports, room };
        let coflow = fields.coflow(by_reducer, like).map_err(refused)?;
        if !ids.insert(coflow.id) {
            return Err(refused(Problem::RepeatedId { id: coflow.id }));
        }
        room -= coflow.flows.len();
        for flow in &coflow.flows {
            bytes = bytes.checked_add(flow.bytes).ok_or_else(|| refused(Problem::TooManyBytes))?;
        }
        trace.coflows.push(coflow);
        if trace.coflows.len() as u64 > promised {
            return Err(refused(Problem::Promised { what: "coflows", promised, found: trace.coflows.len() as u64 }));
        }
    }
    let found = trace.coflows.len() as u64;
    if found < promised {
        return Err(lines.error_in_file(Problem::Promised { what: "coflows", promised, found }));
    }
    trace.coflows.sort_by_key(|coflow| coflow.arrival_ps);
    Ok(trace)
}

fn header(text: &str) -> Result<(u64, u64), Problem> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let [ports, coflows] = fields[..] else {
        return Err(Problem::Columns { found: fields.len(), expected: "2: `ports coflows`".to_owned() });
    };
    Ok((whole_number("ports", ports, 1..=MAX_PORTS)?, whole_number("coflows", coflows, 1..=MAX_COFLOWS)?))
}

/// The fields of a line, one after the other.
struct Fields<'a> {
    fields: std::str::SplitAsciiWhitespace<'a>,
    ports: u64,
    /// The number of flows that may follow those of the lines before.
    room: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, Problem> {
        self.fields.next().ok_or(Problem::LineEnds { what })
    }

    fn number(&mut self, what: &'static str, most: u64) -> Result<u64, Problem> {
        whole_number(what, self.next(what)?, 0..=most)
    }

    fn port(&self, what: &'static str, field: &str) -> Result<u32, Problem> {
        Ok(whole_number(what, field, 0..=self.ports - 1)? as u32)
    }

    /// Refuses a line with more flows than there is room for, before they take memory.
    fn fit(&self, flows: u64) -> Result<(), Problem> {
        if flows > self.room as u64 { Err(Problem::TooManyFlows { limit: MAX_FLOWS }) } else { Ok(()) }
    }

    fn coflow(&mut self, by_reducer: bool, like: Like) -> Result<TracedCoflow, Problem> {
        let id = self.number("id", MAX_COFLOW.into())? as u32;
        let arrival = self.number("arrival_ms", MAX_ARRIVAL_MS)?;
        let arrival_ps = match like {
            Like::Trace => arrival * PS_PER_MS,
            // A second is 10^12 ps.
            Like::CoflowSim => {
                (u128::from(arrival.div_ceil(STEP).saturating_sub(1) * STEP) * 1_000_000_000_000 / 1_024) as u64
            }
        };
        let flows = if by_reducer { self.by_reducer(like)? } else { self.by_flow()? };
        match self.fields.next() {
            None => Ok(TracedCoflow { id, arrival_ps, flows }),
            Some(field) => Err(Problem::LineGoesOn { field: excerpt(field) }),
        }
    }

    /// `M port… R port:MB…`.
    fn by_reducer(&mut self, like: Like) -> Result<Vec<TracedFlow>, Problem> {
        let mappers = self.number("the number of mappers", self.ports)?;
        let (mut mapped, mut sources) = (BTreeSet::new(), Vec::new());
        for _ in 0..mappers {
            let field = self.next("a mapper")?;
            let port = self.port("a mapper", field)?;
            once(&mut mapped, port, "mapper")?;
            sources.push(port);
        }
        let reducers = self.number("the number of reducers", self.ports)?;
        self.fit(mappers * reducers)?;
        let (mut sinks, mut flows) = (BTreeSet::new(), Vec::new());
        for _ in 0..reducers {
            let field = self.next("a reducer")?;
            let (port, size) = field.split_once(':').ok_or_else(|| Problem::Number {
                column: "a reducer".into(),
                found: excerpt(field),
                expected: "port:MB".to_owned(),
            })?;
            let dst = self.port("a reducer", port)?;
            once(&mut sinks, dst, "reducer")?;
            let bytes = megabytes(size)?;
            let parts = sources.len() as u64;
            if parts == 0 {
                break;
            }
            let (each, rest) = match like {
                Like::Trace => (bytes / parts, bytes % parts),
                // Whole MB of each mapper.
                Like::CoflowSim => (bytes.div_ceil(parts << 20) << 20, 0),
            };
            for (nth, &src) in (0..).zip(&sources) {
                let bytes = each + u64::from(nth < rest);
                if bytes > 0 {
                    flows.push(TracedFlow { src, dst, bytes });
                }
            }
        }
        if flows.is_empty() { Err(Problem::NoFlows) } else { Ok(flows) }
    }

    /// `flows sources sinks (source sink MB)…`.
    fn by_flow(&mut self) -> Result<Vec<TracedFlow>, Problem> {
        let promised = self.number("the number of flows", MAX_FLOWS as u64)?;
        self.fit(promised)?;
        // In the published traces flows have other sources and sinks than these two numbers say, so they are ignored.
        self.number("the number of sources", self.ports)?;
        self.number("the number of sinks", self.ports)?;
        let mut flows = Vec::new();
        for _ in 0..promised {
            let (src, dst, size) = (self.next("a source")?, self.next("a sink")?, self.next("a size")?);
            let [src, dst] = [self.port("a source", src)?, self.port("a sink", dst)?];
            flows.push(TracedFlow { src, dst, bytes: megabytes(size)? });
        }
        if flows.is_empty() { Err(Problem::NoFlows) } else { Ok(flows) }
    }
}

fn once(before: &mut BTreeSet<u32>, port: u32, what: &'static str) -> Result<(), Problem> {
    if before.insert(port) { Ok(()) } else { Err(Problem::PortTwice { port, what }) }
}

/// The bytes of a decimal number of MB.
fn megabytes(field: &str) -> Result<u64, Problem> {
    let bytes = field.parse::<f64>().ok().map(|size| (size * MB).round());
    let accepted = bytes.filter(|bytes| (1.0..=MAX_BYTES as f64).contains(bytes));
    accepted.map(|bytes| bytes as u64).ok_or_else(|| Problem::Number {
        column: "MB".into(),
        found: excerpt(field),
        expected: "a size above 0, at most 10^15 bytes".to_owned(),
    })
}
