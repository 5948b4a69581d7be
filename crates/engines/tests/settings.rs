//! The settings that the engines declare, as experiment files and `--set` take them.

use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::document::{parse, sweepable};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_settings::{Kind, Origin, Section, Table};
use std::collections::BTreeSet;
use std::path::Path;

const HINT: &str = "lists go into [sweep]";
const SMALL: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[workload]\nsizes = \"fixed(20KB)\"\nload = 0.4\nflows = 6\n";

fn planned(text: &str, sets: &[String], engines: &Engines) -> Result<Plan, Error> {
    let changes = Changes { sets: sets.to_vec(), ..Changes::default() };
    plan(&ExperimentText::new("t.toml", text), Path::new(""), &changes, engines)
}

#[test]
fn keys__are_unique_and_helped() {
    let engines = built_in();
    let names: BTreeSet<&str> = engines.keys().iter().map(|key| key.name).collect();
    assert_eq!(names.len(), engines.keys().iter().count());
    for key in engines.keys().iter() {
        assert!(!key.help.is_empty() && !key.help.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn parse__a_list_for_one_value_is_told_where_lists_go() {
    let engines = built_in();
    let keys = engines.keys();
    let expected_of = |text: &str| {
        let input = ExperimentText::new("test.toml", text);
        parse(&input, &engines).map(|_| ()).unwrap_err().details().expected.unwrap_or_default()
    };
    assert!(expected_of("[workload]\nload = [0.5, 0.7]\n").ends_with(HINT));
    for key in keys.iter() {
        let table = if key.section == Section::Scheme { "schemes.mine" } else { key.section.path() };
        let list = if key.kind.is_list() { "[[1], [2]]" } else { "[1, 2]" };
        let text = match key.section {
            Section::Link | Section::Event => format!("[[{table}]]\n{} = {list}\n", key.name),
            _ => format!("[{table}]\n{} = {list}\n", key.name),
        };
        let can_be_swept = sweepable(keys, key.name, &Origin::Default).is_ok();
        assert_eq!(expected_of(&text).ends_with(HINT), can_be_swept, "{text}");
    }
    assert!(expected_of("[network.leaf]\nqueues = [2, 4]\n").ends_with(HINT));
}

#[test]
fn set__a_list_for_one_value_is_told_where_lists_go() {
    let engines = built_in();
    let keys = engines.keys();
    let mut tried = 0;
    for key in keys.iter().filter(|key| Table::Scheme(String::new()).takes(key)) {
        let Kind::Count(low, _) = key.kind else { continue };
        if sweepable(keys, key.name, &Origin::Default).is_err() {
            continue;
        }
        let set = format!("schemes.mine.{}={low},{}", key.name, low + 1);
        let error = planned(SMALL, std::slice::from_ref(&set), &engines).unwrap_err();
        assert!(error.details().expected.unwrap_or_default().ends_with(HINT), "{set}");
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

/// By this name the plan knows points whose parts have a revision of their own.
#[test]
fn effective_settings__name_the_pattern() {
    let text = format!("{SMALL}pattern = \"incast\"\nfan_in = 3\n[sweep]\nscheme = [\"dctcp\"]\n");
    let planned = planned(&text, &[], &built_in()).unwrap();
    assert_eq!(planned.experiment.points[0].settings["workload.pattern"], "incast");
}

/// Four hosts of 50 Mbit/s on Linux, and the schemes of this table.
fn slow(schemes: &str, engine: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 4\nhost_link = \"50Mbps\"\nlink_delay = \"250us\"\n\
         [workload]\nsizes = \"web-search\"\nload = 0.4\nflows = 6\n[network]\nnic = \"scheme\"\n\
         [transport]\nconnections = \"warm\"\nhandshake = \"none\"\nack_every = 1\nrto_min = \"10ms\"\n\
         [run]\nparameters = \"rfc\"\nfct_end = \"arrival\"\n{engine}\n{schemes}"
    )
}

const QC_LAS: &str = "[sweep]\nscheme = [\"qc-las\"]\n[schemes.qc-las]\ntransport = \"tcp\"\n";

/// The values of these settings, and whether times are scaled, in the first point's effective configuration.
fn times(text: &str) -> [String; 5] {
    let planned = planned(text, &[], &built_in()).unwrap();
    let settings = &planned.experiment.points[0].settings;
    let names = ["scheme.leaf.weight_period", "scheme.leaf.weight_half_life", "scheme.pda_gap", "scheme.message_gap"];
    let scaled = settings.get("lab.scale_times").cloned().unwrap_or_default();
    let [period, half_life, gap, message] = names.map(|name| settings[name].clone());
    [period, half_life, gap, message, scaled]
}

/// A packet of 1,538 bytes takes 246 us, longer than QCluster's period of 100 us. On Linux its times are those of a link
/// that is 200 times slower; the published gap of web search is 3 ms.
#[cfg(target_os = "linux")]
#[test]
fn scale_times__on_linux_by_itself_and_in_the_simulator_if_asked() {
    const ON_LINUX: &str = "engine = \"linux\"";
    let scaled = ["20ms", "2s", "60ms", "600ms", "true"];
    let stated = ["100us", "10ms", "300us", "3ms", ""];
    assert_eq!(times(&slow(QC_LAS, ON_LINUX)), scaled);
    assert_eq!(times(&slow(QC_LAS, "")), stated);
    assert_eq!(times(&slow(QC_LAS, "[lab]\nscale_times = true")), scaled);
    // Without scaling the effective configuration is that of the simulator's times, as if there were no such setting.
    assert_eq!(times(&slow(QC_LAS, &format!("{ON_LINUX}\n[lab]\nscale_times = false"))), stated);
    // The user hears of it.
    let said = |engine| planned(&slow(QC_LAS, engine), &[], &built_in()).unwrap().warnings.join("\n");
    assert!(said(ON_LINUX).contains(
        "scaled to 50Mbps (`scale_times`): message_gap 600ms, pda_gap 60ms, weight_half_life 2s, weight_period 20ms"
    ));
    assert!(!said("").contains("scaled to"));
    // In the simulator, too: the same file means other times there.
    let differs =
        "the lab scales them to 50Mbps, as `scale_times = true` in [lab] does here: message_gap 3ms, pda_gap 300us, ";
    assert!(said("").contains(differs), "{}", said(""));
    for same in ["[lab]\nscale_times = true", "[lab]\nscale_times = false", ON_LINUX] {
        assert!(!said(same).contains("the lab scales them"), "{same}");
    }
}

/// A file that says nothing of senders has those of Linux in the lab, and the plan says what was taken. What a file gives stays,
/// and so does what a scheme gives.
#[cfg(target_os = "linux")]
#[test]
fn complete__the_lab_takes_the_sender_of_linux_where_nothing_is_given() {
    let text = |run: &str, scheme: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 4\nhost_link = \"50Mbps\"\nlink_delay = \"250us\"\n[workload]\n\
             sizes = \"web-search\"\nload = 0.4\nflows = 6\n[run]\nengine = \"linux\"\n{run}\n[sweep]\n\
             scheme = [\"dctcp\"]\n[schemes.dctcp]\n{scheme}"
        )
    };
    let of = |run: &str, scheme: &str| {
        let planned = planned(&text(run, scheme), &[], &built_in()).unwrap_or_else(|error| panic!("{run}: {error}"));
        let settings = planned.experiment.points[0].settings.clone();
        (planned.warnings.join("\n"), settings)
    };
    let (said, settings) = of("", "");
    assert!(said.contains("on Linux, where nothing is given: parameters = \"linux\", fct_end = \"arrival\""), "{said}");
    assert_eq!((settings["run.parameters"].as_str(), settings["run.fct_end"].as_str()), ("linux", "arrival"));
    assert_eq!(settings["lab.host.congestion_control"], "dctcp");
    // The kernel's own values are not those of the simulator's sender.
    for name in ["rto", "loss_detection", "dupack_threshold", "initial_rto"] {
        assert!(!settings.contains_key(&format!("scheme.{name}")), "{name}");
    }
    let (said, _) = of("parameters = \"rfc\"", "ack_every = 1\nhandshake = \"none\"");
    let taken = "nothing is given: fct_end = \"arrival\", nic = \"scheme\", connections = \"warm\"";
    assert!(said.contains(taken) && !said.contains("handshake"), "{said}");
    let (said, _) = of("parameters = \"linux\"\nfct_end = \"arrival\"", "");
    assert!(!said.contains("nothing is given"), "{said}");
}

/// The plan of a lab gives no advice that the lab refuses: each `try KEY = VALUE` can be followed.
#[cfg(target_os = "linux")]
#[test]
fn read__the_advice_of_a_labs_plan_can_be_followed() {
    let text = |schemes: &str, buffer: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 4\nhost_link = \"80Mbps\"\nlink_delay = \"2ms\"\n[workload]\n\
             sizes = \"web-search\"\nload = 0.7\nflows = 6\n[network]\nbuffer = \"{buffer}\"\n[run]\nengine = \"linux\"\n\
             [sweep]\nscheme = [\"pias\"]\n[schemes.pias]\n{schemes}"
        )
    };
    let mut followed = 0;
    for schemes in [
        "transport = \"tcp\"\necn = false",
        "transport = \"cubic\"\necn = false",
        "ecn_threshold = \"3KB\"",
        "ecn_threshold = \"90KB\"",
        "initial_window = 60\necn_threshold = \"10KB\"",
    ] {
        for buffer in ["10KB", "60KB"] {
            let engines = built_in();
            let warnings = planned(&text(schemes, buffer), &[], &engines).unwrap().warnings.join("\n");
            for (place, _) in warnings.match_indices("try ").chain(warnings.match_indices(", or ")) {
                let advice = warnings[place..].split_once(' ').unwrap().1.trim_start_matches("or ");
                let Some((key, rest)) = advice.split_once(" = ") else { continue };
                let end = rest.find([',', ';', '\n', ' ']).unwrap_or(rest.len());
                let set = format!("schemes.pias.{key}={}", rest[..end].trim_matches('"'));
                planned(&text(schemes, buffer), std::slice::from_ref(&set), &engines)
                    .unwrap_or_else(|error| panic!("{set}: {error}\n{warnings}"));
                followed += 1;
            }
        }
    }
    assert!(followed > 5, "{followed}");
}

