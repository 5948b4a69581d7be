//! Cuts that turn out to be spurious: F-RTO (RFC 5682) after timeouts, D-SACK (RFC 2883) after any retransmission.
//!
//! An episode begins with the first cut for a loss of a window of data. It is spurious if an ACK proves so:
//!
//! - **F-RTO**, in the form for SACK (RFC 5682 §3.1), as Linux has it (`tcp_process_loss` in `net/ipv4/tcp_input.c`). A
//!   timeout sends the oldest segment again and nothing else. If the first ACK that follows moves the edge, the sender sends
//!   new data. The timeout was spurious if a segment arrives that was outstanding at the timeout and never sent again. It
//!   was not if only others arrive.
//! - **D-SACK**: all segments that the episode sent again had arrived before (`tcp_try_undo_dsack`; RFC 3708 describes the
//!   method). This may be known only after the repair has ended.
//!
//! Then the window and the threshold return to what they were (`tcp_undo_cwnd_reduction`), unless marks proved congestion in
//! the meantime. The segments that the timeout took for lost count as in flight again. The retransmission timeout is not
//! adapted (RFC 5682 §3.4 leaves that open, and so does Linux).
//!
//! Left out: proof by timestamps (Eifel, RFC 3522). Linux has it where timestamps are on.

use std::collections::BTreeSet;

use crate::tcp::board::Board;
use crate::tcp::sender::Ack;

/// What a connection has sent again, and whether the cut is spurious.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spurious {
    /// Segments that were sent again and are not cumulatively acknowledged.
    again: BTreeSet<u32>,
    episode: Option<Episode>,
}

#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The oldest segment when it began. D-SACKs for older ones say nothing about it.
    from: u32,
    /// Retransmissions whose D-SACK has not come, and whether there has been any.
    unproven: u32,
    any: bool,
    /// The window may be restored: no marks.
    restores: bool,
    frto: Frto,
    /// The next new segment at the timeout.
    until: u32,
}

/// Where F-RTO is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// The oldest segment has been sent again.
    OldestSent,
    /// New data is being sent.
    NewSent,
}

/// What an ACK proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    Nothing,
    /// The cut was spurious; `restores`: the window may be what it was.
    Spurious {
        restores: bool,
    },
}

/// What of an ACK matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// The lowest segment that it delivers and that was sent once.
    pub(crate) original: Option<u32>,
    pub(crate) advanced: bool,
    pub(crate) delivers: bool,
    pub(crate) marked: bool,
    /// One past the segment that came twice, or past the run around it.
    pub(crate) twice: Option<u32>,
    /// All that was outstanding at the timeout is acknowledged.
    pub(crate) recovered: bool,
    /// There is new data that the receiver has room for.
    pub(crate) has_new: bool,
}

impl Spurious {
    /// Returns the lowest segment that an ACK delivers and that was sent once. Call it before the scoreboard has the ACK.
    pub(crate) fn first_original(&self, board: &Board, ack: &Ack) -> Option<u32> {
        let cumulative = board.una..ack.cumulative;
        let block = ack.block.0.max(board.una)..ack.block.1;
        cumulative.chain(block).find(|&seq| !board.has_arrived(seq) && !self.again.contains(&seq))
    }

    /// Notes that a segment is sent again.
    pub(crate) fn on_sent_again(&mut self, seq: u32) {
        self.again.insert(seq);
        if let Some(episode) = &mut self.episode {
            episode.unproven += 1;
            episode.any = true;
        }
    }

    /// Returns whether a segment was sent again.
    pub(crate) fn was_sent_again(&self, seq: u32) -> bool {
        self.again.contains(&seq)
    }

    /// Begins an episode; `probed`: the last segment was sent again as a probe.
    pub(crate) fn begin(&mut self, una: u32, probed: bool) {
        self.episode = Some(Episode {
            from: una,
            unproven: u32::from(probed),
            any: probed,
            restores: true,
            frto: Frto::Off,
            until: una,
        });
    }

    /// Handles a timeout, which took all below `nxt` for lost. `tries`: F-RTO may be tried, as no repair was under way.
    pub(crate) fn on_timeout(&mut self, nxt: u32, tries: bool) {
        if let Some(episode) = &mut self.episode {
            episode.frto = if tries { Frto::OldestSent } else { Frto::Off };
            episode.until = nxt;
        }
    }

    /// Ends the episode: marks have cut the window, which are no error.
    pub(crate) fn forget(&mut self) {
        self.episode = None;
    }

    /// Returns whether lost segments have to wait while new data is sent.
    pub(crate) fn holds_lost(&self) -> bool {
        self.episode.is_some_and(|episode| episode.frto == Frto::NewSent)
    }

    /// Forgets the segments below the oldest unacknowledged one.
    pub(crate) fn prune(&mut self, una: u32) {
        while self.again.first().is_some_and(|&seq| seq < una) {
            self.again.pop_first();
        }
    }

    /// Handles an ACK that has moved the oldest segment to `una`.
    pub(crate) fn on_ack(&mut self, una: u32, evidence: Evidence) -> Proof {
        self.prune(una);
        let Some(episode) = &mut self.episode else { return Proof::Nothing };
        episode.restores &= !evidence.marked;
        if evidence.twice.is_some_and(|end| end > episode.from) {
            episode.unproven = episode.unproven.saturating_sub(1);
        }
        let by_original = episode.frto != Frto::Off && evidence.original.is_some_and(|seq| seq < episode.until);
        if by_original || episode.any && episode.unproven == 0 {
            let restores = episode.restores;
            self.episode = None;
            return Proof::Spurious { restores };
        }
        episode.frto = match episode.frto {
            Frto::OldestSent if evidence.advanced && !evidence.recovered && evidence.has_new => Frto::NewSent,
            // Only the first ACK that moves the edge lets new data go: what is selectively acknowledged is new to F-RTO.
            Frto::OldestSent if !evidence.advanced => Frto::OldestSent,
            Frto::NewSent if !evidence.delivers => Frto::NewSent,
            _ => Frto::Off,
        };
        Proof::Nothing
    }
}
