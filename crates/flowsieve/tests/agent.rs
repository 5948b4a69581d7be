//! The agent as a user has it: record, tag, status, detach. It needs root and BPF, and a test says so where it is skipped. Traffic
//! and pins stay in network and mount namespaces that end with the test.
#![cfg(target_os = "linux")]

use crate::machine::flowsieve;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two hosts, with super-packets of up to 16 KB, and names and pins that nothing else sees.
const SET_UP: &str = "set -e
mount -t tmpfs none /run
mount -t bpf none /sys/fs/bpf
ip netns add s; ip netns add c
ip link add s0 netns s type veth peer name c0 netns c
for x in s:1 c:2; do
    n=${x%:*}
    ip -n $n addr add 198.18.0.${x#*:}/24 dev ${n}0
    ip -n $n link set ${n}0 up
done
ip -n s link set s0 gso_max_size 16384
host() { name=$1; shift; nsenter --net=/run/netns/$name \"$@\"; }
";

/// A server answers with as many bytes as each request says.
const SERVE: &str = "import socket, threading
def work(own):
    while wanted := own.recv(8, socket.MSG_WAITALL):
        own.sendall(bytes(int.from_bytes(wanted, 'little')))
    own.close()
listener = socket.create_server(('', 7001))
print('listens', flush=True)
while True:
    threading.Thread(target=work, args=(listener.accept()[0],), daemon=True).start()";

/// Asks for the sizes of a file, over eight connections; the pause between two is an argument.
const ASK: &str = "import socket, sys, threading, time
sizes = [int(line) for line in open('truth.csv').read().split()]
def run(part):
    with socket.create_connection(('198.18.0.1', 7001)) as own:
        for size in part:
            own.sendall(size.to_bytes(8, 'little'))
            while size > 0:
                size -= len(own.recv(1 << 18))
            time.sleep(float(sys.argv[1]))
threads = [threading.Thread(target=run, args=(sizes[at::8],)) for at in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()";

/// What is done, in order. Each command's output goes into a file.
const STEPS: &str = "
host s python3 serve.py > serve.txt &
until grep -q listens serve.txt; do sleep 0.05; done
nsenter --net=/run/netns/s \"$F\" agent record s0 --ports 7001=web --out sizes.csv --message turn > record.txt 2> recording.txt & record=$!
until grep -q recording recording.txt; do sleep 0.05; done
sleep 0.2
host c python3 ask.py 0.003
sleep 0.2
kill -INT $record
wait $record
host s \"$F\" agent tag s0 recommendation --message turn --dry-run > dry.txt
host s \"$F\" agent tag s0 recommendation --message turn > tag.txt
host c python3 ask.py 0
host s \"$F\" agent status s0 --sizes sizes-web.csv > status.txt
host s \"$F\" agent status s0 --sizes sizes-web.csv --json > status.json
nsenter --net=/run/netns/s \"$F\" agent control s0 --by awafs --every 1s --window 60s --message turn --rate 1Gbps > control.txt 2> following.txt & control=$!
until grep -q follow following.txt; do sleep 0.05; done
host c python3 ask.py 0
sleep 1.5
kill -INT $control
wait $control
host s \"$F\" agent status s0 --json > followed.json
host s \"$F\" agent tag s0 recommendation --copy-outer > copy.txt
host s \"$F\" agent detach s0 > detach.txt
host s \"$F\" agent detach s0 > again.txt 2>&1 && exit 1
host s \"$F\" agent status s0 > after.txt
find /sys/fs/bpf -path '*flowsieve*' > pins.txt";

/// Runs a script in a folder, as root in namespaces of its own; `None`, and a line, where that is not permitted.
fn alone(test: &str, folder: &Path, steps: &str) -> Option<()> {
    let in_own = |script: String| {
        let mut command = Command::new("unshare");
        // With its first process all others end.
        command
            .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", &script])
            .current_dir(folder);
        command.env("F", env!("CARGO_BIN_EXE_flowsieve")).output()
    };
    match in_own(format!("{SET_UP}host c python3 -V")) {
        Ok(done) if done.status.success() => {}
        done => {
            println!("{test}: skipped: needs root with BPF, unshare, ip, bash and python3: {done:?}");
            return None;
        }
    }
    let done = in_own(SET_UP.to_owned() + steps).expect("a shell");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    Some(())
}

fn recommend(folder: &Path) {
    fs::create_dir(folder.join("recommendation")).expect("a folder");
    let kind = json!({ "by": "thresholds", "rule": "pias", "bytes": [48_000, 200_000, 1_000_000] });
    let tuned = json!({ "recommended": { "queues": 4, "kind": kind }, "dscps": [35, 27, 19, 11], "marks": [] });
    fs::write(folder.join("recommendation/tune.json"), tuned.to_string()).expect("a file");
}

#[test]
fn agent__records_tags_is_judged_and_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    recommend(path);
    for (name, text) in [("serve.py", SERVE), ("ask.py", ASK)] {
        fs::write(path.join(name), text).expect("a file");
    }
    // From 500 B to 3 MB, half of them up to 40 KB.
    let sizes = (0..1_000u64).map(|at| at * 7_919 % 1_000).map(|at| 500 + at * at * at / 330).collect::<Vec<u64>>();
    let text: String = sizes.iter().map(|size| format!("{size}\n")).collect();
    fs::write(path.join("truth.csv"), text).expect("a file");
    let Some(()) = alone("agent__records_tags_is_judged_and_goes", path, STEPS) else { return };
    let read = |name: &str| fs::read_to_string(path.join(name)).expect(name);

    let record = read("record.txt");
    assert!(record.contains("turn: 1000 begun, 1000 ended") && record.contains("Sizes: sizes-web.csv"), "{record}");
    assert!(record.contains("turn-1ms finds"), "pauses of 3 ms are none of 50: {record}");
    let recorded: Vec<u64> = read("sizes-web.csv").lines().skip(1).map(|line| line.parse().expect("a size")).collect();
    let (found, truth) = (recorded.iter().sum::<u64>() as f64, sizes.iter().sum::<u64>() as f64);
    assert!(recorded.len() == 1_000 && (found / truth - 1.0).abs() < 1e-4, "{} of {found}", recorded.len());
    assert!(!path.join("sizes.csv").exists() && !path.join("sizes-web-requests.csv").exists(), "one side, one class");

    assert!(read("dry.txt").starts_with("s0: attached\nIt counts"), "{}", read("dry.txt"));
    assert!(read("tag.txt").starts_with("s0: replaced"), "{}", read("tag.txt"));
    let status: Value = serde_json::from_str(&read("status.json")).expect("JSON");
    let of = &status[0];
    assert_eq!((&of["kind"], &of["message"], &of["messages"]), (&json!("tag"), &json!("turn"), &json!(992)));
    assert!(of["judgement"]["passes"] == true, "{of:#}");
    // Half a point, and what super-packets are seen to move at these thresholds.
    // They are the very messages of the record: chance plays no part.
    assert!(of["judgement"]["apart"].as_f64().is_some_and(|apart| apart < 1.5), "{of:#}");
    assert!(read("status.txt").contains("Shares are as predicted: 0."), "{}", read("status.txt"));
    // AWAFS's thresholds are the tenths of what ended, and stay when the controller has gone.
    assert!(read("control.txt").contains(" messages; thresholds "), "{}", read("control.txt"));
    let followed: Value = serde_json::from_str(&read("followed.json")).expect("JSON");
    let above = |of: &Value| {
        of["queues"].as_array().map(|all| all.iter().map(|it| it["above_bytes"].clone()).collect::<Vec<_>>())
    };
    assert!(above(&followed[0]) != above(of) && followed[0]["attached"] == true, "{followed:#}");
    assert_eq!(read("detach.txt").lines().count(), 2, "tag and copy");
    assert!(read("again.txt").starts_with("error: s0: no agent is attached; expected"), "{}", read("again.txt"));
    assert_eq!((read("after.txt").as_str(), read("pins.txt").as_str()), ("s0: no agent is attached\n", ""));
}

/// For any user, on any machine: no BPF is asked for.
#[test]
fn agent__what_is_wrong_is_one_line_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    recommend(folder.path());
    fs::write(folder.path().join("one.json"), r#"{"recommended": {"kind": {"by": "one-queue"}}}"#).expect("a file");
    let old = fs::read_to_string(folder.path().join("recommendation/tune.json")).expect("a file");
    fs::create_dir(folder.path().join("old")).expect("a folder");
    let old = old.replacen('{', "{\"model\": 12, ", 1);
    fs::write(folder.path().join("old/tune.json"), old).expect("a file");
    fs::write(folder.path().join("sizes.csv"), "kept").expect("a file");
    for (arguments, says) in [
        (&["agent", "tag", "lo", "no-such-folder"][..], "no-such-folder: No such file"),
        (&["agent", "tag", "lo", "one.json"], "one.json: it recommends `one-queue`"),
        (&["agent", "tag", "lo", "old"], "old: it is of model 12 of the simulator; expected"),
        (&["agent", "record", "lo"], "sizes.csv: already exists"),
        (&["agent", "record", "lo", "--ports", "web=80"], "expected such as 80=web"),
        (&["agent", "tag", "lo", "recommendation", "--percent", "101"], "101 is not in 0..=100"),
        // Without pins it says so; with them there is no such device.
        (&["agent", "tag", "no/such", "recommendation"], "expected"),
    ] {
        let done = flowsieve().args(arguments).current_dir(folder.path()).assert().code(2);
        let text = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(text.contains(says), "{arguments:?}: {text}");
        let own = text.lines().take_while(|line| !line.is_empty()).count();
        assert_eq!(own, 1, "{text}");
    }
    assert_eq!(fs::read(folder.path().join("sizes.csv")).expect("a file"), b"kept");
}
