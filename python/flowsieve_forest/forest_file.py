"""Writes a forest into a file, reads it again, and applies it.

Numbers are little-endian and unsigned. A text is a length byte and that many bytes of UTF-8.

    bytes
    8     FSFOREST
    4     version of the format
    1     samples: 0 all, 1 in-bag
    1     depth that trees were allowed, at most 64; no tree is deeper
    2     features, 1 to 256
    8     bytes of the file
    4     trees, at least 1
    4     beta in millionths, 1,000,000
    8     seed
    8     training flows, at least 1
    16    the smallest and the largest training size in bytes, at least 1
          of each feature, all of other names: a text with its name, a text with its unit
          a text with the libraries and their versions
          of each tree: 4 bytes with the number of its nodes (1 to 2^20), 8 of each node, 28 of each leaf
    32    BLAKE3 of everything before

A **node** has a threshold in 4 bytes: an f32 that is finite and not negative, or 0xFFFFFFFF of a leaf. Of the other 4 bytes
the lowest 8 bits are the feature, from 0, and the others the left child, counted in the tree; of a leaf they are its own
number. The right child stands behind the left one. Children stand behind their parent, and every node but the root has one
parent: there are no cycles, and no nodes that cannot be reached.

A **leaf** has the number of its training flows in 4 bytes, then their smallest, largest and mean size in 8 each. Leaves stand
in the order of their nodes. Those of a tree have together the flows that it was trained on.

Features are rounded to f32 once, as in scikit-learn, and its thresholds *down* to f32, so that every comparison has the same
result. Both are ordered as their bits are. Above 2^24 features lose their last bits.

A file that fails a check is refused with the byte at which it fails. No memory is taken for a number's promise before its bytes
are there.
"""

import struct
from dataclasses import dataclass

import numpy as np
import sklearn
from blake3 import blake3

from flowsieve_forest import InputError, __version__
from flowsieve_forest.model import Leaves, Model, mean_of, room_for, rounded

MAGIC = b"FSFOREST"
VERSION = 1
HEADER = struct.Struct("<8sIBBHQIIQQQQ")
SAMPLES = {"all": 0, "in-bag": 1}
WHOLE = 1_000_000
CHECKSUM = 32
MOST_BYTES = 256_000_000
MOST_NODES = 1 << 20
MOST_FEATURES = 256
MOST_DEPTH = 64
FEATURE_BITS = 8
#: The threshold that marks a leaf.
LEAF = 0xFFFF_FFFF
#: An infinite threshold; what is above it is no number, or negative.
INFINITY = 0x7F80_0000

NODE = np.dtype([("threshold", "<u4"), ("next", "<u4")])
LEAF_RECORD = np.dtype([("flows", "<u4"), ("smallest", "<u8"), ("largest", "<u8"), ("mean", "<u8")])


def libraries() -> str:
    """What a forest is trained with."""
    return f"flowsieve_forest {__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}"


def unit(feature: str) -> str:
    """The unit that a feature's name tells; empty for a bare number."""
    for ending, name in [("_ns", "ns"), ("_us", "us"), ("_ms", "ms"), ("_s", "s"), ("_bytes", "bytes")]:
        if feature.endswith(ending):
            return name
    return "bytes" if feature.startswith("last_size") else ""


def encode(model: Model, features: list[str]) -> bytes:
    """The bytes of a forest file."""
    if len(features) > MOST_FEATURES:
        raise InputError(f"{len(features)} features; expected at most {MOST_FEATURES}")
    texts = [text for feature in features for text in (feature, unit(feature))] + [libraries()]
    trees = [_tree(estimator.tree_, leaves) for estimator, leaves in zip(model.forest.estimators_, model.leaves)]
    body = b"".join([_text(text) for text in texts] + trees)
    length = HEADER.size + len(body) + CHECKSUM
    if length > MOST_BYTES:
        raise InputError(f"the forest has {length} bytes; expected at most {MOST_BYTES}: fewer trees or less depth")
    header = HEADER.pack(
        MAGIC,
        VERSION,
        SAMPLES[model.samples],
        model.depth,
        len(features),
        length,
        len(trees),
        WHOLE,
        model.seed,
        len(model.sizes),
        int(model.sizes.min()),
        int(model.sizes.max()),
    )
    return header + body + blake3(header + body).digest()


def rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """The largest f32 that is at most each f64: the comparison `f32 feature <= threshold` stays as it is."""
    nearest = thresholds.astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    # A negative zero would have another order as bits.
    return np.where(nearest > thresholds, below, nearest) + np.float32(0)


