"""`fabula` and `python -m fabula` are the command line."""

import os
import sys


def run() -> int:
    """Run the command of this process and give its exit code, also where Ctrl-C comes before it has begun."""
    try:
        from fabula.cli.main import run as command  # noqa: PLC0415 - Ctrl-C may come while it is loaded
    except KeyboardInterrupt:
        sys.stderr.write("fabula: Stopped. Nothing was begun.\n")
        os._exit(130)  # Python would end by the signal
    return command()


if __name__ == "__main__":
    sys.exit(run())
