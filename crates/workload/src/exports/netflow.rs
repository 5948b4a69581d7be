//! Flow records as CSV: nfdump's (`-o csv`, with or without its heading), and those of IPFIX collectors that name columns by
//! information elements.
//!
//! A record has one direction of a connection, or both (`opkt`, `obyt`). Records of one direction are joined if the gap
//! between them is at most the inactive timeout and no FIN, RST or SYN lies there: an active timeout cut the flow. Overlapping ones come from
//! several exporters, and the largest counts. Then each direction is compared with its reverse, to tell ACKs from data.
//!
//! Bytes of records are those of IP packets, so 40 B a packet are taken off (IPv4 and TCP; UDP 28, IPv6 20 more), and 12
//! more if directions with ACKs alone show that packets have timestamps.

use super::{Found, empty, plain, sampled};
use crate::MAX_BYTES;
use crate::convert::source::{At, decimal};
use crate::convert::{ConvertError, Fit, Kind, Notes, Options, Source, What};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// A flow that is silent for this long has ended, in ms: the default of collectors and exporters.
const INACTIVE_MS: i64 = 15_000;

/// Times of whole seconds differ by up to this where they are the same, in ms.
const TOLERANCE_MS: i64 = 1_000;

/// The headings of nfdump up to 1.7.2 and from then on, as far as they are needed: with `-q` they are missing.
const HEADINGS: [&str; 2] = [
    "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt",
    "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows",
];

/// What is read, by the names of its column: nfdump's, then IPFIX's.
const FIELDS: [&[&str]; 14] = [
    &["ts", "firstSeen", "flowStartMilliseconds", "flowStartSeconds"],
    &["te", "lastSeen", "flowEndMilliseconds", "flowEndSeconds"],
    &["td", "duration"],
    &["sa", "srcAddr", "sourceIPv4Address", "sourceIPv6Address"],
    &["da", "dstAddr", "destinationIPv4Address", "destinationIPv6Address"],
    &["sp", "srcPort", "sourceTransportPort"],
    &["dp", "dstPort", "destinationTransportPort"],
    &["pr", "proto", "protocolIdentifier"],
    &["ipkt", "packets", "packetDeltaCount", "packetTotalCount"],
    &["ibyt", "bytes", "octetDeltaCount", "octetTotalCount"],
    &["opkt", "reversePacketDeltaCount", "reversePacketTotalCount"],
    &["obyt", "reverseOctetDeltaCount", "reverseOctetTotalCount"],
    &["flg", "flags"],
    &["samplingInterval", "samplingPacketInterval", "samplingRate", "sampling_rate", "sampling_interval"],
];

/// The fields, in the order of [`FIELDS`].
#[derive(Clone, Copy)]
enum Field {
    Start,
    End,
    Duration,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    Packets,
    Bytes,
    BackPackets,
    BackBytes,
    Flags,
    Sampling,
}

/// Fields that a table of flows has, other than the end.
const NEEDED: [Field; 8] = [
    Field::Start,
    Field::Source,
    Field::Destination,
    Field::SourcePort,
    Field::DestinationPort,
    Field::Protocol,
    Field::Packets,
    Field::Bytes,
];

/// Columns of each field.
struct Columns {
    at: [Option<usize>; FIELDS.len()],
    count: usize,
    /// The heading's line; none with `-q`.
    heading: Option<u64>,
}

fn cells<'a>(row: At<'a>) -> Vec<&'a str> {
    row.text.split(',').map(|cell| cell.trim().trim_matches('"')).collect()
}

impl Columns {
    fn of(names: &[&str], count: usize, heading: Option<u64>) -> Option<Columns> {
        let at = FIELDS
            .map(|known| names.iter().position(|name| known.iter().any(|known| name.eq_ignore_ascii_case(known))));
        NEEDED.iter().all(|field| at[*field as usize].is_some()).then_some(Columns { at, count, heading })
    }

