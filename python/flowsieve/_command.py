"""The command ``flowsieve``."""

from __future__ import annotations

import sys


def main() -> int:
    """Does what the command line says; gives its exit status."""
    from flowsieve import _flowsieve

    return _flowsieve.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
