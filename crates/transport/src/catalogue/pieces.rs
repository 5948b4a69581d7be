//! Messages in full packets of equal payload, as transports without a byte stream send them.

use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Message, Time};

/// Returns the packets of a message; at least 1. The readers of flows refuse sizes beyond 32 bits.
#[inline]
pub(super) fn packets(segment: u16, bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(segment.into())).unwrap_or(u32::MAX).max(1)
}

/// Returns the payload before a packet.
#[inline]
fn offset(segment: u16, packet: u32) -> u64 {
    u64::from(packet) * u64::from(segment)
}

/// Returns the payload of a packet.
#[inline]
pub(super) fn payload(segment: u16, message: &Message, packet: u32) -> u16 {
    let left = message.bytes.saturating_sub(offset(segment, packet));
    u16::try_from(left).map_or(segment, |left| left.min(segment))
}

/// Returns what a tagger may know of a packet that leaves; `again`: it was sent before.
#[inline]
pub(super) fn facts(
    now: Time,
    segment: u16,
    message: &Message,
    packet: u32,
    (again, timeouts): (bool, u32),
) -> FlowFacts {
    let offset = offset(segment, packet);
    FlowFacts {
        flow: message.id,
        now,
        offset,
        payload: payload(segment, message, packet).into(),
        remaining: message.bytes.saturating_sub(offset),
        retransmission: again,
        timeouts,
        ..FlowFacts::of(message)
    }
}
