//! The report of a made-up result: schemes with known differences over flows of many sizes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use flowsieve_record::{Drops, FlowRow, Goodput, LinkClass, PeriodicPart, PointResult};
use flowsieve_results::{Axis, Experiment, PartId, PointInfo, ResultDir, ResultError, ResultWriter, SchemeInfo};

use crate::{Layout, Section};

/// The result to make up.
struct Sweep {
    schemes: &'static [&'static str],
    loads: &'static [f64],
    rtts: &'static [&'static str],
    seeds: u64,
    flows: u32,
    /// Flows of each coflow; 0 without any.
    coflows_of: u32,
}

const QUICKSTART: Sweep = Sweep {
    schemes: &["dctcp", "pias", "pfabric"],
    loads: &[0.6, 0.8],
    rtts: &["81.6us"],
    seeds: 3,
    flows: 2_000,
    coflows_of: 0,
};

/// Numbers in [0, 1) that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Flows of 1 KB to 20 MB; a scheme that prefers small flows does so more at higher load.
fn flows(sweep: &Sweep, scheme: usize, load: f64, seed: u64) -> Vec<FlowRow> {
    let mut numbers = Numbers(seed * 1_000 + (load * 100.0) as u64);
    let mut start_ps = 0;
    let flow = |flow: u32| {
        let bytes = (1_000.0 * libm::exp(numbers.next() * 10.0)) as u64;
        start_ps += (numbers.next() * 2e8) as u64;
        let ideal_ps = 81_600_000 + bytes * 800;
        let queueing = -libm::log(1.0 - numbers.next()) * load / (1.0 - load);
        let small = 1.0 / (1.0 + bytes as f64 / 1e6);
        let factor = [1.0, 1.0 - 0.6 * small, 1.05 - 0.85 * small][scheme % 3] * (1.0 + 0.05 * numbers.next());
        let finished = scheme != 2 || flow + 1 < sweep.flows || load < 0.8;
        FlowRow {
            flow,
            src: flow % 144,
            dst: (flow * 7 + 1) % 144,
            class: 0,
            bytes,
            start_ps,
            fct_ps: finished.then_some((ideal_ps as f64 * (1.0 + queueing * factor)) as u64),
            ideal_ps,
            retransmissions: u32::from(scheme == 2 && flow.is_multiple_of(5)),
            coflow: flow.checked_div(sweep.coflows_of),
            ..FlowRow::default()
        }
    };
    (0..sweep.flows).map(flow).collect()
}

fn link(name: &str, links: u32, gbps: u64, load: f64, scheme: usize) -> LinkClass {
    let packets = (load * 3e6) as u64;
    LinkClass {
        name: name.into(),
        links,
        rate_bps: gbps * 1_000_000_000,
        offered_load: load * 1.26,
        utilisation: load * 1.2,
        packets,
        bytes: packets * 1_400,
        drops: Drops {
            buffer: if scheme == 0 && name == "host-down" { 321 } else { 0 },
            evicted: if scheme == 2 { packets / 1_000 } else { 0 },
            loss: 0,
            ..Drops::default()
        },
        marks: if scheme == 2 { 0 } else { packets / 50 },
        packets_by_queue: if scheme == 1 {
            vec![packets * 9 / 10, packets / 10, 0, 0, 0, 0, 0, 0]
        } else {
            vec![packets]
        },
        packets_by_priority: vec![packets * 9 / 10, packets / 10],
        max_backlog_bytes: 347_000,
        found_bytes_by_priority: Vec::new(),
        paused: None,
    }
}

