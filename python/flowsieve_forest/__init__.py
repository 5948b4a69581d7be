"""Quantile forests that bound the sizes of flows (QCLIMB, 2.3.2 and Appendix B), for Flowsieve.

`python -m flowsieve_forest train TRACE.csv --out FOREST` writes a forest file, `apply FOREST LIST.csv --out PREDICTED.csv` the
bounds that it gives, and `report FOREST LIST.csv` how good they are; `bounds TRACE.csv --out LIST.csv --beta 0.9` writes bounds
of another level. docs/reference/predicted-sizes.md says what a bound is.
"""

__version__ = "0.1.0"


class InputError(Exception):
    """The input cannot be used; the message names the file and what was expected."""
