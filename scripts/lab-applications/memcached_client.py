"""One client of seven memcached servers, as in QCLIMB's Fig. 12 (NSDI 2024, section 5.1): before each query it puts a value of its
own size into each server, then it asks all of them at once. Prints the time of each query in ms: until all have answered.

Usage: memcached_client.py SIZES PAUSE_S QUERIES ADDRESS...
SIZES: a file with a size in bytes per line; a query takes the next one for each server.
"""

import itertools
import pathlib
import socket
import sys
import time
from typing import BinaryIO


def line(server: BinaryIO, expected: bytes) -> None:
    got = server.readline()
    if got != expected:
        sys.exit(f"memcached answered {got!r}, and not {expected!r}")


def main() -> None:
    sizes = itertools.cycle([int(text) for text in pathlib.Path(sys.argv[1]).read_text().split()])
    pause, queries, addresses = float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    sockets = [socket.create_connection((address, 11211)) for address in addresses]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    servers = [one.makefile("rwb") for one in sockets]
    for query in range(queries):
        lengths = [min(next(sizes), 1_000_000) for _ in servers]
        key = b"q%d" % query
        for server, length in zip(servers, lengths):
            server.write(b"set %s 0 0 %d\r\n%s\r\n" % (key, length, bytes(length)))
            server.flush()
            line(server, b"STORED\r\n")
        time.sleep(pause)
        begun = time.perf_counter()
        for server in servers:
            server.write(b"get %s\r\n" % key)
            server.flush()
        for server, length in zip(servers, lengths):
            line(server, b"VALUE %s 0 %d\r\n" % (key, length))
            if len(server.read(length + 2)) != length + 2:
                sys.exit("memcached closed the connection")
            line(server, b"END\r\n")
        print(f"{1e3 * (time.perf_counter() - begun):.3f}", flush=True)


main()
