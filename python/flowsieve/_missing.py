"""Optional libraries."""

from __future__ import annotations

import importlib
from typing import Any

# What is no extra, but in the repository.
_IN_A_CLONE = {"flowsieve_forest.command": "./python"}

# The extra of each library, where its name is another.
_EXTRAS = {"pyarrow": "arrow", "pyarrow.csv": "arrow", "pyarrow.parquet": "arrow", "matplotlib": "plot", "matplotlib.pyplot": "plot"}


def library(name: str) -> Any:
    """The module of this name, or an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name in _IN_A_CLONE:
            text = f"{name} is not installed; expected it from a clone of Flowsieve: pip install {_IN_A_CLONE[name]}"
            raise ModuleNotFoundError(text, name=name) from error
        extra = _EXTRAS.get(name, name.split(".", 1)[0])
        raise ModuleNotFoundError(
            f'{name} is not installed; expected it from: pip install "flowsieve[{extra}]"', name=name
        ) from error