fn result(sweep: &Sweep, scheme: usize, load: f64, seed: u64) -> PointResult {
    let flows = flows(sweep, scheme, load, seed);
    let classes = [("host-up", 144, 10), ("leaf-up", 36, 40), ("spine-down", 36, 40), ("host-down", 144, 10)];
    PointResult {
        links: classes.map(|(name, links, gbps)| link(name, links, gbps, load, scheme)).into(),
        periodic: match scheme {
            1 => vec![PeriodicPart { name: "thresholds".into(), period_ps: 50_000_000_000, ticks: 4 }],
            _ => Vec::new(),
        },
        simulated_ps: 210_000_000_000,
        arrivals_end_ps: 200_000_000_000,
        goodput: Some(Goodput {
            from_ps: 0,
            span_ps: 200_000_000_000,
            offered_bytes: 2_000_000_000,
            finished_bytes: 1_900_000_000,
        }),
        longest_ideal_ps: flows.iter().map(|flow| flow.ideal_ps).max().unwrap_or(0),
        packet_hops: 18_000_000,
        events: 19_500_000,
        timeouts: if scheme == 2 { 1_234 } else { 7 },
        retransmissions: 400,
        out_of_order: 12_345,
        warnings: if load > 0.75 { vec!["the wire load of host-down is 100.8 %".into()] } else { Vec::new() },
        flows,
        ..PointResult::default()
    }
}

fn experiment(sweep: &Sweep) -> Experiment {
    let point = |rtt: &str, load: f64, scheme: &str| {
        PointInfo {
        scheme: scheme.into(),
        load: Some(load),
        axes: if sweep.rtts.len() > 1 {
            vec![Axis { key: "topology.rtt".into(), value: rtt.into() }]
        } else {
            Vec::new()
        },
        settings: BTreeMap::from([
            ("topology.rtt".to_string(), rtt.to_string()),
            ("network.mtu".to_string(), "1500B".to_string()),
            ("workload.sizes".to_string(), "web-search".to_string()),
            ("workload.load".to_string(), load.to_string()),
            ("network.queues".to_string(), if scheme == "pias" { "8" } else { "1" }.to_string()),
        ]),
        thresholds_bytes: Vec::new(),
        shorter: Vec::new(),
            average: None,
        fabric: "4 spines      s0   s1   s2   s3\n              |  X  each 40 Gbit/s\n9 leaves      l0 … l8\n              |     16 hosts each, 10 Gbit/s\n144 hosts     h0 … h143\n".into(),
        parts: (1..=sweep.seeds).map(|seed| PartId { seed, key: key(scheme, load, rtt, seed) }).collect(),
    }
    };
    let scheme = |name: &&str| SchemeInfo {
        name: name.to_string(),
        label: match *name {
            "dctcp" => "DCTCP".into(),
            "pfabric" => "pFabric".into(),
            _ => String::new(),
        },
        paper: "SIGCOMM 2013".into(),
        summary: "Sends what is shortest first.".into(),
        knows: if *name == "pfabric" { "size" } else { "nothing" }.into(),
    };
    let mut points = Vec::new();
    for rtt in sweep.rtts {
        for &load in sweep.loads {
            points.extend(sweep.schemes.iter().map(|scheme| point(rtt, load, scheme)));
        }
    }
    Experiment {
        title: "Web search at <rising> load".into(),
        text: "title = \"Web search at <rising> load\"\n[sweep]\nload = [0.6, 0.8]\n".into(),
        changes: vec!["run.seeds=3".into()],
        versions: BTreeMap::from([("flowsieve".to_string(), "0.1.0".to_string())]),
        schemes: sweep.schemes.iter().map(scheme).collect(),
        points,
        ..Experiment::default()
    }
}

fn key(scheme: &str, load: f64, rtt: &str, seed: u64) -> String {
    let name = format!("{scheme}-{}-{rtt}-{seed}", (load * 100.0) as u32);
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

fn made_up(folder: &Path, sweep: &Sweep) -> ResultDir {
    let writer = ResultWriter::create(folder).unwrap();
    for rtt in sweep.rtts {
        for &load in sweep.loads {
            for (index, scheme) in sweep.schemes.iter().enumerate() {
                for seed in 1..=sweep.seeds {
                    let result = result(sweep, index, load, seed);
                    writer.write_part(&key(scheme, load, rtt, seed), seed, &result).unwrap();
                }
            }
        }
    }
    writer.join(experiment(sweep)).unwrap()
}

fn layout(dir: &ResultDir) -> Layout {
    Layout::new(&dir.manifest().experiment, None).unwrap()
}

fn table(dir: &ResultDir) -> String {
    crate::table(dir, &layout(dir), false)
}

fn write(dir: &ResultDir) -> Result<PathBuf, ResultError> {
    crate::write(dir, &layout(dir), &Section::default(), &[])
}

fn page(dir: &ResultDir) -> String {
    fs::read_to_string(write(dir).unwrap()).unwrap()
}

#[test]
fn write__a_report_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &QUICKSTART));
    assert!(page.len() < 350_000, "{} B", page.len());
}

