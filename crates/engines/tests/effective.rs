//! What each scheme is under each parameter set: the digests of its effective configuration and of the built scheme. They
//! hold defaults, of which configurations show only those that are settings.

use flowsieve_engines::{Packets, built_in};
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_schemes::{Knows, REGISTRY};
use std::fmt::Write;
use std::path::Path;

const FLOWS: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = "25Gbps"
[workload]
sizes = "web-search"
flows = 40
deadlines = "exponential"
deadline_time = "500us"
[transport]
bounds = "exact"
[run]
fct_end = "arrival"
[sweep]
load = 0.5
"#;

const COFLOWS: &str = r#"
[topology]
kind = "single-switch"
hosts = 64
rtt = "66.7us"
host_link = "25Gbps"
[workload]
coflows = "model.txt"
generated_coflows = 8
[sweep]
load = 0.5
"#;

/// The schemes that take an order of coflows, or none of them.
fn sweep(takes_coflows: bool) -> String {
    let takes = |name: &str| name == "dsred" || REGISTRY.iter().any(|of| of.name == name && of.knows == Knows::Coflow);
    let names = REGISTRY.iter().map(|entry| entry.name.as_str()).filter(|name| takes(name) == takes_coflows);
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    format!("scheme = [{}]\n", names.join(", "))
}

#[test]
fn effective__what_each_scheme_is_under_each_parameter_set() {
    let (engines, packets) = (built_in(), Packets::default());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/pcoflow");
    let short = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    let mut all = String::new();
    for set in ["ns2", "rfc", "scaled", "linux"] {
        for (text, takes_coflows) in [(FLOWS, false), (COFLOWS, true)] {
            let text = ExperimentText::new("effective.toml", &format!("{text}{}", sweep(takes_coflows)));
            let changes = Changes { sets: vec![format!("parameters={set}")], ..Changes::default() };
            let plan = plan(&text, &folder, &changes, &engines).unwrap();
            for (point, info) in plan.points.iter().zip(&plan.experiment.points) {
                let settings: String =
                    info.settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
                let setup = packets.set_up(point, 1).unwrap();
                let built = format!("{:?} {} {:?}", setup.scheme, setup.wire_overhead, info.thresholds_bytes);
                writeln!(all, "{set} {}: {} {}", point.variant.name, short(&settings), short(&built)).unwrap();
            }
        }
    }
    assert_eq!(all.lines().count(), 4 * REGISTRY.len());
    insta::assert_snapshot!(all);
}
