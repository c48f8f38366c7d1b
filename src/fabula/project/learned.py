"""What was learned from an author: its place on this machine, and the adapter that new projects use.

    learned/NAME/learned.json       the record: pairs, base, results, whether it is in use
    learned/NAME/data/              the pairs, as a folder of training data
    learned/NAME/adapters/DIGEST/   each learned adapter; projects keep the one that they began with
    learned/NAME/report.html        and report.txt: the results
    learned/NAME/next/              what is being learned now

The folder is below the user's data folder, and only its owner can read it. A project in which nothing was written
yet uses the adapter of its author. The record of its first run names the adapter, so the project keeps it, whatever is
learned later. A forgotten adapter leaves only its digest in such records: its replies are
still replayed, and new calls to it are refused (`Forgotten`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ModelUnavailableError, ProjectError, UsageError
from fabula.base.files import PRIVATE, held, inside, make_folder, read_text, user_folder, write_atomically
from fabula.engine.roles import role_key
from fabula.models.adapters import GGUF, Adapted, digest_of, read_adapter
from fabula.models.known import DIGITS, find_weights, models_home
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from contextlib import AbstractContextManager

    from fabula.models.base import OnText, Reply, Request
    from fabula.project.settings import RoleTable, Settings

VERSION: Final = 1
NOBODY: Final = "author"
"""The name of an author who has not given one."""
_LARGEST: Final = 10_000_000
_OWNER: Final = 0o700


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned from an author.

    Attributes:
        author: the author whose choices were learned from.
        made: the day, as 2026-11-12.
        key: digest of everything that the learning depended on; equal keys mean equal results.
        base: the model that was tuned, as a user names it.
        base_digest: the digest of the base's weights.
        agents: the roles whose texts the author chose between.
        pairs: the number of pairs.
        adapter: the name of its folder below `adapters`.
        better: whether the held-out pairs show that it ranks like the author, better than base and rules.
        anyway: whether the author uses it although that is not shown.
        off: whether the author keeps it without using it.
        found: the numbers of the report.
        version: the version of the format.
    """

    author: str
    made: str
    key: str
    base: str
    base_digest: str
    agents: tuple[str, ...]
    pairs: int
    adapter: str
    better: bool
    anyway: bool = False
    off: bool = False
    found: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def in_use(self) -> bool:
        """Whether new projects use it."""
        return (self.better or self.anyway) and not self.off


@dataclass(frozen=True, slots=True)
class LearnedFolder:
    """The folder of what was learned from one author."""

    folder: Path

    @property
    def data(self) -> Path:
        """The pairs that were learned from."""
        return self.folder / "data"

    @property
    def next(self) -> Path:
        """What is being learned now."""
        return self.folder / "next"

    @property
    def page(self) -> Path:
        """The report as a page."""
        return self.folder / "report.html"

    @property
    def report(self) -> Path:
        """The report as text."""
        return self.folder / "report.txt"

    @property
    def _record(self) -> Path:
        return self.folder / "learned.json"

    def adapter(self, name: str) -> Path:
        """The folder of an adapter.

        Raises:
            UsageError: the name leads out of the folder.
        """
        return inside(self.folder / "adapters", name)

    def has(self, learned: Learned) -> bool:
        """Whether the learned adapter exists."""
        return (self.adapter(learned.adapter) / GGUF).is_file()

    def make(self) -> None:
        """Make the folder, which only its owner can read.

        Raises:
            ProjectError: it cannot be created.
        """
        try:
            make_folder(self.folder.parent, mode=_OWNER)
            make_folder(self.folder, mode=_OWNER)
        except ProjectError as error:
            said = str(error).removesuffix("Choose another one.")
            raise ProjectError(f"{said}Set XDG_DATA_HOME to a folder that you can write to.") from error
        self.folder.chmod(_OWNER)

    def hold(self) -> AbstractContextManager[None]:
        """Hold the folder for this process.

        Raises:
            ProjectError: another process holds it.
        """
        self.make()
        return held(self.folder, f"The folder of what is learned from {self.folder.name}")

    def read(self) -> Learned | None:
        """What was learned; `None` if nothing was yet.

        Raises:
            UsageError: the record cannot be read, or a newer fabula wrote it.
        """
        if not self._record.is_file():
            return None
        try:
            data = json.loads(read_text(self._record, _LARGEST))
            if data.get("version", 0) > VERSION:
                raise UsageError(
                    f"{self._record} has version {data['version']}, but this version of fabula reads only versions up "
                    f"to {VERSION}. Update fabula."
                )
            return Learned(**data | {"agents": tuple(map(str, data["agents"]))})
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"{self._record} is damaged. Remove it with `fabula learn --forget`, and then learn again."
            ) from error

    def write(self, learned: Learned) -> None:
        """Record what was learned, and use it if the record says so.

        Raises:
            ProjectError: it cannot be written.
        """
        write_atomically(self._record, json.dumps(asdict(learned), indent=2, ensure_ascii=False) + "\n", mode=PRIVATE)

    @property
    def size(self) -> int:
        """The size of the folder in bytes."""
        return sum(file.lstat().st_size for file in self.folder.rglob("*") if file.is_file())

    def forget(self) -> None:
        """Remove everything that was learned from the author.

        Raises:
            ProjectError: learning is in progress, or it cannot be removed.
        """
        if self.folder.is_symlink():
            self.folder.unlink()
            return
        with self.hold():
            try:
                shutil.rmtree(self.folder)
            except OSError as error:
                raise ProjectError(f"{self.folder} cannot be removed: {error.strerror}. Remove it yourself.") from error


