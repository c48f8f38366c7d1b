"""The entry of the command line, as `fabula` and `python -m fabula`."""

import os
import sys


def run() -> int:
    """Run the command of this process and return its exit code, even if Ctrl-C comes before it has begun."""
    try:
        from fabula.cli.main import run as command  # noqa: PLC0415 - Ctrl-C may come while it is loaded
    except KeyboardInterrupt:
        sys.stderr.write("fabula: Stopped. Nothing was started.\n")
        os._exit(130)  # Python would end by the signal
    return command()


if __name__ == "__main__":
    sys.exit(run())
