"""Sweeps on a cluster of Ray: two nodes of one CPU on loopback, which the test begins and ends by itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import flowsieve as fs
import pytest
from conftest import files

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs processes of POSIX")



def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Cluster:
    """Nodes on loopback, each a process group of its own: only those are ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = f"127.0.0.1:{self._port}"

    def start(self, name: str, *more: str) -> None:
        head = not self._nodes
        role = ["--head", f"--port={self._port}", "--include-dashboard=false"] if head else [f"--address={self.address}"]
        if head:
            role.append(f"--temp-dir={self._folder}")
        words = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1", "--node-ip-address=127.0.0.1"]
        words += ["--disable-usage-stats", "--object-store-memory=100000000", *role, *more]
        log = (self._folder / f"{name}.log").open("wb")
        environment = {**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_USAGE_STATS_ENABLED": "0"}
        self._nodes[name] = subprocess.Popen(
            words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )
        self._wait_for_port() if head else None

    def _wait_for_port(self) -> None:
        for _ in range(600):
            with socket.socket() as client:
                client.settimeout(0.2)
                if client.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("the head node did not come up")

    def kill(self, name: str) -> None:
        node = self._nodes.pop(name)
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def close(self) -> None:
        for name in list(self._nodes):
            self.kill(name)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # Paths of sockets have to be short.
    cluster = Cluster(tmp_path_factory.mktemp("ray"))
    try:
        cluster.start("head")
        cluster.start("other")
        ray.init(address=cluster.address, log_to_driver=False)
        for _ in range(600):
            if ray.cluster_resources().get("CPU", 0) == 2:
                break
            time.sleep(0.1)
        assert ray.cluster_resources()["CPU"] == 2
        yield cluster
    finally:
        ray.shutdown()
        cluster.close()


def experiment(flows: int, seeds: int) -> fs.Experiment:
    return fs.Experiment.from_dict(
        {
            "title": "Eight hosts",
            "topology": {"kind": "single-switch", "hosts": 8},
            "workload": {"sizes": "web-search", "flows": flows},
            "sweep": {"load": [0.5, 0.8], "scheme": ["dctcp", "pias"]},
            "run": {"seeds": seeds},
        }
    )


def test_sweep__on_two_nodes_gives_the_bytes_of_a_local_run(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exp = experiment(60, 3)
    whole = exp.run(tmp_path / "whole")
    swept = fs.sweep(exp, tmp_path / "swept", on=fs.Ray())
    assert files(swept.path) == files(whole.path)
    assert "Ray: 2 nodes with 2 CPUs" in capsys.readouterr().err
    shared = fs.sweep(exp, tmp_path / "by-disk", on=fs.Ray(parts=tmp_path / "shared"))
    assert files(shared.path) == files(whole.path)


def test_sweep__a_node_that_is_killed_in_the_middle_changes_no_byte(cluster: Cluster, tmp_path: Path) -> None:
    exp = experiment(4_000, 3)
    killed = threading.Event()

    def show(finished: int, *_: object) -> None:
        if finished >= 2 and not killed.is_set():
            killed.set()
            cluster.kill("other")

    swept = fs.sweep(exp, tmp_path / "swept", on=fs.Ray(), progress=show)
    assert killed.is_set()
    assert files(swept.path) == files(exp.run(tmp_path / "whole").path)


def test_sweep__a_run_that_fails_says_so_and_what_is_finished_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    # No flow starts before the window of the second load ends, which only a run finds out.
    exp = fs.Experiment.from_text(
        """
        [topology]
        kind = "single-switch"
        hosts = 4
        [workload]
        sizes = "fixed(1MB)"
        duration = "10us"
        [sweep]
        load = [0.00001, 0.9]
        scheme = "dctcp"
        """
    )
    with pytest.raises(fs.SimulationError, match="no flow starts"):
        fs.sweep(exp, tmp_path / "out", on=fs.Ray())


def test_sweep__ray_can_bring_the_package(cluster: Cluster, tmp_path: Path) -> None:
    exp = experiment(60, 1)
    ray.shutdown()
    swept = fs.sweep(exp, tmp_path / "swept", on=fs.Ray(cluster.address, install=True))
    assert files(swept.path) == files(exp.run(tmp_path / "whole").path)
    assert not ray.is_initialized(), "the sweep's own connection is closed"


def test_sweep__a_cluster_without_room_says_what_was_asked_for(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flowsieve.sweeps import _ray
    from flowsieve.sweeps._protocol import Task

    now = [0.0]
    on = fs.Ray()
    monkeypatch.setattr(on, "_clock", lambda: now[0])
    exp = experiment(60, 1)
    path = exp.pack(tmp_path / "x.flowsieve")
    from flowsieve.sweeps import Bundle
    from flowsieve.sweeps._worker import this_program

    bundle = Bundle(path, "digest", exp.plan().hash, this_program())
    on.open(bundle)
    future = on.submit(bundle, Task((exp.plan().runs[0].key,), 1.0, 10**13))
    now[0] += 2
    said = list(on.told())
    assert len(said) == 1 and said[0].startswith("Ray: 2 nodes with 2 CPUs")
    now[0] += _ray.NO_ROOM_SECONDS
    said = list(on.told())
    assert len(said) == 1 and "asked for 1 CPU and 10000000 MB of memory" in said[0]
    assert not future.done()
    on.close()
