//! Reads the traces of Flux (Đukić et al., NSDI 2019), with which QCLIMB was evaluated, as flow lists.
//!
//! These files were not available: their format is known only from their published readers. So everything that does not fit is
//! refused with its place, and nothing is guessed.
//!
//! - **Recorded flows** (`ml/*`): a header with `index`, `flow_size` (bytes) and further columns of any name. A row is a
//!   flow. Flows stand in the order of `index` within their file, and files in the order that they are given in: the
//!   published readers take each file for a sequence of its own. Every further column becomes a feature.
//! - **Simulated flows** (`simulator/*/0.csv`): one header line, whatever it says, then whole numbers. Column 0 is the size
//!   in bytes, the further ones are predictions of it.
//!
//! **Names** of features are made such that a flow list can have them: ASCII letters and digits, `_`, `-` and `.`
//! stay, every other character becomes `_`. A column without a name is called by its number (`column1` is the first), and a
//! repeated name gets a number (`disk_2`).
//!
//! A flow list needs starts and hosts, and these files have no known ones. A flow starts as many microseconds after the
//! beginning as there are flows before it, from host 0 to host 1. Replaying the flows at a load draws both anew.
//!
//! Left out: the windows of earlier rows with which Flux's own models were trained.

use crate::error::{InputError, Problem, excerpt};
use crate::flow_list::{FlowList, MAX_FEATURES, MAX_FLOWS};
use crate::lines::Lines;
use crate::prediction::Prediction;
use crate::rows::{MAX_NAMED, whole_number};
use crate::{Flow, MAX_BYTES};
use std::io::BufRead;
use std::num::NonZeroU64;

const INDEX: &str = "index";
const SIZE: &str = "flow_size";

/// Characters of a feature's name, such that the most features of a list fit into its header.
const NAME_LENGTH: usize = 100;

const PS_PER_US: u64 = 1_000_000;

/// The kind of file, and the treatment of its columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// Flows with recorded features. Columns are called as their header calls them.
    Recorded {
        /// Columns that are left out.
        drop: Vec<String>,
        /// Columns whose values are multiplied by a number above 0, then rounded to the nearest and halves up.
        scale: Vec<(String, f64)>,
    },
    /// Flows of the simulator.
    Simulated {
        /// The column, from 1, that becomes the predicted size.
        predicted: Option<usize>,
    },
}

/// Flows of the files, one file after another.
#[derive(Clone, Debug)]
pub struct Import {
    layout: Layout,
    list: FlowList,
    /// The first file with its header; all files have the same header.
    first: Option<(String, Vec<String>)>,
}

/// The columns of a recorded file.
struct Places {
    index: usize,
    size: usize,
    /// Columns of features, with their names in the file and their factors.
    features: Vec<(usize, String, Option<f64>)>,
}

impl Import {
    /// Without any flow yet.
    pub fn new(layout: Layout) -> Import {
        Import { layout, list: FlowList::default(), first: None }
    }

    /// Adds the flows of a file, which errors call `file`.
    pub fn add(&mut self, file: &str, reader: impl BufRead) -> Result<(), InputError> {
        let mut lines = Lines::new(file, reader);
        match self.layout.clone() {
            Layout::Recorded { drop, scale } => self.add_recorded(file, &mut lines, &drop, &scale),
            Layout::Simulated { predicted } => self.add_simulated(&mut lines, predicted),
        }
    }

    /// The flows of all files.
    pub fn list(self) -> FlowList {
        self.list
    }

    fn add_recorded(
        &mut self,
        file: &str,
        lines: &mut Lines<impl BufRead>,
        drop: &[String],
        scale: &[(String, f64)],
    ) -> Result<(), InputError> {
        let expected = || format!("{INDEX},{SIZE},...");
        if !lines.advance(expected)? {
            return Err(lines.error_in_file(Problem::Empty { expected: expected() }));
        }
        let header = header(lines.text()?);
        let places = places(&header, drop, scale).map_err(|problem| lines.error_in_line(problem))?;
        match &self.first {
            Some((first, columns)) if *columns != header => {
                return Err(lines.error_in_line(Problem::OtherColumns { first: first.clone() }));
            }
            Some(_) => {}
            None => {
                let names = safe_names(&places.features);
                self.list.features = crate::flow_list::Features::new(names, Vec::new());
                self.first = Some((file.to_owned(), header.clone()));
            }
        }
        let (mut flows, mut features) = (Vec::new(), Vec::new());
        while lines.advance(expected)? {
            let row: Vec<&str> = lines.text()?.split(',').map(plain).collect();
            let refused = |problem| lines.error_in_line(problem);
            if row.len() != header.len() {
                let expected = format!("{}, as in the header", header.len());
                return Err(refused(Problem::Columns { found: row.len(), expected }));
            }
            let index = whole_number(INDEX, row[places.index], 0..=u64::MAX).map_err(refused)?;
            let bytes = whole_number(SIZE, row[places.size], 1..=MAX_BYTES).map_err(refused)?;
            for (column, name, factor) in &places.features {
                features.push(feature(name, row[*column], *factor).map_err(refused)?);
            }
            flows.push((index, bytes));
            self.check_room(flows.len(), features.len()).map_err(refused)?;
        }
        if flows.is_empty() {
            return Err(lines.error_in_file(Problem::Empty { expected: expected() }));
        }
        let mut order: Vec<usize> = (0..flows.len()).collect();
        // Flows with the same index keep their order.
        order.sort_by_key(|row| flows[*row].0);
        for row in order {
            self.push(flows[row].1);
            let width = places.features.len();
            self.list.features.extend(&features[row * width..(row + 1) * width]);
        }
        Ok(())
    }

