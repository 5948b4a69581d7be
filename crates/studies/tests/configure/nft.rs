//! Linux's own `nft` loads the rules in a network namespace, and packets leave as they say.
//!
//! Without root, `nft` or network namespaces the test says that it was skipped.

use super::read_back::three_queues;
use flowsieve_studies::configure::{Port, System};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// Sends TCP from `a` to `b`, with this TOS, before and after the rules are loaded into `a`'s side. Prints by DSCP what `b` gets.
const SCRIPT: &str = r#"
set -e
ip link set lo up
unshare -n sleep 60 & peer=$!
trap 'kill $peer' EXIT
while [ "$(readlink /proc/$peer/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add va type veth peer name vb netns $peer
ip addr add 10.9.0.1/24 dev va && ip link set va up
in_peer="nsenter -t $peer -n"
$in_peer ip addr add 10.9.0.2/24 dev vb && $in_peer ip link set vb up
# Connections are tracked, and their bytes are not counted, as by a firewall.
echo 0 > /proc/sys/net/netfilter/nf_conntrack_acct
nft -f - <<'END'
table ip firewall {
  chain out {
    type filter hook output priority 0;
    ct state new counter
  }
}
END
# What arrives, counted by DSCP.
$in_peer nft -f - <<'END'
table ip seen {
  counter d0 { }
  counter d11 { }
  counter d35 { }
  counter d48 { }
  chain in {
    type filter hook prerouting priority 0;
    tcp dport 7000 ip dscp 0 counter name d0
    tcp dport 7000 ip dscp 11 counter name d11
    tcp dport 7000 ip dscp 35 counter name d35
    tcp dport 7000 ip dscp 48 counter name d48
  }
}
END
cat > $2/send.py <<'END'
import socket, sys
s = socket.socket()
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[1]))
s.connect(("10.9.0.2", 7000))
s.sendall(b"first")
input()
s.sendall(bytes(int(sys.argv[2])))
s.shutdown(socket.SHUT_WR)
s.recv(1)
END
$in_peer python3 -c '
import socket
l = socket.create_server(("10.9.0.2", 7000))
print("ready", flush=True)
for _ in range(3):
    c, _ = l.accept()
    while c.recv(1 << 20): pass
    c.close()
' > $2/ready & server=$!
trap 'kill $peer $server 2>/dev/null' EXIT
while ! grep -q ready $2/ready; do sleep 0.05; done
counted() { echo $1; $in_peer nft list counters table ip seen; $in_peer nft reset counters table ip seen > /dev/null; }
{ while [ ! -e $2/loaded ]; do sleep 0.05; done; echo; } | python3 $2/send.py 0 3000000 & old=$!
sleep 0.3
echo 1 > /proc/sys/net/netfilter/nf_conntrack_acct
nft -f $1
nft -f $1
touch $2/loaded
wait $old
counted old
echo | python3 $2/send.py 0 3000000
counted new
echo | python3 $2/send.py 192 3000000
counted control
nft -f $3
nft -f $3
nft list ruleset
"#;

#[test]
fn write__nft_loads_its_rules_and_tags_by_bytes() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let has = |command: &[&str]| {
        Command::new(command[0]).args(&command[1..]).output().is_ok_and(|done| done.status.success())
    };
    if !is_root
        || !has(&["nft", "--version"])
        || !has(&["python3", "-V"])
        || !has(&["unshare", "-n", "nft", "list", "tables"])
    {
        eprintln!("write__nft_loads_its_rules_and_tags_by_bytes: skipped: needs nft, and root for network namespaces");
        return;
    }
    let mut plan = three_queues();
    plan.ports = vec![Port { name: "va".to_owned(), rate_bps: 1, marks_from_bytes: 1 }];
    let text = System::Nftables.write(&plan).unwrap();
    let back = System::Nftables.rollback(&plan, &text, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in [("apply", &text), ("back", &back), ("script", &SCRIPT.to_owned())] {
        fs::write(path(name), text).unwrap();
    }
    let arguments = ["-n", "bash", &path("script"), &path("apply"), &path(""), &path("back")];
    let done = Command::new("unshare").args(arguments).output().unwrap();
    let (out, said) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{out}{said}");
    let bytes = |of: &str, dscp: u8| -> u64 {
        let after =
            out.split(&format!("{of}\n")).nth(1).and_then(|of| of.split(&format!("counter d{dscp} ")).nth(1)).unwrap();
        after.split_whitespace().skip_while(|word| *word != "bytes").nth(1).unwrap().parse().unwrap()
    };
    let of = |of: &str| [0, 11, 35, 48].map(|dscp| bytes(of, dscp));
    // A connection whose bytes are not known is left alone, and so is CS6, as BGP sets it.
    assert!(matches!(of("old"), [(3_000_000..), 0, 0, 0]), "{:?}", of("old"));
    assert!(matches!(of("new"), [0, (1_500_000..), (1..), 0]), "{:?}", of("new"));
    assert!(matches!(of("control"), [0, 0, 0, (3_000_000..)]), "{:?}", of("control"));
    assert!(!out.contains("table inet flowsieve"), "{out}");
}
