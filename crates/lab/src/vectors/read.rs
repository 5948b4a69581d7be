//! Reads vectors, which anybody may have written: line by line, with limits, and nothing is taken that contradicts what
//! stands above.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};

use super::{Arrive, FORMAT, Leave, Line, VERSION};
use flowsieve_core::NONE;
use flowsieve_core::scheduler::{MAX_QUEUES, MOST_VICTIMS};

/// What a file may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Packets that wait at once.
    pub waiting: usize,
}

/// The limits of a reader: a line of 256 victims and as many random numbers fits, and so do a million packets that wait.
pub const LIMITS: Limits = Limits { line_bytes: 1 << 18, waiting: 1 << 20 };

/// Why vectors cannot be read, and in which line.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct VectorError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is too long.
    #[error("is longer than {} bytes", LIMITS.line_bytes)]
    TooLong,
    /// It is no line of this format.
    #[error("is not a line of vectors: {0}")]
    Malformed(serde_json::Error),
    /// A case begins with another format or version.
    #[error("begins `{format}` of version {version}; expected `{FORMAT}` of version {VERSION}")]
    OtherFormat {
        /// The format.
        format: String,
        /// The version.
        version: u32,
    },
    /// It stands before the first case.
    #[error("stands before the first line that begins a case")]
    BeforeBegin,
    /// A port has no queue, or too many.
    #[error("begins a port of {0} queues; expected 1 to {MAX_QUEUES}")]
    Queues(u16),
    /// A line without a rate.
    #[error("begins a port whose line has no rate")]
    Rate,
    /// The clock goes back.
    #[error("is at {at} ps, before the line above at {before} ps")]
    Back {
        /// Its instant.
        at: u64,
        /// The instant of the line above.
        before: u64,
    },
    /// An arriving packet has another number than the next.
    #[error("has packet {found} arrive; expected {expected}, the next")]
    Number {
        /// Its number.
        found: u32,
        /// The next number.
        expected: u32,
    },
    /// A packet that does not wait leaves or makes room.
    #[error("names packet {0}, which does not wait")]
    NotWaiting(u32),
    /// It names a queue that the port does not have.
    #[error("names queue {queue} of a port of {queues}")]
    NoQueue {
        /// The queue.
        queue: u8,
        /// How many there are.
        queues: u16,
    },
    /// A packet has no bytes, or no coflow can have its number.
    #[error("has a packet of {len} bytes of coflow {coflow:?}")]
    Packet {
        /// Its length.
        len: u16,
        /// Its coflow.
        coflow: Option<u32>,
    },
    /// More packets wait than a reader remembers.
    #[error("has more than {} packets wait", LIMITS.waiting)]
    TooManyWait,
    /// More packets make room than one can displace.
    #[error("has {0} packets make room; at most {MOST_VICTIMS} can")]
    Victims(usize),
}

/// Reads vectors line by line. After an error it returns no more lines.
pub struct Reader<R> {
    from: R,
    line: u64,
    text: Vec<u8>,
    case: Option<State>,
    failed: bool,
}

/// The case that is being read.
struct State {
    queues: u16,
    at: u64,
    next: u32,
    waiting: BTreeSet<u32>,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the first line on.
    pub fn new(from: R) -> Reader<R> {
        Reader { from, line: 0, text: Vec::new(), case: None, failed: false }
    }

    /// Returns the number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    fn read(&mut self) -> Result<Option<Line>, Problem> {
        loop {
            self.text.clear();
            let most = LIMITS.line_bytes + 1;
            let taken = self.from.by_ref().take(most).read_until(b'\n', &mut self.text).map_err(Problem::Unreadable)?;
            if taken == 0 {
                return Ok(None);
            }
            self.line += 1;
            if taken as u64 == most {
                return Err(Problem::TooLong);
            }
            if !self.text.trim_ascii().is_empty() {
                break;
            }
        }
        let line: Line = serde_json::from_slice(&self.text).map_err(Problem::Malformed)?;
        self.check(&line)?;
        Ok(Some(line))
    }

    fn check(&mut self, line: &Line) -> Result<(), Problem> {
        if let Line::Begin(begin) = line {
            if begin.format != FORMAT || begin.version != VERSION {
                return Err(Problem::OtherFormat { format: begin.format.clone(), version: begin.version });
            }
            if begin.queues == 0 || usize::from(begin.queues) > MAX_QUEUES {
                return Err(Problem::Queues(begin.queues));
            }
            if begin.rate_bps == 0 {
                return Err(Problem::Rate);
            }
            self.case = Some(State { queues: begin.queues, at: 0, next: 0, waiting: BTreeSet::new() });
            return Ok(());
        }
        let case = self.case.as_mut().ok_or(Problem::BeforeBegin)?;
        let at = line.at().unwrap_or(case.at);
        if at < case.at {
            return Err(Problem::Back { at, before: case.at });
        }
        case.at = at;
        match line {
            Line::Arrive(arrive) => case.arrive(arrive),
            Line::Leave(Leave { packet, queue, .. }) => case.goes(*packet, *queue),
            Line::Begin(_) | Line::Parameters(_) | Line::Table(_) => Ok(()),
        }
    }
}

impl State {
    fn arrive(&mut self, arrive: &Arrive) -> Result<(), Problem> {
        if arrive.packet != self.next {
            return Err(Problem::Number { found: arrive.packet, expected: self.next });
        }
        if arrive.len == 0 || arrive.coflow == Some(NONE) {
            return Err(Problem::Packet { len: arrive.len, coflow: arrive.coflow });
        }
        self.has(arrive.queue)?;
        if arrive.victims.len() > MOST_VICTIMS {
            return Err(Problem::Victims(arrive.victims.len()));
        }
        for victim in &arrive.victims {
            self.goes(victim.packet, victim.queue)?;
        }
        self.next = self.next.saturating_add(1);
        if arrive.queued {
            self.waiting.insert(arrive.packet);
        }
        if self.waiting.len() > LIMITS.waiting { Err(Problem::TooManyWait) } else { Ok(()) }
    }

    fn goes(&mut self, packet: u32, queue: u8) -> Result<(), Problem> {
        self.has(queue)?;
        if self.waiting.remove(&packet) { Ok(()) } else { Err(Problem::NotWaiting(packet)) }
    }

    fn has(&self, queue: u8) -> Result<(), Problem> {
        let queues = self.queues;
        if u16::from(queue) < queues { Ok(()) } else { Err(Problem::NoQueue { queue, queues }) }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, VectorError>;

    fn next(&mut self) -> Option<Result<Line, VectorError>> {
        if self.failed {
            return None;
        }
        let line = self.read().transpose()?;
        self.failed = line.is_err();
        Some(line.map_err(|problem| VectorError { line: self.line, problem }))
    }
}
