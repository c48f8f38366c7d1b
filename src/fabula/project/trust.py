"""Trust: what a settings file could do beyond writing texts, and what of this a person has allowed.

A `fabula.toml`, an experiment or a study may come from someone else. Six things in it act outside the project: a
program (`play = "file.py:function"`), which is run; a system or evaluator in a folder (`system = "./my_paper"`), whose
code is run; an address with a variable (`base_url`, `key_env`, `headers`, `query`), to which prompts and the value of
the variable are sent; an adapter from elsewhere, which a user may have tuned on private texts; a folder elsewhere
(`model = "files:DIR"`), into which prompts are written; and a project elsewhere, whose characters a study shows to its
raters. What the person types is trusted; what a file says is trusted once the person allows it. That is remembered
in the user's own state folder, never in the project, by the file's real path and by what was trusted: a program with a
digest of its text, a folder with a digest of its contents. Changed code and other addresses therefore need new trust.
"""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.addresses import is_loopback
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, read_text, user_folder, write_atomically
from fabula.base.keys import looks_like_key
from fabula.engine.folders import digest_of, is_path, whole_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGEST: Final = 2_000_000
_OUTSIDE: Final = ("adapter", "prompts")  # what needs trust only where it lies outside the project
_FOLDER: Final = "files:"
_METHODS: Final = frozenset({"system", "systems", "evaluator", "evaluators"})  # what may name a folder with code
_SHOWN: Final = 6  # acts that a message names
_OF_FOLDERS: Final = ("fabula.toml", "study.toml")  # settings that are named by their folder


@dataclass(frozen=True, slots=True, order=True)
class Act:
    """Something that a settings file could do.

    Attributes:
        kind: "program", "folder", "address", "adapter", "prompts" or "project".
        what: the program, as `/path/file.py:function`; the address; or the path of the folder, adapter, room or
            project.
        detail: a digest of the program's file or of all that the folder holds, or the variable whose value is sent (""
            for the usual one).
    """

    kind: str
    what: str
    detail: str = ""

    def __str__(self) -> str:
        if self.kind == "program":
            return f"run the program {self.what}"
        if self.kind == "folder":
            return f"run the code in {self.what}"
        if self.kind == "adapter":
            return f"use {self.what}, which is outside its folder, as an adapter"
        if self.kind == "project":
            return f"let raters talk with the characters of {self.what}, which is another project"
        if self.kind == "prompts":
            return f"write prompts to {self.what}, which is outside its folder"
        key = f"the value of the variable {self.detail}" if self.detail else "the usual key of such a server"
        return f"send prompts, and {key}, to {self.what}"


class TrustError(UsageError):
    """A settings file would do something that nobody has allowed.

    Attributes:
        file: the settings file.
        acts: what it would do.
    """

    def __init__(self, file: Path, acts: Iterable[Act]) -> None:
        self.file, self.acts = file, tuple(sorted(acts))
        more = f"; and {len(self.acts) - _SHOWN} more" if len(self.acts) > _SHOWN else ""
        what = "; ".join(str(act)[:300] for act in self.acts[:_SHOWN])
        named = file.parent if file.name in _OF_FOLDERS else file
        super().__init__(
            f"{file} would {what}{more}, and you have not allowed this. If you trust its author, run `fabula trust "
            f"{shlex.quote(str(named))}`. Anything that you type yourself, such as --play or --model, does not need "
            "trust."
        )


def acts_in(settings: Mapping[str, Any], base: Path) -> frozenset[Act]:
    """What tables of settings in the folder `base`, where their paths start, could do outside it."""
    acts = typed_acts(settings, base)
    inside = base.resolve()
    return frozenset(a for a in acts if a.kind not in _OUTSIDE or not Path(a.what).is_relative_to(inside))


def typed_acts(settings: Mapping[str, Any], base: Path) -> frozenset[Act]:
    """What tables of settings could do, wherever they are stored; paths in them start at `base`."""
    return frozenset(_acts(settings, base, ""))