    /// Returns those of the heading, or of the heading that fits the shape of the first row.
    fn find(source: &Source<'_>) -> Option<Columns> {
        let first = source.rows().next()?;
        let row = cells(first);
        Columns::of(&row, row.len(), Some(first.line)).or_else(|| {
            HEADINGS.iter().find_map(|heading| {
                let names: Vec<&str> = heading.split(',').collect();
                let columns = Columns::of(&names, row.len(), None).filter(|_| row.len() >= names.len())?;
                let is_address = |field: Field| columns.cell(&row, field).is_some_and(|cell| cell.contains(['.', ':']));
                let is_number = |field| columns.cell(&row, field).is_some_and(|cell| decimal(cell).is_some());
                let fits = is_address(Field::Source)
                    && is_address(Field::Destination)
                    && is_number(Field::Packets)
                    && is_number(Field::Bytes);
                (fits && columns.cell(&row, Field::Start).and_then(|cell| time_ms(cell, false)).is_some())
                    .then_some(columns)
            })
        })
    }

    fn cell<'a>(&self, row: &[&'a str], field: Field) -> Option<&'a str> {
        row.get(self.at[field as usize]?).copied()
    }
}

/// Parses a date with a time, or a number of seconds (of ms if `ms`), to ms since 1970.
fn time_ms(text: &str, ms: bool) -> Option<i64> {
    if let Some(number) = decimal(text) {
        return number.checked_mul(if ms { Decimal::ONE } else { Decimal::ONE_THOUSAND })?.to_i64();
    }
    let (date, time) = text.trim_end_matches('Z').split_once([' ', 'T'])?;
    let numbers = |text: &str, by| text.splitn(3, by).map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<_>>>();
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let ([year, month, day], [hour, minute, second]) = (&numbers(date, '-')?[..], &numbers(time, ':')?[..]) else {
        return None;
    };
    let (year, month, day) = (i64::from(*year), i64::from(*month), i64::from(*day));
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    let seconds = days * 86_400 + i64::from(*hour) * 3_600 + i64::from(*minute) * 60 + i64::from(*second);
    let ms = format!("0.{fraction}").parse::<Decimal>().ok()?.checked_mul(Decimal::ONE_THOUSAND)?;
    Some(seconds * 1_000 + ms.to_i64()?)
}

/// Both ends and the protocol. In this order, both directions of a connection are far apart, but each is in one piece.
type Tuple<'a> = (&'a str, [&'a str; 2], [&'a str; 2]);

/// A direction of a connection, or a piece of it.
#[derive(Clone)]
struct Record<'a> {
    tuple: Tuple<'a>,
    start_ms: i64,
    end_ms: i64,
    carried: Direction,
    /// It has a SYN; it has a FIN or an RST.
    begins: bool,
    ends: bool,
}

/// What one direction carried.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) packets: u64,
    /// Of IP packets.
    pub(super) bytes: u64,
    pub(super) is_tcp: bool,
    pub(super) is_v6: bool,
}

impl Direction {
    /// Bytes of headers of a packet without timestamps.
    fn least_header(&self) -> u64 {
        (if self.is_tcp { 40 } else { 28 }) + if self.is_v6 { 20 } else { 0 }
    }

    fn is_above(&self, header: u64) -> bool {
        self.bytes > self.packets.saturating_mul(header)
    }
}

/// The bytes that headers have.
pub(super) struct Headers {
    timestamps: u64,
}

