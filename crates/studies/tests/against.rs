//! Runs of other simulators are replayed, and agreement is what it is by hand.

use flowsieve_engines::built_in;
use flowsieve_studies::against::{Agreement, recorded, table};
use std::path::Path;

/// Two hosts and a switch without delays: a packet of 1,500 bytes takes 1.2 us on each of two links.
const EXPERIMENT: &str = r#"
[topology]
kind = "single-switch"
hosts = 2
host_link = "10Gbps"
link_delay = "0ns"
host_delay = "0ns"
forwarding = "store-and-forward"
[workload]
list = "flows.csv"
[network]
mtu = "1500B"
header = "40B"
wire_overhead = "0B"
[transport]
handshake = "none"
[sweep]
scheme = ["dctcp"]
[run]
parameters = "ns2"
fct_end = "arrival"
[report]
size_classes = ["2KB"]
"#;

fn replayed(flows: &str, experiment: &str) -> Result<Vec<Agreement>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("by-hand.csv"), flows).unwrap();
    std::fs::write(folder.path().join("by-hand.toml"), experiment).unwrap();
    let runs = recorded(folder.path()).map_err(|error| error.to_string())?;
    runs.iter().map(|run| run.replay(&built_in()).map_err(|error| error.to_string())).collect()
}

/// A packet takes 2.4 us, two take 3.6 us. The other simulator is said to have 1.2 and 3.6.
#[test]
fn replay__two_flows_by_hand() {
    let flows = "flow,bytes,src,dst,start_us,fct_us\n1,2920,1,0,50,3.6\n0,1460,0,1,2.5e-1,1.2\n";
    let agreements = replayed(flows, EXPERIMENT).unwrap();
    let text = table(&agreements);
    insta::assert_snapshot!(text, @r"
    by-hand: dctcp
    flows of         flows  mean FCT there  mean FCT here  difference  typical ratio
    0-2KB                1          1.2 µs         2.4 µs   +100.00 %         2.0000
    >2KB                 1          3.6 µs         3.6 µs     +0.00 %         1.0000
    all                  2          2.4 µs         3.0 µs    +25.00 %         1.4142
    correlation of the logarithms of FCT: 1.00000
    ");
}

/// The same two flows as HPCC's simulator writes them: hosts 0 and 1, ports, bytes, ns.
#[test]
fn replay__of_an_fct_txt() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str| {
        std::fs::write(folder.path().join("fct.txt"), text).unwrap();
        std::fs::write(folder.path().join("fct.toml"), EXPERIMENT).unwrap();
        std::fs::write(folder.path().join("readme.txt"), "not a run").unwrap();
        let runs = recorded(folder.path()).map_err(|error| error.to_string())?;
        runs[0].replay(&built_in()).map_err(|error| error.to_string())
    };
    let agreement =
        of("0b000101 0b000001 10000 100 2920 50000 3600 3600\n0b000001 0b000101 10001 100 1460 250 1200 2400\n")
            .unwrap();
    let means: Vec<(usize, String)> = agreement
        .classes
        .iter()
        .map(|class| (class.flows, format!("{:.1} {:.1}", class.theirs_us, class.here_us)))
        .collect();
    assert_eq!(means[..2], [(1, "1.2 2.4".to_owned()), (1, "3.6 3.6".to_owned())]);
    for (line, problem) in [
        ("0b000101 0b000001 1 2 3 4 5", "fct.txt:1: this line has 7 fields"),
        ("0c000101 0b000001 1 2 3 4 5 6", "`0c000101` is no address"),
        ("0b000101 0b000001 1 2 -3 4 5 6", "`-3` is no whole number"),
        ("0b000101 0b000001 1 2 3 4 0 6", "takes 0 µs"),
    ] {
        let error = of(line).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn replay__what_is_wrong_is_said() {
    let head = "bytes,src,dst,start_us,fct_us\n";
    let good = "bytes,src,dst,start_us,fct_us\n1460,0,1,0,2.4\n";
    let two_schemes = EXPERIMENT.replace("\"dctcp\"", "\"dctcp\", \"pias\"");
    for (flows, experiment, expected) in [
        (head, EXPERIMENT, "has no flow"),
        ("", EXPERIMENT, "has no flow"),
        ("bytes,src,dst,start_us\n1,0,1,0\n", EXPERIMENT, "missing field `fct_us`"),
        (&format!("{head}1460,0,1,-1,2.4\n"), EXPERIMENT, "by-hand.csv:2: a flow that starts at -1 µs"),
        (&format!("{head}1460,0,1,0,2.4\n1460,0,1,0,NaN\n"), EXPERIMENT, "by-hand.csv:3: "),
        (&format!("{head}1460,0,1,inf,2.4\n"), EXPERIMENT, "starts at inf µs"),
        (&format!("{head}1460,0,1,0,0\n"), EXPERIMENT, "takes 0 µs"),
        (&format!("{head}-5,0,1,0,2.4\n"), EXPERIMENT, "by-hand.csv:2: "),
        (&format!("{head}1460,0,7,0,2.4\n"), EXPERIMENT, "7"),
        (good, &two_schemes, "has 2 points; expected one scheme"),
        (good, "[topology]\nhosts = ", "by-hand.toml"),
    ] {
        let error = replayed(flows, experiment).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let nowhere = recorded(Path::new("no/such/folder")).unwrap_err().to_string();
    assert!(nowhere.contains("cannot be read"), "{nowhere}");
    let alone = tempfile::tempdir().unwrap();
    assert!(recorded(alone.path()).unwrap_err().to_string().contains("has no run"));
    std::fs::write(alone.path().join("a.csv"), good).unwrap();
    assert!(recorded(alone.path()).unwrap_err().to_string().contains("has no experiment"));
}

/// pFabric as its authors' simulator has it: queues of packets are chaotic, so that classes agree and not each flow.
#[test]
fn replay__of_yaps_agrees() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crosscheck"));
    let runs = recorded(folder).unwrap();
    let agreement = runs.iter().find(|run| run.name.starts_with("yaps")).unwrap().replay(&built_in()).unwrap();
    assert!(agreement.correlation.unwrap() > 0.9999, "{agreement:?}");
    assert_eq!(agreement.classes.last().unwrap().flows, 2_000);
    for class in &agreement.classes {
        assert!((class.here_us / class.theirs_us - 1.0).abs() < 0.005, "{class:?}");
    }
}
