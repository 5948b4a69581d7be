//! Open-loop sending: every packet of a message at once, none acknowledged, none sent again. The textbook's arrival of a
//! whole message at a queue.

use crate::receiver::Arrival;

/// What has arrived of a message that is sent open loop. Packets may arrive in any order.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenLoopReceiver {
    arrived: u32,
    /// One past the highest that has arrived.
    highest: u32,
    /// Packets of the message, once its last one has arrived.
    total: Option<u32>,
    out_of_order: u32,
}

impl OpenLoopReceiver {
    /// A packet arrives; says, with the last that was missing, how many came out of order.
    pub fn on_data(&mut self, data: &Arrival) -> Option<u32> {
        self.arrived += 1;
        self.out_of_order += u32::from(data.seq < self.highest);
        self.highest = self.highest.max(data.seq + 1);
        if data.last {
            self.total = Some(data.seq + 1);
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
        let data = |seq| Arrival { seq, message: 0, last: seq == 2, retransmission: false, marked: false, stamp: 0 };
        assert_eq!(receiver.on_data(&data(0)), None);
        assert_eq!(receiver.on_data(&data(2)), None);
        assert_eq!(receiver.on_data(&data(1)), Some(1));
    }
}
