//! Lists of flows as CSV: replay of recorded or generated traffic, and its export.
//!
//! A row is `start_s,src,dst,bytes` and further columns: decimal seconds since the start of the run (kept to the picosecond),
//! sending and receiving host by number from 0 or by name, payload; then, in this order or in that of the header,
//!
//! | column | what it holds; an empty field is a flow without |
//! | --- | --- |
//! | `deadline_s` | the number of seconds after its start within which the flow should have finished |
//! | `coflow` | the number of its coflow |
//! | `class` | its class; 0 if the field is empty |
//! | `lower`, `upper` | predicted bounds of its size, in bytes; an empty one is unknown |
//! | `predicted` | its predicted size, in bytes |
//! | `feature:NAME` | a whole number that was recorded when the flow began, for predictors; never empty |
//!
//! Rows may stand in any order; flows that start together keep theirs. The header is optional if a list has no features; it may
//! name the columns in any order, and others, which are not read. `#` starts a comment line. Starts in seconds since 1970 are
//! counted from the first.

use crate::HostNames;
use crate::error::{InputError, Problem, excerpt};
use crate::prediction::{Prediction, SizeBounds};
use crate::rows::{Columns, Row, Rows, whole_number};
use crate::seconds::{self, format_ps, parse_ps};
use crate::{Flow, MAX_BYTES, MAX_COFLOW};
use std::io::{self, BufRead, Write};
use std::num::NonZeroU64;
use std::ops::RangeInclusive;

const FEATURE: &str = "feature:";

const COLUMNS: Columns = Columns {
    required: &["start_s", "src", "dst", "bytes"],
    optional: &["deadline_s", "coflow", "class", "lower", "upper", "predicted"],
    prefix: Some(FEATURE),
    others: true,
};

/// Predictions for the flows of another list; the sizes tell whether they are the same flows.
const PREDICTIONS: Columns =
    Columns { required: &["bytes"], optional: &["lower", "upper", "predicted"], prefix: None, others: true };

/// Flows that a list may have; they are kept in memory, 2.4 GB at most.
pub const MAX_FLOWS: usize = 50_000_000;

/// Numbers that the features of a list may be together: 1.6 GB.
pub(crate) const MAX_FEATURES: usize = 200_000_000;

/// Flows, and further knowledge of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowList {
    /// In the order of their starts, which is that of their numbers.
    pub flows: Vec<Flow>,
    /// By flow; empty if nothing was predicted of any.
    pub predictions: Vec<Prediction>,
    /// By flow.
    pub features: Features,
    /// The highest class of a flow, and the line of the first flow that has it.
    pub highest_class: (u8, u64),
    /// The bytes of the largest flow, and its line; if there are several, the first.
    pub largest: (u64, u64),
    /// Columns of the file that are not read.
    pub unread: Vec<String>,
    /// The first start in ps since 1970, if starts were counted from there; they are now counted from the first.
    pub epoch_ps: Option<u128>,
}

/// Whole numbers that were recorded of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Their names.
    names: Vec<String>,
    /// Flow after flow.
    values: Vec<u64>,
}

impl Features {
    /// Those of flows in the order of their numbers: `values` has one for each name, flow after flow.
    pub fn new(names: Vec<String>, values: Vec<u64>) -> Features {
        debug_assert!(values.len().checked_rem(names.len()).unwrap_or(values.len()) == 0);
        Features { names, values }
    }

    /// Adds the features of the next flow, one for each name.
    pub(crate) fn extend(&mut self, of_flow: &[u64]) {
        debug_assert_eq!(of_flow.len(), self.names.len());
        self.values.extend(of_flow);
    }

    /// Their names, without `feature:`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The features of a flow in the order of their names; none for a flow that is not in the list.
    pub fn of(&self, flow: u32) -> &[u64] {
        let from = flow as usize * self.names.len();
        self.values.get(from..from + self.names.len()).unwrap_or_default()
    }
}

/// The flows of `text`, for a fabric of `hosts`; errors call the text `name`.
pub fn parse(name: &str, text: &str, hosts: u32) -> Result<FlowList, InputError> {
    read(name, text.as_bytes(), &HostNames::numbered(hosts))
}

