"""The prompts of a system or an evaluator, filled in for a brief or a story, so that you can read them without a run.

A dry run executes its code with made-up words for every reply. The prompts shown give the number of these words
instead of the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.craft import PROMPTS
from fabula.craft.continuing import continuer
from fabula.craft.revising import reviser
from fabula.engine.dry_run import DryRun, placeholder
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.story import Brief, Scene, Story

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.engine.methods import Method, Preset
    from fabula.evaluators import Evaluator
    from fabula.models.base import Message, Request
    from fabula.systems import System

BRIEF: Final = (
    "Write a story of about 900 words about Mara, who keeps a lighthouse, and Tobias, who brings her a letter that she "
    "does not want to read."
)
"""The brief that is used to show prompts if no brief is given."""
_SCENE: Final = 450  # words of a scene that stands in for one
_WORDS: Final = re.compile(
    r"\b[Ww][a-z]{3,4}\b(?:[.,]?\s+[Ww][a-z]{3,4}\b){2,}\.?"
)  # as `dry_run.placeholder` makes them


@dataclass(slots=True)
class ShownPrompt:
    """A prompt as it would be sent.

    Attributes:
        name: the name of its file.
        role: the role that it is for.
        path: the first place at which it is used.
        messages: role and text of each message; a reply that is not known yet is shown as `⟨about N words⟩`.
        schema: the form of the reply, if it has one.
        times: how often it is used in all.
    """

    name: str
    role: str
    path: str
    messages: tuple[tuple[str, str], ...]
    schema: Mapping[str, Any] | None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Prompted:
    """The prompts of a method: those that are used, in order, and, by name, those of its files that are not used."""

    system: str
    preset: str
    prompts: tuple[ShownPrompt, ...]
    not_asked: Mapping[str, str]


@dataclass(slots=True)
class _Heard:
    """Records each request of a dry run under its prompt and role."""

    shown: dict[tuple[str, str], ShownPrompt] = field(default_factory=dict)

    def __call__(self, request: Request) -> None:
        name = request.path.rpartition("/")[2]
        if (known := self.shown.get((name, request.role))) is not None:
            known.times += 1
            return
        messages = tuple((message.role, _readable(message)) for message in request.messages)
        self.shown[name, request.role] = ShownPrompt(name, request.role, request.path, messages, request.schema)


async def prompts_of(
    system: System, preset: Preset, brief: Brief | None = None, values: Mapping[str, Any] | None = None
) -> Prompted:
    """The prompts of a system for a brief, in a preset with changed `values`. No model is called.

    Raises:
        UnknownNameError: a setting is unknown.
        ConfigError: a value is not valid for its field.
    """
    asked = brief or Brief.parse(BRIEF)
    config = system.config(preset, values)

    async def walked(context: RunContext) -> None:
        context.revise, context.go_on = reviser(asked.titled), continuer(asked.titled)
        await system.write(asked, Run(context), config)

    return await _prompted(system, preset, walked, Capabilities(schema=True))


async def prompts_on(
    evaluator: Evaluator, preset: Preset, item: Item | None = None, values: Mapping[str, Any] | None = None
) -> Prompted:
    """The prompts of an evaluator for a story, in a preset with changed `values`. No model is called.

    Made-up words replace what is not given: the story, its reference or narrative, and the story it is compared with.

    Raises:
        UnknownNameError: a setting is unknown.
        ConfigError: a value is not valid for its field.
        UsageError: the evaluator cannot measure the story.
    """
    config = evaluator.config(preset, values)
    spoken = evaluator.reads_narrative
    narrative = placeholder(_SCENE, "narrative")
    stories = [item or Item("story", _dialogue() if spoken else _made_up("story"))]
    stories += [] if spoken else [Item("another", _made_up("another"))]
    items = [
        replace(
            one,
            system=one.system or one.id,
            prompt="shown",
            reference=one.reference or _made_up("reference"),
            narrative=one.narrative or (one.brief.text if one.brief else narrative),
        )
        for one in stories
    ]

    async def walked(context: RunContext) -> None:
        await evaluator.evaluate(items, Run(context), config)

    return await _prompted(evaluator, preset, walked, Capabilities(schema=True, logprobs=True))


def _made_up(name: str) -> Story:
    """A placeholder story of two scenes."""
    return Story("", tuple(Scene(f"Scene {n}", placeholder(_SCENE, f"{name}/{n}")) for n in (1, 2)))


def _dialogue() -> Story:
    """A placeholder dialogue."""
    said = [placeholder(20, f"dialogue/{n}") for n in range(5)]
    names = ("Mara", "Jonas", "Mara", "Jonas", "Mara")
    return Story.parse("\n\n".join(f"{name}: {text}" for name, text in zip(names, said, strict=True)))


async def _prompted(
    method: Method, preset: Preset, walk: Callable[[RunContext], Awaitable[None]], able: Capabilities
) -> Prompted:
    """The prompts of a dry run for models with the capabilities `able`, each with the form of its reply."""
    heard, folders = _Heard(), method.prompt_folders(preset)
    cast = Cast(Assignment(Program("nobody", lambda _: "", capabilities=able)), known=method.roles)
    with Journal() as journal:
        prompts = SystemPrompts(folders, common=PROMPTS)
        await walk(RunContext(journal, prompts, cast, mode="dry", dry_run=DryRun(on_request=heard)))
    used = {shown.name for shown in heard.shown.values()}
    files = {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("[!_]*.jinja"))}
    others = {name: file.read_text(encoding="utf-8").strip() for name, file in files.items() if name not in used}
    return Prompted(method.name, preset, tuple(heard.shown.values()), others)


def _readable(message: Message) -> str:
    """The message with the number of made-up words instead of the words."""
    return _WORDS.sub(lambda made: f"⟨about {len(made[0].split())} words⟩", message.content)
