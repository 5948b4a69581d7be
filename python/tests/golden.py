"""Small forests, as this package trained them once, with what it said of some flows.

    python -m tests.golden

writes them anew into tests/data: two forests of one trace, with all flows and with those in the bag, and rows of
features with the bounds and predictions that this package computes.
"""

import platform
import random
import sys
import tomllib
from pathlib import Path

import numpy as np
import sklearn

from flowsieve_forest import forest_file
from flowsieve_forest.model import Model

DATA = Path(__file__).resolve().parent / "data"
FEATURES = ["start_us", "gap_us", "last_size_1", "src", "port", "protocol"]
SAMPLES = ["all", "in-bag"]
TRAINED, TESTED = 160, 120


def pinned() -> bool:
    """Whether this is the platform, with the versions, on which a forest is the same bytes as the committed ones."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    versions = [f"numpy=={np.__version__}", f"scikit-learn=={sklearn.__version__}"]
    on = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    return on and all(version in project["dependencies"] for version in versions)


def trace() -> tuple[np.ndarray, np.ndarray]:
    """Features and sizes of flows of four stages, and of some surprises; some features are beyond what f32 holds."""
    draw = random.Random(17)
    start, last, rows, sizes = 1 << 53, 1_000, [], []
    for _ in range(TRAINED + TESTED):
        stage = draw.randrange(4)
        gap = draw.randrange(1, 1 << (8 + 7 * stage))
        start += gap
        size = draw.randrange(50, 100) << (7 * stage) if draw.randrange(10) else draw.randrange(50, 1 << 33)
        protocol = 6 if draw.randrange(3) else 17
        rows.append([start, gap, last, draw.randrange(8), 5_000 + stage, protocol])
        sizes.append(size)
        last = size
    # Flows that no training flow is like, at the edges of what a feature can be.
    rows += [[0] * 6, [2**64 - 1] * 6, [2**24 + 1] * 6, [2**63 + 2**39] * 6]
    return np.array(rows, dtype=np.uint64), np.array(sizes, dtype=np.uint64)


def model(samples: str) -> Model:
    """Seven trees of depth 5: one group of five in step, and two that are left."""
    features, sizes = trace()
    return Model(features[:TRAINED], sizes[:TRAINED], trees=7, depth=5, samples=samples, seed=3)


def forests() -> dict[str, bytes]:
    """The files' bytes by name."""
    return {f"forest-{samples}.fsf": forest_file.encode(model(samples), FEATURES) for samples in SAMPLES}


def rows() -> str:
    """The rows to compare with."""
    features = trace()[0][TRAINED:]
    columns = list(features.T)
    names = list(FEATURES)
    for samples in SAMPLES:
        trained = model(samples)
        columns += [*trained.bounds(features), trained.predicted(features)]
        names += [f"{name}_{samples}" for name in ("lower", "upper", "predicted")]
    lines = [names, *np.column_stack(columns).tolist()]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def main() -> None:
    for name, encoded in forests().items():
        (DATA / name).write_bytes(encoded)
    (DATA / "forest-rows.csv").write_bytes(rows().encode())


if __name__ == "__main__":
    sys.exit(main())
