//! How frames come and go: real devices ([`crate::linux`]), or a list of arrivals with a clock of its own ([`Script`]).

use std::collections::VecDeque;
use std::io;

pub use crate::calls::{FRAME, Frames, Outgoing, Received};

/// Devices and a clock.
pub trait PacketIo {
    /// Returns the time in ns, in the clock of the frames' stamps.
    fn now_ns(&mut self) -> u64;

    /// Takes frames that wait, one into each place of `room`, and adds them to `received`.
    ///
    /// # Errors
    /// Fails if a device has failed; a later call may work.
    fn receive(&mut self, frames: &mut Frames, room: &[u32], received: &mut Vec<Received>) -> io::Result<()>;

    /// Sends frames in order, and returns how many went.
    ///
    /// # Errors
    /// Fails if the first cannot be sent.
    fn send(&mut self, frames: &mut Frames, list: &[Outgoing]) -> io::Result<usize>;

    /// Sleeps.
    fn sleep_ns(&mut self, ns: u64);

    /// Sleeps until a frame arrives, at most this long.
    fn wait_ns(&mut self, ns: u64);

    /// Returns how many frames found no room since the last call.
    fn lost(&mut self) -> u64;
}

/// Frames that arrive at given instants, with a clock that only sleeping moves. For tests without devices.
#[derive(Debug, Default)]
pub struct Script {
    now_ns: u64,
    /// When, at which device, and the frame.
    arrivals: VecDeque<(u64, u16, Vec<u8>)>,
    /// What was sent: when, to which device, and the frame.
    pub sent: Vec<(u64, u16, Vec<u8>)>,
    /// Devices that are gone.
    pub gone: Vec<u16>,
}

impl Script {
    /// Has these frames arrive: when, at which device, and the frame. They are in the order of time.
    pub fn new(arrivals: impl IntoIterator<Item = (u64, u16, Vec<u8>)>) -> Script {
        Script { arrivals: arrivals.into_iter().collect(), ..Script::default() }
    }

    /// Has a frame arrive after all others.
    pub fn add(&mut self, at_ns: u64, device: u16, frame: Vec<u8>) {
        self.arrivals.push_back((at_ns, device, frame));
    }

    /// Returns whether all frames have arrived.
    pub fn is_over(&self) -> bool {
        self.arrivals.is_empty()
    }
}

impl PacketIo for Script {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn receive(&mut self, frames: &mut Frames, room: &[u32], received: &mut Vec<Received>) -> io::Result<()> {
        for &frame in room {
            if self.arrivals.front().is_none_or(|(at, ..)| *at > self.now_ns) {
                break;
            }
            let Some((stamp_ns, device, bytes)) = self.arrivals.pop_front() else { break };
            let len = bytes.len().min(FRAME);
            frames.get_mut(frame)[..len].copy_from_slice(&bytes[..len]);
            received.push(Received { frame, device: Some(device), len: bytes.len() as u32, stamp_ns });
        }
        Ok(())
    }

    fn send(&mut self, frames: &mut Frames, list: &[Outgoing]) -> io::Result<usize> {
        let reachable = list.iter().take_while(|outgoing| !self.gone.contains(&outgoing.device)).count();
        if reachable == 0 && !list.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotConnected));
        }
        for outgoing in &list[..reachable] {
            let bytes = frames.get(outgoing.frame)[..usize::from(outgoing.len)].to_vec();
            self.sent.push((self.now_ns, outgoing.device, bytes));
        }
        Ok(reachable)
    }

    fn sleep_ns(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    fn wait_ns(&mut self, ns: u64) {
        let next = self.arrivals.front().map_or(u64::MAX, |(at, ..)| *at);
        self.now_ns = next.clamp(self.now_ns, self.now_ns + ns);
    }

    fn lost(&mut self) -> u64 {
        0
    }
}