/// Like [`parse`], from a file that is read line by line, with these names of hosts.
pub fn read(name: &str, reader: impl BufRead, hosts: &HostNames) -> Result<FlowList, InputError> {
    let mut rows = Rows::new(name, reader, COLUMNS, MAX_FLOWS);
    let mut list = FlowList::default();
    let mut starts = Starts::Unknown;
    while let Some(row) = rows.next()? {
        let [.., lower, upper, predicted] = row.fields::<10>();
        let read = flow(&row, hosts, &mut starts)
            .and_then(|flow| Ok((flow, prediction([lower, upper, predicted])?, row.own_numbers(FEATURE)?)));
        let (flow, prediction, features) = read.map_err(|problem| rows.error_in_row(problem))?;
        // Most lists predict nothing, and then there is no table.
        if prediction != Prediction::default() || !list.predictions.is_empty() {
            list.predictions.resize(list.flows.len(), Prediction::default());
            list.predictions.push(prediction);
        }
        if list.flows.is_empty() || flow.class > list.highest_class.0 {
            list.highest_class = (flow.class, rows.row_line());
        }
        if flow.bytes > list.largest.0 {
            list.largest = (flow.bytes, rows.row_line());
        }
        list.flows.push(Flow { id: list.flows.len() as u32, ..flow });
        list.features.values.extend(features);
        if list.features.values.len() > MAX_FEATURES {
            let (rows_read, features) = (list.flows.len(), rows.own().len());
            let problem = Problem::TooManyFeatures { rows: rows_read, features, limit: MAX_FEATURES };
            return Err(rows.error_in_row(problem));
        }
    }
    list.features.names = rows.own().to_vec();
    list.unread = rows.unread().to_vec();
    list.epoch_ps = starts.count_from_first(&mut list.flows);
    // Most lists are in order, and sorting takes memory of its own.
    if !list.flows.is_sorted_by_key(|flow| flow.start_ps) {
        list.sort();
    }
    Ok(list)
}

/// The sizes and the predictions of a file's flows, in its order: of a flow list, or with these columns alone.
pub fn predictions(name: &str, reader: impl BufRead) -> Result<Vec<(u64, Prediction)>, InputError> {
    let mut rows = Rows::new(name, reader, PREDICTIONS, MAX_FLOWS);
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let [bytes, predicted @ ..] = row.fields::<4>();
        let of_row = whole_number("bytes", bytes, 1..=MAX_BYTES).and_then(|bytes| Ok((bytes, prediction(predicted)?)));
        read.push(of_row.map_err(|problem| rows.error_in_row(problem))?);
    }
    Ok(read)
}

/// The instant from which starts are counted, which the first row determines.
enum Starts {
    Unknown,
    /// The beginning of the run.
    Run,
    /// 1970: the first row's ps since then.
    Epoch(u128),
}

impl Starts {
    /// Stands for the first row's start as long as others may still be earlier.
    const MIDDLE: u64 = 1 << 63;

    /// The start of a row in ps. For times since 1970, its distance from the first row's start is added to [`Starts::MIDDLE`].
    fn read(&mut self, field: &str) -> Result<u64, Problem> {
        let first = match *self {
            Starts::Run => return seconds::start(field),
            Starts::Unknown => match seconds::parse_epoch_ps(field) {
                Some(first) => {
                    *self = Starts::Epoch(first);
                    return Ok(Starts::MIDDLE);
                }
                None => {
                    *self = Starts::Run;
                    return seconds::start(field);
                }
            },
            Starts::Epoch(first) => first,
        };
        let ps = seconds::parse_epoch_ps(field).map(|ps| ps + u128::from(Starts::MIDDLE));
        let after = ps.and_then(|ps| ps.checked_sub(first)).and_then(|after| u64::try_from(after).ok());
        after.ok_or_else(|| Problem::Number {
            column: "start_s".into(),
            found: excerpt(field),
            expected: "seconds since 1970 as in the first row, within 106 days of it".to_owned(),
        })
    }

