#!/usr/bin/env python3
"""The cost of the package compared with the command, and of sweeps compared with local runs.

Wants a quiet machine, the package, and Ray.

    python scripts/bench_sweep.py [import] [run] [table] [ray] [long] [many]

`ray`, `long` and `many` begin a cluster of one node with as many CPUs as the machine, on loopback, and end it. Each line says wall time and, where
that means something, processor time of this process and of its children.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMALL = {
    "title": "Eight hosts",
    "topology": {"kind": "single-switch", "hosts": 8},
    "workload": {"sizes": "web-search", "flows": 400},
    "sweep": {"load": [0.5, 0.6, 0.7, 0.8], "scheme": ["dctcp", "pias"]},
    "run": {"seeds": 5},
}

MANY = 10_000


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def said(what: str, wall: float, cpu: float | None = None, more: str = "") -> None:
    print(f"{what:58} {wall:8.2f} s" + ("" if cpu is None else f"  {cpu:8.2f} s of processor") + more, flush=True)


def child(code: str, *arguments: str) -> tuple[float, float, float]:
    """Wall and processor seconds and peak memory in MB of a Python process."""
    return process([sys.executable, "-c", code, *arguments])


def process(words: list[str]) -> tuple[float, float, float]:
    begun = time.monotonic()
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    assert status == 0, words
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def bench_import() -> None:
    bare = [child("pass") for _ in range(10)]
    whole = [child("import flowsieve") for _ in range(10)]
    wall, memory = (min(run[at] for run in whole) - min(run[at] for run in bare) for at in (0, 2))
    said("import flowsieve, beyond python itself", wall, None, f"  {memory:.0f} MB")


def bench_run() -> None:
    """By turns: the same experiment by the command (of this package) and by `run`."""
    code = "import flowsieve as fs, sys; fs.Experiment.from_file(sys.argv[1]).run(sys.argv[2], jobs=1)"
    command = "import sys; from flowsieve import _flowsieve; sys.exit(_flowsieve.main(sys.argv[1:]))"
    import flowsieve as fs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.toml"
        path.write_text(fs.Experiment.from_dict({**SMALL, "workload": {"sizes": "web-search", "flows": 1500}}).text)
        for turn in range(3):
            out = f"{folder}/command-{turn}"
            wall, cpu, memory = child(command, "run", str(path), "--jobs", "1", "--out", out)
            said("command", wall, cpu, f"  {memory:.0f} MB")
            wall, cpu, memory = child(code, str(path), f"{folder}/run-{turn}")
            said("Experiment.run", wall, cpu, f"  {memory:.0f} MB")


def bench_table() -> None:
    """Ten million flows as polars."""
    import flowsieve as fs
    import polars

    with tempfile.TemporaryDirectory() as folder:
        exp = fs.Experiment.from_dict({**SMALL, "workload": {"sizes": "fixed(1KB)", "flows": 125_000}, "run": {"seeds": 1}})
        flows = exp.run(f"{folder}/out").flows()
        many = Path(folder) / "many.parquet"
        frame = flows.to_polars()
        polars.concat([frame] * (10_000_000 // frame.height)).write_parquet(many)
        begun = time.monotonic()
        lazy = fs.Table(many).lazy()
        schema = lazy.collect_schema()
        said(f"10 million flows, {len(schema)} columns: until an aggregation begins", time.monotonic() - begun)
        begun = time.monotonic()
        lazy.group_by("scheme").agg(polars.col("fct_ps").mean()).collect()
        said("mean FCT by scheme of these", time.monotonic() - begun)


def cluster() -> "tuple[subprocess.Popen[bytes], str]":
    sys.path.insert(0, str(Path(__file__).parent.parent / "python" / "cluster"))
    import test_ray

    nodes = test_ray.Cluster(Path(tempfile.mkdtemp(prefix="ray-")))
    nodes.start("head", f"--num-cpus={os.cpu_count()}")
    return nodes, nodes.address


def beside_a_local_run(what: str, changes: dict[str, object]) -> None:
    """The same runs on Ray and by this process's own threads, three times by turns."""
    import flowsieve as fs
    import ray

    nodes, address = cluster()
    try:
        ray.init(address=address, log_to_driver=False)
        exp = fs.Experiment.from_dict(SMALL)
        with tempfile.TemporaryDirectory() as folder:
            # Workers are up, and have imported the package.
            fs.sweep(exp.set(seeds=1), f"{folder}/warm", on=fs.Ray())
            exp = exp.set(**changes)
            for turn in range(3):
                begun = time.monotonic()
                exp.run(f"{folder}/local-{turn}", jobs=os.cpu_count())
                said(f"{what}, Experiment.run", time.monotonic() - begun)
                begun, cpu = time.monotonic(), seconds(resource.RUSAGE_SELF)
                fs.sweep(exp, f"{folder}/ray-{turn}", on=fs.Ray())
                said(f"{what}, Ray", time.monotonic() - begun, seconds(resource.RUSAGE_SELF) - cpu)
    finally:
        ray.shutdown()
        nodes.close()


def bench_ray() -> None:
    beside_a_local_run("40 small runs", {})


def bench_long() -> None:
    beside_a_local_run("4 long runs", {"flows": 40_000, "load": 0.7, "scheme": "dctcp", "seeds": 4})


def bench_many() -> None:
    import flowsieve as fs
    import ray

    nodes, address = cluster()
    try:
        ray.init(address=address, log_to_driver=False)
        one = {**SMALL, "workload": {"sizes": "fixed(1KB)", "flows": 1}, "sweep": {"load": [0.5], "scheme": ["dctcp"]}}
        exp = fs.Experiment.from_dict({**one, "run": {"seeds": MANY}})
        with tempfile.TemporaryDirectory() as folder:
            begun, cpu = time.monotonic(), seconds(resource.RUSAGE_SELF)
            fs.sweep(exp, f"{folder}/out", on=fs.Ray())
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            cpu = seconds(resource.RUSAGE_SELF) - cpu
            said(f"{MANY:,} runs of one flow, Ray: the driver", time.monotonic() - begun, cpu, f"  {memory:.0f} MB")
    finally:
        ray.shutdown()
        nodes.close()


def main() -> None:
    benches = {"import": bench_import, "run": bench_run, "table": bench_table, "ray": bench_ray, "long": bench_long, "many": bench_many}
    for name in sys.argv[1:] or benches:
        benches[name]()


if __name__ == "__main__":
    main()
