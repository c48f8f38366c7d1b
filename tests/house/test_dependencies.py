"""What fabula needs at run time: all permissive, all used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tree import ROOT, modules

PERMISSIVE: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    }
)
# File-level copyleft that asks nothing of software which only uses it; each for a reason.
TOLERATED: Final = {
    "certifi": "MPL-2.0: the list of root certificates, used unchanged by every HTTP client",
    "tqdm": "MPL-2.0 AND MIT: progress bars of the openai client, used unchanged",
}
_CLASSIFIERS: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
_FREE_TEXT: Final = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "mit license": "MIT",
    "new bsd": "BSD-3-Clause",
}
# Packages whose metadata name no licence; read from the licence file that they ship.
READ_BY_HAND: Final[dict[str, str]] = {}
IMPORTED_BY_OTHERS: Final = {"python-multipart"}  # FastAPI reads forms with it
FOR_TYPES: Final = {"pandas"}  # what `to_frame` gives, where it is installed


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    return found


def base() -> list[Requirement]:
    """What every installation has."""
    return [Requirement(line) for line in project()["dependencies"]]


def declared() -> list[Requirement]:
    """What every installation has, and what comes with `fabula[all]`."""
    extras = project()["optional-dependencies"]
    (everything,) = (Requirement(line) for line in extras["all"])
    return base() + [Requirement(line) for name in everything.extras for line in extras[name]]


def closure(needs: list[Requirement]) -> dict[str, Distribution]:
    """Every installed distribution that these need here, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(need, extra) for need in needs for extra in (*need.extras, "")]
    while waiting:
        need, extra = waiting.pop()
        name = canonicalize_name(need.name)
        if (name, extra) in seen or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        seen.add((name, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = package
        for line in package.requires or ():
            inner = Requirement(line)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                bare = Requirement(line.partition(";")[0])
                waiting += [(bare, wanted) for wanted in (*bare.extras, "")]
    return found


def licences(package: Distribution) -> set[str]:
    """The SPDX names that the package states, as far as they can be told."""
    about: Any = package.metadata
    name = canonicalize_name(about["Name"])
    if name in READ_BY_HAND:
        return {READ_BY_HAND[name]}
    if expression := about.get("License-Expression"):
        return set(re.findall(r"[A-Za-z0-9.+-]+", re.sub(r"\b(AND|OR|WITH)\b", " ", expression)))
    stated = {
        _CLASSIFIERS.get(line.rpartition(" :: ")[2], line)
        for line in about.get_all("Classifier") or ()
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    }
    text = (about.get("License") or "").strip().partition("\n")[0]
    return stated or ({_FREE_TEXT.get(text.lower(), text)} if text else set())


def test_every_runtime_dependency_has_a_permissive_licence() -> None:
    packages = closure(declared())
    assert len(packages) > 20, sorted(packages)
    wrong = {}
    for name, package in packages.items():
        stated = licences(package)
        if name not in TOLERATED and (not stated or stated - PERMISSIVE):
            wrong[name] = sorted(stated)
    assert not wrong


def test_the_base_takes_at_most_200_mb() -> None:
    files = [Path(file.locate()) for package in closure(base()).values() for file in package.files or ()]
    size = sum(file.stat().st_size for file in files if file.is_file())
    ours = [file for file in (ROOT / "src").rglob("*") if file.is_file() and not file.name.startswith("test_")]
    own = sum(file.stat().st_size for file in ours)  # tests, and what pytest compiles of them, are not installed
    assert 50_000_000 < size + own < 200_000_000, f"{size / 1e6:.0f} MB of packages, {own / 1e6:.0f} MB of fabula"


def imported() -> dict[str, str]:
    """The foreign top-level modules that the package imports, and one of its modules that does."""
    found: dict[str, str] = {}
    for module in modules():
        for node in ast.walk(module.tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module or ""]  # a neighbour is no third party
            found |= {name.partition(".")[0]: module.name for name in names}
    return {
        name: user for name, user in found.items() if name not in {"fabula", "", *FOR_TYPES, *sys.stdlib_module_names}
    }


_distributions = cache(packages_distributions)


def homes(name: str) -> set[str]:
    """The distributions that provide a top-level module."""
    return {canonicalize_name(home) for home in _distributions().get(name, ())}


def test_every_declared_dependency_is_imported() -> None:
    used = {home for name in imported() for home in homes(name)}
    assert sorted({canonicalize_name(need.name) for need in declared()} - used - IMPORTED_BY_OTHERS) == []


def test_every_third_party_import_is_declared() -> None:
    known = {canonicalize_name(need.name) for need in declared()} | set(closure(declared()))
    assert {name: user for name, user in imported().items() if not homes(name) & known} == {}
