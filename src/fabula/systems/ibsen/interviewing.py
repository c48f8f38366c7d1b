"""Interviews: an actor is asked beside the play, and remembers nothing of it (section 2.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.engine.replies import clean_prose
from fabula.engine.replies.turns import read_turn
from fabula.engine.roles import is_person
from fabula.story import one_line, slug
from fabula.systems.ibsen.acting import recalled
from fabula.systems.ibsen.log import Turn
from fabula.systems.ibsen.script import NARRATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.algorithm import Config
    from fabula.systems.ibsen.performing import Performance

INTERVIEWER: Final = "Interviewer"
PAUSED: Final = "The play is paused."
_SHOWN: Final = 10  # entries of the history, and memories that come to mind
_TEMPERATURE: Final = 0.6
_ANSWER_WORDS: Final = 50  # for estimates


async def interview(
    performance: Performance, run: Run, config: Config, name: str, questions: Sequence[str]
) -> tuple[str, ...]:
    """An actor's answers after the play; 1 call a question. The actor stands afterwards as it stood before.

    Raises:
        UnknownNameError: there is no such actor.
    """
    by_slug = {slug(known): actor for known, actor in performance.actors.items()}
    if slug(name) not in by_slug:
        raise UnknownNameError("actor", name, performance.actors)
    actor, play = by_slug[slug(name)], performance.play
    hour = max((scene.hour for scene in performance.scenes), default=0.0)
    history = [*actor.window.turns, Turn(NARRATION, PAUSED)]
    answers: list[str] = []
    for number, question in enumerate(questions, 1):
        history.append(Turn(INTERVIEWER, question))
        relevant, others = recalled(actor, [(question, _SHOWN)], play, hour)
        fields = {
            "actor": actor.sheet,
            "relevant": relevant,
            "others": others,
            "history": play.shown(history[-_SHOWN:]),
        }
        here = run.scope("interview", slug(actor.name), number)
        reply = await here.reply(
            actor.name,
            "answer",
            sampling=config.drawn(_TEMPERATURE, config.turn_tokens),
            expect=_ANSWER_WORDS,
            **fields,
        )
        text = reply.text
        if not is_person(reply.model):
            text = read_turn(text, actor.name, (INTERVIEWER, *play.script.names)) or one_line(text)
            if config.tidy:
                echo = [here.render("answer", **fields)]
                text = clean_prose(text, labels=(INTERVIEWER,), last=True, echo=echo, finish=reply.finish).text or text
        answers.append(text)
        history.append(Turn(actor.name, text))
    return tuple(answers)


async def asked_for(performance: Performance, run: Run, config: Config) -> None:
    """The interviews of the settings, each kept as `role-play/interview-NAME.md`.

    Raises:
        UsageError: the setting is not "NAME: question | NAME: question".
    """
    wanted: dict[str, list[str]] = {}
    for part in filter(None, map(one_line, config.interview.split("|"))):
        name, colon, question = part.partition(":")
        if not colon or not name.strip() or not question.strip():
            raise UsageError(
                f"{part!r} is no question. Write interview as NAME: question, parted by | if there are more."
            )
        wanted.setdefault(name.strip(), []).append(question.strip())
    for name, questions in wanted.items():

        async def make(own: Run, name: str = name, questions: Sequence[str] = tuple(questions)) -> str:
            answers = await interview(performance, own, config, name, questions)
            pairs = zip(questions, answers, strict=True)
            return "\n\n".join(f"**{INTERVIEWER}:** {q}\n\n**{name}:** {a}" for q, a in pairs)

        await run.scope("role-play").keep(f"interview-{slug(name)}", make, folder="role-play")
