//! `flowsieve convert`: files of other simulators become files that `flowsieve run` takes.

// The folder and the experiment of other tests are not needed here.
use crate::command::flowsieve;
use std::path::Path;

/// A folder with every sample of the crate that converts.
fn samples() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/samples");
    for entry in std::fs::read_dir(samples).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn converted(folder: &Path, arguments: &[&str]) -> String {
    let done = flowsieve(folder, &[&["convert"], arguments].concat());
    assert_eq!(done.status, 0, "{arguments:?}: {}", done.err);
    done.err
}

/// Runs an experiment of these tables, and gives its manifest and its flows as CSV.
fn run(folder: &Path, tables: &str) -> (serde_json::Value, String) {
    let text = format!("title = \"Converted\"\n{tables}\n[sweep]\nscheme = [\"dctcp\"]\n[run]\nseeds = 1\n");
    std::fs::write(folder.join("converted.toml"), text).unwrap();
    let done = flowsieve(folder, &["run", "converted.toml", "--out", "out", "--fresh", "--replace"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let manifest = std::fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    let flows = flowsieve(folder, &["export", "out", "--what", "flows"]);
    assert_eq!(flows.status, 0, "{}", flows.err);
    (serde_json::from_str(&manifest).unwrap(), flows.out)
}

/// The columns of exported flows, by name.
fn columns(csv: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at: Vec<usize> = names
        .iter()
        .map(|name| header.iter().position(|column| column == name).unwrap_or_else(|| panic!("{name}: {header:?}")))
        .collect();
    lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|row| at.iter().map(|at| row[*at].to_owned()).collect())
        .collect()
}

/// The values of every key of the manifest that ends so.
fn found<'a>(value: &'a serde_json::Value, key: &str, into: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| match value.as_str() {
            Some(text) if name == key => into.push(text),
            _ => found(value, key, into),
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| found(item, key, into)),
        _ => {}
    }
}

#[test]
fn convert__flows_and_topology_of_hpcc_run_as_they_are_written() {
    let folder = samples();
    let folder = folder.path();
    converted(folder, &["hpcc-topology.txt", "-o", "fabric.csv"]);
    let notes = converted(folder, &["hpcc-flows.txt", "-o", "flows.csv", "--with", "hpcc-topology.txt"]);
    assert!(notes.contains("priority groups and ports of 4 flows are not carried over"), "{notes}");
    let list = std::fs::read_to_string(folder.join("flows.csv")).unwrap();
    assert!(list.contains("# host0 is node 2\n"), "{list}");
    let tables =
        "[topology]\nkind = \"custom\"\nfile = \"fabric.csv\"\nhost_delay = \"0s\"\n[workload]\nlist = \"flows.csv\"";
    let (manifest, flows) = run(folder, tables);
    let expected = [
        ["3", "0", "1500", "2000000000000"],
        ["0", "4", "20000", "2000012500000"],
        ["4", "3", "1", "2000012500000"],
        ["1", "2", "250000", "2001000007000"],
    ];
    assert_eq!(columns(&flows, &["src", "dst", "bytes", "start_ps"]), expected);
    assert!(columns(&flows, &["fct_ps"]).iter().all(|fct| !fct[0].is_empty()), "{flows}");
    // The fabric is that of the edge list, whose name is that of its bytes.
    let mut digests = Vec::new();
    found(&manifest, "topology.file.digest", &mut digests);
    let written = blake3::hash(&std::fs::read(folder.join("fabric.csv")).unwrap()).to_hex();
    assert!(!digests.is_empty() && digests.iter().all(|digest| *digest == written.as_str()), "{digests:?}");
}

