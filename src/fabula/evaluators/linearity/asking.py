"""Whether a turn is back in the story, as a judge says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.craft.raters import kind_of, mark_for
from fabula.engine.replies import ReplyProblem, read_chances, read_choice
from fabula.measure.ratings import Rating
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.digressions import Utterance
    from fabula.engine.run import Run
    from fabula.evaluators.linearity.algorithm import Config
    from fabula.evaluators.linearity.reading import Digression

EVALUATOR: Final = "linearity"
ROLE: Final = "judge"
RUBRIC: Final = "linearity-1"
AWAY: Final = "elsewhere"
BACK: Final = "story"
OPTIONS: Final = (AWAY, BACK)  # an estimate takes the first, which asks for most calls
_EVEN: Final = 0.5
_SHOWN: Final = 200  # letters
Teller: TypeAlias = Literal["", "deaf", "echo"]


@dataclass(frozen=True, slots=True)
class Judge:
    """The judge of a run."""

    run: Run
    config: Config

    @property
    def who(self) -> str:
        """Who judges."""
        return self.run.context.cast.assignment(ROLE).performer.identity

    async def ratings(self, digression: Digression, teller: Teller = "") -> tuple[Rating, ...]:
        """Its turns one by one, up to the first that is back in the story, or whose verdict cannot be read.

        A trivial `teller` takes the place of the characters: one that hears nothing and tells the story on, or one that
        only repeats what the player said.

        Raises:
            ModelError: the judge did not answer.
        """
        found: list[Rating] = []
        for number in range(1, len(digression.turns) + 1):
            found.append(await self._rating(digression, number, teller))
            if found[-1].answer != AWAY:
                break
        return tuple(found)

    async def _rating(self, digression: Digression, number: int, teller: Teller) -> Rating:
        run = self.run.scope(digression.item.id, digression.number, *([teller] if teller else []), number)
        window = played(digression, teller)[: digression.turns[number - 1] + 1]
        passage = digression.passage.text
        shown = (*digression.before, digression.said, *window)
        reply = await run.weigh(
            OPTIONS,
            ROLE,
            "back",
            sampling=Sampling(temperature=0.0, max_tokens=self.config.max_tokens),
            passage=passage,
            lines=shown,
            who=window[-1].who,
            player=digression.said.who,
            mark=mark_for(passage, *(line.text for line in shown)),
            guard=self.config.guard,
            options=OPTIONS,
        )
        answer, said, why = _read(reply.text, reply.logprobs)
        item = digression.item
        question = (f"digression {digression.number}", digression.said.kind, f"turn {number}", teller)
        return Rating(
            rater=self.who or ROLE,
            kind=kind_of(self.who),
            items=(item.id,),
            systems=(item.system,) if item.system else (),
            prompt=item.prompt,
            question="/".join(part for part in question if part),
            shown=said,
            answer=answer,
            unscored=why,
            reason="" if answer else reply.text.strip()[:_SHOWN],
            rubric=RUBRIC,
            evaluator=EVALUATOR,
            call=f"{run.at}/back",
        )


def _read(text: str, logprobs: Mapping[str, float] | None) -> tuple[str | None, str, str]:
    """What a reply means, what is shown of it (where it is told, the chance of "story"), or why it says nothing."""
    try:
        if logprobs is None:
            return read_choice(text, OPTIONS), text.strip()[:_SHOWN], ""
        chance = read_chances(logprobs, OPTIONS)[BACK]
    except ReplyProblem as problem:
        return None, "", str(problem)
    return BACK if chance >= _EVEN else AWAY, f"{chance:.3f}", ""


def played(digression: Digression, teller: Teller) -> Sequence[Utterance]:
    """The window with the characters' turns as they were, or as a trivial teller has them."""
    window = list(digression.window)
    for number, turn in enumerate(digression.turns, 1):
        if teller:
            text = digression.passage.coming(number) if teller == "deaf" else digression.said.text
            window[turn] = replace(window[turn], text=text)
    return window
