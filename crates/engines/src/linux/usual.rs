//! What an experiment leaves open and the lab takes otherwise than the simulator.

use flowsieve_experiment::{Error, Point};
use flowsieve_schemes::sets;
use flowsieve_settings::{Origin, Raw, Table};

/// Settings that follow from the sender of Linux, and have to be given with another set: name, value, and whether they are
/// about flows that the lab sends itself. `ack_every` is not among them: a scheme may have a number of its own.
const WITH_OTHERS: [(&str, &str, bool); 3] =
    [("nic", "scheme", false), ("connections", "warm", true), ("handshake", "none", true)];

/// Gives a point the sender of Linux and what its hosts need, where nothing is given; returns what it gave, as a file states it.
pub(super) fn give(point: &mut Point, sends: bool) -> Result<Vec<String>, Error> {
    let mut given = Vec::new();
    give_one(point, ("parameters", "linux"), &mut given)?;
    if sends {
        give_one(point, ("fct_end", "arrival"), &mut given)?;
    }
    if sets::of(&point.settings.common())?.name != "linux" {
        for (name, value, _) in WITH_OTHERS.iter().filter(|(.., of_flows)| sends || !of_flows) {
            give_one(point, (name, value), &mut given)?;
        }
    }
    Ok(given)
}

fn give_one(point: &mut Point, (name, value): (&str, &str), given: &mut Vec<String>) -> Result<(), Error> {
    let Some(key) = point.settings.find(name) else { return Ok(()) };
    if point.settings.scheme(&point.variant.name).is_given(key) {
        return Ok(());
    }
    point.settings.give(Table::Section(key.section), key, &Raw::from(value), Origin::Default)?;
    given.push(format!("{name} = {value:?}"));
    Ok(())
}
