"""`python -m morello`."""

import sys

from morello.cli import main

sys.exit(main())
