"""The command's words as Python's: the one place that translates options, places and commands in what the module says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from flowsieve._option import in_words
from flowsieve._options import GROUPS

# What the command's options are called here, where it is another word, or no value but a choice.
_OPTIONS = in_words(GROUPS)

_SET = re.compile(r"--set ([A-Za-z_][\w.:-]*)=(.*?)(?=$| --set | nothing reads )", re.MULTILINE)
_SCALE = re.compile(r"--scale (smoke|quick|paper)\b")
_OPTION = re.compile(r'(?<![\w-])--([a-z][a-z-]*)(?:[ =](-?\d[\w.]*|"[^"\n]*"))?')
_LIST = re.compile(r"`flowsieve list ([a-z]+)(?: --folder (\S+?))?`")


def in_python(text: str) -> str:
    """A text of the command, with the names that Python has for what it speaks of.

    >>> in_python("name another folder with --out, or say --replace")
    'name another folder with out, or say replace=True'
    """
    text = _SET.sub(_set, text)
    text = _SCALE.sub(r'scale="\1"', text)
    text = _LIST.sub(_list, text)
    text = text.replace("`flowsieve list`", "flowsieve.list_…()")
    return _OPTION.sub(_option, text)


def _set(found: re.Match[str]) -> str:
    name, value = found[1], _literal(found[2].strip())
    return f"set({name}={value})" if name.isidentifier() else f'set({{"{name}": {value}}})'


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    word = _OPTIONS.get(name, name.replace("-", "_"))
    return word if value is None or "=" in word else f"{word}={value}"


def _list(found: re.Match[str]) -> str:
    folder = "" if found[2] is None else f'folder="{found[2]}"'
    return f"flowsieve.list_{found[1]}({folder})"


def _literal(text: str) -> str:
    """A value as it is typed in Python."""
    if text in ("true", "false"):
        return text.capitalize()
    if text[:1] in ('"', "[", "{") and "," not in text:
        return text
    if "," in text and "(" not in text and '"' not in text and "[" not in text:
        return "[" + ", ".join(_literal(part.strip()) for part in text.split(",")) + "]"
    try:
        float(text)
    except ValueError:
        return text if text[:1] in ('"', "[", "{") else json.dumps(text, ensure_ascii=False)
    return text


def about(text: str, given: dict[str, object], fallback: str | None = None) -> tuple[str, str | None]:
    """A text that begins with the parameter that it is about, and that parameter: the one whose value its first line quotes.

    ``fallback`` is the parameter that is meant where no value is quoted.
    """
    lines = [line for line in text.split("\n") if not re.fullmatch(r"-->.*|\s*\|\s*", line)]
    plain = "\n".join(lines)
    quoted: Callable[[object], bool] = lambda value: f"`{value}`" in lines[0] or f'"{value}"' in lines[0]
    for name, value in given.items():
        if text.startswith(f"{name}="):
            return text, name
        if value is not None and quoted(value):
            return f"{name}={value!r}: {plain}", name
    if fallback is not None and given.get(fallback) is not None:
        return f"{fallback}={given[fallback]!r}: {plain}", fallback
    return text, None