#[test]
fn table__of_the_quickstart() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(table(&made_up(folder.path(), &QUICKSTART)));
}

#[test]
fn table__with_one_seed_and_several_cases() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = Sweep { seeds: 1, rtts: &["20us", "81.6us"], loads: &[0.7], ..QUICKSTART };
    insta::assert_snapshot!(table(&made_up(folder.path(), &sweep)));
}

#[test]
fn table__with_coflows() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = Sweep { loads: &[0.6], coflows_of: 20, ..QUICKSTART };
    let dir = made_up(folder.path(), &sweep);
    let table = table(&dir);
    let coflows = &table[table.find("CCT in").unwrap()..table.find("Runs;").unwrap()];
    insta::assert_snapshot!(coflows);
    let page = page(&dir);
    // Plots for all and for both classes: mean and p99, and their ratios.
    assert!(page.contains(
        "<th rowspan=\"2\" class=\"number\">Coflows</th><th colspan=\"5\" class=\"group\">CCT (ms)</th><th colspan=\"5\" class=\"group\">Slowdown</th><th colspan=\"2\" class=\"group\">Evenness</th></tr>"
    ));
    assert_eq!(page.matches("<figcaption>Mean CCT").count() + page.matches("<figcaption>p99 CCT").count(), 12);
    let json = crate::table_json(&dir, &layout(&dir));
    assert_eq!(json["points"][0]["coflows"]["coflows"], 300);
    let compared = crate::compared(&dir, None, Some(("pias", "dctcp"))).unwrap().remove(0).text(false);
    assert!(compared.lines().any(|line| line.trim_start().starts_with("coflows (CCT)")), "{compared}");
}

#[test]
fn write__same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    made_up(folder.path(), &QUICKSTART);
    let dir = ResultDir::open(folder.path()).unwrap();
    let first = fs::read(write(&dir).unwrap()).unwrap();
    assert_eq!(first, fs::read(write(&dir).unwrap()).unwrap());
}

#[test]
fn write__asks_no_network_and_escapes_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &QUICKSTART));
    for outside in ["src=", "href=\"http", "@import", "url(", "http://", "https://"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("<title>Web search at &#60;rising&#62; load</title>"));
    assert!(!page.contains("<rising>"));
}

#[test]
fn write__says_what_makes_the_result_less_than_it_seems() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &QUICKSTART));
    for expected in [
        "the wire load of host-down is 100.8 % <span class=\"where\">(load 0.8)",
        "thresholds acted 4 times in a run",
        "flows had not finished when the run ended",
        "3 unfinished",
        "<b>size</b>: more than a network can see by itself",
        "321",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

/// The drawings of a section, by its id, each with its caption.
fn plots<'a>(page: &'a str, section: &str) -> Vec<&'a str> {
    let from = page.find(section).unwrap();
    let section = &page[from..from + page[from..].find("</section>").unwrap()];
    section.split("<figcaption>").skip(1).collect()
}

/// The groups of a drawing whose titles begin so: what each shows under the pointer.
fn titles<'a>(plot: &'a str, begin: &str) -> Vec<&'a str> {
    let titles = plot.split("<title>").skip(1).map(|rest| rest.split("</title>").next().unwrap());
    titles.filter(|title| title.starts_with(begin)).collect()
}

#[test]
fn write__a_name_is_no_markup_in_a_plot() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = Sweep { schemes: &["</svg><script>"], loads: &[0.6], seeds: 1, ..QUICKSTART };
    let page = page(&made_up(folder.path(), &sweep));
    assert!(
        !page.contains("</svg><script>") && plots(&page, "id=\"fct\"")[0].contains("&#60;/svg&#62;&#60;script&#62;")
    );
}

