#!/usr/bin/env python3
"""Runs the whole way of an operator between network namespaces: record, tune, tag half of the hosts, judge.

Usage: scripts/agent.py FLOWSIEVE
It needs root, BPF, ip, tc and nstat (iproute2) and a kernel with htb and u32. Two servers answer a client through a switch's port of
100 Mbit/s, twice: the canary and the control. All of it is in namespaces that end with the script.
"""

import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

RATE = 100_000_000
LOAD = 0.6
CONNECTIONS = 8  # from a client to each of its servers
BLOCK = 4  # seconds that count as a day
BLOCKS = 7
SHORT = 20_000
GROUPS = {"canary": ("s1", "s2", "c1"), "control": ("s3", "s4", "c2")}
HOSTS = [host for group in GROUPS.values() for host in group]
FABRIC = f"""title = "Two servers and a client"
[topology]
kind = "single-switch"
hosts = 3
host_link = "100Mbps"
link_delay = "50us"
[network]
nic = "backpressure"
buffer = "300KB"
[transport]
connections = "warm"
[schemes.today]
base = "dctcp"
transport = "cubic"
marking = "none"
[workload]
load = {LOAD}
[run]
parameters = "linux"
"""


def address(host: str) -> str:
    return f"198.18.{HOSTS.index(host)}.2"


def in_host(host: str, *command: str) -> list[str]:
    # `ip netns exec` would hide the bpf file system.
    return ["nsenter", f"--net=/run/netns/{host}", *command]


def run(*command: str) -> str:
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"agent.py: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def shown(*command: str) -> str:
    """Runs a step, and prints it with its answer."""
    out = run(*command)
    words = [pathlib.Path(word).name if "/" in word else word for word in command]
    print(f"$ {' '.join(words[2:] if words[0] == 'nsenter' else words)}\n{out}", flush=True)
    return out


