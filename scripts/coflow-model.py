#!/usr/bin/env python3
"""Writes papers/pcoflow/model.txt: a coflow trace in the place of pCoflow's, which was not published.

What is known of that one (ICIN 2021, SIV): 150 coflows, 2,086 flows, 32.8 + 25.4 GB, made with Sincronia's workload
generator after the Facebook trace. The five public traces of that generator for 16 ports have 9 to 11 flows a coflow, of
50 MB at most. 75 to 78 % of their coflows are short and narrow, 19 to 20 % long and narrow, 0.4 to 1.5 % short and wide, 2.5 to
4 % long and wide, with 70 to 76 % of the bytes. A quarter of them has one flow, half have up to 3, three quarters up to 7, nine
tenths up to 14, and the largest join all 15 other ports with all. Half have one or two senders, nine tenths one or two
receivers. Here these figures are met by enumeration: no random number, and no line of those files.

    scripts/coflow-model.py > papers/pcoflow/model.txt
"""

from itertools import cycle

PORTS = 64
COFLOWS, FLOWS = 150, 2_086
# 58.2 GB in MB of 2^20 bytes.
MEGABYTES = round(58.2e9 / 2**20)
CAP = 50

# Shapes as (senders, receivers): how many coflows have them.
SHORT_NARROW = {
    (1, 1): 40, (2, 1): 20, (3, 1): 14, (4, 1): 5, (2, 2): 4, (5, 1): 6, (3, 2): 6, (7, 1): 5, (8, 1): 3, (5, 2): 3,
    (12, 1): 2, (14, 1): 3, (12, 2): 1, (15, 2): 3,
}
LONG_NARROW = {(1, 1): 5, (2, 1): 4, (5, 1): 4, (7, 1): 3, (14, 1): 5, (15, 1): 2, (13, 2): 1, (14, 2): 3, (14, 3): 2}
SHORT_WIDE = {(13, 15): 1}
LONG_WIDE = {(14, 15): 5}

# MB of each flow, receiver by receiver.
SHORT_SIZES = (1, 1, 2, 1, 4, 1, 2)
LONG_SIZES = (12, 30, 44, 49, 50, 50, 38)
WIDE_SIZES = (22, 34, 42, 46, 49)


def shapes(counts):
    return [shape for shape, count in counts.items() for _ in range(count)]


def coflows():
    """(senders, [MB of a flow to each receiver]) in no order that means anything."""
    made = []
    for counts, sizes in ((SHORT_NARROW, SHORT_SIZES), (SHORT_WIDE, (2,)), (LONG_WIDE, WIDE_SIZES)):
        each = cycle(sizes)
        made += [(senders, [next(each)] * receivers) for senders, receivers in shapes(counts)]
    each = cycle(LONG_SIZES)
    long = [(senders, [next(each) for _ in range(receivers)]) for senders, receivers in shapes(LONG_NARROW)]
    # What is left to the total goes to flows of long and narrow coflows, as evenly as whole MB allow.
    left = MEGABYTES - sum(senders * sum(sizes) for senders, sizes in made + long)
    while left:
        step = 1 if left > 0 else -1
        fits = [
            (senders, sizes, at) for senders, sizes in long for at, size in enumerate(sizes)
            if senders <= abs(left) and 5 <= size + step <= CAP
        ]
        for senders, sizes, at in fits:
            if senders <= abs(left):
                sizes[at] += step
                left -= step * senders
    return made + long


def main():
    made = coflows()
    assert len(made) == COFLOWS
    assert sum(senders * len(sizes) for senders, sizes in made) == FLOWS
    assert sum(senders * sum(sizes) for senders, sizes in made) == MEGABYTES
    print(PORTS, COFLOWS)
    # Every seventh, so that neighbours are unlike; 7 and 150 have no common divisor.
    for number in range(COFLOWS):
        senders, sizes = made[number * 7 % COFLOWS]
        first = number * 5
        from_ports = [(first + port) % PORTS for port in range(senders)]
        to_ports = [(first + senders + port) % PORTS for port in range(len(sizes))]
        reducers = [f"{port}:{senders * size}" for port, size in zip(to_ports, sizes)]
        print(number, 100 * number, senders, *from_ports, len(sizes), *reducers)


if __name__ == "__main__":
    main()
