"""Entry point of `python -m keda_py` and of the console script `keda-py`; the commands are in `keda_py/cli`."""

import sys

from keda_py.cli import main

if __name__ == "__main__":
    sys.exit(main())
