//! The command with the schemes of docs/extend in it.

mod coflow_order;
mod coflow_turns;
mod credits;
mod emptier_uplink;
mod paced_rate;
mod shortest_first;
mod telemetry;

use flowsieve_schemes::Entry;
use std::process::ExitCode;

fn main() -> ExitCode {
    const SCHEMES: &[Entry] = &[
        shortest_first::ENTRY,
        emptier_uplink::ENTRY,
        coflow_order::PRIORITY,
        coflow_order::ORDER,
        coflow_turns::ENTRY,
        credits::ENTRY,
        paced_rate::ENTRY,
        telemetry::ENTRY,
    ];
    flowsieve::main_with(SCHEMES, &[])
}
