//! Packet traces: what is sent on chosen links, and what is lost at them, by time.
//!
//! Tracing is a feature of a link: other links do nothing for it. A departure is found when the port is next looked at,
//! at the latest when the packet ahead of it arrives at the far end. So records wait until no earlier one can come.
//! They are then passed on by instant, link, and the order in which they were made.

use std::collections::BTreeMap;
use std::ops::Range;

use flowsieve_core::meta::{Ecn, Meta};
use flowsieve_core::{Kind, NONE, PortScheduler, Time};
use flowsieve_record::{Ends, PacketEvent, PacketKind, PacketRow, TraceSink};
use flowsieve_transport::Said;

use crate::build::Built;
use crate::event::Key;
use crate::network::Network;
use crate::prefetch_queue::PrefetchQueue;
use crate::run_spec::{RunSpec, SimError};
use crate::slab::{Body, SWITCH, unpack};
use crate::topology::Node;

/// What to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// The links, by their numbers in the fabric.
    pub links: Vec<u32>,
    /// The time span to trace.
    pub span: Range<Time>,
    /// The most rows per run; the trace ends with the last of them.
    pub most: u64,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) at: Time,
    /// The link's index in [`Tracing::links`].
    pub(crate) link: u32,
    pub(crate) event: PacketEvent,
    pub(crate) queue: Option<u8>,
    /// Its index in the slab of its partition.
    pub(crate) packet: u32,
    pub(crate) meta: Meta,
    pub(crate) body: Body,
}

impl<K> Network<K> {
    /// Records that the line begins to send a packet, which bypassed an idle port or had been queued.
    #[inline]
    pub(crate) fn trace_sent(&mut self, link: u32, packet: u32, at: Time, bypassed: bool) {
        let port = &self.ports[link as usize];
        if port.features.traced.is_some() {
            let (meta, last) = (&self.slab.metas[packet as usize], port.scheduler.queues() - 1);
            // A packet that bypasses an idle port counts for the queue of its priority.
            let own = meta.tag.priority().min(u8::try_from(last).unwrap_or(u8::MAX));
            let queue = if bypassed { own } else { meta.queue };
            self.trace(link, packet, at, PacketEvent::Sent, Some(queue));
        }
    }

    /// Records an event of a packet, if the link is traced; `queue` is the queue that held it.
    pub(crate) fn trace(&mut self, link: u32, packet: u32, at: Time, event: PacketEvent, queue: Option<u8>) {
        if let Some(link) = self.ports[link as usize].features.traced
            && self.trace_span.contains(&at)
        {
            let (meta, body) = (self.slab.metas[packet as usize], self.slab.bodies[packet as usize]);
            self.traced.push(Record { at, link, event, queue, packet, meta, body });
        }
    }
}

/// A message that begins on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// The flow of the connection's packets.
    pub(crate) connection: u32,
    pub(crate) bytes: u64,
    pub(crate) segment: u16,
}

/// The part of a connection that belongs to a message.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first_segment: u32,
    first_byte: u64,
    bytes: u64,
    segment: u16,
}

impl Stretch {
    /// Returns the bytes of the connection before a segment of the message, or before the one after its last.
    fn byte(&self, segment: u32) -> u64 {
        let full = u64::from(segment.saturating_sub(self.first_segment)) * u64::from(self.segment);
        self.first_byte + full.min(self.bytes)
    }

    /// Returns the stretch of the message that follows this one.
    fn next(&self, begun: &Begun) -> Stretch {
        let segments = self.bytes.div_ceil(u64::from(self.segment));
        Stretch {
            first_segment: self.first_segment + segments as u32,
            first_byte: self.first_byte + self.bytes,
            bytes: begun.bytes,
            segment: begun.segment,
        }
    }
}

/// Numbers packets of transports that do not describe them.
struct OwnNumbers {
    /// By link, as in [`Tracing::links`].
    from_host: Vec<bool>,
    /// By message, the number of its packets sent.
    sent: BTreeMap<u32, u32>,
    /// The number of a packet, by its index in the slab.
    under_way: BTreeMap<u32, u32>,
}

