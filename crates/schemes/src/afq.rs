//! Approximate fair queueing (Sharma et al., NSDI 2018): rounds of a set number of bytes for each flow, on a calendar of
//! FIFO queues; the transport is DCTCP.
//!
//! Eight queues of 100 packets a round are those of QCluster's comparison (`FQ_AFQ.cc` of qcluster/QCluster), which puts
//! packets beyond the calendar into its last queue: `afq_beyond = "last-queue"`. That code counts packets and adds the
//! round to them; here a flow's bid is in bytes and not less than the round's start, as published. SP-PIFO's authors
//! (nsg-ethz/SP-PIFO) have 32 or 8 queues of 80 B a round. The sketch's size is our choice: with 100 active flows, three
//! rows of 1,024 cells mix up one flow in a thousand.

use flowsieve_core::afq::{AfqRules, Beyond, BidStore};

use crate::parts::PortSettings;
use flowsieve_settings::declare;
use flowsieve_settings::{Section, Setting, SettingsError};

/// Where the bids of flows are kept, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BidsName {
    Sketch,
    Exact,
}

declare! {
    static BYTES_PER_ROUND: Setting<u64> = Setting::size(
        Section::Network, "bytes_per_round", 1, 1_000_000_000_000, "AFQ: bytes of each flow that a round serves",
    )
    .computed("100 full packets");
    static BIDS: Setting<BidsName> = Setting::choice(
        Section::Network,
        "afq_bids",
        &[("sketch", BidsName::Sketch), ("exact", BidsName::Exact)],
        "AFQ: whether flows' bids are kept in a count-min sketch or exactly",
    )
    .with_default(BidsName::Sketch);
    static ROWS: Setting<u64> = Setting::count(
        Section::Network, "afq_rows", 1, 16, "AFQ: hash functions of the sketch",
    )
    .with_default(3);
    /// Cells of a row.
    pub static COLUMNS: Setting<u64> = Setting::count(
        Section::Network, "afq_columns", 1, 1_048_576, "AFQ: cells for each hash function of the sketch",
    )
    .with_default(1_024);
    static BEYOND: Setting<Beyond> = Setting::choice(
        Section::Network,
        "afq_beyond",
        &[("drop", Beyond::Drop), ("last-queue", Beyond::LastQueue)],
        "AFQ: what happens to a packet beyond the calendar",
    )
    .with_default(Beyond::Drop);
}

/// Reads the calendar of a port.
pub(crate) fn rules(of: &PortSettings<'_>) -> Result<AfqRules, SettingsError> {
    let scope = of.scope;
    // The settings' own limits keep them within 32 bits.
    let count = |setting| scope.read(setting).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok(AfqRules {
        queues: of.queues()?,
        bytes_per_round: scope.read_or(&BYTES_PER_ROUND, 100 * of.mtu()?)?,
        bids: match scope.read(&BIDS)? {
            BidsName::Sketch => BidStore::Sketch { rows: count(&ROWS)?, columns: count(&COLUMNS)? },
            BidsName::Exact => BidStore::Exact,
        },
        beyond: scope.read(&BEYOND)?,
    })
}
