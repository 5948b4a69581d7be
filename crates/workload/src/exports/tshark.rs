//! The table of `tshark -q -z conv,tcp` (or `conv,udp`): frames and bytes of both directions of each conversation.
//!
//! Its bytes are those of Ethernet frames, so 54 B of headers a frame are taken off (66 B if frames without payload show
//! TCP's timestamps; 42 B for UDP; 20 B more for IPv6). From 10 kB on tshark rounds down to whole kB, MB or GB.

use super::netflow::{Direction, Headers};
use super::{Found, empty};
use crate::MAX_BYTES;
use crate::convert::source::{decimal, nearest, whole};
use crate::convert::{ConvertError, Fit, Notes, Options, Source, What};
use crate::samples::unit_bytes;

/// Ethernet's header, which frames have in addition to the packet.
const ETHERNET: u64 = 14;

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let is_table = source.lines().take(20).any(|row| row.text.ends_with("Conversations"));
    if is_table && source.text.contains("Filter:") { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let (mut directions, mut rounded, mut is_tcp) = (Vec::new(), 0, None);
    for row in source.rows() {
        if let Some(of) = row.text.strip_suffix(" Conversations") {
            is_tcp = match of {
                "TCP" => Some(true),
                "UDP" => Some(false),
                of => {
                    let problem = format!("conversations of {of} are not those of connections");
                    return Err(source.wrong(row.line, problem, "`tshark -q -z conv,tcp`"));
                }
            };
        }
        let (Some(is_tcp), Some((from, rest))) = (is_tcp, row.text.split_once("<->")) else { continue };
        let Some((frames, is_rounded)) = numbers(rest) else {
            let expected = "frames and bytes in both directions, such as 4 500 bytes 5 12 kB";
            return Err(source.wrong_field(row.line, "the conversation", rest.trim(), expected));
        };
        rounded += u64::from(is_rounded);
        // A port follows the address's last colon.
        let is_v6 = from.matches(':').count() > 1;
        let direction = |[packets, bytes]: [u64; 2]| Direction {
            packets,
            bytes: bytes.saturating_sub(packets.saturating_mul(ETHERNET)),
            is_tcp,
            is_v6,
        };
        directions.push(frames.map(direction));
    }
    if directions.is_empty() {
        return Err(empty(source, "no conversations", "conversations"));
    }
    let headers = Headers::of(directions.iter().flatten());
    let (mut found, mut acks) = (Found::default(), 0);
    for [back, forth] in &directions {
        for (one, other) in [(back, forth), (forth, back)] {
            match headers.has_acks_alone(one, Some(other)) {
                true => acks += 1,
                false => found.add(headers.payload(one)),
            }
        }
    }
    headers.say(notes);
    notes.count(acks, "directions have ACKs alone and are left out");
    notes.count(rounded, "conversations have bytes in kB, MB or GB, which tshark rounds down: by up to 9 %");
    found.finish(source, "conversations", notes)
}

/// Returns frames and bytes of both directions, and whether bytes are rounded.
fn numbers(rest: &str) -> Option<([[u64; 2]; 2], bool)> {
    let mut words = rest.split_whitespace().skip(1).peekable();
    let mut rounded = false;
    let mut pair = || {
        let frames = whole(words.next()?)?;
        let number = decimal(words.next()?)?;
        let unit = words.peek().and_then(|word| unit_bytes(word));
        if unit.is_some() {
            words.next();
        }
        let unit = unit.unwrap_or(1);
        rounded |= unit > 1;
        let bytes = nearest(number.checked_mul(unit.into())?)?;
        (frames.max(bytes) <= MAX_BYTES).then_some([frames, bytes])
    };
    Some(([pair()?, pair()?], rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers__of_old_and_new_versions() {
        assert_eq!(numbers(" 10.0.0.2:80  4  500 5 700 9 1200 0.0 1.5"), Some(([[4, 500], [5, 700]], false)));
        assert_eq!(numbers("b:80 4 500 bytes 5 12 kB 9 12 kB 0.0 1.5"), Some(([[4, 500], [5, 12_000]], true)));
        for wrong in ["", "b:80 4", "b:80 4 500 x 700", "b:80 4 500 kB"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
