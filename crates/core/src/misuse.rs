//! Hosts that misuse a scheme, and what controllers hear of them.

use std::num::NonZeroU64;

use crate::controller::HostEvent;
use crate::message::{FlowEvent, Message};

/// How the first hosts of a fabric misuse a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misuse {
    /// The number of these hosts, counted from host 0.
    pub hosts: u32,
    /// Bytes of a piece: these hosts split each message into pieces, which they send one after another on its connection.
    /// Tags and controllers take each piece for a message. `None`: these hosts claim the highest priority for all that they
    /// send, and controllers do not hear of them.
    pub piece: Option<NonZeroU64>,
}

impl Misuse {
    /// Returns whether a host misuses the scheme.
    pub fn is_by(&self, host: u32) -> bool {
        host < self.hosts
    }

    /// Passes on what controllers hear of an event at a host. Of a message in pieces they hear all ends when its last one
    /// ends, as of [`MOST_PIECES`] larger ones if there are more.
    pub fn heard(&self, event: HostEvent, mut hear: impl FnMut(HostEvent)) {
        match (self.is_by(event.host), self.piece) {
            (false, _) => hear(event),
            (true, None) => {}
            (true, Some(piece)) => {
                let FlowEvent::MessageEnd { flow, message, effort } = event.event else { return hear(event) };
                for bytes in pieces(message.bytes, piece) {
                    let end = FlowEvent::MessageEnd { flow, message: Message { bytes, ..message }, effort };
                    hear(HostEvent { event: end, ..event });
                }
            }
        }
    }
}

/// The most pieces of a message that controllers hear of.
pub const MOST_PIECES: u64 = 1 << 16;

/// Returns the sizes of the pieces of a message: all full but the last.
fn pieces(bytes: u64, piece: NonZeroU64) -> impl Iterator<Item = u64> {
    let piece = piece.get().max(bytes.div_ceil(MOST_PIECES));
    (0..bytes.div_ceil(piece)).map(move |number| piece.min(bytes - number * piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    fn end(host: u32, bytes: u64) -> HostEvent {
        let message = Message { id: 7, bytes, ..Message::default() };
        HostEvent { at: Time(5), host, class: 1, event: FlowEvent::MessageEnd { flow: 3, message, effort: None } }
    }

    fn heard(misuse: Misuse, event: HostEvent) -> Vec<HostEvent> {
        let mut events = Vec::new();
        misuse.heard(event, |event| events.push(event));
        events
    }

    #[test]
    fn heard__nothing_of_hosts_that_claim_and_pieces_of_those_that_split() {
        let claims = Misuse { hosts: 2, piece: None };
        assert_eq!((heard(claims, end(1, 900)), heard(claims, end(2, 900))), (vec![], vec![end(2, 900)]));
        let splits = Misuse { hosts: 2, piece: NonZeroU64::new(400) };
        assert_eq!(heard(splits, end(1, 900)), [end(1, 400), end(1, 400), end(1, 100)]);
        assert_eq!(heard(splits, end(1, 400)), [end(1, 400)]);
        assert_eq!(heard(splits, end(2, 900)), [end(2, 900)]);
        let huge = heard(splits, end(1, u64::MAX));
        let bytes = |event: &HostEvent| match event.event {
            FlowEvent::MessageEnd { message, .. } => u128::from(message.bytes),
            _ => 0,
        };
        assert_eq!((huge.len() as u64, huge.iter().map(bytes).sum::<u128>()), (MOST_PIECES, u64::MAX.into()));
        let other = HostEvent { event: FlowEvent::Timeout { flow: 3 }, ..end(1, 1) };
        assert_eq!(heard(splits, other), [other]);
        assert_eq!(heard(Misuse::default(), end(0, 900)), [end(0, 900)]);
    }
}
