"""Packages that an extra of fabula installs, and messages for missing ones."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

from fabula.base.errors import UsageError


def extra(module: str, name: str, what: str) -> Any:  # noqa: ANN401 - a module has no better type
    """The module of a package that an extra of fabula installs.

    Raises:
        UsageError: it is not installed; the message names the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, name, what) from error


def package(module: str, what: str) -> Any:  # noqa: ANN401 - a module has no better type
    """The module of an optional package that no extra installs.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{what} needs the package {module}, which is not installed. Run `pip install {module}`."
        ) from error


def require(module: str, name: str, what: str) -> None:
    """Check, without importing it, that a package of an extra of fabula is installed.

    Raises:
        UsageError: it is not installed; the message names the extra.
    """
    if sys.modules.get(module) is None and find_spec(module) is None:
        raise _missing(module, name, what)


def installing(name: str) -> str:
    """The command that installs an extra of fabula, from the clone that this fabula was installed from, if any."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - 0.01 s, for a message alone

    try:
        origin = json.loads(distribution("fabula").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):  # run from a folder that was never installed
        origin = {}
    address = urlsplit(str(origin.get("url", "")))
    if address.scheme != "file" or "dir_info" not in origin:
        return f"pip install 'fabula[{name}]'"
    editable = "-e " if origin["dir_info"].get("editable") else ""
    return f"pip install {editable}'{unquote(address.path)}[{name}]'"


def _missing(module: str, name: str, what: str) -> UsageError:
    return UsageError(f"{what} needs the package {module}, which is not installed. Run `{installing(name)}`.")