impl OwnNumbers {
    fn number(&mut self, record: &Record, row: &mut PacketRow, headers: &[u16]) {
        let message = record.body.message();
        let Some((_, kind @ PacketKind::Own)) = &mut row.what else { return };
        if record.meta.kind != Kind::Data || message == NONE {
            return;
        }
        if self.from_host[record.link as usize] && record.event != PacketEvent::DroppedLoss {
            let sent = self.sent.entry(message).or_default();
            self.under_way.insert(record.packet, *sent);
            *sent += 1;
        }
        let Some(&number) = self.under_way.get(&record.packet) else { return };
        *kind = PacketKind::OwnData { flow: message, number };
        row.payload = record.meta.len.saturating_sub(headers[usize::from(record.body.class)]);
    }
}

/// Traces a run.
pub(crate) struct Tracer<'a> {
    sink: &'a mut dyn TraceSink,
    span: Range<Time>,
    /// Number of rows that may still be passed on.
    left: u64,
    most: u64,
    /// The longest time between a departure and its discovery.
    lag: Time,
    waiting: Vec<Record>,
    /// By the flow of a connection's packets.
    connections: BTreeMap<u32, Vec<Stretch>>,
    /// By class of flow: bytes of headers.
    headers: Vec<u16>,
    /// Numbers packets that their transport does not describe.
    own: Option<OwnNumbers>,
    /// The instant of the first row beyond the limit.
    cut_at: Option<Time>,
    over: bool,
}

