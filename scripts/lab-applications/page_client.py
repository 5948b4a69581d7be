"""Loads a page: its text, and then all its objects over six connections, as browsers do. Prints the time of each load in ms.

Usage: page_client.py ADDRESS OBJECTS LOADS PAUSE_S
"""

import concurrent.futures
import http.client
import sys
import time


def get(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"{path}: status {answer.status}")
    answer.read()


def some(connection: http.client.HTTPConnection, paths: list[str]) -> None:
    for path in paths:
        get(connection, path)


def main() -> None:
    address, objects, loads, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    with concurrent.futures.ThreadPoolExecutor(6) as threads:
        for _ in range(loads):
            begun = time.perf_counter()
            connections = [http.client.HTTPConnection(address, timeout=60) for _ in range(6)]
            get(connections[0], "/index.html")
            shares = [[f"/object{one}" for one in range(first, objects, 6)] for first in range(6)]
            list(threads.map(some, connections, shares))
            print(f"{1e3 * (time.perf_counter() - begun):.3f}", flush=True)
            for connection in connections:
                connection.close()
            time.sleep(pause)


main()
