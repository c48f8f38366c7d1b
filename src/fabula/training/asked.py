"""The prompts of training examples: what a system asks its roles when their texts are known.

The system's own algorithm is run, and each of its roles is played by a program that answers with the known text; the
requests that the programs get are taken down. So the messages of an example are those that the system sends, byte for
byte, and no second renderer can drift from the first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft import PROMPTS
from fabula.engine.events import Removed
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.story import Brief, one_line

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset
    from fabula.models.base import Capabilities, Request
    from fabula.systems import System


_SHOWN: Final = 80  # letters of what a rule takes out
ADAPTER: Final = "trained"
"""The name under which whoever is trained stands in the requests: they are those of a role with an adapter."""


@dataclass(frozen=True)
class AskedPrompts:
    """What a system asks when each role answers with a known text.

    Attributes:
        system: whose requests are taken down.
        preset: whose prompts it asks with.
        config: its settings.
        able: what the model that is trained can do: its window, and whether it is small.
        aids: whether small models get help.
        overrides: a folder of prompts that replace the system's.
        chosen: names of the settings that were given.
    """

    system: System
    preset: Preset
    able: Capabilities
    aids: Aids = "auto"
    overrides: Path | None = None
    chosen: Collection[str] = ()

    async def requests(self, brief: Brief, texts: Mapping[str, str], config: Any) -> dict[str, Request]:  # noqa: ANN401 - each system has its own Config
        """The request that each role of `texts` gets, in the order in which they are made.

        Raises:
            ReplyError: the system does not take a text as it is, or asks for something else than the texts.
        """
        taken: dict[str, Request] = {}
        removed: list[Removed] = []

        def answer(request: Request) -> str:
            if request.role in taken or request.role not in texts:
                raise ReplyError(_asked_again(request, removed, again=request.role in taken), reply="")
            taken[request.role] = request
            return texts[request.role]

        performer = Program("known texts", answer, capabilities=self.able)
        with Journal() as journal, journal.transaction():  # it is thrown away: nothing is committed on the way
            context = RunContext(
                journal,
                self._prompts,
                Cast(Assignment(performer, adapter=ADAPTER), known=self.system.roles),
                aids=self.aids,
                chosen=self.chosen,
                listeners=[lambda event: removed.append(event) if isinstance(event, Removed) else None],
            )
            await self.system.write(brief, Run(context), config)
        missing = [role for role in texts if role not in taken]
        if missing:
            raise ReplyError(f"The system does not ask for {' and '.join(missing)} with these settings.", reply="")
        return taken

    @cached_property
    def _prompts(self) -> SystemPrompts:
        """The system's prompts, compiled once for all stories."""
        return SystemPrompts(self.system.prompt_folders(self.preset), self.overrides, PROMPTS)


def _asked_again(request: Request, removed: Sequence[Removed], *, again: bool) -> str:
    """Why a request is none that the known texts answer; `removed` is what rules took out of the texts so far."""
    if not again:
        return f"The system asks the role {request.role!r} for a text that is not known."
    said = f"The system does not take the text of the role {request.role!r} as it is: it asks for it again."
    taken = next((one for one in reversed(removed) if one.rule != "reply"), None)
    if taken is None:
        return said
    return f'{said} Its rule {taken.rule!r} takes out "{one_line(taken.text)[:_SHOWN]}".'
