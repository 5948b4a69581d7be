"""The reader of forest files: what a file says, and what is refused of it with its byte."""

import random
import struct

import numpy as np
import pytest
from blake3 import blake3

from flowsieve_forest import InputError, forest_file
from flowsieve_forest.forest_file import LEAF, Fault, decode
from flowsieve_forest.model import Model
from tests import golden

FEATURES = ("gap_us", "us", "port", "")
HEADER = forest_file.HEADER.size
#: Where the trees begin: behind 6 + 2, 4 + 0 and 7 bytes of text, each with its length.
TREES = HEADER + 7 + 3 + 5 + 1 + 8


def leaf(flows, smallest, mean, largest):
    return (flows, smallest, largest, mean)


def tree(*nodes) -> bytes:
    """Nodes are a leaf, or feature, threshold and left child."""
    encoded = struct.pack("<I", len(nodes))
    for number, node in enumerate(nodes):
        if len(node) == 4:
            encoded += struct.pack("<II", LEAF, number << 8)
        else:
            encoded += struct.pack("<fI", node[1], node[2] << 8 | node[0])
    return encoded + b"".join(struct.pack("<IQQQ", *node) for node in nodes if len(node) == 4)


#: It asks for the gap and, above 100 us, for the port.
FIRST = tree(
    (0, 100.0, 1), leaf(5, 40, 50, 60), (1, 80.0, 3), leaf(3, 100, 150, 220), leaf(2, 5_000, 5_500, 6_000)
)
SECOND = tree(leaf(10, 40, 1_170, 6_000))


def file(*trees: bytes, flows: int = 10, features=FEATURES) -> bytes:
    """A file of trees that were all trained on `flows` flows of 1 to 10^9 bytes."""
    count = len(features) // 2
    header = forest_file.HEADER.pack(b"FSFOREST", 1, 0, 64, count, 0, len(trees), 1_000_000, 7, flows, 1, 10**9)
    texts = b"".join(bytes([len(text)]) + text.encode() for text in [*features, "by hand"])
    return sealed(header + texts + b"".join(trees) + bytes(32))


def sealed(encoded: bytes) -> bytes:
    """With the length and the checksum that fit."""
    body = encoded[:16] + struct.pack("<Q", len(encoded)) + encoded[24:-32]
    return body + blake3(body).digest()


def refused(encoded: bytes) -> str:
    with pytest.raises(Fault) as fault:
        decode(encoded)
    return str(fault.value)


def changed(at: int, new: bytes, whole: bytes | None = None) -> bytes:
    whole = whole or file(FIRST, SECOND)
    return sealed(whole[:at] + new + whole[at + len(new) :])


def bounds(encoded: bytes, *flows) -> list[tuple[int, int]]:
    lower, upper = decode(encoded).bounds(flows)
    return list(zip(lower.tolist(), upper.tolist()))


def predicted(encoded: bytes, *flow) -> int:
    return decode(encoded).predicted([flow]).tolist()[0]


def test_bounds__smallest_and_largest_size_over_the_leaves_reached():
    assert decode(file(FIRST)).features == ["gap_us", "port"]
    assert bounds(file(FIRST), [100, 80], [101, 80], [101, 81]) == [(40, 60), (100, 220), (5_000, 6_000)]
    # The second tree knows no flow from another, and its one leaf is as wide as the trace.
    assert bounds(file(FIRST, SECOND), [101, 80]) == [(40, 6_000)]


def test_predicted__mean_of_the_leaves_means_rounded_half_up():
    assert predicted(file(FIRST, SECOND), 0, 0) == 610
    # (150 + 1,170 + 1,170) / 3 = 830; (50 + 50 + 51) / 3 = 50.33; (50 + 51) / 2 = 50.5.
    assert predicted(file(FIRST, SECOND, SECOND), 101, 0) == 830
    fifty, more = tree(leaf(10, 1, 50, 60)), tree(leaf(10, 1, 51, 60))
    assert predicted(file(fifty, fifty, more), 0, 0) == 50
    assert predicted(file(fifty, more), 0, 0) == 51


def test_predicted__of_the_largest_sizes():
    most = 2**64 - 1
    large = file(*[tree(leaf(10, most, most, most))] * 3)
    assert predicted(sealed(large[:56] + struct.pack("<Q", most) + large[64:]), 0, 0) == most