/// Given times stay, and with all of them given there is nothing to scale: nothing is noted, and `scale_times` is refused.
#[cfg(target_os = "linux")]
#[test]
fn scale_times__leaves_what_is_given() {
    const ON_LINUX: &str = "engine = \"linux\"";
    let some = format!("{QC_LAS}weight_period = \"5ms\"\nmessage_gap = \"90ms\"\n");
    assert_eq!(times(&slow(&some, ON_LINUX)), ["5ms", "2s", "60ms", "90ms", "true"]);
    let all = format!("{some}weight_half_life = \"1s\"\npda_gap = \"30ms\"\n");
    assert_eq!(times(&slow(&all, ON_LINUX)), ["5ms", "1s", "30ms", "90ms", ""]);
    let unread = planned(&slow(&all, &format!("{ON_LINUX}\n[lab]\nscale_times = true")), &[], &built_in());
    assert!(unread.unwrap_err().to_string().contains("scale_times"));
}

/// At the rate for which they are stated, times are as stated. HULA's ages are multiples of its interval.
#[test]
fn scale_times__at_ten_gigabits_and_above() {
    let hula = |rate: &str| {
        let text = format!(
            "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_link = \"{rate}\"\n[workload]\n\
             sizes = \"fixed(20KB)\"\nload = 0.4\nflows = 6\n[network]\nload_balancing = \"hula\"\n\
             [lab]\nscale_times = true\n[sweep]\nscheme = [\"dctcp\"]\n"
        );
        let planned = planned(&text, &[], &built_in()).unwrap();
        let names = ["probe_interval", "flowlet_gap", "hula_age", "hula_memory"];
        names.map(|name| planned.experiment.points[0].settings[&format!("scheme.leaf.{name}")].clone())
    };
    assert_eq!(hula("10Gbps"), ["200us", "500us", "600us", "400us"]);
    assert_eq!(hula("100Mbps"), ["20ms", "50ms", "60ms", "40ms"]);
    assert_eq!(hula("40Gbps"), ["50us", "125us", "150us", "100us"]);
}

