//! `packets.csv`: one line per row; a cell is empty if it does not apply to the packet.

use std::io::{self, Write};

use flowsieve_record::{PacketEvent, PacketKind, PacketRow};

/// The names of the columns; `docs/reference/samples.md` describes them.
pub(super) const HEADER: &str = "time_ps,link,event,connection,src,dst,kind,flow,segment,byte,payload,length,priority,\
                                 queue,rank,ecn,retransmission,sack_from,sack_to,echo,duplicate\n";

/// Approximate length of a line without the link's name.
pub(super) const BYTES: f64 = 66.0;

/// Appends the line of a row.
pub(super) fn write(out: &mut impl Write, link: &str, row: &PacketRow) -> io::Result<()> {
    let event = match row.event {
        PacketEvent::Sent => "sent",
        PacketEvent::DroppedBuffer => "dropped-buffer",
        PacketEvent::DroppedEvicted => "dropped-evicted",
        PacketEvent::DroppedLoss => "dropped-loss",
        PacketEvent::DroppedDown => "dropped-down",
    };
    write!(out, "{},{link},{event},", row.at_ps)?;
    let (ends, kind) = row.what.unzip();
    match ends {
        Some(ends) => write!(out, "{},{},{},", ends.connection, ends.src, ends.dst)?,
        None => out.write_all(b",,,")?,
    }
    match kind {
        Some(PacketKind::Data { flow, segment, byte, .. }) => write!(out, "data,{flow},{segment},{byte},")?,
        Some(PacketKind::Ack { segment, byte, .. }) => write!(out, "ack,,{segment},{byte},")?,
        Some(PacketKind::Syn) => out.write_all(b"syn,,,,")?,
        Some(PacketKind::SynAck) => out.write_all(b"syn-ack,,,,")?,
        Some(PacketKind::Probe) => out.write_all(b"probe,,,,")?,
        Some(PacketKind::Own) => out.write_all(b"own,,,,")?,
        Some(PacketKind::OwnData { flow, number }) => write!(out, "own,{flow},{number},,")?,
        None => out.write_all(b"switch,,,,")?,
    }
    write!(out, "{},{},{},", row.payload, row.length, row.priority)?;
    if let Some(queue) = row.queue {
        write!(out, "{queue}")?;
    }
    let ecn = match row.ecn {
        0 => "",
        3 => "ce",
        _ => "ect",
    };
    write!(out, ",{},{ecn},", row.rank)?;
    match kind {
        Some(PacketKind::Data { retransmission, .. }) => writeln!(out, "{},,,,", u8::from(retransmission)),
        Some(PacketKind::Ack { sack: None, echo, duplicate, .. }) => {
            writeln!(out, ",,,{},{}", u8::from(echo), u8::from(duplicate))
        }
        Some(PacketKind::Ack { sack: Some((from, to)), echo, duplicate, .. }) => {
            writeln!(out, ",{from},{to},{},{}", u8::from(echo), u8::from(duplicate))
        }
        _ => out.write_all(b",,,,\n"),
    }
}
