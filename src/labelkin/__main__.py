"""``python -m labelkin``: the command line."""

import sys

from labelkin.cli import main

if __name__ == "__main__":
    sys.exit(main())