#[test]
fn write__plots_have_an_interval_a_point() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &QUICKSTART));
    // Mean and p99 for four classes, and their ratios; for two loads, four by size and two of links, and one of each class.
    assert_eq!(page.matches("<figcaption>").count(), 16 + 8 + 4 + 8);
    let mean = plots(&page, "id=\"fct\"")[0];
    let drawn = titles(mean, "0.");
    assert!(drawn.len() == 6 && drawn.iter().all(|title| title.ends_with(')')), "{drawn:?}");
}

#[test]
fn write__opens_with_small_flows_at_the_highest_load_over_one_scale() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &Sweep { loads: &[0.8, 0.6], flows: 500, ..QUICKSTART }));
    let answers = &page[page.find("class=\"answers\"").unwrap()..];
    assert!(answers.contains("<h2>At load 0.8 pias&#39;s mean FCT of flows of 0-100KB is"), "{}", &answers[..200]);
    assert!(page.find("Read this first").unwrap() < page.find("class=\"answers\"").unwrap());
    assert_eq!(page.matches("data-usual>0-100KB<").count() + page.matches("data-usual>0.8<").count(), 2);
    let glance: Vec<&str> = plots(&page, "class=\"answers\"");
    let ticks = |plot: &str| -> Vec<String> {
        let ends = plot.split("text-anchor=\"end\"").skip(1);
        ends.map(|rest| rest.split_once('>').unwrap().1.split('<').next().unwrap().to_owned()).collect()
    };
    assert_eq!(glance.len(), 8);
    assert!(ticks(glance[0]).contains(&"1".to_owned()) && (1..4).all(|at| ticks(glance[at]) == ticks(glance[0])));
    assert_eq!(titles(glance[0], "pias: 0.").len(), 1);
    // The baseline is 1, and has no interval.
    assert_eq!(titles(glance[0], "DCTCP: "), ["DCTCP: 1.00"]);
}

#[test]
fn write__the_numbers_of_the_plots_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let dir = made_up(folder.path(), &QUICKSTART);
    write(&dir).unwrap();
    let csv = fs::read_to_string(folder.path().join("plots.csv")).unwrap();
    let rows: Vec<&str> =
        csv.lines().filter(|row| row.starts_with("\"Mean FCT / that of DCTCP, flows of 0-100KB\"")).collect();
    // Three schemes at two loads; the others are compared with the first.
    assert_eq!(rows.len(), 6);
    let first =
        "\"Mean FCT / that of DCTCP, flows of 0-100KB\",,,0-100KB,dctcp,measured,load,,0.6,,,ratio to DCTCP,,1,,";
    assert_eq!(rows[0], first);
    let cells: Vec<&str> = rows[2].rsplit(',').collect();
    let [high, low, y] = [0, 1, 2].map(|at| cells[at].parse::<f64>().unwrap());
    assert!(low < y && y < high && y < 1.0, "{}", rows[2]);
}

/// The rows of a CSV by the names of its columns.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let named = |row: csv::StringRecord| header.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect();
    reader.records().map(|row| named(row.unwrap())).collect()
}

fn figures_csv(dir: &ResultDir, layout: &Layout, by_size: bool, y: &str) -> Vec<BTreeMap<String, String>> {
    let mut csv = Vec::new();
    crate::export::figures::figures(dir, layout, by_size, Some(y), None).unwrap().csv(&mut csv).unwrap();
    rows(&String::from_utf8(csv).unwrap())
}

#[test]
fn figures__by_size_have_the_sizes_in_bytes_and_each_value() {
    let folder = tempfile::tempdir().unwrap();
    let dir = made_up(folder.path(), &QUICKSTART);
    let rows = figures_csv(&dir, &layout(&dir), true, "p99 slowdown");
    let pias: Vec<_> = rows.iter().filter(|row| row["series"] == "pias" && row["at"] == "0.8").collect();
    let point = dir.manifest().experiment.points.iter().position(|at| at.scheme == "pias" && at.load == Some(0.8));
    let bins = &dir.summary().points[point.unwrap()].bins;
    assert!(bins.len() > 10 && pias.len() == bins.len());
    let mut before = 0;
    for (row, bin) in pias.iter().zip(bins) {
        let (from, to): (u64, u64) = (row["from_bytes"].parse().unwrap(), row["to_bytes"].parse().unwrap());
        assert!(from == bin.class.above_bytes && Some(to) == bin.class.up_to_bytes && from >= before && to > from);
        before = to;
        let shown: f64 = row["y"].parse().unwrap();
        let expected = bin.estimate(flowsieve_results::Metric::Slowdown, flowsieve_results::Statistic::P99).unwrap();
        assert!((shown / expected.value - 1.0).abs() < 1e-5, "{row:?}");
        assert_eq!((&*row["x_unit"], &*row["y_name"]), ("%", "p99 slowdown"));
        assert!((0.0..=100.0).contains(&row["x"].parse::<f64>().unwrap()), "{row:?}");
    }
    // The file next to the report says the same.
    write(&dir).unwrap();
    let beside = self::rows(&fs::read_to_string(folder.path().join("plots.csv")).unwrap());
    assert!(pias.iter().all(|row| beside.contains(row)));
}

