"""Back-translation (section 4.2 and appendix C): what each agent would have contributed to a finished story.

The planning agents are asked by their own prompts, with the story in the scratchpad; a splitter says with which
sentences the five sections begin. The five sections together are the story, byte for byte.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import ContextLengthError, RefusalError, ReplyError
from fabula.craft.prose import write_notes
from fabula.engine.methods import Method, Preset
from fabula.engine.replies import ReplyProblem, read_split, repair_instruction
from fabula.engine.replies.strangers import strangers
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Message, Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import Brief
from fabula.story.scratchpad import Scratchpad
from fabula.story.sentences import paragraph_spans, spans
from fabula.systems.agents_room.algorithm import PLANNING, WRITING, Agent
from fabula.systems.agents_room.config import Config, Ours
from fabula.systems.agents_room.improved import LABELS, SHORT_NOTE


class _AsInThePaper(Method):
    """Whose prompts are the paper's in both presets: appendix C says how the teacher is asked."""

    def prompt_folders(self, preset: Preset) -> tuple[Path, ...]:
        """The paper's prompts."""
        del preset
        return (self.prompts,)


METHOD: Final = _AsInThePaper(
    "back-translation",
    Path(__file__).parent,
    {
        "title": "Agents' Room: Narrative Generation through Multi-step Collaboration (section 4.2, appendix C)",
        "roles": {
            "conflict": "says what the central conflict of a finished story is",
            "character": "describes its characters",
            "setting": "describes its setting",
            "plot": "sets out its key plot points",
            "splitter": "says with which sentences its five sections begin",
            "tasker": "writes the task that the story answers, where it is not known and asked for",
        },
    },
    "fabula.systems",
)
PROMPTS: Final = ("split", "split_by_number", "task")
"""The prompts that only back-translation uses."""
RESPONSE: Final = "User-Written Response"
GUIDES: Final = {
    "Exposition": "It gives the reader what they need to step into the world of the story, and mostly stands at its "
    "beginning.",
    "Rising Action": "What leads up to the climax: choices of the main characters, and events that stand against their "
    "goals. Here the story builds, and the reader begins to care.",
    "Climax": "The main turning point, to which the story has been building up.",
    "Falling Action": "What follows the climax and leads to the resolution. It can clear up what happened, ease the "
    "tension, or tie up loose ends.",
    "Resolution": "The end of the story. It answers what is still open in the plot, and is the place to show the next "
    "step in the characters' lives.",
}
_OF_PEOPLE: Final = "character"  # the role whose note describes people one by one
_TRIES: Final = 3
_TASK_WORDS: Final = 120
_FEW_PASSAGES: Final = 12  # paragraphs; a story with fewer is numbered by sentences
_AROUND: Final = 0.15  # share of a story on both sides of the place where a section usually begins
_PARTS: Final = tuple(agent.label for agent in WRITING)
_NOWHERE: Final[tuple[int, ...]] = ()
_TASK_TOKENS: Final = 320
_LABELS: Final = (*LABELS, RESPONSE)
_CHOOSING: Final = Sampling(temperature=0.0)
_INSTRUCTIONS: Final = 400  # tokens that a prompt has besides task and story
_REPLY: Final = 600  # tokens that a note or a split takes at least


class LeftOutError(ReplyError):
    """A story is no training data; the message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, reply="")


@dataclass(frozen=True, slots=True)
class BackTranslated:
    """What came of a finished story.

    Attributes:
        brief: the task it answers.
        notes: the planning agents' notes, by role; empty where none were asked for.
        sections: the five sections, whose texts together are the story; empty where none were asked for.
    """

    brief: Brief
    notes: Mapping[str, str]
    sections: tuple[str, ...]


async def back_translate(
    story: str, brief: Brief | None, run: Run, config: Config, *, notes: bool = True, sections: bool = True
) -> BackTranslated:
    """The notes and sections of a story; five calls, one more for a brief that is not known, and more for repairs.

    Raises:
        LeftOutError: the story, or what was said of it, is of no use for training.
    """
    if brief is None:
        brief = await task_of(story, run, config)
    known = f"{brief.titled}\n\n{story}"
    s = Scratchpad.of(brief).add(RESPONSE, story, "task")
    agents = PLANNING if notes else ()
    work: list[Coroutine[Any, Any, Any]] = [_of_use(note_of(agent, s, known, run, config)) for agent in agents]
    work += [_of_use(split_of(story, run, config))] if sections else []
    made = await side_by_side(work)
    for one in made:
        if isinstance(one, LeftOutError):
            raise one
    said = made[: len(agents)]
    return BackTranslated(
        brief,
        {agent.role: text for agent, text in zip(agents, said, strict=True)},
        parts_of(story, made[-1]) if sections else (),
    )


async def _of_use(work: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever the work gives
    """What the work gives, or why it is of no use: the other calls of a story are not stopped by that."""
    try:
        return await work
    except LeftOutError as reason:
        return reason
    except (ContextLengthError, RefusalError, ReplyError) as error:
        return LeftOutError(str(error).partition(" The same command ")[0])


def parts_of(story: str, starts: tuple[int, ...]) -> tuple[str, ...]:
    """The story, divided where its sections begin."""
    return tuple(story[a:b] for a, b in pairwise((*starts, len(story))))


async def note_of(agent: Agent, s: Scratchpad, known: str, run: Run, config: Config) -> str:
    """A planning agent's note on the story in the scratchpad, without chatter, that names nobody whom `known` lacks."""
    check_room(run, agent.role, s)
    return await write_notes(
        run,
        agent.role,
        agent.prompt,
        labels=_LABELS,
        usual=agent.words,
        max_tokens=config.paper.max_tokens or run.room(agent.role).reply_tokens(SHORT_NOTE),
        objection=lambda text: _unknown(text, known, of_people=agent.role == _OF_PEOPLE),
        fields={"scratchpad": s},
    )