/// A port of a host's own has Sieve's order if the file says so, and on Linux each host has one.
#[cfg(target_os = "linux")]
#[test]
fn nic_order__on_linux_of_sieve_is_asked_for() {
    let said = |given: &str, engine| {
        let text =
            slow(&format!("[sweep]\nscheme = [\"sieve\"]\n[schemes.sieve]\nobserve_least = 50\n{given}"), engine);
        planned(&text, &[], &built_in()).unwrap().warnings.join("\n")
    };
    const ON_LINUX: &str = "engine = \"linux\"";
    let warning = "a level of sieve in the order of arrival; nic_order = \"tag, then age\" sorts in them";
    assert!(said("", ON_LINUX).contains(warning), "{}", said("", ON_LINUX));
    for (given, engine) in [("", ""), ("nic_order = \"turns\"", ON_LINUX), ("nic_order = \"tag, then age\"", ON_LINUX)]
    {
        assert!(!said(given, engine).contains("in the order of arrival"), "{given}, {engine}");
    }
}

/// Why a plan is refused.
fn refused(text: &str) -> String {
    planned(text, &[], &built_in()).map(drop).expect_err("a refusal").to_string()
}

/// Simulated time ends after 213 days. Thirty pauses of 800,000 s before the last of 90 flows of three hosts are 277.
#[test]
fn plan__flows_that_would_begin_after_the_end_of_time() {
    let of = |workload: &str, run: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 3\n[workload]\nsizes = \"fixed(20KB)\"\n{workload}\n\
             [sweep]\nscheme = [\"pias\"]\n[run]\nfct_end = \"arrival\"\n{run}"
        )
    };
    let loops = "arrivals = \"closed-loop\"\nflows = 90\nthink_time = ";
    let late = refused(&of(&format!("{loops}\"800000s\""), ""));
    assert!(late.contains("flows would begin for 24000000 s, but simulated time ends at 2^64 ps"), "{late}");
    let rings = "pattern = \"all-reduce-ring\"\ncollectives = 25\ncompute_gap = ";
    let late = refused(&of(&format!("{rings}\"800000s\""), ""));
    assert!(late.contains("flows would begin for 19200000 s"), "24 gaps: {late}");
    let rare = refused(&of("flows = 90\nload = 1e-12", ""));
    assert!(rare.contains("flows would begin for "), "{rare}");
    for (workload, run) in [
        (format!("{loops}\"600000s\""), ""),
        (format!("{rings}\"700000s\""), ""),
        (format!("{loops}\"800000s\""), "max_time = \"1s\""),
        ("flows = 90\nload = 1e-6".to_owned(), ""),
    ] {
        planned(&of(&workload, run), &[], &built_in()).expect("a plan");
    }
}

