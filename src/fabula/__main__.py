"""`python -m fabula` is the command line."""

import sys

from fabula.cli.main import main

sys.exit(main())
