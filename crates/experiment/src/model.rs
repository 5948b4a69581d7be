//! What a part's result depends on: its settings, its seed and the model, which together are its key.

use std::collections::BTreeMap;

/// Version of the model. It increases when the same settings and seed give another result, so that an old part is not
/// taken for a new one. The changelog gives the reason each time.
pub const MODEL: u32 = 13;

/// What changed with each model from the fourth on.
const CHANGES: [&str; MODEL as usize - 3] = [
    "thresholds = \"worst\" come from a finer law of sizes",
    "messages that begin at a run's first instant are not told apart by time",
    "a built-in port holds at most 4 GiB",
    "awafs-auto at hosts counts their load period by period",
    "flows have columns of losses and of what receivers held",
    "flows have a column of duplicate ACKs, and coflows have width and ideal CCT",
    "sparse levels of coflows that are spread anew leave no level free",
    "levels of NOS2 and ES-8 begin at their threshold; qc-srpt and qc-ddl rank by what remains of a message",
    "manifests hold only settings that acted, and what flows waited for",
    "the order of packets that arrive at one instant is drawn; spraying takes turns for each flow; HULA's flowlets leave silent \
     paths; loss_detection = \"auto\" looks at the fabric; parameters = \"scaled\" has one rule of buffers and timers",
];

/// Lists what changed since a model, a sentence for each later one that is known.
pub fn changed_since(model: u32) -> Vec<String> {
    let later = (4..).zip(CHANGES).filter(|(number, _)| *number > model);
    later.map(|(number, what)| format!("model {number}: {what}")).collect()
}

/// Returns the revision of those settings whose results alone have changed, so that the parts of all others stay valid.
fn revision(settings: &BTreeMap<String, String>) -> &'static str {
    let is = |key: &str, value: &str| settings.get(key).is_some_and(|found| found == value);
    let one_of = |key: &str, values: &[&str]| values.iter().any(|value| is(key, value));
    // Later revisions first: a part from before the last that concerns it is no longer valid.
    if is("run.fidelity", "flow") && one_of("scheme.base", &["fair-queueing", "nagle"]) && !is("run.fct_end", "arrival")
    {
        "flows that are acknowledged end with their last ACK\n"
    } else if settings.get("scheme.controller").is_some_and(|controller| controller.starts_with("survival")) {
        "thresholds by what messages have sent are those of the least slowdown\n"
    } else if is("workload.pattern", "incast") {
        "requests of incast are coflows\n"
    } else if is("scheme.rates", "madd") {
        "what MADD leaves is shared as in CoflowSim\n"
    } else if settings.iter().any(|(key, value)| key.ends_with("load_balancing") && value == "hula") {
        "HULA passes on the better probes of a round\n"
    } else {
        ""
    }
}

/// Builds a part's name from all that its result depends on.
pub(crate) fn part_key(settings: &BTreeMap<String, String>, seed: u64, kept: &str) -> String {
    key_of_model(settings, seed, kept, &MODEL.to_string())
}

/// Does the same for a model of before.
pub(crate) fn key_of_model(settings: &BTreeMap<String, String>, seed: u64, kept: &str, model: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("model {model}\nseed {seed}\n{kept}{}", revision(settings)).as_bytes());
    for (name, value) in settings {
        // The lengths prevent a value with a line break from passing for two settings.
        hasher.update(format!("{} {} {name} {value}\n", name.len(), value.len()).as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_key__of_settings_whose_results_changed_has_the_last_revision() {
        let settings = |pattern: &str, controller: &str| {
            let settings = [("workload.pattern", pattern), ("scheme.controller", controller)];
            BTreeMap::from(settings.map(|(key, value)| (key.to_owned(), value.to_owned())))
        };
        assert_eq!(revision(&settings("all-to-all", "none")), "");
        let incast = revision(&settings("incast", "none"));
        assert!(incast.contains("incast"));
        for controller in ["survival", "survival, alone"] {
            assert!(revision(&settings("all-to-all", controller)).contains("slowdown"));
            assert!(revision(&settings("incast", controller)).contains("slowdown"));
        }
        let flow_level = |base: &str, end: &str| {
            let settings = [("run.fidelity", "flow"), ("scheme.base", base), ("run.fct_end", end)];
            BTreeMap::from(settings.map(|(key, value)| (key.to_owned(), value.to_owned())))
        };
        assert!(revision(&flow_level("nagle", "ack")).contains("last ACK"));
        assert_eq!([("nagle", "arrival"), ("ps", "ack")].map(|(base, end)| revision(&flow_level(base, end))), ["", ""]);
    }
}
