//! A run's flows, and its packets at every link.

use flowsieve_engines::{Drawn, Packets, built_in};
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::{Error, Point};
use flowsieve_record::{FlowRow, PacketEvent, PacketKind, PacketRow, PointResult, TraceSink};
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
/// | 18 | its length with headers, in bytes, 2 |
/// | 20 | 0 sent, 1 turned away, 2 pushed out, 3 lost on the line, 4 its link was down |
/// | 21 | 0 data, 1 data again, 2 an ACK, 3 other |
/// | 22 | the queue that held it, 255 for none |
/// | 23 | its ECN field |
pub(crate) const ROW: usize = 24;

/// The most links that a row can tell apart.
const MOST_LINKS: usize = 1 << 16;

/// Returns the flows of a run, in the order of their numbers.
pub(crate) fn run(point: &Point, seed: u64) -> Result<Value, Error> {
    let result = built_in().run(point, seed, &mut go_on, None)?;
    Ok(json!({ "flows": flows(&result) }))
}

/// Bytes, start and FCT, in ps, which a flow that did not end lacks; its coflow; timeouts, and the wait for them in us; its number,
/// which is not its place where flows outside a window are not counted; and its ends.
fn flows(result: &PointResult) -> Value {
    let of = |row: &FlowRow| {
        let FlowRow { bytes, start_ps, fct_ps, coflow, timeouts, timers_us, flow, src, dst, .. } = row;
        json!([bytes, start_ps, fct_ps, coflow, timeouts, timers_us, flow, src, dst])
    };
    result.flows.iter().map(of).collect()
}

/// Returns the same with the fabric, and the rows of its packets.
pub(crate) fn trace(point: &Point, seed: u64, most: usize) -> Result<(Value, Vec<u8>), Error> {
    if built_in().follower(point)?.is_none() {
        let problem = "a run at flow level has no packets to show; expected fidelity = \"packet\" in [run]";
        return Err(Error::Input(problem.to_owned()));
    }
    let mut rows = Rows(Vec::new());
    let (result, Drawn { nodes, hosts, links }) = Packets::default().traced(point, seed, most as u64, &mut rows)?;
    if links.len() > MOST_LINKS {
        return Err(Error::Input(format!("{} links: expected at most {MOST_LINKS} for a picture", links.len())));
    }
    let links: Vec<_> = links.iter().map(|link| json!([link.from, link.to, link.rate_bps, link.delay_ps])).collect();
    let head = json!({
        "flows": flows(&result), "nodes": nodes, "hosts": hosts, "links": links, "simulated_ps": result.simulated_ps,
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
        let (flow, (kind, byte)) = row.what.map_or((u32::MAX, (3, 0)), |(ends, kind)| {
            let of = match kind {
                PacketKind::Data { byte, retransmission, .. } => (u8::from(retransmission), byte),
                PacketKind::Ack { byte, .. } => (2, byte),
                PacketKind::OwnData { number, .. } => (0, u64::from(number)),
                _ => (3, 0),
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
        self.0.extend([event, kind, row.queue.unwrap_or(u8::MAX), row.ecn]);
        ControlFlow::Continue(())
    }
}
