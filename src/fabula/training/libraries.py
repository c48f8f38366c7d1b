"""The packages of the extra `train`: loaded on demand, quiet, and off the network unless a hub name was asked for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any, Final

from fabula.base.extras import extra, require

_EXTRA: Final = "train"
_WHAT: Final = "Training"


def library(module: str) -> Any:  # noqa: ANN401 - a module has no better type
    """A package of the extra.

    Raises:
        UsageError: it is not installed; says how to get it.
    """
    # The hub's package reads this once, when it is first imported; so nothing else here imports these packages.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return extra(module, _EXTRA, _WHAT)


def allow_hub() -> None:
    """Let packages that are loaded from now on use the network, unless the user has forbidden it."""
    os.environ.setdefault("HF_HUB_OFFLINE", "0")


def require_libraries(packages: Iterable[str], what: str = _WHAT) -> None:
    """See that packages of the extra are installed, without loading them.

    Raises:
        UsageError: one is not; says how to get it.
    """
    for package in packages:
        require(package, _EXTRA, what)


@contextmanager
def quiet() -> Iterator[None]:
    """While this is open, the packages keep their progress, and their remarks about each other, to themselves."""
    logging = library("transformers").utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def silent() -> Iterator[None]:
    """As `quiet`, and bars that are drawn all the same are not seen; nobody else writes to stderr meanwhile."""
    with quiet(), redirect_stderr(StringIO()):
        yield
