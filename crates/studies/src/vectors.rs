//! Conformance vectors of an experiment's schemes: what one port of each decides ([`flowsieve_lab::vectors`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flowsieve_engines::Packets;
use flowsieve_experiment::Error;
use flowsieve_experiment::plan::Plan;
use flowsieve_lab::vectors::{Case, record};
use flowsieve_settings::Place;

/// Which vectors to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The place of the port.
    pub place: Place,
    /// How many packets arrive in each case.
    pub packets: u32,
    /// The seed of the packets.
    pub seed: u64,
}

/// Writes a case for each scheme and fabric of a plan: points that differ in their workload alone have the same.
///
/// # Errors
/// Fails if a point cannot be set up, if its fabric has no port at the place, or if the output cannot be written.
pub fn vectors(plan: &Plan, packets: &Packets, wanted: &Wanted, out: &mut impl Write) -> Result<(), Error> {
    let mut written = BTreeSet::new();
    for point in &plan.points {
        let setup = packets.set_up(point, wanted.seed)?;
        let of_ports = |name: &String| name.starts_with("scheme.") || name.starts_with("topology.");
        let mut settings: BTreeMap<String, String> = point.settings.effective();
        settings.retain(|name, _| of_ports(name));
        let fabric = &setup.fabric;
        let Some(link) = fabric.links.iter().position(|link| fabric.place_of(link.from) == wanted.place) else {
            let place = wanted.place.name();
            return Err(Error::Input(format!("--place {place}: {} has no port there", point.label())));
        };
        // Settings may name a rule whose values follow the workload.
        let built = format!("{:?} {:?}", setup.scheme, fabric.links[link]);
        if !written.insert((built, settings.clone())) {
            continue;
        }
        let case = Case {
            fabric,
            scheme: &setup.scheme,
            overhead: setup.wire_overhead,
            link: link as u32,
            seed: wanted.seed,
            packets: wanted.packets,
            tables: &[],
        };
        record(&case, settings, out).map_err(Error::Output)?;
    }
    Ok(())
}
