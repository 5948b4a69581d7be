//! Packet traces of a run: a table of all events of packets at chosen links, and captures that Wireshark opens.
//!
//! ```text
//! packets.csv       a line for each packet that was sent on a traced link, or lost at it
//! host3+leaf0.pcap  what a tap on the cable between the two would have seen, both directions
//! ```
//!
//! There is one capture per cable, and not one of all. Wireshark follows a connection by what it sees in a file, and takes a
//! packet that it sees again one link further for a retransmission. A capture has both directions, since Wireshark matches data
//! with their ACKs.
//!
//! Rows are in the order of time and are written as they come, with bounded memory.

pub(crate) mod kept;
mod pcap;
mod table;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flowsieve_record::{PacketRow, TraceSink};

use crate::ResultError;

/// The files as which a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFormats {
    /// `packets.csv`.
    pub csv: bool,
    /// Captures.
    pub pcap: bool,
}

/// A traced link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedLink {
    /// Its name.
    pub name: String,
    /// The name of its cable, the same for the other direction. It names a file.
    pub cable: String,
}

impl TraceFormats {
    /// Approximate bytes per packet that is sent on one of these links.
    pub fn bytes_per_packet(self, links: &[TracedLink]) -> f64 {
        let names: usize = links.iter().map(|link| link.name.len()).sum();
        let name = names as f64 / links.len().max(1) as f64;
        let csv = if self.csv { table::BYTES + name } else { 0.0 };
        csv + if self.pcap { pcap::BYTES as f64 } else { 0.0 }
    }
}

/// Bytes of captures that are held back, over all files, so that a run may have many captures without having them open.
const HELD: usize = 4 << 20;

/// A capture and its unwritten part.
struct Capture {
    path: PathBuf,
    begun: bool,
    held: Vec<u8>,
}

/// Writes the trace of a run into a folder.
pub struct TraceFiles {
    formats: TraceFormats,
    links: Vec<TracedLink>,
    table_path: PathBuf,
    table: Option<BufWriter<File>>,
    captures: Vec<Capture>,
    /// By link.
    capture_of: Vec<usize>,
    held: usize,
    failure: Option<ResultError>,
}

impl TraceFiles {
    /// Will write into `folder`, which exists, is empty and has no other writer.
    pub fn new(folder: &Path, formats: TraceFormats, links: Vec<TracedLink>) -> TraceFiles {
        let mut captures = Vec::new();
        let mut by_cable = BTreeMap::new();
        let mut capture_of = Vec::new();
        for link in &links {
            capture_of.push(*by_cable.entry(&link.cable).or_insert_with(|| {
                let path = folder.join(format!("{}.pcap", link.cable));
                captures.push(Capture { path, begun: false, held: Vec::new() });
                captures.len() - 1
            }));
        }
        let table_path = folder.join("packets.csv");
        TraceFiles { formats, links, table_path, table: None, captures, capture_of, held: 0, failure: None }
    }

    /// Ends the files, which are on the disk then; fails with any error since they were begun.
    pub fn finish(mut self) -> Result<(), ResultError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(table) = self.table.take() {
            let synced = table.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
            synced.map_err(ResultError::io("write", &self.table_path))?;
        }
        for capture in &mut self.captures {
            capture.write_held(true)?;
        }
        Ok(())
    }

    fn try_begin(&mut self) -> Result<(), ResultError> {
        // The unwritten rows of an earlier table must not be written into this one.
        drop(self.table.take().map(BufWriter::into_parts));
        if self.formats.csv {
            let failed = || ResultError::io("write", &self.table_path);
            let mut table = BufWriter::new(File::create(&self.table_path).map_err(failed())?);
            table.write_all(table::HEADER.as_bytes()).map_err(failed())?;
            self.table = Some(table);
        }
        for capture in &mut self.captures {
            capture.held.clear();
            if std::mem::take(&mut capture.begun) {
                std::fs::remove_file(&capture.path).map_err(ResultError::io("remove", &capture.path))?;
            }
        }
        self.held = 0;
        Ok(())
    }

    fn try_packet(&mut self, row: &PacketRow) -> Result<(), ResultError> {
        let link = row.link as usize;
        if let Some(table) = &mut self.table {
            let line = table::write(table, &self.links[link].name, row);
            line.map_err(ResultError::io("write", &self.table_path))?;
        }
        if self.formats.pcap {
            let held = &mut self.captures[self.capture_of[link]].held;
            let before = held.len();
            pcap::write(held, row);
            self.held += held.len() - before;
            if self.held >= HELD {
                self.captures.iter_mut().try_for_each(|capture| capture.write_held(false))?;
                self.held = 0;
            }
        }
        Ok(())
    }

    fn note<T>(&mut self, done: Result<T, ResultError>) -> ControlFlow<()> {
        match done {
            Ok(_) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure.get_or_insert(failure);
                ControlFlow::Break(())
            }
        }
    }
}

impl TraceSink for TraceFiles {
    fn begin(&mut self) {
        let done = self.try_begin();
        let _ = self.note(done);
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        if self.failure.is_some() {
            return ControlFlow::Break(());
        }
        let done = self.try_packet(row);
        self.note(done)
    }
}

impl Capture {
    /// Writes the held bytes. A cable without a packet has no file.
    fn write_held(&mut self, last: bool) -> Result<(), ResultError> {
        if self.held.is_empty() && !(last && self.begun) {
            return Ok(());
        }
        let write = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            if !self.begun {
                file.write_all(pcap::header().as_flattened())?;
            }
            file.write_all(&self.held)?;
            if last { file.sync_all() } else { Ok(()) }
        };
        write().map_err(ResultError::io("write", &self.path))?;
        self.begun = true;
        self.held.clear();
        Ok(())
    }
}
