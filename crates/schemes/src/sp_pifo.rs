//! SP-PIFO (Alcoz, Dietmüller, Vanbever, NSDI 2020): strict-priority FIFO queues whose bounds follow the ranks that arrive,
//! instead of a queue sorted by rank. As in the paper's evaluation of flow completion times, ranks are pFabric's remaining
//! bytes and senders are pFabric's. Tagger and transport are settings.
//!
//! Each queue has its own limit, so packets of low urgency leave room for the others. It is 18 packets; in 8 queues, these
//! are about the 140 of the pool with which pFabric is compared here. The authors' simulations (nsg-ethz/SP-PIFO) have 8
//! queues of 10 packets: `buffer = "10pkt"`.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, AdmissionName, DisciplineName, Part, Parts};
use crate::pfabric;
use crate::scheme::Scheme;
use flowsieve_settings::SettingsError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "sp-pifo",
    label: "SP-PIFO",
    summary: "strict priorities whose bounds follow the ranks; ranks and senders as in pFabric",
    paper: "Alcoz et al., NSDI 2020",
    knows: Knows::Size,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let parts = Parts {
        port: Part::Named(DisciplineName::SpPifo),
        queues: 8,
        buffer_packets: 18,
        admission: AdmissionName::PerQueue,
        ..pfabric::PARTS
    };
    parts::build(context, &parts)
}
