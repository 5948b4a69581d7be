//! Frames by number, and what is said of them.

/// Bytes of room for a frame.
pub const FRAME: usize = 2_048;
/// Room for frames by number.
pub struct Frames(Box<[[u8; FRAME]]>);

impl Frames {
    /// Makes room for this many frames.
    pub fn new(frames: usize) -> Frames {
        Frames(vec![[0; FRAME]; frames].into())
    }

    /// Returns the room of a frame.
    pub fn get(&self, frame: u32) -> &[u8; FRAME] {
        &self.0[frame as usize]
    }

    /// Returns the room of a frame, to be written.
    pub fn get_mut(&mut self, frame: u32) -> &mut [u8; FRAME] {
        &mut self.0[frame as usize]
    }
}

/// A frame that has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Where it is.
    pub frame: u32,
    /// The device, by its place in the list of devices; `None` for another one.
    pub device: Option<u16>,
    /// Its bytes on the device; those beyond [`FRAME`] are lost.
    pub len: u32,
    /// When the device received it, in ns: from a socket of `CLOCK_REALTIME`. 0: the kernel does not say.
    pub stamp_ns: u64,
}

/// A frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it is.
    pub frame: u32,
    /// Its bytes.
    pub len: u16,
    /// The device, by its place in the list of devices.
    pub device: u16,
}
