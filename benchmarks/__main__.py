"""`python -m benchmarks [NAME ...] [--json] [--list]`: run benchmarks and print their tables."""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import benchmarks
from fabula.base.errors import FabulaError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def found() -> dict[str, ModuleType]:
    """All benchmarks by name: the modules here that have a `bench`."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    modules = {name: import_module(f"benchmarks.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "bench")}


def main(words: Sequence[str] | None = None) -> int:
    """Run what `words` name, all if they name none; 0, or 1 where a benchmark could not run, or 2 at a wrong name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run; all if none is named")
    parser.add_argument("--json", action="store_true", help="print JSON with the value of every round")
    parser.add_argument("--list", action="store_true", help="tell what there is, and run nothing")
    asked, known = parser.parse_args(words), found()
    if asked.list:
        print("\n".join(f"{name:10} {module.TITLE}" for name, module in known.items()))
        return 0
    try:
        chosen = [known[name] for name in asked.names] if asked.names else list(known.values())
    except KeyError as error:
        print(UnknownNameError("benchmark", str(error.args[0]), known), file=sys.stderr)
        return 2
    return _run(chosen, as_json=asked.json)


def _run(chosen: Sequence[ModuleType], *, as_json: bool) -> int:
    told, code = [], 0
    for module in chosen:
        try:
            table = module.bench()
        except FabulaError as error:
            print(f"{module.__name__} did not run: {error}", file=sys.stderr)
            code = 1
            continue
        told.append(table.data())
        if not as_json:
            print(table.markdown(), flush=True)
    if as_json:
        print(json.dumps(told, indent=2))
    return code


if __name__ == "__main__":
    sys.exit(main())