impl Headers {
    /// Decides whether packets have timestamps, by the mean packet of directions that can only have ACKs.
    pub(super) fn of<'a>(directions: impl Iterator<Item = &'a Direction>) -> Headers {
        let (mut packets, mut above) = (0.0, 0.0);
        for of in directions.filter(|of| of.is_tcp && of.packets >= 8 && !of.is_above(of.least_header() + 26)) {
            packets += of.packets as f64;
            above += of.bytes as f64 - of.packets as f64 * of.least_header() as f64;
        }
        Headers { timestamps: if above > 6.0 * packets { 12 } else { 0 } }
    }

    pub(super) fn payload(&self, of: &Direction) -> u64 {
        let header = of.least_header() + if of.is_tcp { self.timestamps } else { 0 };
        of.bytes.saturating_sub(of.packets.saturating_mul(header))
    }

    /// Returns whether a direction has ACKs alone: at most a byte a packet above headers with timestamps, and 8 B for a SYN's
    /// options; or at most 26 B a packet above those without, next to a reverse with 20 times its payload.
    pub(super) fn has_acks_alone(&self, of: &Direction, reverse: Option<&Direction>) -> bool {
        let header = of.least_header();
        let alone = of.bytes.saturating_sub(8) <= of.packets.saturating_mul(header + 13);
        let above = of.bytes.saturating_sub(of.packets.saturating_mul(header));
        let by_reverse = reverse.is_some_and(|reverse| self.payload(reverse) / 20 >= above.max(1));
        of.is_tcp && (alone || by_reverse && !of.is_above(header + 26))
    }

    pub(super) fn say(&self, notes: &mut Notes) {
        notes.say(match self.timestamps {
            0 => "headers are taken off: 40 B a packet for IPv4 and TCP, as no ACKs show timestamps",
            _ => "headers are taken off: 52 B a packet for IPv4 and TCP, as ACKs show timestamps",
        });
    }
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    if Columns::find(source).is_some() { Fit::Sure } else { Fit::No }
}

/// Reads the records. nfdump's summary ends them.
fn records<'a>(source: &Source<'a>, options: &Options<'_>, notes: &mut Notes) -> Result<Vec<Record<'a>>, ConvertError> {
    let Some(columns) = Columns::find(source) else {
        let expected = format!("the heading of `nfdump -o csv`, such as {}", HEADINGS[1]);
        return Err(source.wrong(1, "no columns of flow records", expected));
    };
    let in_ms = |field: Field| {
        let heading = source.lines().find(|row| Some(row.line) == columns.heading).map(cells).unwrap_or_default();
        columns.cell(&heading, field).is_some_and(|name| name.ends_with("Milliseconds"))
    };
    let (start_in_ms, end_in_ms) = (in_ms(Field::Start), in_ms(Field::End));
    let (mut records, mut others, mut backwards, mut first_back) = (Vec::new(), 0, 0u64, None);
    for row in source.rows().filter(|row| Some(row.line) != columns.heading) {
        if row.text == "Summary" || row.text.starts_with("Summary:") || row.text.starts_with("No matching flows") {
            break;
        }
        let cells = cells(row);
        if cells.len() != columns.count {
            let problem = format!("columns: {}", cells.len());
            return Err(source.wrong(row.line, problem, format!("{} as in the first row", columns.count)));
        }
        let cell = |field| columns.cell(&cells, field);
        let text = |field| cell(field).unwrap_or_default();
        let number = |field: Field| match cell(field) {
            None => Ok(0),
            Some(cell) => source.whole(row.line, FIELDS[field as usize][0], cell, MAX_BYTES),
        };
        let moment = |field: Field, ms| {
            let found = time_ms(text(field), ms);
            let expected = "a time such as 2026-01-31 12:00:00.000, or seconds since 1970";
            found.ok_or_else(|| source.wrong_field(row.line, FIELDS[field as usize][0], text(field), expected))
        };
        if let Some(rate) = cell(Field::Sampling) {
            plain::check_rate(source, row.line, rate, options.sampled)?;
        }
        let protocol = text(Field::Protocol);
        let is_tcp = protocol == "6" || protocol.eq_ignore_ascii_case("TCP");
        if !is_tcp && protocol != "17" && !protocol.eq_ignore_ascii_case("UDP") {
            others += 1;
            continue;
        }
        let start_ms = moment(Field::Start, start_in_ms)?;
        let end_ms = match (cell(Field::End), cell(Field::Duration)) {
            (Some(_), _) => moment(Field::End, end_in_ms)?,
            (None, Some(duration)) => {
                let ms = duration.parse::<Decimal>().ok().and_then(|s| s.checked_mul(Decimal::ONE_THOUSAND)?.to_i64());
                let ms = ms.and_then(|ms| start_ms.checked_add(ms));
                ms.ok_or_else(|| source.wrong_field(row.line, "the duration", duration, "seconds"))?
            }
            (None, None) => start_ms,
        };
        if end_ms < start_ms {
            backwards += 1;
            first_back.get_or_insert((row.line, start_ms - end_ms));
        }
        let tuple: Tuple<'_> = (
            protocol,
            [text(Field::Source), text(Field::SourcePort)],
            [text(Field::Destination), text(Field::DestinationPort)],
        );
        let direction = |packets, bytes| Direction { packets, bytes, is_tcp, is_v6: text(Field::Source).contains(':') };
        let flag = |flags: &[char]| text(Field::Flags).contains(flags);
        let (begins, ends) = (flag(&['S']), flag(&['F', 'R']));
        let carried = direction(number(Field::Packets)?, number(Field::Bytes)?);
        let back = direction(number(Field::BackPackets)?, number(Field::BackBytes)?);
        let record = Record { tuple, start_ms, end_ms, carried, begins, ends };
        if back.packets > 0 {
            records.push(Record { tuple: (protocol, tuple.2, tuple.1), carried: back, ..record.clone() });
        }
        if carried.packets > 0 {
            records.push(record);
        }
    }
    if let Some((line, ms)) = first_back {
        let problem = format!("{backwards} of {} records end before they start, the first by {ms} ms", records.len());
        return Err(source.wrong(line, problem, "clocks that agree"));
    }
    notes.count(others, "records of other protocols than TCP and UDP are left out");
    Ok(records)
}