#[test]
fn convert__what_it_writes_of_each_sample_runs() {
    let folder = samples();
    let folder = folder.path();
    let star = |hosts: u32| format!("[topology]\nkind = \"single-switch\"\nhosts = {hosts}\n");
    #[rustfmt::skip]
    let lists: &[(&str, &[&str], u32, usize)] = &[
        ("conweave-flows.txt", &["--hosts-first", "--shift-start"], 4, 3),
        ("parsimon-flows.json", &["--hosts-first", "--shift-start"], 4, 3),
        ("htsim.cm", &["--time-unit", "ps", "--leave-out"], 8, 3),
        ("opera-flows.htsim", &["--from", "opera", "--time-unit", "ns"], 13, 3),
        ("yaps-trace.txt", &["--shift-start"], 144, 3),
        ("coflow-sincronia.txt", &[], 4, 3),
    ];
    for (file, options, hosts, count) in lists {
        let out = format!("{file}.csv");
        converted(folder, &[&[*file, "-o", &out], *options].concat());
        let (_, flows) = run(folder, &format!("{}[workload]\nlist = \"{out}\"", star(*hosts)));
        assert_eq!(flows.lines().count(), count + 1, "{file}: {flows}");
    }
    let sizes: &[(&str, &[&str])] = &[
        ("cdf-percent.txt", &[]),
        ("homa-dist.txt", &["--size-unit", "bytes"]),
        ("yaps-cdf.txt", &["--size-unit", "packets:1460"]),
    ];
    for (file, options) in sizes {
        let out = format!("{file}.csv");
        converted(folder, &[&[*file, "-o", &out], *options].concat());
        run(folder, &format!("{}[workload]\ncdf = \"{out}\"\nload = 0.5\nflows = 20", star(4)));
    }
    // HPCC's configuration names the files of topology and flows. Its hosts have 25 Gbit/s, and 50 Mbit/s are a share of 0.002.
    let notes = converted(folder, &["hpcc-config.txt", "-o", "hpcc.toml", "--with", "hpcc-topology.txt"]);
    assert!(notes.contains("2 keys are not carried over: ENABLE_QCN, HAS_WIN"), "{notes}");
    let text = std::fs::read_to_string(folder.join("hpcc.toml")).unwrap();
    for line in [
        "shared_buffer = \"32MiB\"",
        "mtu = \"1048B\"",
        "red_min = \"100KB\"",
        "ecn_threshold_at = [\"100Gbps: 400KB\"]",
        "dcqcn_additive = 0.002",
        "dcqcn_least = 0.01",
        "dcqcn_timer = \"300us\"",
        "scheme = [\"dcqcn\"]",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    converted(folder, &["hpcc-topology.txt", "-o", "hpcc-topology.csv"]);
    converted(folder, &["hpcc-flows.txt", "-o", "hpcc-flows.csv", "--with", "hpcc-topology.txt", "--replace"]);
    let done = flowsieve(folder, &["run", "hpcc.toml", "--out", "hpcc-out"]);
    assert_eq!(done.status, 0, "{}", done.err);
    // The tables of YAPS name the distribution that is to be converted.
    converted(folder, &["yaps.conf", "-o", "yaps.toml"]);
    std::fs::rename(folder.join("yaps-cdf.txt.csv"), folder.join("yaps-cdf.csv")).unwrap();
    let done = flowsieve(folder, &["plan", "yaps.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
}

#[test]
fn convert__a_bundle_of_htsim_carries_traffic_on_each_of_its_links() {
    let folder = samples();
    let folder = folder.path();
    let text = "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 500\n\
                Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nBundle 2\nDownlink_Latency_ns 500\n";
    std::fs::write(folder.join("bundled.topo"), text).unwrap();
    converted(folder, &["bundled.topo", "-o", "bundled.csv"]);
    let list = std::fs::read_to_string(folder.join("bundled.csv")).unwrap();
    assert!(list.contains("tor0,spine0,100Gbps,500ns,2\n"), "{list}");
    let tables = "[topology]\nkind = \"custom\"\nfile = \"bundled.csv\"\nhost_delay = \"0s\"\n\
                  [workload]\nsizes = \"fixed(10KB)\"\nload = 0.5\nflows = 200";
    // Each link of a bundle has a name of its own, and carries packets.
    std::fs::write(
        folder.join("bundled.toml"),
        format!(
            "title = \"A bundle\"\n{tables}\n[sweep]\nscheme = [\"dctcp\"]\n[run]\nseeds = 1\ntrace = \"csv\"\n\
             trace_links = [\"tor0 to spine0\", \"spine0 to tor1 #2\"]\n"
        ),
    )
    .unwrap();
    let done = flowsieve(folder, &["run", "bundled.toml", "--out", "out"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let traces = std::fs::read_dir(folder.join("out/traces")).unwrap().next().unwrap().unwrap().path();
    let packets = std::fs::read_to_string(traces.join("packets.csv")).unwrap();
    let links: std::collections::BTreeSet<&str> =
        packets.lines().skip(1).filter_map(|row| row.split(',').nth(1)).collect();
    assert_eq!(links.into_iter().collect::<Vec<_>>(), ["spine0 to tor1 #2", "tor0 to spine0 #1", "tor0 to spine0 #2"]);
}

#[test]
fn convert__replaces_nothing_and_leaves_nothing_behind() {
    let folder = samples();
    let folder = folder.path();
    std::fs::write(folder.join("kept.csv"), "kept").unwrap();
    let refused = flowsieve(folder, &["convert", "cdf-percent.txt", "-o", "kept.csv"]);
    assert!(refused.status == 2 && refused.err.contains("kept.csv"), "{}", refused.err);
    assert_eq!(std::fs::read_to_string(folder.join("kept.csv")).unwrap(), "kept");
    let refused = flowsieve(folder, &["convert", "homa-dist.txt", "-o", "new.csv"]);
    assert!(refused.status == 2 && refused.err.contains("--size-unit"), "{}", refused.err);
    assert!(!folder.join("new.csv").exists());
    for wrong in [
        &["convert", "none.txt", "-o", "x"][..],
        &["convert", ".", "-o", "x"],
        &["convert", "README.md", "-o", "x"],
        &["convert", "cdf-percent.txt"],
        &["convert", "cdf-percent.txt", "-o", "x", "--from", "hpc"],
        &["convert", "cdf-percent.txt", "-o", "x", "--time-unit", "ns"],
        &["convert", "cdf-percent.txt", "-o", "x", "--size-unit", "packets"],
        &["convert", "cdf-percent.txt", "-o", "no/such/folder/x"],
    ] {
        let refused = flowsieve(folder, wrong);
        assert!(refused.status == 2 && !folder.join("x").exists(), "{wrong:?}: {}", refused.err);
    }
}

#[test]
fn list__formats_names_each_with_what_it_loses() {
    let folder = samples();
    let text = flowsieve(folder.path(), &["list", "formats"]);
    assert_eq!(text.status, 0, "{}", text.err);
    for name in ["hpcc", "htsim", "netbench-topology", "homa-dist", "yaps"] {
        assert!(
            text.out.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))),
            "{name}\n{}",
            text.out
        );
    }
    let json = flowsieve(folder.path(), &["list", "formats", "--json"]);
    let list: Vec<serde_json::Value> = serde_json::from_str(&json.out).unwrap();
    assert!(list.len() > 20 && list.iter().all(|format| format["lost"].is_string() && format["gives"].is_string()));
}

/// Converts Flux's files; status, the list that was written, and errors.
fn flux(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let done = flowsieve(folder, &[&["convert", "flux", "-o", "list.csv", "--replace"], arguments].concat());
    (done.status, std::fs::read_to_string(folder.join("list.csv")).unwrap_or_default(), done.err)
}

#[test]
fn flux__writes_a_list_of_recorded_flows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1.csv"), "index,flow_size,job,cpu\n1,700,a,0.25\n0,9000,a,2\n").unwrap();
    std::fs::write(folder.path().join("2.csv"), "index,flow_size,job,cpu\n0,50,b,0.5\n").unwrap();
    let arguments = ["1.csv", "2.csv", "--drop", "job", "--scale", "cpu=1000"];
    let (status, list, error) = flux(folder.path(), &arguments);
    assert_eq!(status, 0, "{error}");
    let expected = "start_s,src,dst,bytes,feature:cpu\n\
                    0,0,1,9000,2000\n\
                    0.000001,0,1,700,250\n\
                    0.000002,0,1,50,500\n";
    assert_eq!(list, expected);
}

#[test]
fn flux__writes_a_list_of_the_simulators_flows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("0.csv"), "size,perfect,mean\n700,700,650\n9000,9000,650\n").unwrap();
    let (status, list, error) = flux(folder.path(), &["0.csv", "--simulator", "--predicted", "2"]);
    assert_eq!(status, 0, "{error}");
    assert_eq!(list, "start_s,src,dst,bytes,predicted\n0,0,1,700,650\n0.000001,0,1,9000,650\n");
    let (_, list, _) = flux(folder.path(), &["0.csv", "--simulator"]);
    assert_eq!(list, "start_s,src,dst,bytes\n0,0,1,700\n0.000001,0,1,9000\n");
}

#[test]
fn flux__refuses_with_the_place_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1.csv"), "index,flow_size,cpu\n0,700,1\n1,700,0.5\n").unwrap();
    for (arguments, expected) in [
        (&["1.csv"][..], "1.csv:3: cpu is `0.5`; expected a whole number"),
        (&["1.csv", "--drop", "disk"], "1.csv:1: no column `disk`; expected one of index, flow_size, cpu"),
        (&["no.csv"], "no.csv: No such file"),
        (&["1.csv", "--simulator"], "1.csv:2: column 0 (the size) is `0`"),
        (&["1.csv", "--predicted", "1"], "--simulator"),
        (&["1.csv", "--simulator", "--drop", "cpu"], "cannot be used with"),
        (&["1.csv", "--scale", "cpu=0"], "expected COLUMN=FACTOR with a number above 0"),
        (&["1.csv", "--scale", "cpu"], "expected COLUMN=FACTOR with a number above 0"),
        (&[], "<FILE>..."),
    ] {
        let (status, out, error) = flux(folder.path(), arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
