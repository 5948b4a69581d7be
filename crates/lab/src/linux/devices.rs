//! Frames of the switch's side of all hosts' devices.

use std::time::Duration;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::calls::PacketSocket;
use crate::io::{Frames, Outgoing, PacketIo, Received};

/// The shortest sleep that is worth its call.
const SHORTEST_SLEEP_NS: u64 = 2_000;

/// The devices of a network namespace.
pub(super) struct Devices(PacketSocket);

impl Devices {
    /// Returns the bytes that may wait before they are received, if those are few.
    pub(super) fn narrow_buffer(&self) -> Option<u32> {
        self.0.narrow_buffer()
    }

    /// Opens these devices of the calling thread's namespace.
    pub(super) fn open(names: &[String]) -> io::Result<Devices> {
        PacketSocket::open(names).map(Devices)
    }
}

/// Returns `CLOCK_MONOTONIC` in ns, the lab's clock: nobody sets it.
pub(super) fn now_ns() -> u64 {
    ns_of(ClockId::Monotonic)
}

/// Returns how long ago a stamp of the kernel was: its clock is `CLOCK_REALTIME`. A stamp that is not past is of now: that clock
/// was set back.
pub(super) fn since_ns(stamp_ns: u64) -> u64 {
    ns_of(ClockId::Realtime).saturating_sub(stamp_ns)
}

fn ns_of(clock: ClockId) -> u64 {
    let at = clock_gettime(clock);
    at.tv_sec.unsigned_abs() * 1_000_000_000 + at.tv_nsec.unsigned_abs()
}

impl PacketIo for Devices {
    fn now_ns(&mut self) -> u64 {
        now_ns()
    }

    fn receive(&mut self, frames: &mut Frames, room: &[u32], received: &mut Vec<Received>) -> io::Result<()> {
        let before = received.len();
        self.0.receive(frames, room, received)?;
        if received.len() > before {
            let (now_ns, real_ns) = (now_ns(), ns_of(ClockId::Realtime));
            for one in &mut received[before..] {
                one.stamp_ns = now_ns.saturating_sub(real_ns.saturating_sub(one.stamp_ns));
            }
        }
        Ok(())
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