def _acts(value: object, base: Path, name: str) -> Iterator[Act]:
    """The acts of a value; a model's table is known by fields that only such a table has."""
    if isinstance(value, dict):
        if value.get("base_url") or value.get("key_env") or _variables(value):
            yield from _address(value, str(value.get("model") or name))
        if isinstance(adapters := value.get("adapters"), dict):
            yield from _adapters(adapters, base)
        for key, inner in value.items():
            yield from _acts(inner, base, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _acts(inner, base, name)
    elif isinstance(value, str):
        yield from _code(value, base, name)


def _code(value: str, base: Path, name: str) -> Iterator[Act]:
    """The program, or the folder of a method, that a text names; if it is missing, opening it reports that."""
    if value.startswith(_FOLDER):
        with suppress(OSError, RuntimeError, ValueError):
            yield Act("prompts", str((base / Path(value.removeprefix(_FOLDER)).expanduser()).resolve()))
        return
    if name in _METHODS and is_path(value):
        folder = Path(whole_path(value, base))
        if folder.is_dir():
            yield Act("folder", str(folder), digest_of(folder))
    file, colon, function = value.rpartition(":")
    if colon and file.endswith(".py") and "\0" not in file:
        with suppress(OSError, RuntimeError):
            path = (base / Path(file).expanduser()).resolve()
            if path.is_file():
                with path.open("rb") as program:
                    yield Act("program", f"{path}:{function}", file_digest(program, "sha256").hexdigest())


def _adapters(adapters: Mapping[str, Any], base: Path) -> Iterator[Act]:
    """The existing adapters and rooms: those tuned on a user's own texts are private."""
    for where in adapters.values():
        with suppress(OSError, RuntimeError, ValueError):  # where there is none, opening it says so
            path = (base / Path(str(where)).expanduser()).resolve()
            if where and path.exists():
                yield Act("adapter", str(path))


def _variables(table: Mapping[str, Any]) -> list[str]:
    """The variables whose values a model's table would send in headers or append to addresses."""
    from fabula.models.providers import VARIABLE  # noqa: PLC0415 - `fabula --help` loads this module and not those

    sent = [table.get(name) for name in ("headers", "query")]
    texts = [text for given in sent if isinstance(given, dict) for text in given.values() if isinstance(text, str)]
    return sorted({name for text in texts for name in VARIABLE.findall(text)})


def _address(table: Mapping[str, Any], model: str) -> Iterator[Act]:
    from fabula.models.providers import OWN_KINDS  # noqa: PLC0415 - `fabula --help` loads this module and not those

    said = table.get("base_url") or ""
    key_env = str(table.get("key_env") or "")
    named = "NAME (what `key_env` has looks like a key and is not shown)" if looks_like_key(key_env) else key_env
    variable = ", ".join(filter(None, (named, *_variables(table))))
    open_kinds = ("openai-chat", *OWN_KINDS)  # servers of these kinds get no key that is meant for somebody else
    for url in map(str, said if isinstance(said, (list, tuple)) else [said]):
        if not (model.partition(":")[0] in open_kinds and not variable and is_loopback(url)):
            yield Act("address", url or f"the usual address of {model}", variable)


def state_home() -> Path:
    """`fabula` in the user's state folder."""
    return user_folder("STATE", os.environ)


def _place() -> Path:
    return state_home() / "trust.json"


@dataclass(frozen=True)
class Trust:
    """What a person has allowed, by settings file."""

    place: Path = field(default_factory=_place)

    def check(self, file: Path, acts: Iterable[Act]) -> None:
        """Check that a settings file does nothing that nobody has allowed.

        Raises:
            TrustError: it would do such a thing.
        """
        acts = set(acts)
        missing = acts - self._read().get(str(file.resolve()), set()) if acts else set()
        if missing:
            raise TrustError(file, missing)

    def give(self, file: Path, acts: Iterable[Act]) -> None:
        """Remember that a settings file may do this.

        Raises:
            ProjectError: it cannot be written down.
        """
        known = self._read()
        known.setdefault(str(file.resolve()), set()).update(acts)
        self._write(known)

    def forget(self, file: Path) -> bool:
        """Forget what a settings file may do. Returns whether there was anything.

        Raises:
            ProjectError: it cannot be written down.
        """
        known = self._read()
        gone = known.pop(str(file.resolve()), None)
        if gone:
            self._write(known)
        return bool(gone)

    def all(self) -> dict[str, list[Act]]:
        """Everything that is allowed, by settings file."""
        return {file: sorted(acts) for file, acts in sorted(self._read().items())}

    def _read(self) -> dict[str, set[Act]]:
        if not self.place.is_file():
            return {}
        try:
            data = json.loads(read_text(self.place, _LARGEST))
            return {file: {Act(*map(str, act)) for act in acts} for file, acts in data.items()}
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"{self.place} cannot be read. Delete it, and fabula will ask for your trust again."
            ) from error

    def _write(self, known: Mapping[str, set[Act]]) -> None:
        make_folder(self.place.parent)
        rows = {file: [[act.kind, act.what, act.detail] for act in sorted(acts)] for file, acts in known.items()}
        write_atomically(self.place, json.dumps(rows, indent=1) + "\n")
