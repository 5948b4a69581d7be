//! The segments that a sender takes for lost because its receiver, which compares priorities, says so (QCLIMB, NSDI 2024,
//! §3.2.3).
//!
//! [`Gaps::First`]: the segment at the cumulative edge, once per edge. [`Gaps::Every`]: what is missing between an ACK's
//! block, or the edge, and the nearest segment known to have arrived. A receiver reports the same gap again and again. So
//! the sender remembers the requests: it finds a segment lost once. One that is lost again, or that a timeout took for
//! lost, is left to the timer (RFC 6675 §5.1). A number below which everything is judged, as for duplicate ACKs, would not
//! do: a lower gap may become decided after a higher one.
//!
//! If ACKs are lost, a sender that hears of every gap may not know of the run below one, and takes more for lost than its
//! receiver reported. SACK's further blocks prevent that (RFC 2018 §4); they are left out.

use std::collections::BTreeSet;

use crate::tcp::board::Board;
use crate::tcp::params::Gaps;
use crate::tcp::sender::Ack;

/// The requested segments among those that are not cumulatively acknowledged; kept for [`Gaps::Every`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(BTreeSet<u32>);

/// Handles an ACK whose flag says that something is lost. Marks the segments that were not found before, and returns them.
/// There may be none: an older ACK says nothing new about the edge.
pub(crate) fn lose(asked: &mut Option<Box<Asked>>, gaps: Gaps, board: &mut Board, ack: &Ack, nxt: u32) -> Vec<u32> {
    let at_edge = ack.cumulative == board.una && board.una < nxt;
    match gaps {
        Gaps::First if at_edge && board.lose_first() => vec![board.una],
        Gaps::First => Vec::new(),
        Gaps::Every => {
            let Asked(known) = &mut **asked.get_or_insert_default();
            while known.first().is_some_and(|&seq| seq < board.una) {
                known.pop_first();
            }
            let (start, end) = ack.block;
            let gap = match start < end {
                true => board.missing_below(start),
                false if at_edge => board.missing_at_edge(),
                false => 0..0,
            };
            let found: Vec<u32> = gap.filter(|&seq| known.insert(seq)).collect();
            found.iter().for_each(|&seq| board.lose(seq));
            found
        }
    }
}
