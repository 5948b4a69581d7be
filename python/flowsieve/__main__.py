"""``python -m flowsieve`` is the command."""

import sys

from flowsieve._command import main

sys.exit(main())