def learned_home(environ: Mapping[str, str]) -> Path:
    """The folder with what was learned from all authors: `fabula/learned` in the user's data folder."""
    return user_folder("DATA", environ) / "learned"


def place_of(author: str, environ: Mapping[str, str]) -> LearnedFolder:
    """The folder of what was learned from an author; of the nameless author if it is empty."""
    return LearnedFolder(learned_home(environ) / (slug(author) if author.strip() else NOBODY))


def places(environ: Mapping[str, str]) -> list[LearnedFolder]:
    """The folders of all authors that something was or is being learned from."""
    home = learned_home(environ)
    return [LearnedFolder(folder) for folder in sorted(home.iterdir()) if folder.is_dir()] if home.is_dir() else []


def place_for(author: str, environ: Mapping[str, str]) -> LearnedFolder:
    """The folder that a project of this author uses; an author without a name here may have one elsewhere."""
    place = place_of(author, environ)
    known = places(environ) if not author.strip() and not place.folder.is_dir() else []
    return known[0] if len(known) == 1 else place


def learned_for(
    settings: Settings, roles: Collection[str], environ: Mapping[str, str]
) -> tuple[Learned, dict[str, str]] | None:
    """What was learned from the author of a project, and the adapters by role.

    `None` if nothing was learned, it is not in use, another model writes, or adapters are already named.

    Raises:
        UsageError: the record cannot be read.
    """
    place = place_for(settings.author.name, environ)
    learned = place.read()
    if settings.adapters or learned is None or not learned.in_use or not _is_digest(learned.adapter):
        return None
    folder = place.adapter(learned.adapter)
    if not (folder / GGUF).is_file() or not _is_base(settings.model, learned.base_digest, environ):
        return None
    named = {role_key(role): table for role, table in settings.roles.items()}
    free = [role for role in learned.agents if role in roles and not _is_cast(named.get(role), settings.model)]
    return (learned, {role: str(folder) for role in free}) if free else None


def without_learned(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings without what was learned."""
    home = learned_home(environ)
    others = {role: where for role, where in settings.adapters.items() if not Path(where).is_relative_to(home)}
    return settings.model_copy(update={"adapters": others})


def _is_cast(table: RoleTable | None, model: str) -> bool:
    """Whether a role is not played by the common model."""
    return table is not None and (bool(table.play) or table.model not in ("", model))


def _is_base(spec: str, digest: str, environ: Mapping[str, str]) -> bool:
    kind, _, rest = spec.partition(":")
    if kind != "embedded" or not rest:
        return False
    weights = find_weights(rest, models_home(environ))
    return weights.is_file() and digest_of(weights) == digest


def _is_digest(name: str) -> bool:
    return len(name) == DIGITS and all(sign in "0123456789abcdef" for sign in name)


def digest_of_forgotten(adapter: Path, environ: Mapping[str, str]) -> str:
    """The digest of a learned adapter that has been removed; empty for any other."""
    return adapter.name if _is_ours(adapter, environ) and not adapter.exists() else ""


def is_learned(adapter: Path) -> bool:
    """Whether a folder, by its name, is that of a learned adapter, from this or another machine."""
    return adapter.parent.name == "adapters" and _is_digest(adapter.name) and "learned" in adapter.parts


def _is_ours(adapter: Path, environ: Mapping[str, str]) -> bool:
    return is_learned(adapter) and adapter.is_relative_to(learned_home(environ))


def check_learned(adapter: Path, model: str, environ: Mapping[str, str]) -> None:
    """Refuse a learned adapter if the writing model is not the one that was tuned.

    A server would get a request for a model with the adapter's name, or its path on this machine.

    Raises:
        UsageError: another model writes.
    """
    if not is_learned(adapter):
        return
    kind, _, rest = model.partition(":")
    record = read_adapter(adapter) if _is_ours(adapter, environ) else None
    if kind == "embedded":
        if record is None or not find_weights(rest, models_home(environ)).is_file():
            return
        if _is_base(model, record.base_digest, environ):
            return
    tuned = f", which is for {record.base}" if record is not None else ""
    raise UsageError(
        f"This project uses what fabula learned from you{tuned}, but not for {model}. To continue without it, run "
        "`fabula write --no-learned --anew` with that model."
    )


class Forgotten(Adapted):
    """A model with a forgotten adapter: its past replies are known by its identity, and it gets no new calls."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002 - as models are asked
        """Refuse.

        Raises:
            ModelUnavailableError: always.
        """
        raise ModelUnavailableError(
            "This project uses what fabula had learned from you, but you had fabula forget it. Existing texts are "
            "kept. To continue with the original model, run `fabula write --no-learned --anew`. To learn again, run "
            "`fabula learn`.",
            model=self.model.name,
        )


def the_author(names: Iterable[str]) -> str:
    """The one author of several projects; empty if none has a name.

    Raises:
        UsageError: they have several authors.
    """
    known = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if len(known) > 1:
        raise UsageError(
            f"These projects have {len(known)} authors ({', '.join(known[:5])}), whose preferences may differ. "
            "Specify the projects of one author, or use --author NAME to learn from all of them as one author."
        )
    return known[0] if known else ""