def _unknown(text: str, known: str, *, of_people: bool) -> str:
    """Whom a note names that `known` lacks, as a sentence for who wrote it; empty if nobody."""
    names = strangers(text, known, of_people=of_people)
    if not names:
        return ""
    verb = "stands" if len(names) == 1 else "stand"
    return f"It names {' and '.join(names)}, which {verb} neither in the story nor in its task."


async def split_of(story: str, run: Run, config: Config) -> tuple[int, ...]:
    """Where the five sections of a story begin."""
    s = Scratchpad().add(RESPONSE, story, "task")
    check_room(run, "splitter", s)
    fields: dict[str, Any] = {"scratchpad": s, "sections": list(GUIDES.items())}
    if run.room("splitter").aids:
        return await _split_by_number(story, run)
    sampling = Sampling(temperature=0.0, max_tokens=config.paper.max_tokens or None)
    said: tuple[Message, ...] = ()
    problem = ""
    for _ in range(_TRIES):
        reply = await run.reply("splitter", "split", said, sampling=sampling, **fields)
        try:
            return run.context.unless_made_up(partial(read_split, reply.text, story, _PARTS), _NOWHERE)
        except ReplyProblem as unreadable:
            problem = str(unreadable)
        said = (*said, Message("assistant", reply.text or "-"), Message("user", repair_instruction(problem)))
    raise LeftOutError(f"It could not be split into its sections in {_TRIES} tries. {problem}")


async def _split_by_number(story: str, run: Run) -> tuple[int, ...]:
    """Ours: as `split_of` by a small model, which changes what it copies, and so chooses among numbered passages.

    Four calls. A section is looked for around the place where it usually stands, and behind the one before.
    """
    passages = paragraph_spans(story)
    if len(passages) < _FEW_PASSAGES:
        passages = spans(story)
    if len(passages) < len(_PARTS):
        raise LeftOutError(f"It has {len(passages)} sentences, too few for {len(_PARTS)} sections.")
    shown = "\n\n".join(f"({number}) {story[a:b]}" for number, (a, b) in enumerate(passages, 1))
    fields = {"scratchpad": Scratchpad().add(RESPONSE, shown, "task"), "sections": list(GUIDES.items())}
    starts, usual, chosen = [0], 0.0, 1
    for left, (share, agent) in enumerate(zip(Ours().shares, WRITING[1:], strict=False), 1 - len(WRITING)):
        usual += share / 100
        last = len(passages) + left + 1  # each section to come needs a passage
        options = [
            str(number)
            for number in range(chosen + 1, last + 1)
            if abs(passages[number - 1][0] / len(story) - usual) <= _AROUND
        ] or [str(min(max(chosen + 1, round(usual * len(passages))), last))]
        more = {"section": agent.label, "guide": GUIDES[agent.label], "options": options}
        here = run.scope(agent.name)
        said = await here.choose(options, "splitter", "split_by_number", sampling=_CHOOSING, **fields, **more)
        chosen = int(said)
        starts.append(passages[chosen - 1][0])
    return tuple(starts)


async def task_of(story: str, run: Run, config: Config) -> Brief:
    """Ours: the writing task that a story answers."""
    s = Scratchpad().add(RESPONSE, story, "task")
    check_room(run, "tasker", s)
    text = await write_notes(
        run,
        "tasker",
        "task",
        labels=_LABELS,
        usual=_TASK_WORDS,
        max_tokens=config.paper.max_tokens or run.room("tasker").reply_tokens(_TASK_TOKENS),
        fields={"scratchpad": s},
    )
    return Brief.parse(text)


def check_room(run: Run, role: str, s: Scratchpad) -> None:
    """Refuse a story that the role's model cannot read whole, with room for its reply.

    Raises:
        LeftOutError: it is too long.
    """
    window, tokens = run.room(role).window, estimate_tokens(s.render())
    if window is not None and tokens + _INSTRUCTIONS + _REPLY > window:
        raise LeftOutError(
            f"It has about {tokens:,} tokens, and the model of the role {role!r} takes {window:,} with its reply. Give "
            "that role a model with a larger window."
        )
