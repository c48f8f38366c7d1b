"""A new system or evaluator: a folder that works at once, teaches how it works, and is the author's to change.

The folders `system` and `evaluator` next to this file are copied; they follow the rules of `fabula.testing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.base.plugins import is_plain, plain_name
from fabula.evaluators import CATALOGUE as EVALUATORS
from fabula.systems import CATALOGUE as SYSTEMS

NewMethod: TypeAlias = Literal["system", "evaluator"]
_SAMPLES: Final = Path(__file__).parent
_NAME: Final = "example-name"
_FOLDER: Final = "example_name"


def new_method(folder: Path, kind: NewMethod = "system") -> Path:
    """Make the folder of a new system or evaluator, and return it. Hyphens in its name become underscores.

    Raises:
        UsageError: the name is not valid, is one that fabula uses, or is taken.
        ProjectError: the folder cannot be written.
    """
    name = plain_name(folder.name)
    home = folder.with_name(name.replace("-", "_"))
    if not is_plain(name):
        raise UsageError(
            f"{folder.name!r} cannot be the name of a {kind}. Use lower-case letters and digits, separated by hyphens."
        )
    if name in (SYSTEMS if kind == "system" else EVALUATORS).own():
        raise UsageError(f"fabula has its own {kind} named {name}. Choose another name.")
    if home.exists():
        raise UsageError(f"{home} already exists. Choose another name, or remove the existing folder.")
    for file in sorted((_SAMPLES / kind).rglob("*")):
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        text = file.read_text(encoding="utf-8").replace(_NAME, name).replace(_FOLDER, home.name)
        copy = home / file.relative_to(_SAMPLES / kind)
        make_folder(copy.parent)
        write_atomically(copy, text)
    return home
