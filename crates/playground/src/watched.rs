//! A run's flows, and its packets at every link.

use flowsieve_engines::{Drawn, Packets};
use flowsieve_experiment::engine::{Engine, Threads, go_on};
use flowsieve_experiment::{Error, Point};
use flowsieve_record::{PacketEvent, PacketKind, PacketRow, PointResult, TraceSink};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Bytes of a packet's row: all numbers begin with their lowest byte.
///
/// | from | what |
/// | --- | --- |
/// | 0 | time, in ps, 8 bytes |
/// | 8 | the connection's flow, 4 |
/// | 12 | bytes of the connection before it, 4 |
/// | 16 | the link, 2 |
/// | 18 | its length on the wire's packet, 2 |
/// | 20 | payload, 2 |
/// | 22 | 0 sent, 1 turned away, 2 pushed out, 3 lost, 4 its link was down |
/// | 23 | 0 data, 1 data again, 2 an ACK, 3 other |
/// | 24 | priority of its tag; queue, 255 for none; ECN field; 1: the last of its flow |
/// | 28 | rank, 4 |
pub(crate) const ROW: usize = 32;

/// Returns the flows of a run, in the order of their numbers: bytes, start and FCT in ps.
pub(crate) fn run(point: &Point, seed: u64) -> Result<Value, Error> {
    let result = Packets::default().run(point, seed, Threads::Asked(1), &mut go_on, None)?;
    Ok(json!({ "flows": flows(&result), "packet_hops": result.packet_hops }))
}

fn flows(result: &PointResult) -> Vec<(u64, u64, Option<u64>, u64)> {
    result.flows.iter().map(|row| (row.bytes, row.start_ps, row.fct_ps, row.ideal_ps)).collect()
}

/// Returns the same with the fabric, and the rows of its packets.
pub(crate) fn trace(point: &Point, seed: u64, most: usize) -> Result<(Value, Vec<u8>), Error> {
    let mut rows = Rows(Vec::new());
    let (result, Drawn { nodes, links }) = Packets::default().traced(point, seed, most as u64, &mut rows)?;
    let ends = result.flows.iter().map(|row| (row.src, row.dst)).collect::<Vec<_>>();
    let links: Vec<_> = links.iter().map(|link| json!([link.from, link.to, link.rate_bps, link.delay_ps])).collect();
    let head = json!({
        "flows": flows(&result), "ends": ends, "nodes": nodes, "links": links, "simulated_ps": result.simulated_ps,
        "rows": rows.0.len() / ROW,
    });
    Ok((head, rows.0))
}

struct Rows(Vec<u8>);

impl TraceSink for Rows {
    fn begin(&mut self) {
        self.0.clear();
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        let event = match row.event {
            PacketEvent::Sent => 0,
            PacketEvent::DroppedBuffer => 1,
            PacketEvent::DroppedEvicted => 2,
            PacketEvent::DroppedLoss => 3,
            PacketEvent::DroppedDown => 4,
        };
        let (flow, (kind, byte, last)) = row.what.map_or((u32::MAX, (3, 0, false)), |(ends, kind)| {
            let of = match kind {
                PacketKind::Data { byte, last, retransmission, .. } => (u8::from(retransmission), byte, last),
                PacketKind::Ack { byte, .. } => (2, byte, false),
                PacketKind::OwnData { .. } => (0, 0, false),
                _ => (3, 0, false),
            };
            let flow = match kind {
                PacketKind::Data { flow, .. } | PacketKind::OwnData { flow, .. } => flow,
                _ => ends.connection,
            };
            (flow, of)
        });
        self.0.extend(row.at_ps.to_le_bytes());
        self.0.extend(flow.to_le_bytes());
        self.0.extend((byte as u32).to_le_bytes());
        self.0.extend((row.link as u16).to_le_bytes());
        self.0.extend(row.length.to_le_bytes());
        self.0.extend(row.payload.to_le_bytes());
        self.0.extend([event, kind, row.priority, row.queue.unwrap_or(u8::MAX), row.ecn, u8::from(last)]);
        self.0.extend(row.rank.to_le_bytes());
        ControlFlow::Continue(())
    }
}