/// Joins the pieces that active timeouts cut, and keeps the largest of overlapping ones.
fn joined<'a>(mut records: Vec<Record<'a>>, notes: &mut Notes) -> Vec<Record<'a>> {
    records.sort_by(|a, b| (a.tuple, a.start_ms).cmp(&(b.tuple, b.start_ms)));
    let (mut flows, mut pieces, mut copies): (Vec<Record<'a>>, _, _) = (Vec::new(), 0, 0);
    for record in records {
        let Some(last) = flows.last_mut().filter(|last| last.tuple == record.tuple) else {
            flows.push(record);
            continue;
        };
        let (carried, found) = (&mut last.carried, &record.carried);
        let same = record.start_ms == last.start_ms && found.packets == carried.packets;
        if record.start_ms < last.end_ms || same {
            copies += 1;
            if found.bytes > carried.bytes {
                *carried = *found;
            }
            last.end_ms = last.end_ms.max(record.end_ms);
        } else if record.start_ms - last.end_ms <= INACTIVE_MS && !last.ends && !record.begins {
            pieces += 1;
            carried.packets = carried.packets.saturating_add(found.packets);
            carried.bytes = carried.bytes.saturating_add(found.bytes);
            (last.end_ms, last.ends) = (record.end_ms, record.ends);
        } else {
            flows.push(record);
        }
    }
    notes.count(pieces, "records that active timeouts cut are joined to the ones before");
    notes.count(copies, "records overlap others of the same direction, as of a second exporter, and are left out");
    flows
}

