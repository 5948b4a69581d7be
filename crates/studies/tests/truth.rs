//! Nothing stands in a manifest that did not act: of every built-in scheme, each setting of the effective configuration of the
//! scheme is given another value, and the result of a small run has to differ. What cannot differ there is listed, with the
//! reason.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_schemes::REGISTRY;
use flowsieve_settings::Kind;
use flowsieve_settings::units;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Flows with deadlines and coflows, bursts to one host, and pauses between the messages of a pair, so that buffers fill, marks are
/// made, timers fire and connections are idle.
fn flows() -> String {
    let mut rows = "start_s,src,dst,bytes,deadline_s,coflow\n".to_owned();
    let seconds = |us: u64| format!("0.{us:06}");
    for burst in 0..8u64 {
        for flow in 0..9u64 {
            let (src, dst) = (flow % 7, if flow < 6 { 7 } else { (flow + burst) % 7 });
            if src == dst {
                continue;
            }
            // From one packet to some hundred, each burst with its own.
            let bytes = [1_200, 9_000, 700_000, 30_000, 150_000, 400_000, 60_000, 3_000, 250_000]
                [((flow * 5 + burst) % 9) as usize];
            let (start, deadline) = (seconds(burst * 700 + flow * 11), seconds(200 + 90 * flow));
            let _ = writeln!(rows, "{start},{src},{dst},{bytes},{deadline},{burst}");
        }
    }
    rows
}

/// A scheme on a small fabric that loses packets.
fn experiment(scheme: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_link = \"10Gbps\"\nfabric_link = \"10Gbps\"\n\
         [[topology.link]]\nbetween = [\"leaf1\", \"spine0\"]\nrate = \"2Gbps\"\nloss = 0.004\n\
         [workload]\nlist = \"flows.csv\"\n\
         [network]\nmtu = \"1.5KB\"\n{}\
         [sweep]\nscheme = [\"{scheme}\"]\n[schemes.{scheme}]\n{}{more}\n",
        of_run(scheme),
        of_scheme(scheme)
    )
}

/// What a scheme needs to be told.
fn of_scheme(scheme: &str) -> &'static str {
    match scheme {
        "qclimb" | "qclimb-pp" | "qclimb-fp" | "pfabric-predicted" | "homa-predicted" => "bounds = \"exact\"\n",
        _ => "",
    }
}

/// What its runs need to be told.
fn of_run(scheme: &str) -> &'static str {
    match scheme {
        "homa" | "homa-predicted" => "[run]\nfct_end = \"arrival\"\n",
        _ => "",
    }
}

/// The effective configuration, and what the run measured.
fn run(folder: &Path, scheme: &str, sets: &[String]) -> Result<(BTreeMap<String, String>, String), String> {
    let changes = Changes { sets: sets.to_vec(), ..Changes::default() };
    let text = ExperimentText::new("truth.toml", &experiment(scheme, ""));
    let shown = |error: flowsieve_experiment::Error| error.render(false);
    let plan = plan::plan(&text, folder, &changes, &built_in()).map_err(shown)?;
    let result = built_in().run(&plan.points[0], 1, &mut go_on, None).map_err(shown)?;
    let told = format!("{:?} {:?} {:?} {:?}", result.flows, result.links, result.counts, result.periodic);
    Ok((plan.experiment.points[0].settings.clone(), told))
}