def test_bounds__features_are_rounded_as_f32_to_even():
    # From 2^24 on f32 has every second number: 2^24 + 1 lies between and goes to 2^24, 2^24 + 3 to 2^24 + 4.
    def lower(threshold, *gaps):
        split = tree((0, threshold, 1), leaf(5, 1, 1, 1), leaf(5, 9, 9, 9))
        return [found[0] for found in bounds(file(split), *([gap, gap] for gap in gaps))]

    step = 1 << 24
    assert lower(step, step, step + 1, step + 2) == [1, 1, 9]
    assert lower(step + 2, step + 2, step + 3) == [1, 9]
    # The largest feature is 2^64, and no leaf mistakes it for a way on.
    assert lower(0.0, 2**64 - 1) == [9]
    assert lower(np.finfo(np.float32).max, 2**64 - 1) == [1]
    assert lower(1e-45, 0) == [1]


def test_bounds__equal_those_of_the_trainer():
    header, *rows = [line.split(",") for line in (golden.DATA / "forest-rows.csv").read_text().splitlines()]
    rows = np.array(rows, dtype=np.uint64)
    assert len(rows) >= 100
    for number, samples in enumerate(golden.SAMPLES):
        forest = forest_file.read(str(golden.DATA / f"forest-{samples}.fsf"))
        assert forest.features == header[:6]
        found = np.column_stack([*forest.bounds(rows[:, :6]), forest.predicted(rows[:, :6])])
        assert np.array_equal(found, rows[:, 6 + 3 * number : 9 + 3 * number])


@pytest.mark.parametrize("trees,depth", [(1, 1), (2, 12), (47, 5)])
def test_bounds__of_a_file_are_those_of_its_model(trees, depth):
    draw = np.random.default_rng(trees)
    features = draw.integers(0, 1 << 26, (400, 2), dtype=np.uint64)
    sizes = (features[:, 0] >> draw.integers(0, 20, 400, dtype=np.uint64)) + np.uint64(1)
    model = Model(features[:200], sizes[:200], trees=trees, depth=depth, samples="all", seed=4)
    forest = decode(forest_file.encode(model, ["a", "b"]))
    for ours, theirs in zip(forest.bounds(features), model.bounds(features)):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(forest.predicted(features), model.predicted(features))


def test_decode__files_that_are_not_whole():
    whole = file(FIRST, SECOND)
    for length in range(len(whole)):
        error = refused(whole[:length])
        expected = "this is not a forest" if length == 0 else "the file is cut short"
        assert error.startswith(f"byte {length}: {expected}")
    assert refused(whole + b"\n") == f"byte {len(whole)}: 1 bytes too many; expected the end"
    assert refused(b"start_s,src,dst,bytes").startswith("byte 0: this is not a forest; expected a file that begins with")
    assert refused(changed(8, b"\2")) == "byte 8: format version 2; expected 1: train the forest again"


def test_decode__any_changed_byte():
    whole = file(FIRST, SECOND)
    for at in range(len(whole)):
        other = bytes([whole[at] ^ 0x10])
        refused(whole[:at] + other + whole[at + 1 :])
    error = refused(whole[: TREES + 5] + bytes([whole[TREES + 5] ^ 1]) + whole[TREES + 6 :])
    assert error.startswith(f"byte {len(whole) - 32}: the checksum does not match")


@pytest.mark.parametrize(
    "at,value,expected",
    [
        (12, b"\2", "byte 12: samples: 2; expected 0 (all) or 1 (in-bag)"),
        (13, b"\x41", "byte 13: depth: 65; expected at most 64"),
        (14, b"\0", "byte 14: features: 0; expected 1 to 256"),
        (14, b"\1\1", "byte 14: features: 257; expected 1 to 256"),
        (24, b"\0", "byte 24: trees: 0; expected at least 1"),
        (24, b"\1", "bytes too many; expected the end"),
        (24, b"\3", "the file ends before a tree does; expected its bytes"),
        # Nothing is set aside for four thousand million trees, or a million nodes.
        (24, b"\xff" * 4, "the file ends before a tree does; expected its bytes"),
        (TREES, struct.pack("<I", 1 << 20), "the file ends before a tree does; expected its bytes"),
        (TREES, struct.pack("<I", (1 << 20) + 1), f"byte {TREES}: nodes of a tree: 1048577; expected 1 to 1048576"),
        (TREES, b"\0", f"byte {TREES}: nodes of a tree: 0"),
        (28, b"\0", "byte 28: beta in millionths: 999936; expected 1000000"),
        (40, b"\0", "byte 40: training flows: 0; expected at least 1"),
        (48, b"\0", "byte 48: smallest training size: 0; expected at least 1"),
        (56, bytes(8), "byte 56: largest training size: 0; expected no less than the smallest"),
        (HEADER + 1, b"\xff", "byte 64: a feature's name is not UTF-8 text"),
    ],
)
def test_decode__numbers_out_of_range(at, value, expected):
    assert expected in refused(changed(at, value))


