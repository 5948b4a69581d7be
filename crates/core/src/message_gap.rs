//! PIAS's demotion where messages on one connection are told apart by time alone, as by a host that sees packets and no
//! messages (PIAS-Real of QCluster §6.3.1; PIAS's own kernel module does so, too).
//!
//! A message that begins after its sender was idle for longer than a gap starts from nothing; any other goes on counting
//! the bytes of those before.

use std::collections::BTreeMap;

use crate::message::FlowEvent;
use crate::units::Time;

/// Bytes that messages are taken to have sent before they began.
#[derive(Clone, Debug)]
pub struct MessageGap {
    gap: Time,
    /// By flow.
    flows: BTreeMap<u32, Counted>,
    /// By message that has not ended: the bytes before it.
    before: BTreeMap<u32, u64>,
    /// Flows that are remembered before those are looked for that need not be.
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Bytes of all messages since the last gap.
    bytes: u64,
    /// Messages that have not ended.
    open: u32,
    /// When the last message ended.
    ended: Time,
}

impl MessageGap {
    /// Messages are apart where the sender was idle for longer than `gap`.
    pub fn new(gap: Time) -> MessageGap {
        MessageGap { gap, flows: BTreeMap::new(), before: BTreeMap::new(), most: 64 }
    }

    /// Bytes that count as sent before the first of `message`.
    pub fn before(&self, message: u32) -> u64 {
        self.before.get(&message).copied().unwrap_or(0)
    }

    /// A message begins or ends.
    pub fn on_event(&mut self, event: &FlowEvent, now: Time) {
        match *event {
            FlowEvent::MessageStart { flow, message, idle } => {
                self.forget_the_idle(now);
                let counted = self.flows.entry(flow).or_insert(Counted { bytes: 0, open: 0, ended: now });
                if idle > self.gap {
                    counted.bytes = 0;
                }
                self.before.insert(message.id, counted.bytes);
                counted.bytes += message.bytes;
                counted.open += 1;
            }
            FlowEvent::MessageEnd { flow, message, .. } => {
                self.before.remove(&message.id);
                if let Some(counted) = self.flows.get_mut(&flow) {
                    counted.open = counted.open.saturating_sub(1);
                    counted.ended = now;
                }
            }
            FlowEvent::Steps { .. }
            | FlowEvent::Reordered { .. }
            | FlowEvent::Unneeded { .. }
            | FlowEvent::Delivered { .. }
            | FlowEvent::Timeout { .. } => {}
        }
    }

    /// A flow whose messages ended longer ago than the gap begins anew in any case.
    fn forget_the_idle(&mut self, now: Time) {
        if self.flows.len() >= self.most {
            let gap = self.gap;
            self.flows.retain(|_, counted| counted.open > 0 || now.since(counted.ended) <= gap);
            self.most = 64.max(2 * self.flows.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn message(id: u32, bytes: u64) -> Message {
        Message { id, bytes, ..Message::default() }
    }

    fn start(flow: u32, id: u32, bytes: u64, idle_us: u64) -> FlowEvent {
        FlowEvent::MessageStart { flow, message: message(id, bytes), idle: Time::from_us(idle_us) }
    }

    #[test]
    fn before__restarts_after_a_gap_alone() {
        let mut gap = MessageGap::new(Time::from_us(25));
        gap.on_event(&FlowEvent::MessageStart { flow: 1, message: message(0, 700), idle: Time::NEVER }, Time::ZERO);
        gap.on_event(&start(1, 1, 300, 25), Time::from_us(30));
        gap.on_event(&start(2, 2, 50, 26), Time::from_us(30));
        gap.on_event(&start(1, 3, 100, 3), Time::from_us(40));
        assert_eq!([0, 1, 2, 3].map(|message| gap.before(message)), [0, 700, 0, 1_000]);
        gap.on_event(&start(1, 4, 100, 26), Time::from_us(90));
        assert_eq!([3, 4].map(|message| gap.before(message)), [1_000, 0], "what was sent before keeps its count");
    }

    #[test]
    fn flows__are_forgotten_once_they_would_begin_anew() {
        let mut gap = MessageGap::new(Time::from_us(25));
        for n in 0..10_000 {
            let now = Time::from_us(u64::from(n));
            gap.on_event(&FlowEvent::MessageStart { flow: n, message: message(n, 9), idle: Time::NEVER }, now);
            gap.on_event(&FlowEvent::MessageEnd { flow: n, message: message(n, 9), effort: None }, now);
            assert!(gap.flows.contains_key(&n.saturating_sub(25)));
        }
        assert!(gap.flows.len() <= 64 && gap.before.is_empty(), "{}", gap.flows.len());
    }
}