#[test]
fn figures__swept_values_are_numbers_in_a_unit_and_cases_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let dir = made_up(folder.path(), &Sweep { rtts: &["20us", "81.6us"], ..QUICKSTART });
    let layout_by = |x: &str| Layout::new(&dir.manifest().experiment, Some(x)).unwrap();
    let rows = figures_csv(&dir, &layout_by("rtt"), false, "mean fct");
    // Three schemes at two round-trip times, two loads and four classes.
    assert_eq!(rows.len(), 3 * 2 * 2 * 4);
    assert!(rows.iter().all(|row| row["x_name"] == "rtt" && row["x_unit"] == "ps"));
    assert_eq!((&*rows[0]["x"], &*rows[0]["case"]), ("20000000", "load 0.6"));
    let mut layout = layout_by("load");
    crate::export::keep(&dir, &mut layout, &["rtt=20us".into()]).unwrap();
    let kept = figures_csv(&dir, &layout, false, "p99 slowdown");
    assert!(kept.len() == 3 * 2 * 4 && kept.iter().all(|row| row["case"] == "rtt = 20us"), "{kept:?}");
    assert!(kept[0]["plot"].ends_with("rtt = 20us") && kept[0]["y_unit"].is_empty(), "{:?}", kept[0]);
}

#[test]
fn figures__what_makes_no_sense_is_refused_with_what_does() {
    use crate::export::figures::figures;
    use crate::export::keep;
    let folder = tempfile::tempdir().unwrap();
    let dir = made_up(folder.path(), &Sweep { schemes: &["dctcp"], ..QUICKSTART });
    let layout = layout(&dir);
    let refused = |by_size, y, class| figures(&dir, &layout, by_size, y, class).err().unwrap().to_string();
    assert!(refused(true, Some("drops"), None).contains("expected FCT or slowdown"));
    assert!(refused(true, None, Some("all")).contains("takes no `--class`"));
    assert!(refused(false, Some("utilisation"), Some("all")).contains("takes no `--class`"));
    assert!(refused(false, Some("p99 slowdown ratio"), None).contains("is not a measure"));
    assert!(refused(false, Some("mean fct ratio"), None).contains("there is no second scheme"));
    for (at, problem) in [
        ("0.8", "expected KEY=VALUE"),
        ("load=0.7", "expected one of 0.6, 0.8"),
        ("rtt=1us", "the sweep varies no setting"),
    ] {
        let error = keep(&dir, &mut layout.clone(), &[at.into()]).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let many = made_up(&folder.path().join("many"), &Sweep { rtts: &["1us", "2us", "3us"], flows: 50, ..QUICKSTART });
    let too_many = figures(&many, &Layout::new(&many.manifest().experiment, Some("load")).unwrap(), false, None, None);
    assert!(too_many.unwrap().svg(2).unwrap_err().to_string().starts_with("12 plots are too many"));
}

#[test]
fn write__a_hundred_points_stay_under_ten_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = Sweep {
        schemes: &["dctcp", "pias", "pfabric", "qc-las", "qc-srpt"],
        loads: &[0.5, 0.6, 0.7, 0.8, 0.9],
        rtts: &["10us", "20us", "40us", "81.6us"],
        seeds: 2,
        flows: 300,
        coflows_of: 0,
    };
    let dir = made_up(folder.path(), &sweep);
    assert_eq!(dir.manifest().experiment.points.len(), 100);
    let size = fs::metadata(write(&dir).unwrap()).unwrap().len();
    assert!(size < 10_000_000, "{size} bytes");
}

