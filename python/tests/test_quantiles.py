"""Quantiles and bounds by hand, on a forest small enough to write down."""

from fractions import Fraction

import numpy as np
import pytest

from flowsieve_forest.model import Leaves, Model, rounded
from flowsieve_forest.quantiles import interval, quantiles


def by_hand(sizes: list[int], trees: list[list[list[int]]]) -> Model:
    """A forest in which flow k reaches, in each tree, the leaf that lists k. A leaf may list a training flow twice."""
    model = Model.__new__(Model)
    model.sizes = np.array(sizes, dtype=np.uint64)
    model.leaves, ways = [], []
    for tree in trees:
        leaf = np.concatenate([[number] * len(flows) for number, flows in enumerate(tree)])
        own = [model.sizes[flows] for flows in tree]
        model.leaves.append(
            Leaves(
                number=np.arange(len(tree)),
                flow=np.concatenate(tree),
                leaf=leaf,
                flows=np.array([len(flows) for flows in tree]),
                smallest=np.array([sizes.min() for sizes in own]),
                largest=np.array([sizes.max() for sizes in own]),
                mean=np.array([round(sizes.mean()) for sizes in own], dtype=np.uint64),
            )
        )
        ways.append([next(leaf for leaf, flows in enumerate(tree) if flow in flows) for flow in range(len(sizes))])
    model.reach = lambda features: np.array(ways).T[features]
    return model


def ask(model: Model, flow: int, alphas: list[str]) -> list[int]:
    return quantiles(model, [flow], [Fraction(alpha) for alpha in alphas])[0].tolist()


def test_quantiles__one_tree():
    # Flow 0 stands in a leaf of 10, 20, 30, 40 bytes: each weighs 1/4.
    model = by_hand([10, 20, 30, 40, 9_000], [[[0, 1, 2, 3], [4]]])
    assert ask(model, 0, ["0", "0.01", "0.25", "0.26", "0.5", "0.75", "0.76", "1"]) == [10, 10, 10, 20, 20, 30, 40, 40]
    assert ask(model, 4, ["0", "0.5", "1"]) == [9_000] * 3


def test_quantiles__a_leafs_flows_share_its_weight():
    # In the first tree flow 0 is alone and weighs 1/2 of all; in the second four flows weigh 1/8 each.
    # F(10) = 5/8, F(20) = 6/8, F(30) = 7/8, F(40) = 1. Counting appearances alone would give F(10) = 2/5.
    model = by_hand([10, 20, 30, 40], [[[0], [1, 2, 3]], [[0, 1, 2, 3]]])
    assert ask(model, 0, ["0.5", "0.625", "0.63", "0.75", "0.875", "0.9"]) == [10, 10, 20, 20, 30, 40]


def test_quantiles__ties_are_exact():
    # Ten flows of 1/10 each: sums of floats are 0.1, 0.2, 0.30000000000000004, ... 0.9999999999999999.
    model = by_hand(list(range(1, 11)), [[list(range(10))]])
    tenths = [f"0.{tenth}" for tenth in range(1, 10)]
    assert ask(model, 0, tenths) == list(range(1, 10))
    # Three trees: thirds of sevenths.
    model = by_hand(list(range(1, 8)), [[list(range(7))]] * 3)
    assert quantiles(model, [0], [Fraction(k, 7) for k in range(1, 8)])[0].tolist() == list(range(1, 8))


def test_quantiles__flows_of_one_size_and_flows_drawn_twice():
    model = by_hand([5, 5, 5, 80], [[[0, 1, 2, 3, 3, 3]]])
    assert ask(model, 0, ["0.5", "0.51", "1"]) == [5, 80, 80]


def test_interval__beta():
    assert interval(Fraction(1)) == [0, 1]
    assert interval(Fraction("0.9")) == [Fraction(1, 20), Fraction(19, 20)]


@pytest.fixture(scope="module")
def grown() -> tuple[Model, np.ndarray]:
    draw = np.random.default_rng(1)
    features = draw.integers(0, 1_000, (300, 3), dtype=np.uint64)
    sizes = (features[:, 0] // np.uint64(100) + np.uint64(1)) * draw.integers(90, 110, 300, dtype=np.uint64)
    return Model(features[:240], sizes[:240], trees=5, depth=4, samples="all", seed=1), features


def test_quantiles__as_the_definition_has_it(grown):
    model, features = grown
    alphas = [Fraction(0), Fraction("0.05"), Fraction("0.5"), Fraction("0.95"), Fraction(1)]
    found = quantiles(model, features[240:], alphas)
    for row, way in zip(found, model.reach(features[240:])):
        weight = [Fraction(0)] * len(model.sizes)
        for leaves, leaf in zip(model.leaves, way):
            members = leaves.flow[leaves.leaf == leaf]
            for flow in members:
                weight[flow] += Fraction(1, len(members) * len(model.leaves))
        weighed = sorted((int(size), own) for size, own in zip(model.sizes, weight) if own)
        for answer, alpha in zip(row, alphas):
            share = Fraction(0)
            for size, own in weighed:
                share += own
                if share >= alpha:
                    break
            assert answer == size


def test_bounds__are_the_quantiles_of_beta_1(grown):
    model, features = grown
    lower, upper = model.bounds(features)
    assert np.array_equal(np.column_stack([lower, upper]), quantiles(model, features, interval(Fraction(1))))


def test_predicted__close_to_scikit_learns_with_flows_in_the_bag(grown):
    _, features = grown
    sizes = features[:, 0] + np.uint64(1)
    model = Model(features, sizes, trees=5, depth=4, samples="in-bag", seed=1)
    # Each leaf's mean and their mean are rounded to a byte.
    assert np.abs(model.forest.predict(rounded(features)) - model.predicted(features)).max() <= 1


def test_model__sizes_beyond_64_bits_together():
    features = np.arange(8, dtype=np.uint64).reshape(8, 1)
    sizes = np.array([2**63 + 2 * k for k in range(8)], dtype=np.uint64)
    model = Model(features, sizes, trees=3, depth=1, samples="all", seed=1)
    whole = Model(features[:, :1] * np.uint64(0), sizes, trees=3, depth=1, samples="all", seed=1)
    assert whole.predicted(features).tolist() == [2**63 + 7] * 8
    assert model.bounds(features)[0].min() == 2**63
