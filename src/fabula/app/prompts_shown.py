"""What a system asks, to be read without a run: each of its prompts filled in for a brief.

A dry run walks the system's code. Where a reply would stand in a prompt, made-up words stand; what is shown says how
many there were instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.continuing import continuer
from fabula.craft.planning import PROMPTS
from fabula.craft.revising import reviser
from fabula.engine.dry_run import DryRun
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Assignment, Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.models.base import Message, Request
    from fabula.systems import System

BRIEF: Final = (
    "Write a story of about 900 words about Mara, who keeps a lighthouse, and Tobias, who brings her a letter that she "
    "does not want to read."
)
"""The brief that prompts are shown for where none is given."""
_WORDS: Final = re.compile(
    r"\b[Ww][a-z]{3,4}\b(?:[.,]?\s+[Ww][a-z]{3,4}\b){2,}\.?"
)  # as `dry_run.placeholder` makes them


@dataclass(slots=True)
class Shown:
    """A prompt as a system would ask it.

    Attributes:
        name: of its file.
        role: who is asked.
        path: where it is asked first.
        messages: role and text of each; a reply that is not known yet is shown as `⟨about N words⟩`.
        schema: the form of the reply, where it has one.
        times: how often it is asked in all.
    """

    name: str
    role: str
    path: str
    messages: tuple[tuple[str, str], ...]
    schema: Mapping[str, Any] | None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Prompted:
    """The prompts of a system for a brief: those that are asked, in order, and the files of its own that are not."""

    shown: tuple[Shown, ...]
    unused: tuple[Path, ...]


@dataclass(slots=True)
class _Heard:
    """Notes each request of a dry run under its prompt and role."""

    shown: dict[tuple[str, str], Shown] = field(default_factory=dict)

    def __call__(self, request: Request) -> None:
        name = request.path.rpartition("/")[2]
        if (known := self.shown.get((name, request.role))) is not None:
            known.times += 1
            return
        messages = tuple((message.role, _readable(message)) for message in request.messages)
        self.shown[name, request.role] = Shown(name, request.role, request.path, messages, request.schema)


async def prompts_of(
    system: System, preset: Preset, brief: Brief | None = None, values: Mapping[str, Any] | None = None
) -> Prompted:
    """What a system would ask for a brief, in a preset with `values` set on top. Nobody is asked.

    Raises:
        UnknownNameError: there is no such setting.
        ConfigError: a value does not fit its field.
    """
    asked, heard = brief or Brief.parse(BRIEF), _Heard()
    config, folders = system.config(preset, values), system.prompt_folders(preset)
    able = Capabilities(schema=True)  # so that a prompt is shown as its file has it, and the form beside it
    cast = Cast(Assignment(Program("nobody", lambda _: "", capabilities=able)), known=system.roles)
    with Journal() as journal:
        context = RunContext(
            journal, Prompts(folders, common=PROMPTS), cast, mode="dry", dry_run=DryRun(on_request=heard)
        )
        context.revise, context.go_on = reviser(asked.titled), continuer(asked.titled)
        await system.write(asked, Run(context), config)
    used = {shown.name for shown in heard.shown.values()}
    files = {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("[!_]*.jinja"))}
    unused = [file for name, file in files.items() if name not in used]
    return Prompted(tuple(heard.shown.values()), tuple(unused))


def _readable(message: Message) -> str:
    """A message in which made-up words are counted, not shown."""
    return _WORDS.sub(lambda made: f"⟨about {len(made[0].split())} words⟩", message.content)
