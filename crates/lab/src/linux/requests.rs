//! What other processes ask a lab that stays: a socket in the file system, a line of text for a request, and a line of JSON for
//! its answer.

use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::named::socket_of;
use crate::error::{Doing, LabError};

/// The most bytes of a request, and the longest wait for it, and for its answer.
const LONGEST: u64 = 64;
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_FOR_ANSWERS: Duration = Duration::from_secs(10);

/// A host of a lab that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The fabric's name for it.
    pub name: String,
    /// Its network namespace.
    pub namespace: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its address of IPv6.
    pub address_v6: Ipv6Addr,
}

/// A link of a lab that stays, and its port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Where it begins, by the fabric's name.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Its rate.
    pub bps: u64,
}

/// What a lab that stays consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Its scheme.
    pub scheme: String,
    /// Its hosts.
    pub hosts: Vec<HostInfo>,
    /// Its links.
    pub links: Vec<LinkInfo>,
}

/// A port at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortView {
    /// Bytes that wait.
    pub waiting_bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets that it turned away, or that made room for others, or that the line lost.
    pub dropped: u64,
    /// Packets sent, by queue.
    pub by_queue: Vec<u64>,
    /// Bytes that wait, by the queue in which they wait; `None`: the port keeps no queues.
    pub waiting_by_queue: Option<Vec<u64>>,
}

/// A lab at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// When, in ns since it began.
    pub at_ns: u64,
    /// By link.
    pub ports: Vec<PortView>,
    /// Packets inside.
    pub inside: u64,
    /// Frames received, and those sent to hosts.
    pub received: u64,
    /// As `received`.
    pub sent: u64,
    /// Frames that left more than 1 ms late.
    pub late: u64,
    /// Frames that were lost before they were received.
    pub lost_before: u64,
    /// Messages that began.
    pub began: u64,
    /// Messages that were acknowledged completely.
    pub ended: u64,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Info,
    View,
    Down,
}

impl Request {
    const ALL: [Request; 3] = [Request::Info, Request::View, Request::Down];

    fn word(self) -> &'static str {
        match self {
            Request::Info => "info",
            Request::View => "view",
            Request::Down => "down",
        }
    }
}

/// Where a lab hears requests. The socket goes when this is dropped.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    pub(super) fn open() -> Result<Door, LabError> {
        let path = socket_of(process::id());
        let what = || format!("hear requests at {}", path.display());
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).doing(what)?;
        }
        // One of an earlier process with the same number.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).doing(what)?;
        listener.set_nonblocking(true).doing(what)?;
        Ok(Door { listener, path })
    }

    /// Answers the requests that wait. One that is none, or too slow, gets no answer.
    pub(super) fn answer(&self, mut answer: impl FnMut(Request) -> String) {
        while let Ok((stream, _)) = self.listener.accept() {
            let _ = Door::answer_one(stream, &mut answer);
        }
    }

    fn answer_one(mut stream: UnixStream, answer: &mut impl FnMut(Request) -> String) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(stream.try_clone()?.take(LONGEST)).read_line(&mut line)?;
        let request = Request::ALL.into_iter().find(|request| request.word() == line.trim_end());
        let text = request.map(answer).ok_or(ErrorKind::InvalidInput)?;
        stream.write_all(text.as_bytes())?;
        stream.write_all(b"\n")
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // `flowsieve lab clean` tries again.
        let _ = fs::remove_file(&self.path);
    }
}

/// Asks the lab of a process what it consists of.
///
/// # Errors
/// Fails if it does not answer.
pub fn info(process: u32) -> Result<Info, LabError> {
    ask(process, Request::Info)
}

/// Asks the lab of a process what its ports do.
///
/// # Errors
/// Fails if it does not answer.
pub fn view(process: u32) -> Result<View, LabError> {
    ask(process, Request::View)
}

/// Tells the lab of a process to end. Its process then writes the result.
///
/// # Errors
/// Fails if it does not answer.
pub fn down(process: u32) -> Result<(), LabError> {
    ask(process, Request::Down)
}

fn ask<T: DeserializeOwned>(process: u32, request: Request) -> Result<T, LabError> {
    let what = || format!("ask the lab of process {process}");
    let mut stream = UnixStream::connect(socket_of(process)).doing(what)?;
    stream.set_read_timeout(Some(PATIENCE_FOR_ANSWERS)).doing(what)?;
    stream.write_all(format!("{}\n", request.word()).as_bytes()).doing(what)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).doing(what)?;
    serde_json::from_str(&text).map_err(|error| LabError::failed(what(), error))
}
