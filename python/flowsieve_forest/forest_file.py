"""Writes a forest as Flowsieve reads it; docs/reference/forest-format.md describes every byte."""

import struct

import numpy as np
import sklearn
from blake3 import blake3

from flowsieve_forest import InputError, __version__
from flowsieve_forest.model import Leaves, Model

MAGIC = b"FSFOREST"
VERSION = 1
HEADER = struct.Struct("<8sIBBHQIIQQQQ")
SAMPLES = {"all": 0, "in-bag": 1}
WHOLE = 1_000_000
CHECKSUM = 32
MOST_BYTES = 256_000_000
MOST_NODES = 1 << 20
MOST_FEATURES = 256
FEATURE_BITS = 8
#: The threshold that marks a leaf.
LEAF = 0xFFFF_FFFF

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
