#!/usr/bin/env python3
"""Shows what schedulers do to programs: memcached beside web search traffic, and a page of nginx beside bulk transfers, in labs of
`flowsieve lab up`. Ends with a table in Markdown.

Usage: scripts/lab_applications.py FLOWSIEVE [QUERIES [LOADS]]
It needs root, memcached, nginx and curl: `make lab-applications` installs them.
"""

import contextlib
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
FABRIC = HERE / "lab-applications" / "fabric.toml"
WEB_SEARCH = HERE.parent / "papers" / "lab" / "web-search-5.csv"
SCHEMES = ["fifo", "pias", "qc-las", "fifo-dctcp", "pias-dctcp", "qc-las-dctcp"]
NAMES = {"fifo": "FIFO", "pias": "PIAS", "qc-las": "QC-LAS"}
# Web search traffic has a load of 0.4, for as long as the queries take at most.
BACKGROUND = ["--set", f"cdf={WEB_SEARCH}", "--set", "load=0.4", "--set", "duration=300s"]
# What tells messages apart. A connection to memcached pauses for 20 ms before it is asked again. Large files are silent while a
# page overtakes them: with the shorter gap they begin anew after that, at the highest priority.
GAPS = ["10ms", "300ms"]
OBJECTS = 24
NGINX = """
daemon off; worker_processes 1; pid {folder}/{host}.pid; error_log {folder}/{host}.log;
events {{}}
http {{ access_log off; sendfile on; server {{ listen 80; root {folder}/www; }} }}
"""


class Lab:
    """A lab that runs."""

    def __init__(self, flowsieve: str, folder: pathlib.Path, name: str) -> None:
        self.flowsieve, self.folder, self.name = flowsieve, folder, name

    def command(self, host: int, *program: str) -> list[str]:
        return [self.flowsieve, "lab", "exec", "--lab", self.name, str(host), "--", *program]

    def run(self, host: int, *program: str) -> str:
        return subprocess.run(self.command(host, *program), check=True, text=True, stdout=subprocess.PIPE).stdout

    def start(self, host: int, *program: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(host, *program), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def view(self) -> dict[str, int]:
        watch = [self.flowsieve, "lab", "watch", "--json", "--lab", self.name]
        view: dict[str, int] = json.loads(subprocess.run(watch, check=True, text=True, stdout=subprocess.PIPE).stdout)
        return view


@contextlib.contextmanager
def lab(flowsieve: str, folder: pathlib.Path, scheme: str, more: list[str]) -> Iterator[Lab]:
    name = f"applications-{scheme}"
    out = folder / name
    up = [flowsieve, "lab", "up", str(FABRIC), "--set", f"scheme={scheme}", "--name", name, "--out", str(out), "--replace"]
    subprocess.run([*up, *more], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    one = Lab(flowsieve, folder, name)
    try:
        yield one
    finally:
        view = one.view()
        late = 100 * view["late"] / max(view["sent"], 1)
        print(f"{name}: {view['sent']} frames, {late:.2f} % over 1 ms late", file=sys.stderr)
        down = [flowsieve, "lab", "down", "--lab", name]
        subprocess.run(down, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until(what: str, holds: object, seconds: float = 60) -> None:
    """Waits until a function returns true."""
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)


def answers(one: Lab, client: int, address: str, port: int) -> bool:
    probe = f"import socket; socket.create_connection(('{address}', {port}), 1)"
    command = one.command(client, "python3", "-c", probe)
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def address(host: int) -> str:
    return f"198.18.0.{host + 1}"


def sizes(flowsieve: str, folder: pathlib.Path) -> pathlib.Path:
    """Writes sizes like those of a key-value store, the same ones for every scheme."""
    command = [flowsieve, "flows", str(FABRIC), "--set", "scheme=fifo", "--set", "sizes=fb-key-value", "--set", "load=0.1"]
    text = subprocess.run([*command, "--set", "flows=7000"], check=True, text=True, stdout=subprocess.PIPE).stdout
    file = folder / "sizes.txt"
    file.write_text("\n".join(row["bytes"] for row in csv.DictReader(io.StringIO(text))))
    return file


def memcached(flowsieve: str, folder: pathlib.Path, scheme: str, queries: int) -> list[float]:
    """Times of queries to seven servers, in ms."""
    with lab(flowsieve, folder, scheme, ["--set", f"message_gap={GAPS[0]}", *BACKGROUND]) as one:
        for host in range(1, 8):
            one.start(host, "memcached", "-u", "root", "-l", address(host), "-m", "64")
        for host in range(1, 8):
            until(f"memcached on host{host}", lambda: answers(one, 0, address(host), 11211))
        # The web search traffic has begun.
        until("web search traffic", lambda: one.view()["ended"] > 1_000, 120)
        client = HERE / "lab-applications" / "memcached_client.py"
        values = str(sizes(flowsieve, folder))
        said = one.run(0, "python3", str(client), values, "0.02", str(queries), *[address(host) for host in range(1, 8)])
        return [float(line) for line in said.split()]


def page(flowsieve: str, folder: pathlib.Path, scheme: str, gap: str, loads: int) -> list[float]:
    """Times of a page from host 1 to host 0, which takes four large files from hosts 2 and 3 meanwhile, in ms."""
    with lab(flowsieve, folder, scheme, ["--set", f"message_gap={gap}"]) as one:
        for host in (1, 2, 3):
            config = folder / f"{host}.conf"
            config.write_text(NGINX.format(folder=folder, host=host))
            one.start(host, "nginx", "-c", str(config))
            until(f"nginx on host{host}", lambda: answers(one, 0, address(host), 80))
        for host in (2, 2, 3, 3):
            one.start(0, "curl", "--silent", "--output", "/dev/null", f"http://{address(host)}/bulk")
        time.sleep(2)
        client = HERE / "lab-applications" / "page_client.py"
        said = one.run(0, "python3", str(client), address(1), str(OBJECTS), str(loads), "0.1")
        return [float(line) for line in said.split()]


def site(folder: pathlib.Path) -> None:
    """Writes a page of 30 KB with objects of 2 to 48 KB, and a large file."""
    www = folder / "www"
    www.mkdir()
    folder.chmod(0o755)
    (www / "index.html").write_bytes(bytes(30_000))
    for one in range(OBJECTS):
        (www / f"object{one}").write_bytes(bytes(2_000 * (one + 1)))
    with open(www / "bulk", "wb") as file:
        file.truncate(4 << 30)


def cell(times: list[float]) -> str:
    p99 = statistics.quantiles(times, n=100)[98]
    return f"{statistics.mean(times):.1f} / {statistics.median(times):.1f} / {p99:.1f}"


def main() -> None:
    flowsieve = sys.argv[1]
    queries = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    loads = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    cells: dict[tuple[str, str], str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        site(folder)
        for scheme in SCHEMES:
            cells["memcached", scheme] = cell(memcached(flowsieve, folder, scheme, queries))
            for gap in GAPS:
                cells[gap, scheme] = cell(page(flowsieve, folder, scheme, gap, loads))
    print(f"ms, mean / median / 99th percentile of {queries} queries and of {loads} loads\n")
    print("| | " + " | ".join(NAMES.values()) + " |")
    print("| --- | --- | --- | --- |")
    rows = [("memcached", "queries of seven memcached servers"), *[(gap, f"a page of nginx, gap {gap}") for gap in GAPS]]
    for what, text in rows:
        for transport, end in [("CUBIC", ""), ("DCTCP", "-dctcp")]:
            print(f"| {text}, {transport} | " + " | ".join(cells[what, scheme + end] for scheme in NAMES) + " |")


main()