/// Other values of a setting, as `--set` takes them.
fn others(kind: Kind, value: &str) -> Vec<String> {
    let scaled = |factors: &[f64], parse: &dyn Fn(&str) -> Option<u64>, write: &dyn Fn(u64) -> String| {
        let now = parse(value).unwrap_or_default();
        let of = |factor: &f64| ((now as f64 * factor) as u64).max(1);
        factors.iter().map(of).filter(|other| *other != now).map(write).collect::<Vec<_>>()
    };
    match kind {
        Kind::Choice(names) => {
            names.names().into_iter().filter(|name| *name != value).map(|name| format!("\"{name}\"")).collect()
        }
        Kind::Flag => vec![if value == "true" { "false" } else { "true" }.to_owned()],
        Kind::Size(..) => scaled(
            &[0.05, 0.5, 2.0, 8.0],
            &|text| units::parse_size(text).ok().and_then(|size| size.in_bytes(1_500)),
            &|bytes| format!("\"{bytes}B\""),
        ),
        Kind::Time(..) => {
            scaled(&[0.05, 0.5, 3.0, 40.0], &|text| units::parse_time(text).ok(), &|ps| format!("\"{ps}ps\""))
        }
        Kind::Rate => scaled(&[0.1, 0.5, 2.0], &|text| units::parse_rate(text).ok(), &|bps| {
            format!("\"{}Mbps\"", bps / 1_000_000)
        }),
        Kind::Count(..) | Kind::CountOrList(..) => {
            let now: u64 = value.parse().unwrap_or_default();
            [0, 1, 2, 3, now / 2, now + 1, now * 3]
                .into_iter()
                .filter(|other| *other != now)
                .map(|other| other.to_string())
                .collect()
        }
        Kind::Number(..) | Kind::NumberAbove(..) => {
            let now: f64 = value.parse().unwrap_or_default();
            [0.0, 0.03, 0.5, 0.9, 1.0, 3.0, 20.0]
                .into_iter()
                .filter(|other| *other != now)
                .map(|other| format!("{other:?}"))
                .collect()
        }
        Kind::SizeList | Kind::SizeListOr(_) => vec![
            "[\"5KB\", \"50KB\"]".into(),
            "[\"20KB\"]".into(),
            "[]".into(),
            "\"equal-split\"".into(),
            "[\"2KB\", \"4KB\", \"8KB\", \"16KB\", \"32KB\", \"64KB\", \"128KB\"]".into(),
        ],
        _ => Vec::new(),
    }
}

/// What the small run cannot show, by the setting's name, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("admission", "with one queue, or in a host's port, whose memory is its own, all ways are one"),
    ("ecn", "where nothing is marked by default it acts together with `marking`"),
    (
        "marking",
        "where the transport is deaf to marks by default it acts together with `ecn`; a spine marks only where it queues",
    ),
    ("nic", "a host that sends all at once refuses the other"),
    (
        "load_balancing",
        "one that compares priorities refuses what spreads flows; a spine has one way, but counts among what spreads",
    ),
    ("rto", "its least is that of the other way, unless a path is slower"),
    ("slow_start_restart", "windows do not grow beyond their first size in a run with these buffers"),
    ("trim_return", "the headers of few flows find room"),
    ("dcqcn_bytes", "the run is shorter than what it counts"),
    ("dcqcn_hyper", "the run is shorter than what it counts"),
    ("ecn_threshold_at", "K of the fabric's rates is that of the file, and another text is refused"),
    ("pfc_alpha", "few flows never fill the memory so far"),
    ("swift_least", "the windows of few flows do not fall so far"),
    ("sketch", "few flows never meet in a sketch"),
    ("sketch_arrays", "few flows never meet in a sketch"),
    ("conservative_update", "few flows never meet in a sketch"),
    ("afq_bids", "few flows never meet in a sketch"),
    ("afq_rows", "few flows never meet in a sketch"),
    ("afq_beyond", "no flow is beyond the calendar"),
    ("alpha", "the run is shorter than what it adapts to"),
    ("alpha_gain", "the run is shorter than what it adapts to"),
    ("weight_half_life", "the run is shorter than what it adapts to"),
    ("cluster_size", "the run is shorter than what it adapts to"),
    ("threshold_rule", "the run is shorter than what it adapts to"),
    ("special", "flows of a property that none has"),
    ("special_order", "flows of a property that none has"),
    ("message_gap", "connections do not pause for so long"),
    ("controller_delay", "the run is shorter than a period of the controller"),
    ("observe_window", "the run is shorter than a period of the controller"),
    ("list_memory", "the run is shorter than a window of AWAFS"),
    ("update_window", "the run is shorter than a window of AWAFS"),
    ("percentiles", "the run is shorter than a window of AWAFS"),
    ("percentile_of", "the run is shorter than a window of AWAFS"),
    ("announce", "coflows are small compared with Aalo's first class"),
    ("coordinator_delay", "coflows are small compared with Aalo's first class"),
    ("dclas_between", "coflows are small compared with Aalo's first class"),
    ("dclas_factor", "coflows are small compared with Aalo's first class"),
    ("dclas_first", "coflows are small compared with Aalo's first class"),
    ("outlived", "no flow outlives an exact prediction"),
    ("slack", "no flow outlives an exact prediction"),
    ("unseen", "no flow outlives an exact prediction"),
    ("pcoflow_marks", "no packet joins another band than its tag's"),
    ("spine.red_average", "a spine marks only where it queues"),
    ("spine.red_max", "a spine marks only where it queues"),
    ("spine.red_min", "a spine marks only where it queues"),
    ("spine.red_probability", "a spine marks only where it queues"),
    ("spine.ecn_threshold", "a spine marks only where it queues"),
    ("spine.ecn_counts_arriving", "a spine marks only where it queues"),
    ("nic.ecn_counts_arriving", "a host's port that is marked by RED rarely differs by a packet"),
    ("spine.buffer", "a spine drops only where it queues"),
    ("spine.discipline", "a spine has an order only where it queues"),
    ("mtu", "at a place it is what a buffer has to hold at least"),
];

