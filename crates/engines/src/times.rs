//! Times that schemes state for fast links, on slower ones (`scale_times`).
//!
//! QCluster's period of weights is 100 us, in which a link of 10 Gbit/s carries 83 packets and one of 50 Mbit/s not even
//! one. Defaults that are stated for a rate follow the rate of the hosts' links. Given times stay as they are, and so do
//! those that are long at any rate: the periods of controllers, timeouts.

use std::collections::BTreeSet;

use flowsieve_experiment::Error;
use flowsieve_schemes::parameters::fastest_host_bps;
use flowsieve_settings::units::format_rate;
use flowsieve_settings::{Section, Setting, Settings, Table, Value, declare};
use flowsieve_sim::topology::Fabric;

declare! {
    static SCALE_TIMES: Setting<bool> = Setting::flag(
        Section::Lab, "scale_times",
        "whether default times that schemes state for faster links follow the rate of the hosts' links; also in the \
         simulator; not given: true with engine = \"linux\" or parameters = \"scaled\"",
    )
    .needs("a scheme or load balancing whose times are stated for faster links, such as qc-las, and not all of them given");
}

/// The entry of the effective configuration where times are scaled, given or not.
const ENTRY: &str = "lab.scale_times";

/// The rate of hosts, in bit/s, below which an experiment is one that a lab could carry.
const OF_LABS: u64 = 1_000_000_000;

fn given<'a>(settings: &'a Settings, section: Section, name: &'static str) -> Option<&'a Value> {
    settings.given(&(Table::Section(section), name)).map(|(value, _)| value)
}

/// Returns whether times are scaled where nothing is said of it: packets are real ones, or the parameter set is for the
/// fabric's rate and round trip.
fn is_usual(settings: &Settings) -> bool {
    [("engine", "linux"), ("parameters", "scaled")]
        .into_iter()
        .any(|(name, scales)| matches!(given(settings, Section::Run, name), Some(Value::Text(text)) if text == scales))
}

/// Scales the times that are read from now on, if they are to be scaled.
pub(crate) fn scale(settings: &Settings, fabric: &Fabric) {
    let wanted = match given(settings, SCALE_TIMES.section, SCALE_TIMES.name) {
        Some(value) => *value == Value::Flag(true),
        None => is_usual(settings),
    };
    settings.scale_times(wanted.then(|| fastest_host_bps(fabric)));
}

/// Adds to the effective configuration that times were scaled. Where none is, it is as without `scale_times`; where there
/// are none to scale, `scale_times` stays unread.
pub(crate) fn note(settings: &Settings) -> Result<(), Error> {
    let times = settings.stated_times();
    if times.is_empty() {
        return Ok(());
    }
    settings.common().optional(&SCALE_TIMES)?;
    if times.iter().any(|(_, _, changed)| *changed) {
        settings.note(ENTRY, true);
    } else {
        settings.leave_out(|name| name == ENTRY);
    }
    Ok(())
}

/// Says which times were scaled; in the simulator also which ones are not, and would be in the lab.
pub(crate) fn in_words(settings: &Settings, fabric: &Fabric) -> Option<String> {
    let is_asked = given(settings, SCALE_TIMES.section, SCALE_TIMES.name).is_some();
    let differs = !is_asked && !is_usual(settings) && fastest_host_bps(fabric) < OF_LABS;
    let scaled = settings.stated_times().into_iter().filter(|(_, _, changed)| *changed || differs);
    // A time of several places is told once.
    let each: BTreeSet<String> =
        scaled.map(|(name, value, _)| format!("{} {value}", name.rsplit('.').next().unwrap_or(&name))).collect();
    let each: Vec<String> = each.into_iter().collect();
    let rate = format_rate(fastest_host_bps(fabric));
    if differs && !each.is_empty() {
        let text = "times are as they are stated for faster links, and the lab scales them to";
        return Some(format!("{text} {rate}, as `scale_times = true` in [lab] does here: {}", each.join(", ")));
    }
    (!each.is_empty()).then(|| {
        format!("times that are stated for other links are scaled to {rate} (`scale_times`): {}", each.join(", "))
    })
}