    /// Counts starts since 1970 from the first of them, and returns when that is.
    fn count_from_first(&self, flows: &mut [Flow]) -> Option<u128> {
        let Starts::Epoch(of_first_row) = self else { return None };
        let first = flows.iter().map(|flow| flow.start_ps).min()?;
        flows.iter_mut().for_each(|flow| flow.start_ps -= first);
        Some(of_first_row + u128::from(first) - u128::from(Starts::MIDDLE))
    }
}

impl FlowList {
    fn sort(&mut self) {
        self.flows.sort_by_key(|flow| flow.start_ps);
        if !self.predictions.is_empty() {
            self.predictions = self.flows.iter().map(|flow| self.predictions[flow.id as usize]).collect();
        }
        self.features.values = self.flows.iter().flat_map(|flow| self.features.of(flow.id)).copied().collect();
        self.flows.iter_mut().zip(0..).for_each(|(flow, id)| flow.id = id);
    }

    /// The data of a flow in a list.
    pub fn row(&self, flow: Flow) -> (Flow, Prediction, &[u64]) {
        let prediction = self.predictions.get(flow.id as usize).copied().unwrap_or_default();
        (flow, prediction, self.features.of(flow.id))
    }
}

/// The optional columns with which a list is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `deadline_s`.
    pub deadlines: bool,
    /// `coflow`.
    pub coflows: bool,
    /// `class`.
    pub classes: bool,
    /// `lower` and `upper`.
    pub bounds: bool,
    /// `predicted`.
    pub sizes: bool,
    /// The names of the features.
    pub features: Vec<String>,
}