def _text(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > 255:
        raise InputError(f"`{text}` has {len(encoded)} bytes; expected at most 255")
    return bytes([len(encoded)]) + encoded


def _tree(tree, leaves: Leaves) -> bytes:
    if tree.node_count > MOST_NODES:
        raise InputError(f"a tree has {tree.node_count} nodes; expected at most {MOST_NODES}: less depth")
    place = _places(tree)
    is_leaf = tree.children_left < 0
    left = np.where(is_leaf, place, place[tree.children_left])
    feature = np.where(is_leaf, 0, tree.feature)
    threshold = rounded_down(np.where(is_leaf, 0, tree.threshold)).view(np.uint32)
    nodes = np.empty(tree.node_count, dtype=NODE)
    nodes["threshold"][place] = np.where(is_leaf, np.uint32(LEAF), threshold)
    nodes["next"][place] = left << FEATURE_BITS | feature
    # Leaves follow in the order of their nodes.
    by_place = np.empty(tree.node_count, dtype=np.int64)
    by_place[place] = leaves.number
    order = by_place[by_place >= 0]
    records = np.empty(len(order), dtype=LEAF_RECORD)
    for name in LEAF_RECORD.names:
        records[name] = getattr(leaves, name)[order]
    return struct.pack("<I", tree.node_count) + nodes.tobytes() + records.tobytes()


def _places(tree) -> np.ndarray:
    """Where each node stands: siblings side by side, and behind them the tree of the one with more flows."""
    left, right, flows = tree.children_left.tolist(), tree.children_right.tolist(), tree.n_node_samples.tolist()
    place = np.zeros(tree.node_count, dtype=np.int64)
    free, pending = 1, [0]
    while pending:
        node = pending.pop()
        if left[node] < 0:
            continue
        children = [left[node], right[node]]
        place[children] = free, free + 1
        free += 2
        # The last is taken first.
        pending += sorted(children, key=lambda child: flows[child])
    return place


@dataclass
class Tree:
    """A tree of a file: its nodes as they are there, and the sizes of its leaves in the order of their nodes."""

    threshold: np.ndarray
    #: Of a split its left child, of a leaf itself.
    left: np.ndarray
    feature: np.ndarray
    #: By node: the number of its leaf; a split has none.
    leaf: np.ndarray
    leaves: np.ndarray
    steps: int


@dataclass
class Forest:
    """A forest that was read and checked."""

    features: list[str]
    trees: list[Tree]

    def bounds(self, features) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest training size in the leaves that each flow reaches."""
        reached = self._reach(features)
        smallest, largest = ([leaves[name] for leaves in reached] for name in ("smallest", "largest"))
        return np.minimum.reduce(smallest), np.maximum.reduce(largest)

    def predicted(self, features) -> np.ndarray:
        """The mean over the trees of the leaf's mean, in bytes, rounded to the nearest and halves up."""
        means = [leaves["mean"] for leaves in self._reach(features)]
        return mean_of(means, room_for(np.maximum.reduce(means), len(means)))

    def _reach(self, features) -> list[np.ndarray]:
        """By tree: the leaf that each flow reaches. Numbers that are not negative have the order of their bits."""
        values = rounded(features).view(np.uint32)
        flows = np.arange(len(values))
        reached = []
        for tree in self.trees:
            at = np.zeros(len(values), dtype=np.int64)
            for _ in range(tree.steps):
                # No value is above the threshold of a leaf, which leads to itself.
                at = tree.left[at] + (values[flows, tree.feature[at]] > tree.threshold[at])
            reached.append(tree.leaves[tree.leaf[at]])
        return reached


class Fault(Exception):
    """What is wrong with a file, and the bytes before it."""

    def __init__(self, offset: int, problem: str):
        super().__init__(f"byte {offset}: {problem}")


def read(path: str) -> Forest:
    """The forest in a file, which is read up to the largest size."""
    try:
        with open(path, "rb") as file:
            return decode(file.read(MOST_BYTES + 1))
    except (OSError, Fault) as error:
        raise InputError(f"{path}: {error.strerror if isinstance(error, OSError) else error}") from error


def decode(encoded: bytes) -> Forest:
    """The forest in the bytes of a file. Each tree's bytes are there before any memory is taken for it."""
    body = _checked(encoded)
    _, _, samples, depth, features, _, trees, beta, _, flows, smallest, largest = HEADER.unpack_from(body)
    for offset, what, found, least, most, expected in [
        (12, "samples", samples, 0, 1, "0 (all) or 1 (in-bag)"),
        (13, "depth", depth, 0, MOST_DEPTH, f"at most {MOST_DEPTH}"),
        (14, "features", features, 1, MOST_FEATURES, f"1 to {MOST_FEATURES}"),
        (24, "trees", trees, 1, trees, "at least 1"),
        (28, "beta in millionths", beta, WHOLE, WHOLE, f"{WHOLE}: other bounds are written into a list"),
        (40, "training flows", flows, 1, flows, "at least 1"),
        (48, "smallest training size", smallest, 1, smallest, "at least 1"),
        (56, "largest training size", largest, smallest, largest, "no less than the smallest"),
    ]:
        if not least <= found <= most:
            raise Fault(offset, f"{what}: {found}; expected {expected}")
    reader = _Reader(body, HEADER.size)
    names: list[str] = []
    for _ in range(features):
        offset = reader.at
        name, _ = reader.text("a feature's name"), reader.text("a feature's unit")
        if name == "" or name in names:
            raise Fault(offset, f"feature `{name}` is repeated or has no name; expected a different name for each")
        names.append(name)
    reader.text("the libraries' versions")
    found = [_tree_of(reader, depth, features, flows, (smallest, largest)) for _ in range(trees)]
    if reader.at != len(body):
        raise Fault(reader.at, f"{len(body) - reader.at} bytes too many; expected the end")
    return Forest(names, found)


class _Reader:
    def __init__(self, body: bytes, at: int):
        self.body, self.at = body, at

    def take(self, length: int, what: str) -> bytes:
        taken = self.body[self.at : self.at + length]
        if len(taken) < length:
            raise Fault(self.at, f"the file ends before {what} does; expected its bytes")
        self.at += length
        return taken

    def text(self, what: str) -> str:
        offset = self.at
        try:
            return self.take(self.take(1, what)[0], what).decode()
        except UnicodeDecodeError:
            raise Fault(offset, f"{what} is not UTF-8 text") from None


def _checked(encoded: bytes) -> bytes:
    """Everything before the checksum, if that is right and the file is whole."""
    if len(encoded) > MOST_BYTES:
        raise Fault(MOST_BYTES, f"more than {MOST_BYTES} bytes; expected a smaller forest: fewer trees or less depth")
    if encoded == b"" or encoded[:8] != MAGIC[: len(encoded)]:
        raise Fault(0, "this is not a forest; expected a file that begins with `FSFOREST`")
    version = int.from_bytes(encoded[8:12], "little")
    if len(encoded) >= 12 and version != VERSION:
        raise Fault(8, f"format version {version}; expected {VERSION}: train the forest again")
    least = HEADER.size + CHECKSUM
    length = least if len(encoded) < least else int.from_bytes(encoded[16:24], "little")
    if length > len(encoded):
        raise Fault(len(encoded), f"the file is cut short: {len(encoded)} bytes; expected {length}")
    if length < len(encoded):
        raise Fault(length, f"{len(encoded) - length} bytes too many; expected the end")
    body = encoded[:-CHECKSUM]
    if blake3(body).digest() != encoded[-CHECKSUM:]:
        raise Fault(len(body), "the checksum does not match, so the file has changed; expected the file that was written")
    return body


def _tree_of(reader: _Reader, depth: int, features: int, flows: int, sizes: tuple[int, int]) -> Tree:
    offset = reader.at
    (count,) = struct.unpack("<I", reader.take(4, "a tree"))
    if not 1 <= count <= MOST_NODES:
        raise Fault(offset, f"nodes of a tree: {count}; expected 1 to {MOST_NODES}")
    offset = reader.at
    nodes = np.frombuffer(reader.take(count * NODE.itemsize, "a tree"), NODE)
    is_leaf = nodes["threshold"] == LEAF
    left, feature = nodes["next"] >> FEATURE_BITS, nodes["next"] & (MOST_FEATURES - 1)
    depths = [0] + [None] * (count - 1)
    for number, row in enumerate(zip(nodes["threshold"].tolist(), left.tolist(), feature.tolist())):
        problem = _node(number, *row, depths, depth, features)
        if problem is not None:
            raise Fault(offset + number * NODE.itemsize, problem)
    offset = reader.at
    leaves = np.frombuffer(reader.take(int(is_leaf.sum()) * LEAF_RECORD.itemsize, "the leaves of a tree"), LEAF_RECORD)
    least, most = sizes
    for number, (own, smallest, largest, mean) in enumerate(leaves.tolist()):
        at = offset + number * LEAF_RECORD.itemsize
        if own == 0:
            raise Fault(at, "a leaf without flows; expected at least one")
        if not least <= smallest <= mean <= largest <= most:
            expected = f"{least} <= smallest <= mean <= largest <= {most}"
            raise Fault(at + 4, f"a leaf of sizes from {smallest} to {largest} with a mean of {mean}; expected {expected}")
    total = sum(leaves["flows"].tolist())
    if total != flows:
        raise Fault(offset, f"the leaves of the tree have {total} flows together; expected the {flows} that it was trained on")
    leaf = np.cumsum(is_leaf) - 1
    return Tree(nodes["threshold"], left.astype(np.int64), feature, leaf, leaves, max(depths))


def _node(number: int, threshold: int, left: int, feature: int, depths: list, most: int, features: int) -> str | None:
    """What is wrong with a node; sets the depth of its children."""
    depth = depths[number]
    if depth is None:
        return f"no node leads to node {number}; expected a parent"
    if threshold == LEAF:
        whole = (left, feature) == (number, 0)
        return None if whole else f"a leaf goes on to node {left} or has a feature; expected it to lead to itself"
    if threshold >= INFINITY:
        found = np.uint32(threshold).view(np.float32)
        return f"the threshold is {found:g}; expected a finite number, 0 or more"
    if feature >= features:
        return f"a split on feature {feature}; the forest has {features}"
    if left <= number:
        return f"the children of node {number} begin at {left}, so there is a cycle; expected children behind their parent"
    if left + 1 >= len(depths):
        return f"the children begin at node {left}; the tree has {len(depths)} nodes"
    if depth == most:
        return f"node {left} is deeper than {most} splits"
    for child in (left, left + 1):
        if depths[child] is not None:
            return f"node {child} has two parents; expected one"
        depths[child] = depth + 1
    return None
