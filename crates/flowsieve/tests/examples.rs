//! Every example of every `--help` is executed, in the order in which a user would, in a folder that has nothing of the
//! repository.

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use std::collections::BTreeSet;
use std::path::Path;

/// How an example is executed.
enum As {
    /// As it stands.
    Whole,
    /// With this after it, where it would take long.
    With(&'static str),
    /// With one number instead of another, where it would take long.
    Instead(&'static str, &'static str),
    /// Whole, by another test.
    By(&'static str, &'static str),
}

use As::{By, Instead, Whole, With};

/// Every example; later ones use what earlier ones leave.
const EXAMPLES: &[(&str, As)] = &[
    ("flowsieve init", Whole),
    ("flowsieve init --fabric 25-100", Whole),
    ("flowsieve init --scheme nearest-first", Whole),
    ("flowsieve run quickstart", With("--scale smoke --out results/quickstart")),
    (
        "flowsieve run quickstart --set load=0.9 --set scheme=pias,pfabric --seeds 5",
        With("--scale smoke --out results/0.9"),
    ),
    ("flowsieve run quickstart --set load=0.5,0.7,0.9", With("--scale smoke --out results/loads")),
    ("flowsieve run quickstart --set network.ecn_threshold=30pkt --out results/k30", With("--scale smoke")),
    ("flowsieve run first", With("--scale smoke --out results/first")),
    ("flowsieve run quickstart --set scheme=pias --set load=0.7 --follow-flow p99:0-100KB", With("--scale smoke")),
    ("flowsieve run quickstart --set load=0.7 --follow-flow slowest:0-100KB --svg flow.svg", With("--scale smoke")),
    ("flowsieve run quickstart --scale smoke", Whole),
    ("flowsieve run quickstart --screen 4", With("--set flows=400 --seeds 2 --out results/screened")),
    (
        "flowsieve run quickstart --set trace=pcap --set 'trace_links=[\"host-up\", \"host-down\"]'",
        With("--scale smoke --out results/traced"),
    ),
    ("flowsieve list schemes", Whole),
    ("flowsieve list settings ecn", Whole),
    ("flowsieve list experiments --folder built-in:", Whole),
    ("flowsieve list workloads --json", Whole),
    ("flowsieve explain ecn_threshold", Whole),
    ("flowsieve explain network.leaf.queues", Whole),
    ("flowsieve explain pias", Whole),
    ("flowsieve explain fct", Whole),
    ("flowsieve explain \"p99 slowdown\" --json", Whole),
    ("flowsieve report results/quickstart", Whole),
    ("flowsieve report results/first --x ecn_threshold", Whole),
    ("flowsieve report results/first --follow-flow slowest:0-100KB", Whole),
    ("flowsieve compare results/quickstart pias dctcp", Whole),
    ("flowsieve compare results/quickstart", Whole),
    ("flowsieve compare results/quickstart pfabric pias --json", Whole),
    ("flowsieve compare results/first --vary ecn_threshold", Whole),
    (
        "flowsieve compare --against crosscheck",
        Instead("crosscheck", concat!(env!("CARGO_MANIFEST_DIR"), "/../../crosscheck")),
    ),
    ("flowsieve doctor results/quickstart", Whole),
    ("flowsieve export results/quickstart", Whole),
    ("flowsieve export results/quickstart --format latex --y \"mean fct\" --class 0-100KB", Whole),
    ("flowsieve export results/first --format latex --y \"p99 fct\" --x ecn_threshold --columns 2", Whole),
    ("flowsieve export results/quickstart --what figure --y \"p99 slowdown\" --class 0-100KB > p99.svg", Whole),
    ("flowsieve export results/quickstart --what figure --format pdf --class 0-100KB > fct.pdf", Whole),
    ("flowsieve export results/quickstart --what figure --format latex --class 0-100KB > fct.tex", Whole),
    ("flowsieve export results/quickstart --what figure --x size --columns 2 > by-size.svg", Whole),
    ("flowsieve export results/quickstart --what figure --x size --at load=0.7 --format csv > plot.csv", Whole),
    ("flowsieve export results/quickstart --what flows > flows-of-quickstart.csv", Whole),
    ("flowsieve plan quickstart", Whole),
    ("flowsieve plan quickstart --seeds 20 --json > plan.json", Whole),
    ("flowsieve run quickstart --set flows=200 --shard 1/2 --out one", Whole),
    ("flowsieve run quickstart --set flows=200 --shard 2/2 --out two", Whole),
    ("flowsieve join quickstart --set flows=200 --parts one two --out whole", Whole),
    ("flowsieve join quickstart --set flows=200 --parts one --out part --run-missing", Whole),
    ("flowsieve pack nos2/fig06 --scale smoke -o fig06.flowsieve", Whole),
    ("flowsieve pack quickstart --result results/quickstart -o quickstart.flowsieve", With("--scale smoke")),
    ("flowsieve verify quickstart.flowsieve", Whole),
    ("flowsieve verify results/quickstart", Whole),
    ("flowsieve reproduce nos2 --scale quick --dry-run", Whole),
    // All of its runs were measured before.
    ("flowsieve reproduce nos2 --scale quick --from-measured", Whole),
    ("flowsieve reproduce awafs/fig05-03 --scale quick", Instead("--scale quick", "--scale smoke")),
    ("flowsieve reproduce nos2/fig06 --page nos2.md", With("--scale smoke")),
    // More seeds would take their two hours.
    ("flowsieve reproduce nos2 --scale quick --resolve --budget 2h", With("--dry-run")),
    ("flowsieve flows quickstart --set load=0.6 > flows.csv", Whole),
    ("flowsieve coflows trace.txt > flows.csv", Whole),
    ("flowsieve convert topology.txt -o fabric.csv", Whole),
    ("flowsieve convert flow.txt -o flows.csv --with topology.txt", With("--replace")),
    ("flowsieve convert permutation.cm -o flows.csv --time-unit ps", With("--replace")),
    ("flowsieve convert CDF_search.txt -o sizes.csv --size-unit packets:1460", With("--replace")),
    ("flowsieve convert conn.log -o measured.csv", With("--replace")),
    ("flowsieve tune --model --workload web-search --load 0.8 --queues 8", Whole),
    ("flowsieve tune --model --workload web-search --load 0.8 --rate 25Gbps,100Gbps --rtt 40us", Whole),
    ("flowsieve tune quickstart --model --check --workload web-search --load 0.6 --marking port", With("--flows 60")),
    ("flowsieve tune --model --cdf sizes.csv --queues 4 --ports Ethernet0=10Gbps --out settings", Whole),
    ("flowsieve tune --model --workload web-search --load 0.8 --queues 8 --method pias", Whole),
    ("flowsieve tune --model --workload data-mining --load 0.5,0.6,0.7,0.8,0.9 --method background", Whole),
    (
        "flowsieve tune --model --workload web-search --load 0.8 --method simulate --evaluations 200",
        Instead("--evaluations 200", "--evaluations 5 --flows 100"),
    ),
    (
        "flowsieve tune quickstart --sizes flows.csv --column bytes --load 0.6",
        With("--queues 2 --marking queue --flows 100 --seeds 2"),
    ),
    (
        "flowsieve tune quickstart --workload web-search --load 0.6 --ports Ethernet0=10Gbps",
        By("cli.rs", "tune__answers_and_the_same_question_gives_the_same_files"),
    ),
    (
        "flowsieve tune quickstart --workload web-search --load 0.6 --seeds 5",
        By("cli.rs", "tune__answers_and_the_same_question_gives_the_same_files"),
    ),
    ("flowsieve flows kmeans-like --set calibration=tight > trace.csv", Whole),
    ("flowsieve convert flux ml/KMeans/training/*.csv -o trace.csv --drop job --scale cpu=1000", With("--replace")),
    ("flowsieve convert flux simulator/KMeans/0.csv -o trace.csv --simulator --predicted 2", With("--replace")),
    (
        "flowsieve canary before.csv after.csv --control control-before.csv control-after.csv",
        By("canary.rs", "canary__racks_and_weeks_differ"),
    ),
    // The agent and a lab need root.
    ("flowsieve agent record eth0 --for 1h --out sizes.csv", By("agent.rs", "agent record s0")),
    (
        "flowsieve agent record eth0 --ports 80=web,443=web,9092=kafka --for 1h --out sizes.csv",
        By("agent.rs", "--ports 7001=web"),
    ),
    ("flowsieve agent tag eth0 recommendation --dry-run", By("agent.rs", "--dry-run")),
    ("flowsieve agent tag eth0 recommendation --percent 5", By("agent.rs", "\"--percent\"")),
    ("flowsieve agent control eth0 --by awafs", By("agent.rs", "agent control s0 --by awafs")),
    ("flowsieve agent status eth0 --sizes sizes.csv", By("agent.rs", "agent status s0 --sizes")),
    ("flowsieve agent tag eth0 recommendation --copy-outer", By("agent.rs", "--copy-outer")),
    ("flowsieve agent detach eth0", By("agent.rs", "agent detach s0")),
    ("flowsieve lab doctor", By("lab.rs", "[\"lab\", \"doctor\"]")),
    ("flowsieve lab run lab/demonstration", By("lab.rs", "lab/demonstration")),
    ("flowsieve lab run my.toml --set scheme=pias,qc-las --out results/linux", By("lab.rs", "[\"lab\", \"run\"]")),
    ("flowsieve lab compare my.toml", By("lab.rs", "[\"lab\", \"compare\"]")),
    ("flowsieve lab up fabric.toml", By("lab_own.rs", "[\"lab\", \"up\"]")),
    ("flowsieve lab exec host0 -- nginx -g 'daemon off;'", By("lab_own.rs", "[\"lab\", \"exec\"")),
    ("flowsieve lab exec host1 -- curl http://198.18.0.1/", By("lab_own.rs", "198.18.0.1")),
    ("flowsieve lab watch", By("lab_own.rs", "\"watch\"")),
    ("flowsieve lab down", By("lab_own.rs", "\"down\"")),
    (
        "flowsieve lab up fabric.toml --set scheme=qc-las --set message_gap=5ms --name second",
        By("lab_own.rs", "\"message_gap=5ms\""),
    ),
    ("flowsieve lab clean", By("lab.rs", "[\"lab\", \"clean\"]")),
    ("flowsieve completions bash > ~/.local/share/bash-completion/completions/flowsieve", Whole),
];

/// What the examples' files are: those of the person who reads the help.
const FILES: &[(&str, &str)] = &[
    ("topology.txt", include_str!("../../workload/tests/samples/hpcc-topology.txt")),
    ("flow.txt", "2\n2 3 3 100 5000 2.0\n3 2 3 100 70000 2.1\n"),
    ("permutation.cm", "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 3000\n2->3 id 2 start 2500 size 9000\n"),
    ("CDF_search.txt", "1 1 0\n1 1 0.4\n3 1 0.7\n100 1 1\n"),
    (
        "conn.log",
        "#separator \\x09\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\n\
         1769860800.0\tC1\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t0.5\t600\t12000\n",
    ),
    ("trace.txt", "4 2\n1 0 2 0 1 1 2:3\n2 1 1 3 1 1:1\n"),
    ("sizes.csv", "size_bytes,cdf\n1000,0.5\n100000,1\n"),
    ("ml/KMeans/training/0.csv", "index,flow_size,job,cpu\n0,700,1,0.5\n"),
    ("ml/KMeans/training/1.csv", "index,flow_size,job,cpu\n0,900,1,0.25\n"),
    ("simulator/KMeans/0.csv", "size,perfect,mean\n700,700,650\n9000,9000,650\n"),
    (".local/share/bash-completion/completions/other", ""),
];

/// The help of a command and of those below it.
fn helps(command: &clap::Command, path: &[&str], found: &mut Vec<String>) {
    let done = Command::cargo_bin("flowsieve").unwrap().args(path).arg("--help").output().unwrap();
    assert!(done.status.success(), "{path:?}");
    for below in command.get_subcommands() {
        helps(below, &[path, &[below.get_name()]].concat(), found);
    }
    found.push(String::from_utf8(done.stdout).unwrap());
}

fn run(folder: &Path, line: &str) {
    let bin = cargo_bin("flowsieve").parent().unwrap().to_owned();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", line]).current_dir(folder).env("PATH", path).env("HOME", folder).output().unwrap();
    assert!(done.status.success(), "{line}\n{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn help__every_example_can_be_executed() {
    let mut pages = Vec::new();
    helps(&flowsieve::options::command(), &[], &mut pages);
    assert!(pages.len() > 15, "{} pages", pages.len());
    let shown: BTreeSet<&str> = pages
        .iter()
        .flat_map(|page| page.lines())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| line.starts_with("flowsieve ")))
        .collect();
    let known: BTreeSet<&str> = EXAMPLES.iter().map(|(example, _)| *example).collect();
    assert_eq!(shown, known);

    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for (example, how) in EXAMPLES {
        match how {
            Whole => run(folder.path(), example),
            With(more) => run(folder.path(), &format!("{example} {more}")),
            Instead(of, other) => {
                assert!(example.contains(of), "{example}");
                run(folder.path(), &example.replace(of, other));
            }
            By(file, call) => {
                let test = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
                assert!(std::fs::read_to_string(test).unwrap().contains(call), "{example}");
            }
        }
    }
}
