"""Bounds with flows in the bag are those of quantile-forest, asked for so that it gives minima and maxima."""

import warnings

import numpy as np
import pytest

from flowsieve_forest.model import Model, rounded

quantile_forest = pytest.importorskip("quantile_forest", reason="quantile-forest is not installed")


@pytest.mark.parametrize("trees,depth", [(1, 10), (20, 10), (7, 3)])
def test_bounds__in_bag_equal_the_librarys(trees, depth):
    draw = np.random.default_rng(5)
    features = draw.integers(0, 1 << 20, (1_000, 5), dtype=np.uint64)
    sizes = (features[:, 0] >> np.uint64(10)) * (features[:, 1] % np.uint64(7) + np.uint64(1)) + draw.integers(
        1, 500, 1_000, dtype=np.uint64
    )
    model = Model(features[:800], sizes[:800], trees=trees, depth=depth, samples="in-bag", seed=4)
    library = quantile_forest.RandomForestQuantileRegressor(
        n_estimators=trees, max_depth=depth, max_samples_leaf=None, random_state=4
    )
    library.fit(rounded(features[:800]), sizes[:800].astype(np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = library.predict(rounded(features[800:]), quantiles=[0, 1], weighted_quantile=False)
    assert np.array_equal(np.column_stack(model.bounds(features[800:])), expected)
    # All flows of a leaf are more than those in the bag, so bounds are never tighter.
    lower, upper = Model(features[:800], sizes[:800], trees=trees, depth=depth, samples="all", seed=4).bounds(features[800:])
    assert (lower <= expected[:, 0]).all() and (upper >= expected[:, 1]).all() and (lower < expected[:, 0]).any()
