//! What a port of one queue admits, marks and holds, independent of its service order.

use crate::admission::{Admission, Limits};
use crate::marker::{Marker, MarkerState, Waiting};
use crate::meta::Meta;
use crate::scheduler::{PortContext, Verdict};

/// Drop-tail and ECN over all that is queued, counted as one queue.
pub(crate) struct PortIntake {
    limits: Limits,
    marker: MarkerState,
    bytes: u64,
    packets: u32,
}

impl PortIntake {
    pub(crate) fn new(admission: Admission, marker: Marker) -> PortIntake {
        PortIntake { limits: Limits::new(admission), marker: MarkerState::new(marker, 1), bytes: 0, packets: 0 }
    }

    /// Takes an arriving packet if there is room for it, and marks it if necessary. Its queue is set before.
    pub(crate) fn take(&mut self, meta: &mut Meta, context: &mut PortContext<'_>) -> Verdict {
        let queued_before = self.bytes;
        let queued = u32::try_from(queued_before).unwrap_or(u32::MAX);
        if !self.limits.admit(meta.len, queued, queued_before, context.pool) {
            return Verdict::Dropped { queued_before };
        }
        let waiting = Waiting { bytes: queued, packets: self.packets };
        let packets = || waiting.packets.into();
        if self.marker.marks(meta.len, 0, waiting, self.bytes, packets, context.random) && meta.mark() {
            *context.marks += 1;
        }
        self.bytes += u64::from(meta.len);
        self.packets += 1;
        Verdict::Accepted { queued_before }
    }

    pub(crate) fn limits(&self) -> Option<&Limits> {
        Some(&self.limits)
    }

    /// Counts a packet that was taken and leaves.
    pub(crate) fn leave(&mut self, meta: &Meta) {
        self.bytes -= u64::from(meta.len);
        self.packets -= 1;
    }

    /// Returns the bytes queued.
    pub(crate) fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the longest packet that an empty port takes, if its shared memory has room, and does not mark; 0 if that
    /// depends on earlier packets.
    pub(crate) fn bypass_bytes(&self) -> u64 {
        self.marker.of_empty_port().map_or(0, |unmarked| unmarked.min(self.limits.of_empty_port()))
    }
}
