//! The receiving side of a message that is sent open loop.

/// The part of an open-loop message that has arrived. Packets may arrive in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenLoopReceiver {
    arrived: u32,
    /// One past the highest packet that has arrived.
    highest: u32,
    /// Number of packets of the message, once its last one has arrived.
    total: Option<u32>,
    out_of_order: u32,
}

impl OpenLoopReceiver {
    /// Counts an arriving packet. With the last missing one, returns how many came out of order.
    pub(super) fn on_data(&mut self, seq: u32, last: bool) -> Option<u32> {
        self.arrived += 1;
        self.out_of_order += u32::from(seq < self.highest);
        self.highest = self.highest.max(seq.saturating_add(1));
        if last {
            self.total = Some(seq.saturating_add(1));
        }
        (self.total == Some(self.arrived)).then_some(self.out_of_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_data__complete_with_the_last_missing_packet() {
        let mut receiver = OpenLoopReceiver::default();
        let mut arrives = |seq| receiver.on_data(seq, seq == 2);
        assert_eq!(arrives(0), None);
        assert_eq!(arrives(2), None);
        assert_eq!(arrives(1), Some(1));
    }
}
