"""The accuracy of predictions on flows of known sizes, by class of size (QCLIMB, 2.2 and 2.3)."""

import numpy as np

#: 0-100 KB, 100 KB-10 MB, above 10 MB, all: least and most bytes, both of which a class has.
CLASSES = {
    "0-100KB": (0, 100_000),
    "100KB-10MB": (100_001, 10_000_000),
    ">10MB": (10_000_001, 2**64 - 1),
    "all": (0, 2**64 - 1),
}
#: A predicted size that is further off counts in the last column.
FAR = 100_000
WORD = 2**64 - 1

TITLES = (
    "class,flows,bounded %,shuffled %,below %,above %,size KB,lower KB,gap KB,upper KB,error KB,largest,>100KB %".split(",")
)
LEGEND = """
bounded: share of flows whose size lies within its bounds. shuffled: the same with sizes assigned at random; loose bounds reach it without any knowledge.
Means over flows: size, lower bound, size minus lower bound where it is not below, upper bound, error of the predicted size; then the largest error, and the share of errors above 100 KB.
"""


def worth(sizes: np.ndarray, lower: np.ndarray, upper: np.ndarray, predicted: np.ndarray) -> list[dict]:
    """A row for each class."""
    other = shuffled(sizes)
    error = np.maximum(sizes, predicted) - np.minimum(sizes, predicted)
    gap = np.where(sizes >= lower, sizes - lower, np.uint64(0))
    rows = []
    for name, (least, most) in CLASSES.items():
        own = (np.uint64(least) <= sizes) & (sizes <= np.uint64(most))
        count = lambda which: int(np.count_nonzero(which & own))
        flows, below = count(own), count(sizes < lower)

        def mean(values: np.ndarray, over: int = flows) -> float:
            return sum(values[own].tolist()) / over if over else 0.0

        rows.append(
            {
                "class": name,
                "flows": flows,
                "bounded": count((lower <= sizes) & (sizes <= upper)),
                "below": below,
                "above": count(sizes > upper),
                "bounded_if_shuffled": count((lower <= other) & (other <= upper)),
                "mean_lower": mean(lower),
                "mean_upper": mean(upper),
                "mean_size": mean(sizes),
                "mean_gap_to_lower": mean(gap, flows - below),
                "mean_error": mean(error),
                "largest_error": max(error[own].tolist(), default=0),
                "errors_above_100kb": count(error > FAR),
            }
        )
    return rows


def text(rows: list[dict]) -> str:
    """A table for reading: shares in percent, sizes in KB."""

    def line(row: dict) -> list[str]:
        share = lambda name: f"{100 * row[name] / row['flows']:.2f}" if row["flows"] else "–"
        kb = lambda name: f"{row[name] / 1e3:.2f}"
        return [
            row["class"],
            str(row["flows"]),
            *map(share, ["bounded", "bounded_if_shuffled", "below", "above"]),
            *map(kb, ["mean_size", "mean_lower", "mean_gap_to_lower", "mean_upper", "mean_error", "largest_error"]),
            share("errors_above_100kb"),
        ]

    lines = [TITLES, *map(line, rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    table = ("  ".join(cell.rjust(width) for cell, width in zip(cells, widths)) for cells in lines)
    return "\n".join(table) + "\n" + LEGEND


def shuffled(sizes: np.ndarray) -> np.ndarray:
    """The sizes in another order, the same each time (Fisher and Yates)."""
    sizes, draws = sizes.tolist(), stream(0, 15, 0)
    for last in range(len(sizes) - 1, 0, -1):
        other = below(draws, last + 1)
        sizes[last], sizes[other] = sizes[other], sizes[last]
    return np.array(sizes, dtype=np.uint64)


def stream(seed: int, purpose: int, entity: int):
    """Random words, as crates/workload/src/random.rs draws them: xoshiro256++, whose seed is hashed by SplitMix64."""
    state = _mix(seed)
    for part in (purpose, entity):
        state = _mix(state ^ part)
    # seed_from_u64 takes the next four outputs of SplitMix64 from that state.
    a, b, c, d = (_mix(state + nth * 0x9E3779B97F4A7C15) for nth in range(4))
    while True:
        yield (_rotated((a + d) & WORD, 23) + a) & WORD
        c, d, shifted = c ^ a, d ^ b, b << 17 & WORD
        b, a = b ^ c, a ^ d
        c, d = c ^ shifted, _rotated(d, 45)


def below(draws, count: int) -> int:
    """A whole number below `count`, each as likely (Lemire, 2019)."""
    while True:
        wide = next(draws) * count
        if wide & WORD >= (1 << 64) % count:
            return wide >> 64


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 64 - by) & WORD


def _mix(state: int) -> int:
    word = (state + 0x9E3779B97F4A7C15) & WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return word ^ word >> 31