    fn add_simulated(&mut self, lines: &mut Lines<impl BufRead>, predicted: Option<usize>) -> Result<(), InputError> {
        let expected = || "size,prediction,...".to_owned();
        let before = self.list.flows.len();
        // The header's words are not known, so it is the first line, even if that is a comment.
        lines.advance_any(expected)?;
        let least = predicted.unwrap_or(0) + 1;
        let mut columns = None;
        while lines.advance(expected)? {
            let row: Vec<&str> = lines.text()?.split(',').map(plain).collect();
            let refused = |problem| lines.error_in_line(problem);
            if row.len() < least {
                return Err(refused(Problem::Columns { found: row.len(), expected: format!("at least {least}") }));
            }
            let first = *columns.get_or_insert(row.len());
            if row.len() != first {
                let expected = format!("{first}, as in the first row");
                return Err(refused(Problem::Columns { found: row.len(), expected }));
            }
            let bytes = whole_number("column 0 (the size)", row[0], 1..=MAX_BYTES).map_err(refused)?;
            self.check_room(1, 0).map_err(refused)?;
            self.push(bytes);
            if let Some(column) = predicted {
                let name = format!("column {column} (the prediction)");
                let size = whole_number(name, row[column], 1..=u64::MAX).map_err(refused)?;
                self.list.predictions.push(Prediction { size: NonZeroU64::new(size), bounds: None });
            }
        }
        if self.list.flows.len() == before {
            return Err(lines.error_in_file(Problem::Empty { expected: expected() }));
        }
        Ok(())
    }

    /// Checks that this many further flows and numbers still fit into a flow list.
    fn check_room(&self, flows: usize, numbers: usize) -> Result<(), Problem> {
        if self.list.flows.len() + flows > MAX_FLOWS {
            return Err(Problem::TooManyRows { limit: MAX_FLOWS });
        }
        let features = self.list.features.names().len();
        let rows = self.list.flows.len() + flows;
        if self.list.flows.len() * features + numbers > MAX_FEATURES {
            return Err(Problem::TooManyFeatures { rows, features, limit: MAX_FEATURES });
        }
        Ok(())
    }

    fn push(&mut self, bytes: u64) {
        let id = self.list.flows.len() as u32;
        let start_ps = u64::from(id) * PS_PER_US;
        let flow = Flow { id, start_ps, src: 0, dst: 1, bytes, class: 0, deadline_ps: None, coflow: None };
        self.list.flows.push(flow);
    }
}

/// A field without blanks and quotes around it.
fn plain(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).map_or(field, str::trim)
}

/// The names of the columns.
fn header(line: &str) -> Vec<String> {
    let name = |(number, field): (usize, &str)| match plain(field) {
        "" => format!("column{number}"),
        name => name.to_owned(),
    };
    (1..).zip(line.split(',')).map(name).collect()
}

fn places(header: &[String], drop: &[String], scale: &[(String, f64)]) -> Result<Places, Problem> {
    let missing = |column: &str| {
        let columns = header.iter().map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
        Problem::NoColumn { column: column.to_owned(), columns }
    };
    let only = |column: &'static str| {
        let mut found = (0..).zip(header).filter(|(_, name)| *name == column).map(|(number, _)| number);
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(Problem::TwoColumns { column }),
            (None, _) => Err(missing(column)),
        }
    };
    let (index, size) = (only(INDEX)?, only(SIZE)?);
    let is_feature = |name: &String| name != INDEX && name != SIZE;
    for name in drop.iter().chain(scale.iter().map(|(name, _)| name)) {
        if !is_feature(name) {
            return Err(Problem::NoFeature { column: name.clone() });
        }
        if !header.contains(name) {
            return Err(missing(name));
        }
    }
    let kept = (0..).zip(header).filter(|(_, name)| is_feature(name) && !drop.contains(*name));
    let factor = |name: &String| scale.iter().rfind(|(scaled, _)| scaled == name).map(|(_, factor)| *factor);
    let features: Vec<_> = kept.map(|(column, name)| (column, name.clone(), factor(name))).collect();
    if features.len() > MAX_NAMED {
        return Err(Problem::ManyColumns { found: features.len(), limit: MAX_NAMED });
    }
    Ok(Places { index, size, features })
}

/// The names that features have in a list, each of them once.
fn safe_names(features: &[(usize, String, Option<f64>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, name, _) in features {
        let safe = |letter: char| if letter.is_ascii_alphanumeric() || "_-.".contains(letter) { letter } else { '_' };
        let safe: String = name.chars().take(NAME_LENGTH).map(safe).collect();
        let numbered = (2..=features.len() + 1).map(|number| format!("{safe}_{number}"));
        let free = std::iter::once(safe.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// The whole number of a field, multiplied first if there is a factor.
fn feature(name: &str, field: &str, factor: Option<f64>) -> Result<u64, Problem> {
    let Some(factor) = factor else {
        return whole_number(excerpt(name), field, 0..=u64::MAX).map_err(|problem| match problem {
            Problem::Number { column, found, expected } => {
                Problem::Number { column, found, expected: expected + ", or that the column is scaled or dropped" }
            }
            other => other,
        });
    };
    // A feature is compared as an f32, so an f64 is precise enough.
    let scaled = field.parse::<f64>().ok().map(|number| (number * factor).round());
    let whole = scaled.filter(|scaled| (0.0..u64::MAX as f64).contains(scaled)).map(|scaled| scaled as u64);
    whole.ok_or_else(|| Problem::Number {
        column: excerpt(name).into(),
        found: excerpt(field),
        expected: format!("a number that is from 0 to {} once it is multiplied by {factor}", u64::MAX),
    })
}

#[cfg(test)]
mod tests;
