"""The accuracy of predictions by class of size."""

import numpy as np

from flowsieve_forest.report import below, shuffled, stream, text, worth


def of(rows):
    return worth(*np.array(rows, dtype=np.uint64).T)


def test_worth__by_class_of_size():
    small, large, none, every = of(
        [(1_000, 500, 2_000, 1_500), (3_000, 4_000, 5_000, 4_500), (900_000, 100_000, 800_000, 200_000)]
    )
    assert [small[name] for name in ("class", "flows", "bounded", "below", "above")] == ["0-100KB", 2, 1, 1, 0]
    assert (small["mean_lower"], small["mean_upper"], small["mean_size"]) == (2_250.0, 3_500.0, 2_000.0)
    assert (small["mean_gap_to_lower"], small["mean_error"], small["largest_error"]) == (500.0, 1_000.0, 1_500)
    assert (large["flows"], large["bounded"], large["above"], large["errors_above_100kb"]) == (1, 0, 1, 1)
    assert none["flows"] == 0 and every["flows"] == 3
    assert text([none]).splitlines()[1].split() == ">10MB 0 – – – – 0.00 0.00 0.00 0.00 0.00 0.00 –".split()


def test_worth__classes_end_with_their_largest_size():
    counts = [row["flows"] for row in of([(size, 1, size, 1) for size in (100_000, 100_001, 10_000_000, 10_000_001)])]
    assert counts == [1, 2, 1, 4]


def test_worth__shuffled_sizes_are_bounded_where_bounds_are_loose():
    sizes = range(1, 1_001)
    loose = of([(size, 1, 1_000, size) for size in sizes])[-1]
    exact = of([(size, size, size, size) for size in sizes])[-1]
    assert (loose["bounded"], loose["bounded_if_shuffled"]) == (1_000, 1_000)
    # One flow in a thousand gets its own size again.
    assert exact["bounded"] == 1_000 and exact["bounded_if_shuffled"] < 10


def test_stream__is_that_of_the_simulator():
    # crates/workload/src/random.rs expects the same two words.
    draws = stream(1, 1, 0)
    assert [next(draws), next(draws)] == [4_768_342_884_129_243_497, 6_886_254_094_158_327_724]


def test_shuffled__keeps_the_sizes():
    sizes = np.arange(1, 101, dtype=np.uint64)
    other = shuffled(sizes)
    assert sorted(other) == sorted(sizes) and (other != sizes).sum() > 80
    # The first word would favour some results, and is left out.
    assert below(iter([2**63, 2**64 - 1]), 10) == 9