def test_decode__a_repeated_feature():
    twice = file(FIRST, features=("port", "", "port", ""))
    assert refused(twice).startswith("byte 70: feature `port` is repeated")


@pytest.mark.parametrize(
    "number,threshold,left,feature,expected",
    [
        (2, 1.0, 1, 0, "the children of node 2 begin at 1, so there is a cycle"),
        (2, 1.0, 2, 0, "cycle"),
        (0, 1.0, 4, 0, "the children begin at node 4; the tree has 5 nodes"),
        (0, 1.0, 0x00FF_FFFF, 0, "begin at node 16777215"),
        (1, 1.0, 3, 0, "node 3 has two parents; expected one"),
        (0, 1.0, 3, 0, "no node leads to node 1; expected a parent"),
        (0, 1.0, 1, 2, "a split on feature 2; the forest has 2"),
        (3, None, 4, 0, "a leaf goes on to node 4"),
        (3, None, 3, 1, "a leaf goes on"),
        (0, float("nan"), 1, 0, "the threshold is nan"),
        (0, float("inf"), 1, 0, "the threshold is inf; expected a finite number, 0 or more"),
        (0, -1.0, 1, 0, "the threshold is -1"),
        (0, -0.0, 1, 0, "the threshold is -0"),
    ],
)
def test_decode__trees_that_are_none(number, threshold, left, feature, expected):
    bits = struct.pack("<I", LEAF) if threshold is None else struct.pack("<f", threshold)
    error = refused(changed(TREES + 4 + 8 * number, bits + struct.pack("<I", left << 8 | feature)))
    assert expected in error
    if "no node" not in expected and "parents" not in expected:
        assert error.startswith(f"byte {TREES + 4 + 8 * number}: ")


def test_decode__a_tree_that_is_too_deep():
    def chain(depth):
        # Each split leads to the next one and to a leaf.
        nodes = [(0, 1.0, 1)]
        for level in range(1, depth):
            nodes += [(0, 1.0, 2 * level + 1), leaf(1, 1, 1, 1)]
        return tree(*nodes, leaf(1, 1, 1, 1), leaf(100 - depth, 1, 1, 1))

    assert decode(file(chain(64), flows=100)).trees[0].steps == 64
    assert "node 129 is deeper than 64 splits" in refused(file(chain(65), flows=100))
    assert "is deeper than 1 splits" in refused(changed(13, b"\1"))


def test_decode__leaves_that_contradict():
    at = TREES + 4 + 8
    assert refused(file(tree(leaf(0, 1, 1, 1)))) == f"byte {at}: a leaf without flows; expected at least one"
    few = refused(file(tree(leaf(9, 1, 1, 1))))
    assert few == f"byte {at}: the leaves of the tree have 9 flows together; expected the 10 that it was trained on"
    for smallest, mean, largest in [(5, 5, 4), (5, 4, 6), (5, 7, 6), (0, 1, 2), (1, 2, 10**9 + 1)]:
        error = refused(file(tree(leaf(10, smallest, mean, largest))))
        assert error.startswith(f"byte {at + 4}: a leaf of sizes from {smallest} to {largest} with a mean of {mean}")


def test_decode__any_bytes_are_a_forest_or_a_fault():
    draw = random.Random(5)
    whole, read = file(FIRST, SECOND), 0
    for _ in range(2_000):
        if draw.randrange(2):
            encoded = sealed(whole[: draw.randrange(HEADER, len(whole))] + draw.randbytes(draw.randrange(32, 400)))
        else:
            at = draw.randrange(len(whole) - 32)
            encoded = changed(at, bytes([whole[at] ^ draw.randrange(1, 256)]))
        try:
            forest = decode(encoded)
        except Fault:
            continue
        read += 1
        features = [[value] * len(forest.features) for value in (0, 1, 1 << 24, 2**64 - 1)]
        lower, upper = forest.bounds(features)
        means = forest.predicted(features)
        assert (lower >= 1).all() and (lower <= means).all() and (means <= upper).all()
    assert read > 100


def test_read__names_the_file(tmp_path):
    cut = tmp_path / "cut.fsf"
    cut.write_bytes(file(FIRST)[:100])
    with pytest.raises(InputError, match=r"cut\.fsf: byte 100: the file is cut short: 100 bytes; expected "):
        forest_file.read(str(cut))
    with pytest.raises(InputError, match=r"no\.fsf: No such file"):
        forest_file.read(str(tmp_path / "no.fsf"))
