"""Trains quantile forests that bound the sizes of flows (QCLIMB, 2.3.2 and Appendix B), for Flowsieve.

`python -m flowsieve_forest train TRACE.csv --out FOREST` writes a forest file, which Flowsieve reads and applies;
`python -m flowsieve_forest bounds TRACE.csv --out LIST.csv --beta 0.9` writes bounds into a flow list.
docs/reference/forest-format.md says what a bound is and what stands in a file.
"""

__version__ = "0.1.0"


class InputError(Exception):
    """The input cannot be used; the message names the file and what was expected."""
