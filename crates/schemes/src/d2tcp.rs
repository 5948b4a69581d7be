//! D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP whose senders yield less the nearer their deadline is. Ports are
//! DCTCP's. Messages without a deadline, or with one that has passed, are sent as in DCTCP.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, Part, Parts, TransportName};
use crate::scheme::Scheme;
use flowsieve_settings::SettingsError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "d2tcp",
    label: "D2TCP",
    summary: "DCTCP whose senders cut less before a near deadline, and more before a far one",
    paper: "Vamanan, Hasan, Vijaykumar, SIGCOMM 2012",
    knows: Knows::Deadline,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    parts::build(context, &Parts { transport: Part::Named(TransportName::D2tcp), ..Parts::default() })
}