def network() -> None:
    """A switch that forwards between its hosts, with the queues of a port that hosts may use later."""
    run("mount", "-t", "tmpfs", "none", "/run")
    run("mount", "-t", "bpf", "none", "/sys/fs/bpf")
    run("ip", "netns", "add", "switch")
    for at, host in enumerate(HOSTS):
        run("ip", "netns", "add", host)
        run("ip", "link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", f"to-{host}", "netns", "switch")
        for name, device, last in ((host, "eth0", 2), ("switch", f"to-{host}", 1)):
            run("ip", "-n", name, "addr", "add", f"198.18.{at}.{last}/24", "dev", device)
            # Pieces of one packet, so that the port is a switch's.
            run("ip", "-n", name, "link", "set", device, "gso_max_segs", "1", "txqueuelen", "200", "up")
        run("ip", "-n", host, "route", "add", "default", "via", f"198.18.{at}.1")
    run(*in_host("switch", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    for group in GROUPS.values():
        queues(group[-1], [], 0)


def queues(client: str, dscps: list[int], unmarked: int) -> None:
    """Strict queues by these code points at the port to a client; none: one queue."""
    device = f"to-{client}"
    tc = in_host("switch", "tc")
    subprocess.run([*tc, "qdisc", "del", "dev", device, "root"], check=False, stderr=subprocess.DEVNULL)
    run(*tc, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", str(10 + unmarked))
    rate = f"{RATE}bit"
    run(*tc, "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", "rate", rate, "quantum", "1514")
    for queue in range(max(len(dscps), 1)):
        # Next to nothing is assured, so that all goes by priority.
        own = ["htb", "rate", "100kbit", "ceil", rate, "prio", str(queue), "quantum", "1514"]
        run(*tc, "class", "add", "dev", device, "parent", "1:1", "classid", f"1:{10 + queue}", *own)
    for queue, dscp in enumerate(dscps):
        by = ["u32", "match", "ip", "tos", hex(dscp << 2), "0xfc", "flowid", f"1:{10 + queue}"]
        run(*tc, "filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "prio", "1", *by)


def serve() -> None:
    """Answers with as many bytes as each request says."""

    def work(own: socket.socket) -> None:
        while wanted := own.recv(8, socket.MSG_WAITALL):
            own.sendall(bytes(int.from_bytes(wanted, "little")))

    listener = socket.create_server(("", 7001), backlog=64)
    while True:
        threading.Thread(target=work, args=(listener.accept()[0],), daemon=True).start()


def ask(servers: list[str], file: str, seconds: float, seed: int) -> None:
    """Asks at random times, at the load, over connections that stay open; writes when and how long short answers took."""
    free: list[socket.socket] = [socket.create_connection((address(to), 7001)) for to in servers * CONNECTIONS]
    wanted: list[tuple[float, int]] = []
    ready = threading.Condition()
    rows: list[str] = []
    draw = random.Random(seed)

    def work(own: socket.socket) -> None:
        while True:
            with ready:
                while not wanted:
                    ready.wait()
                begun, size = wanted.pop(0)
            left = size
            own.sendall(size.to_bytes(8, "little"))
            while left > 0:
                left -= len(own.recv(1 << 18))
            if size <= SHORT:
                rows.append(f"{begun:.6f},{1e3 * (time.time() - begun):.3f}\n")

    for own in free:
        threading.Thread(target=work, args=(own,), daemon=True).start()
    # From the beginning of a block on.
    now = BLOCK * (time.time() // BLOCK + 1)
    end = now + seconds
    while now < end:
        time.sleep(max(0.0, now - time.time()))
        kind = draw.random()
        size = draw.randrange(1_000, SHORT) if kind < 0.85 else draw.randrange(100_000, 500_000)
        size = draw.randrange(2_000_000, 5_000_000) if kind > 0.97 else size
        with ready:
            wanted.append((now, size))
            ready.notify()
        now += draw.expovariate(LOAD * RATE / 8 / 150_000)
    time.sleep(1)
    pathlib.Path(file).write_text("time,ms\n" + "".join(rows))


def period(name: str, seconds: float, seed: int) -> None:
    """Both clients ask at once; counters of the canary's servers over the time."""
    print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    servers = [in_host(host, "env", f"NSTAT_HISTORY=nstat-{host}", "nstat") for host in GROUPS["canary"][:2]]
    for nstat in servers:
        run(*nstat, "-n")
    asking = []
    for at, (group, hosts) in enumerate(GROUPS.items()):
        own = [sys.executable, __file__, "ask", f"{group}-{name}.csv", str(seconds), str(seed + at), *hosts[:-1]]
        asking.append(subprocess.Popen(in_host(hosts[-1], *own)))
    for one in asking:
        if one.wait() != 0:
            sys.exit("agent.py: a client failed")
    pathlib.Path(f"nstat-{name}.json").write_text("".join(run(*nstat, "--json") for nstat in servers))


def whole_way(flowsieve: str) -> None:
    network()
    for hosts in GROUPS.values():
        for host in hosts[:-1]:
            subprocess.Popen(in_host(host, sys.executable, __file__, "serve"))
    time.sleep(0.5)
    # 1. What do messages look like? Nothing is changed.
    record = [flowsieve, "agent", "record", "eth0", "--ports", "7001=web", "--message", "turn", "--out", "sizes.csv"]
    recording = subprocess.Popen(in_host("s1", *record), stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    period("recorded", 5 * BLOCK, 1)
    recording.send_signal(2)
    print(f"$ {' '.join(['flowsieve', *record[1:]])}\n{recording.communicate()[0]}", flush=True)
    # 2. What would help them? Hosts go on sending by CUBIC.
    pathlib.Path("fabric.toml").write_text(FABRIC)
    tune = ["tune", "fabric.toml", "--sizes", "sizes-web.csv", "--queues", "3", "--flows", "1000", "--seeds", "5"]
    told = shown(flowsieve, *tune, "--hosts-stay", "--unmarked", "1")
    answer = json.loads(pathlib.Path("recommendation/tune.json").read_text())
    if answer["verdict"] != "use":
        sys.exit(f"agent.py: nothing to tag by: {told.splitlines()[0]}")
    # 3. Both switches get the queues; then a week before the change and one after it.
    for hosts in GROUPS.values():
        queues(hosts[-1], answer["dscps"], answer["unmarked"])
    period("before", BLOCKS * BLOCK, 11)
    for host in GROUPS["canary"][:2]:
        shown(*in_host(host, flowsieve, "agent", "tag", "eth0", "recommendation", "--message", "turn"))
    period("after", BLOCKS * BLOCK, 21)
    # 4. Is it what was simulated, and does it help?
    status = [flowsieve, "agent", "status", "eth0", "--sizes", "sizes-web.csv"]
    shown(*in_host("s1", *status))
    pathlib.Path("status.json").write_text(run(*in_host("s1", *status, "--json")))
    judge = ["canary", "canary-before.csv", "canary-after.csv", "--control", "control-before.csv", "control-after.csv"]
    gates = ["--status", "status.json", "--counters", "nstat-before.json", "nstat-after.json"]
    shown(flowsieve, *judge, "--quantile", "0.9", "--window", f"{BLOCK}s", "--block", f"{BLOCK}s", *gates)
    for host in GROUPS["canary"][:2]:
        run(*in_host(host, flowsieve, "agent", "detach", "eth0"))


def main() -> None:
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["ask", file, seconds, seed, *servers]:
            ask(servers, file, float(seconds), int(seed))
        case ["inside", flowsieve]:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                whole_way(flowsieve)
        case [flowsieve]:
            if os.geteuid() != 0:
                sys.exit("agent.py: needs root for network namespaces and BPF; run: sudo make agent")
            own = [sys.executable, os.path.realpath(__file__), "inside", os.path.realpath(flowsieve)]
            # With its first process all others end.
            flags = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
            sys.exit(subprocess.run(["unshare", *flags, *own], check=False).returncode)
        case _:
            sys.exit(__doc__)


main()