#[test]
fn write__nothing_finished_is_said_and_not_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = Sweep { schemes: &["dctcp"], loads: &[0.6], seeds: 1, flows: 0, ..QUICKSTART };
    let page = page(&made_up(folder.path(), &sweep));
    assert!(page.contains("Nothing to draw: no flow finished."));
}

#[test]
fn write__one_load_has_bars_with_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let dir = made_up(folder.path(), &Sweep { loads: &[0.6], ..QUICKSTART });
    let page = page(&dir);
    let plots = plots(&page, "id=\"fct\"");
    for (plot, intervals) in [(plots[0], 3), (plots[1], 2)] {
        // And the paper.
        assert_eq!(plot.matches("<rect").count(), 1 + 3, "{plot}");
        let bars = ["DCTCP: ", "pias: ", "pFabric: "].map(|name| titles(plot, name)[0]);
        assert_eq!(bars.iter().filter(|bar| bar.ends_with(')')).count(), intervals, "{bars:?}");
    }
    let csv = fs::read_to_string(folder.path().join("plots.csv")).unwrap();
    assert!(rows(&csv).iter().any(|row| row["series"] == "pfabric" && row["x"] == "pfabric"), "{csv}");
}

#[test]
fn write__schemes_are_called_as_papers_print_them() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&made_up(folder.path(), &QUICKSTART));
    assert!(page.contains("At load 0.6 pias&#39;s mean FCT of all flows is 5.8 % below DCTCP&#39;s"), "the answers");
    assert!(page.contains("<th class=\"scheme\">DCTCP<small>baseline</small>"), "the results");
    assert!(page.contains("<th class=\"scheme\">pFabric<small>pfabric</small></th>"), "what commands take, once");
    assert!(page.contains("(pFabric at load 0.8)"), "the warnings");
    assert_eq!(titles(plots(&page, "id=\"fct\"")[0], "DCTCP"), ["DCTCP"]);
    // A terminal has the names that one types.
    let dir = ResultDir::open(folder.path()).unwrap();
    assert!(!table(&dir).contains("DCTCP"));
}

#[test]
fn latex__no_more_columns_than_fit_a_page() {
    use crate::export::{Selection, latex};
    let folder = tempfile::tempdir().unwrap();
    let schemes = ["dctcp", "pias", "pfabric", "es-8", "nos2", "afq", "las", "srpt", "d2tcp"];
    for (count, columns, expected) in [
        (3, 1, &["lrrr"][..]),
        (5, 1, &["lrrr", "lrr"]),
        (3, 2, &["lrrr"]),
        (7, 2, &["lrrrrrrr"]),
        (9, 2, &["lrrrrrrr", "lrr"]),
    ] {
        let schemes: &'static [&'static str] = Box::leak(schemes[..count].to_vec().into_boxed_slice());
        let dir =
            made_up(&folder.path().join(format!("{count}-{columns}")), &Sweep { schemes, flows: 300, ..QUICKSTART });
        let selection = Selection::new(&dir, Some("mean fct"), Some("0-100KB")).unwrap();
        let table = latex(&dir, &layout(&dir), &selection, columns);
        let widths: Vec<&str> =
            table.split("\\begin{tabular}{").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
        assert_eq!(widths, expected, "{table}");
        assert!(table.contains("load & DCTCP & pias & pFabric"), "{table}");
        // Letters of half their height on average, with 4 pt on both sides of each column.
        let width = |row: &str| {
            let cells = row.trim_end_matches('\\').split(" & ");
            let letters = |cell: &str| cell.trim().replace("{\\footnotesize ", "").trim_end_matches('}').len();
            cells.map(|cell| 8.0 + 4.0 * letters(cell) as f64).sum::<f64>()
        };
        let most = table.lines().filter(|line| line.contains(" & ")).map(width).fold(0.0, f64::max);
        assert!(most < if columns == 1 { 252.0 } else { 515.0 }, "{most} pt of {columns} columns:\n{table}");
    }
}