/// Returns the reverse of each flow that overlaps it in time.
fn reverses(source: &Source<'_>, flows: &[Record<'_>]) -> Result<Vec<Option<Direction>>, ConvertError> {
    let (mut apart, mut together, mut first): (usize, usize, Option<i64>) = (0, 0, None);
    let reverses = flows.iter().map(|flow| {
        let (protocol, source, destination) = flow.tuple;
        let reverse = (protocol, destination, source);
        let until = flow.end_ms.saturating_add(TOLERANCE_MS);
        // Flows of one tuple do not overlap: the last that has begun is the nearest, or the next one.
        let next = flows.partition_point(|other| (other.tuple, other.start_ms) <= (reverse, until));
        let before = next.checked_sub(1).map(|at| &flows[at]).filter(|other| other.tuple == reverse);
        let after = flows.get(next).filter(|other| other.tuple == reverse);
        let gap = |other: &Record<'_>| (flow.start_ms - other.end_ms).max(other.start_ms - flow.end_ms);
        let nearest = before.into_iter().chain(after).min_by_key(|other| gap(other))?;
        if gap(nearest) > TOLERANCE_MS {
            apart += 1;
            first.get_or_insert(gap(nearest));
            return None;
        }
        together += 1;
        Some(nearest.carried)
    });
    let reverses: Vec<Option<Direction>> = reverses.collect();
    if let Some(ms) = first.filter(|_| apart * 10 > apart + together) {
        let problem = format!(
            "{apart} of {} flows do not overlap their reverse direction in time, the first by {ms} ms",
            apart + together
        );
        return Err(source.fault(None, Kind::Row, problem, "clocks of exporters that agree"));
    }
    Ok(reverses)
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let records = records(source, options, notes)?;
    if records.is_empty() {
        return Err(empty(source, "no records", "records of TCP or UDP"));
    }
    let scaled = records.iter().fold(0, |common, record| plain::common(common, record.carried.packets));
    let flows = joined(records, notes);
    let reverses = reverses(source, &flows)?;
    let headers = Headers::of(flows.iter().map(|flow| &flow.carried));
    let (mut found, mut acks, mut paired) = (Found::default(), 0, 0);
    let (mut counted, mut payload, mut single, mut of_tcp) = (Vec::new(), 0.0, 0, 0);
    // A sampled packet that is counted as many.
    let one_packet = if scaled >= plain::LEAST_RATE { scaled } else { 1 };
    for (flow, reverse) in flows.iter().zip(&reverses) {
        paired += u64::from(reverse.is_some());
        if headers.has_acks_alone(&flow.carried, reverse.as_ref()) {
            acks += 1;
            continue;
        }
        let bytes = headers.payload(&flow.carried);
        if bytes > 0 {
            counted.push(flow.carried.packets);
            payload += bytes as f64;
            of_tcp += usize::from(flow.carried.is_tcp);
            single += usize::from(flow.carried.is_tcp && flow.carried.packets <= one_packet);
        }
        found.add(bytes);
    }
    headers.say(notes);
    notes.say(match paired {
        0 => format!("{} directions, none with its reverse", flows.len()),
        paired => format!("{} directions, {paired} of them with their reverse", flows.len()),
    });
    notes.count(acks, "directions have ACKs alone and are left out");
    let one_in = options.sampled.unwrap_or(1);
    if one_in > 1 {
        let scale = if scaled.is_multiple_of(one_in.into()) { u64::from(one_in) } else { 1 };
        counted.iter_mut().for_each(|packets| *packets /= scale);
        let packets: f64 = counted.iter().map(|packets| *packets as f64).sum();
        let payload = payload / scale as f64 / packets.max(1.0);
        return sampled::estimated(source, &counted, one_in, payload, notes).map(What::Sizes);
    }
    if options.sampled.is_none() {
        let what = if scaled >= plain::LEAST_RATE && flows.len() >= 10 {
            Some(format!("all numbers of packets are multiples of {scaled}"))
        } else {
            // A connection needs a SYN and a FIN besides its data.
            let problem =
                format!("{single} of {of_tcp} directions of TCP carry data in a single packet, without SYN or FIN");
            (of_tcp >= 20 && single * 5 > of_tcp).then_some(problem)
        };
        if let Some(what) = what {
            return Err(plain::looks_sampled(source, None, &what));
        }
    }
    found.finish(source, "records", notes)
}
