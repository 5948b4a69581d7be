//! The result of a conversion.

use std::io::{self, Write};

use crate::convert::flows::Flows;
use crate::convert::sizes::Sizes;
use crate::convert::topology::Topology;

/// A converted file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The name of its format.
    pub format: &'static str,
    /// Its content.
    pub what: What,
    /// What you need to know to use it: units, and what was left out.
    pub notes: Notes,
}

/// Flowsieve's kinds of files.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A flow list, for `list` in `[workload]`.
    Flows(Flows),
    /// An edge list, for `file` in `[topology]`.
    Topology(Topology),
    /// A distribution, for `cdf` in `[workload]`.
    Sizes(Sizes),
    /// Sizes of flows in bytes, one per row, for `sizes` in `[workload]`.
    Samples(Vec<u64>),
    /// Tables of an experiment file.
    Experiment(String),
}

/// Sentences about a conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(Vec<String>);

impl Notes {
    pub(crate) fn say(&mut self, sentence: impl Into<String>) {
        self.0.push(sentence.into());
    }

    /// Adds a sentence about a count that is not zero: `what` follows the number.
    pub(crate) fn count(&mut self, number: u64, what: &str) {
        if number > 0 {
            self.say(format!("{number} {what}"));
        }
    }

    /// Returns the sentences in the order in which they were added.
    pub fn all(&self) -> &[String] {
        &self.0
    }
}

impl Outcome {
    /// Summarises its content in a line.
    pub fn summary(&self) -> String {
        match &self.what {
            What::Flows(flows) => format!("{} flows, {} bytes", flows.flows.len(), flows.total_bytes()),
            What::Topology(topology) => {
                let cables: u64 = topology.cables.iter().map(|cable| cable.count).sum();
                format!("{} hosts, {} switches, {cables} links", topology.host_ids().len(), topology.switches())
            }
            What::Sizes(sizes) => {
                let (stepped, interpolated) = (sizes.stepped_mean(), sizes.interpolated_mean());
                let points = sizes.points.len();
                format!("{points} points; mean {stepped} B in steps, {interpolated} B interpolated")
            }
            What::Samples(sizes) => format!("{} sizes", sizes.len()),
            What::Experiment(_) => "tables of an experiment".to_owned(),
        }
    }

    /// Returns the key that takes the file, in an experiment with a file called `name`.
    pub fn usage(&self, name: &str) -> String {
        match &self.what {
            What::Flows(_) => format!("[workload] list = \"{name}\""),
            What::Topology(_) => format!("[topology] kind = \"custom\", file = \"{name}\", host_delay = \"0s\""),
            What::Sizes(_) => format!("[workload] cdf = \"{name}\""),
            What::Samples(_) => format!("[workload] sizes = \"{name}\""),
            What::Experiment(_) => format!("flowsieve run {name}"),
        }
    }

    /// Writes our file, with comments about its origin and what was left out.
    ///
    /// # Errors
    /// Fails if `out` does.
    pub fn write(&self, source: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "# {}: converted from {}", printable(source), self.format)?;
        for note in self.notes.all() {
            writeln!(out, "# {}", printable(note))?;
        }
        match &self.what {
            What::Flows(flows) => flows.write(out),
            What::Topology(topology) => topology.write(out),
            What::Sizes(sizes) => sizes.write(out),
            What::Samples(sizes) => {
                writeln!(out, "bytes")?;
                sizes.iter().try_for_each(|bytes| writeln!(out, "{bytes}"))
            }
            What::Experiment(text) => out.write_all(text.as_bytes()),
        }
    }
}

/// Removes line breaks and other characters that would end a comment.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
