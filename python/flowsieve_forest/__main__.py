import sys

from flowsieve_forest.command import main

sys.exit(main())
