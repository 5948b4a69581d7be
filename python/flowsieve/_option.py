"""What is known of an option of the command, as a parameter of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option; its parameter's name and type stand with it in ``_options``."""

    flag: str
    """As the command has it, such as ``--jobs``."""
    default: object
    help: str
    takes: str = ""
    """What values are, where the type does not say it all: ``a whole number, 1 to 1024``."""
    many: bool = False
    """Whether it takes several values."""

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off; the command takes it without a value where it is not as by default."""
        return isinstance(self.default, bool)


def options_of(group: type) -> dict[str, tuple[Any, Option]]:
    """The options of a group by their parameters: type and what else is known."""
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in group.__annotations__.items()}


def in_words(groups: Sequence[type]) -> dict[str, str]:
    """What the command's options are called in Python, by their names without dashes."""
    options = {option.flag[2:]: (name, option) for group in groups for name, (_, option) in options_of(group).items()}
    return {flag: f"{name}={not option.default}" if option.is_switch else name for flag, (name, option) in options.items()}
