"""Interviews: after the play an actor is asked, answers from what it knows, and remembers nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.engine.roles import is_person
from fabula.story import one_line, slug
from fabula.systems.ibsen.actor import views_of
from fabula.systems.ibsen.log import Turn, transcript
from fabula.systems.ibsen.script import NARRATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.actor import Actor, Play

INTERVIEWER: Final = "Interviewer"
_PAUSED: Final = Turn(NARRATION, "The play is paused.")
_SHOWN: Final = 10  # entries of the history, and memories that come to mind
_ANSWER_WORDS: Final = 50  # for estimates


async def interviews(play: Play, actors: Mapping[str, Actor], hour: float, run: Run) -> None:
    """The interviews of the settings, each kept as `role-play/interview-NAME.md`.

    Raises:
        UsageError: the setting is not "NAME: question | NAME: question".
        UnknownNameError: there is no such actor.
    """
    wanted: dict[str, list[str]] = {}
    for part in filter(None, map(one_line, play.config.paper.interview.split("|"))):
        name, colon, question = part.partition(":")
        if not colon or not name.strip() or not question.strip():
            raise UsageError(
                f"{part!r} is no question. Write interview as NAME: question, separated by | if there are more."
            )
        wanted.setdefault(name.strip(), []).append(question.strip())
    by_slug = {slug(name): actor for name, actor in actors.items()}
    for name, questions in wanted.items():
        if slug(name) not in by_slug:
            raise UnknownNameError("actor", name, actors)
        actor = by_slug[slug(name)]

        async def make(own: Run, actor: Actor = actor, questions: Sequence[str] = tuple(questions)) -> str:
            answers = await interview(actor, questions, hour, own)
            pairs = zip(questions, answers, strict=True)
            return transcript([turn for q, a in pairs for turn in (Turn(INTERVIEWER, q), Turn(actor.name, a))])

        await run.scope("role-play").keep(f"interview-{slug(name)}", make, folder="role-play")


async def interview(actor: Actor, questions: Sequence[str], hour: float, run: Run) -> tuple[str, ...]:
    """An actor's answers; 1 call a question. The actor stands afterwards as it stood before."""
    history = [*actor.mind.window.turns, _PAUSED]
    answers: list[str] = []
    for number, question in enumerate(questions, 1):
        history.append(Turn(INTERVIEWER, question))
        here = run.scope("interview", slug(actor.name), number)
        answers.append(await _answer(actor, question, history[-_SHOWN:], hour, here))
        history.append(Turn(actor.name, answers[-1]))
    return tuple(answers)


async def _answer(actor: Actor, question: str, history: Sequence[Turn], hour: float, run: Run) -> str:
    play = actor.play
    relevant, others = actor.recall([(question, _SHOWN)], hour, play.config.paper.interview_relevant)
    fields = {
        "actor": actor.sheet,
        "impressions": views_of(actor.mind.impressions, play.named_in(question, actor.name)),
        "relevant": relevant,
        "others": others,
        "sayings": actor.sayings([Turn(INTERVIEWER, question)]),
        "history": tuple(map(str, history)),
    }
    sampling = play.sampling(run, actor.name, "answer")
    reply = await run.reply(actor.name, "answer", sampling=sampling, expect=_ANSWER_WORDS, **fields)
    if is_person(reply.model):
        return reply.text
    text = play.text_of(run, actor.name, reply)
    return play.turn_in(text, actor.name, (INTERVIEWER, *play.script.names), run) or one_line(text)
