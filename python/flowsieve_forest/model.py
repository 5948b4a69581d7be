"""A random forest with the training flows of every leaf.

The trees are scikit-learn's. What stands in a leaf is counted here: all training flows that fall into it (`all`, the paper's
Appendix B) or those that the tree was grown from, as often as its bootstrap drew them (`in-bag`).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestRegressor


@dataclass
class Leaves:
    """The leaves of a tree, in the order of scikit-learn's nodes."""

    #: By node of the tree: the number of its leaf; -1 where it is a split.
    number: np.ndarray
    #: Training flows that stand in a leaf, and which leaf it is, both as long.
    flow: np.ndarray
    leaf: np.ndarray
    #: By leaf.
    flows: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray
    #: Bytes, rounded to the nearest and halves up.
    mean: np.ndarray


class Model:
    """A forest trained on flows: a row of features (whole numbers from 0) and a size in bytes for each."""

    def __init__(self, features, sizes, *, trees: int, depth: int, samples: str, seed: int, jobs: int | None = None):
        self.samples, self.seed, self.depth = samples, seed, depth
        self.sizes = np.asarray(sizes, dtype=np.uint64)
        self.forest = RandomForestRegressor(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=jobs)
        self.forest.fit(rounded(features), self.sizes.astype(np.float64))
        self.leaves = [
            _leaves(estimator.tree_, nodes, drawn, self.sizes, samples)
            for estimator, nodes, drawn in zip(
                self.forest.estimators_, self.forest.apply(rounded(features)).T, self.forest.estimators_samples_
            )
        ]

    def reach(self, features) -> np.ndarray:
        """The number of the leaf that each flow reaches, a column for each tree."""
        nodes = self.forest.apply(rounded(features)).T
        return np.column_stack([leaves.number[column] for leaves, column in zip(self.leaves, nodes)])

    def bounds(self, features) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest training size in the leaves that each flow reaches: the bounds of beta = 1."""
        reached = list(zip(self.leaves, self.reach(features).T))
        lower = np.minimum.reduce([leaves.smallest[column] for leaves, column in reached])
        upper = np.maximum.reduce([leaves.largest[column] for leaves, column in reached])
        return lower, upper

    def predicted(self, features) -> np.ndarray:
        """The mean over the trees of the leaf's mean, in bytes, rounded to the nearest and halves up."""
        means = [leaves.mean[column] for leaves, column in zip(self.leaves, self.reach(features).T)]
        return mean_of(means, room_for(self.sizes, len(means)))


def rounded(features) -> np.ndarray:
    """Features as scikit-learn compares them: rounded once from whole numbers, to the nearest and to even."""
    return np.asarray(features, dtype=np.uint64).astype(np.float32)


def mean_of(means: list[np.ndarray], kind) -> np.ndarray:
    """The mean of these, element by element, rounded to the nearest and halves up; `kind` has room for twice their sum."""
    total, count = sum(column.astype(kind) for column in means), len(means)
    return ((2 * total + count) // (2 * count)).astype(np.uint64)


def room_for(sizes: np.ndarray, count: int):
    """A kind of number in which twice the sum of `count` sizes has room."""
    return np.uint64 if 2 * (int(sizes.max()) + 1) * count < 2**64 else object


def _leaves(tree, nodes: np.ndarray, drawn: np.ndarray, sizes: np.ndarray, samples: str) -> Leaves:
    is_leaf = tree.children_left < 0
    number = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    flow = np.arange(len(sizes)) if samples == "all" else np.sort(drawn)
    leaf = number[nodes[flow]]
    order = np.argsort(leaf, kind="stable")
    flow, leaf = flow[order], leaf[order]
    # Every leaf has flows: the tree was grown from some that fall into it.
    flows = np.bincount(leaf)
    begins = np.concatenate([[0], np.cumsum(flows)[:-1]])
    own = sizes[flow]
    kind = room_for(sizes, len(flow))
    total, wide = np.add.reduceat(own.astype(kind), begins), flows.astype(kind)
    return Leaves(
        number=number,
        flow=flow,
        leaf=leaf,
        flows=flows,
        smallest=np.minimum.reduceat(own, begins),
        largest=np.maximum.reduceat(own, begins),
        mean=((2 * total + wide) // (2 * wide)).astype(np.uint64),
    )