impl Extras {
    /// The columns that any of a list's flows needs.
    pub fn of(list: &FlowList) -> Extras {
        Extras {
            deadlines: list.flows.iter().any(|flow| flow.deadline_ps.is_some()),
            coflows: list.flows.iter().any(|flow| flow.coflow.is_some()),
            classes: list.highest_class.0 > 0,
            bounds: list.predictions.iter().any(|prediction| prediction.bounds.is_some()),
            sizes: list.predictions.iter().any(|prediction| prediction.size.is_some()),
            features: list.features.names.clone(),
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let given = [
            (self.deadlines, "deadline_s"),
            (self.coflows, "coflow"),
            (self.classes, "class"),
            (self.bounds, "lower"),
            (self.bounds, "upper"),
            (self.sizes, "predicted"),
        ];
        let known = given.into_iter().filter(|(given, _)| *given).map(|(_, name)| name.to_owned());
        known.chain(self.features.iter().map(|name| format!("{FEATURE}{name}")))
    }
}

/// Writes flows with a header, each with its predictions and features, so that [`read`] returns them; data without a column
/// among `extras` is left out.
pub fn write<'a>(
    out: &mut impl Write,
    extras: &Extras,
    rows: impl IntoIterator<Item = (Flow, Prediction, &'a [u64])>,
) -> io::Result<()> {
    write_named(out, extras, &[], rows)
}

/// Like [`write()`], with hosts by their names, if these are given in the order of their numbers.
pub fn write_named<'a>(
    out: &mut impl Write,
    extras: &Extras,
    hosts: &[String],
    rows: impl IntoIterator<Item = (Flow, Prediction, &'a [u64])>,
) -> io::Result<()> {
    let names: String = extras.names().map(|name| format!(",{name}")).collect();
    writeln!(out, "{}{names}", COLUMNS.required.join(","))?;
    let or_empty = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    for (flow, prediction, features) in rows {
        let named = |host: u32| hosts.get(host as usize).cloned().unwrap_or_else(|| host.to_string());
        match hosts {
            [] => write!(out, "{},{},{},{}", format_ps(flow.start_ps), flow.src, flow.dst, flow.bytes)?,
            _ => write!(out, "{},{},{},{}", format_ps(flow.start_ps), named(flow.src), named(flow.dst), flow.bytes)?,
        }
        if extras.deadlines {
            write!(out, ",{}", flow.deadline_ps.map(|ps| format_ps(ps.get())).unwrap_or_default())?;
        }
        if extras.coflows {
            write!(out, ",{}", or_empty(flow.coflow.map(u64::from)))?;
        }
        if extras.classes {
            write!(out, ",{}", flow.class)?;
        }
        if extras.bounds {
            let upper = prediction.bounds.map(|bounds| bounds.upper).filter(|upper| *upper < NonZeroU64::MAX);
            let lower = prediction.bounds.map(|bounds| bounds.lower);
            write!(out, ",{},{}", or_empty(lower), or_empty(upper.map(NonZeroU64::get)))?;
        }
        if extras.sizes {
            write!(out, ",{}", or_empty(prediction.size.map(NonZeroU64::get)))?;
        }
        for feature in features.iter().take(extras.features.len()) {
            write!(out, ",{feature}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The flow of a row, with its id still to be given.
fn flow(row: &Row<'_>, hosts: &HostNames, starts: &mut Starts) -> Result<Flow, Problem> {
    let [start, src, dst, bytes, deadline, coflow, class] = row.fields();
    let start_ps = starts.read(start)?;
    let (src, dst) = (host("src", src, hosts)?, host("dst", dst, hosts)?);
    if src == dst {
        return Err(Problem::SameHost { host: src });
    }
    let bytes = whole_number("bytes", bytes, 1..=MAX_BYTES)?;
    let deadline_ps = match deadline {
        "" => None,
        field => Some(parse_ps(field).and_then(NonZeroU64::new).ok_or_else(|| Problem::Number {
            column: "deadline_s".into(),
            found: excerpt(field),
            expected: "nothing, or decimal seconds above 0 and up to 18446744 (213 days)".to_string(),
        })?),
    };
    let coflow = optional("coflow", coflow, 0..=u64::from(MAX_COFLOW))?.map(|coflow| coflow as u32);
    let class = optional("class", class, 0..=u64::from(u8::MAX))?.unwrap_or(0) as u8;
    Ok(Flow { id: 0, start_ps, src, dst, bytes, class, deadline_ps, coflow })
}

/// A host by its name, or by its number.
fn host(column: &'static str, field: &str, hosts: &HostNames) -> Result<u32, Problem> {
    let named = field.starts_with(|letter: char| !letter.is_ascii_digit());
    let last = hosts.count().saturating_sub(1);
    let none = || Problem::NoHost { column, found: excerpt(field), expected: hosts.in_words_for(field) };
    if hosts.are_numbers() {
        return hosts.find(field).ok_or_else(none);
    }
    match if named { hosts.find(field) } else { None } {
        Some(host) => Ok(host),
        None if field.starts_with(char::is_alphabetic) => Err(none()),
        // A name may also begin with a digit.
        None => whole_number(column, field, 0..=last.into())
            .map(|host| host as u32)
            .or_else(|problem| hosts.find(field).ok_or(problem)),
    }
}

/// The prediction of these fields: both bounds and the size.
fn prediction([lower, upper, predicted]: [&str; 3]) -> Result<Prediction, Problem> {
    if (lower, upper, predicted) == ("", "", "") {
        return Ok(Prediction::default());
    }
    let (lower, upper) = (optional("lower", lower, 0..=u64::MAX)?, optional("upper", upper, 1..=u64::MAX)?);
    let size = optional("predicted", predicted, 1..=u64::MAX)?.and_then(NonZeroU64::new);
    if lower.is_none() && upper.is_none() {
        return Ok(Prediction { size, bounds: None });
    }
    let (lower, upper) = (lower.unwrap_or(0), upper.and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MAX));
    if lower > upper.get() {
        return Err(Problem::Bounds { lower, upper: upper.get() });
    }
    Ok(Prediction { size, bounds: Some(SizeBounds { lower, upper }) })
}

/// An optional number.
fn optional(column: &'static str, field: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
    if field.is_empty() { Ok(None) } else { whole_number(column, field, range).map(Some) }
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

    /// The share of the flows of at most `bytes` bytes; 0 without flows.
    pub fn cdf(&self, bytes: u64) -> f64 {
        self.sorted.partition_point(|size| *size <= bytes) as f64 / self.sorted.len().max(1) as f64
    }

    /// The smallest size, in bytes, that a share `p` (taken into 0 to 1) of the flows do not exceed; none without flows.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let at_least = (p.clamp(0.0, 1.0) * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(at_least.max(1) - 1).copied()
    }
}

#[cfg(test)]
mod tests;
