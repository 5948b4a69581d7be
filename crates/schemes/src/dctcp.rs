//! DCTCP (Alizadeh et al., SIGCOMM 2010): one FIFO queue per port, marked above a threshold K; senders cut by the marked
//! fraction. The parameters of `ns2` are those with which PIAS and QCluster compare it. K = 65 packets is the paper's for
//! 10 Gbit/s (§3.1 of its evaluation), and stays 65 packets at other rates unless set.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, Parts};
use crate::scheme::Scheme;
use flowsieve_settings::SettingsError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "dctcp",
    label: "DCTCP",
    summary: "one queue a port with ECN; senders cut by the marked fraction",
    paper: "Alizadeh et al., SIGCOMM 2010",
    knows: Knows::Nothing,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    parts::build(context, &Parts::default())
}
