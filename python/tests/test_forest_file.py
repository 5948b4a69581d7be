"""Forest files: the committed ones are made again, and thresholds decide as scikit-learn does."""

import numpy as np
import pytest

from flowsieve_forest import forest_file
from flowsieve_forest.model import Model
from tests import golden


def test_encode__the_committed_forests():
    for name, encoded in golden.forests().items():
        committed = (golden.DATA / name).read_bytes()
        if golden.pinned():
            assert encoded == committed
        # Elsewhere libraries and checksums may differ, and all that counts is the same.
        made, kept = (forest_file.decode(each) for each in (encoded, committed))
        assert made.features == kept.features and len(made.trees) == len(kept.trees)
        for ours, theirs in zip(made.trees, kept.trees):
            for part in ("threshold", "left", "feature", "leaves"):
                assert np.array_equal(getattr(ours, part), getattr(theirs, part))


def test_bounds__the_committed_rows():
    assert golden.rows() == (golden.DATA / "forest-rows.csv").read_text()


def test_encode__twice_gives_the_same_bytes():
    assert golden.forests() == golden.forests()


def test_encode__threads_change_nothing():
    features, sizes = golden.trace()
    options = dict(trees=7, depth=5, samples="all", seed=3)
    one, two = (Model(features[:160], sizes[:160], **options, jobs=jobs) for jobs in (1, 2))
    assert forest_file.encode(one, golden.FEATURES) == forest_file.encode(two, golden.FEATURES)


def test_rounded_down__decides_every_comparison_alike():
    draw = np.random.default_rng(2)
    values = draw.integers(0, 2**64, 2_000, dtype=np.uint64) >> draw.integers(0, 64, 2_000, dtype=np.uint64)
    ordered = np.unique(values.astype(np.float32))
    # Thresholds as trees have them, between two values that are next to each other, and the values themselves.
    between = (ordered[1:].astype(np.float64) + ordered[:-1].astype(np.float64)) / 2
    near = np.nextafter(ordered, np.float32(np.inf)).astype(np.float64)
    for thresholds in [between, ordered.astype(np.float64), (near + ordered) / 2, np.array([0.0, -0.0])]:
        down = forest_file.rounded_down(thresholds)
        assert down.dtype == np.float32 and not np.signbit(down).any()
        for value in ordered[::97]:
            assert np.array_equal(value.astype(np.float64) <= thresholds, value <= down)
            assert np.array_equal(value.view(np.uint32) <= down.view(np.uint32), value <= down)


@pytest.mark.parametrize(
    "name,expected",
    [("start_us", "us"), ("rtt_ns", "ns"), ("last_size_3", "bytes"), ("sent_bytes", "bytes"), ("src", ""), ("port", "")],
)
def test_unit__of_a_features_name(name, expected):
    assert forest_file.unit(name) == expected
