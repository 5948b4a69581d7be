//! Frames of the switch's side of all hosts' devices.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, thread};

use flowsieve_linux::PacketSocket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::io::{Frames, Outgoing, PacketIo, Received};

/// The shortest sleep that is worth its call.
const SHORTEST_SLEEP_NS: u64 = 2_000;

/// The devices of a network namespace.
pub(super) struct Devices(PacketSocket);

impl Devices {
    /// Opens these devices of the calling thread's namespace.
    pub(super) fn open(names: &[String]) -> io::Result<Devices> {
        PacketSocket::open(names).map(Devices)
    }
}

/// Returns `CLOCK_REALTIME` in ns, the clock of the stamps.
pub(super) fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl PacketIo for Devices {
    fn now_ns(&mut self) -> u64 {
        now_ns()
    }

    fn receive(&mut self, frames: &mut Frames, room: &[u32], received: &mut Vec<Received>) -> io::Result<()> {
        self.0.receive(frames, room, received)
    }

    fn send(&mut self, frames: &mut Frames, list: &[Outgoing]) -> io::Result<usize> {
        self.0.send(frames, list)
    }

    fn sleep_ns(&mut self, ns: u64) {
        if ns > SHORTEST_SLEEP_NS {
            thread::sleep(Duration::from_nanos(ns));
        }
    }

    fn wait_ns(&mut self, ns: u64) {
        let until = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        // A failure is an end of the wait.
        let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&until));
    }

    fn lost(&mut self) -> u64 {
        self.0.lost().map_or(0, u64::from)
    }
}