/// The same of schemes that order coflows alone: their bands mark few packets, or at random.
const OF_COFLOWS: (&[&str], &[&str]) = (
    &[
        "dctcp_g",
        "initial_alpha",
        "leaf.ecn_counts_arriving",
        "leaf.red_average",
        "leaf.red_max",
        "leaf.red_probability",
    ],
    &[
        "aalo",
        "dsred",
        "pcoflow-drop",
        "pcoflow-ecn",
        "pcoflow-move",
        "pcoflow-sp-pifo",
        "sebf",
        "sincronia",
        "sp-elastic",
    ],
);

/// Those that the schemes' own parts are made of: they act wherever they stand, at hosts or leaves at the least.
const SHARED: &[&str] = &[
    "transport",
    "initial_window",
    "max_window",
    "handshake",
    "connections",
    "dctcp_g",
    "queues",
    "header",
    "ack_every",
];

/// Every fourth scheme from this one on.
fn each_setting_acts(first: usize) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flows.csv"), flows()).unwrap();
    let mut idle: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for entry in REGISTRY.iter().skip(first).step_by(4) {
        let scheme = entry.name.as_str();
        let (settings, told) = run(folder.path(), scheme, &[]).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        for (address, value) in &settings {
            let Some(path) = address.strip_prefix("scheme.").filter(|path| !path.ends_with("digest")) else { continue };
            let name = path.rsplit('.').next().unwrap_or(path);
            let Some(key) = built_in().keys().find(name).filter(|_| name != "base") else { continue };
            let acts = |other: &String| {
                let set = format!("schemes.{scheme}.{path}={other}");
                run(folder.path(), scheme, &[set]).is_ok_and(|(_, other)| other != told)
            };
            // The largest window is at least the initial one, and may be that.
            let least = settings.get("scheme.initial_window").filter(|_| name == "max_window").cloned();
            if !others(key.kind, value).iter().chain(&least).any(acts) {
                idle.entry(path.to_owned()).or_default().insert(scheme);
            }
        }
    }
    let (paths, schemes) = OF_COFLOWS;
    // NSCC's hosts hand their port one packet at a time (`nic_packets` = 1): nothing waits there.
    let known = |path: &str, of: &BTreeSet<&str>| {
        let listed = EXCEPTIONS.iter().any(|(name, _)| path == *name || path.rsplit('.').next() == Some(*name));
        let of_nscc = path == "nic_backlog" && of.iter().all(|scheme| *scheme == "nscc");
        listed || of_nscc || paths.contains(&path) && of.iter().all(|scheme| schemes.contains(scheme))
    };
    let unknown: Vec<_> = idle.iter().filter(|(path, of)| !known(path, of)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn effective_configuration__each_setting_of_each_scheme_acts() {
    for (name, _) in EXCEPTIONS {
        let key = name.rsplit('.').next().unwrap_or(name);
        assert!(built_in().keys().find(key).is_some() && !SHARED.contains(&key), "{name}");
    }
    each_setting_acts(0);
}

#[test]
fn effective_configuration__each_setting_of_a_second_quarter_acts() {
    each_setting_acts(1);
}

#[test]
fn effective_configuration__each_setting_of_a_third_quarter_acts() {
    each_setting_acts(2);
}

#[test]
fn effective_configuration__each_setting_of_a_fourth_quarter_acts() {
    each_setting_acts(3);
}
