"""Exact weighted quantiles over the training flows of a forest's leaves (QCLIMB, Appendix B).

A training flow weighs 1/|leaf| in each tree in whose leaf it stands, and F(y) is the mean over the trees of the weights of
flows of at most y. Q(alpha) is the smallest y with F(y) >= alpha. For alpha = 0, where that is below every size, it is the
smallest size of a flow with weight.

Sums of floats decide all but ties, and fractions decide those.
"""

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_matrix

from flowsieve_forest.model import Model

#: More than the error of a sum of weights, and less than the least weight of a flow, 1 / (trees * |leaf|), as long as that
#: product is below a thousand million.
DOUBT = 1e-9
#: Weights of flows by size that are in memory at once.
CHUNK = 16_000_000


def quantiles(model: Model, features, alphas: list[Fraction]) -> np.ndarray:
    """A row for each flow, a column for each alpha."""
    # Flows that reach the same leaves share their quantiles.
    ways, way_of = np.unique(model.reach(features), axis=0, return_inverse=True)
    sizes, rank = np.unique(model.sizes, return_inverse=True)
    weights, first = _weights(model, rank, len(sizes))
    answers = np.empty((len(ways), len(alphas)), dtype=np.uint64)
    step = max(1, CHUNK // len(sizes))
    for begin in range(0, len(ways), step):
        some = ways[begin : begin + step]
        share = np.cumsum((_reached(some, first) @ weights).toarray(), axis=1) / len(model.leaves)
        for column, alpha in enumerate(alphas):
            answers[begin : begin + step, column] = sizes[_ranks(model, rank, some, share, alpha)]
    return answers[way_of.ravel()]


def interval(beta: Fraction) -> list[Fraction]:
    """The alphas of a beta prediction interval."""
    return [(1 - beta) / 2, (1 + beta) / 2]


def _weights(model: Model, rank: np.ndarray, sizes: int):
    """By leaf of all trees: the weights of sizes in it; and the number of each tree's first leaf."""
    first = np.concatenate([[0], np.cumsum([len(leaves.flows) for leaves in model.leaves])])
    rows = np.concatenate([begin + leaves.leaf for begin, leaves in zip(first, model.leaves)])
    columns = np.concatenate([rank[leaves.flow] for leaves in model.leaves])
    data = np.concatenate([1 / leaves.flows[leaves.leaf] for leaves in model.leaves])
    return csr_matrix((data, (rows, columns)), shape=(first[-1], sizes)), first


def _reached(ways: np.ndarray, first: np.ndarray):
    """By way: 1 for each leaf on it."""
    trees = ways.shape[1]
    rows = np.repeat(np.arange(len(ways)), trees)
    ones = np.ones(ways.size)
    return csr_matrix((ones, (rows, (ways + first[:-1]).ravel())), shape=(len(ways), first[-1]))


def _ranks(model: Model, rank: np.ndarray, ways: np.ndarray, share: np.ndarray, alpha: Fraction) -> np.ndarray:
    """By way: the rank of the size that is its quantile."""
    if alpha == 0:
        return (share <= 0).sum(axis=1)
    least = (share < float(alpha) - DOUBT).sum(axis=1)
    if alpha == 1:
        return least
    most = (share < float(alpha) + DOUBT).sum(axis=1)
    for way in np.flatnonzero(least != most):
        members = [
            np.sort(rank[leaves.flow[leaves.leaf == leaf]]) for leaves, leaf in zip(model.leaves, ways[way])
        ]
        wanted = alpha * len(members)
        # The share of the last of these is beyond alpha by more than the doubt, or is all.
        for candidate in range(least[way], most[way]):
            counts = [int(np.searchsorted(own, candidate, side="right")) for own in members]
            if sum(Fraction(count, len(own)) for count, own in zip(counts, members)) >= wanted:
                most[way] = candidate
                break
    return np.minimum(most, share.shape[1] - 1)
