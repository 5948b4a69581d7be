//! Approximate fair queueing (Sharma et al., NSDI 2018): rounds of some bytes for each flow on a calendar of FIFO queues;
//! the transport is DCTCP.
//!
//! Eight queues of 100 packets a round are those of QCluster's comparison (`FQ_AFQ.cc` of qcluster/QCluster), which puts
//! what is beyond the calendar into its last queue: `afq_beyond = "last-queue"`. That code counts packets and adds the
//! round to them; here a flow's bid is in bytes and not less than the round's start, as published. SP-PIFO's authors
//! (nsg-ethz/SP-PIFO) have 32 or 8 queues of 80 B a round. The sketch's size is a choice of this house: three rows of 1,024
//! cells mix up one flow in a thousand where a hundred are active.

use flowsieve_core::afq::{AfqRules, Beyond, BidStore};

use crate::parts::{self, Parts, PortSettings};
use crate::registry::{Context, Entry, Knows};
use crate::scheme::Scheme;
use crate::settings::SettingsError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "afq",
    summary: "fair queueing in rounds, on a calendar of FIFO queues with ECN",
    paper: "Sharma et al., NSDI 2018",
    knows: Knows::Nothing,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    parts::build(context, &Parts { discipline: "afq", queues: 8, ..Parts::default() })
}

/// The calendar of a port.
pub(crate) fn rules(of: &PortSettings<'_>) -> Result<AfqRules, SettingsError> {
    let scope = of.scope;
    let count = |name, default| scope.count(name, default).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok(AfqRules {
        queues: scope.count("queues", of.parts.queues)? as usize,
        bytes_per_round: scope.bytes("bytes_per_round", 100 * of.mtu)?,
        bids: match scope.choice("afq_bids", &[("sketch", true), ("exact", false)], "sketch")? {
            true => BidStore::Sketch { rows: count("afq_rows", 3)?, columns: count("afq_columns", 1_024)? },
            false => BidStore::Exact,
        },
        beyond: scope.choice("afq_beyond", &[("drop", Beyond::Drop), ("last-queue", Beyond::LastQueue)], "drop")?,
    })
}