/// Queries next to a link that is offered its rate or more would never end. The mean over the links of its class says less.
#[test]
fn plan__queries_next_to_an_overloaded_link() {
    let of = |rate: &str, load: f64| {
        format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nhost_link = \"40Gbps\"\n\
             fabric_link = \"20Gbps\"\nrtt = \"250us\"\n[[topology.link]]\nbetween = [\"leaf1\", \"spine0\"]\nrate = \"{rate}\"\n\
             [workload]\nqueries = 10\nquery_sizes = \"exponential(20KB)\"\nsizes = \"homa-w3\"\nload = {load}\n\
             [sweep]\nscheme = [\"sieve\"]\n[run]\nparameters = \"rfc\"\nfct_end = \"arrival\"\n"
        )
    };
    // Of the three other hosts of five, at 0.3 of 40 Gbit/s and with ACKs and framing: 22.6 Gbit/s each way.
    for (rate, load, says) in
        [("20Gbps", 0.3, "is offered 1.13"), ("5Gbps", 0.3, "is offered 4.5"), ("5Gbps", 0.1, "is offered 1.50")]
    {
        let overloaded = refused(&of(rate, load));
        assert!(overloaded.contains(says) && overloaded.contains("of its rate"), "{overloaded}");
    }
    planned(&of("5Gbps", 0.06), &[], &built_in()).expect("a plan");
}