impl<'a> Tracer<'a> {
    /// Marks the ports of the traced links.
    pub(crate) fn new<K: Key>(
        tracing: &Tracing,
        sink: &'a mut dyn TraceSink,
        run_spec: &RunSpec<'_>,
        built: &mut Built<K>,
    ) -> Tracer<'a> {
        for (&link, number) in tracing.links.iter().zip(0..) {
            // A departure and a loss on the line may be seen in different partitions.
            for (partition, index) in [built.placement.from[link as usize], built.placement.to[link as usize]] {
                let network = &mut built.partitions[partition as usize].network;
                network.ports[index as usize].features.traced = Some(number);
                network.links[index as usize].add_feature();
                network.prefetch_queue = PrefetchQueue::none();
            }
        }
        for partition in &mut built.partitions {
            partition.network.trace_span = tracing.span.clone();
            partition.hosts.begun = Some(Vec::new());
        }
        sink.begin();
        let from_host = |&link: &u32| matches!(run_spec.fabric.links[link as usize].from, Node::Host(_));
        let own = sink.numbers_own().then(|| OwnNumbers {
            from_host: tracing.links.iter().map(from_host).collect(),
            sent: BTreeMap::new(),
            under_way: BTreeMap::new(),
        });
        let delays = tracing.links.iter().map(|&link| run_spec.fabric.links[link as usize].delay);
        Tracer {
            sink,
            span: tracing.span.clone(),
            left: tracing.most,
            most: tracing.most,
            lag: delays.max().unwrap_or(Time::ZERO),
            waiting: Vec::new(),
            connections: BTreeMap::new(),
            headers: run_spec.scheme.classes.iter().map(|class| class.transport.facts().header).collect(),
            own: own.filter(|_| built.partitions.len() == 1),
            cut_at: None,
            over: false,
        }
    }

    /// Passes on the records that no earlier one can precede, now that every event before `done` is done.
    pub(crate) fn hand_over<K: Key>(&mut self, built: &mut Built<K>, done: Time) -> Result<(), SimError> {
        if self.over {
            return Ok(());
        }
        for partition in &mut built.partitions {
            self.waiting.append(&mut partition.network.traced);
            for begun in partition.hosts.begun.iter_mut().flat_map(|begun| begun.drain(..)) {
                self.begin(&begun);
            }
        }
        // A loss on the line comes last, as it does when another partition sees it.
        self.waiting.sort_by_key(|record| (record.at, record.link, record.event == PacketEvent::DroppedLoss));
        let settled = done.since(self.lag);
        let ready = self.waiting.partition_point(|record| record.at < settled);
        let waiting = self.waiting.split_off(ready);
        for record in std::mem::replace(&mut self.waiting, waiting) {
            if self.left == 0 {
                self.cut_at = Some(record.at);
                break;
            }
            self.left -= 1;
            let mut row = self.row(built, &record);
            if let Some(own) = &mut self.own {
                own.number(&record, &mut row, &self.headers);
            }
            if self.sink.packet(&row).is_break() {
                return Err(SimError::TraceAbandoned);
            }
        }
        if self.cut_at.is_some() || settled >= self.span.end {
            self.end(built);
        }
        Ok(())
    }

    fn end<K: Key>(&mut self, built: &mut Built<K>) {
        self.over = true;
        (self.waiting, self.connections) = (Vec::new(), BTreeMap::new());
        for partition in &mut built.partitions {
            partition.network.trace_span = Time::ZERO..Time::ZERO;
            partition.network.traced = Vec::new();
            partition.hosts.begun = None;
        }
    }

    /// Passes on the rest; returns a warning about the trace if there is one.
    pub(crate) fn finish<K: Key>(mut self, built: &mut Built<K>) -> Result<Option<String>, SimError> {
        self.lag = Time::ZERO;
        self.hand_over(built, Time::NEVER)?;
        let most = self.most;
        Ok(self.cut_at.map(|at| format!("the packet trace ended at {at}: it holds at most {most} packets of a run")))
    }

    fn begin(&mut self, begun: &Begun) {
        let stretches = self.connections.entry(begun.connection).or_default();
        let first = Stretch { first_segment: 0, first_byte: 0, bytes: begun.bytes, segment: begun.segment };
        stretches.push(stretches.last().map_or(first, |last| last.next(begun)));
    }

    /// Returns the payload bytes of a connection before a segment.
    fn byte(&self, connection: u32, segment: u32) -> u64 {
        let stretches = self.connections.get(&connection).map_or(&[][..], Vec::as_slice);
        let after = stretches.partition_point(|stretch| stretch.first_segment <= segment);
        after.checked_sub(1).map_or(0, |at| stretches[at].byte(segment))
    }

    /// Returns the connection of a host's packet, and what it is.
    fn kind<K>(&self, built: &Built<K>, meta: &Meta, body: &Body) -> (u32, PacketKind) {
        let (partition, host) = built.placement.hosts[usize::from(body.src)];
        let hosts = &built.partitions[partition as usize].hosts;
        let side = &hosts.sides[hosts.sides_of(host).start + usize::from(body.class)];
        let packet = unpack(meta, body);
        let connection = side.endpoint.connection(&packet);
        let byte = |segment| self.byte(connection, segment);
        let kind = match side.endpoint.describe(&packet) {
            Said::Data { segment, last, retransmission } => {
                PacketKind::Data { flow: packet.message, segment, byte: byte(segment), last, retransmission }
            }
            Said::Ack { segment, sack: (from, to), echo, duplicate } => PacketKind::Ack {
                segment,
                byte: byte(segment),
                sack: (from < to).then_some((from, to)),
                echo,
                duplicate,
            },
            Said::Syn => PacketKind::Syn,
            Said::SynAck => PacketKind::SynAck,
            Said::Probe => PacketKind::Probe,
            Said::Own => PacketKind::Own,
        };
        (connection, kind)
    }

    fn row<K>(&self, built: &Built<K>, record: &Record) -> PacketRow {
        let Record { at, link, event, queue, packet: _, meta, body } = *record;
        let ends = |connection| Ends { connection, src: u32::from(body.src), dst: u32::from(meta.dst) };
        let what = (body.src != SWITCH).then(|| self.kind(built, &meta, &body));
        let what = what.map(|(connection, kind)| (ends(connection), kind));
        let carries = matches!(what, Some((_, PacketKind::Data { .. })));
        PacketRow {
            at_ps: at.0,
            link,
            event,
            what,
            payload: if carries { meta.len.saturating_sub(self.headers[usize::from(body.class)]) } else { 0 },
            length: meta.len,
            priority: meta.tag.priority(),
            queue,
            rank: meta.tag.rank(),
            ecn: match meta.ecn {
                Ecn::NotCapable => 0,
                Ecn::Capable => 2,
                Ecn::Marked => 3,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte__of_messages_that_end_in_short_segments() {
        let messages = [(3_000, 1_460), (1_460, 1_460), (1, 1_460)];
        let mut stretches: Vec<Stretch> = Vec::new();
        for (bytes, segment) in messages {
            let begun = Begun { connection: 7, bytes, segment };
            let first = Stretch { first_segment: 0, first_byte: 0, bytes, segment };
            stretches.push(stretches.last().map_or(first, |last| last.next(&begun)));
        }
        let firsts: Vec<(u32, u64)> = stretches.iter().map(|s| (s.first_segment, s.first_byte)).collect();
        assert_eq!(firsts, [(0, 0), (3, 3_000), (4, 4_460)]);
        assert_eq!([0, 1, 2, 3].map(|segment| stretches[0].byte(segment)), [0, 1_460, 2_920, 3_000]);
        assert_eq!([4, 5].map(|segment| stretches[2].byte(segment)), [4_460, 4_461]);
    }
}
